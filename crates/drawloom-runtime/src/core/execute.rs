//! Running a task's body.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Core, Local, RUNNING, Running};
use crate::access::frame::Contribution;
use crate::access::{Arg, Frame, Mode};
use crate::error::{Error, ErrorKind};
use crate::policy::Ready;
use crate::sync::atomic::Ordering;
use crate::task::extras::Extras;
use crate::task::record::{Record, TaskId, flag};

impl Core {
    /// Runs a task that was taken from a queue, unless someone else took it from another.
    #[inline]
    pub(crate) fn run_ready(&self, local: &mut Local, ready: Ready) {
        let id = TaskId::from_bits(ready.what);
        let record = self.slab.get(id.index());
        if record.claim(id.generation()) {
            self.execute_or_call(local, id, record);
        }
    }

    /// Runs a task, or calls for a team to run it.
    #[inline]
    pub(super) fn execute_or_call(&self, local: &mut Local, id: TaskId, record: &Record) {
        if record.flags.load(Ordering::Relaxed) & flag::TEAM != 0 {
            self.call_team(local, id, record);
        } else {
            self.execute(local, id, record);
        }
    }

    /// Runs a task, and completes it.
    #[inline]
    pub(crate) fn execute(&self, local: &mut Local, id: TaskId, record: &Record) {
        let (args, extras) = self.parts(record);
        let failed = match self.reason_to_cancel(id, record, args) {
            Some(error) => {
                // SAFETY: the task has not run, and will not.
                unsafe {
                    let description = (*record.description.get()).assume_init_mut();
                    (description.table.drop)(&mut description.payload);
                }
                Some(error)
            }
            None => self.run_body(local, id, record, args, extras),
        };
        match failed {
            None => {
                for arg in args.iter().filter(|a| a.mode().mutates()) {
                    arg.piece().tree().heal(&arg.piece().indices);
                }
            }
            Some(error) => self.fail(id, record, args, error),
        }
        self.end(local, id.index(), record);
    }

    /// Why a task must not run.
    #[inline]
    pub(super) fn reason_to_cancel(&self, id: TaskId, record: &Record, args: &[Arg]) -> Option<Error> {
        if record.flags.load(Ordering::Relaxed) & flag::CANCELLED != 0 {
            return Some(self.failures.reason(id, self.origin(record)));
        }
        args.iter()
            .filter(|a| a.mode().reads())
            .find_map(|a| a.piece().tree().spoiled(&a.piece().indices))
            .map(|because| Error::cancelled(self.origin(record), because))
    }

    /// Runs a body in its frame, and returns why it failed, if it did.
    #[inline]
    fn run_body(
        &self,
        local: &mut Local,
        id: TaskId,
        record: &Record,
        args: &[Arg],
        extras: Option<&mut Extras>,
    ) -> Option<Error> {
        let mut scratch = local.scratchpads.pop().unwrap_or_default();
        let mut contributions: Vec<Contribution> = Vec::new();
        let (counts, layouts): (&[u32], &[_]) = match extras {
            Some(extras) => {
                self.begin_contributions(args, extras, &mut contributions);
                // SAFETY: the running task's rare parts are not changed or freed while its body runs, except for
                // `inside`, which these borrows do not touch.
                unsafe { (&*std::ptr::from_ref(&*extras.counts), &*std::ptr::from_ref(&*extras.scratch)) }
            }
            None => (&[], &[]),
        };
        let running = Running { core: self, id, record, local };
        let before = RUNNING.replace((&raw const running).cast());
        let result = {
            let mut frame = Frame::new(args, counts, &mut contributions, &mut scratch, layouts);
            // SAFETY: only this thread has the task; the payload is the one that belongs to the table.
            let (call, payload) = unsafe {
                let description = (*record.description.get()).assume_init_mut();
                (description.table.call, &raw mut description.payload)
            };
            // SAFETY: the payload belongs to the table, and is used once.
            catch_unwind(AssertUnwindSafe(|| unsafe { call(payload, &mut frame) }))
        };
        RUNNING.set(before);
        local.scratchpads.push(scratch);
        match result {
            Ok(Ok(())) => {
                for contribution in contributions {
                    contribution.reduction.contribute(contribution.number, contribution.accumulator);
                }
                None
            }
            Ok(Err(error)) => Some(Error::of_task(ErrorKind::Failed, self.origin(record), error.to_string())),
            Err(panic) => Some(Error::of_task(ErrorKind::Panicked, self.origin(record), panic_text(&*panic))),
        }
    }

    fn begin_contributions(&self, args: &[Arg], extras: &mut Extras, contributions: &mut Vec<Contribution>) {
        let reduced = args.iter().filter(|a| a.mode() == Mode::Reduce);
        contributions.extend(extras.joined.drain(..).zip(reduced).map(|(joined, arg)| Contribution {
            accumulator: joined.reduction.folds.make(arg.piece().shape.len()),
            number: joined.number,
            reduction: joined.reduction,
        }));
    }

    /// Notes a failure: what the task should have written is spoiled.
    #[cold]
    pub(super) fn fail(&self, id: TaskId, record: &Record, args: &[Arg], error: Error) {
        record.flags.fetch_or(flag::FAILED, Ordering::Relaxed);
        for arg in args.iter().filter(|a| a.mode().mutates()) {
            arg.piece().tree().spoil(&arg.piece().indices, error.because().unwrap_or(&error));
        }
        self.failures.note(id, error);
    }
}

pub(super) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&'static str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "something that is not text".to_owned())
}
