//! Locks under which no other lock may be taken.
//!
//! The lock of a worker is one: no thread holds two of them, and none takes the lock of a context while it holds one. The
//! models of whole engines check that; elsewhere nothing is done.

#[cfg(all(test, feature = "shuttle", not(loom)))]
mod checked {
    use std::cell::Cell;

    use crate::sync::thread_local;

    thread_local! {
        static ALONE: Cell<bool> = const { Cell::new(false) };
    }

    /// As long as it lives, the calling thread may take no lock.
    pub(crate) struct Alone;

    impl Alone {
        pub(crate) fn begin() -> Self {
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
