//! Whether one node reaches another along dataflow, or along dataflow and stated orders, over at least one node in between.
//!
//! Almost every question is answered near by: the last version of a region is an input of the task that
//! makes the next one. So each question is tried in three ways, cheap to dear: is it an input of a producer; a short
//! backward search; and, for what is left, sweeps over the whole graph that answer for many sources at once, one bit each.
//! The last way bounds the cost of any graph: questions / 512 sweeps over the edges.

use super::flow::{Flow, Topology};
use crate::graph::Label;
use rustc_hash::FxHashMap;

/// How many edges a backward search may look at before its questions are put off to a sweep.
const SEARCH: usize = 256;

/// Answers reachability questions about one graph.
pub(crate) struct Reach<'a> {
    flow: &'a Flow,
    topology: &'a Topology,
    /// Whether stated orders are followed too. Then an edge may join the two ends of a question, and does not answer it.
    stated: bool,
    seen: Vec<u32>,
    round: u32,
    stack: Vec<u32>,
    /// Questions (from, to) that wait for a sweep.
    put_off: Vec<(u32, u32)>,
}

impl<'a> Reach<'a> {
    /// Questions about the dataflow between versions.
    pub(crate) fn new(flow: &'a Flow, topology: &'a Topology) -> Self {
        Self::along(flow, topology, false)
    }

    /// Questions about detours around stated orders, along all edges.
    pub(crate) fn with_stated(flow: &'a Flow, topology: &'a Topology) -> Self {
        Self::along(flow, topology, true)
    }

    fn along(flow: &'a Flow, topology: &'a Topology, stated: bool) -> Self {
        Self { flow, topology, stated, seen: vec![0; flow.len()], round: 0, stack: Vec::new(), put_off: Vec::new() }
    }

    /// Removes from `sources` all that surely reach `to` or whose question was put off. What stays surely does not.
    pub(crate) fn retain_unreaching(&mut self, sources: &mut Vec<u32>, to: u32) {
        let flow = self.flow;
        let producers = flow.into.nodes(to);
        // Long producer lists (a Close of many pieces into one reader) are left to the search, which walks them once.
        if producers.len() <= 4 {
            sources.retain(|source| !producers.iter().any(|&p| takes(flow, p, *source)));
        }
        if sources.is_empty() {
            return;
        }
        let floor = sources.iter().map(|&s| self.topology.position(s)).min().unwrap_or(0);
        match self.search(to, floor, SEARCH + 16 * sources.len()) {
            true => sources.retain(|&s| self.seen[s as usize] != self.round),
            false => {
                let round = self.round;
                self.put_off.extend(sources.iter().filter(|&&s| self.seen[s as usize] != round).map(|&s| (s, to)));
                sources.clear();
            }
        }
    }

    /// Everything that reaches `to`, by an unbounded search. For diagnostics only.
    pub(crate) fn ancestors(&mut self, to: u32) -> Vec<u32> {
        self.search(to, 0, usize::MAX);
        (0..self.flow.len() as u32).filter(|n| self.seen[*n as usize] == self.round).collect()
    }

    /// Answers everything that was put off; returns the pairs that are not connected.
    pub(crate) fn sweep(&mut self, mut progress: impl FnMut(u64, u64)) -> Vec<(u32, u32)> {
        let mut questions = std::mem::take(&mut self.put_off);
        if questions.is_empty() {
            return questions;
        }
        let topology = self.topology;
        questions.sort_unstable_by_key(|&(from, to)| (topology.position(from), topology.position(to)));
        let total = questions.len() as u64;
        let mut unconnected = Vec::new();
        let mut rest = &questions[..];
        // A wide row is faster, a narrow one keeps huge graphs in memory.
        let narrow = self.flow.len() > 1 << 21;
        while !rest.is_empty() {
            let taken = match narrow {
                true => self.sweep_once::<1>(rest, &mut unconnected),
                false => self.sweep_once::<8>(rest, &mut unconnected),
            };
            rest = &rest[taken..];
            progress(total - rest.len() as u64, total);
        }
        unconnected
    }

    /// One sweep for as many of the first questions as have at most 64 W different sources.
    fn sweep_once<const W: usize>(&self, questions: &[(u32, u32)], unconnected: &mut Vec<(u32, u32)>) -> usize {
        let mut sources: Vec<u32> = Vec::new();
        let mut taken = 0;
        for &(from, _) in questions {
            if sources.last() != Some(&from) {
                if sources.len() == 64 * W {
                    break;
                }
                sources.push(from);
            }
            taken += 1;
        }
        let questions = &questions[..taken];
        let first = self.topology.position(questions[0].0);
        let last = questions.iter().map(|&(_, to)| self.topology.position(to)).max().unwrap_or(first);
        if last < first {
            unconnected.extend_from_slice(questions);
            return taken;
        }
        let mut rows = vec![[0u64; W]; (last - first + 1) as usize];
        for (bit, &source) in sources.iter().enumerate() {
            rows[(self.topology.position(source) - first) as usize][bit / 64] |= 1 << (bit % 64);
        }
        for at in first..=last {
            let row = rows[(at - first) as usize];
            if row == [0; W] {
                continue;
            }
            for (to, label) in self.flow.out.of(self.topology.node(at)) {
                let place = self.topology.position(to);
                if self.follows(label) && place <= last {
                    let target = &mut rows[(place - first) as usize];
                    for (t, r) in target.iter_mut().zip(row) {
                        *t |= r;
                    }
                }
            }
        }
        let mut bit = 0;
        // The starts from which a detour leads to a node, by node.
        let mut detours: FxHashMap<u32, [u64; W]> = FxHashMap::default();
        for &(from, to) in questions {
            while sources[bit] != from {
                bit += 1;
            }
            let place = self.topology.position(to);
            let row = match place.checked_sub(first) {
                None => [0; W],
                Some(at) if !self.stated => rows[at as usize],
                Some(_) => *detours.entry(to).or_insert_with(|| self.detours(to, first, &rows, &sources)),
            };
            if row[bit / 64] >> (bit % 64) & 1 == 0 {
                unconnected.push((from, to));
            }
        }
        taken
    }

    /// What the rows of a node's predecessors hold, but for each predecessor itself.
    fn detours<const W: usize>(&self, to: u32, first: u32, rows: &[[u64; W]], sources: &[u32]) -> [u64; W] {
        let mut found = [0; W];
        for &before in self.flow.into.nodes(to) {
            let place = self.topology.position(before);
            let Some(at) = place.checked_sub(first) else { continue };
            let mut row = rows[at as usize];
            if let Ok(own) = sources.binary_search_by_key(&place, |source| self.topology.position(*source)) {
                row[own / 64] &= !(1 << (own % 64));
            }
            found.iter_mut().zip(row).for_each(|(word, more)| *word |= more);
        }
        found
    }

    fn follows(&self, label: Label) -> bool {
        self.stated || label != Label::HappensBefore
    }

    /// Marks what reaches `to` from positions at or above `floor`. False when the budget ran out first.
    fn search(&mut self, to: u32, floor: u32, budget: usize) -> bool {
        self.round += 1;
        self.stack.clear();
        self.stack.push(to);
        let mut looked = 0usize;
        while let Some(node) = self.stack.pop() {
            // What only an edge joins to the end of a question is followed, and not marked.
            let joined = self.stated && node == to;
            let into = &self.flow.into;
            looked = looked.saturating_add(into.degree(node) as usize);
            for (from, label) in into.of(node) {
                if self.follows(label)
                    && self.seen[from as usize] != self.round
                    && self.topology.position(from) >= floor
                {
                    if !joined {
                        self.seen[from as usize] = self.round;
                    }
                    self.stack.push(from);
                }
            }
            if looked > budget && !self.stack.is_empty() {
                return false;
            }
        }
        true
    }
}

/// Whether a compute node takes a version as an input, other than by a stated order.
fn takes(flow: &Flow, compute: u32, version: u32) -> bool {
    let inputs = flow.into.nodes(compute);
    // The list is sorted, and data is never the source of a HappensBefore in a well-formed graph.
    inputs.binary_search(&version).is_ok()
}
