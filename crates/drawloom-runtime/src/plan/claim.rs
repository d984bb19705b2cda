//! Waiting for a node that is nearly ready.
//!
//! Where nodes wait for nodes of other workers at every step, one who has nothing to go on with would find the next node
//! only through a queue, and by then others have long been able to go on. So a worker may *claim* a node that waits for one
//! more: it watches the node's count for a moment, and who counts it down to zero leaves the node to it. One cache line goes
//! from one worker to the other, and nothing else.
//!
//! A claim is a bit beside the count, and a worker sets it as it counts down from two to one. It takes the claim back later,
//! unless the count has become zero: then the node is its own to run. Nobody else changes the bit, so a node is run once, by
//! whoever counts it down to zero, or by whoever had claimed it before.
//!
//! A run is not over before all nodes are complete, but from the moment in which a worker has counted down for the last time,
//! or has taken a claim back, others may end the run, and the plan with it. So that is the last thing it does.

use super::replay::PlanState;
use crate::core::Core;
use crate::core::ready::Place;
use crate::sync::atomic::Ordering;
use crate::sync::near::bring_near;
use crate::sync::{MODELLED, hint};

/// The bit of a claim.
const CLAIMED: u32 = 1 << 31;

/// For how long a worker watches: about as long as waking one takes, at most.
const LOOKS: u32 = if MODELLED { 2 } else { 64 };

/// After how many looks it sees whether there is something else to do.
const BETWEEN: u32 = if MODELLED { 1 } else { 8 };

impl PlanState {
    /// Asks for the counts of nodes that are about to be counted down. Otherwise looking at one would bring it near for
    /// reading, and writing would ask whoever watches it once more.
    #[inline]
    pub(super) fn bring_counts(&self, later: &[u32]) {
        for &node in later {
            bring_near(&self.pending[node as usize]);
        }
    }

    /// One of the nodes that a node waits for is complete. True when it was the last one, and the node is the calling
    /// thread's to run or to give away.
    #[inline]
    pub(super) fn count_down(&self, node: u32) -> bool {
        let pending = &self.pending[node as usize];
        // The last one need not write: nobody looks at the count any more. A claim is a different number.
        // Acquire and AcqRel: the one who runs the node sees what all earlier nodes did.
        pending.load(Ordering::Acquire) == 1 || pending.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// As [`PlanState::count_down`], by a worker that has nothing to go on with: when the node waits for one more, the worker
    /// waits for it too, for a moment.
    #[cold]
    pub(super) fn wait_for(&self, core: &Core, place: Place<'_>, context: u32, node: u32) -> bool {
        let policy = &core.context(context).policy;
        let goes_on = || place.may_go_on() && policy.is_empty();
        let pending = &self.pending[node as usize];
        // Release: whoever runs the node sees what this thread did before.
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
        // Release and acquire: as above, for another one who runs the node, or for this one.
        pending.compare_exchange(1 | CLAIMED, 1, Ordering::Release, Ordering::Acquire).is_err()
    }
}
