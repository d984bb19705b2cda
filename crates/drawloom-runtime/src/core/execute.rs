//! Running a task's body.
//!
//! Everything that is the user's runs under one catch: the body, the drop of what it captured, operators of reductions, the
//! texts of errors. A worker survives all of it.

use drawloom_trace::EventKind;

use super::{Core, Local, Owned, SharedLocal};
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
        match ready.what {
            ReadyKind::Task(id) => {
                // SAFETY: the task is ready.
                if let Some(task) = unsafe { self.claim(id) } {
                    self.execute_or_call(local, task);
                }
            }
            ReadyKind::Node(node) => {
                self.run_plan(local, node);
            }
            ReadyKind::Ticket { .. } => unreachable!("a ticket is exchanged when it leaves the policy of the user"),
        }
    }

    /// Takes a task that was in a queue, unless it was found in another one before.
    ///
    /// # Safety
    /// The task was ready when its id was put into that queue.
    #[inline]
    pub(super) unsafe fn claim(&self, id: TaskId) -> Option<Owned<'_>> {
        let record = self.slab.get(id.index());
        // SAFETY: a task is claimed once, and is ready: so nothing else has it any more.
        record.claim(id.generation()).then(|| unsafe { Owned::new(id, record) })
    }

    /// Runs a task, or calls for a team to run it.
    #[inline]
    pub(crate) fn execute_or_call(&self, local: &mut Local, task: Owned<'_>) {
        if task.record.flags.load(Ordering::Relaxed) & flag::TEAM != 0 {
            self.call_team(local, task);
        } else {
            self.execute(local, task);
        }
    }

    /// Runs a task, and completes it.
    #[inline]
    pub(crate) fn execute(&self, local: &mut Local, mut task: Owned<'_>) {
        if let Some(error) = self.reason_to_cancel(&task) {
            return self.give_up(local, task, error);
        }
        let prepared = self.prepare(task.args());
        if self.tracer.is_on() {
            self.trace_start(task.id, local);
        }
        let result = match prepared {
            Ok(()) if task.extras().is_some_and(|extras| extras.retries > 0) => self.run_retrying(local, &task),
            Ok(()) => self.attempt(local, &task),
            Err(ref error) => Err(Error::of_task(error.kind(), self.origin(task.record), error.message())),
        };
        if prepared.is_err() || task.body().0.again {
            // A body that runs once is gone otherwise.
            self.drop_body(&task);
        }
        self.tracer.of_task(if result.is_err() { EventKind::Failed } else { EventKind::End }, task.id, local.worker);
        if let Err(error) = result {
            self.fail(&mut task, error);
        }
        self.end(local, task);
    }

    /// Prepares the arguments of a body that is about to run here. What is overwritten counts as proper from here on: the body's
    /// children may spoil it again.
    #[inline]
    pub(crate) fn prepare(&self, args: &[Arg]) -> Result<(), Error> {
        heal_overwritten(args);
        self.make_proper_here(args)
    }

    /// Completes a task that must not run.
    #[cold]
    pub(super) fn give_up(&self, local: &mut Local, mut task: Owned<'_>, error: Error) {
        self.tracer.of_task(EventKind::Cancelled, task.id, local.worker);
        self.fail(&mut task, error);
        self.drop_body(&task);
        self.end(local, task);
    }

    /// Why a task must not run.
    #[inline]
    pub(super) fn reason_to_cancel(&self, task: &Owned<'_>) -> Option<Error> {
        let record = task.record;
        if record.flags.load(Ordering::Relaxed) & flag::CANCELLED != 0 {
            let context = record.context();
            let reason = self.failures.reason(task.id, self.origin(record), |of| self.belongs_to(context, of));
            if reason.is_some() {
                return reason;
            }
            record.flags.fetch_and(!flag::CANCELLED, Ordering::Relaxed);
        }
        spoiled_input(task.args()).map(|because| Error::cancelled(self.origin(record), because))
    }

    /// Runs a body once, and says why it failed, if it did. A body that can run again is still there afterwards, if the task may
    /// be tried again.
    #[inline]
    pub(super) fn attempt(&self, local: &mut Local, task: &Owned<'_>) -> Result<(), Error> {
        let mut scratch = local.take_scratch();
        let result = self.as_running(SharedLocal::new(local), task.id, task.record, None, |running| {
            let result = panic::catch(|| self.run_in_frame(task, &mut scratch));
            self.settle_children(running);
            result
        });
        local.give_scratch(scratch);
        let contributions = self.outcome(task.record, result)?;
        if contributions.is_empty() {
            return Ok(());
        }
        panic::catch(|| {
            for contribution in contributions {
                contribution.reduction.contribute(contribution.number, contribution.accumulator);
            }
        })
        .map_err(|said| Error::of_task(ErrorKind::Panicked, self.origin(task.record), said))
    }

    /// Runs a body in its frame, and returns what it contributes to reductions.
    #[inline]
    fn run_in_frame(&self, task: &Owned<'_>, scratch: &mut Scratchpad) -> Result<Vec<Contribution>, BodyError> {
        let (args, (table, payload)) = (task.args(), task.body());
        let Some(extras) = task.extras() else {
            let mut frame = Frame::new(args, &[], &[], scratch, &[]);
            // SAFETY: the payload belongs to the table, and is used once.
            unsafe { (table.call)(payload, &mut frame) }?;
            return Ok(Vec::new());
        };
        // SAFETY: the lists of the running task are not changed or freed while its body runs. There is no reference to all of
        // its rare parts meanwhile, as the body may begin the scope of its children.
        let (parameters, layouts, node) = unsafe {
            (
                &*std::ptr::from_ref(&*extras.parameters),
                &*std::ptr::from_ref(&*extras.scratch),
                extras.node.as_ref().map(|node| &*std::ptr::from_ref(node)),
            )
        };
        let mut contributions = begin_contributions(args, extras);
        let own: Vec<*mut u8> =
            contributions.iter_mut().map(|c| c.reduction.folds.address(&mut c.accumulator)).collect();
        let places = node.map_or(&own[..], |node| node.begin_contributions());
        let mut frame = Frame::new(args, parameters, places, scratch, layouts);
        // SAFETY: the payload belongs to the table; it is used once, or can be used again.
        unsafe { (table.call)(payload, &mut frame) }?;
        Ok(contributions)
    }

    /// What comes of a body that returned, or panicked.
    #[inline]
    pub(super) fn outcome<T>(&self, record: &Record, result: Result<Result<T, BodyError>, String>) -> Result<T, Error> {
        // A task that the runtime made itself has no failures of its own.
        if let Ok(Err(error)) = &result
            && record.flags.load(Ordering::Relaxed) & flag::INTERNAL != 0
            && let Some(own) = error.downcast_ref::<Error>()
        {
            return Err(Error::cancelled(self.origin(record), own.root().clone()));
        }
        outcome(result, || self.origin(record))
    }

    /// Drops a body that will not run, or not again.
    #[cold]
    pub(super) fn drop_body(&self, task: &Owned<'_>) {
        let (table, payload) = task.body();
        // SAFETY: this thread has the task, whose payload belongs to the table and is not used any more.
        if let Err(said) = panic::catch(|| unsafe { (table.drop)(payload) }) {
            let message = format!("while its body was dropped: {said}");
            self.failures.note_other(Error::of_task(ErrorKind::Panicked, self.origin(task.record), message));
        }
    }

    /// Notes a failure: what the task should have written is spoiled. What it lent to children that may not have run yet
    /// is theirs until they are complete, and is spoiled then.
    #[cold]
    pub(super) fn fail(&self, task: &mut Owned<'_>, error: Error) {
        let record = task.record;
        let cancelled = error.kind() == ErrorKind::Cancelled;
        let error = if cancelled { error } else { self.failures.number(error) };
        let flags = record.flags.fetch_or(flag::FAILED, Ordering::Relaxed);
        // A run that began takes care of what its nodes write.
        if flags & (flag::RUN | flag::CANCELLED) == flag::RUN | flag::CANCELLED {
            self.spoil_run(task, error.root());
        }
        let has_children = task.extras().is_some_and(|extras| extras.inside.is_some());
        let later = |mode: Mode| mode == Mode::Reduce || has_children && mode.lends();
        spoil(task.args().iter().filter(|arg| !later(arg.mode())), error.root());
        // What is reduced into is spoiled when it is folded, so that the other contributors do not depend on which was first.
        for joined in task.extras().iter().flat_map(|extras| &extras.joined) {
            joined.reduction.spoil(error.root());
        }
        if let Some(node) = task.extras_mut().and_then(|extras| extras.node.as_mut()) {
            // It is the run of the plan that fails.
            node.error = Some(error);
            return;
        }
        // SAFETY: the task is not complete.
        let scope = unsafe { record.scope() };
        let parent = scope.map_or(TaskId::NONE, |scope| scope.parent);
        if let Some(scope) = scope.filter(|_| !cancelled) {
            scope.note_failure();
        }
        self.failures.note(task.id, parent, error, flags & flag::INTERNAL == 0);
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

/// Why what some arguments read is not there: what should have written it failed. Contributions are private, and made in any
/// order: it is the task that folds them which depends on the contents.
#[inline]
pub(crate) fn spoiled_input(args: &[Arg]) -> Option<Error> {
    let read = args.iter().filter(|arg| arg.mode().reads() && arg.mode() != Mode::Reduce);
    read.map(Arg::piece).find_map(|piece| piece.tree().spoiled(&piece.indices))
}

/// What is overwritten counts as proper from here on.
#[inline]
pub(crate) fn heal_overwritten(args: &[Arg]) {
    for piece in args.iter().filter(|arg| arg.mode().replaces()).map(Arg::piece) {
        piece.tree().heal(&piece.indices);
    }
}

/// What some arguments should have changed is not to be used.
pub(crate) fn spoil<'a>(args: impl IntoIterator<Item = &'a Arg>, because: &Error) {
    for piece in args.into_iter().filter(|arg| arg.mode().mutates()).map(Arg::piece) {
        piece.tree().spoil(&piece.indices, because);
    }
}

/// What comes of a body that returned, or panicked.
#[inline]
pub(crate) fn outcome<T>(
    result: Result<Result<T, BodyError>, String>,
    origin: impl FnOnce() -> TaskOrigin,
) -> Result<T, Error> {
    match result {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(returned(origin(), error)),
        Err(message) => Err(Error::of_task(ErrorKind::Panicked, origin(), message)),
    }
}

/// The failure of a task whose body returned an error.
#[cold]
fn returned(origin: TaskOrigin, error: BodyError) -> Error {
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
