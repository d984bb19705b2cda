//! All contexts of a runtime, and what becomes of those that were deleted.
//!
//! The number of a context is never used again, so each keeps a small place for ever. Everything that costs more is given up
//! once the context is deleted and its last task is complete: then it *retires*. Whoever goes through all contexts meets only
//! those that have not retired.
//!
//! # What a deleted context leaves behind
//!
//! Its tasks belong to the context around it from then on: who waits for that one, or cancels it, means them too. While some
//! are in flight, all of them together count there as one task that was submitted and is not complete. When the last one is
//! complete that one is taken back, and the counts of the deleted context are added to those of its heir.
//!
//! # Why nobody reaches a context that has retired
//!
//! A task is counted in its context from its submission to its completion. Who submits counts first, then looks whether the
//! context was deleted, and if so takes the count back and goes to the heir; who deletes says so first, then looks at the
//! counts. All of that is sequentially consistent. So the counts of a deleted context that has no tasks in flight are final.

use super::ContextState;
use crate::core::Core;
use crate::policy::{Policy, Ready, WorkerId};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::grow::Grow;
use crate::sync::{Arc, Mutex, lock};

/// All contexts of a runtime.
pub(crate) struct Contexts {
    all: Grow<ContextState>,
    /// How many contexts besides the main one have not retired.
    others: AtomicUsize,
    /// Which ones, in ascending order. Shared with those who go through them.
    active: Mutex<Arc<Vec<u32>>>,
    /// Those that may retire, and were met where nothing of the user's may run.
    left: Mutex<Vec<u32>>,
}

impl Contexts {
    pub(crate) fn new() -> Self {
        Self { all: Grow::new(), others: AtomicUsize::new(0), active: Mutex::default(), left: Mutex::default() }
    }

    /// Adds a context. The first one is the main one.
    pub(crate) fn push(&self, state: ContextState) -> u32 {
        let mut active = lock(&self.active);
        let index = self.all.push(|_| state) as u32;
        if index > 0 {
            Arc::make_mut(&mut active).push(index);
            self.others.store(active.len(), Ordering::SeqCst);
        }
        index
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&ContextState> {
        self.all.get(index as usize)
    }

    /// The contexts that have not retired, with their numbers, in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &ContextState)> {
        let some = self.others.load(Ordering::SeqCst) > 0;
        let others = some.then(|| Arc::clone(&lock(&self.active)));
        let mut next = 0;
        let numbers = std::iter::from_fn(move || {
            let number = if next == 0 { 0 } else { *others.as_ref()?.get(next - 1)? };
            next += 1;
            Some(number)
        });
        numbers.filter_map(|index| Some((index, self.get(index)?)))
    }
}

impl Core {
    /// Counts a task that is being submitted to a context, or to the one that has the tasks of that one now.
    #[cold]
    pub(crate) fn enter_context(&self, index: u32) -> u32 {
        self.count_in_context(self.home(index), |left| self.retire(left))
    }

    /// As [`Core::enter_context`], for a fold that is begun while a history is locked. A policy of the user may do anything
    /// when its context retires, so that is left to [`Core::retire_left`].
    #[cold]
    pub(crate) fn enter_context_locked(&self, index: u32) -> u32 {
        self.count_in_context(self.home(index), |left| lock(&self.contexts.left).push(left))
    }

    /// Retires contexts that were left to do so.
    #[cold]
    pub(crate) fn retire_left(&self) {
        let left = std::mem::take(&mut *lock(&self.contexts.left));
        left.into_iter().for_each(|index| self.retire(index));
    }

    /// Counts a task in a context, or in its heir if it was deleted meanwhile. Those in which it was counted for a moment are
    /// passed to `left`: whoever deleted them may have seen it, and taken it for a task that is not complete.
    fn count_in_context(&self, mut index: u32, mut left: impl FnMut(u32)) -> u32 {
        loop {
            let state = self.context(index);
            state.count_submitted();
            if !state.is_deleted() {
                return index;
            }
            state.take_back_submitted();
            left(index);
            index = self.home(index);
        }
    }

    /// A task of a context other than the main one is complete.
    #[cold]
    pub(crate) fn leave_context(&self, index: u32, worker: Option<WorkerId>) {
        if let Some(worker) = worker {
            let executed = &self.workers.executed[worker.index()];
            // Only this worker writes here, so a load and a store do. Relaxed: a figure for people.
            executed.store(executed.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        let state = self.context(index);
        state.count_completed(worker);
        if state.is_deleted() {
            self.retire(index);
        }
    }

    /// Whether the tasks of a context belong to another one: the same, or one that has them since it was deleted.
    pub(crate) fn belongs_to(&self, mut index: u32, other: u32) -> bool {
        loop {
            if index == other {
                return true;
            }
            let Some(heir) = self.context(index).heir() else { return false };
            index = heir;
        }
    }

    /// Gives up what a deleted context costs, if all its tasks are complete; then perhaps its heir's.
    pub(crate) fn retire(&self, mut index: u32) {
        while let Some(heir) = self.retire_one(index) {
            index = heir;
        }
        // Who waits for the heir may have waited for this.
        self.waiters.note_quiet();
    }

    /// Retires one context. Returns its heir if that was done.
    fn retire_one(&self, index: u32) -> Option<u32> {
        let state = self.context(index);
        let heir = state.heir()?;
        let (policy, submitted, completed) = {
            let mut active = lock(&self.contexts.active);
            let at = active.binary_search(&index).ok()?;
            let (submitted, completed) = state.counts();
            if submitted != completed {
                return None;
            }
            Arc::make_mut(&mut active).remove(at);
            self.contexts.others.store(active.len(), Ordering::SeqCst);
            (state.retire(), submitted, completed)
        };
        // The policy may be the user's: it is asked and dropped outside of the lock.
        if let Some(policy) = policy {
            for worker in self.workers.ids() {
                self.workers.stolen[worker.index()].fetch_add(policy.stolen(worker), Ordering::Relaxed);
            }
        }
        self.failures.forget_context(index);
        // Last, so that whoever has waited for the heir finds nothing left of this one.
        self.context(heir).inherit(submitted, completed);
        Some(heir)
    }
}

/// The policy of a context that may be deleted, until it retires. What a policy says once and for all is asked before.
pub(super) struct Retirable(Mutex<Option<Arc<dyn Policy>>>);

impl Retirable {
    pub(super) fn new(policy: Box<dyn Policy>) -> Self {
        Self(Mutex::new(Some(Arc::from(policy))))
    }

    /// The policy. It is not used under the lock, as it may be the user's.
    fn get(&self) -> Option<Arc<dyn Policy>> {
        lock(&self.0).clone()
    }

    /// Gives the policy up.
    pub(super) fn take(&self) -> Option<Arc<dyn Policy>> {
        lock(&self.0).take()
    }
}

impl Policy for Arc<Retirable> {
    fn push(&self, task: Ready, by: Option<WorkerId>) {
        // A child that its waiting parent has run may arrive late, when no task of the context is in flight any more.
        if let Some(policy) = self.get() {
            policy.push(task, by);
        }
    }

    fn pop(&self, worker: WorkerId) -> Option<Ready> {
        self.get()?.pop(worker)
    }

    fn len(&self) -> usize {
        self.get().map_or(0, |policy| policy.len())
    }

    fn set_workers(&self, workers: &[WorkerId]) {
        if let Some(policy) = self.get() {
            policy.set_workers(workers);
        }
    }

    fn drain(&self, workers: &[WorkerId], into: &mut Vec<Ready>) {
        if let Some(policy) = self.get() {
            policy.drain(workers, into);
        }
    }

    fn stolen(&self, worker: WorkerId) -> u64 {
        self.get().map_or(0, |policy| policy.stolen(worker))
    }

    fn team_size(&self, least: u32, most: u32, free: u32) -> u32 {
        self.get().map_or(least, |policy| policy.team_size(least, most, free))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Loom;

    /// Submits a task when it is dropped.
    struct Parting(Loom, Arc<AtomicUsize>);

    impl Policy for Parting {
        fn push(&self, _: Ready, _: Option<WorkerId>) {}

        fn pop(&self, _: WorkerId) -> Option<Ready> {
            None
        }

        fn len(&self) -> usize {
            0
        }

        fn set_workers(&self, _: &[WorkerId]) {}
    }

    impl Drop for Parting {
        fn drop(&mut self) {
            let x = self.0.value("x", 1_u64);
            self.0.task("parting").update(&x).run(|x| *x += 1);
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A fold may be begun in a context that is deleted at that moment. The one who deletes it sees that a task is counted,
    /// and leaves the rest to the one who counted it, who holds a lock that submissions need.
    #[test]
    fn a_policy_that_submits_at_its_end_does_not_meet_a_locked_history() {
        let loom = Loom::builder().workers(1).build().unwrap();
        let core = loom.core();
        let parted = Arc::new(AtomicUsize::new(0));
        let (handle, count) = (loom.clone(), Arc::clone(&parted));
        let parting = move |_: &_| -> Box<dyn Policy> { Box::new(Parting(handle.clone(), Arc::clone(&count))) };
        let context = loom.context("brief").policy_with(parting).create().unwrap();
        let index = context.index_in(core).unwrap();
        core.context(index).count_submitted();
        context.delete().unwrap();
        core.context(index).take_back_submitted();
        core.while_locked(|| {
            let home = core.count_in_context(index, |left| lock(&core.contexts.left).push(left));
            assert_eq!(home, 0);
            core.context(0).take_back_submitted();
            assert_eq!(parted.load(Ordering::SeqCst), 0, "the policy was dropped under the lock");
        });
        core.retire_left();
        loom.wait_all().unwrap();
        assert_eq!(parted.load(Ordering::SeqCst), 1);
    }
}
