//! A run that reaches over boundaries of regions.
//!
//! Parents may have few elements, and a vector that ends at every boundary would be nearly empty. A node that does not look at
//! parents needs to know only where boundaries are: it consumes a whole vector, and says how many items it had pushed at each
//! boundary. There the boundary stands on the next edge. So the boundaries themselves say which lane belongs to which parent,
//! and what is folded is folded segment by segment. A function over a slice that looks at parents is called for each of them,
//! one after the other, up to a vector at a time, and the machine is asked once for several vectors where they are light.

use std::rc::Rc;

use super::signal::{Signals, Turns};
use super::time::since;
use super::{Edge, Machine};
use crate::body::Stop;
use crate::error::Result;

/// Parents that have as many elements as so many vectors are long: what a vector loses at their ends is little.
const LONG: u64 = 16;

/// When a node reaches over boundaries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spans {
    /// Its vectors end at every boundary.
    Never,
    /// Where it can.
    Always,
    /// Where parents have been short so far.
    Short,
}

impl Machine<'_> {
    /// Whether a node is to reach over the boundary that is the next signal at its only edge.
    pub(super) fn is_to_span(&self, node: u32) -> bool {
        let this = &self.nodes[node as usize];
        let wanted = match this.spans {
            Spans::Never => false,
            Spans::Always => true,
            // So far there were so many items for each two signals. Each boundary at which a vector ends costs less than one.
            Spans::Short => {
                let long = LONG.saturating_mul(this.width as u64);
                2 * this.counts.inputs < this.counts.signals.max(1).saturating_mul(long)
            }
        };
        wanted && self.edges[this.inputs[0].edge as usize].pipe.signals().borrow().is_at_boundary()
    }

    /// Runs over up to a vector of items, and all boundaries among them for which there is room.
    pub(super) fn span(&mut self, node: u32) -> Result<()> {
        let one = self.nodes[node as usize].inputs[0];
        let pipe = Rc::clone(&self.edges[one.edge as usize].pipe);
        let signals = pipe.signals().borrow();
        let (count, boundaries) = self.reach(node, &signals, pipe.len());
        let (mut marked, mut pushed) = (std::mem::take(&mut self.marked), std::mem::take(&mut self.pushed));
        let start = self.clock();
        let this = &mut self.nodes[node as usize];
        let own = this.chain.regions.last().map(|(region, _)| *region);
        let mut before = [0; 2];
        for (before, edge) in before.iter_mut().zip(&this.outputs) {
            *before = self.edges[*edge as usize].pipe.len();
        }
        let output = this.outputs.first().map(|edge| &self.edges[*edge as usize]);
        let go_on = signals.sequences(boundaries).any(|(turns, _)| stays(output, &turns));
        let mut marks = signals.marks(boundaries, own, go_on, (&mut marked, &mut pushed));
        let begun = if this.several { this.pace.begin() } else { None };
        let ran = match this.body.run(one.input, count, &mut this.chain, Some(&mut marks)) {
            Ok(ran) => ran,
            Err(fault) => return Err(self.fault(self.current.get(), fault)),
        };
        let calls = marks.calls;
        this.pace.end(begun, count.div_ceil(this.width));
        this.counts.body += since(start);
        this.counts.pushing += this.chain.pushing.take();
        // Where it stopped in the middle of an item, that one is brought to its end alone.
        this.interrupted = (ran.stop == Stop::Full).then_some((0, 1));
        let (count, begun) = (ran.done, ran.done + usize::from(ran.stop == Stop::Full));
        let boundaries = if ran.stop == Stop::Full { pushed[0].len() } else { boundaries };
        let (runs, full_runs) = calls.unwrap_or_else(|| (begun.div_ceil(this.width), begun / this.width));
        this.counts.runs += runs as u64;
        this.counts.full_runs += full_runs as u64;
        this.counts.inputs += count as u64;
        // The node does not look at parents, so it need not know which of them it sees, or it knows that already.
        let mut at = 0;
        for (turns, length) in signals.sequences(boundaries) {
            let (ended, both) = turns.count(length);
            let this = &mut self.nodes[node as usize];
            this.counts.signals += both;
            for ((edge, before), pushed) in this.outputs.iter().zip(before).zip(&pushed) {
                let edge = &self.edges[*edge as usize];
                if stays(Some(edge), &turns) {
                    edge.pipe.signals().borrow_mut().follow(turns, before, &pushed[at..at + length]);
                }
            }
            at += length;
            if let Some(region) = turns.region() {
                self.release(node, region, ended);
            }
        }
        drop(signals);
        pipe.consume_with(count, boundaries);
        (self.marked, self.pushed) = (marked, pushed);
        self.look_at_children(node);
        Ok(())
    }

    /// How many items the next run takes, and how many boundaries.
    fn reach(&self, node: u32, signals: &Signals, waiting: usize) -> (usize, usize) {
        let this = &self.nodes[node as usize];
        let vectors = self.room_for_vectors(node).min(this.most_items / this.width).max(1);
        let width = this.width.saturating_mul(if this.several { vectors } else { 1 });
        let own = this.chain.regions.last().map(|(region, _)| *region);
        let output = this.outputs.first().map(|edge| &self.edges[*edge as usize]);
        // Boundaries are forwarded where items stay in the region; where they leave it, the end of a parent may push one.
        let rooms = this.outputs.iter().map(|edge| self.edges[*edge as usize].pipe.signals().borrow().room());
        let mut room_for_signals = rooms.min().unwrap_or(usize::MAX);
        let mut room_for_items = output.map_or(usize::MAX, |edge| edge.pipe.room());
        let within = signals.within(width);
        let mut taken = 0;
        for (turns, length) in signals.sequences(within) {
            let (stays, pushes) = (stays(output, &turns), turns.region() == own && turns.count(length).0 > 0);
            let room = if stays { &mut room_for_signals } else { &mut room_for_items };
            let fits = match () {
                () if turns.region().is_none() => 0,
                () if stays || pushes => length.min(*room),
                () => length,
            };
            *room -= if stays || pushes { fits } else { 0 };
            taken += fits;
            if fits < length {
                break;
            }
        }
        let reached = taken.checked_sub(1).and_then(|last| signals.credit_of(last)).unwrap_or(0);
        let count = match (signals.get(taken), signals.credit_of(taken)) {
            // The next boundary is behind the vector, or there is no room for it; a signal of the user's ends the vector.
            (Some(next), _) if taken < within && next.region().is_some() => reached,
            (_, Some(credit)) => width.min(credit),
            // What is behind the last boundary may fill the vector.
            _ if self.is_flushing(node) || this.status.brings_to_end() => waiting.min(width),
            _ => reached.max(waiting.min(width) / this.width * this.width),
        };
        (count, taken)
    }
}

/// Whether some boundaries are forwarded: the items of the edge stay in their region.
fn stays(edge: Option<&Edge>, turns: &Turns) -> bool {
    edge.is_some_and(|edge| turns.region().is_some_and(|region| edge.regions.contains(&region)))
}
