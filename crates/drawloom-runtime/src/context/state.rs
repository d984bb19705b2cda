//! What the engine keeps of a context.

use crate::policy::choice::Made;
use crate::policy::guarded::Tickets;
use crate::policy::{Policy, WorkerId};
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::{Arc, Mutex, Padded, lock};

const NOT_DELETED: u32 = u32::MAX;

/// The workers of a context at some time. Published as a whole, and never changed.
#[derive(Default)]
pub(crate) struct Members {
    /// In ascending order.
    pub(crate) workers: Vec<WorkerId>,
    /// How many changes there were before.
    pub(crate) generation: u64,
}

/// What the engine keeps of a context.
pub(crate) struct ContextState {
    pub(crate) name: String,
    pub(crate) policy: Box<dyn Policy>,
    /// What a policy of the user has and has not handed out.
    pub(crate) tickets: Option<Arc<Tickets>>,
    pub(crate) follows_on: bool,
    suits_all: bool,
    /// The context around this one; the main one is its own.
    parent: AtomicU32,
    members: Mutex<Arc<Members>>,
    /// The members again, one bit each, for those who look for someone to wake.
    bits: Box<[AtomicU64]>,
    /// Where the tasks of a deleted context go on.
    heir: AtomicU32,
    submitted: Padded<AtomicU64>,
    /// By worker; the last one is for threads that are no workers. All contexts but the main one have only the last one:
    /// there may be many, and most are small.
    completed: Vec<Padded<AtomicU64>>,
}

impl ContextState {
    /// The main context.
    pub(crate) fn new(name: String, policy: Made, workers: usize) -> Self {
        Self::build(name, policy, 0, workers, workers)
    }

    /// A context inside of another one.
    pub(crate) fn inside(parent: u32, name: String, policy: Made, workers: usize) -> Self {
        Self::build(name, policy, parent, workers, 0)
    }

    fn build(name: String, made: Made, parent: u32, workers: usize, counted: usize) -> Self {
        let Made { policy, tickets } = made;
        Self {
            name,
            follows_on: policy.follows_on(),
            suits_all: policy.suits_all(),
            policy,
            tickets,
            parent: AtomicU32::new(parent),
            members: Mutex::default(),
            bits: (0..workers.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            heir: AtomicU32::new(NOT_DELETED),
            submitted: Padded::default(),
            completed: (0..=counted).map(|_| Padded::default()).collect(),
        }
    }

    /// The workers that belong to the context now.
    pub(crate) fn members(&self) -> Arc<Members> {
        Arc::clone(&lock(&self.members))
    }

    /// Publishes other workers. Only for whoever makes a change of contexts.
    pub(crate) fn publish(&self, workers: &[WorkerId]) {
        let mut members = lock(&self.members);
        *members = Arc::new(Members { workers: workers.to_vec(), generation: members.generation + 1 });
        for (index, word) in self.bits.iter().enumerate() {
            let of_word = workers.iter().filter(|w| w.index() / 64 == index);
            word.store(of_word.fold(0, |bits, w| bits | 1 << (w.index() % 64)), Ordering::SeqCst);
        }
    }

    /// Whether a worker belongs to the context, as far as one can see without a lock.
    pub(crate) fn has(&self, worker: usize) -> bool {
        self.bits.get(worker / 64).is_some_and(|word| word.load(Ordering::SeqCst) >> (worker % 64) & 1 == 1)
    }

    pub(crate) fn suits_all(&self) -> bool {
        self.suits_all
    }

    pub(crate) fn parent(&self) -> u32 {
        self.parent.load(Ordering::Acquire)
    }

    pub(crate) fn set_parent(&self, parent: u32) {
        self.parent.store(parent, Ordering::Release);
    }

    /// The context that has this one's tasks, if it was deleted.
    #[inline]
    pub(crate) fn heir(&self) -> Option<u32> {
        // SeqCst: in one order with the pushes into this context; see `Core::give`.
        let heir = self.heir.load(Ordering::SeqCst);
        (heir != NOT_DELETED).then_some(heir)
    }

    pub(crate) fn set_heir(&self, heir: u32) {
        self.heir.store(heir, Ordering::SeqCst);
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.heir().is_some()
    }

    pub(crate) fn count_submitted(&self) {
        // Relaxed: `is_quiet` reads it after the counts of completed tasks, see there.
        self.submitted.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_completed(&self, worker: Option<WorkerId>) {
        match worker {
            Some(worker) if self.completed.len() > 1 => {
                let count = &self.completed[worker.index()];
                // Only this worker writes here, so a load and a store do. Release: pairs with `is_quiet`.
                count.store(count.load(Ordering::Relaxed) + 1, Ordering::Release);
            }
            _ => {
                // SeqCst: in one order with `context_waiters`; see `Core::note_completed`.
                self.completed[self.completed.len() - 1].fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    /// Whether every task that was submitted is complete.
    pub(crate) fn is_quiet(&self) -> bool {
        let (submitted, completed) = self.counts();
        completed == submitted
    }

    /// Tasks that a worker completed so far; counted for the main context only.
    pub(crate) fn completed_by(&self, worker: WorkerId) -> u64 {
        let counted = worker.index() + 1 < self.completed.len();
        if counted { self.completed[worker.index()].load(Ordering::Relaxed) } else { 0 }
    }

    /// Tasks submitted and completed so far.
    pub(crate) fn counts(&self) -> (u64, u64) {
        // Acquire: pairs with `count_completed`. A task's submission comes before its completion, so reading the
        // completions first can only find too few of them.
        let completed = self.completed.iter().map(|c| c.load(Ordering::Acquire)).sum();
        (self.submitted.load(Ordering::Acquire), completed)
    }
}
