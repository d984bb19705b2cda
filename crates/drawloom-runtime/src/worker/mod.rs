//! Workers: threads that run tasks.
//!
//! | file | concept |
//! |---|---|
//! | [`sleep`] | who looks for work, who sleeps, and whom to wake |
//! | [`cycle`] | what a worker does, again and again |

pub(crate) mod cycle;
pub(crate) mod sleep;

use crate::policy::WorkerId;
use crate::sync::Padded;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sleep::Sleep;

/// All workers of a runtime.
pub(crate) struct Workers {
    pub(crate) count: usize,
    pub(crate) sleep: Sleep,
    stopping: AtomicBool,
    /// How often each worker went to sleep.
    pub(crate) parked: Vec<Padded<AtomicU64>>,
}

impl Workers {
    pub(crate) fn new(count: usize) -> Self {
        Self {
            count,
            sleep: Sleep::new(count),
            stopping: AtomicBool::new(false),
            parked: (0..count).map(|_| Padded::default()).collect(),
        }
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = WorkerId> + use<> {
        (0..self.count as u32).map(WorkerId)
    }

    /// A task became ready: wakes a worker if none is looking.
    #[inline]
    pub(crate) fn notify(&self) {
        self.sleep.notify();
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.sleep.wake_all();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}
