//! Who looks for work, who sleeps, and whom to wake.
//!
//! A worker without work *looks* for some time, then *sleeps*. A thread that makes a task ready wakes a sleeper only when
//! nobody is looking: who looks will find the task. The last one who looks and finds something wakes another one, as there
//! may be more.
//!
//! # The race between the last look and the push
//!
//! A worker that is about to sleep counts itself as sleeping, stops counting as looking, and then looks once more. A thread
//! that pushes first pushes, then reads both counts. All four are sequentially consistent, so either the pusher sees the
//! sleeper and wakes it, or the sleeper's last look finds the task.
//!
//! # The race between the last look and the one who wakes
//!
//! When the last look finds something, the worker may be out of the list already, and someone about to wake it. That one counts
//! it as looking, and says so to the worker, who waits for it. Otherwise a worker that sleeps again soon would be woken, and
//! counted, for the sleep before: it would be in the list while it is awake, and all counts would be wrong from then on.
//!
//! # How long to look
//!
//! Waking a thread costs tens of microseconds on some machines, and looking costs a processor that others may need. So each
//! worker remembers in its [`Patience`] whether looking was worth it.

use std::time::Duration;

use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use crate::sync::{MODELLED, Mutex, Padded, lock, thread};

/// How often a worker looks before it sleeps. It looks longer when it found something that way, or would have if it had
/// looked a little longer; and half as long each time it slept for long.
pub(crate) struct Patience {
    looks: usize,
}

impl Patience {
    /// About a hundred microseconds.
    const MOST: usize = if MODELLED { 1 } else { 200 };
    const LEAST: usize = if MODELLED { 1 } else { 8 };
    /// Who slept no longer than this had better have looked on.
    const SOON: Duration = Duration::from_micros(200);

    /// How often to look before sleeping.
    pub(crate) fn looks(&self) -> usize {
        self.looks
    }

    /// Something was found by looking.
    pub(crate) fn found(&mut self) {
        self.looks = (self.looks * 2).min(Self::MOST);
    }

    /// Nothing was found by looking, and the worker slept for some time before there was something.
    pub(crate) fn slept(&mut self, time: Duration) {
        if time <= Self::SOON {
            self.found();
        } else {
            self.looks = (self.looks / 2).max(Self::LEAST);
        }
    }
}

impl Default for Patience {
    fn default() -> Self {
        Self { looks: Self::MOST }
    }
}

/// Who looks for work, and who sleeps.
pub(crate) struct Sleep {
    looking: Padded<AtomicUsize>,
    sleeping: Padded<AtomicUsize>,
    sleepers: Mutex<Vec<Sleeper>>,
    woken: Vec<AtomicBool>,
}

struct Sleeper {
    worker: usize,
    thread: thread::Thread,
}

impl Sleep {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            looking: Padded::default(),
            sleeping: Padded::default(),
            sleepers: Mutex::new(Vec::with_capacity(workers)),
            woken: (0..workers).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    pub(crate) fn sleeping(&self) -> usize {
        self.sleeping.load(Ordering::SeqCst)
    }

    /// How many look for work.
    #[cfg(all(test, any(loom, feature = "shuttle")))]
    pub(crate) fn looking(&self) -> usize {
        self.looking.load(Ordering::SeqCst)
    }

    /// A worker begins to look.
    pub(crate) fn begin_looking(&self) {
        self.looking.fetch_add(1, Ordering::SeqCst);
    }

    /// A worker found something. True when nobody else is looking, and another one should be woken if there is more.
    pub(crate) fn found(&self) -> bool {
        self.looking.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// A task became ready.
    #[inline]
    pub(crate) fn notify(&self) {
        fence(Ordering::SeqCst);
        self.notify_fenced();
    }

    /// As [`Sleep::notify`], by a thread that has executed a sequentially consistent fence since the task was pushed.
    #[inline]
    pub(crate) fn notify_fenced(&self) {
        if self.looking.load(Ordering::SeqCst) == 0 && self.sleeping.load(Ordering::SeqCst) > 0 {
            self.wake_one();
        }
    }

    /// A task became ready that only some workers may run. Those who look may not be among them, so one who may is woken
    /// in any case.
    pub(crate) fn notify_among(&self, may_run: impl Fn(usize) -> bool) {
        fence(Ordering::SeqCst);
        if self.sleeping.load(Ordering::SeqCst) > 0 {
            let sleeper = {
                let mut sleepers = lock(&self.sleepers);
                let at = sleepers.iter().rposition(|s| may_run(s.worker));
                at.map(|at| sleepers.remove(at))
            };
            if let Some(sleeper) = sleeper {
                self.rouse(sleeper);
            }
        }
    }

    /// Something happened that concerns one worker: wakes it if it sleeps.
    pub(crate) fn wake_worker(&self, worker: usize) {
        self.notify_among(|w| w == worker);
    }

    #[cold]
    pub(crate) fn wake_one(&self) {
        let sleeper = lock(&self.sleepers).pop();
        if let Some(sleeper) = sleeper {
            self.rouse(sleeper);
        }
    }

    pub(crate) fn wake_all(&self) {
        // One by one, as each is roused after the lock is free: it may be waiting for the lock itself.
        loop {
            let sleeper = lock(&self.sleepers).pop();
            let Some(sleeper) = sleeper else { return };
            self.rouse(sleeper);
        }
    }

    /// Wakes a sleeper, who counts as looking from now on, so that nobody else is woken for the same task.
    fn rouse(&self, sleeper: Sleeper) {
        self.looking.fetch_add(1, Ordering::SeqCst);
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
        self.woken[sleeper.worker].store(true, Ordering::Release);
        sleeper.thread.unpark();
    }

    /// A worker that is looking sleeps, unless `look` finds something at the last moment. Afterwards it is looking again.
    pub(crate) fn sleep<T>(&self, worker: usize, look: impl FnOnce() -> Option<T>) -> Option<T> {
        self.lie_down(worker);
        let found = look();
        if found.is_some() && self.get_up(worker) {
            return found;
        }
        // Also after something was found: who has taken this worker out of the list is about to count it as looking. That must
        // be over before it can sleep again, or it would be counted twice, and woken from a sleep that nobody knows of.
        self.wait_until_woken(worker);
        found
    }

    /// A worker that is looking is in the list of those who sleep from now on.
    fn lie_down(&self, worker: usize) {
        // Release: nobody wakes this worker before it is in the list below.
        self.woken[worker].store(false, Ordering::Release);
        {
            // Counted before it can be found in the list: who wakes it counts it down, and must not make others that sleep
            // look like none.
            let mut sleepers = lock(&self.sleepers);
            self.sleeping.fetch_add(1, Ordering::SeqCst);
            sleepers.push(Sleeper { worker, thread: thread::current() });
        }
        self.looking.fetch_sub(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    fn wait_until_woken(&self, worker: usize) {
        // Acquire: pairs with `rouse`. A thread may be unparked for other reasons.
        while !self.woken[worker].load(Ordering::Acquire) {
            thread::park();
        }
    }

    /// A worker takes itself out of the list, and looks again. False when someone else has taken it out, to wake it.
    fn get_up(&self, worker: usize) -> bool {
        let mut sleepers = lock(&self.sleepers);
        let Some(at) = sleepers.iter().position(|s| s.worker == worker) else { return false };
        sleepers.swap_remove(at);
        self.looking.fetch_add(1, Ordering::SeqCst);
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
        true
    }
}

#[cfg(all(test, not(any(loom, feature = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn a_worker_looks_for_as_long_as_that_was_worth_it() {
        let mut patience = Patience::default();
        assert_eq!(patience.looks(), Patience::MOST);
        patience.found();
        assert_eq!(patience.looks(), Patience::MOST);
        let long = Patience::SOON * 2;
        patience.slept(long);
        assert_eq!(patience.looks(), Patience::MOST / 2);
        for _ in 0..20 {
            patience.slept(long);
        }
        assert_eq!(patience.looks(), Patience::LEAST);
        patience.slept(Patience::SOON);
        assert_eq!(patience.looks(), 2 * Patience::LEAST);
        for _ in 0..20 {
            patience.found();
        }
        assert_eq!(patience.looks(), Patience::MOST);
    }
}
