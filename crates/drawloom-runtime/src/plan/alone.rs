//! Runs by one worker alone.
//!
//! To hand a node over, a cache line or two must go from one core to another, which takes some hundred nanoseconds. Where
//! nodes are shorter than that, two workers are slower than one that runs all nodes in the order in which they were
//! recorded: it needs no queue, and counts nothing. Whether that is so is measured: see [`pace`](super::pace).
//!
//! Nodes may take longer this time than they did before. So a worker that runs alone looks at the clock, and when it has
//! taken longer than all workers together did, or somebody wants something of it, it counts for all nodes that are left what
//! they still wait for, and the run goes on as any other.

use super::pace::Way;
use super::replay::{At, PlanState};
use crate::access::Scratchpad;
use crate::core::{Core, Local};
use crate::sync::{Arc, MODELLED};
use crate::trace::nodes::NodeLog;

/// After how many nodes a worker that runs alone looks at the clock.
const BETWEEN: usize = if MODELLED { 2 } else { 64 };

/// For how many nanoseconds the only worker runs alone, before it looks for something more urgent.
const LONG: u64 = 10_000_000;

impl PlanState {
    /// Runs all nodes on this worker, or hands the rest to all when that takes too long.
    pub(super) fn run_alone(self: &Arc<Self>, core: &Core, local: &mut Local) {
        let nodes = self.pattern.nodes.len();
        let limit = if core.workers.count == 1 { LONG } else { self.pace.limit() };
        self.pace.begin(Way::Alone);
        let mut scratch = local.take_scratch();
        let at = At::new(self);
        let done = core.running_nodes(local, &at, |local| match self.log(core, local) {
            None => self.run_first(core, local, &at, limit, &mut scratch, &mut ()),
            Some(mut log) => self.run_first(core, local, &at, limit, &mut scratch, &mut log),
        });
        local.give_scratch(scratch);
        if done == nodes {
            self.finish(core, local);
            return;
        }
        if self.pace.lasts() > limit {
            self.pace.end();
        } else {
            // Whoever was disturbed knows nothing about the rest.
            self.pace.forget();
        }
        self.hold();
        self.hand_out_rest(core, local, || 0..done as u32, 0);
    }

    /// Runs nodes in the order in which they were recorded. Returns how many: all, or those until the end of its time.
    fn run_first(
        &self,
        core: &Core,
        local: &Local,
        at: &At<'_>,
        limit: u64,
        scratch: &mut Scratchpad,
        log: &mut impl NodeLog,
    ) -> usize {
        let nodes = self.pattern.nodes.len();
        let place = core.place(local);
        for number in 0..nodes {
            let late = || number % BETWEEN == 0 && (MODELLED || self.pace.lasts() > limit);
            if number > 0 && (!place.may_go_on() || late()) {
                return number;
            }
            // Nothing but the node before has to end first.
            self.run_next(core, at, number as u32, scratch, true, log);
        }
        nodes
    }
}
