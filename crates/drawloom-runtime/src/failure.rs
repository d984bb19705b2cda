//! Which tasks failed, and why.
//!
//! A failure comes back once: from the future of the task, or else from the next wait for everything. Tasks that did not
//! run because of it are listed with it, and their own futures say what they were cancelled for. The failure of a child
//! that its parent did not look at becomes the failure of the parent.
//!
//! # What is kept, and for how long
//!
//! Of failures that nobody asked about yet, the first few are kept whole and the rest is counted. The reason of a task is
//! kept for as long as its future may still ask: a future that is dropped says so, once anything has failed at all. So a
//! program in which every task fails runs in bounded memory, and one in which none does pays nothing.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Error, ErrorKind, LISTED, Result, TaskOrigin};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Mutex, Padded, lock};
use crate::task::record::TaskId;

/// The failures of a runtime.
#[derive(Default)]
pub(crate) struct Failures {
    /// Whether anything failed so far. Never goes back. Apart from what is written often, as it is read all the time.
    any: Padded<AtomicBool>,
    /// How often something was cancelled. Apart as well, as nodes of plans read it all the time.
    cancellations: Padded<AtomicU64>,
    /// The number of the last failure.
    last: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Why tasks failed or were cancelled, as long as their futures may ask.
    /// With the parents of those tasks.
    reasons: FxHashMap<TaskId, (Error, TaskId)>,
    /// Why tasks that have not run yet will not.
    refusals: FxHashMap<TaskId, Error>,
    /// Failures that nobody has asked about, by the parent of the failed task.
    unreported: FxHashMap<TaskId, Collected>,
    /// The parents of the failures that are kept whole, by the numbers of those.
    homes: FxHashMap<u64, TaskId>,
    /// All failures up to this one were reported.
    reported: u64,
    /// The last time that each context, or everything, was cancelled.
    cancels: Vec<Cancel>,
    /// Tasks that were marked as cancelled by mistake.
    spared: FxHashSet<TaskId>,
    failed: u64,
    cancelled: u64,
}

/// Failures of the children of one task, of the tasks of the application, or of the nodes of a run: the first few are kept whole,
/// and the rest is counted.
#[derive(Default)]
pub(crate) struct Collected {
    roots: Vec<Root>,
    more: u64,
}

/// A failure, and the tasks that were cancelled for it.
pub(crate) struct Root {
    /// Failures with a lower number come first.
    place: u32,
    error: Error,
    /// Those that were cancelled since, besides the ones that the error lists itself.
    cancelled: Vec<TaskOrigin>,
    count: u64,
}

struct Cancel {
    context: Option<u32>,
    error: Error,
}

impl Root {
    pub(crate) fn new(place: u32, error: Error) -> Self {
        Self { place, error, cancelled: Vec::new(), count: 0 }
    }

    /// Puts an earlier failure in the place of this one.
    pub(crate) fn precede(&mut self, place: u32, error: &Error) {
        if place < self.place {
            (self.place, self.error) = (place, error.clone());
        }
    }

    pub(crate) fn add_cancelled(&mut self, task: TaskOrigin) {
        self.count += 1;
        if self.error.cancelled_tasks().len() + self.cancelled.len() < LISTED {
            self.cancelled.push(task);
        }
    }

    /// The failure as an error of its own, or as that behind another one.
    pub(crate) fn into_error(self, outer: impl FnOnce(Error) -> Error) -> Error {
        outer(self.error).with_cancelled(self.cancelled, self.count)
    }
}

impl Collected {
    /// Adds a failure. False when it is only counted.
    pub(crate) fn add(&mut self, place: u32, error: Error) -> bool {
        let at = self.roots.partition_point(|root| root.place <= place);
        if at < LISTED {
            self.roots.insert(at, Root::new(place, error));
        }
        let is_full = at == LISTED || self.roots.len() > LISTED;
        self.more += u64::from(is_full);
        self.roots.truncate(LISTED);
        at < LISTED
    }

    /// A failure that is kept whole.
    pub(crate) fn find(&mut self, is_meant: impl Fn(&Error) -> bool) -> Option<&mut Root> {
        self.roots.iter_mut().find(|root| is_meant(&root.error))
    }

    /// Whether all failures are kept whole.
    pub(crate) fn is_whole(&self) -> bool {
        self.more == 0
    }

    fn is_empty(&self) -> bool {
        self.roots.is_empty() && self.is_whole()
    }

    /// One error for all failures; none if not even one is kept whole.
    pub(crate) fn into_error(self) -> Option<Error> {
        let mut errors = self.roots.into_iter().map(|root| root.into_error(|error| error));
        let first = errors.next()?;
        let others: Vec<Error> = errors.collect();
        let count = others.len() as u64 + self.more;
        Some(first.with_others(others, count))
    }
}

impl Failures {
    /// Whether anything failed so far.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        // Acquire: pairs with `note`. Who does not see it yet leaves a reason behind at most.
        self.any.load(Ordering::Acquire)
    }

    /// Gives an error a number of its own: it is a new failure.
    pub(crate) fn number(&self, error: Error) -> Error {
        error.numbered(self.last.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// A task that was submitted must not run.
    pub(crate) fn refuse(&self, task: TaskId, reason: Error) {
        lock(&self.state).refusals.insert(task, reason);
    }

    /// Why a task that has not run yet will not.
    pub(crate) fn refusal(&self, task: TaskId) -> Option<Error> {
        lock(&self.state).refusals.get(&task).cloned()
    }

    /// A task must not run because an earlier one failed for a reason.
    pub(crate) fn cancel_for(&self, task: TaskId, reason: &Error) {
        lock(&self.state).refusals.entry(task).or_insert_with(|| reason.root().clone());
    }

    /// Why the task before a gate failed, if it did.
    pub(crate) fn pass_on(&self, gate: TaskId) -> Option<Error> {
        lock(&self.state).refusals.remove(&gate)
    }

    /// Tasks of a context, or all tasks, are cancelled by `mark`, which says which of them are to be spared.
    pub(crate) fn cancel(&self, context: Option<u32>, error: Error, mark: impl FnOnce(&mut FxHashSet<TaskId>)) {
        let error = self.number(error);
        // Until everything is marked nobody may ask for a reason.
        let mut state = lock(&self.state);
        if context.is_none() {
            state.cancels.clear();
        }
        state.cancels.retain(|c| c.context != context);
        state.cancels.push(Cancel { context, error });
        mark(&mut state.spared);
        // Release: pairs with `cancellations`. Who sees it finds the marks.
        self.cancellations.fetch_add(1, Ordering::Release);
    }

    /// How often something was cancelled so far.
    #[inline]
    pub(crate) fn cancellations(&self) -> u64 {
        // Acquire: pairs with `cancel`.
        self.cancellations.load(Ordering::Acquire)
    }

    /// What a task that runs, and is marked as one that must not, was cancelled for; none if that was a mistake.
    /// `is_of` says whether it belongs to a context.
    pub(crate) fn cancellation(&self, task: TaskId, is_of: impl Fn(u32) -> bool) -> Option<Error> {
        let state = lock(&self.state);
        let spared = state.spared.contains(&task);
        let cancel = state.cancels.iter().rev().find(|c| !spared && c.context.is_none_or(&is_of));
        cancel.map(|cancel| cancel.error.clone())
    }

    /// All tasks of a context are complete, and there will be no others.
    pub(crate) fn forget_context(&self, context: u32) {
        lock(&self.state).cancels.retain(|cancel| cancel.context != Some(context));
    }

    /// Why a task failed or was cancelled.
    pub(crate) fn peek(&self, task: TaskId) -> Option<Error> {
        if !self.any() {
            return None;
        }
        lock(&self.state).reasons.get(&task).map(|(error, _)| error.clone())
    }

    /// The error of a task that is marked as one that must not run; none if that was a mistake. `is_of` says whether it
    /// belongs to a context.
    pub(crate) fn reason(&self, task: TaskId, origin: TaskOrigin, is_of: impl Fn(u32) -> bool) -> Option<Error> {
        let mut state = lock(&self.state);
        let spared = state.spared.remove(&task);
        Some(match state.refusals.remove(&task) {
            Some(own) if own.task() == Some(&origin) && own.number() == 0 => own,
            Some(because) => Error::cancelled(origin, because),
            None if spared => return None,
            None => {
                let cancel = state.cancels.iter().rev().find(|c| c.context.is_none_or(&is_of));
                match cancel {
                    Some(cancel) => Error::cancelled(origin, cancel.error.clone()),
                    None => Error::of_task(ErrorKind::Cancelled, origin, "was cancelled"),
                }
            }
        })
    }

    /// A task failed, or was cancelled. The reason is kept for its future, unless nobody can ask for it.
    pub(crate) fn note(&self, task: TaskId, parent: TaskId, error: Error, asked_for: bool) {
        let mut state = lock(&self.state);
        // Release: pairs with `any`.
        self.any.store(true, Ordering::Release);
        if error.kind() == ErrorKind::Cancelled {
            state.cancelled += 1;
            if let (Some(because), Some(origin)) = (error.because(), error.task()) {
                state.add_cancelled(because, origin);
            }
        } else {
            state.failed += 1;
            state.add_root(parent, error.clone());
        }
        if asked_for {
            state.reasons.insert(task, (error, parent));
        }
    }

    /// A part of a task was cancelled for an earlier failure, which lists it.
    pub(crate) fn also_cancelled(&self, because: &Error, part: &TaskOrigin) {
        lock(&self.state).add_cancelled(because, part);
    }

    /// Something failed that is not a task: the destructor of an element, say.
    pub(crate) fn note_other(&self, error: Error) {
        let error = self.number(error);
        let mut state = lock(&self.state);
        self.any.store(true, Ordering::Release);
        state.add_root(TaskId::NONE, error);
    }

    /// Forgets the reason of a task that nobody can ask for.
    pub(crate) fn forget(&self, task: TaskId, gone: impl FnOnce() -> bool) {
        let mut state = lock(&self.state);
        // Under the lock, so that of a future that goes and a task that completes one sees the other.
        if gone() {
            state.reasons.remove(&task);
        }
    }

    /// An attempt of a task was given up, and its children with it, all of which are complete: what failed there concerns
    /// nobody but those who hold their futures.
    pub(crate) fn abandon(&self, task: TaskId) {
        if !self.any() {
            return;
        }
        let mut state = lock(&self.state);
        for root in state.unreported.remove(&task).into_iter().flat_map(|left| left.roots) {
            state.homes.remove(&root.error.number());
        }
    }

    /// What is left of the failures of a task's children becomes the task's own affair: the error to fail with, if it has
    /// none of its own; otherwise they are passed on to its own parent.
    pub(crate) fn adopt(&self, task: TaskId, parent: TaskId, has_failed: bool) -> Option<Error> {
        let mut state = lock(&self.state);
        let left = state.unreported.remove(&task)?;
        if has_failed {
            for root in &left.roots {
                state.homes.insert(root.error.number(), parent);
            }
            let outer = state.unreported.entry(parent).or_default();
            outer.more += left.more + (outer.roots.len() + left.roots.len()).saturating_sub(LISTED) as u64;
            outer.roots.extend(left.roots);
            outer.roots.truncate(LISTED);
            return None;
        }
        state.gather(left)
    }

    /// Why a task failed or was cancelled, for its future. The failure counts as reported.
    pub(crate) fn take(&self, task: TaskId) -> Option<Error> {
        if !self.any() {
            return None;
        }
        let mut state = lock(&self.state);
        let (error, parent) = state.reasons.remove(&task)?;
        if error.kind() == ErrorKind::Cancelled {
            return Some(error);
        }
        let Some(home) = state.homes.remove(&error.number()) else {
            // It was only counted. Those that were reported since are not in the count any more.
            if (!parent.is_none() || error.number() > state.reported)
                && let Some(list) = state.unreported.get_mut(&parent)
            {
                list.more = list.more.saturating_sub(1);
                if list.is_empty() {
                    state.unreported.remove(&parent);
                }
            }
            return Some(error);
        };
        let list = state.unreported.get_mut(&home)?;
        let at = list.roots.iter().position(|root| root.error.number() == error.number())?;
        let root = list.roots.remove(at);
        if list.is_empty() {
            state.unreported.remove(&home);
        }
        Some(root.into_error(|error| error))
    }

    /// The first failure that was not reported yet, with all others.
    pub(crate) fn report(&self) -> Result<()> {
        if !self.any() {
            return Ok(());
        }
        let mut state = lock(&self.state);
        state.reported = self.last.load(Ordering::Relaxed);
        let Some(left) = state.unreported.remove(&TaskId::NONE) else { return Ok(()) };
        state.gather(left).map_or(Ok(()), Err)
    }

    /// How many tasks failed, and how many were cancelled.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let state = lock(&self.state);
        (state.failed, state.cancelled)
    }

    /// How many reasons are kept.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        let state = lock(&self.state);
        state.reasons.len() + state.homes.len() + state.refusals.len()
    }
}

impl State {
    fn add_root(&mut self, parent: TaskId, error: Error) {
        let number = error.number();
        if self.unreported.entry(parent).or_default().add(u32::MAX, error) {
            self.homes.insert(number, parent);
        }
    }

    fn add_cancelled(&mut self, because: &Error, origin: &TaskOrigin) {
        let number = because.number();
        // A cancellation by the application is a failure only once it hit a task.
        if !self.homes.contains_key(&number) && self.cancels.iter().any(|c| c.error.number() == number) {
            self.add_root(TaskId::NONE, because.clone());
        }
        let Some(home) = self.homes.get(&number) else { return };
        let Some(list) = self.unreported.get_mut(home) else { return };
        if let Some(root) = list.find(|error| error.number() == number) {
            root.add_cancelled(origin.clone());
        }
    }

    /// One error for several failures.
    fn gather(&mut self, list: Collected) -> Option<Error> {
        for root in &list.roots {
            self.homes.remove(&root.error.number());
        }
        let more = list.more;
        let message = || format!("{more} tasks failed; only the first failures were kept, and those were reported");
        list.into_error().or_else(|| (more > 0).then(|| Error::new(ErrorKind::Failed, message())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_was_marked_by_mistake_has_no_reason_unless_it_was_refused() {
        let failures = Failures::default();
        let origin = || TaskOrigin { name: "task".to_owned(), location: std::panic::Location::caller() };
        let [meant, spared, refused] = [1, 2, 3].map(|index| TaskId::new(index, 1));
        failures.refuse(refused, Error::of_task(ErrorKind::Overlap, origin(), "overlaps"));
        let cancelled = Error::new(ErrorKind::Cancelled, "enough");
        failures.cancel(Some(1), cancelled, |list| list.extend([spared, refused]));
        assert_eq!(failures.reason(meant, origin(), |of| of == 1).unwrap().kind(), ErrorKind::Cancelled);
        assert!(failures.reason(spared, origin(), |of| of == 0).is_none());
        assert_eq!(failures.reason(refused, origin(), |of| of == 0).unwrap().kind(), ErrorKind::Overlap);
        assert!(failures.kept() == 0 && lock(&failures.state).spared.is_empty());
    }
}
