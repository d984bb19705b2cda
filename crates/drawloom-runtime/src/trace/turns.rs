//! What is recorded of the iterations of a worker's loop: when each phase began.
//!
//! An iteration is one record, the time of its first phase and how much later each other phase began. One that takes
//! seconds has an event for each phase instead.

use drawloom_trace::{EventKind, Phase};

use super::record::{Record, now};
use super::{Tracer, writer};
use crate::policy::WorkerId;

/// When the phases of an iteration began, as far as the worker entered them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    times: [Option<u64>; Phase::ALL.len()],
    last: u64,
}

/// Stands for the time of a phase that was not entered.
const NOT_ENTERED: u32 = u32::MAX;

impl Times {
    /// The worker enters a phase; `at_once` says that it had nothing to do in the one before.
    pub(crate) fn enter(&mut self, phase: Phase, at_once: bool) {
        let time = if at_once && self.last != 0 { self.last } else { now() };
        self.enter_at(phase, time);
    }

    fn enter_at(&mut self, phase: Phase, time: u64) {
        (self.times[phase as usize], self.last) = (Some(time), time);
    }

    /// The worker enters all phases that it has not entered yet, as it has nothing to do in them but the last.
    pub(crate) fn enter_rest(&mut self) {
        self.last = now();
        self.times.iter_mut().for_each(|time| *time = time.or(Some(self.last)));
    }

    /// The phases that were entered, in their order.
    pub(super) fn phases(&self) -> impl Iterator<Item = (Phase, u64)> + use<> {
        Phase::ALL.into_iter().zip(self.times).filter_map(|(phase, time)| Some((phase, time?)))
    }

    /// One record of all phases; none when the first was not entered, or another too late to say by how much.
    fn record(&self) -> Option<Record> {
        let [Some(first), rest @ ..] = self.times else { return None };
        let mut later = [NOT_ENTERED; 4];
        for (later, time) in later.iter_mut().zip(rest) {
            if let Some(time) = time {
                *later = u32::try_from(time - first).ok().filter(|later| *later != NOT_ENTERED)?;
            }
        }
        Some(Record::Turn { time: first, later })
    }

    /// The times in a [`Record::Turn`].
    pub(super) fn read(first: u64, later: [u32; 4]) -> Self {
        let mut times = Self::default();
        times.enter_at(Phase::ALL[0], first);
        for (phase, later) in Phase::ALL.into_iter().skip(1).zip(later).filter(|(_, later)| *later != NOT_ENTERED) {
            times.enter_at(phase, first + u64::from(later));
        }
        times
    }
}

impl Tracer {
    /// A worker has gone through the phases of an iteration, up to the one in which it executes something.
    pub(crate) fn turn(&self, worker: WorkerId, times: &Times) {
        let Some(recording) = self.recording() else { return };
        writer::with(self, recording, Some(worker.number()), |writer| match times.record() {
            Some(turn) if times.times[Phase::Execute as usize].is_some() => writer.turn(self, turn, times.last),
            Some(turn) => writer.push(self, turn),
            None => {
                for (phase, time) in times.phases() {
                    writer.push(self, Record::Worker { time, value: phase as u32, kind: EventKind::Phase });
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
            let Some(Record::Turn { time, later }) = times.record() else { panic!("{times:?}") };
            assert_eq!(Times::read(time, later), times);
            assert!(Times::read(time, later).phases().eq(of.iter().copied()));
        }
    }

    #[test]
    fn a_turn_that_takes_too_long_for_one_record_has_an_event_for_each_phase() {
        let fits = u64::from(NOT_ENTERED) - 1;
        assert!(times(&[(Phase::Schedule, 0), (Phase::Team, fits + 1)]).record().is_none());
        assert!(times(&[(Phase::Schedule, 0), (Phase::Team, fits)]).record().is_some());
        // So has one that begins in the middle.
        assert!(times(&[(Phase::Input, 5)]).record().is_none());
    }
}
