//! Task Bench: how small may a task be before a runtime costs more than the work?
//!
//! After Slaughter and others, *Task Bench: a parameterized benchmark for evaluating parallel runtime performance*, SC
//! 2020. A graph has a width and a number of steps; in each step every point runs one task, which depends on some
//! points of the step before ([`Graph`]). Each task runs the same compute-bound kernel ([`Compute`]). When the kernel
//! is made smaller and smaller, the share of the processor's speed that is left falls; METG(50%) is the task
//! granularity at which it falls to one half ([`metg`]).
//!
//! Each task checks that its inputs are those of the step before and leaves a stamp for the next ([`Stamp`]), so a
//! runtime that runs a task too early is caught.
//!
//! ```
//! use drawloom_bench::taskbench::{Compute, Graph, Pattern, run_serial};
//!
//! let graph = Graph::new(Pattern::Stencil1d, 16, 100)?;
//! assert_eq!(graph.dependencies(5, 3).as_slice(), [2, 3, 4]);
//! let run = run_serial(graph, Compute::detect(), 10)?;
//! assert_eq!(run.tasks, 1600);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what is in it |
//! |---|---|
//! | [`pattern`] | the graphs |
//! | [`compute`] | the kernel |
//! | [`stamp`] | what a task writes, and how it checks what it reads |
//! | [`serial`] | the loop without a runtime, and the rate it reaches |
//! | [`engine`] | the graph on the engine: submitted, or recorded as a plan |
//! | [`metg`] | from measured points to METG |
//! | [`handoff`] | how long news takes from one core to another |

mod compute;
mod engine;
mod handoff;
mod metg;
mod pattern;
mod serial;
mod stamp;

pub use compute::{Compute, flops};
pub use engine::{Bench, BenchError};
pub use handoff::handoff;
pub use metg::{Metg, Point, floor, metg, sweep};
pub use pattern::{Dependencies, Graph, GraphError, Pattern, RADIX};
pub use serial::{Run, reference_rate, run_serial};
pub use stamp::{FIELDS, Stamp, StampError, run_task};
