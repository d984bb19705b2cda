//! Did the run keep every order that its accesses require?
//!
//! The verifier trusts nothing but the declared accesses, the explicit orders and the times of the events. It derives the
//! required orders anew, without any knowledge of how the engine does it, and reports each one that the times contradict:
//!
//! | rule | what was found |
//! |---|---|
//! | [`Conflict`](Rule::Conflict) | two tasks of one scope conflict, and the later one started before the earlier was complete |
//! | [`Commute`](Rule::Commute) | two tasks commute on one index, and overlap in time |
//! | [`After`](Rule::After) | a task started before one that it was told to wait for was complete |
//! | [`Parent`](Rule::Parent) | a task started before the task that spawned it |
//! | [`Unfinished`](Rule::Unfinished) | a task started and neither ended nor failed |
//! | [`Unstarted`](Rule::Unstarted) | a task ended on a worker on which it had not started |
//! | [`Worker`](Rule::Worker) | a worker ran two tasks at once, and not one inside of an ancestor that waits |
//! | [`Undescribed`](Rule::Undescribed) | events name a task of which the trace has no record |
//!
//! A task that reduces fills an accumulator of its own, so it conflicts only with tasks after it. The engine records the
//! task that folds the contributions in as one that updates; it waits for its own contributors, and not for those to other
//! pieces, which overlap it and are folded by themselves.
//!
//! A task is complete when its body has ended and its children and the tasks it ends with are complete. It has what it
//! commutes on only until its body has ended: nothing that comes later has a part in it. Time is near linear in the number of events and runs: one sweep for each scope, over a tree for each region.
//!
//! When events were lost, tasks without a known start or end are counted in [`Report::unverified`] and not judged.

mod checks;
mod violation;

pub use checks::verify;
pub use violation::{Report, Rule, TaskReference, Violation};
