//! One worker that keeps up alone.
//!
//! Where one thread submits very short tasks, one worker may run them as fast as they come. Then every task that another worker
//! finds is slower than if it had found none: some cache lines have to travel to it, and back to whoever submits. And where there
//! are no more processors than workers, it keeps a processor from the thread for which all wait.
//!
//! So a worker whose tasks are short tries to be the *keeper*. As long as there is one, nobody is woken for a task that becomes
//! ready, and whoever has nothing to do *naps*: it sleeps for some hundred microseconds at a time, and looks only whether the
//! keeper still goes on, or nothing waits for it.
//!
//! # Who stays the keeper
//!
//! A keeper that is idle now and then keeps up: nobody could do better. One that is not stays if its tasks are [tiny](TINY), and
//! otherwise gives up after a moment. It also gives up when its tasks are not short any more. A napper deposes it when it has not
//! looked for work, nor run some tasks, for a whole nap: it may be in a task that takes long. Whoever failed waits longer each time
//! before it tries again; whoever resigned because it had nothing to do is the keeper again when it wakes.
//!
//! What a task takes is measured while the keeper is alone. With all workers it says little: they disturb each other, and where
//! there are fewer processors than threads the system lets them take turns of some milliseconds.
//!
//! Whether tiny tasks are better left to one worker depends on the machine, on what they have in common, and on who submits. So a
//! keeper that has been behind for a [term](TERM) watches for a moment what all workers complete. Only when that was clearly more,
//! twice in a row, it leaves the tasks to all for a long while; if not, the next term is longer.
//!
//! # Tasks gather
//!
//! A keeper that looks for every single task as soon as it comes meets the thread that submits at every one, and both spend their
//! time waiting for cache lines of the other. So a keeper that has run out of tasks waits before it looks, for twice as long each
//! time as long as enough tasks come meanwhile, and not while a thread sleeps that waits for them.
//!
//! There is a keeper only while every worker may run every task: contexts that have some workers, and policies of which not
//! every worker gets every task, know none.
//!
//! # The race between the keeper and a push
//!
//! A thread that pushes a task and sees a keeper wakes nobody. So a keeper that goes to sleep resigns first, and then looks once
//! more, as everybody does who goes to sleep. It writes and the other reads in one order: either the thread that pushes sees no
//! keeper, or the keeper's last look finds the task.
//!
//! # The race between the keeper and the last napper
//!
//! Nobody would see a keeper in a long task if all others slept. So whoever becomes the keeper then wakes a sleeper if nobody is
//! looking; and whoever is about to sleep looks once more for a keeper, and naps if there is one. Again both write before they read,
//! in one order. A napper that leaves to run a task wakes the next one, whether or not anything is left to do: nobody would be
//! woken for what comes later.

use std::time::{Duration, Instant};

use crate::policy::WorkerId;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::{MODELLED, Padded};

/// There is no keeper.
const NOBODY: u32 = u32::MAX;

/// After how many tasks a worker sees how it does.
const WINDOW: u32 = 64;

/// Tasks that take less, with all that is done for them, are short: a worker tries whether it keeps up with them alone.
const SHORT: Duration = Duration::from_nanos(1000);

/// Tasks that take less, with all that is done for them, are run by one worker, even when it falls behind: what a second one takes
/// from it costs both of them, and whoever submits, as much as it brings.
const TINY: Duration = Duration::from_nanos(240);

/// A worker that was idle for this part of the time keeps up.
const IDLE_PART: u32 = 8;

/// After so many windows it is decided whether a keeper goes on. The system may have given the processor to somebody else in some
/// of them.
const ROUND: u32 = 8;

/// After so many windows a keeper counts as a good one, and its failures before that do not count any more.
const GOOD: u32 = 256;

/// After how long a keeper that is behind sees what all workers do instead, the first time and at most; and for how long. The system
/// lets threads take turns of some milliseconds.
const TERM: Duration = Duration::from_millis(100);
const LONGEST_TERM: Duration = Duration::from_millis(3200);
const WATCH: Duration = Duration::from_millis(5);

/// So many times as many tasks as the keeper all workers together have to complete, so many times in a row: less may be chance.
const GAIN: f64 = 1.1;
const WINS: u32 = 2;

/// For how many windows a worker that failed does not try again, the first time and at most.
const REST: u32 = 1 << 4;
const LONGEST_REST: u32 = 1 << 14;

/// For how long a keeper that has run out of tasks lets new ones gather before it looks, in pauses: at first, and at most.
const GATHER: u32 = 32;
const LONGEST_GATHER: u32 = 1 << 11;

/// It waits for longer if there was at least one task for so many pauses.
const GATHER_EACH: u32 = 16;

/// The keeper, if there is one.
pub(crate) struct Keeper {
    who: Padded<AtomicU32>,
    /// How often it has looked for work, or has run some tasks.
    goes_on: Padded<AtomicU64>,
}

impl Default for Keeper {
    fn default() -> Self {
        Self { who: Padded::new(AtomicU32::new(NOBODY)), goes_on: Padded::default() }
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
    /// How many tasks it has run, when the window began, and when it looked for work.
    tasks: u32,
    window: u32,
    looked: u32,
    began: Option<Instant>,
    idle: Duration,
    was_long: bool,
    stage: Stage,
    /// After how long as the keeper it watches all the others, and how often they did better in a row.
    term: Duration,
    wins: u32,
    /// Whether it was the keeper when it went to sleep.
    remembers: bool,
    /// For how many windows it does not try to be the keeper, and for how many after the next failure.
    rest: u32,
    next_rest: u32,
    gather: u32,
}

/// Whether a worker is the keeper.
#[derive(Clone, Copy)]
enum Stage {
    Free,
    Keeping(Term),
    /// It was the keeper, with so many tasks in a second, and counts what all workers complete.
    Watching(Count, f64),
}

/// What a worker did as the keeper.
#[derive(Clone, Copy)]
struct Term {
    windows: u32,
    /// In how many windows of this round it kept up, or had tiny tasks.
    well: u32,
    /// Since when it was behind.
    behind: Count,
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

/// A worker, and what is known when it decides whether it is the keeper.
pub(crate) struct Situation<'a> {
    pub(crate) keeper: &'a Keeper,
    pub(crate) worker: WorkerId,
    pub(crate) now: Instant,
    /// Whether every worker may run every task.
    pub(crate) may_be: bool,
    /// How many tasks all workers have completed. Asked rarely, as others write it all the time.
    pub(crate) completed: &'a dyn Fn() -> u64,
}

impl Situation<'_> {
    fn count(&self) -> Count {
        Count { at: self.now, tasks: (self.completed)() }
    }
}

/// What a worker has decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Nothing new.
    GoesOn,
    /// It is the keeper from now on. Somebody has to be awake who sees whether it goes on.
    Keeps,
    /// It was the keeper, and is so no more. Whoever can help may do so again.
    GivesUp,
}

impl Default for Shift {
    fn default() -> Self {
        Self {
            tasks: 0,
            window: 0,
            looked: 0,
            began: None,
            idle: Duration::ZERO,
            was_long: false,
            stage: Stage::Free,
            term: TERM,
            wins: 0,
            remembers: false,
            rest: 0,
            next_rest: REST,
            gather: GATHER,
        }
    }
}

impl Shift {
    /// The worker has run a task. True after some of them: then it is to be reviewed.
    #[inline]
    pub(crate) fn worked(&mut self) -> bool {
        self.tasks = self.tasks.wrapping_add(1);
        !MODELLED && self.tasks.wrapping_sub(self.window) >= WINDOW
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
        self.looked = self.tasks;
    }

    /// For how many pauses the worker lets tasks gather before it looks for the first time.
    pub(crate) fn gather(&mut self) -> u32 {
        let found = self.tasks.wrapping_sub(self.looked);
        let enough = self.is_keeper() && found >= self.gather / GATHER_EACH;
        self.gather = if enough { (2 * self.gather).min(LONGEST_GATHER) } else { GATHER };
        self.gather
    }

    /// Sees how the last tasks went.
    #[cold]
    pub(crate) fn review(&mut self, at: &Situation<'_>) -> Decision {
        self.window = self.tasks;
        let idle = std::mem::take(&mut self.idle);
        let Some(began) = self.began.replace(at.now) else { return Decision::GoesOn };
        let time = at.now - began;
        let busy = time.saturating_sub(idle);
        // A single window may be long because the system gave the processor to somebody else meanwhile.
        let is_long = busy >= SHORT * WINDOW;
        let are_long = std::mem::replace(&mut self.was_long, is_long) && is_long;
        match self.stage {
            Stage::Free if self.rest > 0 => self.rest -= 1,
            Stage::Free if at.may_be && !is_long => return self.try_to_keep(at),
            Stage::Free => {}
            Stage::Watching(..) if are_long || !at.may_be => self.stage = Stage::Free,
            Stage::Watching(since, alone) if at.now - since.at >= WATCH => return self.compare(at, since, alone),
            Stage::Watching(..) => {}
            Stage::Keeping(term) => {
                at.keeper.go_on();
                let keeps_up = !is_long && idle * IDLE_PART >= time;
                let is_well = keeps_up || busy < TINY * WINDOW;
                if !at.may_be || are_long || !at.keeper.is(at.worker) {
                    return self.give_up(at);
                }
                return self.go_on_keeping(at, term, keeps_up, is_well);
            }
        }
        Decision::GoesOn
    }

    /// One more window as the keeper.
    fn go_on_keeping(&mut self, at: &Situation<'_>, mut term: Term, keeps_up: bool, is_well: bool) -> Decision {
        term.windows = term.windows.saturating_add(1);
        term.well += u32::from(is_well);
        if term.windows.is_multiple_of(ROUND) {
            if term.well < ROUND / 4 {
                return self.give_up(at);
            }
            term.well = 0;
        }
        if term.windows >= GOOD {
            self.next_rest = REST;
        }
        if keeps_up {
            term.behind = at.count();
        } else if at.now - term.behind.at >= self.term {
            self.stage = Stage::Watching(at.count(), term.behind.rate(at.count()));
            at.keeper.resign(at.worker);
            return Decision::GivesUp;
        }
        self.stage = Stage::Keeping(term);
        Decision::GoesOn
    }

    /// All workers had their time, and the keeper before.
    fn compare(&mut self, at: &Situation<'_>, since: Count, alone: f64) -> Decision {
        self.stage = Stage::Free;
        if since.rate(at.count()) < GAIN * alone {
            self.wins = 0;
            self.term = (2 * self.term).min(LONGEST_TERM);
        } else {
            self.wins += 1;
        }
        if self.wins == WINS {
            self.wins = 0;
            self.rest = LONGEST_REST;
            return Decision::GoesOn;
        }
        self.try_to_keep(at)
    }

    /// The worker has found something after it slept. What was so before is so still, until it is seen to be otherwise.
    pub(crate) fn woke(&mut self, at: &Situation<'_>) -> Decision {
        if std::mem::take(&mut self.remembers) && at.may_be { self.try_to_keep(at) } else { Decision::GoesOn }
    }

    /// The worker is about to sleep, or to end: it is not the keeper any more.
    pub(crate) fn resign(&mut self, keeper: &Keeper, worker: WorkerId) {
        if self.is_keeper() {
            keeper.resign(worker);
            self.remembers = true;
        }
        self.stage = Stage::Free;
    }

    fn try_to_keep(&mut self, at: &Situation<'_>) -> Decision {
        if !at.keeper.become_keeper(at.worker) {
            return Decision::GoesOn;
        }
        self.stage = Stage::Keeping(Term { windows: 0, well: 0, behind: at.count() });
        Decision::Keeps
    }

    fn give_up(&mut self, at: &Situation<'_>) -> Decision {
        at.keeper.resign(at.worker);
        self.stage = Stage::Free;
        self.term = TERM;
        self.rest = self.next_rest;
        self.next_rest = (2 * self.next_rest).min(LONGEST_REST);
        Decision::GivesUp
    }

    fn is_keeper(&self) -> bool {
        matches!(self.stage, Stage::Keeping(_))
    }
}

#[cfg(all(test, not(any(loom, feature = "shuttle"))))]
mod tests {
    use std::cell::Cell;

    use super::*;

    const WORKER: WorkerId = WorkerId::of_test(1);
    const OTHER: WorkerId = WorkerId::of_test(0);

    /// A worker whose time is made up: a window of its own takes as long as is said, and is idle for a part of that. When it is not
    /// alone, all workers together complete some times as many tasks as it does.
    struct Day {
        keeper: Keeper,
        shift: Shift,
        now: Instant,
        completed: Cell<f64>,
    }

    impl Day {
        fn new() -> Self {
            let keeper = Keeper::default();
            Self { keeper, shift: Shift::default(), now: Instant::now(), completed: Cell::new(0.0) }
        }

        /// Lets the worker decide something.
        fn decide(&mut self, decision: impl FnOnce(&mut Shift, &Situation<'_>) -> Decision) -> Decision {
            let completed = || self.completed.get() as u64;
            let (keeper, now) = (&self.keeper, self.now);
            let at = Situation { keeper, worker: WORKER, now, may_be: true, completed: &completed };
            decision(&mut self.shift, &at)
        }

        fn window(&mut self, each: Duration, idle: Duration, together: f64) -> Decision {
            let times = if self.keeper.is_there() { 1.0 } else { together };
            self.completed.set(self.completed.get() + times * f64::from(WINDOW));
            self.now += WINDOW * each;
            self.shift.looked(WINDOW * idle);
            self.decide(Shift::review)
        }

        /// Some windows. Returns how many of them had a keeper.
        fn windows(&mut self, count: u32, each: Duration, idle: Duration, together: f64) -> u32 {
            let window = |_| {
                self.window(each, idle, together);
                u32::from(self.keeper.is_there())
            };
            (0..count).map(window).sum()
        }
    }

    const NONE: Duration = Duration::ZERO;
    const BETWEEN: Duration = Duration::from_nanos(500);
    const QUICK: Duration = Duration::from_nanos(150);

    #[test]
    fn whoever_has_tiny_tasks_is_the_keeper_at_once_and_stays_it() {
        let mut day = Day::new();
        day.window(QUICK, NONE, 1.0);
        assert_eq!(day.window(QUICK, NONE, 1.0), Decision::Keeps);
        assert!(day.keeper.is(WORKER) && day.keeper.other(OTHER).is_some() && day.keeper.other(WORKER).is_none());
        assert_eq!(day.windows(5000, QUICK, NONE, 1.0), 5000);
    }

    #[test]
    fn whoever_keeps_up_with_short_tasks_stays_the_keeper_and_whoever_falls_behind_gives_up() {
        let mut day = Day::new();
        day.windows(2, BETWEEN, BETWEEN / 4, 2.0);
        assert_eq!(day.windows(5000, BETWEEN, BETWEEN / 4, 2.0), 5000);
        let alone = day.windows(20_000, BETWEEN, NONE, 2.0);
        assert!((20..200).contains(&alone), "{alone} windows of 20000 were one worker's alone");
    }

    #[test]
    fn a_keeper_of_tiny_tasks_that_is_behind_leaves_them_to_all_if_that_is_better_twice() {
        let mut day = Day::new();
        let term = TERM.div_duration_f64(WINDOW * QUICK) as u32;
        let watch = WATCH.div_duration_f64(WINDOW * QUICK) as u32;
        assert!(day.windows(term / 2, QUICK, NONE, 1.5) >= term / 2 - 1);
        day.windows(term / 2 + watch / 2, QUICK, NONE, 1.5);
        assert!(!day.keeper.is_there(), "after a term it is seen what all workers do");
        day.windows(watch, QUICK, NONE, 1.5);
        assert!(day.keeper.is(WORKER), "once may be chance");
        day.windows(term + watch, QUICK, NONE, 1.5);
        assert_eq!(day.windows(LONGEST_REST / 2, QUICK, NONE, 1.5), 0);
        let alone = day.windows(100 * term, QUICK, NONE, 0.7);
        assert!(alone > 97 * term - LONGEST_REST, "{alone} windows of {} were the keeper's", 100 * term);
    }

    #[test]
    fn long_tasks_are_for_all() {
        let mut day = Day::new();
        day.windows(500, QUICK, NONE, 1.0);
        assert!(day.keeper.is(WORKER));
        assert_eq!(day.window(2 * SHORT, NONE, 1.0), Decision::GoesOn, "once may be chance");
        assert_eq!(day.window(2 * SHORT, NONE, 1.0), Decision::GivesUp);
        assert_eq!(day.windows(200, 2 * SHORT, NONE, 1.0), 0);
    }

    #[test]
    fn whoever_was_deposed_knows_it_and_waits() {
        let mut day = Day::new();
        day.windows(500, QUICK, NONE, 1.0);
        let before = day.keeper.other(OTHER);
        day.window(QUICK, NONE, 1.0);
        assert_ne!(day.keeper.other(OTHER), before, "it shows that it goes on");
        day.keeper.depose();
        assert_eq!(day.window(QUICK, NONE, 1.0), Decision::GivesUp);
        assert_eq!(day.windows(REST, QUICK, NONE, 1.0), 0);
        assert_eq!(day.window(QUICK, NONE, 1.0), Decision::Keeps);
    }

    #[test]
    fn whoever_was_the_keeper_before_it_slept_is_so_again() {
        let mut day = Day::new();
        day.windows(500, QUICK, NONE, 1.0);
        day.shift.resign(&day.keeper, WORKER);
        assert!(!day.keeper.is_there());
        assert_eq!(day.decide(Shift::woke), Decision::Keeps);
        day.keeper.depose();
        day.window(QUICK, NONE, 1.0);
        day.shift.resign(&day.keeper, WORKER);
        assert_eq!(day.decide(Shift::woke), Decision::GoesOn);
    }

    #[test]
    fn a_keeper_lets_tasks_gather_for_longer_while_enough_come() {
        let mut day = Day::new();
        let run = |day: &mut Day, tasks: u32| {
            (0..tasks).for_each(|_| _ = day.shift.worked());
            let pauses = day.shift.gather();
            day.shift.looked(NONE);
            pauses
        };
        assert_eq!(run(&mut day, 1000), GATHER, "only a keeper does");
        day.windows(2, QUICK, NONE, 1.0);
        assert!(day.keeper.is(WORKER));
        assert_eq!(run(&mut day, 10), 2 * GATHER);
        assert_eq!(run(&mut day, 10), 4 * GATHER);
        assert_eq!(run(&mut day, 1), GATHER, "one at a time comes when the one before is complete");
        (0..20).for_each(|_| _ = run(&mut day, 1000));
        assert_eq!(run(&mut day, 1000), LONGEST_GATHER);
    }
}
