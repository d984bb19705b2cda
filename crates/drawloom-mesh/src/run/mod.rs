//! Running a program.
//!
//! | file | what is in it |
//! |---|---|
//! | `start` | [`Run`]: a program with its data, on a backend |
//! | `places` | from what a loop declares to addresses |
//! | `partials` | contributions to globals: kept apart by blocks, folded in one order on every backend |
//! | `serial` | one iteration after the other: the reference; and the debug backend, which tries to break a program |
//! | `threads` | blocks as tasks of the engine |

#![allow(unsafe_code)]

mod partials;
mod places;
mod serial;
mod start;
mod stats;
mod threads;

pub(crate) use partials::Slot;
#[cfg(feature = "messages")]
pub(crate) use serial::{not_written, require_finite};
pub(crate) use start::Machine;
pub use start::{Backend, MessageCounts, Run};
pub use stats::{LoopStats, Strategy};
#[cfg(feature = "messages")]
pub(crate) use threads::Trouble;
pub use threads::{Mode, Threads};
