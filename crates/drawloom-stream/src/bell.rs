//! How the rest of the program calls a stream that waits for it.
//!
//! A node that cannot go on without somebody outside of the stream, such as a source without items now or a sink without room,
//! is blocked, and the others go on. When nobody may fire, the copy's thread sleeps until somebody *rings*, and whoever was
//! blocked tries again. A copy remembers up to which ring it has heard before it tries, so no ring between trying and sleeping
//! is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// What the copies of one run listen to.
#[derive(Default)]
pub(crate) struct Bell {
    /// How often it was rung.
    rung: AtomicU64,
    sleepers: Mutex<()>,
    wake: Condvar,
}

impl Bell {
    /// Something may have changed for those who wait.
    pub(crate) fn ring(&self) {
        // Release: what changed is seen by those who hear the ring; Acquire in `heard`.
        self.rung.fetch_add(1, Ordering::Release);
        // Whoever has not heard it and goes to sleep holds the lock until it sleeps.
        drop(self.sleepers.lock());
        self.wake.notify_all();
    }

    /// Up to which ring one has heard now.
    pub(crate) fn heard(&self) -> u64 {
        self.rung.load(Ordering::Acquire)
    }

    /// Sleeps until the bell is rung once more, or it is time.
    pub(crate) fn sleep(&self, heard: u64, until: Option<Instant>) {
        let mut guard = self.sleepers.lock();
        while self.heard() == heard {
            let Some(until) = until else {
                self.wake.wait(&mut guard);
                continue;
            };
            let left = until.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return;
            }
            self.wake.wait_for(&mut guard, left);
        }
    }
}

/// Those who want to be called when something changes.
#[derive(Default)]
pub(crate) struct Callers(Vec<Arc<Bell>>);

impl Callers {
    /// Remembers one, once.
    pub(crate) fn add(&mut self, bell: &Arc<Bell>) {
        if !self.0.iter().any(|known| Arc::ptr_eq(known, bell)) {
            self.0.push(Arc::clone(bell));
        }
    }

    /// Calls all, and forgets them: who still waits comes again.
    pub(crate) fn call(&mut self) {
        self.0.drain(..).for_each(|bell| bell.ring());
    }
}

/// What is done around each run, on behalf of those outside: before any worker begins, and after all are done. It belongs to a
/// source or sink, and then to the stream and its plan. When that is dropped no run can begin any more, which those outside are
/// told as an end: they wait in vain.
pub(crate) struct Around {
    pub(crate) begin: Arc<dyn Fn() + Send + Sync>,
    pub(crate) end: Arc<dyn Fn() + Send + Sync>,
}

impl Drop for Around {
    fn drop(&mut self) {
        (self.end)();
    }
}

/// The first of two points in time, where there may be none.
pub(crate) fn sooner(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    a.into_iter().chain(b).min()
}

/// When to ask something again that cannot call: soon, and later each time that it has nothing.
#[derive(Default)]
pub(crate) struct Asking {
    pause: Duration,
}

impl Asking {
    const FIRST: Duration = Duration::from_micros(20);
    const LAST: Duration = Duration::from_millis(2);

    /// It had something.
    pub(crate) fn answered(&mut self) {
        self.pause = Duration::ZERO;
    }

    /// It had nothing: when to ask again.
    pub(crate) fn again(&mut self) -> Instant {
        self.pause = (2 * self.pause).clamp(Self::FIRST, Self::LAST);
        Instant::now() + self.pause
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use super::{Bell, Callers};

    #[test]
    fn a_ring_before_one_sleeps_is_heard() {
        let bell = Arc::new(Bell::default());
        let heard = bell.heard();
        let mut callers = Callers::default();
        callers.add(&bell);
        callers.add(&bell);
        callers.call();
        assert_eq!(bell.heard(), heard + 1, "it was remembered once");
        bell.sleep(heard, None);
        callers.call();
        assert_eq!(bell.heard(), heard + 1, "it was forgotten");
        bell.sleep(bell.heard(), Some(Instant::now()));
    }

    #[test]
    fn a_ring_wakes_those_who_sleep() {
        let bell = Arc::new(Bell::default());
        let theirs = Arc::clone(&bell);
        let heard = bell.heard();
        let sleeper = std::thread::spawn(move || theirs.sleep(heard, None));
        bell.ring();
        sleeper.join().unwrap();
    }
}
