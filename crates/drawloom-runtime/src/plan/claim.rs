//! Claiming a node that waits for one more.
//!
//! Where nodes wait for nodes of other workers at every step, a worker that has nothing to go on with finds its next node only
//! through a queue, long after the other worker was able to go on. So a worker may *claim* a node that waits for one more: it
//! spins on the node's count for a moment, and the thread that counts it down to zero leaves the node to it. What this buys is
//! in `benchmarks/ablations.md`.
//!
//! A claim is a bit beside the count, which a worker sets in the step from two to one. It takes the claim back later, unless the
//! count has become zero: then it runs the node. No other thread changes the bit, so a node is run once: by the thread that
//! counts it down to zero, or by the worker that claimed it before.
//!
//! A run is not over before all nodes are complete. But from the moment in which a worker has counted down for the last time,
//! or has taken a claim back, other threads may end the run, and the plan with it. So that is the last thing it does.

use super::replay::PlanState;
use crate::core::Core;
use crate::core::ready::Place;
use crate::sync::atomic::Ordering;
use crate::sync::{MODELLED, hint};

/// The bit of a claim.
const CLAIMED: u32 = 1 << 31;

/// How often a worker looks at the count: for about as long as waking a worker takes, at most.
const LOOKS: u32 = if MODELLED { 2 } else { 64 };

/// After how many looks it sees whether there is something else to do.
const BETWEEN: u32 = if MODELLED { 1 } else { 8 };

impl PlanState {
    /// As [`PlanState::count_down`], by a worker that has nothing to go on with.
    #[cold]
    pub(super) fn count_down_or_claim(&self, core: &Core, place: Place<'_>, context: u32, node: u32) -> bool {
        let policy = &core.context(context).policy;
        let goes_on = || place.may_go_on() && policy.is_empty();
        let pending = &self.pending[node as usize];
        // Release: the thread that runs the node sees what this thread did before.
        if !goes_on() || pending.compare_exchange(2, 1 | CLAIMED, Ordering::Release, Ordering::Relaxed).is_err() {
            return self.count_down(node);
        }
        for look in 1..=LOOKS {
            hint::spin_loop();
            // Acquire: as in `count_down`.
            if pending.load(Ordering::Acquire) == CLAIMED {
                return true;
            }
            if look % BETWEEN == 0 && !goes_on() {
                break;
            }
        }
        // Release and acquire: as above, for another thread that runs the node, or for this one.
        pending.compare_exchange(1 | CLAIMED, 1, Ordering::Release, Ordering::Acquire).is_err()
    }
}
