//! What is recorded of the turns of workers: when each phase began.
//!
//! A turn is mostly two words, the time of its first phase and how much later the others were. One that takes long has an
//! event for each phase instead.
//!
//! Most turns that run a task are *quick*: nothing but choosing the task took any time, as there is no team to build up and
//! no other memory to bring anything from. Then the phases after the first began when the task started, and both are one
//! entry with one look at the clock. Even the first one did when the turn before had found the task.

use drawloom_trace::{EventKind, Phase};

use super::clock::Clock;
use super::{Tracer, writer};
use crate::policy::WorkerId;

/// When the phases of a turn began, as far as the worker entered them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    times: [u64; Phase::ALL.len()],
    entered: u8,
    last: u64,
}

/// When a quick turn began, of which nothing is written yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Began {
    /// At this time.
    At(u64),
    /// When the task starts.
    WithTask,
}

impl Began {
    /// When the turn began whose other phases began at some time.
    pub(super) fn before(self, time: u64) -> u64 {
        match self {
            // Two looks at the clock of which one is without a fence might be seen the wrong way round.
            Self::At(began) => began.min(time),
            Self::WithTask => time,
        }
    }
}

/// The phases of a quick turn.
pub(super) fn quick(began: u64, time: u64) -> impl Iterator<Item = (Phase, u64)> {
    let [first, rest @ ..] = Phase::ALL;
    std::iter::once((first, began)).chain(rest.into_iter().map(move |phase| (phase, time)))
}

/// How many bits of a word say how much later one phase was than the one before. All of them: it was not entered.
const BITS: u32 = 16;
const NOT_ENTERED: u64 = (1 << BITS) - 1;

impl Times {
    /// The worker enters a phase; `at_once` says that it had nothing to do in the one before.
    pub(crate) fn enter(&mut self, phase: Phase, at_once: bool) {
        let time = if at_once && self.last != 0 { self.last } else { Clock::get().now_nearly() };
        self.enter_at(phase, time);
    }

    fn enter_at(&mut self, phase: Phase, time: u64) {
        // Two looks at the clock without a fence might be seen the wrong way round.
        self.last = self.last.max(time);
        self.times[phase as usize] = self.last;
        self.entered |= 1 << phase as u32;
    }

    /// When the first phase began.
    pub(crate) fn first(&self) -> u64 {
        self.times[0]
    }

    /// The phases that were entered, in their order.
    pub(super) fn phases(&self) -> impl Iterator<Item = (Phase, u64)> {
        let entered = self.entered;
        Phase::ALL.into_iter().zip(self.times).filter(move |(phase, _)| entered & 1 << *phase as u32 != 0)
    }

    /// The time of the first phase, and how much later the others were; none when that does not fit.
    pub(super) fn pack(&self) -> Option<(u64, u64)> {
        let first = self.times[0];
        let (mut packed, mut last) = (0, first);
        if self.entered & 1 == 0 {
            return None;
        }
        for (at, &time) in self.times.iter().enumerate().skip(1) {
            let entered = self.entered & 1 << at != 0;
            let later = if entered { time - last } else { NOT_ENTERED };
            if entered && later >= NOT_ENTERED {
                return None;
            }
            packed |= later << ((at as u32 - 1) * BITS);
            if entered {
                last = time;
            }
        }
        Some((first, packed))
    }

    /// What was packed.
    pub(super) fn unpack(first: u64, packed: u64) -> Self {
        let mut times = Self::default();
        times.enter_at(Phase::ALL[0], first);
        for (phase, at) in Phase::ALL.into_iter().skip(1).zip(0..) {
            let later = packed >> (at * BITS) & NOT_ENTERED;
            if later != NOT_ENTERED {
                times.enter_at(phase, times.last + later);
            }
        }
        times
    }
}

impl Tracer {
    /// A quick turn comes to its last phase, and no task starts there that is recorded in the same way.
    #[cold]
    pub(crate) fn quick_turn(&self, worker: Option<WorkerId>, began: Began) {
        let (Some(recording), Some(worker)) = (self.recording(), worker) else { return };
        let now = Clock::get().now_nearly();
        writer::with(self, recording, Some(worker.number()), |writer| {
            for (phase, time) in quick(began.before(now), now) {
                writer.of_worker_at(self, time, EventKind::Phase, phase as u64);
            }
        });
    }

    /// A worker has gone through the phases of a turn, up to the one in which it executes something.
    pub(crate) fn turn(&self, worker: WorkerId, times: &Times) {
        let Some(recording) = self.recording() else { return };
        writer::with(self, recording, Some(worker.number()), |writer| match times.pack() {
            Some((first, packed)) => writer.turn(self, first, packed),
            None => {
                for (phase, time) in times.phases() {
                    writer.of_worker_at(self, time, EventKind::Phase, phase as u64);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(of: &[(Phase, u64)]) -> Times {
        let mut times = Times::default();
        for &(phase, time) in of {
            times.enter_at(phase, time);
        }
        times
    }

    #[test]
    fn a_turn_is_read_back_as_it_was() {
        use Phase::{Execute, Input, Schedule, Team, Transfers};
        let full = [(Schedule, 1000), (Team, 1000), (Input, 1500), (Transfers, 1501), (Execute, 9000)];
        for of in [&full[..], &full[..4], &full[..1], &[(Schedule, 7), (Transfers, 9)]] {
            let times = times(of);
            let (first, packed) = times.pack().unwrap();
            assert_eq!(Times::unpack(first, packed), times);
            assert!(Times::unpack(first, packed).phases().eq(of.iter().copied()));
        }
    }

    #[test]
    fn the_phases_of_a_quick_turn_are_in_order() {
        for (began, first) in [(Began::At(5), 5), (Began::At(11), 9), (Began::WithTask, 9)] {
            let phases: Vec<(Phase, u64)> = quick(began.before(9), 9).collect();
            assert_eq!(phases.iter().map(|(phase, _)| *phase).collect::<Vec<_>>(), Phase::ALL);
            assert_eq!(phases.iter().map(|(_, time)| *time).collect::<Vec<_>>(), [first, 9, 9, 9, 9]);
        }
    }

    #[test]
    fn a_turn_that_takes_too_long_for_two_words_is_not_packed() {
        assert_eq!(times(&[(Phase::Schedule, 0), (Phase::Team, NOT_ENTERED)]).pack(), None);
        assert!(times(&[(Phase::Schedule, 0), (Phase::Team, NOT_ENTERED - 1)]).pack().is_some());
        // Nor is one that begins in the middle.
        assert_eq!(times(&[(Phase::Input, 5)]).pack(), None);
    }
}
