//! Programs that are graphs of tasks over shared data, checked for races and run on every core.
//!
//! This is the crate to add to a program. Tasks say what they do with data; the runtime derives the order, and the compiler
//! refuses a body that touches anything else.
//!
//! ```
//! use drawloom::prelude::*;
//!
//! let loom = Loom::new()?;
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
//! # Ok::<(), drawloom::runtime::Error>(())
//! ```
//!
//! | module | what is in it |
//! |---|---|
//! | [`runtime`] | the crate `drawloom-runtime`: regions with data, tasks, plans, workers |
//! | [`mesh`] | the crate `drawloom-mesh`: loops over unstructured meshes, and everything about meshes as data |
//! | [`stream`] | the crate `drawloom-stream`: irregular dataflow in full vectors, with signals and regions |
//! | [`tensor`] | the crate `drawloom-tensor`: tensor graphs with loops, and models over batches of any size |
//! | [`onnx`] | the crate `drawloom-onnx`: models in ONNX files |
//! | [`messages`] | the crate `drawloom-messages`: devices that send each other messages, under several executors |
//! | [`graph`] | the crate `drawloom-graph`: regions, graphs, checks, orders, passes |
//! | `lang` | the crate `drawloom-lang`, with the feature `lang`: the text language, JSON, reports and drawings of graphs |
//! | [`trace`] | the crate `drawloom-trace`: what happened in a run, exports, and a verifier |
//! | [`prelude`] | the names most programs need |
#![forbid(unsafe_code)]

pub use drawloom_graph as graph;
#[cfg(feature = "lang")]
pub use drawloom_lang as lang;
pub use drawloom_mesh as mesh;
pub use drawloom_messages as messages;
pub use drawloom_onnx as onnx;
pub use drawloom_runtime as runtime;
pub use drawloom_runtime::portable;
pub use drawloom_stream as stream;
pub use drawloom_tensor as tensor;
pub use drawloom_trace as trace;

/// The names most programs need: `use drawloom::prelude::*;`.
pub mod prelude {
    pub use drawloom_graph::sentence;
    pub use drawloom_graph::{
        Access, Builder, Control, Diagnostic, Explanation, Graph, IndexMap, IndexSet, Label, NodeId, NodeKind, Order,
        PartitionId, Pieces, RegionId, Regions, Report, Rule, SpaceId,
    };
    pub use drawloom_runtime::{
        Array, Csr, Future, Indexed, Loom, Matrix, Max, Min, Operator, Pattern, Plan, Portable, Product, Region, Sum,
        Value, Vector,
    };
}
