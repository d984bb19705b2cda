//! A run that reaches over boundaries of regions.
//!
//! Parents may have few elements, and a vector that ends at every boundary would be nearly empty. A node that does not look at
//! parents needs to know only where boundaries are: it consumes a whole vector, and says how many items it had pushed at each
//! boundary. There the boundary stands on the next edge. So the boundaries themselves say which lane belongs to which parent,
//! and what is folded is folded segment by segment.

use std::rc::Rc;

use super::Machine;
use super::signal::Slot;
use crate::body::Mark;
use crate::error::Result;

impl Machine<'_> {
    /// Whether the next signal at the only edge into a node is a boundary.
    pub(super) fn is_at_boundary(&self, node: u32) -> bool {
        let edge = &self.edges[self.nodes[node as usize].inputs[0].edge as usize];
        edge.pipe.signals().borrow().is_at_boundary()
    }

    /// Runs over up to a vector of items, and all boundaries among them for which there is room.
    pub(super) fn span(&mut self, node: u32) -> Result<()> {
        let mut marks = std::mem::take(&mut self.marks);
        marks.clear();
        let count = self.reach(node, &mut marks);
        let this = &mut self.nodes[node as usize];
        let one = this.inputs[0];
        let output = this.outputs.first().copied();
        let before = output.map_or(0, |edge| self.edges[edge as usize].pipe.len());
        if let Err(fault) = this.body.span(one.input, count, &mut marks) {
            return Err(self.fault(node, fault));
        }
        this.counts.runs += u64::from(count > 0);
        this.counts.full_runs += u64::from(count == this.width);
        this.counts.inputs += count as u64;
        let pipe = Rc::clone(&self.edges[one.edge as usize].pipe);
        let signals = pipe.signals().borrow();
        let boundaries = &signals.waiting()[..marks.len()];
        this.counts.signals += boundaries.iter().map(Slot::signals).sum::<u64>();
        if let Some(number) = output {
            let edge = &self.edges[number as usize];
            let mut onward = edge.pipe.signals().borrow_mut();
            let room = onward.room();
            onward.make_space(room.min(marks.len()));
            let both = marks.iter().zip(boundaries).filter(|(mark, _)| mark.stays);
            onward.follow(both.map(|(mark, boundary)| (before + mark.pushed, *boundary)));
        }
        // The node does not look at parents, so it need not know which of them it sees.
        for same in boundaries.chunk_by(|a, b| a.region() == b.region()) {
            if let Some(region) = same[0].region()
                && self.regions[region as usize].ends[node as usize]
            {
                self.regions[region as usize].parents.release_all(same);
                self.look_after_parents(region);
            }
        }
        drop(signals);
        pipe.consume_with(count, marks.len());
        self.marks = marks;
        self.look_at_children(node);
        Ok(())
    }

    /// How many items the next run takes, and the boundaries among them.
    fn reach(&self, node: u32, marks: &mut Vec<Mark>) -> usize {
        let this = &self.nodes[node as usize];
        let own = this.chain.regions.last().map(|(region, _)| *region);
        let pipe = &self.edges[this.inputs[0].edge as usize].pipe;
        let output = this.outputs.first().map(|edge| &self.edges[*edge as usize]);
        // Boundaries are forwarded where items stay in the region; where they leave it, the end of a parent may push one.
        let mut room_for_signals = output.map_or(usize::MAX, |edge| edge.pipe.signals().borrow().room());
        let mut room_for_items = output.map_or(usize::MAX, |edge| edge.pipe.room());
        let signals = pipe.signals().borrow();
        let waiting = signals.waiting();
        marks.reserve(waiting.len());
        let mut reached = 0;
        // Boundaries of one region follow each other as a rule, so what it means to this node is asked when it changes.
        let (mut last, mut stays, mut is_own) = (None, false, false);
        for slot in waiting {
            let at = signals.credit_of(slot);
            if slot.region().is_none() || at > this.width {
                return this.width.min(at);
            }
            if slot.region() != last {
                last = slot.region();
                stays = output.is_some_and(|edge| last.is_some_and(|region| edge.regions.contains(&region)));
                is_own = last == own;
            }
            let ends_own = is_own && slot.ends().is_some();
            let pushes = ends_own && !stays;
            if (stays && room_for_signals == 0) || (pushes && room_for_items == 0) {
                return reached;
            }
            room_for_signals -= usize::from(stays);
            room_for_items -= usize::from(pushes);
            reached = at;
            marks.push(Mark { at, ends_own, stays, pushed: 0 });
        }
        // What is behind the last boundary may fill the vector.
        let waiting = pipe.len();
        if waiting >= this.width || self.is_flushing(node) || this.status.draining {
            return waiting.min(this.width);
        }
        reached
    }
}
