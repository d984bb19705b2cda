//! Who may fire.
//!
//! A node may fire when it is active, is not blocked, and none of its children is active. It becomes active when a queue that
//! leads into it is full, or a flush comes. Whoever changes one of these sees to it that a node that may fire now is on the
//! stack.

use std::time::Instant;

use super::Machine;
use super::time::since;
use crate::plan::regions::WHOLE;

/// A flush on its way: the number of the region that it is for, how many regions are around that, counting the whole stream, and
/// which of all flushes it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flush {
    pub(crate) region: u32,
    pub(crate) depth: usize,
    pub(crate) count: u64,
}

/// What a node is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum State {
    /// It waits for its queues to be full, or for a flush.
    #[default]
    Inactive,
    /// It has something to do.
    Active,
    /// It has something to do, and waits for something else than its children.
    Blocked(Wait),
}

/// What a blocked node waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// A place for a parent.
    Parents,
    /// The boundary of a region, or something that is to be taken before, which has to come over other edges.
    Boundary,
    /// Its loop has to become empty, or less full.
    Loop,
    /// All that it pushed has to be beyond the joins behind it.
    Knot,
    /// All that comes of the chunk that it gave has to be where it belongs.
    Chunk,
    /// Somebody outside of the stream; it is tried again at a time, if there is one.
    Outside(Option<Instant>),
}

/// Whether a node may fire.
#[derive(Default)]
pub(crate) struct Status {
    pub(crate) state: State,
    /// How many edges lead to active children.
    pub(crate) active_children: u32,
    /// Whether it is on the stack.
    queued: bool,
    /// Whether a flush has come to it over all of its edges.
    pub(super) flushing: bool,
    /// Whether it brings what waits for it to an end, for the sake of its loop, or of those outside who wait for what comes of it.
    pub(crate) draining: bool,
    pub(crate) hurrying: bool,
}

impl Status {
    /// Whether it brings what waits for it to an end, though no flush has come.
    #[inline]
    pub(crate) fn brings_to_end(&self) -> bool {
        self.draining || self.hurrying
    }
}

impl Machine<'_> {
    /// Puts a node on the stack, if it may fire.
    pub(super) fn schedule(&mut self, node: u32) {
        let status = &mut self.nodes[node as usize].status;
        if status.state == State::Active && status.active_children == 0 && !status.queued {
            status.queued = true;
            self.fireable.push(node);
        }
    }

    /// The next node that may fire.
    pub(crate) fn next(&mut self) -> Option<u32> {
        while let Some(node) = self.fireable.pop() {
            let status = &mut self.nodes[node as usize].status;
            status.queued = false;
            // Where edges join, a node's child may have become active since.
            if status.state == State::Active && status.active_children == 0 {
                return Some(node);
            }
        }
        None
    }

    /// A node has something to do.
    pub(crate) fn activate(&mut self, node: u32) {
        let status = &mut self.nodes[node as usize].status;
        if status.state == State::Inactive {
            status.state = State::Active;
            self.count_all(node);
        }
        self.schedule(node);
    }

    /// An active node counts for those that lead to it.
    fn count_all(&mut self, node: u32) {
        for at in 0..self.nodes[node as usize].inputs.len() {
            self.count(self.nodes[node as usize].inputs[at].edge);
        }
    }

    /// The consumer of an edge counts for its producer. Over a back edge it does not: there is room, as the loop is bounded, and
    /// two nodes would wait for each other.
    pub(super) fn count(&mut self, edge: u32) {
        let now = self.clock();
        let edge = &mut self.edges[edge as usize];
        if !edge.back && !edge.counted {
            (edge.counted, edge.since) = (true, now);
            self.nodes[edge.from as usize].status.active_children += 1;
        }
    }

    /// The consumer of an edge does not count for its producer any more.
    pub(super) fn uncount(&mut self, edge: u32) {
        let edge = &mut self.edges[edge as usize];
        if edge.counted {
            edge.counted = false;
            edge.blocked += since(edge.since.take());
            let from = edge.from;
            self.nodes[from as usize].status.active_children -= 1;
            self.schedule(from);
        }
    }

    /// A node has nothing to do.
    pub(crate) fn deactivate(&mut self, node: u32) {
        self.nodes[node as usize].status.state = State::Inactive;
        for at in 0..self.nodes[node as usize].inputs.len() {
            self.uncount(self.nodes[node as usize].inputs[at].edge);
        }
    }

    /// A node waits. What will end that has been started.
    pub(crate) fn block(&mut self, node: u32, wait: Wait) {
        self.nodes[node as usize].status.state = State::Blocked(wait);
    }

    /// What a node waited for has come.
    pub(crate) fn unblock(&mut self, node: u32) {
        let status = &mut self.nodes[node as usize].status;
        if let State::Blocked(wait) = status.state {
            status.state = State::Active;
            self.starving -= u32::from(wait == Wait::Boundary);
            self.waiting -= u32::from(matches!(wait, Wait::Outside(_)));
            for at in 0..self.nodes[node as usize].inputs.len() {
                self.edges[self.nodes[node as usize].inputs[at].edge as usize].starved = false;
            }
            self.count_all(node);
            self.schedule(node);
        }
    }

    /// Nobody may fire, as some wait for somebody outside. Until their queues are full, those that wait, and those that wait for
    /// them, keep nobody from firing. True when somebody may fire now.
    pub(super) fn let_go(&mut self) -> bool {
        for edge in 0..self.edges.len() as u32 {
            if !self.edges[edge as usize].is_full() {
                self.uncount(edge);
            }
        }
        !self.fireable.is_empty()
    }

    /// A node waits for a boundary that has come over some of its edges. Over the others it does not count as active, so that
    /// their producers can bring it; and whoever holds it back is made to go on.
    pub(crate) fn starve(&mut self, node: u32) {
        self.block(node, Wait::Boundary);
        self.starving += 1;
        let mut upstream = std::mem::take(&mut self.upstream);
        for at in 0..self.nodes[node as usize].inputs.len() {
            let number = self.nodes[node as usize].inputs[at].edge;
            let edge = &mut self.edges[number as usize];
            if !edge.back && edge.pipe.signals().borrow().len() == 0 {
                edge.starved = true;
                upstream.push(edge.from);
                self.uncount(number);
            }
        }
        // A boundary that is on its way is in a queue of one of those that lead here. A node with a signal loses no lanes when
        // it goes on: its vector is cut by the signal anyway.
        let mut seen = std::mem::take(&mut self.seen);
        seen.clear();
        seen.resize(self.nodes.len(), false);
        while let Some(node) = upstream.pop() {
            if std::mem::replace(&mut seen[node as usize], true) {
                continue;
            }
            let mut has_signals = false;
            for one in &self.nodes[node as usize].inputs {
                let edge = &self.edges[one.edge as usize];
                has_signals |= edge.pipe.signals().borrow().len() > 0;
                if !edge.back {
                    upstream.push(edge.from);
                }
            }
            if has_signals {
                self.activate(node);
            }
        }
        (self.upstream, self.seen) = (upstream, seen);
    }

    /// A flush comes to a node over one of its edges.
    pub(crate) fn flush(&mut self, edge: u32, flush: Flush) {
        let edge = &mut self.edges[edge as usize];
        let to = edge.to;
        if edge.back || flush.region > self.nodes[to as usize].number() {
            return;
        }
        let Some(last) = edge.flushes.get_mut(flush.depth) else { return };
        let before = std::mem::replace(last, flush.count);
        let this = &mut self.nodes[to as usize];
        // Counted, so that a join of many edges is not looked at as a whole for each of them.
        let passed = this.flushed[flush.depth];
        this.missing[flush.depth] -= usize::from(before <= passed && passed < flush.count);
        if this.missing[flush.depth] == 0 {
            this.status.flushing = true;
            self.activate(to);
        }
    }

    /// The flush of the whole stream, or of one of the regions around a node, that has come to the node over all of its edges, and
    /// was not passed on yet. A flush may come over one edge before an earlier one has come over another, so they are numbered.
    fn flush_of(&self, node: u32, depth: usize) -> Option<u64> {
        let this = &self.nodes[node as usize];
        let forward = this.inputs.iter().map(|one| &self.edges[one.edge as usize]).filter(|edge| !edge.back);
        let count = forward.map(|edge| edge.flushes.get(depth).copied().unwrap_or(0)).min()?;
        (count > this.flushed[depth]).then_some(count)
    }

    /// Whether a node has to bring what waits for it to an end.
    #[inline]
    pub(crate) fn is_flushing(&self, node: u32) -> bool {
        self.nodes[node as usize].status.flushing
    }

    /// A node has done the flushes that came to it: they go on to its children.
    pub(crate) fn pass_flush(&mut self, node: u32) {
        self.nodes[node as usize].status.flushing = false;
        for depth in 0..self.nodes[node as usize].flushed.len() {
            if self.nodes[node as usize].missing[depth] > 0 {
                continue;
            }
            if let Some(count) = self.flush_of(node, depth) {
                let this = &mut self.nodes[node as usize];
                this.flushed[depth] = count;
                let forward = this.inputs.iter().map(|one| &self.edges[one.edge as usize]).filter(|edge| !edge.back);
                this.missing[depth] = forward.filter(|edge| edge.flushes[depth] <= count).count();
                let flush = Flush { region: this.numbers[depth], depth, count };
                self.flush_children(node, flush);
                if depth == 0 && count >= self.wished_flush {
                    // What was wished has come through: those behind need not hurry for it.
                    self.nodes[node as usize].hurried = self.flushes;
                }
            }
        }
    }

    /// A flush that nobody has seen yet, of a region with so many around it.
    pub(crate) fn new_flush(&mut self, region: u32, depth: usize) -> Flush {
        self.flushes_begun += 1;
        Flush { region, depth, count: self.flushes_begun }
    }

    /// Begins a flush of a region, or passes it on.
    pub(crate) fn flush_children(&mut self, node: u32, flush: Flush) {
        for at in 0..self.nodes[node as usize].outputs.len() {
            self.flush(self.nodes[node as usize].outputs[at], flush);
        }
    }

    /// What a source has given is to be brought to its end. A join behind it waits for a flush over all of its edges, so the sources
    /// that lead there flush too; those that are not in `these` have something better to do.
    pub(crate) fn flush_sources(&mut self, node: u32, these: impl Fn(&Self, u32) -> bool) {
        let flush = self.new_flush(WHOLE, 0);
        self.flush_children(node, flush);
        for at in 0..self.nodes[node as usize].together.len() {
            let other = self.nodes[node as usize].together[at];
            if these(self, other) {
                self.flush_children(other, flush);
            }
        }
    }
}
