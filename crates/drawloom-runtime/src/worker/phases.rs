//! The phases of one turn of a worker, for those who watch.
//!
//! A turn asks once whether anyone watches, so that its phases cost nothing otherwise. When a recording goes on, each phase
//! is timed as the worker enters it, and all of them are written down together: before the task is executed, or at the end
//! of a turn that executes nothing. Most turns are quick, and are written together with the start of their task.

use drawloom_trace::Phase;

use crate::core::Core;
use crate::policy::WorkerId;
use crate::trace::turns::{Began, Times};

/// One turn of a worker.
pub(crate) struct Phases<'c> {
    core: &'c Core,
    worker: WorkerId,
    seen: bool,
    found: bool,
    times: Option<Times>,
}

impl<'c> Phases<'c> {
    /// A turn begins.
    #[inline]
    pub(crate) fn new(core: &'c Core, worker: WorkerId) -> Self {
        let seen = core.tracer.is_on();
        Self { core, worker, seen, found: false, times: None }
    }

    /// The worker enters a phase. [`Phase::Execute`] is the last one.
    #[inline]
    pub(crate) fn enter(&mut self, phase: Phase) {
        if self.seen {
            self.note(phase, false);
        }
    }

    /// The worker enters a phase right after the last one, in which it had nothing to do. This saves a look at the clock.
    #[inline]
    pub(crate) fn pass_to(&mut self, phase: Phase) {
        if self.seen {
            self.note(phase, true);
        }
    }

    #[cold]
    fn note(&mut self, phase: Phase, at_once: bool) {
        self.times.get_or_insert_default().enter(phase, at_once);
        if phase == Phase::Execute {
            self.write();
        }
    }

    /// The turn begins with a task that the one before has found, and will be a quick one: see [`Phases::hurry`].
    #[inline]
    pub(crate) fn begin_found(&mut self) {
        if self.seen {
            self.found = true;
        }
    }

    /// From the first phase on, the worker goes through all others up to the last one without having anything to do. Returns
    /// when the turn began, for whoever runs the task to write down.
    #[inline]
    pub(crate) fn hurry(self) -> Option<Began> {
        if self.seen { self.note_all() } else { None }
    }

    #[cold]
    fn note_all(mut self) -> Option<Began> {
        if self.found {
            return self.core.tracer.is_on().then_some(Began::WithTask);
        }
        self.times.take().map(|times| Began::At(times.first()))
    }

    /// The turn ends.
    #[inline]
    pub(crate) fn end(mut self) {
        if self.seen {
            self.write();
        }
    }

    #[cold]
    fn write(&mut self) {
        if let Some(times) = self.times.take() {
            self.core.tracer.turn(self.worker, &times);
        }
    }
}
