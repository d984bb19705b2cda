//! The one door to atomics, locks, threads and the passing of time.
//!
//! Every protocol of this crate is written against this module, so that the same source runs on the standard library, and
//! under two model checkers: loom (all interleavings and weak memory, small models; `--cfg loom`) and shuttle (random
//! schedules, whole engines; feature `shuttle`).
//!
//! | file | concept |
//! |---|---|
//! | [`alone`] | locks under which no other lock may be taken |
//! | [`grow`] | a list that grows, whose elements never move |
//! | [`stack`] | room on the stack for tasks that run inside of others |
//! | [`time`] | waiting for at most some time, which the checkers take for waiting without end |
//! | `locals` | variables of which each thread has its own, under shuttle |

pub(crate) mod alone;
pub(crate) mod grow;
#[cfg(all(feature = "shuttle", not(loom)))]
pub(crate) mod locals;
pub(crate) mod stack;
pub(crate) mod time;

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

// Whole engines do not run under loom, so its threads need no variables of their own.
#[cfg(all(feature = "shuttle", not(loom)))]
pub(crate) use locals::thread_local;
#[cfg(any(loom, not(feature = "shuttle")))]
pub(crate) use std::thread_local;

// Reference counts are not part of any protocol here.
pub(crate) use std::sync::Arc;

/// Keeps what one thread writes often off the cache lines of others.
pub(crate) use crossbeam_utils::CachePadded as Padded;

/// Whether a model checker runs this. Looking again and again before sleeping only makes its schedules longer.
pub(crate) const MODELLED: bool = cfg!(any(loom, feature = "shuttle"));

/// Takes a lock. A panic of a user's code never happens under one of our locks, so poisoning means nothing here.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    alone::Alone::check();
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Gives a lock back until the condition is signalled.
pub(crate) fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condition.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Takes a lock that nobody has.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(std::sync::TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
        Err(std::sync::TryLockError::WouldBlock) => None,
    }
}
