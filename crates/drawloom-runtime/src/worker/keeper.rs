//! One worker that keeps up alone.
//!
//! Where one thread submits very short tasks, one worker may run them as fast as they come. Then every task that another worker
//! finds is slower than if it had found none: some cache lines have to travel to it, and back to whoever submits. And where there
//! are no more processors than workers, it keeps a processor from the thread for which all wait.
//!
//! So where tasks are short, it is measured whether one worker does better. A worker watches for a moment how many tasks all of
//! them complete, and then tries for as long to be the *keeper*. As long as there is one, nobody is woken for a task that becomes
//! ready, and whoever has nothing to do *naps*: it sleeps for some hundred microseconds at a time, and looks only whether the
//! keeper still goes on. If the keeper alone completed more tasks, it stays for a while, before it is measured again. It gives
//! up when its tasks are not short any more. A napper deposes it when it has not looked for work, nor run some tasks, for a whole
//! nap: it may be in a task that takes long. Whoever failed waits longer each time before it tries again.
//!
//! There is a keeper only while every worker may run every task: contexts that have some workers, and policies of which not
//! every worker gets every task, know none.
//!
//! # The race between the keeper and a push
//!
//! A thread that pushes a task and sees a keeper wakes nobody. So a keeper that goes to sleep resigns first, and then looks once
//! more, as everybody does who goes to sleep. It writes and the other reads in one order: either the thread that pushes sees no
//! keeper, or the keeper's last look finds the task.

use std::time::{Duration, Instant};

use crate::policy::WorkerId;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::{MODELLED, Padded};

/// There is no keeper.
const NOBODY: u32 = u32::MAX;

/// After how many tasks a worker sees how it does.
const WINDOW: u32 = 64;

/// Tasks that take less, with all that is done for them, are short.
const SHORT: Duration = Duration::from_nanos(1000);

/// For how long it is measured, with all workers and with one. The system lets threads take turns of some milliseconds where there
/// are too few processors for all of them, and what happens in one turn says little about the next.
const WATCH: Duration = Duration::from_millis(4);
const TRIAL: Duration = Duration::from_millis(2);

/// So many times as many tasks as all workers together a keeper has to complete: less may be chance.
const GAIN: f64 = 1.05;

/// After how long it is measured again.
const TERM: Duration = Duration::from_millis(100);

/// After how many windows a worker that failed tries again, the first time and at most: a trial takes as long as some dozen.
const REST: u32 = 1 << 9;
const LONGEST_REST: u32 = 1 << 14;

/// The keeper, if there is one.
pub(crate) struct Keeper {
    who: Padded<AtomicU32>,
    /// How often it has looked for work, or has run some tasks.
    goes_on: Padded<AtomicU64>,
}

impl Default for Keeper {
    fn default() -> Self {
        Self { who: Padded(AtomicU32::new(NOBODY)), goes_on: Padded::default() }
    }
}

impl Keeper {
    /// Whether there is a keeper.
    #[inline]
    pub(crate) fn is_there(&self) -> bool {
        // In one order with a keeper that resigns; see above.
        self.who.load(Ordering::SeqCst) != NOBODY
    }

    /// Whether a worker is the keeper.
    pub(crate) fn is(&self, worker: WorkerId) -> bool {
        self.who.load(Ordering::SeqCst) == worker.number()
    }

    /// What shows that another worker than this one keeps up, if one does: it is another number after each nap.
    pub(crate) fn other(&self, worker: WorkerId) -> Option<u64> {
        let who = self.who.load(Ordering::SeqCst);
        // Relaxed: it is only compared.
        (who != NOBODY && who != worker.number()).then(|| self.goes_on.load(Ordering::Relaxed))
    }

    pub(crate) fn become_keeper(&self, worker: WorkerId) -> bool {
        self.who.compare_exchange(NOBODY, worker.number(), Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// A worker is not the keeper any more, if it was.
    pub(crate) fn resign(&self, worker: WorkerId) {
        let _ = self.who.compare_exchange(worker.number(), NOBODY, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Whoever is the keeper is so no more.
    pub(crate) fn depose(&self) {
        self.who.store(NOBODY, Ordering::SeqCst);
    }

    /// The keeper goes on.
    fn go_on(&self) {
        // Relaxed: as above. Two keepers that follow each other may lose a number; then a napper is too strict.
        self.goes_on.store(self.goes_on.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}

/// What a worker knows of its own work lately.
pub(crate) struct Shift {
    tasks: u32,
    began: Option<Instant>,
    idle: Duration,
    was_long: bool,
    stage: Stage,
    /// For how many windows it does not try to be the keeper, and for how many after the next failure.
    rest: u32,
    next_rest: u32,
}

/// How far a worker is on its way to be the keeper.
#[derive(Clone, Copy)]
enum Stage {
    Free,
    /// It counts what all workers complete.
    Watching(Count),
    /// It is the keeper, and counts what it completes. The others did so many tasks in a second.
    Trying(Count, f64),
    /// It is the keeper, since then.
    Keeping(Instant),
}

/// How many tasks were complete at some time.
#[derive(Clone, Copy)]
struct Count {
    at: Instant,
    tasks: u64,
}

impl Count {
    /// How many tasks were completed in a second since then.
    fn rate(self, now: Count) -> f64 {
        now.tasks.wrapping_sub(self.tasks) as f64 / (now.at - self.at).as_secs_f64()
    }
}

impl Default for Shift {
    fn default() -> Self {
        Self {
            tasks: 0,
            began: None,
            idle: Duration::ZERO,
            was_long: false,
            stage: Stage::Free,
            rest: 0,
            next_rest: REST,
        }
    }
}

impl Shift {
    /// The worker has run a task. True after some of them: then it is to be reviewed.
    #[inline]
    pub(crate) fn worked(&mut self) -> bool {
        self.tasks += 1;
        !MODELLED && self.tasks >= WINDOW
    }

    /// The worker looks for work, and does not know for how long.
    pub(crate) fn looks(&mut self, keeper: &Keeper) {
        if self.is_keeper() {
            keeper.go_on();
        }
    }

    /// The worker has looked for work, or slept, for so long.
    pub(crate) fn looked(&mut self, time: Duration) {
        self.idle += time;
    }

    /// Sees how the last tasks went, where a worker may be the keeper, or may not. `completed` says how many tasks all workers
    /// have completed. True when it was the keeper, and is so no more.
    #[cold]
    pub(crate) fn review(
        &mut self,
        keeper: &Keeper,
        worker: WorkerId,
        now: Instant,
        may_be: bool,
        completed: impl Fn() -> u64,
    ) -> bool {
        self.tasks = 0;
        let idle = std::mem::take(&mut self.idle);
        let Some(began) = self.began.replace(now) else { return false };
        // A single window may be long because the system gave the processor to somebody else meanwhile.
        let is_long = (now - began).saturating_sub(idle) >= SHORT * WINDOW;
        let are_long = std::mem::replace(&mut self.was_long, is_long) && is_long;
        // Asked for rarely, as others write it all the time.
        let count = || Count { at: now, tasks: completed() };
        let was_keeper = self.is_keeper();
        if !may_be || are_long || (was_keeper && !keeper.is(worker)) {
            self.stage = Stage::Free;
            if was_keeper {
                keeper.resign(worker);
                self.fail();
            }
            return was_keeper;
        }
        match self.stage {
            Stage::Free if self.rest > 0 => self.rest -= 1,
            Stage::Free => self.stage = Stage::Watching(count()),
            Stage::Watching(since) if now - since.at >= WATCH => {
                let tries = keeper.become_keeper(worker);
                self.stage = if tries { Stage::Trying(count(), since.rate(count())) } else { Stage::Free };
            }
            Stage::Trying(since, together) if now - since.at >= TRIAL => {
                if since.rate(count()) >= GAIN * together {
                    self.stage = Stage::Keeping(now);
                    self.next_rest = REST;
                } else {
                    self.stage = Stage::Free;
                    keeper.resign(worker);
                    self.fail();
                }
            }
            Stage::Keeping(since) if now - since >= TERM => {
                self.stage = Stage::Watching(count());
                keeper.resign(worker);
            }
            Stage::Watching(_) | Stage::Trying(..) | Stage::Keeping(_) => {}
        }
        if self.is_keeper() {
            keeper.go_on();
        }
        was_keeper && !self.is_keeper()
    }

    /// The worker is about to sleep, or to end: it is not the keeper any more.
    pub(crate) fn resign(&mut self, keeper: &Keeper, worker: WorkerId) {
        if self.is_keeper() {
            keeper.resign(worker);
        }
        self.stage = Stage::Free;
    }

    fn is_keeper(&self) -> bool {
        matches!(self.stage, Stage::Trying(..) | Stage::Keeping(_))
    }

    fn fail(&mut self) {
        self.rest = self.next_rest;
        self.next_rest = (2 * self.next_rest).min(LONGEST_REST);
    }
}

#[cfg(all(test, not(any(loom, feature = "shuttle"))))]
mod tests {
    use std::cell::Cell;

    use super::*;

    const WORKER: WorkerId = WorkerId::of_test(1);
    const OTHER: WorkerId = WorkerId::of_test(0);

    /// A worker whose time is made up: windows take as long as is said, and all workers complete so many tasks in each.
    struct Day {
        keeper: Keeper,
        shift: Shift,
        now: Instant,
        completed: Cell<u64>,
    }

    impl Day {
        fn new() -> Self {
            Self { keeper: Keeper::default(), shift: Shift::default(), now: Instant::now(), completed: Cell::new(0) }
        }

        /// Some windows. True when the worker gave up being the keeper in one of them.
        fn windows(&mut self, count: u32, each: Duration, tasks: impl Fn(bool) -> u64) -> bool {
            let window = |day: &mut Self| {
                day.completed.set(day.completed.get() + tasks(day.keeper.is_there()));
                day.now += each;
                day.shift.review(&day.keeper, WORKER, day.now, true, || day.completed.get())
            };
            (0..count).fold(false, |gave_up, _| window(self) | gave_up)
        }
    }

    const QUICK: Duration = Duration::from_micros(20);

    /// One worker completes more than all of them do.
    fn better(is_alone: bool) -> u64 {
        if is_alone { 64 } else { 50 }
    }

    #[test]
    fn whoever_does_better_alone_keeps_others_asleep_and_is_measured_again() {
        let mut day = Day::new();
        assert!(!day.windows(500, QUICK, better));
        assert!(day.keeper.is(WORKER) && day.keeper.other(OTHER).is_some() && day.keeper.other(WORKER).is_none());
        // After a term the others come back for a moment.
        assert!(day.windows(TERM.div_duration_f64(QUICK) as u32, QUICK, better));
        day.windows(500, QUICK, better);
        assert!(day.keeper.is(WORKER));
        day.shift.resign(&day.keeper, WORKER);
        assert!(!day.keeper.is_there());
    }

    #[test]
    fn whoever_does_worse_alone_gives_up_and_tries_less_and_less() {
        let mut day = Day::new();
        let mut alone = 0;
        for _ in 0..20_000 {
            day.windows(1, QUICK, |is_alone| if is_alone { 64 } else { 120 });
            alone += u32::from(day.keeper.is_there());
        }
        assert!((100..1000).contains(&alone), "{alone} windows of 20000 were one worker's alone");
    }

    #[test]
    fn long_tasks_are_for_all() {
        let mut day = Day::new();
        day.windows(500, QUICK, better);
        assert!(day.keeper.is(WORKER));
        assert!(!day.windows(1, 2 * SHORT * WINDOW, |_| 64), "once may be chance");
        assert!(day.windows(1, 2 * SHORT * WINDOW, |_| 64), "whoever has longer tasks gives up");
        day.windows(200, 2 * SHORT * WINDOW, |_| 64);
        assert!(!day.keeper.is_there());
    }

    #[test]
    fn whoever_was_deposed_knows_it_and_waits() {
        let mut day = Day::new();
        day.windows(500, QUICK, better);
        let before = day.keeper.other(OTHER);
        day.windows(1, QUICK, |_| 64);
        assert_ne!(day.keeper.other(OTHER), before, "it shows that it goes on");
        day.keeper.depose();
        assert!(day.windows(1, QUICK, |_| 64));
        assert!(!day.keeper.is_there());
    }
}
