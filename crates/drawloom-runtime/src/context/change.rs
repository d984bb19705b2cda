//! How the workers of contexts are changed while tasks run.
//!
//! There is one change at a time in a runtime. It collects the workers that are concerned, old and new ones, announces
//! itself to each of them in ascending order, changes everything while none of them is inside of a scheduling operation,
//! and tells them in the same order that it is done. A worker that makes a change from a task it runs does not announce it
//! to itself: it is not in an operation while it runs a task. See `worker/README.md`.

#![allow(unsafe_code)]

use crate::core::Core;
use crate::error::{Error, ErrorKind, Result};
use crate::policy::choice::Choice;
use crate::policy::{WorkerId, WorkersView};
use crate::sync::atomic::{AtomicU64, Ordering, fence};
use crate::sync::{Mutex, MutexGuard, lock};

use super::ContextState;
use crate::worker::this_thread;

/// The one lock that makes every change of contexts exclusive.
#[derive(Default)]
pub(crate) struct Changes {
    turn: Mutex<()>,
    /// The number of the thread that makes a change; zero when none does.
    by: AtomicU64,
    /// Whom changes were announced to and done for, in order, for the models.
    #[cfg(all(test, feature = "shuttle"))]
    told: Mutex<Vec<Told>>,
}

/// What a change tells a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    Announced(WorkerId),
    Done(WorkerId),
}

impl Changes {
    fn note(&self, _told: Told) {
        #[cfg(all(test, feature = "shuttle"))]
        lock(&self.told).push(_told);
    }

    /// What was told to whom since the last time.
    #[cfg(all(test, feature = "shuttle"))]
    pub(crate) fn take_told(&self) -> Vec<Told> {
        std::mem::take(&mut *lock(&self.told))
    }
}

/// A change that is being made.
struct Change<'a> {
    core: &'a Core,
    _turn: MutexGuard<'a, ()>,
    /// The contexts to change, with their workers before and after, in ascending order.
    contexts: Vec<(u32, Vec<WorkerId>, Vec<WorkerId>)>,
}

impl Core {
    /// Refuses workers of another runtime; those of this one exist. `cannot` says what for.
    pub(crate) fn check_workers(&self, workers: &[WorkerId], cannot: impl FnOnce() -> String) -> Result<()> {
        match workers.iter().find(|w| !w.is_of(self.workers.runtime)) {
            Some(worker) => {
                let message = format!("{} {worker}, which belongs to another runtime", cannot());
                Err(Error::new(ErrorKind::Foreign, message))
            }
            None => Ok(()),
        }
    }

    /// Refuses a worker of another runtime.
    pub(crate) fn check_worker(&self, worker: WorkerId) -> Result<()> {
        self.check_workers(&[worker], || "cannot use".to_owned())
    }

    /// Makes a context.
    pub(crate) fn create_context(
        &self,
        name: String,
        parent: u32,
        workers: Option<Vec<WorkerId>>,
        policy: &Choice,
    ) -> Result<u32> {
        let policy = policy.make(&WorkersView::new(&self.workers))?;
        let mut change = self.begin_change()?;
        let around = self.alive(parent)?;
        // Contexts that are not nested may have any workers, whatever the main one has.
        let outermost = parent == 0;
        let inherited = if outermost { self.workers.ids().collect() } else { around.members().workers.clone() };
        let workers = sorted(workers.unwrap_or_else(|| inherited.clone()));
        self.check_workers(&workers, || cannot_have(&name))?;
        refuse_outsiders(&name, &around.name, &workers, &inherited)?;
        // Before anyone can push into the new context: wake-ups must look at memberships from now on.
        self.workers.confine();
        let count = self.workers.count;
        let index = self.contexts.push(ContextState::inside(parent, name, policy, count));
        change.contexts.push((index, Vec::new(), workers));
        change.make();
        Ok(index)
    }

    /// Gives a context other workers, computed from those it has.
    pub(crate) fn resize(&self, index: u32, new: impl FnOnce(&[WorkerId]) -> Vec<WorkerId>) -> Result<()> {
        let mut change = self.begin_change()?;
        let state = self.alive(index)?;
        let old = state.members().workers.clone();
        let workers = sorted(new(&old));
        self.check_workers(&workers, || cannot_have(&state.name))?;
        if state.parent() != 0 {
            let around = self.context(state.parent());
            refuse_outsiders(&state.name, &around.name, &workers, &around.members().workers)?;
        }
        for inner in if index == 0 { Vec::new() } else { self.inside_of(index) } {
            let before = self.context(inner).members().workers.clone();
            let after: Vec<_> = before.iter().copied().filter(|w| workers.contains(w)).collect();
            if after.len() < before.len() {
                change.contexts.push((inner, before, after));
            }
        }
        change.contexts.push((index, old, workers));
        change.make();
        Ok(())
    }

    /// Deletes a context, whose tasks go on in the one around it.
    pub(crate) fn delete_context(&self, index: u32) -> Result<()> {
        let mut change = self.begin_change()?;
        let state = self.alive(index)?;
        if index == 0 {
            return Err(Error::new(ErrorKind::Context, "the main context cannot be deleted"));
        }
        let parent = state.parent();
        for (inner, context) in self.contexts.iter() {
            if inner != index && context.parent() == index {
                context.set_parent(parent);
            }
        }
        change.contexts.push((index, state.members().workers.clone(), Vec::new()));
        // First, so that who waits for the context around it from now on waits for these tasks too.
        self.context(parent).expect_heritage();
        state.set_heir(parent);
        change.make();
        drop(change);
        self.move_to_heir(index);
        self.retire(index);
        Ok(())
    }

    /// The workers that belong to every context before anything runs.
    pub(crate) fn found_main_context(&self) {
        let all: Vec<WorkerId> = self.workers.ids().collect();
        let main = self.context(0);
        main.publish(&all);
        main.policy.set_workers(&all);
        for worker in all {
            // SAFETY: no thread drives a worker yet, and nobody else has the runtime.
            unsafe { self.workers.seat(worker).set_member(0, true) };
        }
    }

    fn begin_change(&self) -> Result<Change<'_>> {
        let in_operation = |w: WorkerId| self.workers.seat(w).state.is_in_operation();
        if self.workers.current().is_some_and(in_operation) {
            return Err(Error::new(ErrorKind::Context, "a policy cannot change contexts while it chooses a task"));
        }
        if self.changes.by.load(Ordering::SeqCst) == this_thread() {
            return Err(Error::new(ErrorKind::Context, "a policy cannot change contexts while its workers change"));
        }
        let turn = lock(&self.changes.turn);
        self.changes.by.store(this_thread(), Ordering::SeqCst);
        Ok(Change { core: self, _turn: turn, contexts: Vec::new() })
    }

    /// A context that was not deleted.
    fn alive(&self, index: u32) -> Result<&ContextState> {
        let state = self.context(index);
        if state.is_deleted() {
            return Err(Error::new(ErrorKind::Context, format!("context `{}` was deleted", state.name)));
        }
        Ok(state)
    }

    /// All contexts inside of one, at any depth.
    fn inside_of(&self, index: u32) -> Vec<u32> {
        let mut inside = Vec::new();
        // An inner context is younger than the one around it, also after that one's own context was deleted.
        for (inner, context) in self.contexts.iter() {
            if inner != index && !context.is_deleted() {
                let parent = context.parent();
                if parent == index || inside.contains(&parent) {
                    inside.push(inner);
                }
            }
        }
        inside
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        self.core.changes.by.store(0, Ordering::SeqCst);
    }
}

impl Change<'_> {
    /// Makes the change.
    fn make(&mut self) {
        let core = self.core;
        core.workers.confine();
        // Not whatever worker the thread drives: only while it runs a task is it certain that nobody else drives that worker.
        let this = core.running_worker();
        let concerned = sorted(self.contexts.iter().flat_map(|(_, old, new)| old.iter().chain(new).copied()).collect());
        let others = || concerned.iter().copied().filter(|&worker| Some(worker) != this);
        for worker in others() {
            core.workers.seat(worker).state.announce();
            core.changes.note(Told::Announced(worker));
        }
        let mut needed: Vec<WorkerId> = Vec::new();
        for (index, old, new) in self.contexts.drain(..) {
            let context = core.context(index);
            context.publish(&new);
            context.policy.set_workers(&new);
            // In one order with pushes: either a task that was pushed is seen here, or whoever pushed it sees the new workers
            // and wakes one; see `Core::give`. No worker of the context is in an operation, so nothing is on its way from one
            // queue to another.
            fence(Ordering::SeqCst);
            if !context.policy.is_empty() {
                needed.extend(&new);
            }
            for &worker in old.iter().filter(|w| !new.contains(w)) {
                // SAFETY: this thread holds the lock for changes. It has announced the change to the worker, which is
                // therefore not in an operation; or it is the worker, and runs a task, which is not part of an operation.
                unsafe { core.workers.seat(worker).set_member(index, false) };
            }
            for &worker in new.iter().filter(|w| !old.contains(w)) {
                // SAFETY: as above.
                unsafe { core.workers.seat(worker).set_member(index, true) };
            }
            core.tracer.context_changed(index, this);
        }
        for worker in others() {
            core.changes.note(Told::Done(worker));
            core.workers.seat(worker).state.done();
        }
        // Tasks may wait for those who came, and those who sleep do not know. Nobody else is woken: where contexts are changed
        // without a pause workers would never sleep all at once, and a stall would never be seen.
        for worker in sorted(needed) {
            core.workers.sleep.wake_worker(worker.index());
        }
        core.wake_family_waits();
        core.teams.reconsider(core);
    }
}

/// In ascending order, each once.
fn sorted(mut workers: Vec<WorkerId>) -> Vec<WorkerId> {
    workers.sort_unstable();
    workers.dedup();
    workers
}

/// How an error begins about workers that a context cannot have.
pub(super) fn cannot_have(context: &str) -> String {
    format!("context `{context}` cannot have")
}

fn refuse_outsiders(name: &str, around: &str, workers: &[WorkerId], allowed: &[WorkerId]) -> Result<()> {
    match workers.iter().find(|w| !allowed.contains(w)) {
        Some(worker) => Err(Error::new(
            ErrorKind::Context,
            format!("{} {worker}, which is not in the context `{around}` around it", cannot_have(name)),
        )),
        None => Ok(()),
    }
}
