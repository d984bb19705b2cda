//! One node consumes what waits for it.
//!
//! A firing is a series of steps: a run over up to a vector of items, or the handling of one signal. Before each step, no
//! child is active, so every channel has room for all that the step may push and raise. After it, every child whose queue
//! became full is activated, and then the firing ends. A step may be a run over several vectors, which counts as so many runs.

use std::sync::atomic::Ordering;

use super::signal::Signal;
use super::status::{State, Wait};
use super::time::since;
use super::{Edge, Machine};
use crate::body::{Fault, Stop};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::Kind;

/// What a node does next.
enum Step {
    /// A run over items of one of its edges.
    Run { at: usize, count: usize },
    /// A run that reaches over boundaries.
    Span,
    /// The signal at the head of an edge; a boundary where edges join has come over all of them.
    Signal { at: usize },
    /// A boundary has come over some edges only.
    Hold,
    /// Something may come over the edges before this one, which is to be taken first.
    Await { at: usize },
    /// Its loop has to become empty, or less full, first.
    Drain,
    /// Nothing.
    Rest,
}

impl Machine<'_> {
    /// Fires a node until it has nothing to do, or must wait.
    pub(crate) fn fire(&mut self, node: u32) -> Result<()> {
        self.current.set(node);
        if matches!(self.nodes[node as usize].kind, Kind::Source { .. }) {
            return self.fire_source(node);
        }
        let mut has_done = false;
        while self.nodes[node as usize].status.active_children == 0
            && self.nodes[node as usize].status.state == State::Active
        {
            // An item may go around in a loop for ever, so this is asked before each step.
            self.go_on()?;
            self.share(node);
            if self.make_way(node, has_done) {
                break;
            }
            has_done = true;
            match self.next_step(node) {
                Step::Run { .. } | Step::Span | Step::Signal { .. } if !self.has_turn(node) => {
                    self.block_outside(node, None);
                }
                Step::Run { at, count } => {
                    self.run(node, at, count)?;
                    self.tie(node);
                    self.note_step(node);
                }
                Step::Span => {
                    self.span(node)?;
                    self.note_step(node);
                }
                Step::Signal { at } => {
                    self.handle(node, at)?;
                    self.tie(node);
                    self.note_step(node);
                }
                Step::Hold => {
                    self.end_hurry(node);
                    self.starve(node);
                }
                Step::Await { at } => {
                    self.end_hurry(node);
                    self.wait_for_ways(node, at);
                }
                Step::Drain => self.drain(node),
                Step::Rest => {
                    self.rest(node);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Ends the run if somebody wishes it.
    pub(super) fn go_on(&self) -> Result<()> {
        // Relaxed: it is only a wish, and nothing is published with it.
        if self.outside.stop.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Cancelled, "the run was cancelled"));
        }
        Ok(())
    }

    /// A source pushes until its queue is full.
    fn fire_source(&mut self, node: u32) -> Result<()> {
        let output = self.nodes[node as usize].outputs[0];
        while self.nodes[node as usize].status.active_children == 0 {
            self.go_on()?;
            let asked = self.ask(node, self.edges[output as usize].pipe.room());
            let start = self.clock();
            let source = &mut self.nodes[node as usize];
            let ran =
                source.body.run(0, asked.most, &mut source.chain, None).map_err(|fault| self.fault(node, fault))?;
            let source = &mut self.nodes[node as usize];
            source.counts.body += since(start);
            source.counts.outputs += ran.done as u64;
            self.note_given(ran.done as u64);
            let is_part = self.answered(node, &asked, ran.done);
            match ran.stop {
                // It has what it gave back.
                Stop::Exhausted if self.divide_last(node, &asked) => {}
                Stop::Exhausted => {
                    self.deactivate(node);
                    self.flush_last(node);
                    return Ok(());
                }
                // The flush makes the child active, so the source goes on when that is done with it.
                Stop::Idle => {
                    self.divide(node, &asked);
                    self.flush_source(node);
                }
                Stop::Done if is_part => self.flush_source(node),
                Stop::Whole => {
                    self.flush_source(node);
                    self.block(node, Wait::Chunk);
                    return Ok(());
                }
                Stop::Outside(until) => {
                    if self.gave_late(node) {
                        self.flush_source(node);
                    }
                    self.look_at_children(node);
                    self.block_outside(node, until);
                    return Ok(());
                }
                _ => self.look_at_children(node),
            }
            self.flush_if_wished();
        }
        Ok(())
    }

    /// What a source has given is to be done before it goes on.
    fn flush_source(&mut self, node: u32) {
        self.nodes[node as usize].counts.flushes += 1;
        self.flush_sources(node, |_, _| true);
        // A join may have to wait for other edges with that, but not when its queue is full.
        self.look_at_children(node);
    }

    /// A source has no more to give. Others that lead to where it leads, and whose items are there from the beginning, go on with
    /// full vectors, and end soon enough; if there is one that may wait, all of them flush.
    fn flush_last(&mut self, node: u32) {
        let is_done = |this: &Self, node: u32| this.nodes[node as usize].status.state == State::Inactive;
        let may_wait = |this: &Self, node: u32| {
            !is_done(this, node) && this.nodes[node as usize].kind == Kind::Source { in_chunks: false }
        };
        let all = self.nodes[node as usize].together.iter().any(|other| may_wait(self, *other));
        self.flush_sources(node, |this, other| all || is_done(this, other));
    }

    /// What a node does next. It has room for it.
    fn next_step(&mut self, node: u32) -> Step {
        if let Some((at, count)) = self.nodes[node as usize].interrupted {
            return Step::Run { at, count };
        }
        if self.is_to_span(node) {
            return Step::Span;
        }
        let vectors = self.vectors(node);
        let flushing = self.is_flushing(node);
        let headed = self.headed_by(node);
        let draining = self.nodes[node as usize].status.brings_to_end();
        let (mut held, mut full_loop) = (false, false);
        for at in 0..self.nodes[node as usize].inputs.len() {
            let this = &self.nodes[node as usize];
            if !this.ways.is_empty() && self.is_to_wait(node, this.inputs[at].input) {
                if self.has_any_from(node, at) {
                    return Step::Await { at };
                }
                break;
            }
            let edge = &self.edges[this.inputs[at].edge as usize];
            let (waiting, credit) = (edge.pipe.len(), edge.pipe.signals().borrow().credit());
            // What comes around may fill a vector later, so it waits for that until nothing else can be done.
            let whole_vectors = edge.back || !(flushing || draining);
            let count = match credit {
                Some(credit) => credit.min(this.width.saturating_mul(vectors)),
                // A step of a vector is done often, and a division takes as long as the rest of this.
                None if whole_vectors && waiting < this.width => 0,
                None if whole_vectors && vectors == 1 => this.width,
                None if whole_vectors => (waiting / this.width).min(vectors) * this.width,
                None => waiting.min(this.width.saturating_mul(vectors)),
            };
            let (back, entering) = (edge.back, headed.filter(|_| !edge.back));
            // Where the order is kept, one item at a time goes a way on which others could overtake it.
            let count = if this.is_tied || (self.ordered && entering.is_some()) { count.min(1) } else { count };
            if count > 0 {
                // What is left in the loop of this node may have to leave first.
                match entering.map(|cycle| self.may_enter(cycle)) {
                    Some(room) if room < count => full_loop = true,
                    Some(_) if self.ordered && !entering.is_some_and(|cycle| self.is_empty(cycle)) => full_loop = true,
                    _ => return Step::Run { at, count },
                }
            } else if credit == Some(0) && !back {
                match entering {
                    Some(cycle) if !self.is_empty(cycle) => full_loop = true,
                    _ if self.has_come_over_all(node, at) => return Step::Signal { at },
                    _ => held = true,
                }
            }
        }
        // A flush of a loop ends when the loop is empty.
        if let Some(cycle) = headed
            && (full_loop || flushing || draining)
            && !self.is_empty(cycle)
        {
            return self.rest_of_loop(node);
        }
        if held { Step::Hold } else { Step::Rest }
    }

    /// How many vectors a node may take in a step: more than one where there is room for all that they may become, and its items are
    /// light. So no child can become full between two of them, and nothing else changes than that the machine is asked less often.
    fn vectors(&self, node: u32) -> usize {
        let this = &self.nodes[node as usize];
        let most = if this.several { self.room_for_vectors(node) } else { 1 };
        if most == 1 || this.seamless {
            return most;
        }
        // One that sees vectors may raise signals in each of its runs, for which there is room too.
        let edges = this.outputs.iter().map(|edge| &self.edges[*edge as usize]);
        let signals = edges.map(|edge| edge.pipe.signals().borrow().room() / edge.signals_need.max(1));
        signals.min().unwrap_or(usize::MAX).clamp(1, most)
    }

    /// For how many vectors there is room, if their items are light.
    pub(super) fn room_for_vectors(&self, node: u32) -> usize {
        let this = &self.nodes[node as usize];
        let edges = this.outputs.iter().map(|edge| &self.edges[*edge as usize]);
        edges.map(|edge| edge.pipe.room() / edge.need.max(1)).min().unwrap_or(usize::MAX).min(this.pace.most()).max(1)
    }

    /// The head of a loop runs what waits at its own back edges, and then lets its loop become empty.
    fn rest_of_loop(&self, node: u32) -> Step {
        let this = &self.nodes[node as usize];
        for (at, one) in this.inputs.iter().enumerate() {
            let edge = &self.edges[one.edge as usize];
            let waiting = edge.pipe.len();
            if edge.back && waiting > 0 {
                return Step::Run { at, count: waiting.min(if this.is_tied { 1 } else { this.width }) };
            }
        }
        Step::Drain
    }

    /// Whether the signal at the head of an edge may be handled: a boundary waits for the other edges.
    fn has_come_over_all(&self, node: u32, at: usize) -> bool {
        let inputs = &self.nodes[node as usize].inputs;
        if inputs.len() == 1 {
            return true;
        }
        let first = |edge: u32| self.edges[edge as usize].pipe.signals().borrow().next_boundary();
        let Some(boundary) = first(inputs[at].edge) else { return true };
        let mut others = inputs.iter().filter(|one| !self.edges[one.edge as usize].back);
        others.all(|one| first(one.edge) == Some(boundary))
    }

    /// Runs over items of an edge: as many at once as stay in the nearest cache. A node to which it matters where
    /// vectors end runs once for each.
    fn run(&mut self, node: u32, at: usize, count: usize) -> Result<()> {
        let this = &mut self.nodes[node as usize];
        let (one, piece) = (this.inputs[at], if this.seamless { this.piece } else { this.width });
        let begun = if this.several { this.pace.begin() } else { None };
        let mut done = 0;
        let stop = loop {
            let stop = self.run_piece(node, at, piece.min(count - done), &mut done)?;
            if stop != Stop::Done || done == count || self.is_called(node) {
                break stop;
            }
        };
        let this = &mut self.nodes[node as usize];
        if this.several {
            this.pace.end(begun, done.div_ceil(this.width));
        }
        if !self.edges[one.edge as usize].back
            && let Some(cycle) = self.headed_by(node)
        {
            self.enter(cycle, done);
        }
        if let Stop::Outside(until) = stop {
            self.block_outside(node, until);
        }
        if stop == Stop::Parents {
            // Parents become free when those that are under way come to their end.
            let region = self.nodes[node as usize].outputs[0];
            let Edge { to, ref regions, .. } = self.edges[region as usize];
            let flush = self.new_flush(self.nodes[to as usize].number(), regions.len());
            self.nodes[node as usize].counts.flushes += 1;
            self.block(node, Wait::Parents);
            self.flush(region, flush);
        }
        self.look_at_children(node);
        Ok(())
    }

    /// Whether somebody waits for what is seen to between two steps. It is asked behind each piece: items that were light when it was
    /// decided how many are taken may have become heavy.
    fn is_called(&self, node: u32) -> bool {
        // Relaxed: as where the step begins, which looks again.
        let is_hungry = || self.nodes[node as usize].source.is_some() && self.outside.dry.is_anybody();
        self.outside.stop.load(Ordering::Relaxed)
            || self.is_wish_new_to(node)
            || self.patience.is_some()
            || self.is_due()
            || is_hungry()
    }

    /// A run over so many items, which are there. Adds how many of them are done, and says why it ended.
    fn run_piece(&mut self, node: u32, at: usize, count: usize, done: &mut usize) -> Result<Stop> {
        let start = self.clock();
        let this = &mut self.nodes[node as usize];
        let one = this.inputs[at];
        let ran = match this.body.run(one.input, count, &mut this.chain, None) {
            Ok(ran) => ran,
            Err(fault) => return Err(self.fault(self.current.get(), fault)),
        };
        this.counts.body += since(start);
        this.counts.pushing += this.chain.pushing.take();
        if this.interrupted.is_none() && count == this.width {
            this.counts.runs += 1;
            this.counts.full_runs += 1;
        } else if this.interrupted.is_none() {
            this.counts.runs += count.div_ceil(this.width) as u64;
            this.counts.full_runs += (count / this.width) as u64;
        }
        this.interrupted = (ran.stop != Stop::Done).then_some((at, count - ran.done));
        this.counts.inputs += ran.done as u64;
        self.edges[one.edge as usize].pipe.consume(ran.done);
        *done += ran.done;
        Ok(ran.stop)
    }

    /// Activates the children whose queues are full.
    pub(super) fn look_at_children(&mut self, node: u32) {
        for at in 0..self.nodes[node as usize].outputs.len() {
            let number = self.nodes[node as usize].outputs[at];
            let edge = &self.edges[number as usize];
            let to = edge.to;
            let full = if edge.back {
                // There is always room; but a vector is worth a firing.
                edge.pipe.len() >= self.nodes[to as usize].width
            } else {
                edge.is_full()
            };
            // While a node waits for a boundary, no signal waits for the queue that it is in to be full.
            let full = full || (self.starving > 0 && edge.pipe.signals().borrow().len() > 0);
            if full && edge.starved {
                self.unblock(to);
            } else if full {
                self.activate(to);
                // Where it had let go of this node, that ends.
                self.count(number);
            }
        }
    }

    /// Handles the signal at the head of an edge; a boundary is taken from all edges at once.
    fn handle(&mut self, node: u32, at: usize) -> Result<()> {
        let Some(signal) = self.take_signal(node, at) else { return Ok(()) };
        self.nodes[node as usize].counts.signals += 1;
        let Some((region, parent, begins)) = signal.boundary() else {
            let handled = self.call(node, &signal)?;
            if !handled {
                self.forward(node, &signal, None)?;
            }
            if let Signal::User { tag, value } = signal {
                // One that comes to a loop from outside has been there, wherever it ends: it does not go around.
                if handled || self.nodes[node as usize].outputs.is_empty() || self.headed_by(node).is_some() {
                    value.see();
                }
                if !self.values.release(tag, value) {
                    return Err(self.fault(node, Fault::Unseen));
                }
            }
            self.look_at_children(node);
            return Ok(());
        };
        for other in (0..self.nodes[node as usize].inputs.len()).filter(|other| *other != at) {
            if !self.edges[self.nodes[node as usize].inputs[other].edge as usize].back {
                self.take_signal(node, other);
            }
        }
        let own = self.nodes[node as usize].chain.regions.last().is_some_and(|(own, _)| *own == region);
        if begins {
            self.see(node, region, Some(parent));
            self.forward(node, &signal, Some(region))?;
        }
        if own || self.nodes[node as usize].body.handles(region) {
            self.call(node, &signal)?;
        }
        if !begins {
            self.forward(node, &signal, Some(region))?;
            self.see(node, region, None);
            self.release(node, region, 1);
        }
        self.look_at_children(node);
        Ok(())
    }

    fn take_signal(&self, node: u32, at: usize) -> Option<Signal> {
        let edge = self.nodes[node as usize].inputs[at].edge;
        self.edges[edge as usize].pipe.signals().borrow_mut().take()
    }

    fn call(&mut self, node: u32, signal: &Signal) -> Result<bool> {
        let start = self.clock();
        let this = &mut self.nodes[node as usize];
        let handled = this.body.handle(signal, &mut this.chain);
        this.counts.body += since(start);
        this.counts.pushing += this.chain.pushing.take();
        handled.map_err(|fault| self.fault(self.current.get(), fault))
    }

    /// A node sees another parent from now on.
    fn see(&mut self, node: u32, region: u32, parent: Option<u32>) {
        self.nodes[node as usize].chain.see(region, parent);
    }

    /// A node is done with some parents of a region, the next that it has not seen.
    pub(super) fn release(&mut self, node: u32, region: u32, parents: usize) {
        let open = &self.regions[region as usize];
        if let Some(end) = open.ends[node as usize]
            && parents > 0
        {
            open.parents.release(end, parents);
            self.look_after_parents(region);
        }
    }

    /// When many places for parents are free, the head of the region goes on.
    fn look_after_parents(&mut self, region: u32) {
        let open = &self.regions[region as usize];
        let head = open.head;
        // Half of the places, so that the head does not come back for each of them.
        if 2 * open.parents.free() >= open.parents.capacity()
            && self.nodes[head as usize].status.state == State::Blocked(Wait::Parents)
        {
            self.unblock(head);
        }
    }

    /// Sends a signal on over all channels, a boundary only over those that stay in its region.
    fn forward(&mut self, node: u32, signal: &Signal, region: Option<u32>) -> Result<()> {
        for at in 0..self.nodes[node as usize].outputs.len() {
            let number = self.nodes[node as usize].outputs[at];
            let edge = &self.edges[number as usize];
            if edge.back || region.is_some_and(|region| !edge.regions.contains(&region)) {
                continue;
            }
            let waiting = edge.pipe.len();
            if !edge.pipe.signals().borrow_mut().push(waiting, signal.clone()) {
                let name = self.description.edge_name(number);
                return Err(Error::new(ErrorKind::Internal, format!("{name} has no room for a signal")));
            }
        }
        Ok(())
    }

    /// A node has nothing to do. A flush, or what empties its loop, goes on to those behind it.
    fn rest(&mut self, node: u32) {
        self.nodes[node as usize].since = None;
        let drained = std::mem::take(&mut self.nodes[node as usize].status.draining);
        // Those that this one kept from firing go below its children on the stack: a flush reaches the sinks before more
        // items come.
        self.deactivate(node);
        if self.is_flushing(node) {
            self.pass_flush(node);
        }
        if drained {
            self.pass_drain(node);
        }
        self.end_hurry(node);
        self.look_after_loop(node);
        self.look_after_knots(node);
    }
}
