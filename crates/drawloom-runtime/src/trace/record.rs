//! What a thread writes down: one flat value of 32 bytes for each thing that happened.
//!
//! Tasks are named by their ids here, and times are those of [`now`]. Both become those of a trace in [`super::collect`].

use std::sync::OnceLock;
use std::time::Instant;

use drawloom_trace::EventKind;

use super::tables::{AccessEntry, Site};

/// Something that happened.
#[derive(Clone, Copy)]
pub(crate) enum Record {
    /// Something happened to a task.
    Task { time: u64, task: u64, kind: EventKind },
    /// Something happened to a worker.
    Worker { time: u64, value: u32, kind: EventKind },
    /// A worker went through the phases of an iteration; see [`super::turns::Times`].
    Turn { time: u64, later: [u32; 4] },
    /// A team has formed for a task.
    Team { time: u64, task: u64, size: u32 },
    /// A task was submitted. `place` is its place among all submissions of the recording. [`Record::Site`] and
    /// [`Record::Details`] follow, and then the task's accesses.
    Submit { time: u64, task: u64, parent: u64, place: u32 },
    /// What the task submitted last is called, and where it was submitted.
    Site(Site),
    /// The rest of a submission.
    Details { context: u32, priority: i32, internal: bool },
    /// What the task submitted last accesses.
    Access(AccessEntry),
    /// A task starts after another.
    After { task: u64, other: u64 },
    /// A task is complete only when another is.
    EndsWith { task: u64, other: u64 },
    /// A task that was submitted is a run of a plan.
    Run { run: u64, plan: u32 },
    /// A node of a plan was run. The outcome is [`EventKind::End`], [`EventKind::Failed`] or [`EventKind::Cancelled`].
    Node { start: u64, end: u64, run: u64, node: u32, outcome: EventKind },
    /// A task was submitted for a node of a plan.
    NodeTask { time: u64, task: u64, run: u64, node: u32 },
}

const _: () = assert!(size_of::<Record>() == 32, "two records share a cache line");

/// Nanoseconds since this process read the time for the first time. The clock is monotonic across threads: what a thread
/// did and saw before this call has no later time.
#[inline]
pub(crate) fn now() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let elapsed = ORIGIN.get_or_init(Instant::now).elapsed();
    elapsed.as_secs() * 1_000_000_000 + u64::from(elapsed.subsec_nanos())
}
