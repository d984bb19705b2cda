//! Which tasks failed, and why.
//!
//! A failure comes back in two ways: from the future of the task, and, once, from the next wait for everything. Tasks that
//! did not run because of it are listed with it, and their own futures say what they were cancelled for.

use rustc_hash::FxHashMap;

use crate::error::{Error, ErrorKind, Result, TaskOrigin};
use crate::sync::{Mutex, lock};
use crate::task::record::TaskId;

/// The failures of a runtime.
#[derive(Default)]
pub(crate) struct Failures(Mutex<State>);

#[derive(Default)]
struct State {
    /// Why tasks failed or were cancelled.
    reasons: FxHashMap<TaskId, Error>,
    /// Why tasks that have not run yet will not.
    refusals: FxHashMap<TaskId, Error>,
    /// Failures that no wait has returned yet, each with the tasks cancelled for it.
    unreported: Vec<(Error, Vec<TaskOrigin>)>,
}

impl Failures {
    /// A task that was submitted must not run.
    pub(crate) fn refuse(&self, task: TaskId, reason: Error) {
        lock(&self.0).refusals.insert(task, reason);
    }

    /// Why a task that has not run yet will not.
    pub(crate) fn refusal(&self, task: TaskId) -> Option<Error> {
        lock(&self.0).refusals.get(&task).cloned()
    }

    /// A task must not run because an earlier one failed.
    pub(crate) fn cancel_for(&self, task: TaskId, earlier: TaskId) {
        let mut state = lock(&self.0);
        if let Some(reason) = state.reasons.get(&earlier).cloned() {
            let root = reason.because().cloned().unwrap_or(reason);
            state.refusals.entry(task).or_insert(root);
        }
    }

    /// Whether a task failed or was cancelled.
    pub(crate) fn failed(&self, task: TaskId) -> bool {
        lock(&self.0).reasons.contains_key(&task)
    }

    /// The error of a task that must not run.
    pub(crate) fn reason(&self, task: TaskId, origin: TaskOrigin) -> Error {
        match lock(&self.0).refusals.remove(&task) {
            Some(own) if own.task() == Some(&origin) && own.kind() != ErrorKind::Cancelled => own,
            Some(because) => Error::cancelled(origin, because),
            None => Error::of_task(ErrorKind::Cancelled, origin, "was cancelled"),
        }
    }

    /// A task failed, or was cancelled.
    pub(crate) fn note(&self, task: TaskId, error: Error) {
        let mut state = lock(&self.0);
        match (error.because(), error.task()) {
            (Some(because), Some(origin)) => {
                let message = because.to_string();
                let origin = origin.clone();
                if let Some((_, list)) = state.unreported.iter_mut().find(|(root, _)| root.to_string() == message) {
                    list.push(origin);
                }
            }
            _ => state.unreported.push((error.clone(), Vec::new())),
        }
        state.reasons.insert(task, error);
    }

    /// Why a task failed or was cancelled. The failure counts as reported.
    pub(crate) fn of(&self, task: TaskId) -> Option<Error> {
        let mut state = lock(&self.0);
        let error = state.reasons.get(&task).cloned()?;
        let text = error.to_string();
        let Some(at) = state.unreported.iter().position(|(root, _)| root.to_string() == text) else {
            return Some(error);
        };
        let (root, cancelled) = state.unreported.remove(at);
        Some(root.with_cancelled(cancelled))
    }

    /// The first failure that was not reported yet.
    pub(crate) fn report(&self) -> Result<()> {
        let mut state = lock(&self.0);
        if state.unreported.is_empty() {
            return Ok(());
        }
        let (root, cancelled) = state.unreported.remove(0);
        Err(root.with_cancelled(cancelled))
    }
}
