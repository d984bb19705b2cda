//! Tasks recorded once, checked, compiled, and replayed.
//!
//! A [`Capture`] records tasks instead of running them. [`Capture::plan`] checks what was recorded with `drawloom-graph`,
//! decides the order once and for all, and compiles it into flat arrays. A [`Plan`] can then be run any number of times at
//! a cost per task that is a fraction of submitting it.
//!
//! ```
//! use drawloom_runtime::Loom;
//!
//! let loom = Loom::new()?;
//! let x = loom.vector("x", vec![1.0_f64; 100]);
//! let step = loom.capture("step");
//! for block in x.blocks(4)? {
//!     step.task("double").update(&block).run(|block| block.iter_mut().for_each(|x| *x *= 2.0));
//! }
//! let plan = step.plan()?;
//! for _ in 0..10 {
//!     plan.run()?;
//! }
//! assert_eq!(x.to_vec()?[99], 1024.0);
//! # Ok::<(), drawloom_runtime::Error>(())
//! ```
//!
//! | file | concept |
//! |---|---|
//! | [`capture`] | tasks that are recorded |
//! | [`recorded`] | the builder's last step for them |
//! | [`graph`] | what was recorded as a graph of `drawloom-graph`, and its check |
//! | [`weave`] | the order of recorded tasks, as nodes and edges |
//! | [`thin`] | fewer nodes and edges that say the same |
//! | [`rank`] | critical paths, and the priorities of nodes |
//! | [`compile`] | flat arrays |
//! | [`handle`] | a plan, as its users hold it |
//! | [`rebind`] | the same plan on other regions |
//! | [`replay`] | running it: a worker takes a node that is ready, and goes on with one that this makes ready |
//! | [`node`] | running one node |
//! | [`apart`] | nodes that run as tasks of their own |
//! | [`trouble`] | what went wrong in a run |
//! | [`describe`] | its nodes, for a trace |

#![allow(unsafe_code)]

pub(crate) mod apart;
mod capture;
mod compile;
mod describe;
mod graph;
mod handle;
mod node;
mod rank;
mod rebind;
mod recorded;
pub(crate) mod replay;
mod thin;
mod trouble;
mod weave;

pub use capture::{Capture, Recorded, Step};
pub use handle::Plan;
