//! A run that some nodes are complete of goes on as any other.

use super::replay::PlanState;
use crate::core::{Core, Local};
use crate::sync::atomic::Ordering;

/// What a node that is complete has for a count, and one that is ready, until it is pushed. Plans have fewer nodes.
const DONE: u32 = u32::MAX;
const READY: u32 = DONE - 1;

impl PlanState {
    /// Some nodes were run, with all that each of them waits for. All others are counted anew, and those that are ready are
    /// handed out. The run has so many ends more than nodes that nobody waits for. It holds the plan already.
    pub(super) fn hand_out_rest<I: Iterator<Item = u32>>(
        &self,
        core: &Core,
        local: &Local,
        done: impl Fn() -> I,
        more_ends: usize,
    ) {
        let pattern = &*self.pattern;
        self.reset_counts();
        let mut ends = pattern.ends + more_ends;
        // Relaxed, all of them: nobody else has the run now, and the queues order this before what others do.
        for number in done() {
            self.pending[number as usize].store(DONE, Ordering::Relaxed);
        }
        for number in done() {
            let node = &pattern.nodes[number as usize];
            ends -= usize::from(node.later_count == 0);
            for &other in self.later(node) {
                let pending = &self.pending[other as usize];
                if pending.load(Ordering::Relaxed) != DONE {
                    pending.fetch_sub(1, Ordering::Relaxed);
                }
            }
        }
        for pending in self.pending.iter().filter(|pending| pending.load(Ordering::Relaxed) == 0) {
            pending.store(READY, Ordering::Relaxed);
        }
        self.set_ends(ends);
        for number in 0..pattern.nodes.len() {
            // What the first of them make ready has counts that become zero, but never this.
            if self.pending[number].load(Ordering::Relaxed) == READY {
                core.push_node(local, self.context(), self.ready(number as u32));
            }
        }
    }
}
