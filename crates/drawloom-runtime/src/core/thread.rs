//! What a thread knows that runs tasks, and which one it runs.
//!
//! A thread may be in the middle of several tasks: those that wait for their children, and those of another runtime that
//! submitted to a serial one. They are a list from the innermost outwards, which every wait looks at.

use std::cell::Cell;
use std::marker::PhantomData;

use super::Core;
use super::inputs::Arriving;
use crate::access::Scratchpad;
use crate::error::TaskOrigin;
use crate::plan::replay::At;
use crate::policy::{Ready, WorkerId};
use crate::sync::thread_local;
use crate::task::record::{Record, TaskId};
use crate::worker::sleep::Patience;

/// What a thread that runs tasks carries along.
pub(crate) struct Local {
    pub(crate) worker: Option<WorkerId>,
    /// The context of the last task that was chosen, and the worker's generation of memberships at that time.
    pub(crate) context: u32,
    pub(crate) generation: u64,
    /// Tasks that became ready and were not handed out yet.
    pub(crate) ready: Vec<(u32, Ready)>,
    /// A task that waits for one more, and is this worker's when that is complete.
    pub(super) reserved: Option<u32>,
    /// Records that can be used again.
    pub(super) freed: Vec<u32>,
    /// One for each level of nesting, as a task that waits for its children keeps its own.
    pub(super) scratchpads: Vec<Scratchpad>,
    /// Tasks that are complete and not yet taken care of.
    pub(super) stack: Vec<u32>,
    /// How long a worker looks for work before it sleeps.
    pub(crate) patience: Patience,
    /// A task that this worker has claimed, and whose data is on its way.
    pub(super) arriving: Option<Box<Arriving>>,
    /// Whether the thread drives a device. Then it runs nothing else, and cannot wait inside of tasks.
    pub(crate) device: bool,
    /// Whether the body that the thread runs sleeps by its own means. It counts as one that waits, and cannot run anything.
    pub(crate) asleep: bool,
}

impl Local {
    pub(crate) fn take_scratch(&mut self) -> Scratchpad {
        self.scratchpads.pop().unwrap_or_default()
    }

    pub(crate) fn give_scratch(&mut self, scratch: Scratchpad) {
        self.scratchpads.push(scratch);
    }

    /// The state of a thread that drives a worker, with room for what it will need.
    pub(crate) fn of_worker(core: &Core, worker: WorkerId) -> Self {
        let mut local = Self::new(Some(worker));
        local.freed.reserve(2 * core.slab.keep);
        local
    }

    /// The worker that the thread drives, if it belongs to a context.
    pub(crate) fn worker_in(&self, context: u32) -> Option<WorkerId> {
        self.worker.filter(|_| self.context == context)
    }

    pub(crate) fn new(worker: Option<WorkerId>) -> Self {
        Self {
            worker,
            context: 0,
            generation: 0,
            ready: Vec::new(),
            reserved: None,
            freed: Vec::new(),
            scratchpads: Vec::new(),
            stack: Vec::new(),
            patience: Patience::default(),
            arriving: None,
            device: false,
            asleep: false,
        }
    }
}

/// The state of the calling thread while it runs nodes of a plan.
///
/// A body may reach the same state through [`Running`], so there is no reference to it meanwhile: each method reads what it
/// needs and returns a copy.
#[derive(Clone, Copy)]
pub(crate) struct SharedLocal<'a>(*const Local, PhantomData<&'a Local>);

impl<'a> SharedLocal<'a> {
    /// The state, and the same place for [`Running`]: what is read through the one may be changed through the other.
    pub(super) fn new(local: &'a mut Local) -> (Self, *mut Local) {
        let place = std::ptr::from_mut(local);
        (Self(place, PhantomData), place)
    }

    /// The worker that the thread drives, if it belongs to a context now.
    pub(crate) fn worker_in(self, context: u32) -> Option<WorkerId> {
        // SAFETY: the state is borrowed for `'a`, by this thread alone, and copies are read without a reference.
        unsafe { (*self.0).worker.filter(|_| (*self.0).context == context) }
    }

    /// The worker that the thread drives, and the generation of contexts that it has seen.
    pub(super) fn worker_and_generation(self) -> (Option<WorkerId>, u64) {
        // SAFETY: as above.
        unsafe { ((*self.0).worker, (*self.0).generation) }
    }
}

/// The task that a thread is running.
pub(crate) struct Running<'a> {
    pub(super) core: *const Core,
    pub(crate) id: TaskId,
    pub(super) record: &'a Record,
    pub(crate) local: *mut Local,
    /// For a node of a plan: which one. The record is then that of the run.
    pub(crate) node: Option<&'a At<'a>>,
    /// What the thread was running when this began: a task of the same runtime that waits for this one, or a task of
    /// another runtime.
    pub(super) outer: *const Running<'static>,
}

thread_local! {
    pub(super) static RUNNING: Cell<*const Running<'static>> = const { Cell::new(std::ptr::null()) };
    /// The runtime whose tasks this thread takes, runs and completes, until it returns from doing so.
    static INSIDE: Cell<*const Core> = const { Cell::new(std::ptr::null()) };
}

impl Core {
    /// The task of this runtime that the calling thread is running.
    #[inline]
    pub(crate) fn running(&self) -> Option<&Running<'_>> {
        let mut at = RUNNING.get().cast::<Running<'_>>();
        loop {
            // SAFETY: the pointer is set by `execute` for as long as the task runs on this thread, and is null otherwise; so
            // is that to what the thread ran before. The shortened lifetime is that of the record, which lives as long as
            // the core.
            let running = unsafe { at.as_ref() }?;
            if std::ptr::eq(running.core, self) {
                return Some(running);
            }
            // A task of another runtime, which a task of this one may be in the middle of.
            at = running.outer.cast();
        }
    }

    /// All tasks of this runtime that the calling thread is in the middle of, the innermost first.
    pub(crate) fn all_running(&self) -> impl Iterator<Item = TaskId> {
        let mut at = RUNNING.get();
        let all = std::iter::from_fn(move || {
            // SAFETY: as in `running`.
            let running = unsafe { at.as_ref() }?;
            at = running.outer;
            Some(running)
        });
        all.filter(|running| std::ptr::eq(running.core, self)).map(|running| running.id)
    }

    /// The task that the calling thread is in the middle of, if it is one of another runtime. When tasks of several runtimes
    /// are in the middle of each other, the innermost counts.
    pub(crate) fn foreign_task(&self) -> Option<TaskOrigin> {
        // SAFETY: as in `running`.
        let running = unsafe { RUNNING.get().as_ref() }.filter(|running| !std::ptr::eq(running.core, self))?;
        // SAFETY: a core outlives its tasks.
        Some(unsafe { &*running.core }.origin_of(running))
    }

    /// Whether the calling thread is in the middle of a task, of whatever runtime.
    #[inline]
    pub(crate) fn is_in_task() -> bool {
        !RUNNING.get().is_null()
    }

    /// Does something while the calling thread counts as one that completes tasks, which must not wait for itself.
    pub(crate) fn inside<T>(&self, f: impl FnOnce() -> T) -> T {
        let before = INSIDE.replace(self);
        let result = f();
        INSIDE.set(before);
        result
    }

    /// Whether the calling thread runs or completes tasks of this runtime, or drives a worker and may be between two steps.
    pub(crate) fn is_inside(&self) -> bool {
        self.running().is_some() || self.workers.current().is_some() || self.is_inside_now()
    }

    /// Whether the calling thread is in the middle of running or completing tasks of this runtime.
    pub(crate) fn is_inside_now(&self) -> bool {
        std::ptr::eq(INSIDE.get(), self)
    }
}
