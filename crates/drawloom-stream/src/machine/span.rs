//! A run that reaches over boundaries of regions.
//!
//! Parents may have few elements, and a vector that ends at every boundary would be nearly empty. A node that does not look at
//! parents needs to know only where boundaries are: it consumes a whole vector, and says how many items it had pushed at each
//! boundary. There the boundary stands on the next edge. So the boundaries themselves say which lane belongs to which parent,
//! and what is folded is folded segment by segment.

use super::Machine;
use super::signal::Signal;
use super::time::since;
use crate::body::Mark;
use crate::error::{Error, ErrorKind, Result};

impl Machine<'_> {
    /// Whether the next signal at the only edge into a node is a boundary.
    pub(super) fn is_at_boundary(&self, node: u32) -> bool {
        let edge = &self.edges[self.nodes[node as usize].inputs[0].edge as usize];
        edge.pipe.signals().borrow().first().is_some_and(|signal| signal.boundary().is_some())
    }

    /// Runs over up to a vector of items, and all boundaries among them for which there is room.
    pub(super) fn span(&mut self, node: u32) -> Result<()> {
        let (mut marks, mut signals) = std::mem::take(&mut self.marks);
        marks.clear();
        signals.clear();
        let count = self.reach(node, &mut marks, &mut signals);
        let start = self.clock();
        let this = &mut self.nodes[node as usize];
        let one = this.inputs[0];
        let output = this.outputs.first().copied();
        let before = output.map_or(0, |edge| self.edges[edge as usize].pipe.len());
        if let Err(fault) = this.body.span(one.input, count, &mut marks) {
            return Err(self.fault(node, fault));
        }
        this.counts.body += since(start);
        this.counts.runs += u64::from(count > 0);
        this.counts.full_runs += u64::from(count == this.width);
        this.counts.inputs += count as u64;
        this.counts.signals += marks.len() as u64;
        self.edges[one.edge as usize].pipe.consume_with(count, marks.len());
        if let Some(number) = output {
            let edge = &self.edges[number as usize];
            let mut onward = edge.pipe.signals().borrow_mut();
            for (mark, signal) in marks.iter().zip(&signals) {
                let stays = signal.boundary().is_some_and(|(region, ..)| edge.regions.contains(&region));
                if stays && !onward.push(before + mark.pushed, signal.clone()) {
                    let name = self.description.edge_name(number);
                    return Err(Error::new(ErrorKind::Internal, format!("{name} has no room for a signal")));
                }
            }
        }
        for (region, parent, begins) in signals.iter().filter_map(Signal::boundary) {
            self.see(node, region, begins.then_some(parent));
            if !begins {
                self.release(node, region, parent);
            }
        }
        self.marks = (marks, signals);
        self.look_at_children(node);
        Ok(())
    }

    /// How many items the next run takes, and the boundaries among them.
    fn reach(&self, node: u32, marks: &mut Vec<Mark>, signals: &mut Vec<Signal>) -> usize {
        let this = &self.nodes[node as usize];
        let own = this.chain.regions.last().map(|(region, _)| *region);
        let pipe = &self.edges[this.inputs[0].edge as usize].pipe;
        let output = this.outputs.first().map(|edge| &self.edges[*edge as usize]);
        // Boundaries are forwarded where items stay in the region; where they leave it, the end of a parent may push one.
        let mut room_for_signals = output.map_or(usize::MAX, |edge| edge.pipe.signals().borrow().room());
        let mut room_for_items = output.map_or(usize::MAX, |edge| edge.pipe.room());
        let mut reached = 0;
        for (credit, signal) in pipe.signals().borrow().iter() {
            let boundary = signal.boundary();
            let Some((region, _, begins)) = boundary.filter(|_| reached + credit <= this.width) else {
                return this.width.min(reached + credit);
            };
            let stays = output.is_some_and(|edge| edge.regions.contains(&region));
            let ends_own = !begins && Some(region) == own;
            if (stays && room_for_signals == 0) || (ends_own && !stays && room_for_items == 0) {
                return reached;
            }
            room_for_signals -= usize::from(stays);
            room_for_items -= usize::from(ends_own && !stays);
            reached += credit;
            marks.push(Mark { at: reached, ends_own, pushed: 0 });
            signals.push(signal.clone());
        }
        // What is behind the last boundary may fill the vector.
        let waiting = pipe.len();
        if waiting >= this.width || self.is_flushing(node) || this.status.draining {
            return waiting.min(this.width);
        }
        reached
    }
}
