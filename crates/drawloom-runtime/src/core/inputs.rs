//! Bringing the input of tasks to where they run.
//!
//! A worker that has chosen a task starts the copies of what the task needs from other memories, and goes on with its cycle:
//! each turn makes them progress, and the task runs in the turn in which the last one has arrived. Until then the worker
//! takes no other task. It could, but then a task that it has claimed might wait for one that waits for it.
//!
//! Without devices there is one memory, and all of this is one look at a flag.

use drawloom_trace::{EventKind, IdleReason};

use super::execute::spoiled_input;
use super::{Core, Local, Owned};
use crate::access::Arg;
use crate::error::{Error, Result};
use crate::memory::MemoryId;
use crate::memory::acquisition::Acquisition;
use crate::policy::{Ready, ReadyKind, WorkerId};
use crate::sync::atomic::Ordering;
use crate::task::record::{TaskId, flag};

/// A task that a worker has claimed, and whose data is on its way.
pub(super) struct Arriving {
    task: TaskId,
    input: Acquisition,
    /// Whether the worker was seen to wait.
    waits: bool,
}

impl Core {
    /// Makes arguments proper in the memory of this process, and waits for it.
    #[inline]
    pub(crate) fn make_proper_here(&self, args: &[Arg]) -> Result<()> {
        if self.devices.is_empty() { Ok(()) } else { self.bring_here(args) }
    }

    #[cold]
    fn bring_here(&self, args: &[Arg]) -> Result<()> {
        let worker = self.workers.current();
        let (log, mut waited) = (self.tracer.transfers(worker), false);
        let arrived = Acquisition::new(args, MemoryId::HOST, None).wait(&log, || {
            waited = true;
            self.tracer.idle(worker, IdleReason::WaitingForData);
        });
        if waited {
            self.tracer.busy(worker);
        }
        arrived
    }

    /// Whether there is no memory but that of this process, so that tasks find everything where they run.
    #[inline]
    pub(crate) fn has_one_memory(&self) -> bool {
        self.devices.is_empty()
    }

    /// Starts to bring the input of a task that was chosen. Returns it when there is nothing to bring.
    #[inline]
    pub(crate) fn begin_input(&self, local: &mut Local, task: Ready) -> Option<Ready> {
        if self.devices.is_empty() { Some(task) } else { self.bring_input(local, task) }
    }

    #[cold]
    fn bring_input(&self, local: &mut Local, ready: Ready) -> Option<Ready> {
        // Nodes of plans and members of teams bring their input themselves.
        let ReadyKind::Task(task) = ready.what else { return Some(ready) };
        let record = self.slab.get(task.index());
        if record.flags.load(Ordering::Relaxed) & flag::TEAM != 0 {
            return Some(ready);
        }
        // SAFETY: the task is ready.
        if let Some(task) = unsafe { self.claim(task) } {
            // It will not run, as far as one can see without asking for the reason.
            let is_cancelled = record.flags.load(Ordering::Relaxed) & flag::CANCELLED != 0;
            let args = if is_cancelled || spoiled_input(task.args()).is_some() { &[] } else { task.args() };
            let mut input = Acquisition::new(args, MemoryId::HOST, None);
            // What cannot be brought is told when transfers progress.
            let _ = input.advance(&self.tracer.transfers(local.worker));
            local.arriving = Some(Box::new(Arriving { task: task.id, input, waits: false }));
        }
        None
    }

    /// Makes transfers progress that a worker waits for. Returns the task whose data has arrived.
    #[inline]
    pub(crate) fn advance_transfers(&self, local: &mut Local) -> Option<Owned<'_>> {
        if local.arriving.is_none() { None } else { self.advance_arriving(local) }
    }

    #[cold]
    fn advance_arriving(&self, local: &mut Local) -> Option<Owned<'_>> {
        let worker = local.worker;
        let arriving = local.arriving.as_mut()?;
        let advanced = arriving.input.advance(&self.tracer.transfers(worker));
        if let Ok(false) = advanced {
            if !std::mem::replace(&mut arriving.waits, true) {
                self.tracer.idle(worker, IdleReason::WaitingForData);
            }
            return None;
        }
        let arriving = local.arriving.take()?;
        if arriving.waits {
            self.tracer.busy(worker);
        }
        // SAFETY: the worker claimed the task when it made what is gone now.
        let task = unsafe { Owned::new(arriving.task, self.slab.get(arriving.task.index())) };
        match advanced {
            Ok(_) => Some(task),
            Err(error) => {
                self.fail_before_start(local, task, worker, &error);
                self.hand_out(local);
                None
            }
        }
    }

    /// Completes a task whose data cannot be brought.
    pub(super) fn fail_before_start(
        &self,
        local: &mut Local,
        mut task: Owned<'_>,
        lane: Option<WorkerId>,
        error: &Error,
    ) {
        self.drop_body(&task);
        self.tracer.of_task(EventKind::Start, task.id, lane);
        self.tracer.of_task(EventKind::Failed, task.id, lane);
        let error = Error::of_task(error.kind(), self.origin(task.record), error.message());
        self.fail(&mut task, error);
        self.end(local, task);
    }

    /// Whether a worker has a task whose data is on its way.
    #[inline]
    pub(crate) fn is_waiting_for_data(&self, local: &Local) -> bool {
        local.arriving.is_some()
    }
}
