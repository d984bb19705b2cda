//! Figures about a runtime at a moment.

use crate::core::Core;
use crate::sync::atomic::Ordering;
use crate::task::record::Record;

/// Figures about a runtime at a moment. Counts go up from when the runtime was made; they are read one after the other
/// while tasks run, so they need not fit each other exactly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Tasks submitted, those of the runtime itself (folds) included.
    pub submitted: u64,
    /// Tasks complete, however they ended.
    pub completed: u64,
    /// Tasks that panicked or returned an error.
    pub failed: u64,
    /// Tasks that did not run.
    pub cancelled: u64,
    /// Records in use: tasks in flight, guards that are held, and what keeps them in order.
    pub in_flight: usize,
    /// Records that exist. Those not in use are used again.
    pub records: usize,
    /// The size of a record in bytes. A task that needs more than it holds (many arguments, a large closure) has the rest
    /// on the heap.
    pub bytes_per_record: usize,
    /// Tasks that are ready and wait for a worker.
    pub queued: usize,
    /// The workers, by number.
    pub workers: Vec<WorkerStats>,
}

/// Figures about a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerStats {
    /// Tasks that it completed.
    pub executed: u64,
    /// How often it gave its processor back for want of work.
    pub parked: u64,
    /// Tasks that it took from other workers.
    pub stolen: u64,
}

impl Core {
    pub(crate) fn stats(&self) -> Stats {
        let counts: Vec<(u64, u64)> = self.contexts.iter().map(|c| c.counts()).collect();
        let (failed, cancelled) = self.failures.counts();
        let (records, free) = self.slab.counts();
        let worker = |w: crate::policy::WorkerId| WorkerStats {
            executed: self.contexts.iter().map(|c| c.completed_by(w)).sum(),
            parked: self.workers.parked[w.index()].load(Ordering::Relaxed),
            stolen: self.contexts.iter().map(|c| c.policy.stolen(w)).sum(),
        };
        Stats {
            submitted: counts.iter().map(|c| c.0).sum(),
            completed: counts.iter().map(|c| c.1).sum(),
            failed,
            cancelled,
            in_flight: records - free,
            records,
            bytes_per_record: size_of::<Record>(),
            queued: self.contexts.iter().map(|c| c.policy.len()).sum(),
            workers: self.workers.ids().map(worker).collect(),
        }
    }
}
