//! Reserving a task that waits for one more.
//!
//! Where tasks wait for tasks of other workers at every step, a worker that has nothing to go on with finds its next task only
//! through a queue, long after the other worker was able to go on. So a worker may *reserve* a task that waits for one more: it
//! spins on the task's count for a moment, and the thread that counts it down to zero leaves the task to it. The same is done
//! with nodes of plans. The first such task is reserved, as the other worker is likely to count that one down first, too. What
//! this buys is in `benchmarks/ablations.md`.
//!
//! A reservation is a bit beside the count, set in the step from two to one. From then on the task cannot become ready for
//! anyone else, so its record stays what it is until the worker has taken the bit back, or found the count at zero: then the
//! task is its own. A worker has one reservation at most, and settles it as soon as it has something else to go on with, and before
//! it hands out anything, looks for work, or runs anything of the user's.

use super::{Core, Local, Owned};
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{MODELLED, hint};
use crate::task::record::{Kind, Record, TaskId, flag};

/// The bit of a reservation, beside the count of what a task waits for.
pub(crate) const RESERVED: u32 = 1 << 31;

/// For how long a worker watches.
const LOOKS: u32 = if MODELLED { 2 } else { 64 };

/// After how many looks it sees whether there is something else to do.
const BETWEEN: u32 = if MODELLED { 1 } else { 8 };

/// Counts down what waits for one that is complete, and reserves it, if it waits for one more.
#[inline]
pub(crate) fn begin(pending: &AtomicU32) -> bool {
    // Release: the thread that runs it sees what this thread did before.
    pending.compare_exchange(2, 1 | RESERVED, Ordering::Release, Ordering::Relaxed).is_ok()
}

/// Watches the count of what was reserved for a moment, as long as there is nothing else to do.
pub(crate) fn watch(pending: &AtomicU32, has_nothing_else: impl Fn() -> bool) {
    for look in 1..=LOOKS {
        // Relaxed: `take_back` looks again.
        if pending.load(Ordering::Relaxed) == RESERVED || (look % BETWEEN == 0 && !has_nothing_else()) {
            return;
        }
        hint::spin_loop();
    }
}

/// Takes a reservation back. True when nothing is left to wait for: then what was reserved is this thread's.
#[inline]
pub(crate) fn take_back(pending: &AtomicU32) -> bool {
    // A look first, as an exchange waits for the cache line even if it fails. Acquire: this one sees what all earlier ones
    // did. Release: for another one that runs it.
    pending.load(Ordering::Acquire) == RESERVED
        || pending.compare_exchange(1 | RESERVED, 1, Ordering::Release, Ordering::Acquire).is_err()
}

impl Core {
    /// Counts down a task that waits for one that is complete, and reserves it, if it waits for one more and this worker has
    /// nothing else to go on with. False when it does not, and nothing was done.
    #[inline]
    pub(super) fn reserve(&self, local: &mut Local, index: u32, record: &Record) -> bool {
        let free = local.ready.is_empty() && local.reserved.is_none() && local.worker.is_some();
        // Relaxed: the exchange below looks again.
        if !free || record.pending.load(Ordering::Relaxed) != 2 {
            return false;
        }
        // All three were written before the edge was published, and are not changed until it is counted down.
        let (kind, context, scope) = (record.kind(), record.context(), record.title.scope());
        let wanted = kind == Kind::Task
            && scope.is_null()
            && context == local.context
            && self.context(context).follows_on
            && record.flags.load(Ordering::Relaxed) & (flag::COMMUTES | flag::DEVICE) == 0
            && self.has_nothing_else(local);
        let reserved = wanted && begin(&record.pending);
        if reserved {
            local.reserved = Some(index);
        }
        reserved
    }

    /// Watches the task that this worker has reserved, if it has nothing else to do.
    #[inline]
    pub(super) fn watch_reserved(&self, local: &mut Local) {
        let Some(index) = local.reserved else { return };
        if local.ready.is_empty() {
            watch(&self.slab.get(index).pending, || self.has_nothing_else(local));
        }
        self.settle_reserved(local);
    }

    /// Whether a worker may go on without a scheduling operation, and its policy has nothing for it.
    fn has_nothing_else(&self, local: &Local) -> bool {
        self.place_of(local.worker, local.generation).may_go_on() && self.context(local.context).policy.is_empty()
    }

    /// Takes a reservation back, or the task, when it is ready.
    #[inline]
    pub(super) fn settle_reserved(&self, local: &mut Local) {
        let Some(index) = local.reserved.take() else { return };
        let record = self.slab.get(index);
        if !take_back(&record.pending) {
            return;
        }
        record.pending.store(0, Ordering::Relaxed);
        // SAFETY: nothing is left that the task waits for, and it was reserved for this thread.
        let task = unsafe { Owned::new(TaskId::new(index, record.generation()), record) };
        self.tracer.ready(task.id);
        let mut stack = Vec::new();
        self.make_ready(task, &mut stack, &mut local.ready);
        debug_assert!(stack.is_empty(), "a task is no point that stands for others");
    }
}
