//! The one door to atomics, locks and threads.
//!
//! Every protocol of this crate is written against this module, so that the same source runs on the standard library, and
//! under two model checkers: loom (all interleavings and weak memory, small models; `--cfg loom`) and shuttle (random
//! schedules, whole engines; feature `shuttle`).

pub(crate) mod grow;
pub(crate) mod near;

#[cfg(loom)]
pub(crate) use loom::{
    hint,
    sync::{Condvar, Mutex, MutexGuard, atomic},
    thread,
};
#[cfg(all(feature = "shuttle", not(loom)))]
pub(crate) use shuttle::{
    hint,
    sync::{Condvar, Mutex, MutexGuard, atomic},
    thread,
};
#[cfg(not(any(loom, feature = "shuttle")))]
pub(crate) use std::{
    hint,
    sync::{Condvar, Mutex, MutexGuard, atomic},
    thread,
};

// Reference counts are not part of any protocol here.
pub(crate) use std::sync::Arc;

/// Takes a lock. A panic of a user's code never happens under one of our locks, so poisoning means nothing here.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Keeps what one thread writes often off the cache lines of others.
#[repr(align(128))]
#[derive(Debug, Default)]
pub(crate) struct Padded<T>(pub(crate) T);

impl<T> std::ops::Deref for Padded<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}
