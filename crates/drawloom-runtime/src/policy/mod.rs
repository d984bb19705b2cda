//! Which ready task runs next, and where.
//!
//! | file | concept |
//! |---|---|
//! | [`queue`] | reusable pieces: queues with a published length |
//! | [`stealing`] | a queue for each worker, and stealing from the nearest (the default) |
//! | [`central`] | one queue for all: by arrival, or by priority |
//! | [`random`] | tasks are placed by lot |
//! | [`view`] | what a policy may know about the workers |
//! | [`choice`] | policies by name, and policies of users |
//! | `guarded` | what keeps a runtime sound whatever a policy of the user does |
//!
//! # A policy of your own
//!
//! A policy is asked where a ready task goes, and which one a worker takes next. This one runs what became ready last, on
//! whichever worker asks first:
//!
//! ```
//! use drawloom_runtime::policy::{Policy, Ready, WorkerId, queue::Queue};
//! use drawloom_runtime::Loom;
//!
//! #[derive(Default)]
//! struct LastFirst(Queue);
//!
//! impl Policy for LastFirst {
//!     fn push(&self, task: Ready, _by: Option<WorkerId>) {
//!         self.0.push_back(task);
//!     }
//!     fn pop(&self, _worker: WorkerId) -> Option<Ready> {
//!         self.0.pop_back()
//!     }
//!     fn len(&self) -> usize {
//!         self.0.len()
//!     }
//!     fn set_workers(&self, _workers: &[WorkerId]) {}
//! }
//!
//! let loom = Loom::builder().workers(2).policy_with(|_workers| Box::new(LastFirst::default())).build()?;
//! let x = loom.value("x", 1);
//! loom.task("double").update(&x).run(|x| *x *= 2);
//! assert_eq!(x.get()?, 2);
//! # Ok::<(), drawloom_runtime::Error>(())
//! ```

pub mod central;
pub mod choice;
pub(crate) mod guarded;
pub mod queue;
pub mod random;
pub mod stealing;
pub mod view;

pub use view::WorkersView;

use std::num::NonZeroU32;

use crate::plan::replay::ReadyNode;
use crate::task::record::TaskId;

/// The number of a worker in its runtime. Workers of two runtimes are never equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId {
    /// Never zero, so that a worker which may be missing takes no more room than one that is there.
    runtime: RuntimeNumber,
    number: u32,
}

/// Tells the workers of one runtime from those of another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RuntimeNumber(NonZeroU32);

/// How many runtimes have a number. No part of any protocol: a number only tells runtimes apart.
static RUNTIMES: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

impl RuntimeNumber {
    /// A number that no other runtime has, among the last four thousand million of this process.
    pub(crate) fn next() -> Self {
        let before = RUNTIMES.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Self(NonZeroU32::MIN.saturating_add(before))
    }

    /// The worker with a number.
    #[inline]
    pub(crate) const fn worker(self, number: u32) -> WorkerId {
        WorkerId { runtime: self, number }
    }
}

impl WorkerId {
    /// The number.
    #[inline]
    pub fn index(self) -> usize {
        self.number as usize
    }

    #[inline]
    pub(crate) fn number(self) -> u32 {
        self.number
    }

    /// Whether the worker is one of a runtime.
    pub(crate) fn is_of(self, runtime: RuntimeNumber) -> bool {
        self.runtime == runtime
    }

    /// A worker of no runtime in particular.
    #[cfg(test)]
    pub(crate) const fn of_test(number: u32) -> Self {
        RuntimeNumber(NonZeroU32::MAX).worker(number)
    }
}

impl std::fmt::Debug for WorkerId {
    /// Without the runtime's number, which depends on what else the process did.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WorkerId({})", self.number)
    }
}

impl std::fmt::Display for WorkerId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "worker {}", self.number)
    }
}

/// A task that may run now. There is one of it: a policy passes it on, and cannot make another one.
///
/// A policy of the user gets a number in its place, which the runtime exchanges for the task when it comes back.
#[derive(Debug)]
pub struct Ready {
    pub(crate) what: ReadyKind,
    pub(crate) priority: i32,
}

impl Ready {
    pub(crate) fn task(id: TaskId, priority: i32) -> Self {
        Self { what: ReadyKind::Task(id), priority }
    }

    /// Whether the order among ready tasks should follow its priority, also where that is not the only thing to follow.
    /// Nodes of plans whose priorities are those of their critical paths come in a good order already.
    #[inline]
    pub(crate) fn is_ranked(&self) -> bool {
        match &self.what {
            ReadyKind::Task(_) => self.priority != 0,
            ReadyKind::Node(ReadyNode { ranked, .. }) | ReadyKind::Ticket { ranked, .. } => *ranked,
        }
    }

    /// Tasks with a higher priority should start first.
    pub fn priority(&self) -> i32 {
        self.priority
    }
}

/// What is ready.
#[derive(Debug)]
pub(crate) enum ReadyKind {
    Task(TaskId),
    Node(ReadyNode),
    /// What a policy of the user has in the place of one of the others; see [`guarded`].
    Ticket {
        number: u64,
        ranked: bool,
    },
}

/// Decides which ready task runs next on which worker.
///
/// One instance serves one context. All methods may be called by several threads at once, and none of them may block or
/// change contexts. Every task that is pushed must come out exactly once, from the policy that it was pushed into. A task
/// that a policy keeps to itself is named when a wait reports a stall, and runs when its context is deleted; what was never
/// pushed into the policy is thrown away when it comes out. A panic of a user's policy is caught; the task at hand is kept.
pub trait Policy: Send + Sync {
    /// Takes a task that became ready: on a worker, or outside of all workers. The worker was in the context when it began
    /// what it does now, and may have left since.
    fn push(&self, task: Ready, by: Option<WorkerId>);

    /// The task that a worker of the context should run next. This is called inside of a scheduling operation of the
    /// worker, so that no context or team that concerns the worker changes meanwhile; and by [`Policy::drain`].
    fn pop(&self, worker: WorkerId) -> Option<Ready>;

    /// How many tasks wait here, at least roughly; exactly zero when there are none.
    fn len(&self) -> usize;

    /// Whether no tasks wait here.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The context has other workers now, in ascending order. No worker of the context, old or new, pops meanwhile. Tasks
    /// that wait at workers that left must stay reachable for the others.
    fn set_workers(&self, workers: &[WorkerId]);

    /// The context ends: takes all tasks out. By default, by popping for each of its last workers.
    fn drain(&self, workers: &[WorkerId], into: &mut Vec<Ready>) {
        for &worker in workers {
            while let Some(task) = self.pop(worker) {
                into.push(task);
            }
        }
    }

    /// How many tasks a worker took from others so far, for statistics.
    fn stolen(&self, _worker: WorkerId) -> u64 {
        0
    }

    /// Whether a worker may go on with a task that its own last task made ready, without asking.
    fn follows_on(&self) -> bool {
        false
    }

    /// Whether any worker of the context may get any task. If not, all of them are woken for each task.
    fn suits_all(&self) -> bool {
        true
    }

    /// How many workers a team task gets, when it takes between `least` and `most`, and `free` are there, at least `least`.
    /// By default as many as possible.
    fn team_size(&self, least: u32, most: u32, free: u32) -> u32 {
        free.clamp(least, most)
    }
}
