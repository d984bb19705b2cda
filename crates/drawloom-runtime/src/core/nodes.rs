//! Nodes of plans that are tasks of their own.
//!
//! Such a node has a record, and is a child of the run. Everything can happen to it that happens to tasks; only its failure
//! is kept with the record, for the run to report.

use super::Core;
use super::Local;
use crate::error::{Error, ErrorKind};
use crate::order::scope::Scope;
use crate::plan::apart::NodeTask;
use crate::sync::atomic::Ordering;
use crate::task::body::Body;
use crate::task::record::{Kind, TaskId, flag};
use crate::task::spec::Spec;

impl Core {
    /// Submits a node of a run, all of whose earlier nodes are complete. It does not run `because` of a failure, if there
    /// is one. `announce` is told its id before it can run.
    pub(crate) fn submit_node(
        &self,
        run: TaskId,
        mut spec: Spec,
        body: Body,
        because: Option<Error>,
        announce: impl FnOnce(TaskId),
    ) {
        let context = self.context(spec.context);
        if context.is_deleted() {
            spec.refuse(ErrorKind::Context, format!("cannot run in context `{}`, which was deleted", context.name));
        }
        self.refuse_team(&mut spec);
        let (index, record) = self.take_record(false);
        let id = TaskId::new(index, record.generation());
        let parent = self.slab.get(run.index());
        parent.open.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the run has a scope since it began, and nobody changes its description until it is complete, which is
        // after this child.
        let scope: *const Scope = unsafe { (*parent.description.get()).assume_init_ref() }
            .extras
            .as_ref()
            .and_then(|extras| extras.inside.as_ref())
            .map_or(std::ptr::null(), std::sync::Arc::as_ptr);
        spec.context = self.enter_context(spec.context);
        // SAFETY: as above.
        self.describe(record, Kind::Task, &mut spec, body.table, unsafe { scope.as_ref() }, body.payload);
        announce(id);
        match (spec.refused.take(), because) {
            (Some(refusal), _) => self.failures.refuse(id, refusal),
            (None, Some(because)) => self.failures.cancel_for(id, &because),
            (None, None) => return self.finish_submission(id, &[], &[]),
        }
        record.flags.fetch_or(flag::CANCELLED, Ordering::Relaxed);
        self.finish_submission(id, &[], &[]);
    }

    /// A task that stood for a node is complete, and so is the node.
    #[cold]
    pub(super) fn end_node(&self, local: &mut Local, task: NodeTask) {
        let plan = task.plan;
        // SAFETY: the run holds the plan until its last node is complete, and this one was not.
        if unsafe { &*plan }.end_apart(self, local, task) {
            // SAFETY: the run is over, and the address is its own.
            unsafe { self.release_plan(local, plan) };
        }
    }
}
