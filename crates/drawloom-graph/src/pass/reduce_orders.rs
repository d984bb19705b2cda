//! Transitive reduction of stated orders.
//!
//! A HappensBefore edge is needless when another path leads from its start to its end. In an acyclic graph all needless
//! edges can go at once: the path that makes one needless can be followed without the others. Dataflow edges always stay,
//! and so does a HappensBefore edge with a port, which may say more than its ends do.
//!
//! Whether there is such a path is asked for all edges that start at one node together. Most paths are short, so a search
//! that follows a few hundred edges, and leaves every level beyond the furthest end alone, answers most questions. The
//! rest are answered by sweeps, which push one bit for each of 512 starts along the topological order.
//!
//! # Cost
//! With V nodes, E edges, and S nodes where stated orders start: O(V + E) for the whole, at most 512·S for the searches,
//! and S/512 sweeps of O(V + E) with 64 bytes for each node, each over no more than the part of the order between its first
//! start and its last end.

use rustc_hash::{FxHashMap, FxHashSet};

use super::edit::Edit;
use super::refusal::{Refusal, require_valid};
use super::walk::{in_bodies, topological};
use crate::graph::{EdgeId, Graph, Label, NodeId};

/// How many edges the first search follows from one start.
const NEAR: usize = 512;

/// How many words of 64 starts each a sweep carries.
const WORDS: usize = 8;

/// What makes a stated order needless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImpliedBy {
    /// Dataflow and other stated orders.
    Graph,
    /// Also the orders that the exact rule derives from the dataflow.
    Rule,
}

/// Drops stated orders that follow from others. Looks into nested graphs.
pub fn reduce_orders(graph: &Graph, implied_by: ImpliedBy) -> Result<Graph, Refusal> {
    require_valid(graph)?;
    reduce(graph, implied_by, 0)
}

fn reduce(graph: &Graph, implied_by: ImpliedBy, depth: usize) -> Result<Graph, Refusal> {
    let mut edit = Edit::new(graph);
    in_bodies(&mut edit, depth, |body, depth| reduce(body, implied_by, depth))?;
    let derived = match implied_by {
        ImpliedBy::Graph => Vec::new(),
        ImpliedBy::Rule => derived(graph),
    };
    needless(graph, &derived).into_iter().for_each(|edge| edit.remove_edge(edge));
    Ok(edit.finish())
}

/// The orders that follow from the dataflow alone.
fn derived(graph: &Graph) -> Vec<(NodeId, NodeId)> {
    let mut edit = Edit::new(graph);
    let stated = graph.edge_ids().filter(|e| graph.edge(*e).label == Label::HappensBefore);
    stated.for_each(|edge| edit.remove_edge(edge));
    // No node is dropped, so ids mean the same.
    edit.finish().order().map(|order| order.happens_before).unwrap_or_default()
}

/// A stated order that is in question.
struct Question {
    edge: EdgeId,
    from: u32,
    to: u32,
    needless: bool,
}

fn needless(graph: &Graph, derived: &[(NodeId, NodeId)]) -> Vec<EdgeId> {
    let implied: FxHashSet<(NodeId, NodeId)> = derived.iter().copied().collect();
    let mut asked: FxHashSet<(NodeId, NodeId)> = FxHashSet::default();
    let mut questions: Vec<Question> = Vec::new();
    for id in graph.edge_ids() {
        let edge = graph.edge(id);
        if edge.label == Label::HappensBefore && edge.port().is_none() {
            let ends = (edge.from, edge.to);
            // Of equal orders the first stays in question, and the others are needless.
            let needless = !asked.insert(ends) || implied.contains(&ends);
            questions.push(Question { edge: id, from: edge.from.0, to: edge.to.0, needless });
        }
    }
    if questions.is_empty() {
        return Vec::new();
    }
    let paths = Paths::new(graph, derived);
    questions.sort_by_key(|q| (paths.position[q.from as usize], q.edge));
    let mut open: Vec<&mut Question> = Vec::new();
    for group in questions.chunk_by_mut(|a, b| a.from == b.from) {
        if !paths.search(group) {
            open.extend(group.iter_mut().filter(|q| !q.needless));
        }
    }
    paths.sweep_all(&mut open);
    questions.into_iter().filter(|q| q.needless).map(|q| q.edge).collect()
}

/// Every edge, stated and derived orders included, by its start.
struct Paths {
    starts: Vec<u32>,
    ends: Vec<u32>,
    order: Vec<NodeId>,
    position: Vec<u32>,
    /// The length of the longest path to each node: a path only climbs.
    level: Vec<u32>,
}

impl Paths {
    fn new(graph: &Graph, derived: &[(NodeId, NodeId)]) -> Self {
        // Derived orders may pass through barriers, which are numbered behind the nodes.
        let beyond = derived.iter().map(|(from, to)| from.index().max(to.index()) + 1).max().unwrap_or(0);
        let n = graph.nodes().len().max(beyond);
        let pairs = || graph.edges().iter().map(|e| (e.from, e.to)).chain(derived.iter().copied());
        let mut starts = vec![0u32; n + 1];
        pairs().for_each(|(from, _)| starts[from.index() + 1] += 1);
        (0..n).for_each(|i| starts[i + 1] += starts[i]);
        let mut next = starts.clone();
        let mut ends = vec![0; starts[n] as usize];
        for (from, to) in pairs() {
            ends[next[from.index()] as usize] = to.0;
            next[from.index()] += 1;
        }
        let mut paths = Self { starts, ends, order: Vec::new(), position: vec![0; n], level: vec![0; n] };
        paths.order = match derived {
            [] => topological(graph),
            _ => paths.topological(),
        };
        for (at, node) in paths.order.iter().enumerate() {
            paths.position[node.index()] = at as u32;
            let level = paths.level[node.index()] + 1;
            for at in paths.starts[node.index()]..paths.starts[node.index() + 1] {
                let end = paths.ends[at as usize] as usize;
                paths.level[end] = paths.level[end].max(level);
            }
        }
        paths
    }

    fn after(&self, node: u32) -> &[u32] {
        &self.ends[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    fn topological(&self) -> Vec<NodeId> {
        let n = self.level.len();
        let mut waiting = vec![0u32; n];
        self.ends.iter().for_each(|end| waiting[*end as usize] += 1);
        let mut order: Vec<NodeId> = (0..n).filter(|i| waiting[*i] == 0).map(NodeId::from_index).collect();
        let mut at = 0;
        while at < order.len() {
            for &next in self.after(order[at].0) {
                waiting[next as usize] -= 1;
                if waiting[next as usize] == 0 {
                    order.push(NodeId(next));
                }
            }
            at += 1;
        }
        order
    }

    /// Looks for detours near one start. Returns whether that answered all of its questions.
    fn search(&self, questions: &mut [Question]) -> bool {
        let Some(furthest) = questions.iter().filter(|q| !q.needless).map(|q| self.level[q.to as usize]).max() else {
            return true;
        };
        let mut targets: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        questions.iter().enumerate().for_each(|(at, q)| targets.entry(q.to).or_default().push(at));
        let mut seen: FxHashSet<u32> = FxHashSet::default();
        let mut todo: Vec<u32> = Vec::new();
        let mut followed = 0;
        for &next in self.after(questions[0].from) {
            followed += 1;
            if followed > NEAR {
                return false;
            }
            if self.level[next as usize] < furthest && seen.insert(next) {
                todo.push(next);
            }
        }
        // Everything here was reached over at least one node in between.
        while let Some(node) = todo.pop() {
            for &next in self.after(node) {
                followed += 1;
                if followed > NEAR {
                    return false;
                }
                if let Some(found) = targets.get(&next) {
                    found.iter().for_each(|at| questions[*at].needless = true);
                }
                if self.level[next as usize] < furthest && seen.insert(next) {
                    todo.push(next);
                }
            }
        }
        true
    }

    /// Answers the remaining questions, which come sorted by the place of their starts.
    fn sweep_all(&self, open: &mut [&mut Question]) {
        let mut rest = open;
        while !rest.is_empty() {
            let mut starts: Vec<u32> = Vec::new();
            let mut taken = 0;
            while taken < rest.len() {
                if starts.last() != Some(&rest[taken].from) {
                    if starts.len() == WORDS * 64 {
                        break;
                    }
                    starts.push(rest[taken].from);
                }
                taken += 1;
            }
            let (batch, others) = rest.split_at_mut(taken);
            self.sweep(&starts, batch);
            rest = others;
        }
    }

    fn sweep(&self, starts: &[u32], questions: &mut [&mut Question]) {
        let place = |node: u32| self.position[node as usize] as usize;
        let (Some(first), Some(last)) =
            (starts.iter().map(|s| place(*s)).min(), questions.iter().map(|q| place(q.to)).max())
        else {
            return;
        };
        // Which starts reach the node at a place, themselves included.
        let mut reach = vec![[0u64; WORDS]; last + 1 - first];
        let bits: FxHashMap<u32, usize> = starts.iter().enumerate().map(|(bit, s)| (*s, bit)).collect();
        let mut asked: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        questions.iter().enumerate().for_each(|(at, q)| asked.entry(q.to).or_default().push(at));
        for at in first..=last {
            let node = self.order[at].0;
            if let Some(bit) = bits.get(&node) {
                reach[at - first][bit / 64] |= 1 << (bit % 64);
            }
            let mask = reach[at - first];
            if mask == [0; WORDS] {
                continue;
            }
            for &next in self.after(node) {
                if place(next) > last {
                    continue;
                }
                for &question in asked.get(&next).map_or(&[][..], |list| &list[..]) {
                    let q = &mut questions[question];
                    let bit = bits[&q.from];
                    q.needless |= q.from != node && mask[bit / 64] >> (bit % 64) & 1 == 1;
                }
                reach[place(next) - first].iter_mut().zip(mask).for_each(|(word, more)| *word |= more);
            }
        }
    }
}
