//! Runs of plans: many nodes in the place of one body.

use std::mem::MaybeUninit;

use super::{Core, Local, RUNNING, Running};
use crate::access::Frame;
use crate::data::region::{Handle, Region};
use crate::data::value::Value;
use crate::error::{Error, ErrorKind, Result};
use crate::order::history::Comer;
use crate::panic;
use crate::plan::replay::{At, PlanState};
use crate::policy::{Ready, ReadyKind};
use crate::sync::Arc;
use crate::sync::atomic::Ordering;
use crate::task::body;
use crate::task::record::{Kind, PAYLOAD, Record, TaskId, flag};
use crate::task::spec::Spec;

/// Where the record of a run keeps the address of its plan, beside the body, which takes less room.
const PLAN: usize = PAYLOAD - 1;

impl Core {
    /// Submits a run of a plan: a task whose arguments are everything that the plan touches.
    pub(crate) fn submit_run(&self, plan: &Arc<PlanState>, context: Result<u32>) -> TaskId {
        let mut spec = Spec::new(plan.name(), plan.location(), *context.as_ref().unwrap_or(&0));
        let (index, record) = self.take_record(!Self::is_in_task());
        let id = TaskId::new(index, record.generation());
        spec.context = self.enter_context(spec.context);
        let state = Arc::clone(plan);
        let body = body::once(move |_: &mut Frame<'_>| {
            begin(&state);
            Ok(())
        });
        let mut payload = body.payload;
        payload[PLAN] = MaybeUninit::new(0);
        self.describe(record, Kind::Task, &mut spec, body.table, None, payload);
        record.flags.fetch_or(flag::RUN, Ordering::Relaxed);
        let mut waits = super::WAITS.take();
        waits.clear();
        let refused = if let Some(running) = self.running() {
            let origin = self.origin_of(running);
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
                // SAFETY: this thread is submitting the task.
                let description = unsafe { (*record.description.get()).assume_init_mut() };
                description.payload[PLAN] = MaybeUninit::new(Arc::as_ptr(plan).expose_provenance() as u64);
                self.trace_submission(id, None, plan.whole(), None);
                if self.tracer.is_on() {
                    let operators = plan.operators();
                    self.tracer.plan(&plan.mark, |recording, tables| plan.describe(&operators, recording, tables));
                }
                missing
            });
            let misplaced = context.err().map(|error| (error.kind(), error.message().to_owned()));
            misplaced.or(missing.map(|message| (ErrorKind::Uninitialised, message)))
        };
        if let Some((kind, message)) = refused {
            self.failures.refuse(id, Error::of_task(kind, spec.origin(), message));
            record.flags.fetch_or(flag::CANCELLED, Ordering::Relaxed);
        }
        self.finish_submission(id, &waits, &[]);
        super::WAITS.set(waits);
        id
    }

    /// A run was cancelled: what it should have written is spoiled.
    #[cold]
    pub(super) fn spoil_run(&self, record: &Record, because: &Error) {
        // SAFETY: only this thread has the task, and `submit_run` wrote the word.
        let plan = unsafe { (*record.description.get()).assume_init_ref().payload[PLAN].assume_init() };
        // SAFETY: the body holds the plan, and is not dropped yet; the address is zero if there is nothing to spoil.
        if let Some(plan) = unsafe { std::ptr::with_exposed_provenance::<PlanState>(plan as usize).as_ref() } {
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
            self.complete(local, run.index());
        }
    }

    /// Gives a node of a plan that is ready to the policy of a context.
    #[inline]
    pub(crate) fn push_node(&self, local: &Local, context: u32, ready: Ready) {
        self.give(context, ready, local.worker.filter(|_| context == local.context));
    }

    pub(crate) fn is_serial(&self) -> bool {
        self.serial.is_some()
    }

    /// Runs a node of a plan, or a share of its nodes.
    pub(crate) fn run_plan(&self, local: &mut Local, ready: Ready) {
        let (plan, over) = match ready.kind() {
            ReadyKind::Task(_) => unreachable!("tasks are run by `run_ready`"),
            // SAFETY: the run holds the plan until its last node is complete; see `PlanState::begin`.
            ReadyKind::Node(plan, node) => (plan, unsafe { &*plan }.run_from(self, local, node)),
            // SAFETY: as above. A share may be taken when no nodes are left, but then the run is not complete before
            // this share is: it counts as a node that nobody waits for.
            ReadyKind::Share(plan) => (plan, unsafe { &*plan }.run_share(self, local)),
        };
        if over {
            // SAFETY: the run is over, and the address is its own.
            unsafe { self.release_plan(local, plan) };
        }
    }

    /// A run is over, and does not hold its plan any more.
    ///
    /// # Safety
    /// The count is that of the run, which [`PlanState::begin`] left there. Nobody knows the address any more who has no
    /// count.
    pub(super) unsafe fn release_plan(&self, local: &mut Local, plan: *const PlanState) {
        self.settle_reserved(local);
        // SAFETY: promised by the caller.
        let plan = unsafe { Arc::from_raw(plan) };
        let name = plan.name();
        // If it was the last one, bodies are dropped, which are the user's.
        if let Err(said) = panic::catch(|| drop(plan)) {
            let message = format!("dropping what the tasks of plan `{}` captured panicked: {said}", name.as_str());
            self.failures.note_other(Error::new(ErrorKind::Panicked, message));
        }
    }

    /// Does something while the calling thread counts as running nodes of a plan.
    pub(crate) fn running_nodes<T>(&self, local: &mut Local, at: &At<'_>, f: impl FnOnce(&mut Local) -> T) -> T {
        let run = at.state.run();
        let running = Running {
            core: self,
            id: run,
            record: self.slab.get(run.index()),
            local: &raw mut *local,
            node: Some(at),
            outer: RUNNING.get(),
        };
        let before = RUNNING.replace((&raw const running).cast());
        let result = f(local);
        RUNNING.set(before);
        result
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
    let running = RUNNING.get();
    // SAFETY: this is called by a body, so the pointer is that of the running task.
    let running = unsafe { &*running };
    // SAFETY: the core outlives its tasks.
    let core = unsafe { &*running.core };
    // One more, for the nodes: the task is complete when both its body and they are.
    running.record.open.fetch_add(1, Ordering::Relaxed);
    if plan.has_apart() {
        // The scope of nodes that are tasks of their own, made before several threads look at it.
        core.scope_inside(running);
        running.record.open.fetch_sub(1, Ordering::Relaxed);
    }
    // SAFETY: the pointer is that of the thread's own state, which nobody else uses while the body runs.
    let local = unsafe { &mut *running.local };
    // SAFETY: the context of a task does not change.
    let context = unsafe { *running.record.context.get() };
    plan.begin(core, local, running.id, context);
}
