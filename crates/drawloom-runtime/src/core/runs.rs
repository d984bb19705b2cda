//! Runs of plans: many nodes in the place of one body.
//!
//! Nodes that are tasks of their own have a record, and are children of the run. Everything can happen to them that happens to
//! tasks; only their failures are kept with the record, for the run to report.

use std::mem::MaybeUninit;

use super::{Core, Local, Owned, SharedLocal};
use crate::data::region::{Handle, Region};
use crate::data::value::Value;
use crate::error::{Error, ErrorKind, Result};
use crate::order::history::Comer;
use crate::panic;
use crate::plan::apart::NodeTask;
use crate::plan::replay::{At, PlanState, ReadyNode};
use crate::sync::Arc;
use crate::sync::atomic::Ordering;
use crate::task::body::{Body, BodyTable, Payload};
use crate::task::record::{Kind, PAYLOAD, TaskId, flag};
use crate::task::spec::Spec;

/// The body of a run, in the payload of its record.
struct RunBody {
    /// None once the run has begun, or will not.
    plan: Option<Arc<PlanState>>,
    /// Whether the run has its place in the order, so that it spoils what it does not write.
    placed: bool,
}

/// How runs begin, and how their bodies are dropped.
static RUN: BodyTable = BodyTable {
    call: |payload, _| {
        // SAFETY: the payload is that of a run, as the table is.
        if let Some(plan) = unsafe { run_body(payload) }.plan.take() {
            begin(&plan);
        }
        Ok(())
    },
    // SAFETY: as above.
    drop: |payload| drop(unsafe { run_body(payload) }.plan.take()),
    again: false,
};

/// The body of a run.
///
/// # Safety
/// The payload was written by [`Core::submit_run`], and the calling thread has the task.
unsafe fn run_body<'a>(payload: *mut Payload) -> &'a mut RunBody {
    const { assert!(size_of::<RunBody>() <= size_of::<Payload>() && align_of::<RunBody>() <= align_of::<Payload>()) }
    // SAFETY: promised by the caller.
    unsafe { &mut *payload.cast::<RunBody>() }
}

impl Core {
    /// Submits a run of a plan: a task whose arguments are everything that the plan touches.
    pub(crate) fn submit_run(&self, plan: &Arc<PlanState>, context: Result<u32>) -> TaskId {
        let mut spec = Spec::new(plan.name(), plan.location(), *context.as_ref().unwrap_or(&0));
        let (id, record) = self.take_record(!Self::is_in_task());
        spec.context = self.enter_context(spec.context);
        let mut body = Body { payload: [MaybeUninit::uninit(); PAYLOAD], table: &RUN };
        // SAFETY: the payload has room for the body, which `run_body` has checked.
        unsafe {
            (&raw mut body.payload).cast::<RunBody>().write(RunBody { plan: Some(Arc::clone(plan)), placed: false })
        };
        let task = self.describe(id, record, Kind::Task, &mut spec, body, None);
        record.flags.fetch_or(flag::RUN, Ordering::Relaxed);
        let mut waits = super::WAITS.take();
        waits.clear();
        let refused = if let Some(origin) = self.running_origin() {
            Some((ErrorKind::Plan, format!("cannot be run by {origin}: plans are run from outside of tasks")))
        } else if self.closed.load(Ordering::Relaxed) {
            Some((ErrorKind::ShutDown, "cannot be run: the runtime was shut down".to_owned()))
        } else if let Err(refusal) = self.refuse_inner(plan.whole()) {
            Some((refusal.kind, refusal.message))
        } else {
            let missing = self.in_history(&self.outermost, |history| {
                let missing = plan.missing();
                let comer = Comer::plain(id, plan.whole());
                // Nothing can be refused: the arguments of a run do not overlap.
                let _ = history.order(self, comer, &mut waits, &mut Vec::new());
                // From here on the run has its place in the order, and spoils what it does not write.
                // SAFETY: this thread is submitting the task, whose body was written above.
                unsafe { run_body(record.payload()) }.placed = true;
                self.trace_submission(&task, None, plan.whole());
                if self.tracer.is_on() {
                    let operators = plan.operators();
                    self.tracer.run(id, &plan.mark, |recording, tables| plan.describe(&operators, recording, tables));
                }
                missing
            });
            let misplaced = context.err().map(|error| (error.kind(), error.message().to_owned()));
            misplaced.or(missing.map(|message| (ErrorKind::Uninitialised, message)))
        };
        if let Some((kind, message)) = refused {
            self.refuse(&task, Error::of_task(kind, spec.origin(), message));
        }
        self.finish_submission(task, &waits, &[]);
        super::WAITS.set(waits);
        id
    }

    /// A run was cancelled: what it should have written is spoiled.
    #[cold]
    pub(super) fn spoil_run(&self, run: &Owned<'_>, because: &Error) {
        // SAFETY: this thread has the task, whose flags say that it is a run.
        let body = unsafe { run_body(run.record.payload()) };
        if let Some(plan) = body.plan.as_ref().filter(|_| body.placed) {
            plan.spoil(because);
        }
    }

    /// What a run that has begun was cancelled for, if it was.
    #[cold]
    pub(crate) fn why_cancelled(&self, run: TaskId, context: u32) -> Option<Error> {
        self.is_cancelled(run).then(|| self.failures.cancellation(run, |of| self.belongs_to(context, of)))?
    }

    /// The run is complete. If its own body has returned, so is the task that stands for it.
    pub(crate) fn end_run(&self, local: &mut Local, run: TaskId, error: Option<Error>) {
        let record = self.slab.get(run.index());
        if let Some(error) = error {
            record.flags.fetch_or(flag::FAILED, Ordering::Relaxed);
            self.failures.note(run, TaskId::NONE, error, true);
        }
        // AcqRel: as when a child is complete.
        if record.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: its nodes were the last part of it.
            unsafe { self.complete(local, run.index()) };
        }
    }

    pub(crate) fn is_serial(&self) -> bool {
        self.serial.is_some()
    }

    /// Runs a node of a plan, or a share of its nodes.
    pub(crate) fn run_plan(&self, local: &mut Local, node: ReadyNode) {
        if let Some(plan) = node.run(self, local) {
            self.release_plan(local, plan);
        }
    }

    /// A run is over, and does not hold its plan any more.
    pub(super) fn release_plan(&self, local: &mut Local, plan: Arc<PlanState>) {
        self.settle_reserved(local);
        let name = plan.name();
        // If it was the last one, bodies are dropped, which are the user's.
        if let Err(said) = panic::catch(|| drop(plan)) {
            let message = format!("dropping what the tasks of plan `{}` captured panicked: {said}", name.as_str());
            self.failures.note_other(Error::new(ErrorKind::Panicked, message));
        }
    }

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
        let (id, record) = self.take_record(false);
        let parent = self.slab.get(run.index());
        parent.open.fetch_add(1, Ordering::Relaxed);
        spec.context = self.enter_context(spec.context);
        // SAFETY: the run has a scope since it began, and nothing changes its rare parts until it is complete, which is after this
        // child.
        let scope = unsafe { parent.extras() }.and_then(|extras| extras.inside.as_deref());
        let task = self.describe(id, record, Kind::Task, &mut spec, body, scope);
        announce(id);
        match (spec.refused.take(), because) {
            (Some(refusal), _) => self.refuse(&task, refusal),
            (None, Some(because)) => self.cancel_for(&task, &because),
            (None, None) => {}
        }
        self.finish_submission(task, &[], &[]);
    }

    /// A task that stood for a node is complete, and so is the node.
    #[cold]
    pub(super) fn end_node(&self, local: &mut Local, mut task: NodeTask) {
        let plan = Arc::clone(&task.plan);
        let over = plan.end_apart(self, local, &mut task);
        drop((plan, task));
        if let Some(plan) = over {
            self.release_plan(local, plan);
        }
    }

    /// Does something while the calling thread counts as running nodes of a plan.
    pub(crate) fn running_nodes<T>(&self, local: &mut Local, at: &At<'_>, f: impl FnOnce(SharedLocal<'_>) -> T) -> T {
        let run = at.state.run();
        let local = SharedLocal::new(local);
        self.as_running(local, run, self.slab.get(run.index()), Some(at), |_| f(local))
    }

    /// The region that keeps the runs of one plan apart.
    pub(crate) fn make_turn(self: &Arc<Self>, name: &str) -> Value<u8> {
        use crate::data::piece::Shape;
        use crate::data::tree::{Buffer, ElementType};
        let element = ElementType::host::<u8>();
        let shape = Shape::Line { first: 0, len: 1 };
        let root = self.make_tree(format!("turn of {name}"), element, Buffer::new(vec![0_u8]), shape, true);
        // SAFETY: the region has one element, of this type.
        unsafe { Value::from_handle(Handle::whole(root)) }
    }
}

/// Begins a run, from the body of the task that stands for it.
fn begin(plan: &Arc<PlanState>) {
    let core = plan.core();
    core.with_running(|running| {
        let running = running.expect("this is called by the body of a run");
        // One more, for the nodes: the task is complete when both its body and they are.
        running.record.open.fetch_add(1, Ordering::Relaxed);
        if plan.has_apart() {
            // The scope of nodes that are tasks of their own, made before several threads look at it.
            core.scope_inside(running);
            running.record.open.fetch_sub(1, Ordering::Relaxed);
        }
        // SAFETY: the body does nothing else with the state of its thread.
        let local = unsafe { running.local.exclusive() };
        plan.begin(core, local, running.id, running.record.context());
    });
}
