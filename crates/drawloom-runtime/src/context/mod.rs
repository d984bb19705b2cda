//! Named sets of workers with a policy.

use crate::core::Core;
use crate::error::{Error, ErrorKind, Result};
use crate::policy::{Policy, WorkerId};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Padded};

/// A named set of workers with a policy. Tasks of a context run on its workers only.
#[derive(Clone)]
pub struct Context {
    core: Arc<Core>,
    index: u32,
}

impl Context {
    pub(crate) fn index_in(&self, core: &Arc<Core>) -> Result<u32> {
        if !Arc::ptr_eq(&self.core, core) {
            return Err(Error::new(ErrorKind::Foreign, "the context belongs to another runtime"));
        }
        Ok(self.index)
    }
}

/// What the engine keeps of a context.
pub(crate) struct ContextState {
    pub(crate) name: String,
    pub(crate) policy: Box<dyn Policy>,
    pub(crate) follows_on: bool,
    submitted: Padded<AtomicU64>,
    /// By worker; the last one is for threads that are no workers.
    completed: Vec<Padded<AtomicU64>>,
}

impl ContextState {
    pub(crate) fn new(name: String, policy: Box<dyn Policy>, workers: usize) -> Self {
        Self {
            name,
            follows_on: policy.follows_on(),
            policy,
            submitted: Padded::default(),
            completed: (0..=workers).map(|_| Padded::default()).collect(),
        }
    }

    pub(crate) fn count_submitted(&self) {
        // Relaxed: `is_quiet` reads it after the counts of completed tasks, see there.
        self.submitted.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_completed(&self, worker: Option<WorkerId>) {
        match worker {
            Some(worker) => {
                let count = &self.completed[worker.index()];
                // Only this worker writes here, so a load and a store do. Release: pairs with `is_quiet`.
                count.store(count.load(Ordering::Relaxed) + 1, Ordering::Release);
            }
            None => {
                self.completed[self.completed.len() - 1].fetch_add(1, Ordering::Release);
            }
        }
    }

    /// Whether every task that was submitted is complete.
    pub(crate) fn is_quiet(&self) -> bool {
        // Acquire: pairs with `count_completed`. A task's submission comes before its completion, so reading the
        // completions first can only find too few of them.
        let completed: u64 = self.completed.iter().map(|c| c.load(Ordering::Acquire)).sum();
        completed == self.submitted.load(Ordering::Acquire)
    }

    /// Tasks that a worker completed so far.
    pub(crate) fn completed_by(&self, worker: WorkerId) -> u64 {
        self.completed[worker.index()].load(Ordering::Relaxed)
    }

    /// Tasks submitted and completed so far.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let completed = self.completed.iter().map(|c| c.load(Ordering::Acquire)).sum();
        (self.submitted.load(Ordering::Acquire), completed)
    }
}
