//! What the engine keeps of a context.

use super::list::Retirable;
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
}

/// What the engine keeps of a context.
pub(crate) struct ContextState {
    pub(crate) name: String,
    pub(crate) policy: Box<dyn Policy>,
    /// The policy again, of every context but the main one: it is given up when the context retires.
    retirable: Option<Arc<Retirable>>,
    /// What a policy of the user has and has not handed out.
    pub(crate) tickets: Option<Arc<Tickets>>,
    pub(crate) follows_on: bool,
    suits_all: bool,
    /// The context around this one; the main one is its own.
    parent: AtomicU32,
    /// Where the tasks of a deleted context go on.
    heir: AtomicU32,
    members: Mutex<Arc<Members>>,
    /// The members again, one bit each, for those who look for someone to wake.
    bits: Box<[AtomicU64]>,
    counts: Counts,
}

/// How many tasks were submitted, and how many are complete.
enum Counts {
    /// Those of the main context, which are written all the time. Completions by worker; the last count is for threads that
    /// are no workers.
    Main { submitted: Box<Padded<AtomicU64>>, completed: Vec<Padded<AtomicU64>> },
    /// Those of others: there may be many, and most are small.
    Other { submitted: AtomicU64, completed: AtomicU64 },
}

impl ContextState {
    /// The main context.
    pub(crate) fn new(name: String, made: Made, workers: usize) -> Self {
        let completed = (0..=workers).map(|_| Padded::default()).collect();
        let (follows_on, suits_all) = (made.policy.follows_on(), made.policy.suits_all());
        Self {
            name,
            policy: made.policy,
            retirable: None,
            tickets: made.tickets,
            follows_on,
            suits_all,
            parent: AtomicU32::new(0),
            heir: AtomicU32::new(NOT_DELETED),
            members: Mutex::default(),
            bits: (0..workers.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            counts: Counts::Main { submitted: Box::default(), completed },
        }
    }

    /// A context inside of another one.
    pub(crate) fn inside(parent: u32, name: String, made: Made, workers: usize) -> Self {
        let (follows_on, suits_all) = (made.policy.follows_on(), made.policy.suits_all());
        let retirable = Arc::new(Retirable::new(made.policy));
        let policy: Box<dyn Policy> = Box::new(Arc::clone(&retirable));
        Self {
            retirable: Some(retirable),
            follows_on,
            suits_all,
            parent: AtomicU32::new(parent),
            counts: Counts::Other { submitted: AtomicU64::new(0), completed: AtomicU64::new(0) },
            ..Self::new(name, Made { policy, tickets: made.tickets }, workers)
        }
    }

    /// Gives up what costs more than a few words, once the context is deleted and has no tasks.
    pub(super) fn retire(&self) -> Option<Arc<dyn Policy>> {
        if let Some(tickets) = &self.tickets {
            tickets.forget();
        }
        self.retirable.as_ref().and_then(|retirable| retirable.take())
    }

    /// The workers that belong to the context now.
    pub(crate) fn members(&self) -> Arc<Members> {
        Arc::clone(&lock(&self.members))
    }

    /// Publishes other workers. Only for whoever makes a change of contexts.
    pub(crate) fn publish(&self, workers: &[WorkerId]) {
        let mut members = lock(&self.members);
        *members = Arc::new(Members { workers: workers.to_vec() });
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
        // SeqCst: in one order with the pushes into this context, and with its counts; see `Core::give` and `list`.
        let heir = self.heir.load(Ordering::SeqCst);
        (heir != NOT_DELETED).then_some(heir)
    }

    pub(crate) fn set_heir(&self, heir: u32) {
        self.heir.store(heir, Ordering::SeqCst);
    }

    pub(crate) fn is_deleted(&self) -> bool {
        self.heir().is_some()
    }

    #[inline]
    pub(crate) fn count_submitted(&self) {
        match &self.counts {
            // Relaxed: `is_quiet` reads it after the counts of completed tasks, see there.
            Counts::Main { submitted, .. } => submitted.fetch_add(1, Ordering::Relaxed),
            // SeqCst: in one order with the heir; see `list`.
            Counts::Other { submitted, .. } => submitted.fetch_add(1, Ordering::SeqCst),
        };
    }

    /// A task was counted that goes to another context, as this one is deleted.
    pub(super) fn take_back_submitted(&self) {
        self.submitted().fetch_sub(1, Ordering::SeqCst);
    }

    #[inline]
    pub(crate) fn count_completed(&self, worker: Option<WorkerId>) {
        match (&self.counts, worker) {
            (Counts::Main { completed, .. }, Some(worker)) => {
                let count = &completed[worker.index()];
                // Only this worker writes here, so a load and a store do. Release: pairs with `is_quiet`.
                count.store(count.load(Ordering::Relaxed) + 1, Ordering::Release);
            }
            _ => {
                // SeqCst: in one order with `context_waiters`; see `Core::note_completed`.
                self.completed_outside().fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    /// Another context was deleted, whose tasks belong to this one now: they count as one that is not complete.
    pub(super) fn expect_heritage(&self) {
        self.submitted().fetch_add(1, Ordering::SeqCst);
    }

    /// The tasks that were expected are complete. These are the counts of their context.
    pub(super) fn inherit(&self, submitted: u64, completed: u64) {
        // In this order, so that nobody finds more complete than submitted. The one that stood for all is taken back.
        self.submitted().fetch_add(submitted.wrapping_sub(1), Ordering::SeqCst);
        self.completed_outside().fetch_add(completed, Ordering::SeqCst);
    }

    /// Whether every task that was submitted is complete.
    pub(crate) fn is_quiet(&self) -> bool {
        let (submitted, completed) = self.counts();
        completed == submitted
    }

    /// Tasks of the main context that a worker completed so far.
    pub(crate) fn completed_by(&self, worker: WorkerId) -> u64 {
        match &self.counts {
            Counts::Main { completed, .. } => completed[worker.index()].load(Ordering::Relaxed),
            Counts::Other { .. } => 0,
        }
    }

    /// Tasks submitted and completed so far.
    pub(crate) fn counts(&self) -> (u64, u64) {
        // Acquire: pairs with `count_completed`. A task's submission comes before its completion, so reading the
        // completions first can only find too few of them.
        let completed = match &self.counts {
            Counts::Main { completed, .. } => completed.iter().map(|c| c.load(Ordering::Acquire)).sum(),
            Counts::Other { completed, .. } => completed.load(Ordering::SeqCst),
        };
        (self.submitted().load(Ordering::SeqCst), completed)
    }

    fn submitted(&self) -> &AtomicU64 {
        match &self.counts {
            Counts::Main { submitted, .. } => submitted,
            Counts::Other { submitted, .. } => submitted,
        }
    }

    /// Where completions by threads that are no workers are counted.
    fn completed_outside(&self) -> &AtomicU64 {
        match &self.counts {
            Counts::Main { completed, .. } => &completed[completed.len() - 1],
            Counts::Other { completed, .. } => completed,
        }
    }
}
