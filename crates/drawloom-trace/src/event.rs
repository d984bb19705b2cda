//! One thing that happened, in 32 bytes.
//!
//! There are many events in a trace, so an event is a plain value without pointers: what a name would say stands in the
//! tables of the [`Trace`](crate::Trace), and an event refers to them by number.

/// The task of an event that belongs to none.
pub const NO_TASK: u64 = u64::MAX;

/// The worker of an event that happened on a thread that is no worker.
pub const NO_WORKER: u32 = u32::MAX;

/// Something that happened at a moment: to a task, on a worker, or both.
///
/// It has 32 bytes, so that two events share a cache line.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// Nanoseconds since the trace began.
    pub time: u64,
    /// The number of the task in submission order, or [`NO_TASK`].
    pub task: u64,
    /// What it means depends on the kind, and is said there.
    pub value: u32,
    /// The index of the worker, or [`NO_WORKER`].
    pub worker: u32,
    /// What happened.
    pub kind: EventKind,
}

const _: () = assert!(size_of::<Event>() == 32, "two events share a cache line");

impl Event {
    /// An event of a task on a worker, without a value.
    pub const fn of_task(time: u64, kind: EventKind, task: u64, worker: u32) -> Self {
        Self { time, task, value: 0, worker, kind }
    }

    /// An event of a worker that concerns no task.
    pub const fn of_worker(time: u64, kind: EventKind, worker: u32, value: u32) -> Self {
        Self { time, task: NO_TASK, value, worker, kind }
    }

    /// The number of the task, when the event has one.
    pub const fn task(&self) -> Option<u64> {
        if self.task == NO_TASK { None } else { Some(self.task) }
    }

    /// The index of the worker, when the event happened on one.
    pub const fn worker(&self) -> Option<u32> {
        if self.worker == NO_WORKER { None } else { Some(self.worker) }
    }
}

/// What kind of thing happened.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum EventKind {
    /// A task was submitted. The worker is the submitter, when it is one.
    Submit,
    /// Everything that a task waits for is complete.
    Ready,
    /// The body of a task starts on this worker. A team task starts once on each of its members.
    Start,
    /// The body of a task ended well on this worker.
    End,
    /// The body of a task panicked or returned an error on this worker.
    Failed,
    /// A task will not run, because something it depends on failed or because it was cancelled.
    Cancelled,
    /// The worker has nothing to execute from now on. The value is an [`IdleReason`].
    Idle,
    /// The worker is no longer idle.
    Busy,
    /// The worker enters a phase of `run_once`. The value is a [`Phase`].
    Phase,
    /// A queue changed its length. The value is the new length; without a worker it is the shared queue.
    QueueLength,
    /// A transfer between memory nodes starts. The value is its number.
    TransferStart,
    /// The transfer with the number in the value is complete.
    TransferEnd,
    /// A team was formed for the task. The value is its size.
    TeamFormed,
    /// The membership of a context changed. The value is the number of the context.
    ContextChanged,
    /// The worker's events from here on were lost, as there was no room. The value is how many.
    Dropped,
}

impl EventKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 15] = [
        Self::Submit,
        Self::Ready,
        Self::Start,
        Self::End,
        Self::Failed,
        Self::Cancelled,
        Self::Idle,
        Self::Busy,
        Self::Phase,
        Self::QueueLength,
        Self::TransferStart,
        Self::TransferEnd,
        Self::TeamFormed,
        Self::ContextChanged,
        Self::Dropped,
    ];

    /// The name of the kind in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Ready => "ready",
            Self::Start => "start",
            Self::End => "end",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Idle => "idle",
            Self::Busy => "busy",
            Self::Phase => "phase",
            Self::QueueLength => "queue_length",
            Self::TransferStart => "transfer_start",
            Self::TransferEnd => "transfer_end",
            Self::TeamFormed => "team_formed",
            Self::ContextChanged => "context_changed",
            Self::Dropped => "dropped",
        }
    }
}

/// Why a worker executes nothing.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdleReason {
    /// No task that it may run is ready.
    NoWork,
    /// It has a task, whose data is on the way.
    WaitingForData,
    /// It joined a team that is not complete yet.
    WaitingForTeam,
    /// The submission throttle or a limit of its context holds it back.
    Budget,
    /// It gave its core back to the system until someone wakes it.
    Parked,
    /// It is inside of a task that waits for its children, and none of them is ready.
    WaitingForChildren,
}

impl IdleReason {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 6] = [
        Self::NoWork,
        Self::WaitingForData,
        Self::WaitingForTeam,
        Self::Budget,
        Self::Parked,
        Self::WaitingForChildren,
    ];

    /// The reason that the value of an [`Idle`](EventKind::Idle) event stands for.
    pub fn from_value(value: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(value).ok()?).copied()
    }

    /// The reason in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NoWork => "no work",
            Self::WaitingForData => "waiting for data",
            Self::WaitingForTeam => "waiting for a team",
            Self::Budget => "budget",
            Self::Parked => "parked",
            Self::WaitingForChildren => "waiting for children",
        }
    }
}

/// What a worker does inside of one `run_once`, in this order.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Asking the policy for a task.
    Schedule,
    /// Joining and leaving teams.
    Team,
    /// Bringing the inputs of the task.
    Input,
    /// Advancing transfers, with or without a task.
    Transfers,
    /// Running the body.
    Execute,
}

impl Phase {
    /// All phases, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::Schedule, Self::Team, Self::Input, Self::Transfers, Self::Execute];

    /// The phase that the value of a [`Phase`](EventKind::Phase) event stands for.
    pub fn from_value(value: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(value).ok()?).copied()
    }

    /// The phase in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Schedule => "task scheduling",
            Self::Team => "team build-up",
            Self::Input => "input processing",
            Self::Transfers => "progress of transfers",
            Self::Execute => "execution",
        }
    }
}
