//! Rule S1: dataflow plus the exact orders is acyclic.
//!
//! The exact rule (E): a Task X that reads version D must precede a Task C ≠ X that writes or reduces a version W ≠ D when
//! the regions of D and W may alias and W does not reach D. Where RF2 holds, aliasing versions are totally ordered by
//! reachability, so "W does not reach D" is "W comes after D in any topological order". The rule then reads: **whoever
//! reads D runs before every task that mutates an aliasing version later than D**.
//!
//! That is a question about suffixes. Visiting versions from last to first, each group of [`Covers`] remembers the
//! mutations seen so far, all of them later than the version at hand. Two tiers use this:
//!
//! 1. [`follows_topology`] remembers only the earliest mutators by topological position. If every reader stands before the
//!    earliest mutator it must precede, the topological order itself is a serial order: accept. This takes a few
//!    machine words per group, and accepts every graph whose topological order happens to respect the rule.
//! 2. [`Orders`] builds the rule as a graph with *gates*: extra nodes that stand for "all mutations in this group later
//!    than here". A gate points at the mutators it adds and at the gate before it, so n readers and m mutators cost
//!    n + m edges and not n · m. Relations between different tasks are exactly those of rule E. A reader that is itself
//!    one of the mutators can reach itself through a gate; that is not a cycle of the rule, so a strongly connected
//!    component is a violation exactly when it holds two different tasks.

use super::flow::{Flow, Topology};
use crate::graph::adjacency::{Lists, left_out, topological};
use crate::graph::{Graph, Label};
use crate::region::RegionId;
use crate::region::cover::{Covers, Group, Join, Joined};

const NONE: u32 = u32::MAX;

/// Everything the order rules need to know about a graph that passed the race rules.
pub(crate) struct Ordered<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) flow: &'a Flow,
    pub(crate) topology: &'a Topology,
    pub(crate) covers: &'a Covers,
}

impl Ordered<'_> {
    /// The region of a version that takes part in the rules.
    pub(crate) fn region(&self, version: u32) -> Option<RegionId> {
        (self.flow.is_data(version) && self.flow.has_edges(version))
            .then(|| self.graph.nodes()[version as usize].region())
            .flatten()
    }

    /// The versions that take part, last first.
    fn versions_backwards(&self) -> impl Iterator<Item = (u32, RegionId)> + '_ {
        (0..self.flow.len() as u32).rev().filter_map(|at| {
            let version = self.topology.node(at);
            Some((version, self.region(version)?))
        })
    }
}

/// The two earliest different tasks, by position.
#[derive(Clone, Copy, PartialEq)]
struct Earliest([u32; 2]);

impl Earliest {
    fn add(&mut self, position: u32) {
        let [first, second] = self.0;
        if position < first {
            self.0 = [position, first];
        } else if position != first && position < second {
            self.0[1] = position;
        }
    }

    /// The earliest task other than the one at `position`.
    fn other_than(self, position: u32) -> u32 {
        if self.0[0] == position { self.0[1] } else { self.0[0] }
    }
}

impl Join for Earliest {
    const NOTHING: Self = Earliest([NONE; 2]);

    fn join(&mut self, other: Self) {
        self.add(other.0[0]);
        self.add(other.0[1]);
    }
}

/// Whether the topological order itself satisfies the exact rule. True means S1 holds; false means nothing yet.
pub(crate) fn follows_topology(ordered: &Ordered<'_>) -> bool {
    let Ordered { flow, topology, covers, .. } = *ordered;
    let mut mutators = Joined::new(covers);
    for (version, region) in ordered.versions_backwards() {
        let later: Earliest = mutators.over(region);
        if later != Earliest::NOTHING {
            for reader in flow.task_readers(version) {
                let position = topology.position(reader);
                if later.other_than(position) < position {
                    return false;
                }
            }
        }
        let mut new = Earliest::NOTHING;
        flow.task_mutators(version).for_each(|c| new.add(topology.position(c)));
        if new != Earliest::NOTHING {
            mutators.enter(region, new);
        }
    }
    true
}

/// The exact rule as a graph over the nodes plus gates.
pub(crate) struct Orders {
    /// How many nodes the graph has; larger numbers are gates.
    pub(crate) nodes: u32,
    after: Lists<u32>,
}

impl Orders {
    /// What must come after a node or gate, by the exact rule alone.
    pub(crate) fn after(&self, node: u32) -> &[u32] {
        self.after.get(node)
    }

    /// What comes after a node or gate, by the dataflow, stated orders and the exact rule.
    pub(crate) fn successors<'a>(&'a self, flow: &'a Flow, node: u32) -> impl Iterator<Item = u32> + 'a {
        let data: &[u32] = if node < self.nodes { flow.out.nodes(node) } else { &[] };
        data.iter().chain(self.after(node)).copied()
    }

    /// How many nodes and gates there are.
    pub(crate) fn len(&self) -> usize {
        self.after.len()
    }

    /// Builds the rule. Costs the edges, plus for each version that is read the length of its region's cover.
    pub(crate) fn new(ordered: &Ordered<'_>) -> Self {
        let mut gates = Gates::new(ordered);
        for (version, region) in ordered.versions_backwards() {
            gates.protect_readers(version, region);
            gates.record_mutation(version, region);
        }
        let nodes = ordered.flow.len() as u32;
        let after = Lists::grouped((nodes + gates.count) as usize, gates.edges.iter().copied());
        Self { nodes, after }
    }
}

/// The nodes and gates on a cycle of dataflow, stated orders and the exact rule, or behind one; empty when S1 holds.
pub(crate) fn tangled(flow: &Flow, orders: &Orders) -> Vec<u32> {
    left_out(orders.len(), &topological(orders.len(), |node| orders.successors(flow, node)))
}

/// A set of later mutators: nothing, one task, or a gate.
type Set = u32;

/// The state of the backward walk that builds [`Orders`].
struct Gates<'a> {
    ordered: &'a Ordered<'a>,
    edges: Vec<(u32, u32)>,
    count: u32,
    /// Mutations of the group's own region.
    here: Vec<Set>,
    /// Mutations in the subtree, up to date when the group is not stale.
    below: Vec<Set>,
    here_changed: Vec<bool>,
    stale: Vec<bool>,
    stale_children: Vec<Vec<Group>>,
    /// Whether a set holds a reduction, by gate. Later writes follow from earlier ones by dataflow, but one reducer of a
    /// version need not follow what another one follows, so only sets with reductions must be kept behind newer ones.
    reduces: Vec<bool>,
    /// For a gate made for one Write: its task and the set behind it.
    split: Vec<(u32, Set)>,
    sets: Vec<Set>,
}

impl<'a> Gates<'a> {
    fn new(ordered: &'a Ordered<'a>) -> Self {
        let n = ordered.covers.group_count();
        Self {
            ordered,
            edges: Vec::new(),
            count: 0,
            here: vec![NONE; n],
            below: vec![NONE; n],
            here_changed: vec![false; n],
            stale: vec![false; n],
            stale_children: vec![Vec::new(); n],
            reduces: Vec::new(),
            split: Vec::new(),
            sets: Vec::new(),
        }
    }

    fn gate(&mut self, reduces: bool, split: (u32, Set), targets: &[u32]) -> Set {
        let gate = self.ordered.flow.len() as u32 + self.count;
        self.count += 1;
        self.reduces.push(reduces);
        self.split.push(split);
        self.edges.extend(targets.iter().map(|&t| (gate, t)));
        gate
    }

    fn has_reductions(&self, set: Set) -> bool {
        let first = self.ordered.flow.len() as u32;
        set != NONE && set >= first && self.reduces[(set - first) as usize]
    }

    fn split_of(&self, set: Set) -> Option<(u32, Set)> {
        let (task, rest) = *self.split.get(set.checked_sub(self.ordered.flow.len() as u32)? as usize)?;
        (task != NONE).then_some((task, rest))
    }

    fn protect_readers(&mut self, version: u32, region: RegionId) {
        let ordered = self.ordered;
        let mut readers = ordered.flow.task_readers(version).peekable();
        if readers.peek().is_none() {
            return;
        }
        let mut sets = std::mem::take(&mut self.sets);
        sets.clear();
        for part in ordered.covers.cover(region) {
            let set = if part.below { self.refresh(part.group) } else { self.here[part.group as usize] };
            if set != NONE && !sets.contains(&set) {
                sets.push(set);
            }
        }
        // Many readers of a version with many sets share one gate.
        let share = sets.len() > 1 && ordered.flow.out.degree(version) > 2;
        let mut shared = NONE;
        for reader in readers {
            // A task that reads a version and replaces it is the usual case: step over its own mutation.
            let is_own = |set: Set| set == reader || self.split_of(set).is_some_and(|(task, _)| task == reader);
            if share && !sets.iter().any(|&set| is_own(set)) {
                if shared == NONE {
                    shared = self.gate(false, (NONE, NONE), &sets);
                }
                self.edges.push((reader, shared));
                continue;
            }
            for &set in &sets {
                let target = match self.split_of(set) {
                    Some((task, rest)) if task == reader => rest,
                    _ if set == reader => NONE,
                    _ => set,
                };
                if target != NONE {
                    self.edges.push((reader, target));
                }
            }
        }
        self.sets = sets;
    }

    fn record_mutation(&mut self, version: u32, region: RegionId) {
        let flow = self.ordered.flow;
        let mut mutators: Vec<u32> = flow.task_mutators(version).collect();
        mutators.dedup();
        let Some(&first) = mutators.first() else { return };
        let reduction = flow.into.labels(version).contains(&Label::Reduce);
        let group = self.ordered.covers.group(region) as usize;
        let behind = match self.has_reductions(self.here[group]) {
            true => self.here[group],
            false => NONE,
        };
        self.here[group] = match (reduction, behind) {
            (false, NONE) => first,
            (false, _) => self.gate(true, (first, behind), &[first, behind]),
            (true, _) => {
                let split = if mutators.len() == 1 { (first, behind) } else { (NONE, NONE) };
                mutators.extend((behind != NONE).then_some(behind));
                self.gate(true, split, &mutators)
            }
        };
        self.here_changed[group] = true;
        let mut todo = vec![group as Group];
        while let Some(g) = todo.pop() {
            if std::mem::replace(&mut self.stale[g as usize], true) {
                continue;
            }
            for &parent in self.ordered.covers.parents(g) {
                self.stale_children[parent as usize].push(g);
                todo.push(parent);
            }
        }
    }

    /// Brings the set of a subtree up to date: what it was, plus what changed in it since.
    fn refresh(&mut self, group: Group) -> Set {
        let mut calls = vec![group];
        while let Some(&g) = calls.last() {
            let g = g as usize;
            if !self.stale[g] {
                calls.pop();
                continue;
            }
            let waiting = calls.len();
            calls.extend(self.stale_children[g].iter().filter(|c| self.stale[**c as usize]));
            if calls.len() > waiting {
                continue;
            }
            let mut parts: Vec<Set> = Vec::new();
            let mut before = self.below[g];
            if std::mem::take(&mut self.here_changed[g]) {
                parts.push(self.here[g]);
                // What was below is later than a mutation of the whole, and follows from it like any later write.
                if !self.has_reductions(before) {
                    before = NONE;
                }
            }
            for child in std::mem::take(&mut self.stale_children[g]) {
                let set = self.below[child as usize];
                if parts.len() > 8 || !parts.contains(&set) {
                    parts.push(set);
                }
            }
            if before != NONE && !parts.contains(&before) {
                parts.push(before);
            }
            self.below[g] = match parts[..] {
                [only] => only,
                _ => {
                    let reduces = parts.iter().any(|&s| self.has_reductions(s));
                    self.gate(reduces, (NONE, NONE), &parts)
                }
            };
            self.stale[g] = false;
            calls.pop();
        }
        self.below[group as usize]
    }
}
