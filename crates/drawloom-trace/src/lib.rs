//! What happened in a run: event records, exports, summaries, and a verifier of executed orders.
#![forbid(unsafe_code)]

pub mod chrome;
pub mod csv;
mod error;
mod event;
mod json;
pub mod native;
mod order;
mod record;
pub mod timeline;
pub mod verify;

pub use error::{Error, ErrorKind};
pub use event::{Event, EventKind, IdleReason, NO_TASK, NO_WORKER, Phase};
pub use record::{AccessMode, AccessRecord, MachineRecord, RegionRecord, TaskRecord, Text, Trace, WorkerRecord};
