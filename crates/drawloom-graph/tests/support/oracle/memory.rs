//! The memory oracle: does some serial order of the tasks reproduce the graph, and what do all such orders agree on?
//!
//! The memory has one element for each pair of regions in use that may alias (see [`super::super::meaning`]), so two
//! versions share an element exactly when their regions may alias. A graph that passes the race rules gives every element
//! a history: by RF2 the versions that hold an element are totally ordered by reachability.
//!
//! *What the graph says* an element of version D holds is the outcome of its history up to D. A Write by a task replaces
//! the value, a Reduce folds a contribution into it, an Open or a Close passes it on. *What a serial run does* is to let
//! the tasks change one memory in turn; Open and Close do nothing. An order is *right* when each task finds, at each
//! element of each version it Reads, exactly what the graph says.
//!
//! Three corners had to be worked out.
//!
//! - A Close takes, at each element, the latest of its inputs that holds it. Usually that is the latest version of all
//!   that reach the Close. It is not when the Close reads an old version of a child although a newer one reaches it through
//!   another input, or when no input holds the element at all (warning W3). Rule E lets Open and Close order nothing, so by
//!   the definition of S1 such a Close passes on what its region holds at that time: the latest version that reaches it.
//!   [`Memory::has_stale_close`] tells when the two readings differ.
//! - A Write is ordered after all earlier history of its elements: whatever reaches the version written reaches it through
//!   its one writer. A version made by several reducers may be reached through one of them only. A reducer that nothing
//!   orders after an earlier mutation of the same element is *unlinked* (warning W5): rule E protects Reads and gives it no
//!   order. In a full-value memory it might run first and be overwritten, which only a rule about reducers could forbid.
//!   So for graphs with unlinked reducers an element remembers the set of the mutations applied to it, and a read is right
//!   when that set is the set of all mutations by versions that reach the one read. For all other graphs the elements hold
//!   full values. The second is the stronger test: there, any wrong sequence of mutations shows.
//! - One task may mutate an element twice: it writes a version, and reduces into a later one that another reducer made
//!   dependent on the first. So mutations are told apart by task *and* version.

use std::collections::HashMap;

use drawloom_graph::{Graph, Label, NodeId, NodeKind, RegionId};

use super::reach::Reach;
use crate::support::meaning::{fold, holds, mix};

/// A task that changes the elements of a version.
struct Mutation {
    version: NodeId,
    label: Label,
    operator: String,
}

struct Task {
    node: NodeId,
    /// The tasks that dataflow and stated orders put before this one, as a bit set.
    after: u32,
    reads: Vec<NodeId>,
    mutations: Vec<Mutation>,
}

/// A graph that passed the race rules, ready to be run in any order.
pub(crate) struct Memory {
    tasks: Vec<Task>,
    elements: usize,
    /// For each node, the elements it holds.
    held: Vec<Vec<usize>>,
    /// For each version, what the graph says its elements hold; by element.
    expected: Vec<Vec<u64>>,
    sets: bool,
    stale_close: bool,
}

/// What all right orders agree on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Agreement {
    /// Pairs of tasks (before, after), by node.
    pub(crate) required: Vec<(NodeId, NodeId)>,
}

impl Memory {
    pub(crate) fn new(graph: &Graph) -> Self {
        let regions = graph.regions();
        let flow = Reach::dataflow(graph);
        let all = Reach::new(graph, |_| true, &[]);
        let mut used: Vec<RegionId> = graph.nodes().iter().filter_map(|n| n.region()).collect();
        used.sort_unstable();
        used.dedup();
        let elements: Vec<(RegionId, RegionId)> = used
            .iter()
            .flat_map(|r| used.iter().filter(move |s| r <= *s).map(move |s| (*r, *s)))
            .filter(|(r, s)| regions.may_alias(*r, *s))
            .collect();
        let holding: HashMap<RegionId, Vec<usize>> = used
            .iter()
            .map(|r| (*r, (0..elements.len()).filter(|e| holds(regions, *r, elements[*e])).collect()))
            .collect();
        for (r, s) in used.iter().flat_map(|r| used.iter().map(move |s| (*r, *s))) {
            let meet = holding[&r].iter().any(|e| holding[&s].contains(e));
            assert_eq!(meet, regions.may_alias(r, s), "regions share an element exactly when they may alias");
        }
        let held: Vec<Vec<usize>> =
            graph.nodes().iter().map(|n| n.region().map_or(Vec::new(), |r| holding[&r].clone())).collect();
        let mut tasks: Vec<Task> = graph.tasks().map(|node| task(graph, node)).collect();
        assert!(tasks.len() <= 16, "every order of at most sixteen tasks can be tried");
        for at in 0..tasks.len() {
            let before = |t: &Task| t.node != tasks[at].node && all.reaches(t.node, tasks[at].node);
            tasks[at].after =
                tasks.iter().enumerate().filter(|(_, t)| before(t)).fold(0, |set, (other, _)| set | 1 << other);
            // Of two mutations of one element by one task, the one with the older version comes first.
            tasks[at].mutations.sort_by_key(|m| flow.rank(m.version));
        }
        let mut memory =
            Self { sets: false, stale_close: false, expected: Vec::new(), elements: elements.len(), tasks, held };
        memory.sets = memory.has_unlinked_reducer(&flow);
        memory.stale_close = memory.closes_over_old_versions(graph, &flow);
        memory.expected = graph.node_ids().map(|n| memory.history(graph, &flow, n)).collect();
        memory
    }

    /// Whether elements remember sets of mutations, because a reducer is not ordered after the history it folds into.
    pub(crate) fn compares_sets(&self) -> bool {
        self.sets
    }

    /// Whether a Close reads a version older than the latest that reaches it.
    pub(crate) fn has_stale_close(&self) -> bool {
        self.stale_close
    }

    /// Tries every order of the tasks that dataflow and stated orders allow. `None` when no order is right.
    ///
    /// Orders that share a set of finished tasks and the memory they left go on alike, so each such state is entered once.
    pub(crate) fn try_all(&self) -> Option<Agreement> {
        let mut search = Search { memory: self, known: HashMap::new(), possible: vec![0; self.tasks.len()] };
        search.complete(0, &vec![0; self.elements]).then(|| self.agreement(&search.possible))
    }

    /// The same by enumerating the orders one by one, without sharing anything between them.
    pub(crate) fn try_each(&self) -> Option<Agreement> {
        let mut possible = vec![0; self.tasks.len()];
        let mut any = false;
        permutations(&mut (0..self.tasks.len()).collect(), 0, &mut |order| {
            if self.is_right_sequence(order) {
                any = true;
                for (place, &task) in order.iter().enumerate() {
                    order[place + 1..].iter().for_each(|later| possible[task] |= 1 << later);
                }
            }
        });
        any.then(|| self.agreement(&possible))
    }

    /// Whether an order of all tasks respects the dataflow and gives every read what the graph says.
    pub(crate) fn is_right(&self, order: &[NodeId]) -> bool {
        let places: Option<Vec<usize>> = order.iter().map(|n| self.tasks.iter().position(|t| t.node == *n)).collect();
        places.is_some_and(|p| {
            let mut sorted = p.clone();
            sorted.sort_unstable();
            sorted == (0..self.tasks.len()).collect::<Vec<_>>() && self.is_right_sequence(&p)
        })
    }

    fn is_right_sequence(&self, order: &[usize]) -> bool {
        let mut values = vec![0; self.elements];
        let mut done = 0u32;
        order.iter().all(|&task| {
            let right = self.may_run(task, done, &values);
            self.run(task, &mut values);
            done |= 1 << task;
            right
        })
    }

    /// `possible[a]` holds the tasks that come after `a` in some right order; what is never before must be after.
    fn agreement(&self, possible: &[u32]) -> Agreement {
        let mut required = Vec::new();
        for (a, before) in self.tasks.iter().enumerate() {
            for (b, after) in self.tasks.iter().enumerate() {
                if a != b && possible[b] >> a & 1 == 0 {
                    required.push((before.node, after.node));
                }
            }
        }
        Agreement { required }
    }

    fn may_run(&self, task: usize, done: u32, values: &[u64]) -> bool {
        let task = &self.tasks[task];
        task.after & !done == 0
            && task.reads.iter().all(|version| {
                let expected = &self.expected[version.index()];
                self.held[version.index()].iter().all(|e| values[*e] == expected[*e])
            })
    }

    fn run(&self, task: usize, values: &mut [u64]) {
        let task = &self.tasks[task];
        for mutation in &task.mutations {
            for &element in &self.held[mutation.version.index()] {
                values[element] = self.mutate(values[element], task.node, mutation);
            }
        }
    }

    fn mutate(&self, value: u64, task: NodeId, mutation: &Mutation) -> u64 {
        let tag = mix(task.index() as u64 + 1, mutation.version.index() as u64 + 1);
        match mutation.label {
            // The sum of the tags stands for the set: every mutation happens once.
            _ if self.sets => value.wrapping_add(tag),
            Label::Write => tag,
            _ => fold(value, tag, &mutation.operator),
        }
    }

    /// What the graph says the elements of a version hold: the outcome of their histories.
    fn history(&self, graph: &Graph, flow: &Reach, version: NodeId) -> Vec<u64> {
        let mut values = vec![0; self.elements];
        let data = |n: &NodeId| graph.kind(*n) == NodeKind::Data;
        let mut earlier: Vec<NodeId> = graph.node_ids().filter(|n| data(n) && flow.reaches(*n, version)).collect();
        earlier.sort_by_key(|n| flow.rank(*n));
        for &element in &self.held[version.index()] {
            for old in earlier.iter().filter(|n| self.held[n.index()].contains(&element)) {
                for task in &self.tasks {
                    for mutation in task.mutations.iter().filter(|m| m.version == *old) {
                        values[element] = self.mutate(values[element], task.node, mutation);
                    }
                }
            }
        }
        values
    }

    fn has_unlinked_reducer(&self, flow: &Reach) -> bool {
        let meet = |a: NodeId, b: NodeId| self.held[a.index()].iter().any(|e| self.held[b.index()].contains(e));
        let reducers = self.tasks.iter().flat_map(|t| t.mutations.iter().map(move |m| (t, m)));
        reducers.clone().filter(|(_, m)| m.label == Label::Reduce).any(|(reducer, into)| {
            reducers.clone().any(|(other, earlier)| {
                earlier.version != into.version
                    && meet(earlier.version, into.version)
                    && flow.reaches(earlier.version, into.version)
                    && !flow.reaches(other.node, reducer.node)
            })
        })
    }

    fn closes_over_old_versions(&self, graph: &Graph, flow: &Reach) -> bool {
        let closes = graph.node_ids().filter(|n| graph.kind(*n) == NodeKind::Close);
        let edges = |close: NodeId| graph.edges().iter().filter(move |e| e.from == close || e.to == close);
        closes.flat_map(|close| edges(close).filter(|e| e.label == Label::Write)).any(|made| {
            self.held[made.to.index()].iter().any(|element| {
                let earlier = graph.node_ids().filter(|n| self.held[n.index()].contains(element));
                let latest = earlier.filter(|n| flow.reaches(*n, made.from)).max_by_key(|n| flow.rank(*n));
                latest.is_some_and(|latest| !edges(made.from).any(|e| e.from == latest))
            })
        })
    }
}

struct Search<'a> {
    memory: &'a Memory,
    /// Whether a state, that is the finished tasks and the memory, leads to a right order.
    known: HashMap<(u32, Vec<u64>), bool>,
    /// For each task, those that come later in some right order.
    possible: Vec<u32>,
}

impl Search<'_> {
    fn complete(&mut self, done: u32, values: &[u64]) -> bool {
        let tasks = self.memory.tasks.len();
        let all = (1u32 << tasks) - 1;
        let key = (done, values.to_vec());
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let mut right = done == all;
        for task in (0..tasks).filter(|t| done >> t & 1 == 0) {
            if self.memory.may_run(task, done, values) {
                let mut next = values.to_vec();
                self.memory.run(task, &mut next);
                right |= self.complete(done | 1 << task, &next);
            }
        }
        if right {
            for (task, later) in self.possible.iter_mut().enumerate() {
                *later |= if done >> task & 1 == 1 { all & !done } else { 0 };
            }
        }
        self.known.insert(key, right);
        right
    }
}

fn task(graph: &Graph, node: NodeId) -> Task {
    let reads = graph.edges().iter().filter(|e| e.to == node && e.label == Label::Read).map(|e| e.from);
    let mut reads: Vec<NodeId> = reads.collect();
    reads.sort_unstable();
    reads.dedup();
    let mutations = graph.edges().iter().filter(|e| e.from == node && e.label.is_mutation()).map(|e| Mutation {
        version: e.to,
        label: e.label,
        operator: e.operator().map_or(String::new(), |o| graph.operator_name(o).to_owned()),
    });
    Task { node, after: 0, reads, mutations: mutations.collect() }
}

fn permutations(items: &mut Vec<usize>, fixed: usize, visit: &mut impl FnMut(&[usize])) {
    if fixed == items.len() {
        return visit(items);
    }
    for next in fixed..items.len() {
        items.swap(fixed, next);
        permutations(items, fixed + 1, visit);
        items.swap(fixed, next);
    }
}
