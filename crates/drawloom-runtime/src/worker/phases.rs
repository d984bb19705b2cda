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
    /// None when nothing records or observes phases, and after they are written.
    times: Option<Times>,
}

impl<'c> Phases<'c> {
    /// A turn begins.
    #[inline]
    pub(crate) fn new(core: &'c Core, worker: WorkerId) -> Self {
        Self { core, worker, times: core.tracer.is_on().then(Times::default) }
    }

    /// The worker enters a phase. [`Phase::Execute`] is the last one.
    #[inline]
    pub(crate) fn enter(&mut self, phase: Phase) {
        self.note(phase, false);
    }

    /// The worker enters a phase right after the last one, in which it had nothing to do. This saves a look at the clock.
    #[inline]
    pub(crate) fn pass_to(&mut self, phase: Phase) {
        self.note(phase, true);
    }

    #[inline]
    fn note(&mut self, phase: Phase, at_once: bool) {
        if let Some(times) = &mut self.times {
            times.enter(phase, at_once);
            if phase == Phase::Execute {
                self.end();
            }
        }
    }

    /// The worker goes through all phases up to the last one without having anything to do.
    #[inline]
    pub(crate) fn pass_to_execution(&mut self) {
        if let Some(times) = &mut self.times {
            times.enter_rest();
            self.end();
        }
    }

    /// The turn ends, or its last phase begins.
    #[inline]
    pub(crate) fn end(&mut self) {
        if let Some(times) = self.times.take() {
            self.core.tracer.turn(self.worker, &times);
        }
    }
}
