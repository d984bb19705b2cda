//! Threads that wait.
//!
//! A thread that waits leaves a note about it here, with a question that tells whether it would go on if it looked now. So
//! whoever suspects a stall can ask on behalf of all who wait: one of them may have been woken a moment ago and not know yet.

use super::{Stalls, State};
use crate::policy::WorkerId;
use crate::sync::{lock, thread};

/// Whether a thread that waits would go on if it looked now.
pub(crate) type Probe<'a> = dyn Fn() -> bool + Sync + 'a;

/// A thread that waits.
pub(super) struct Blocked {
    number: u64,
    pub(super) thread: thread::ThreadId,
    /// Whether the thread waits inside of a task, and which worker it is.
    inside: Option<Option<WorkerId>>,
    probe: *const Probe<'static>,
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
        let inside = || self.blocked.iter().filter_map(|b| b.inside);
        Waiting { count: inside().count(), workers: inside().flatten().collect() }
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

    /// Notes that the calling thread waits; `inside` says whether it does so inside of a task, and as which worker.
    pub(crate) fn enter<'a>(&'a self, inside: Option<Option<WorkerId>>, probe: &'a Probe<'a>) -> Note<'a> {
        let mut state = lock(&self.state);
        state.notes += 1;
        let number = state.notes;
        state.changes += u64::from(inside.is_some());
        let probe: *const Probe<'a> = probe;
        // SAFETY: only the lifetime is changed. The note that is returned keeps the probe borrowed, and takes the entry
        // out of the list, under its lock, before the borrow ends.
        let probe = unsafe { std::mem::transmute::<*const Probe<'a>, *const Probe<'static>>(probe) };
        state.blocked.push(Blocked { number, thread: thread::current().id(), inside, probe });
        drop(state);
        Note { stalls: self, number }
    }

    /// The threads that wait inside of tasks.
    pub(crate) fn waiting(&self) -> Waiting {
        lock(&self.state).waiting()
    }
}

impl Drop for Note<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.stalls.state);
        let at = state.blocked.iter().position(|b| b.number == self.number).expect("it was added by `enter`");
        let gone = state.blocked.swap_remove(at);
        state.changes += u64::from(gone.inside.is_some());
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
        let note = stalls.enter(Some(Some(WorkerId::of_test(3))), &probe);
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
