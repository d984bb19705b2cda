//! Threads that wait.
//!
//! A thread that waits leaves a note about it here, with a question that tells whether it would go on if it looked now. So
//! whoever suspects a stall can ask on behalf of all who wait: one of them may have been woken a moment ago and not know yet.

use rustc_hash::FxHashSet;

use super::picture::Motion;
use super::{Stalls, State};
use crate::policy::WorkerId;
use crate::sync::{lock, thread};
use crate::task::record::TaskId;
use crate::team::CalledBy;

/// Whether a thread that waits would go on if it looked now.
pub(crate) type Probe<'a> = dyn Fn() -> bool + Sync + 'a;

/// A thread that waits.
pub(super) struct Blocked {
    number: u64,
    pub(super) thread: thread::ThreadId,
    /// When the thread waits inside of a task.
    inside: Option<Inside>,
    probe: *const Probe<'static>,
}

/// A wait inside of a task, which keeps a worker from others, or the serial engine.
pub(crate) struct Inside {
    /// None in the serial engine.
    pub(crate) worker: Option<WorkerId>,
    /// The task that the thread runs, and those that it is in the middle of around it, which is rare.
    pub(crate) task: Option<TaskId>,
    pub(crate) around: Vec<TaskId>,
    /// Who ends it by calling; none when it waits for tasks.
    pub(crate) by: Option<CalledBy>,
}

// SAFETY: what the pointer leads to is `Sync`, and lives as long as the note; see `Stalls::enter`.
unsafe impl Send for Blocked {}

impl Blocked {
    /// Whether the thread would go on if it looked now.
    pub(super) fn goes_on(&self) -> bool {
        // SAFETY: the note is in the list, whose lock the caller holds; the probe outlives the note.
        unsafe { (*self.probe)() }
    }
}

/// Threads that wait inside of tasks.
#[derive(Default)]
pub(crate) struct Waiting {
    pub(crate) count: usize,
    pub(crate) workers: Vec<WorkerId>,
    /// Whether one of them looks for stalls.
    pub(super) is_told: bool,
}

/// A note about a thread that waits, for as long as this lives.
pub(crate) struct Note<'a> {
    stalls: &'a Stalls,
    number: u64,
}

impl State {
    /// Whether a thread that is no worker completes tasks, and does not wait itself meanwhile.
    pub(super) fn is_helped(&self) -> bool {
        self.helpers.iter().any(|helper| self.blocked.iter().all(|b| b.thread != *helper))
    }

    /// The threads that wait inside of tasks.
    pub(super) fn waiting(&self) -> Waiting {
        let workers = self.inside().filter_map(|wait| wait.worker).collect();
        let is_told = self.inside().any(|wait| wait.by.is_none());
        // A body that sleeps by its own means may come to a barrier meanwhile.
        let inside = self.blocked.iter().filter(|b| b.inside.is_some());
        let threads: FxHashSet<thread::ThreadId> = inside.map(|b| b.thread).collect();
        Waiting { count: threads.len(), workers, is_told }
    }

    fn inside(&self) -> impl Iterator<Item = &Inside> {
        self.blocked.iter().filter_map(|b| b.inside.as_ref())
    }

    /// Whether members of teams wait that may be called by somebody whom the engine does not know.
    ///
    /// When another member of such a team waits for tasks, and nobody is left who could run them, being called does not help
    /// it: the members that are called go back to sleep until that one comes. The caller would have to do more than to call, and
    /// may. Who waits in a task that runs inside of another one waits for tasks in that one.
    pub(super) fn called_from_outside(&self) -> Motion {
        let in_the_middle =
            |wait: &Inside, task| (wait.by.is_none() && wait.task == Some(task)) || wait.around.contains(&task);
        let waits_for_tasks_in = |task| self.inside().any(|wait| in_the_middle(wait, task));
        let mut motion = Motion::Never;
        for wait in self.inside().filter(|wait| wait.by == Some(CalledBy::Anyone)) {
            if !wait.task.is_some_and(waits_for_tasks_in) {
                return Motion::Now;
            }
            motion = Motion::Perhaps;
        }
        motion
    }
}

/// A thread that is no worker completes tasks, for as long as this lives.
pub(crate) struct Helping<'a>(&'a Stalls);

impl Stalls {
    /// Notes that the calling thread, which is no worker, is about to take tasks and to complete them.
    pub(crate) fn help(&self) -> Helping<'_> {
        lock(&self.state).helpers.push(thread::current().id());
        Helping(self)
    }

    /// Notes that the calling thread waits; `inside` is there when it does so inside of a task.
    pub(crate) fn enter<'a>(&'a self, inside: Option<Inside>, probe: &'a Probe<'a>) -> Note<'a> {
        let mut state = lock(&self.state);
        state.notes += 1;
        let number = state.notes;
        state.changes += counts_as_change(inside.as_ref());
        let probe: *const Probe<'a> = probe;
        // SAFETY: only the lifetime is changed. The note that is returned keeps the probe borrowed, and takes the entry
        // out of the list, under its lock, before the borrow ends.
        let probe = unsafe { std::mem::transmute::<*const Probe<'a>, *const Probe<'static>>(probe) };
        state.blocked.push(Blocked { number, thread: thread::current().id(), inside, probe });
        drop(state);
        Note { stalls: self, number }
    }

    /// Something was done that cannot be seen in what is in flight.
    pub(crate) fn note_change(&self) {
        lock(&self.state).changes += 1;
    }

    /// The threads that wait inside of tasks.
    pub(crate) fn waiting(&self) -> Waiting {
        lock(&self.state).waiting()
    }
}

/// Who may be called by anyone may look every few milliseconds whether somebody has come, which changes nothing. When it has done
/// something it says so: see [`Stalls::note_change`].
fn counts_as_change(inside: Option<&Inside>) -> u64 {
    u64::from(inside.is_some_and(|wait| wait.by != Some(CalledBy::Anyone)))
}

impl Drop for Note<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.stalls.state);
        let at = state.blocked.iter().position(|b| b.number == self.number).expect("it was added by `enter`");
        let gone = state.blocked.swap_remove(at);
        state.changes += counts_as_change(gone.inside.as_ref());
    }
}

impl Drop for Helping<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        let this = thread::current().id();
        let at = state.helpers.iter().position(|helper| *helper == this).expect("it was added by `help`");
        state.helpers.swap_remove(at);
        // What a helper gave back may look as it did before.
        state.changes += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_note_lives_as_long_as_the_wait_and_is_asked_for_it() {
        let stalls = Stalls::new(Duration::ZERO);
        let done = std::sync::atomic::AtomicBool::new(false);
        let probe = || done.load(std::sync::atomic::Ordering::Relaxed);
        let worker = Some(WorkerId::of_test(3));
        let note = stalls.enter(Some(Inside { worker, task: None, around: Vec::new(), by: None }), &probe);
        let outside = stalls.enter(None, &probe);
        assert_eq!(stalls.waiting().workers, [WorkerId::of_test(3)]);
        assert_eq!(stalls.waiting().count, 1);
        assert!(!lock(&stalls.state).blocked.iter().any(Blocked::goes_on));
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(lock(&stalls.state).blocked.iter().all(Blocked::goes_on));
        drop(note);
        assert_eq!(stalls.waiting().count, 0);
        drop(outside);
        assert!(lock(&stalls.state).blocked.is_empty());
    }
}
