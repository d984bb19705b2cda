//! Named sets of workers with a policy.
//!
//! | file | concept |
//! |---|---|
//! | this one | [`Context`]: the handle, and what can be done with it |
//! | [`state`] | what the engine keeps of a context |
//! | [`list`] | all contexts, and what becomes of those that were deleted |
//! | [`change`] | how the workers of contexts are changed while tasks run |
//!
//! A task belongs to a context: the one it was submitted to, or the main one. It runs on a worker that belongs to the
//! context at the moment the task is chosen. A worker may belong to several contexts, and asks them in turn.
//!
//! Contexts made by [`Loom::context`](crate::Loom::context) may have any workers. Those made by [`Context::context`] are
//! nested: the workers of an inner one are always among those of the outer one, and what is taken from the outer one is
//! taken from the inner one too.
//!
//! A context may lose all its workers while tasks wait in it. They wait until it gets workers again, or is deleted: the
//! tasks of a deleted context go on in the context around it, which is the main one for contexts that are not nested, and
//! belong to that one from then on. The number of a context is never used again, so a handle to a deleted context gives an
//! error, and never reaches a newer one.

pub(crate) mod change;
pub(crate) mod list;
pub(crate) mod state;

use crate::core::Core;
use crate::error::{Error, ErrorKind, Result};
use crate::policy::choice::Choice;
use crate::policy::{Policy, WorkerId, WorkersView};
use crate::sync::Arc;
pub(crate) use state::ContextState;

/// The number of a context in its runtime. There is no greatest one, and none is used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ContextId(pub(crate) u32);

impl ContextId {
    /// The number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A named set of workers with a policy. Tasks of a context run on its workers only.
///
/// ```
/// use drawloom_runtime::{Loom, Region};
///
/// let loom = Loom::builder().workers(3).build()?;
/// let side = loom.context("side").workers([loom.worker(1)?, loom.worker(2)?]).policy("prio").create()?;
/// let x = loom.value("x", 1);
/// loom.task("double").update(&x).in_context(&side).run(|x| *x *= 2);
/// side.remove_workers([loom.worker(1)?])?; // while the task runs
/// side.wait()?;
/// assert_eq!(x.get()?, 2);
/// side.delete()?;
/// assert!(side.delete().is_err());
/// # Ok::<(), drawloom_runtime::Error>(())
/// ```
#[derive(Clone)]
pub struct Context {
    core: Arc<Core>,
    index: u32,
}

/// A context that is being described. See [`Loom::context`](crate::Loom::context).
#[must_use = "a context is made by `create`"]
pub struct ContextBuilder {
    core: Arc<Core>,
    name: String,
    parent: u32,
    workers: Option<Vec<WorkerId>>,
    policy: Choice,
}

impl Context {
    pub(crate) fn new(core: &Arc<Core>, index: u32) -> Self {
        Self { core: Arc::clone(core), index }
    }

    pub(crate) fn index_in(&self, core: &Arc<Core>) -> Result<u32> {
        if !Arc::ptr_eq(&self.core, core) {
            let message = format!("cannot run in context `{}`, which belongs to another runtime", self.name());
            return Err(Error::new(ErrorKind::Foreign, message));
        }
        if self.state().is_err() {
            let message = format!("cannot run in context `{}`, which was deleted", self.name());
            return Err(Error::new(ErrorKind::Context, message));
        }
        Ok(self.index)
    }

    /// What the engine keeps of the context, unless it was deleted.
    fn state(&self) -> Result<&ContextState> {
        let state = self.core.context(self.index);
        if state.is_deleted() {
            return Err(Error::new(ErrorKind::Context, format!("context `{}` was deleted", state.name)));
        }
        Ok(state)
    }

    /// The number of the context.
    pub fn id(&self) -> ContextId {
        ContextId(self.index)
    }

    /// The name of the context.
    pub fn name(&self) -> &str {
        &self.core.context(self.index).name
    }

    /// The workers that belong to the context now, in ascending order.
    ///
    /// # Errors
    /// When the context was deleted.
    pub fn workers(&self) -> Result<Vec<WorkerId>> {
        Ok(self.state()?.members().workers.clone())
    }

    /// How many tasks are ready and wait for a worker.
    ///
    /// # Errors
    /// When the context was deleted.
    pub fn waiting(&self) -> Result<usize> {
        Ok(self.state()?.policy.len())
    }

    /// Adds workers. Those that belong to the context already stay.
    ///
    /// # Errors
    /// When the context was deleted, a worker belongs to another runtime or is not in the context around this one, and inside of a
    /// policy.
    pub fn add_workers(&self, workers: impl IntoIterator<Item = WorkerId>) -> Result<()> {
        let added: Vec<_> = workers.into_iter().collect();
        self.core.resize(self.index, |old| old.iter().copied().chain(added).collect())
    }

    /// Removes workers, from the contexts inside of this one too. A task that a removed worker runs is finished there.
    ///
    /// # Errors
    /// As [`Context::add_workers`].
    pub fn remove_workers(&self, workers: impl IntoIterator<Item = WorkerId>) -> Result<()> {
        let removed: Vec<_> = workers.into_iter().collect();
        self.core.check_workers(&removed, || change::cannot_have(self.name()))?;
        self.core.resize(self.index, |old| old.iter().copied().filter(|w| !removed.contains(w)).collect())
    }

    /// Gives the context exactly these workers.
    ///
    /// # Errors
    /// As [`Context::add_workers`].
    pub fn resize(&self, workers: impl IntoIterator<Item = WorkerId>) -> Result<()> {
        let workers: Vec<_> = workers.into_iter().collect();
        self.core.resize(self.index, |_| workers)
    }

    /// Describes a context inside of this one.
    pub fn context(&self, name: impl Into<String>) -> ContextBuilder {
        ContextBuilder::new(&self.core, name.into(), self.index)
    }

    /// Waits until every task of the context is complete. Tasks of contexts inside of it are their own, and not waited for.
    ///
    /// # Errors
    /// When the context was deleted, inside of a task, and when tasks wait that can never run.
    pub fn wait(&self) -> Result<()> {
        self.state()?;
        self.core.wait_for_context(self.index)
    }

    /// Gives up every task of the context that has not started. Those that run are finished, and so are those of contexts
    /// inside of it.
    ///
    /// Tasks that did not run count as cancelled: their futures, and the next wait for everything, say so. The context can
    /// be used as before.
    ///
    /// # Errors
    /// When the context was deleted.
    #[track_caller]
    pub fn cancel(&self) -> Result<()> {
        let place = std::panic::Location::caller();
        let name = &self.state()?.name;
        let message = format!("all tasks of context `{name}` were cancelled ({}:{})", place.file(), place.line());
        self.core.cancel(Some(self.index), Error::new(ErrorKind::Cancelled, message));
        Ok(())
    }

    /// Deletes the context. Tasks that have not started go on in the context around it, and so do tasks that were submitted
    /// and are not ready yet; contexts inside of this one are then inside of that one. Who waits for that one, or cancels it,
    /// means all these tasks too. The policy is dropped once the last of them is complete.
    ///
    /// # Errors
    /// When the context was deleted before, is the main one, and inside of a policy.
    pub fn delete(&self) -> Result<()> {
        self.core.delete_context(self.index)
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Context({} `{}`)", self.index, self.name())
    }
}

impl ContextBuilder {
    pub(crate) fn new(core: &Arc<Core>, name: String, parent: u32) -> Self {
        Self { core: Arc::clone(core), name, parent, workers: None, policy: Choice::default() }
    }

    /// The workers of the context. The default is all workers of the context around it, or of the runtime.
    pub fn workers(mut self, workers: impl IntoIterator<Item = WorkerId>) -> Self {
        self.workers = Some(workers.into_iter().collect());
        self
    }

    /// The policy, by name: `lws` (the default), `ws`, `eager`, `prio`, `random` or `random:SEED`.
    pub fn policy(mut self, name: impl Into<String>) -> Self {
        self.policy = Choice::Named(name.into());
        self
    }

    /// A policy of your own.
    pub fn policy_with(mut self, make: impl Fn(&WorkersView) -> Box<dyn Policy> + Send + Sync + 'static) -> Self {
        self.policy = Choice::made(make);
        self
    }

    /// Makes the context.
    ///
    /// # Errors
    /// When the policy does not exist, a worker belongs to another runtime or is not in the context around this one, that one was
    /// deleted, and inside of a policy.
    pub fn create(self) -> Result<Context> {
        let index = self.core.create_context(self.name, self.parent, self.workers, &self.policy)?;
        Ok(Context { core: self.core, index })
    }
}
