//! A plan, as its users hold it.

use super::compile::{Bound, Pattern};
use super::replay::PlanState;
use crate::context::Context;
use crate::core::Core;
use crate::error::Result;
use crate::sync::Arc;
use crate::task::future::Future;

/// Recorded tasks, checked and compiled. Running it costs little more than the tasks themselves.
///
/// Cloning gives another handle to the same plan. Runs of one plan follow each other; different plans run at the same time
/// as far as their data allows.
#[derive(Clone)]
pub struct Plan {
    core: Arc<Core>,
    state: Arc<PlanState>,
}

impl Plan {
    pub(super) fn new(core: &Arc<Core>, pattern: Arc<Pattern>, bound: Bound) -> Self {
        Self { core: Arc::clone(core), state: Arc::new(PlanState::new(core, pattern, bound)) }
    }

    pub(super) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(super) fn state(&self) -> &PlanState {
        &self.state
    }

    /// Runs the plan once, and waits until it is complete.
    ///
    /// # Errors
    /// The first of the tasks that failed, in the order in which they were recorded, with those that were cancelled for it
    /// and with the other failures. When no task of the plan failed, but some were cancelled for what failed before the run,
    /// the run counts as cancelled for that. Inside of a task.
    pub fn run(&self) -> Result<()> {
        self.core.refuse_run_in_task(self.state.name().as_str())?;
        self.start().wait()
    }

    /// Runs the plan once in a context, and waits until it is complete.
    ///
    /// # Errors
    /// As [`Plan::run`], and when the context was deleted or belongs to another runtime.
    pub fn run_in(&self, context: &Context) -> Result<()> {
        self.core.refuse_run_in_task(self.state.name().as_str())?;
        self.start_in(context).wait()
    }

    /// Submits one run. It is ordered with other tasks and runs by the regions that the plan touches.
    pub fn start(&self) -> Future<()> {
        self.submit(Ok(0))
    }

    /// Submits one run in a context: its tasks run on workers of the context, as its policy decides, except for those that
    /// were recorded to run in another one.
    pub fn start_in(&self, context: &Context) -> Future<()> {
        self.submit(context.index_in(&self.core))
    }

    fn submit(&self, context: Result<u32>) -> Future<()> {
        let id = self.core.submit_run(&self.state, context);
        Future::without_value(Arc::clone(&self.core), id)
    }

    /// How many tasks one run has.
    pub fn len(&self) -> usize {
        self.state.pattern.task_count
    }

    /// Whether a run does nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many nodes the plan has: tasks, folds of reductions, and points that stand for several tasks.
    pub fn nodes(&self) -> usize {
        self.state.pattern.nodes.len()
    }

    /// How many orders between nodes the plan keeps.
    pub fn edges(&self) -> usize {
        self.state.pattern.later.len()
    }

    /// The number of tasks on the longest chain: no machine can run the plan in fewer steps.
    pub fn depth(&self) -> usize {
        super::thin::depth(&self.state.pattern)
    }
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plan({}, {} tasks)", self.state.pattern.name.as_str(), self.len())
    }
}
