//! Which ready task runs next, and where.
//!
//! | file | concept |
//! |---|---|
//! | [`queue`] | reusable pieces: queues with a published length |
//! | [`stealing`] | a queue for each worker, and stealing from the nearest (the default) |
//! | [`central`] | one queue for all: by arrival, or by priority |

pub mod central;
pub mod queue;
pub mod stealing;

use crate::plan::replay::PlanState;
use crate::task::record::TaskId;

/// The number of a worker in its runtime.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WorkerId(pub(crate) u32);

impl WorkerId {
    /// The number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A task that may run now.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// The task, or the address of the plan.
    what: u64,
    /// The node of the plan, or what else it is.
    run: u32,
    pub(crate) priority: i32,
}

impl Ready {
    const TASK: u32 = u32::MAX;
    const SHARE: u32 = u32::MAX - 1;

    pub(crate) fn task(id: TaskId, priority: i32) -> Self {
        Self { what: id.bits(), run: Self::TASK, priority }
    }

    /// A node of a plan.
    pub(crate) fn node(plan: &PlanState, node: u32, priority: i32) -> Self {
        Self { what: std::ptr::from_ref(plan).expose_provenance() as u64, run: node, priority }
    }

    /// A share of the nodes that a plan starts with.
    pub(crate) fn share(plan: &PlanState) -> Self {
        Self { what: std::ptr::from_ref(plan).expose_provenance() as u64, run: Self::SHARE, priority: i32::MAX }
    }

    /// What is ready.
    pub(crate) fn kind(&self) -> ReadyKind {
        let plan = || std::ptr::with_exposed_provenance(self.what as usize);
        match self.run {
            Self::TASK => ReadyKind::Task(TaskId::from_bits(self.what)),
            Self::SHARE => ReadyKind::Share(plan()),
            node => ReadyKind::Node(plan(), node),
        }
    }

    /// Tasks with a higher priority should start first.
    pub fn priority(&self) -> i32 {
        self.priority
    }
}

/// What is ready. The plan of a node lives until the run is complete, which is after all its nodes.
pub(crate) enum ReadyKind {
    Task(TaskId),
    Node(*const PlanState, u32),
    Share(*const PlanState),
}

/// Decides which ready task runs next on which worker.
///
/// One instance serves one context. All methods may be called by several threads at once, and none of them may block.
/// Every task that is pushed must be popped exactly once. The workers are those of the context at the time: see
/// [`Policy::set_workers`].
pub trait Policy: Send + Sync {
    /// Takes a task that became ready: on a worker, or outside of all workers.
    fn push(&self, task: Ready, by: Option<WorkerId>);

    /// The task that a worker should run next.
    fn pop(&self, worker: WorkerId) -> Option<Ready>;

    /// How many tasks wait here, at least roughly; exactly zero when there are none.
    fn len(&self) -> usize;

    /// Whether no tasks wait here.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The context has other workers now. No worker of the context pushes or pops meanwhile. Tasks that wait at workers
    /// that left must stay reachable.
    fn set_workers(&self, workers: &[WorkerId]);

    /// How many tasks a worker took from others so far, for statistics.
    fn stolen(&self, _worker: WorkerId) -> u64 {
        0
    }

    /// Whether a worker may go on with a task that its own last task made ready, without asking.
    fn follows_on(&self) -> bool {
        false
    }
}
