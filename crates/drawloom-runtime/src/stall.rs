//! Waits that can never end.
//!
//! A thread that waits looks now and then at everything that is in flight. As long as anything moves (a task runs or is
//! ready, a worker is awake, a guard was just granted) it goes on waiting. When nothing does, there are two cases.
//!
//! *Certain*: every guard that is held is held by a thread that waits itself, so nobody is left who could change anything.
//! The wait returns an error at once.
//!
//! *Uncertain*: a guard is held by a thread that does something else, or a task waits for a worker that the application
//! drives. That may go on, so the error comes only after nothing has changed for the patience of the runtime.
//!
//! # Why a certain stall is certain
//!
//! Records are looked at twice, and behind each look it is checked that all workers sleep or wait. A task that is ready or was
//! taken from a queue has nothing pending and is not claimed; a worker claims a task only after it stopped counting as
//! asleep. So if both looks see the same, and no worker was awake in between, no task moved. A thread that waits and would
//! go on if it looked now counts as something that moves, and so does one that is no worker and completes what was cancelled.
//!
//! # Members of teams
//!
//! A member that sleeps until another member or somebody outside of the engine calls it keeps its worker, and counts as one that
//! waits. Who is outside cannot be seen, so a team with such a member counts as something that moves; unless another member
//! waits for tasks, which a call does not help.
//!
//! # Policies of users
//!
//! A policy of the user may keep a task to itself, for a while or for ever. Before that is called a stall, all workers are
//! woken once, to ask again.

#![allow(unsafe_code)]

pub(crate) mod blocked;
mod picture;
mod report;

use std::panic::Location;
use std::time::{Duration, Instant};

use crate::access::Arg;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::sync::{Mutex, lock, thread};
use crate::task::record::TaskId;
use blocked::{Blocked, Probe};
pub(crate) use picture::Entry;
use picture::{Motion, Picture};

/// The longest time between two looks, and the shortest.
const NAP: Duration = Duration::from_millis(50);
const GLANCE: Duration = Duration::from_millis(1);
/// So many looks, one soon after the other, must see that something moves after nothing did.
const GLANCES: usize = 3;
/// How much later a thread outside of tasks is told of a stall: those inside look first.
const LATER: Duration = NAP.saturating_mul(3);

/// Who waits, and who holds what.
pub(crate) struct Stalls {
    patience: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
pub(crate) struct State {
    guards: Vec<Guard>,
    blocked: Vec<Blocked>,
    /// Threads that are no workers and complete tasks.
    helpers: Vec<thread::ThreadId>,
    /// How many notes there were in the list.
    notes: u64,
    /// How often a thread began or ended a wait inside of a task, was done completing tasks as a helper, or said that it did
    /// something.
    changes: u64,
}

/// A guard that is waited for or held.
#[derive(Clone, Copy)]
struct Guard {
    task: TaskId,
    thread: thread::ThreadId,
    location: &'static Location<'static>,
    arg: Arg,
}

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum On {
    /// A task to be complete.
    Task(TaskId),
    /// The turn of a guard.
    Turn(TaskId),
    /// A free record, to submit a task.
    Room,
    /// All tasks, also those to come.
    Everything,
    /// All tasks of a context, also those to come.
    Context(u32),
}

impl Stalls {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { patience, state: Mutex::default() }
    }

    /// A guard is asked for.
    pub(crate) fn add_guard(&self, task: TaskId, arg: Arg, location: &'static Location<'static>) {
        let thread = thread::current().id();
        lock(&self.state).guards.push(Guard { task, thread, location, arg });
    }

    /// A guard is gone.
    pub(crate) fn remove_guard(&self, task: TaskId) {
        let mut state = lock(&self.state);
        if let Some(at) = state.guards.iter().position(|g| g.task == task) {
            state.guards.swap_remove(at);
        }
    }

    /// Waits until something is done. `sleep` sleeps until the thread is woken, or for the given time; `probe` tells others
    /// whether it would be done.
    ///
    /// # Errors
    /// When that can never be.
    pub(crate) fn block(
        &self,
        core: &Core,
        on: On,
        probe: &Probe<'_>,
        done: impl Fn() -> bool,
        mut sleep: impl FnMut(Duration),
    ) -> Result<()> {
        if done() {
            return Ok(());
        }
        let inside = core.waits_inside();
        let is_inside = inside.is_some();
        let _note = self.enter(inside, probe);
        let mut since: Option<(u64, Instant)> = None;
        let mut asked_again = None;
        let mut nap = GLANCE;
        let mut moves = 0;
        let longest = NAP.min(self.patience / 4).max(GLANCE);
        loop {
            if done() {
                return Ok(());
            }
            match self.look(core) {
                // It may be a member of a team that looks every few milliseconds whether somebody has come.
                None if since.is_some() && moves < GLANCES => (moves, nap) = (moves + 1, GLANCE),
                None => since = None,
                Some((picture, _)) if picture.kept && asked_again != Some(picture.signature) => {
                    asked_again = Some(picture.signature);
                    core.workers.sleep.wake_all();
                }
                Some((picture, motion)) => {
                    let first = match since {
                        Some((signature, first)) if signature == picture.signature => first,
                        _ => Instant::now(),
                    };
                    (since, moves) = (Some((picture.signature, first)), 0);
                    let patience = if motion == Motion::Never { Duration::ZERO } else { self.patience };
                    // What those say who wait inside of tasks says more, and may be all that is needed to go on.
                    let later = if is_inside || !picture.waiting.is_told { Duration::ZERO } else { LATER };
                    if first.elapsed() >= patience.saturating_add(later) {
                        if done() {
                            return Ok(());
                        }
                        let error = self.report(core, &picture, motion, on);
                        // The report took its time; what was done meanwhile counts.
                        return if done() { Ok(()) } else { Err(error) };
                    }
                }
            }
            sleep(nap);
            nap = (nap * 2).min(longest);
        }
    }

    /// Looks at everything that is in flight. None when something moves.
    fn look(&self, core: &Core) -> Option<(Picture, Motion)> {
        // Most often something moves, and a picture is large.
        if !core.is_quiet_with(&self.waiting()) {
            return None;
        }
        let (picture, motion) = self.take_picture(core)?;
        let (again, still) = self.take_picture(core)?;
        (again.signature == picture.signature).then_some((picture, motion.max(still)))
    }

    fn take_picture(&self, core: &Core) -> Option<(Picture, Motion)> {
        let mut picture = Picture::take(core);
        let motion = picture.judge(core, &lock(&self.state));
        (motion != Motion::Now).then_some((picture, motion))
    }

    fn report(&self, core: &Core, picture: &Picture, motion: Motion, on: On) -> Error {
        let outlook = match motion {
            Motion::Never => ", which can never be".to_owned(),
            Motion::Now | Motion::Perhaps => format!(", and nothing has changed for {:?}", self.patience),
        };
        let children = picture.children(core);
        report::error(core, picture, &children, &lock(&self.state), on, &outlook)
    }
}

#[cfg(test)]
mod tests {
    use crate::Loom;

    /// A record that was taken and not described yet is someone's who is about to submit a task.
    #[test]
    fn a_task_that_is_half_described_is_no_stall_and_has_no_name_to_report() {
        let loom = Loom::builder().workers(1).undriven([0]).patience(std::time::Duration::ZERO).build().unwrap();
        let core = loom.core();
        loom.task("waits").run(|| ());
        assert!(core.stalls.look(core).is_some(), "nobody drives the worker");
        let index = core.slab.take(false).unwrap();
        assert!(core.stalls.look(core).is_none(), "someone is submitting");
        assert!(core.peek_origin(core.look_at(index).id).is_none());
        core.slab.give_back(&mut vec![index], true);
        let error = loom.wait_all().unwrap_err().to_string();
        assert!(error.contains("task `waits`") && !error.contains("more wait"), "{error}");
        let mut driver = loom.driver(loom.worker(0).unwrap()).unwrap();
        driver.init().unwrap();
        while driver.run_once().unwrap() {}
        loom.wait_all().unwrap();
    }
}
