//! One worker: its state, the contexts it belongs to, and its processor.

use std::cell::UnsafeCell;

use super::state::State;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::task::record::TaskId;
use crate::topology::CpuId;

/// One worker, as all threads see it.
#[repr(align(128))]
pub(crate) struct Seat {
    pub(crate) state: State,
    /// The contexts that the worker belongs to, and the one to ask first.
    ///
    /// The worker reads them inside of its scheduling operations only. They are changed by whoever holds the lock for
    /// changes of contexts, after announcing the change to the worker, or by the worker itself while it runs a task. So
    /// a change and an operation never meet, and no lock is needed.
    memberships: UnsafeCell<Memberships>,
    /// Counts the changes of `memberships`.
    generation: AtomicU64,
    /// The task in whose body the worker waits for children, running only those; zero when it does not.
    waiting_in: AtomicU64,
    /// Whether the worker is a member of a team and waits for the others, running nothing; or sleeps now and then.
    meets: AtomicBool,
    /// Whether a thread drives the worker continuously.
    pub(crate) driven: AtomicBool,
    /// The number of the thread that drives the worker, step by step or continuously; zero when none does.
    pub(super) driver: AtomicU64,
    /// Whether a driver for the worker exists.
    pub(crate) taken: AtomicBool,
    pub(crate) cpu: Option<CpuId>,
}

#[derive(Default)]
struct Memberships {
    contexts: Vec<u32>,
    turn: usize,
}

// SAFETY: `memberships` is handed over as described there; everything else is atomic or immutable.
unsafe impl Sync for Seat {}
// SAFETY: nothing in a seat belongs to a thread.
unsafe impl Send for Seat {}

impl Seat {
    pub(crate) fn new(cpu: Option<CpuId>) -> Self {
        Self {
            state: State::default(),
            memberships: UnsafeCell::default(),
            generation: AtomicU64::new(0),
            waiting_in: AtomicU64::new(0),
            meets: AtomicBool::new(false),
            driven: AtomicBool::new(false),
            driver: AtomicU64::new(0),
            taken: AtomicBool::new(false),
            cpu,
        }
    }

    /// Asks the worker's contexts for a task, in turn, inside of a scheduling operation. True in the second place when it
    /// took none because a team asks for the worker.
    ///
    /// # Safety
    /// Only the thread that drives the worker calls this, outside of its operations.
    #[inline]
    pub(crate) unsafe fn operate<T>(&self, mut ask: impl FnMut(u32) -> Option<T>) -> (Option<T>, bool) {
        if self.state.enter() {
            self.state.leave();
            return (None, true);
        }
        // SAFETY: in an operation, so nobody changes the memberships; and only this thread uses them then.
        let memberships = unsafe { &mut *self.memberships.get() };
        let found = match memberships.contexts.as_slice() {
            [only] => ask(*only),
            several => {
                // A context that always has tasks must not keep the worker from the others.
                let count = several.len();
                let start = memberships.turn;
                memberships.turn = start.wrapping_add(1);
                (0..count).find_map(|i| ask(several[(start.wrapping_add(i)) % count]))
            }
        };
        self.state.leave();
        (found, false)
    }

    /// Inside of a scheduling operation: whether the worker belongs to a context.
    ///
    /// # Safety
    /// Only the thread that drives the worker calls this, between `enter` and `leave` of its state.
    pub(crate) unsafe fn belongs_to(&self, context: u32) -> bool {
        // SAFETY: in an operation, so nobody changes the memberships; no other reference to them lives.
        unsafe { (*self.memberships.get()).contexts.contains(&context) }
    }

    /// Adds the worker to a context, or removes it.
    ///
    /// # Safety
    /// The caller holds the lock for changes of contexts, and has announced the change to the worker, or is the worker and
    /// not inside of an operation.
    pub(crate) unsafe fn set_member(&self, context: u32, member: bool) {
        // SAFETY: the worker is not in an operation and begins none, and there is one change at a time.
        let memberships = unsafe { &mut *self.memberships.get() };
        memberships.contexts.retain(|&c| c != context);
        if member {
            memberships.contexts.push(context);
            memberships.contexts.sort_unstable();
        }
        // Release: pairs with `generation`.
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// How often the memberships have changed.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        // Acquire: pairs with `set_member`.
        self.generation.load(Ordering::Acquire)
    }

    /// The task whose children the worker waits for.
    pub(crate) fn waits_in(&self) -> Option<TaskId> {
        // SeqCst: in one order with the count of teams that are being formed; see `team::formation`.
        let bits = self.waiting_in.load(Ordering::SeqCst);
        (bits != 0).then(|| TaskId::from_bits(bits))
    }

    pub(crate) fn set_waits_in(&self, task: Option<TaskId>) {
        self.waiting_in.store(task.map_or(0, TaskId::bits), Ordering::SeqCst);
    }

    /// Whether the worker waits for the other members of a team, or sleeps now and then as one of them.
    pub(crate) fn meets(&self) -> bool {
        // SeqCst: as in `waits_in`.
        self.meets.load(Ordering::SeqCst)
    }

    pub(crate) fn set_meets(&self, meets: bool) {
        self.meets.store(meets, Ordering::SeqCst);
    }
}
