//! Waiting: for data, for tasks, for everything.

use std::mem::MaybeUninit;
use std::panic::Location;

use super::{Core, Running};
use crate::access::Arg;
use crate::context::ContextState;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Arc;
use crate::sync::atomic::Ordering;
use crate::task::body;
use crate::task::name::Name;
use crate::task::record::{Kind, PAYLOAD, TaskId, flag};
use crate::task::spec::Spec;
use crate::worker::cycle::Found;

impl Core {
    /// Orders a task that the application runs itself, and waits until it is its turn.
    pub(crate) fn hold(&self, arg: Arg, location: &'static Location<'static>) -> Result<TaskId> {
        let piece = arg.piece();
        if let Some(running) = self.running() {
            return Err(Error::of_task(
                ErrorKind::WaitInTask,
                self.origin(running.record),
                format!("waits for region `{}`; a task receives its data as arguments", piece.name()),
            ));
        }
        let (index, record) = self.take_record(true);
        let id = TaskId::new(index, record.generation());
        let mut spec = Spec::new(Name::literal("guard"), location, 0);
        spec.push(arg);
        let payload = [MaybeUninit::uninit(); PAYLOAD];
        self.describe(record, Kind::Held, &mut spec, &body::NOTHING, None, payload);
        let mut waits = Vec::new();
        if let Err(refusal) = self.order(id, 0, None, &[arg], None, &mut waits) {
            record.pending.store(0, Ordering::Relaxed);
            self.let_go(id);
            return Err(Error::new(refusal.kind, refusal.message));
        }
        self.finish_submission(id, &waits, &[]);
        self.waiters.wait(self, id, |core| core.slab.get(index).pending.load(Ordering::Acquire) == 0)?;
        if arg.mode().reads()
            && let Some(because) = piece.tree().spoiled(&piece.indices)
        {
            self.let_go(id);
            return Err(because);
        }
        Ok(id)
    }

    /// Ends a task that the application ran itself.
    pub(crate) fn let_go(&self, id: TaskId) {
        let mut local = super::Local::new(None);
        self.complete(&mut local, id.index());
        self.hand_out(&mut local);
    }

    /// Waits until a task is complete.
    pub(crate) fn wait_for(&self, id: TaskId) -> Result<()> {
        if self.is_complete(id) {
            return Ok(());
        }
        match self.running() {
            None => self.waiters.wait(self, id, |core| core.is_complete(id)),
            Some(running) => self.wait_for_child(running, id),
        }
    }

    fn wait_for_child(&self, running: &Running<'_>, id: TaskId) -> Result<()> {
        // SAFETY: the calling thread runs the parent. If the task is a child of it, it cannot be complete and used again
        // without its generation having changed, which is checked by `is_complete` above and below.
        let description = unsafe { (*running.record.description.get()).assume_init_ref() };
        let inside = description.extras.as_ref().and_then(|e| e.inside.clone());
        let other = self.slab.get(id.index());
        // SAFETY: the pointer is only compared.
        let scope = unsafe { (*other.description.get()).assume_init_ref().scope };
        let Some(inside) = inside.filter(|inside| std::ptr::eq(Arc::as_ptr(inside), scope)) else {
            if self.is_complete(id) {
                return Ok(());
            }
            let message = format!("waits for {}, which is not its child", self.origin(other));
            return Err(Error::of_task(ErrorKind::WaitInTask, self.origin(running.record), message));
        };
        // SAFETY: the pointer is that of the thread's own state.
        let seat = unsafe { (*running.local).worker }.map(|worker| self.workers.seat(worker));
        while !self.is_complete(id) {
            self.begin_family_wait(running, inside.parent);
            let found = self.choose_family(running, &inside);
            if matches!(found, Found::Nothing) {
                let asked = || seat.is_some_and(|seat| seat.state.is_asked());
                let done = |core: &Core| core.is_complete(id) || inside.has_ready() || asked();
                let waited = self.waiters.wait(self, inside.parent, done);
                self.end_family_wait(running);
                waited?;
                continue;
            }
            if matches!(found, Found::Team) {
                // SAFETY: as in `run_family`.
                let local = unsafe { &mut *running.local };
                self.join_family_team(local);
            }
            self.end_family_wait(running);
            if let Found::Task(task) = found {
                self.run_family(running, TaskId::from_bits(task.what));
            }
        }
        Ok(())
    }

    /// Runs one ready task of the family of a running task, on the thread that runs it.
    fn run_family(&self, running: &Running<'_>, id: TaskId) {
        let record = self.slab.get(id.index());
        if record.claim(id.generation()) {
            // SAFETY: the pointer is that of the thread's own state. `execute` of the parent is not using it: it is
            // inside of the parent's body.
            let local = unsafe { &mut *running.local };
            self.execute_or_call(local, id, record);
            self.hand_out(local);
        }
    }

    pub(crate) fn failure_of(&self, id: TaskId) -> Option<Error> {
        self.failures.of(id)
    }

    pub(crate) fn note_waited(&self, _: TaskId) {}

    /// Wakes a waker when a task completes. False when it is complete already.
    pub(crate) fn register_waker(&self, id: TaskId, waker: &std::task::Waker) -> bool {
        if self.is_complete(id) {
            return false;
        }
        self.waiters.register(id, waker.clone());
        // SeqCst: in one order with `close`; either the completing thread sees the flag, or this one the completion.
        self.slab.get(id.index()).flags.fetch_or(flag::WAITED, Ordering::SeqCst);
        !self.is_complete(id)
    }

    /// Waits until everything that was submitted is complete.
    pub(crate) fn wait_all(&self) -> Result<()> {
        if let Some(running) = self.running() {
            let message = "waits for all tasks, of which it is one";
            return Err(Error::of_task(ErrorKind::WaitInTask, self.origin(running.record), message));
        }
        self.waiters.wait_quiet(self, |core| core.contexts.iter().all(ContextState::is_quiet))?;
        self.failures.report()
    }
}
