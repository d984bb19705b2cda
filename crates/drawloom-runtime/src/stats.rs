//! Figures about a runtime at a moment.

use crate::context::{ContextId, ContextState};
use crate::core::Core;
use crate::sync::atomic::Ordering;
use crate::task::record::Record;

/// Figures about a runtime at a moment. Counts go up from when the runtime was made; they are read one after the other
/// while tasks run, so they need not fit each other exactly. A run of a plan is one task here, and so is each of its tasks that
/// needs more than a call: in a context of its own, a team, on a device, with children, or with other tries.
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
    /// The contexts that were not deleted, in the order in which they were made; the main one is the first.
    pub contexts: Vec<ContextStats>,
}

/// Figures about a context. Those of a deleted one are added to those of the context around it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextStats {
    /// The number of the context.
    pub id: ContextId,
    /// The name of the context.
    pub name: String,
    /// How many workers belong to it.
    pub workers: usize,
    /// Tasks submitted to it, those of the runtime itself (folds) included.
    pub submitted: u64,
    /// Tasks of it that are complete, however they ended.
    pub completed: u64,
    /// Tasks that are ready and wait for a worker of it.
    pub queued: usize,
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
        let counts: Vec<(u64, u64)> = self.contexts.iter().map(|(_, c)| c.counts()).collect();
        let (failed, cancelled) = self.failures.counts();
        let (records, free) = self.slab.counts();
        let worker = |w: crate::policy::WorkerId| WorkerStats {
            executed: self.context(0).completed_by(w) + self.workers.executed[w.index()].load(Ordering::Relaxed),
            parked: self.workers.parked[w.index()].load(Ordering::Relaxed),
            stolen: self.workers.stolen[w.index()].load(Ordering::Relaxed)
                + self.contexts.iter().map(|(_, c)| c.policy.stolen(w)).sum::<u64>(),
        };
        let context = |(index, state): (u32, &ContextState)| {
            let (submitted, completed) = state.counts();
            let (name, workers) = (state.name.clone(), state.members().workers.len());
            ContextStats { id: ContextId(index), name, workers, submitted, completed, queued: state.policy.len() }
        };
        Stats {
            submitted: counts.iter().map(|c| c.0).sum(),
            completed: counts.iter().map(|c| c.1).sum(),
            failed,
            cancelled,
            in_flight: records - free,
            records,
            bytes_per_record: size_of::<Record>(),
            queued: self.contexts.iter().map(|(_, c)| c.policy.len()).sum(),
            workers: self.workers.ids().map(worker).collect(),
            contexts: self.contexts.iter().filter(|(_, c)| !c.is_deleted()).map(context).collect(),
        }
    }
}
