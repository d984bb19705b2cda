//! What a body knows about its team.

use std::marker::PhantomData;

use super::run::TeamRun;
use crate::core::Core;
use crate::policy::WorkerId;

/// The part that the calling worker has in a team.
///
/// It stays on the worker's thread: what one member does counts once.
pub struct Member<'v> {
    part: Part<'v>,
    /// Neither `Send` nor `Sync`.
    thread: PhantomData<*const ()>,
}

/// Which part in which team a thread has, and which worker it is.
#[derive(Clone, Copy)]
pub(crate) struct Part<'v> {
    pub(crate) core: &'v Core,
    pub(crate) run: &'v TeamRun,
    pub(crate) rank: u32,
    pub(crate) worker: Option<WorkerId>,
}

/// Who can call a member that sleeps: see `Member::sleep`.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CalledBy {
    /// Only other members of its team.
    Members,
    /// Also somebody whom the engine does not know, such as another thread of the program, or a clock.
    Anyone,
}

/// A member found that its barrier can never be passed.
pub(crate) struct TeamBroke;

impl<'v> Member<'v> {
    pub(crate) fn new(part: Part<'v>) -> Self {
        Self { part, thread: PhantomData }
    }

    /// The number of this member, from zero.
    pub fn rank(&self) -> usize {
        self.part.rank as usize
    }

    /// How many members the team has.
    pub fn size(&self) -> usize {
        self.part.run.size as usize
    }

    /// The workers of the team, in ascending order; none in the serial engine.
    pub fn workers(&self) -> &[WorkerId] {
        &self.part.run.workers
    }

    /// Waits until all members have come here. What any of them did before is seen by all of them after.
    ///
    /// # Panics
    /// When a member has panicked or returned, so that it can never come; and when another member waits for something
    /// else, such as the whole of a region. The task has failed then.
    pub fn barrier(&self) {
        self.meet(0);
    }

    #[doc(hidden)]
    /// Sleeps, by means of the body's own: `sleep` comes back when somebody calls, or it is time, and does nothing else.
    ///
    /// A body need not say that it sleeps. When it does, others do not count on its worker for teams; and a member of the same team
    /// that waits for tasks which only workers that sleep could run is told of the stall. As long as anyone may call, and no
    /// member waits for tasks, nothing is taken for a stall, whoever else waits.
    ///
    /// `is_over` says whether this member would go on if it looked now, also when that is because of the time. Others ask it, from
    /// their threads and while they hold a lock: it must not panic, nor use the engine. Inside of `sleep`, a wait for a task is
    /// refused.
    pub fn sleep<T>(&self, by: CalledBy, is_over: &(dyn Fn() -> bool + Sync), sleep: impl FnOnce() -> T) -> T {
        self.part.core.sleep_as_member(self.part.worker, by, is_over, sleep)
    }

    #[doc(hidden)]
    /// Says that this member has done something since it last slept, for those who look for stalls. One that anyone may call
    /// often wakes up for nothing, so that it was awake does not count.
    pub fn has_moved(&self) {
        self.part.core.stalls.note_change();
    }

    /// Waits for all members, for a purpose.
    pub(crate) fn meet(&self, purpose: usize) {
        if self.try_meet(purpose).is_err() {
            // Says nothing: the member that did not come has said why, or `Core::run_member` will.
            std::panic::resume_unwind(Box::new(TeamBroke));
        }
    }

    /// Waits until every member has returned from the body. False when one has failed.
    pub(crate) fn all_succeeded(&self) -> bool {
        self.try_meet(usize::MAX).is_ok()
    }

    pub(crate) fn try_meet(&self, purpose: usize) -> Result<(), super::barrier::Broken> {
        let Part { core, run, worker, .. } = self.part;
        run.meet(core, purpose, worker, || core.flush_inside())
    }

    /// This member's part of `0..len`. The parts of all members are disjoint, cover everything, and differ in length by at
    /// most one.
    pub fn share(&self, len: usize) -> std::ops::Range<usize> {
        share_of(len, self.rank(), self.size())
    }
}

/// The part of `0..len` that belongs to a rank. The lengths differ by at most one.
pub(crate) fn share_of(len: usize, rank: usize, size: usize) -> std::ops::Range<usize> {
    let (each, more) = (len / size, len % size);
    let start = rank * each + rank.min(more);
    start..start + each + usize::from(rank < more)
}

#[cfg(test)]
mod tests {
    use super::share_of;

    #[test]
    fn shares_are_disjoint_and_cover_everything() {
        for size in 1..8 {
            for len in 0..20 {
                let mut next = 0;
                for rank in 0..size {
                    let share = share_of(len, rank, size);
                    assert_eq!(share.start, next);
                    assert!(share.len().abs_diff(len / size) <= 1);
                    next = share.end;
                }
                assert_eq!(next, len);
            }
        }
    }
}
