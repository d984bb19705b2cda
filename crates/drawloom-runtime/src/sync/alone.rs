//! Locks under which no other lock may be taken.
//!
//! The lock of a worker is one: no thread holds two of them, and none takes the lock of a context while it holds one. The
//! models of whole engines check that; elsewhere nothing is done.

#[cfg(all(test, feature = "shuttle", not(loom)))]
mod checked {
    use std::cell::Cell;
    // Counts over all schedules, so it is no part of any.
    use std::sync::atomic::{AtomicUsize, Ordering};

    use crate::sync::thread_local;

    thread_local! {
        static ALONE: Cell<bool> = const { Cell::new(false) };
    }

    static TIMES: AtomicUsize = AtomicUsize::new(0);

    /// As long as it lives, the calling thread may take no lock.
    pub(crate) struct Alone;

    impl Alone {
        /// How often there was one.
        pub(crate) fn times() -> usize {
            TIMES.load(Ordering::Relaxed)
        }

        pub(crate) fn begin() -> Self {
            TIMES.fetch_add(1, Ordering::Relaxed);
            ALONE.set(true);
            Self
        }

        /// The calling thread is about to take a lock.
        pub(crate) fn check() {
            assert!(!ALONE.get(), "a thread takes a lock while it holds that of a worker");
        }
    }

    impl Drop for Alone {
        fn drop(&mut self) {
            ALONE.set(false);
        }
    }
}

#[cfg(not(all(test, feature = "shuttle", not(loom))))]
mod checked {
    /// As long as it lives, the calling thread may take no lock.
    pub(crate) struct Alone;

    impl Alone {
        #[inline]
        pub(crate) fn begin() -> Self {
            Self
        }

        /// The calling thread is about to take a lock.
        #[inline]
        pub(crate) fn check() {}
    }
}

pub(crate) use checked::Alone;
