//! A team that is complete: ranks, barrier, end.

use crate::core::Core;
use crate::error::Error;
use crate::policy::WorkerId;
use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::sync::{Mutex, lock};
use crate::task::record::TaskId;

use super::barrier::{Barrier, Broken};

/// One job that several workers share.
pub(crate) struct TeamRun {
    pub(crate) task: TaskId,
    /// The members, in ascending order. Empty in the serial engine.
    pub(crate) workers: Vec<WorkerId>,
    pub(crate) size: u32,
    arrived: AtomicU32,
    finished: AtomicU32,
    /// Whether the body must not run.
    called_off: AtomicBool,
    /// Whether the task failed, and another team is to try.
    tried_again: AtomicBool,
    start: Barrier,
    barrier: Barrier,
    /// Why the task failed, by the lowest rank that knows.
    failure: Mutex<Option<(u32, Error)>>,
}

impl TeamRun {
    pub(crate) fn new(task: TaskId, workers: Vec<WorkerId>, size: u32) -> Self {
        Self {
            task,
            workers,
            size,
            arrived: AtomicU32::new(0),
            finished: AtomicU32::new(0),
            called_off: AtomicBool::new(false),
            tried_again: AtomicBool::new(false),
            start: Barrier::new(size),
            barrier: Barrier::new(size),
            failure: Mutex::new(None),
        }
    }

    /// A member arrives, and gets the next rank. The first one prepares what all need. Returns the rank once all are there,
    /// and whether the body may run.
    pub(crate) fn arrive(&self, prepare: impl FnOnce() -> Result<(), Error>) -> (u32, bool) {
        // Relaxed: the barrier orders everything else.
        let rank = self.arrived.fetch_add(1, Ordering::Relaxed);
        if rank == 0
            && let Err(error) = prepare()
        {
            self.fail(rank, error);
            self.called_off.store(true, Ordering::Relaxed);
        }
        let complete = self.start.meet(0).is_ok();
        (rank, complete && !self.called_off.load(Ordering::Relaxed))
    }

    /// The team cannot become complete: those who arrived, and those who will, go on without running the body.
    #[cfg(not(loom))]
    pub(crate) fn call_off(&self, error: Error) {
        self.fail(0, error);
        self.called_off.store(true, Ordering::Relaxed);
        self.start.leave();
    }

    pub(crate) fn is_called_off(&self) -> bool {
        self.called_off.load(Ordering::Relaxed)
    }

    /// Another team is to try, said by the member that was done last to the thread that made this team.
    pub(crate) fn try_again(&self) {
        // Relaxed: the end of that member's thread orders it.
        self.tried_again.store(true, Ordering::Relaxed);
    }

    /// Whether another team is to try, once the threads of all members have ended.
    pub(crate) fn is_tried_again(&self) -> bool {
        self.tried_again.load(Ordering::Relaxed)
    }

    /// The task failed on a member.
    pub(crate) fn fail(&self, rank: u32, error: Error) {
        let mut failure = lock(&self.failure);
        if failure.as_ref().is_none_or(|(known, _)| rank < *known) {
            *failure = Some((rank, error));
        }
    }

    /// A member waits for the others, for a purpose. It may wait for ever: for one that waits itself for what it keeps
    /// the member's worker from, be it a task or another team. `flush` gives back what its thread has freed.
    pub(crate) fn meet(
        &self,
        core: &Core,
        purpose: usize,
        worker: Option<WorkerId>,
        flush: impl FnOnce(),
    ) -> Result<(), Broken> {
        let Some(round) = self.barrier.arrive(purpose)? else { return Ok(()) };
        flush();
        core.meet(worker, &|| self.barrier.is_over(round), || self.barrier.sleep(round))
    }

    /// A member is done. True for the last one, who completes the task.
    pub(crate) fn finish(&self) -> bool {
        self.barrier.leave();
        // AcqRel: the last one sees what all others did.
        self.finished.fetch_add(1, Ordering::AcqRel) + 1 == self.size
    }

    /// Why the task failed, once all are done.
    pub(crate) fn failure(&self) -> Option<Error> {
        lock(&self.failure).take().map(|(_, error)| error)
    }
}
