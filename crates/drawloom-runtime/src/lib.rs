//! The engine: tasks over regions on every core, ordered by what they declare.
//!
//! ```
//! use drawloom_runtime::{Loom, Region};
//!
//! let loom = Loom::new()?; // every core this process may use
//! let a = loom.vector("a", vec![1.0_f64; 1000]);
//! let b = loom.vector("b", vec![0.0_f64; 1000]);
//! for (a, b) in a.blocks(16)?.zip(b.blocks(16)?) {
//!     loom.task("scale").read(&a).write(&b).run(|a, b| {
//!         for (b, a) in b.iter_mut().zip(a) {
//!             *b = 2.0 * a;
//!         }
//!     });
//! }
//! let sum: f64 = loom.task("sum").read(&b).returns(|b| b.iter().sum()).wait()?;
//! assert_eq!(sum, 2000.0);
//! # Ok::<(), drawloom_runtime::Error>(())
//! ```
//!
//! # Where to find what
//!
//! | module | concept |
//! |---|---|
//! | [`Loom`] | a runtime: how it begins, its regions and tasks, how it ends |
//! | [`data`] | regions of each kind, the ways to cut them, guards |
//! | [`access`] | what a task does with a region, reductions, and what its body receives |
//! | [`task`] | describing a task, its record, its future |
//! | `order` | which tasks a new one must wait for |
//! | `core` | the life of a task, from submission to completion |
//! | [`plan`] | recorded tasks: checked, compiled, replayed |
//! | `worker` | who runs tasks, drivers, sleeping and waking; the protocol is in its README |
//! | [`context`], [`policy`], [`team`] | who may run what, what runs next, several workers on one task |
//! | [`device`], [`memory`] | workers with a memory of their own, and what is copied where |
//! | [`mod@panic`] | panics of user code, as text |
//! | `failure`, `stall`, `wait`, `commute` | failures that come back once, reports of stalls, waiting, exclusion without order |
//! | `trace`, `stats` | what a runtime says about itself |
//! | [`topology`] | the processors of the machine |
//! | `sync` | the one door to atomics, locks and threads, for the model checkers in `models` |
#![deny(unsafe_code)]

pub mod access;
mod commute;
pub mod context;
mod core;
pub mod data;
pub mod device;
mod error;
mod failure;
#[allow(unsafe_code)]
mod loom;
pub mod memory;
#[cfg(all(test, any(loom, feature = "shuttle")))]
#[path = "../models/mod.rs"]
mod models;
mod order;
pub mod panic;
pub mod plan;
pub mod policy;
mod stall;
mod stats;
mod sync;
pub mod task;
pub mod team;
pub mod topology;
mod trace;
mod wait;
mod worker;

pub use access::{Max, Min, Operator, Product, Sum};
pub use context::{Context, ContextBuilder, ContextId};
pub use data::array::Array;
pub use data::element::{self, Element};
pub use data::erased::Erased;
pub use data::guard::{ReadGuard, WriteGuard};
pub use data::indexed::Indexed;
pub use data::matrix::Matrix;
pub use data::partition::Parts;
pub use data::region::Region;
pub use data::value::Value;
pub use data::vector::Vector;
pub use drawloom_derive::RuntimeElement as Element;
pub use error::{Error, ErrorKind, Result, TaskOrigin};
pub use loom::{Loom, LoomBuilder};
pub use plan::{Capture, Plan};
pub use policy::{Policy, WorkerId, WorkersView};
pub use stats::{ContextStats, Stats, WorkerStats};
pub use task::builder::Task;
pub use task::future::Future;
pub use team::{CalledBy, Member, TeamMut};
pub use worker::driver::Driver;
