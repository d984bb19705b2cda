//! Waiting for at most some time, and looking for a while.
//!
//! The model checkers know no time: under them, a wait ends only when somebody ends it. So a wake-up that is lost shows as a
//! deadlock there, even where a thread would go on after a while in earnest.

use std::time::Duration;

use super::{Condvar, MutexGuard, hint, thread};

/// Sleeps until the thread is woken, or for some time.
pub(crate) fn park_at_most(most: Duration) {
    #[cfg(not(any(loom, feature = "shuttle")))]
    thread::park_timeout(most);
    #[cfg(any(loom, feature = "shuttle"))]
    {
        let _ = most;
        thread::park();
    }
}

/// Waits until a condition is announced, or for some time.
pub(crate) fn wait_at_most<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>, most: Duration) -> MutexGuard<'a, T> {
    #[cfg(not(any(loom, feature = "shuttle")))]
    return condition.wait_timeout(guard, most).unwrap_or_else(std::sync::PoisonError::into_inner).0;
    #[cfg(any(loom, feature = "shuttle"))]
    {
        let _ = most;
        condition.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Looks again and again for some time. True when it was done meanwhile.
#[cfg(not(any(loom, feature = "shuttle")))]
pub(crate) fn look_for(time: Duration, done: impl Fn() -> bool) -> bool {
    if done() {
        return true;
    }
    let start = std::time::Instant::now();
    loop {
        for _ in 0..64 {
            if done() {
                return true;
            }
            hint::spin_loop();
        }
        if start.elapsed() > time {
            return false;
        }
    }
}

/// Looks twice, with room for others in between.
#[cfg(any(loom, feature = "shuttle"))]
pub(crate) fn look_for(_: Duration, done: impl Fn() -> bool) -> bool {
    done() || {
        hint::spin_loop();
        done()
    }
}
