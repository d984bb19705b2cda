//! Running a task's body.
//!
//! Everything that is the user's runs under one catch: the body, the drop of what it captured, operators of reductions, the
//! texts of errors. A worker survives all of it.

use drawloom_trace::EventKind;

use super::{Core, Local, RUNNING, Running};
use crate::access::frame::Contribution;
use crate::access::{Arg, Frame, Mode, Scratchpad};
use crate::error::{Error, ErrorKind, TaskOrigin};
use crate::panic;
use crate::policy::{Ready, ReadyKind};
use crate::sync::atomic::Ordering;
use crate::task::body::BodyError;
use crate::task::extras::Extras;
use crate::task::record::{Record, TaskId, flag};

impl Core {
    /// Runs a task that was taken from a queue, unless someone else took it from another.
    #[inline]
    pub(crate) fn run_ready(&self, local: &mut Local, ready: Ready) {
        let ReadyKind::Task(id) = ready.kind() else {
            self.run_plan(local, ready);
            return;
        };
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
                self.give_up(local, id, record, args, error);
                None
            }
            None => {
                // What is overwritten counts as proper from here on: the body's children may spoil it again.
                for arg in args.iter().filter(|a| a.mode().replaces()) {
                    arg.piece().tree().heal(&arg.piece().indices);
                }
                let proper = self.make_proper_here(args);
                if self.tracer.is_on() {
                    self.trace_start(id, local);
                }
                let failed = if let Err(error) = proper {
                    self.drop_body(record);
                    Some(Error::of_task(error.kind(), self.origin(record), error.message()))
                } else if extras.is_some_and(|e| e.retries > 0) {
                    self.run_retrying(local, id, record, args)
                } else {
                    self.attempt(local, id, record, args).err()
                };
                let kind = if failed.is_some() { EventKind::Failed } else { EventKind::End };
                self.tracer.of_task(kind, id, local.worker);
                failed
            }
        };
        if let Some(error) = failed {
            self.fail(id, record, args, error);
        }
        self.end(local, id.index(), record);
    }

    /// Ends a task that must not run.
    #[cold]
    pub(super) fn give_up(&self, local: &Local, id: TaskId, record: &Record, args: &[Arg], error: Error) {
        self.tracer.of_task(EventKind::Cancelled, id, local.worker);
        self.fail(id, record, args, error);
        self.drop_body(record);
    }

    /// Why a task must not run.
    #[inline]
    pub(super) fn reason_to_cancel(&self, id: TaskId, record: &Record, args: &[Arg]) -> Option<Error> {
        if record.flags.load(Ordering::Relaxed) & flag::CANCELLED != 0 {
            let context = record.context();
            let reason = self.failures.reason(id, self.origin(record), |of| self.belongs_to(context, of));
            if reason.is_some() {
                return reason;
            }
            record.flags.fetch_and(!flag::CANCELLED, Ordering::Relaxed);
        }
        // Contributions are private, and made in any order: it is the task that folds them which depends on the contents.
        args.iter()
            .filter(|a| a.mode().reads() && a.mode() != Mode::Reduce)
            .find_map(|a| a.piece().tree().spoiled(&a.piece().indices))
            .map(|because| Error::cancelled(self.origin(record), because))
    }

    /// Runs a body once, and says why it failed, if it did.
    #[inline]
    pub(super) fn attempt(&self, local: &mut Local, id: TaskId, record: &Record, args: &[Arg]) -> Result<(), Error> {
        let mut scratch = local.take_scratch();
        let running = Running { core: self, id, record, local, node: None, outer: RUNNING.get() };
        let before = RUNNING.replace((&raw const running).cast());
        let result = panic::catch(|| self.run_in_frame(record, args, &mut scratch));
        self.settle_children(&running);
        RUNNING.set(before);
        local.give_scratch(scratch);
        let contributions = match result {
            Ok(Ok(contributions)) => contributions,
            Ok(Err(error)) => return Err(self.error_of(record, error)),
            Err(message) => return Err(Error::of_task(ErrorKind::Panicked, self.origin(record), message)),
        };
        if contributions.is_empty() {
            return Ok(());
        }
        panic::catch(|| {
            for contribution in contributions {
                contribution.reduction.contribute(contribution.number, contribution.accumulator);
            }
        })
        .map_err(|said| Error::of_task(ErrorKind::Panicked, self.origin(record), said))
    }

    /// Runs a body in its frame, and returns what it contributes to reductions.
    #[inline]
    fn run_in_frame(
        &self,
        record: &Record,
        args: &[Arg],
        scratch: &mut Scratchpad,
    ) -> Result<Vec<Contribution>, BodyError> {
        // SAFETY: only this thread has the task; the payload is the one that belongs to the table.
        let (call, payload) = unsafe {
            let description = (*record.description.get()).assume_init_mut();
            (description.table.call, &raw mut description.payload)
        };
        let Some(extras) = self.parts(record).1 else {
            let mut frame = Frame::new(args, &[], &[], scratch, &[]);
            // SAFETY: the payload belongs to the table, and is used once.
            unsafe { call(payload, &mut frame) }?;
            return Ok(Vec::new());
        };
        let mut contributions = begin_contributions(args, extras);
        let places: Vec<*mut u8> =
            contributions.iter_mut().map(|c| c.reduction.folds.address(&mut c.accumulator)).collect();
        // SAFETY: the running task's rare parts are not changed or freed while its body runs, except for `inside`, which
        // these borrows do not touch.
        let (parameters, layouts) =
            unsafe { (&*std::ptr::from_ref(&*extras.parameters), &*std::ptr::from_ref(&*extras.scratch)) };
        let mut frame = Frame::new(args, parameters, &places, scratch, layouts);
        // SAFETY: the payload belongs to the table; it is used once, or can be used again.
        unsafe { call(payload, &mut frame) }?;
        Ok(contributions)
    }

    /// The failure of a task whose body returned an error.
    #[cold]
    pub(super) fn error_of(&self, record: &Record, error: BodyError) -> Error {
        let origin = self.origin(record);
        // A task that the runtime made itself has no failures of its own.
        if record.flags.load(Ordering::Relaxed) & flag::INTERNAL != 0
            && let Some(own) = error.downcast_ref::<Error>()
        {
            return Error::cancelled(origin, own.root().clone());
        }
        returned(origin, error)
    }

    /// Drops a body that will not run, or not again.
    #[cold]
    pub(super) fn drop_body(&self, record: &Record) {
        // SAFETY: only this thread has the task, whose payload belongs to the table and is not used any more.
        let dropped = panic::catch(|| unsafe {
            let description = (*record.description.get()).assume_init_mut();
            (description.table.drop)(&raw mut description.payload);
        });
        if let Err(said) = dropped {
            let message = format!("while its body was dropped: {said}");
            self.failures.note_other(Error::of_task(ErrorKind::Panicked, self.origin(record), message));
        }
    }

    /// Notes a failure: what the task should have written is spoiled. What it lent to children that may not have run yet
    /// is theirs until they are complete, and is spoiled then.
    #[cold]
    pub(super) fn fail(&self, id: TaskId, record: &Record, args: &[Arg], error: Error) {
        let cancelled = error.kind() == ErrorKind::Cancelled;
        let error = if cancelled { error } else { self.failures.number(error) };
        let flags = record.flags.fetch_or(flag::FAILED, Ordering::Relaxed);
        // A run that began takes care of what its nodes write.
        if flags & (flag::RUN | flag::CANCELLED) == flag::RUN | flag::CANCELLED {
            self.spoil_run(record, error.root());
        }
        let has_children = self.parts(record).1.is_some_and(|extras| extras.inside.is_some());
        let later = |mode: Mode| mode == Mode::Reduce || has_children && mode.lends();
        for arg in args.iter().filter(|a| a.mode().mutates() && !later(a.mode())) {
            arg.piece().tree().spoil(&arg.piece().indices, error.root());
        }
        // What is reduced into is spoiled when it is folded, so that the other contributors do not depend on who was first.
        for joined in self.parts(record).1.iter().flat_map(|extras| &extras.joined) {
            joined.reduction.spoil(error.root());
        }
        if let Some(node) = self.parts(record).1.and_then(|extras| extras.node.as_mut()) {
            // It is the run of the plan that fails.
            node.error = Some(error);
            return;
        }
        // SAFETY: a scope lives until its parent is complete, which is after this child.
        let scope = unsafe { record.title.scope().as_ref() };
        let parent = scope.map_or(TaskId::NONE, |scope| scope.parent);
        if let Some(scope) = scope.filter(|_| !cancelled) {
            scope.note_failure();
        }
        self.failures.note(id, parent, error, flags & flag::INTERNAL == 0);
    }
}

fn begin_contributions(args: &[Arg], extras: &Extras) -> Vec<Contribution> {
    let reduced = args.iter().filter(|a| a.mode() == Mode::Reduce);
    let contribution = |(joined, arg): (&crate::order::history::Joined, &Arg)| Contribution {
        accumulator: joined.reduction.folds.make(arg.piece().shape.len()),
        number: joined.number,
        reduction: std::sync::Arc::clone(&joined.reduction),
    };
    extras.joined.iter().zip(reduced).map(contribution).collect()
}

/// The failure of a task whose body returned an error.
#[cold]
pub(crate) fn returned(origin: TaskOrigin, error: BodyError) -> Error {
    match error.downcast::<Error>() {
        Ok(own) => Error::caused(origin, "it returned an error", *own),
        Err(error) => {
            let text = panic::catch(|| error.to_string()).unwrap_or_else(|_| "an error without a text".to_owned());
            // The destructor of an error is the user's as well.
            let _ = panic::catch(|| drop(error));
            Error::of_task(ErrorKind::Failed, origin, text)
        }
    }
}
