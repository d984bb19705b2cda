//! What happened in a run: event records, exports, summaries, and a verifier of executed orders. Everything here is a
//! function on values; the engine records into them, and nothing here knows the engine.
//!
//! ```
//! use drawloom_trace::{AccessMode, AccessRecord, Event, EventKind, RegionRecord, TaskRecord, Trace, verify};
//!
//! let mut trace = Trace::default();
//! trace.regions.push(RegionRecord { name: "u".into(), len: 100 });
//! for (number, name, mode) in [(0, "fill", AccessMode::Write), (1, "sum", AccessMode::Read)] {
//!     let accesses = vec![AccessRecord { region: 0, mode, runs: vec![(0, 100)] }];
//!     trace.tasks.push(TaskRecord { accesses, ..TaskRecord::new(number, name) });
//!     // Each on a worker of its own, from 10 to 20 and from 15 to 25.
//!     trace.events.push(Event::of_task(10 + 5 * number, EventKind::Start, number, number as u32));
//!     trace.events.push(Event::of_task(20 + 5 * number, EventKind::End, number, number as u32));
//! }
//! trace.sort();
//! let report = verify::verify(&trace)?;
//! let found = report.violations[0].to_string();
//! assert!(found.starts_with(r#"task 1 "sum" started at 15 ns, before task 0 "fill" was complete at 20 ns"#));
//! # Ok::<(), drawloom_trace::Error>(())
//! ```
//!
//! | module | what is in it |
//! |---|---|
//! | [`Event`], [`Trace`] | the records: 32 bytes for each event, tables for the names |
//! | [`timeline`] | events put together: executions, delays, idle stretches |
//! | [`verify`](mod@verify) | required orders, derived anew from the accesses, against the times |
//! | `native` | the versioned file format, to be read back; with the cargo feature `serde` |
//! | [`chrome`] | JSON for Perfetto |
//! | [`csv`] | tables of tasks and of events |
//! | [`summary`] | a page of text |
//! | [`dot`] | the submitted graph for Graphviz |
//! | [`order`] | which tasks conflict; shared by the verifier, the summary and the drawing |
#![forbid(unsafe_code)]

pub mod chrome;
pub mod csv;
pub mod dot;
mod error;
mod event;
mod json;
#[cfg(feature = "serde")]
pub mod native;
mod order;
mod record;
pub mod summary;
pub mod timeline;
pub mod verify;

pub use error::{Error, ErrorKind};
pub use event::{Event, EventKind, IdleReason, NO_TASK, NO_WORKER, Phase};
pub use record::{AccessMode, AccessRecord, MachineRecord, RegionRecord, TaskRecord, Text, Trace, WorkerRecord};
