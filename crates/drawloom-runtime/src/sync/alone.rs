//! Locks under which no other lock may be taken.
//!
//! The lock of a worker is one: no thread holds two of them, and none takes the lock of a context while it holds one. The
//! models of whole engines check that; elsewhere nothing is done.

use std::cell::Cell;
// Counts over all schedules, so it is no part of any.
use std::sync::atomic::{AtomicUsize, Ordering};

use super::thread_local;

/// Whether locks are checked.
const CHECKED: bool = cfg!(all(test, feature = "shuttle", not(loom)));

thread_local! {
    /// Whether the calling thread may take no lock.
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// How often a thread took a lock under which it may take no other.
static TIMES: AtomicUsize = AtomicUsize::new(0);

/// As long as it lives, the calling thread may take no lock.
pub(crate) struct Alone(());

impl Alone {
    #[inline]
    pub(crate) fn begin() -> Self {
        if CHECKED {
            TIMES.fetch_add(1, Ordering::Relaxed);
            ALONE.set(true);
        }
        Self(())
    }

    /// The calling thread is about to take a lock.
    #[inline]
    pub(crate) fn check() {
        assert!(!CHECKED || !ALONE.get(), "a thread takes a lock while it holds that of a worker");
    }

    /// How often there was one.
    #[cfg(all(test, feature = "shuttle", not(loom)))]
    pub(crate) fn times() -> usize {
        TIMES.load(Ordering::Relaxed)
    }
}

impl Drop for Alone {
    #[inline]
    fn drop(&mut self) {
        if CHECKED {
            ALONE.set(false);
        }
    }
}
