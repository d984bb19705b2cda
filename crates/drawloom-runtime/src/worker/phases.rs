//! The phases of one turn of a worker, for those who watch.
//!
//! A turn asks once whether anyone watches, so that its phases cost nothing otherwise. When a recording goes on, each phase
//! is timed as the worker enters it, and all of them are written down together: before the task is executed, or at the end
//! of a turn that executes nothing.

use drawloom_trace::Phase;

use crate::core::Core;
use crate::policy::WorkerId;
use crate::trace::turns::Times;

/// One turn of a worker.
pub(crate) struct Phases<'c> {
    core: &'c Core,
    worker: WorkerId,
    seen: bool,
    times: Option<Times>,
}

impl<'c> Phases<'c> {
    /// A turn begins.
    #[inline]
    pub(crate) fn new(core: &'c Core, worker: WorkerId) -> Self {
        let seen = core.workers.is_watched() || core.tracer.is_on();
        Self { core, worker, seen, times: None }
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
        self.core.workers.phase(self.worker, phase);
        if self.core.tracer.is_on() {
            self.times.get_or_insert_default().enter(phase, at_once);
            if phase == Phase::Execute {
                self.write();
            }
        }
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
