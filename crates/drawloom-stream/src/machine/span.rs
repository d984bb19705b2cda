//! A run that reaches over boundaries of regions.
//!
//! Parents may have few elements, and a vector that ends at every boundary would be nearly empty. A node that does not look at
//! parents needs to know only where boundaries are: it consumes a whole vector, and says how many items it had pushed at each
//! boundary. There the boundary stands on the next edge. So the boundaries themselves say which lane belongs to which parent,
//! and what is folded is folded segment by segment.

use std::rc::Rc;

use super::Machine;
use super::signal::{Signals, Slot};
use super::time::since;
use crate::error::Result;

impl Machine<'_> {
    /// Whether the next signal at the only edge into a node is a boundary.
    pub(super) fn is_at_boundary(&self, node: u32) -> bool {
        let edge = &self.edges[self.nodes[node as usize].inputs[0].edge as usize];
        edge.pipe.signals().borrow().is_at_boundary()
    }

    /// Runs over up to a vector of items, and all boundaries among them for which there is room.
    pub(super) fn span(&mut self, node: u32) -> Result<()> {
        let one = self.nodes[node as usize].inputs[0];
        let pipe = Rc::clone(&self.edges[one.edge as usize].pipe);
        let signals = pipe.signals().borrow();
        let (count, boundaries) = self.reach(node, &signals, pipe.len());
        let mut pushed = std::mem::take(&mut self.pushed);
        let start = self.clock();
        let this = &mut self.nodes[node as usize];
        let own = this.chain.regions.last().map(|(region, _)| *region);
        let output = this.outputs.first().map(|edge| &self.edges[*edge as usize]);
        let before = output.map_or(0, |edge| edge.pipe.len());
        let stays =
            |slot: &Slot| output.is_some_and(|edge| slot.region().is_some_and(|region| edge.regions.contains(&region)));
        let (slots, mixed) = (&signals.waiting()[..boundaries], signals.is_mixed());
        let go_on = mixed || slots.first().is_some_and(stays);
        let mut marks = signals.marks(boundaries, own, go_on, &mut pushed);
        if let Err(fault) = this.body.span(one.input, count, &mut marks) {
            return Err(self.fault(node, fault));
        }
        this.counts.body += since(start);
        this.counts.runs += count.div_ceil(this.width) as u64;
        this.counts.full_runs += (count / this.width) as u64;
        this.counts.inputs += count as u64;
        this.counts.signals += Slot::signals(slots, mixed);
        if let Some(edge) = output.filter(|_| go_on) {
            let both = pushed.iter().map(|pushed| before + pushed).zip(slots.iter().copied());
            let mut onward = edge.pipe.signals().borrow_mut();
            if mixed {
                onward.make_space(slots.iter().filter(|slot| stays(slot)).count());
                onward.follow(true, both.filter(|(_, slot)| stays(slot)));
            } else {
                onward.make_space(boundaries);
                onward.follow(false, both);
            }
        }
        // The node does not look at parents, so it need not know which of them it sees.
        for same in slots.chunk_by(|a, b| !mixed || a.region() == b.region()) {
            if let Some(region) = same[0].region()
                && self.regions[region as usize].ends[node as usize]
            {
                self.regions[region as usize].parents.release_all(same);
                self.look_after_parents(region);
            }
        }
        drop(signals);
        pipe.consume_with(count, boundaries);
        self.pushed = pushed;
        self.look_at_children(node);
        Ok(())
    }

    /// How many items the next run takes, and how many boundaries.
    fn reach(&self, node: u32, signals: &Signals, waiting: usize) -> (usize, usize) {
        let this = &self.nodes[node as usize];
        let width = this.width.saturating_mul(self.vectors(node));
        let own = this.chain.regions.last().map(|(region, _)| *region);
        let output = this.outputs.first().map(|edge| &self.edges[*edge as usize]);
        // Boundaries are forwarded where items stay in the region; where they leave it, the end of a parent may push one.
        let room_for_signals = output.map_or(usize::MAX, |edge| edge.pipe.signals().borrow().room());
        let room_for_items = output.map_or(usize::MAX, |edge| edge.pipe.room());
        let stays =
            |slot: &Slot| output.is_some_and(|edge| slot.region().is_some_and(|region| edge.regions.contains(&region)));
        let (slots, within) = (signals.waiting(), signals.within(width));
        let taken = if !signals.is_mixed() {
            within.min(if slots.first().is_some_and(stays) { room_for_signals } else { room_for_items })
        } else {
            let (mut signals, mut items) = (room_for_signals, room_for_items);
            let has_room = |slot: &&Slot| {
                let stays = stays(slot);
                let pushes = !stays && slot.region() == own && slot.ends().is_some();
                let has_room = slot.region().is_some() && !(stays && signals == 0) && !(pushes && items == 0);
                signals -= usize::from(stays && has_room);
                items -= usize::from(pushes && has_room);
                has_room
            };
            slots[..within].iter().take_while(has_room).count()
        };
        let reached = taken.checked_sub(1).map_or(0, |last| signals.credit_of(&slots[last]));
        let count = match slots.get(taken) {
            // The next boundary is behind the vector, or there is no room for it; a signal of the user's ends the vector.
            Some(next) if taken < within && next.region().is_some() => reached,
            Some(next) => width.min(signals.credit_of(next)),
            // What is behind the last boundary may fill the vector.
            None if self.is_flushing(node) || this.status.draining => waiting.min(width),
            None => reached.max(waiting.min(width) / this.width * this.width),
        };
        (count, taken)
    }
}
