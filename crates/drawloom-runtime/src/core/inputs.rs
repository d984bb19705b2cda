//! Bringing the input of tasks to where they run.
//!
//! A worker that has chosen a task starts the copies of what the task needs from other memories, and goes on with its cycle:
//! each turn makes them progress, and the task runs in the turn in which the last one has arrived. Until then the worker
//! takes no other task. It could, but then a task that it has claimed might wait for one that waits for it.
//!
//! Without devices there is one memory, and all of this is one look at a flag.

use drawloom_trace::{EventKind, IdleReason};

use super::{Core, Local};
use crate::access::{Arg, Mode};
use crate::error::{Error, Result};
use crate::memory::MemoryId;
use crate::memory::acquisition::Acquisition;
use crate::policy::{Ready, ReadyKind, WorkerId};
use crate::sync::atomic::Ordering;
use crate::task::record::{Record, TaskId, flag};

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
        let ReadyKind::Task(task) = ready.kind() else { return Some(ready) };
        let record = self.slab.get(task.index());
        if record.flags.load(Ordering::Relaxed) & flag::TEAM != 0 {
            return Some(ready);
        }
        if record.claim(task.generation()) {
            let args = if self.is_spoiled(record) { &[] } else { self.parts(record).0 };
            let mut input = Acquisition::new(args, MemoryId::HOST, None);
            // What cannot be brought is told when transfers progress.
            let _ = input.advance(&self.tracer.transfers(local.worker));
            local.arriving = Some(Box::new(Arriving { task, input, waits: false }));
        }
        None
    }

    /// Whether a task that this thread has claimed will not run, as far as one can see without asking for the reason.
    pub(super) fn is_spoiled(&self, record: &Record) -> bool {
        let needed = |a: &&Arg| a.mode().reads() && a.mode() != Mode::Reduce;
        record.flags.load(Ordering::Relaxed) & flag::CANCELLED != 0
            || self
                .parts(record)
                .0
                .iter()
                .filter(needed)
                .any(|a| a.piece().tree().spoiled(&a.piece().indices).is_some())
    }

    /// Makes transfers progress that a worker waits for. Returns the task whose data has arrived.
    #[inline]
    pub(crate) fn advance_transfers(&self, local: &mut Local) -> Option<TaskId> {
        if local.arriving.is_none() { None } else { self.advance_arriving(local) }
    }

    #[cold]
    fn advance_arriving(&self, local: &mut Local) -> Option<TaskId> {
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
        match advanced {
            Ok(_) => Some(arriving.task),
            Err(error) => {
                self.fail_before_start(local, arriving.task, worker, &error);
                self.hand_out(local);
                None
            }
        }
    }

    /// Completes a task that this thread has claimed, and whose data cannot be brought.
    pub(super) fn fail_before_start(&self, local: &mut Local, task: TaskId, lane: Option<WorkerId>, error: &Error) {
        let record = self.slab.get(task.index());
        self.drop_body(record);
        self.tracer.of_task(EventKind::Start, task, lane);
        self.tracer.of_task(EventKind::Failed, task, lane);
        let error = Error::of_task(error.kind(), self.origin(record), error.message());
        self.fail(task, record, self.parts(record).0, error);
        self.end(local, task.index(), record);
    }

    /// Whether a worker has a task whose data is on its way.
    #[inline]
    pub(crate) fn is_waiting_for_data(&self, local: &Local) -> bool {
        local.arriving.is_some()
    }

    /// Runs a task that this thread has claimed, and whose data has arrived.
    pub(crate) fn run_arrived(&self, local: &mut Local, task: TaskId) {
        self.execute_or_call(local, task, self.slab.get(task.index()));
    }
}
