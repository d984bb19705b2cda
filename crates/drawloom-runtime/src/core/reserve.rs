//! Reserving a task that waits for one more.
//!
//! Where tasks wait for tasks of other workers at every step, a worker that has nothing to go on with finds its next task only
//! through a queue, long after the other worker was able to go on. So a worker may *reserve* a task that waits for one more: it
//! spins on the task's count for a moment, and the thread that counts it down to zero leaves the task to it. Nodes of plans are
//! claimed in the same way; see `plan::claim`. The first such task is reserved, as the other worker is likely to count that one
//! down first, too. What this buys is in `benchmarks/ablations.md`.
//!
//! A reservation is a bit beside the count, set in the step from two to one. From then on the task cannot become ready for
//! anyone else, so its record stays what it is until the worker has taken the bit back, or found the count at zero: then the
//! task is its own. A worker has one reservation at most, and settles it as soon as it has something else to go on with, and before
//! it hands out anything, looks for work, or runs anything of the user's.

use super::{Core, Local};
use crate::sync::atomic::Ordering;
use crate::sync::{MODELLED, hint};
use crate::task::record::{Description, Kind, Record, TaskId, flag};

/// The bit of a reservation, beside the count of what a task waits for.
pub(crate) const RESERVED: u32 = 1 << 31;

/// For how long a worker watches.
const LOOKS: u32 = if MODELLED { 2 } else { 64 };

/// After how many looks it sees whether there is something else to do.
const BETWEEN: u32 = if MODELLED { 1 } else { 8 };

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
        // SAFETY: all three were written before the edge was published, and are not changed until it is counted down. Another
        // thread may still be submitting the task, and change other parts of the description: so there is no reference to it.
        let (kind, context, scope) = unsafe {
            let description = record.description.get().cast::<Description>();
            (*record.kind.get(), *record.context.get(), (&raw const (*description).scope).read())
        };
        let wanted = kind == Kind::Task
            && scope.is_null()
            && context == local.context
            && self.context(context).follows_on
            && record.flags.load(Ordering::Relaxed) & (flag::COMMUTES | flag::DEVICE) == 0
            && self.has_nothing_else(local);
        // Release: whoever runs the task sees what this thread did before.
        let reserved =
            wanted && record.pending.compare_exchange(2, 1 | RESERVED, Ordering::Release, Ordering::Relaxed).is_ok();
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
            self.watch(local, index);
        }
        self.settle_reserved(local);
    }

    /// Whether a worker may go on without a scheduling operation, and its policy has nothing for it.
    fn has_nothing_else(&self, local: &Local) -> bool {
        self.place(local).may_go_on() && self.context(local.context).policy.is_empty()
    }

    fn watch(&self, local: &Local, index: u32) {
        let record = self.slab.get(index);
        for look in 0..LOOKS {
            // Relaxed: `settle_reserved` looks again.
            if record.pending.load(Ordering::Relaxed) == RESERVED {
                return;
            }
            if look % BETWEEN == BETWEEN - 1 && !self.has_nothing_else(local) {
                return;
            }
            hint::spin_loop();
        }
    }

    /// Takes a reservation back, or the task, when it is ready.
    #[inline]
    pub(super) fn settle_reserved(&self, local: &mut Local) {
        let Some(index) = local.reserved.take() else { return };
        let record = self.slab.get(index);
        // A look first, as an exchange waits for the cache line even if it fails. Acquire: this one sees what all earlier tasks
        // did. Release: for another one who runs the task.
        let is_ready = record.pending.load(Ordering::Acquire) == RESERVED;
        if !is_ready && record.pending.compare_exchange(1 | RESERVED, 1, Ordering::Release, Ordering::Acquire).is_ok() {
            return;
        }
        record.pending.store(0, Ordering::Relaxed);
        self.tracer.ready(TaskId::new(index, record.generation()));
        let mut stack = Vec::new();
        self.make_ready(index, &mut stack, &mut local.ready);
        debug_assert!(stack.is_empty(), "a task is no point that stands for others");
    }
}
