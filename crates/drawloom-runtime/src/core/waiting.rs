//! Waiting: for data, for tasks, for everything.

use std::panic::Location;

use drawloom_trace::{EventKind, IdleReason};

use super::execute::{heal_overwritten, spoiled_input};
use super::{Core, Owned, Running};
use crate::access::{Arg, Mode};
use crate::data::piece::Piece;
use crate::error::{Error, ErrorKind, Result};
use crate::order::history::{Comer, note_written};
use crate::order::scope::Scope;
use crate::policy::ReadyKind;
use crate::stall::On;
use crate::sync::atomic::{Ordering, fence};
use crate::sync::stack::with_room;
use crate::sync::{Arc, thread};
use crate::task::name::Name;
use crate::task::record::{Kind, TaskId, flag};
use crate::task::spec::Spec;
use crate::worker::cycle::Found;

/// A guard whose turn has come, and which its holder alone can end.
pub(crate) struct Hold(TaskId);

/// The rule, as errors say it.
pub(super) const CHILDREN_ONLY: &str = "a task can wait for its children only";

/// Whose task it is that would wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// One of the runtime that it would wait for.
    Own,
    /// One of another runtime.
    Other,
    /// None: it is a waker, a destructor or a hook that a worker calls between tasks.
    Nobodys,
}

/// Who waits that is no task, as errors say it.
const BETWEEN_TASKS: &str = "a waker, a destructor or a hook that a worker calls";

impl Core {
    /// Orders a task that the application runs itself, and waits until it is its turn.
    pub(crate) fn hold(&self, arg: Arg, location: &'static Location<'static>) -> Result<Hold> {
        self.refuse_hold(arg.piece())?;
        let mut guard = self.begin_hold(arg, location);
        let mut waits = Vec::new();
        if let Err(refusal) = self.order(&mut guard, None, &mut waits) {
            // It has its place in the order, so those after it take it to have waited for those before it.
            if let Ok(mut hold) = self.finish_hold(guard, &waits) {
                self.let_go(&mut hold);
            }
            return Err(Error::new(
                refusal.kind,
                format!("a guard that was asked for at {location} {}", refusal.message),
            ));
        }
        let mut hold = self.finish_hold(guard, &waits)?;
        let here = self.make_proper_here(&[arg]);
        if let Err(error) = here.and_then(|()| spoiled_input(&[arg]).map_or(Ok(()), Err)) {
            self.let_go(&mut hold);
            return Err(error);
        }
        Ok(hold)
    }

    /// Waits until every task that was submitted before and touches a piece is complete. The argument is one that overwrites it.
    pub(crate) fn wait_for_piece(&self, arg: Arg, location: &'static Location<'static>) -> Result<()> {
        let mut hold = self.hold_whatever_is_there(arg, location)?;
        let because = arg.piece().tree().spoiled(&arg.piece().indices);
        self.let_go(&mut hold);
        because.map_or(Ok(()), Err)
    }

    /// As [`Core::hold`], to write everything anew: nothing need be there, and what was spoiled no longer is. Both is so from
    /// the moment on in which it can be written, and not if that never comes. The argument is one that overwrites it.
    pub(crate) fn hold_to_overwrite(&self, arg: Arg, location: &'static Location<'static>) -> Result<Hold> {
        let mut hold = self.hold_whatever_is_there(arg, location)?;
        // From here on it is a writer: copies in other memories count no more.
        let arg = arg.with_mode(Mode::Write);
        if let Err(error) = self.make_proper_here(&[arg]) {
            self.let_go(&mut hold);
            return Err(error);
        }
        note_written(&[arg]);
        heal_overwritten(&[arg]);
        Ok(hold)
    }

    /// Waits for the turn of a guard that has a piece for itself, with or without contents.
    fn hold_whatever_is_there(&self, arg: Arg, location: &'static Location<'static>) -> Result<Hold> {
        self.refuse_hold(arg.piece())?;
        self.refuse_inner(&[arg]).map_err(|refusal| Error::new(refusal.kind, refusal.message))?;
        let guard = self.begin_hold(arg, location);
        let mut waits = Vec::new();
        // Ordered as one that writes everything, without being taken for a writer: what is missing stays missing.
        self.in_history(&self.outermost, |history| {
            // Nothing can be refused: one argument overlaps no other.
            let _ = history.order(self, Comer::plain(guard.id, &[arg]), &mut waits, &mut Vec::new());
            self.trace_submission(&guard, None, &[arg]);
        });
        self.finish_hold(guard, &waits)
    }

    /// Refuses a wait that no task may do, of this runtime or of another one: the worker would be missing there, and nobody
    /// would see why.
    pub(crate) fn refuse_wait_in_task(&self, message: impl FnOnce(Whose) -> String) -> Result<()> {
        let (task, whose) = match (self.foreign_task(), self.running_origin()) {
            (Some(task), _) => (task, Whose::Other),
            (None, Some(task)) => (task, Whose::Own),
            (None, None) if self.is_inside_now() => {
                let message = format!("{BETWEEN_TASKS} {}", message(Whose::Nobodys));
                return Err(Error::new(ErrorKind::WaitInTask, message));
            }
            (None, None) => return Ok(()),
        };
        Err(Error::of_task(ErrorKind::WaitInTask, task, message(whose)))
    }

    fn refuse_hold(&self, piece: &Piece) -> Result<()> {
        self.refuse_wait_in_task(|_| {
            format!("waits for region `{}`; a task receives its data as arguments", piece.name())
        })
    }

    /// Refuses to run a plan and wait for it in a task of another runtime, or between tasks of this one. Where the run is over
    /// when it is submitted, there is nothing to wait for.
    pub(crate) fn refuse_run_in_task(&self, plan: &str) -> Result<()> {
        if !self.is_running() && self.is_inside_now() {
            let message = format!("{BETWEEN_TASKS} waits for plan `{plan}`, which may need that worker");
            return Err(Error::new(ErrorKind::WaitInTask, message));
        }
        match self.foreign_task().filter(|_| !self.is_serial()) {
            None => Ok(()),
            Some(task) => {
                let message = format!("waits for plan `{plan}` of another runtime; {CHILDREN_ONLY}");
                Err(Error::of_task(ErrorKind::WaitInTask, task, message))
            }
        }
    }

    fn begin_hold(&self, arg: Arg, location: &'static Location<'static>) -> Owned<'_> {
        let mut spec = Spec::new(Name::literal("guard"), location, 0);
        spec.push(arg);
        let guard = self.make_point(Kind::Held, spec, true);
        self.stalls.add_guard(guard.id, arg, location);
        guard
    }

    /// Waits for the turn of a guard.
    fn finish_hold(&self, guard: Owned<'_>, waits: &[TaskId]) -> Result<Hold> {
        let (id, record) = (guard.id, guard.record);
        self.finish_submission(guard, waits, &[]);
        let turn = |core: &Core| core.slab.get(id.index()).pending.load(Ordering::Acquire) == 0;
        if let Err(error) = self.waiters.wait(self, id, On::Turn(id), turn) {
            // Nobody will hold this guard: it completes when its turn comes, or now if that is already so.
            record.forgotten.store(id.generation(), Ordering::SeqCst);
            fence(Ordering::SeqCst);
            self.stalls.remove_guard(id);
            if record.pending.load(Ordering::SeqCst) == 0 && record.claim(id.generation()) {
                self.let_go(&mut Hold(id));
            }
            return Err(error);
        }
        self.tracer.of_task(EventKind::Start, id, None);
        Ok(Hold(id))
    }

    /// Ends a task that the application ran itself.
    pub(crate) fn let_go(&self, hold: &mut Hold) {
        let id = std::mem::replace(&mut hold.0, TaskId::NONE);
        if id.is_none() {
            return;
        }
        self.stalls.remove_guard(id);
        self.tracer.of_task(EventKind::End, id, None);
        let mut local = super::Local::new(None);
        // SAFETY: the turn of the guard has come, and its holder, who alone has it, ends it.
        unsafe { self.complete(&mut local, id.index()) };
        self.hand_out(&mut local);
    }

    /// Waits until a task is complete.
    pub(crate) fn wait_for(&self, id: TaskId) -> Result<()> {
        if self.is_complete(id) {
            return Ok(());
        }
        if let Some(task) = self.foreign_task() {
            let Some(other) = self.peek_origin(id) else { return Ok(()) };
            let message = format!("waits for {other} of another runtime, which is not its child");
            return Err(Error::of_task(ErrorKind::WaitInTask, task, message));
        }
        self.with_running(|running| match running {
            None if self.is_inside_now() => {
                let Some(other) = self.peek_origin(id) else { return Ok(()) };
                let message = format!("{BETWEEN_TASKS} waits for {other}, which may need that worker");
                Err(Error::new(ErrorKind::WaitInTask, message))
            }
            None => self.waiters.wait(self, id, On::Task(id), |core| core.is_complete(id)),
            Some(running) => self.wait_for_child(running, id),
        })
    }

    pub(super) fn wait_for_child(&self, running: &Running<'_>, id: TaskId) -> Result<()> {
        let local = running.local;
        let refuse = |why: &str| {
            let Some(other) = self.peek_origin(id) else { return Ok(()) };
            Err(Error::of_task(ErrorKind::WaitInTask, self.origin_of(running), format!("waits for {other}{why}")))
        };
        if local.is_device() {
            return refuse(" on a device, which could do nothing else meanwhile");
        }
        if local.is_asleep() {
            return refuse(" in the middle of `Member::sleep`, where it can only sleep");
        }
        let peeked = self.peek(id);
        let is_child = |inside: &Arc<Scope>| peeked.is_some_and(|p| std::ptr::eq(Arc::as_ptr(inside), p.scope));
        let Some(inside) = running.inside().filter(is_child) else {
            // What a task of a plan submits has no place to be waited for, and is refused.
            if let Some(refusal) = self.failures.refusal(id)
                && !self.give_up_here(running, id)
            {
                return Err(refusal);
            }
            while self.is_being_given_up(id) {
                thread::yield_now();
            }
            return refuse(", which is not its child");
        };
        let worker = local.worker();
        let seat = worker.map(|worker| self.workers.seat(worker));
        let outer = seat.and_then(|seat| seat.waits_in());
        while !self.is_complete(id) {
            self.begin_family_wait(running, inside.parent);
            let found = self.choose_family(running, &inside);
            if matches!(found, Found::Nothing) {
                // SAFETY: the body waits, and what this borrows is over with the call.
                self.flush(unsafe { local.exclusive() });
                let asked = || seat.is_some_and(|seat| seat.state.is_asked());
                let member = |context| worker.is_none_or(|worker| self.context(context).has(worker.index()));
                let ready = || inside.has_ready(&|id| self.suits(id, &member));
                let done = |core: &Core| core.is_complete(id) || ready() || asked();
                self.tracer.idle(worker, IdleReason::WaitingForChildren);
                let waited = self.waiters.wait(self, inside.parent, On::Task(id), done);
                self.tracer.busy(worker);
                self.end_family_wait(running, outer);
                waited?;
                continue;
            }
            if matches!(found, Found::Team) {
                // SAFETY: as above.
                with_room(|| self.join_family_team(unsafe { local.exclusive() }));
            }
            self.end_family_wait(running, outer);
            if let Found::Task(task) = found
                && let ReadyKind::Task(id) = task.what
            {
                with_room(|| self.run_family(running, id));
            }
        }
        Ok(())
    }

    /// Whether another thread has taken a task that must not run, and is about to complete it.
    fn is_being_given_up(&self, id: TaskId) -> bool {
        let record = self.slab.get(id.index());
        let cancelled = record.flags.load(Ordering::Relaxed) & flag::CANCELLED != 0;
        cancelled && record.is_claimed() && !self.is_complete(id)
    }

    /// Gives up a task that was refused, unless it waits for others: who holds its future is told, and nobody else.
    fn give_up_here(&self, running: &Running<'_>, id: TaskId) -> bool {
        let record = self.slab.get(id.index());
        if record.pending.load(Ordering::Acquire) > 0 {
            return false;
        }
        // SAFETY: it waits for nothing.
        if let Some(task) = unsafe { self.claim(id) } {
            // SAFETY: the body waits, and what this borrows is over when it goes on.
            let local = unsafe { running.local.exclusive() };
            self.execute(local, task);
            self.hand_out(local);
        }
        true
    }

    /// Runs one ready task of the family of a running task, on the thread that runs it.
    fn run_family(&self, running: &Running<'_>, id: TaskId) {
        // SAFETY: the task is ready.
        if let Some(task) = unsafe { self.claim(id) } {
            // SAFETY: the body waits, and what this borrows is over when it goes on.
            let local = unsafe { running.local.exclusive() };
            self.execute_or_call(local, task);
            self.hand_out(local);
        }
    }

    /// Why a task that is complete failed, if it did.
    pub(crate) fn failure_of(&self, id: TaskId) -> Option<Error> {
        self.failures.take(id)
    }

    /// The future of a task is gone: nobody will ask why it failed.
    #[cold]
    pub(crate) fn forget(&self, id: TaskId) {
        if id.is_none() {
            return;
        }
        self.failures.forget(id, || {
            let complete = self.is_complete(id);
            if !complete {
                self.slab.get(id.index()).forgotten.fetch_max(id.generation(), Ordering::Relaxed);
            }
            complete
        });
    }

    /// Wakes a waker when a task completes. False when it is complete already.
    pub(crate) fn register_waker(&self, id: TaskId, waker: &std::task::Waker) -> bool {
        if self.is_complete(id) {
            return false;
        }
        self.waiters.register(id, waker);
        // SeqCst: in one order with `close`; either the completing thread sees the flag, or this one the completion.
        self.slab.get(id.index()).flags.fetch_or(flag::WAITED, Ordering::SeqCst);
        let complete = self.is_complete(id);
        if complete {
            // Perhaps nobody saw the flag.
            self.waiters.wake(id);
        }
        !complete
    }

    /// Waits until everything that was submitted is complete.
    pub(crate) fn wait_all(&self) -> Result<()> {
        self.refuse_wait_in_task(|whose| match whose {
            Whose::Own => "waits for all tasks, of which it is one".to_owned(),
            Whose::Nobodys => "waits for all tasks, which may need that worker".to_owned(),
            Whose::Other => format!("waits for all tasks of another runtime; {CHILDREN_ONLY}"),
        })?;
        self.waiters.wait_quiet(self, On::Everything, Core::is_everything_complete)?;
        self.failures.report()
    }
}
