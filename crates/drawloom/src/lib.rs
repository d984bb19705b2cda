//! Programs that are graphs of tasks over shared data, checked for races and run on every core.
//!
//! This is the crate to add to a program. Tasks say what they do with data; the runtime derives the order, and the compiler
//! refuses a body that touches anything else.
//!
//! ```
//! # #[cfg(feature = "tasks")] {
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
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each module is a crate of its own behind a feature, so a program that uses tasks alone compiles few of them:
//! `default-features = false, features = ["tasks"]`. The features `tasks`, `meshes`, `streams` and `tensors` are on by default.
//!
//! | module | feature | what is in it |
//! |---|---|---|
//! | [`graph`] | | regions, graphs, checks, orders, passes |
//! | `runtime` | `tasks` | regions with data, tasks, plans, workers |
//! | `trace` | `tasks` | what happened in a run, exports, and a verifier |
//! | `mesh` | `meshes` | loops over unstructured meshes, and everything about meshes as data |
//! | `stream` | `streams` | irregular dataflow in full vectors, with signals and regions |
//! | `tensor` | `tensors` | tensor graphs with loops, and models over batches of any size |
//! | `onnx` | `onnx` | models in ONNX files |
//! | `messages` | `messages` | devices that send each other messages, under several executors; with `meshes`, mesh programs as such devices |
//! | `lang` | `lang` | the text language, JSON, reports and drawings of graphs |
//! | [`prelude`] | | the names most programs need |
//!
//! More features: `ndarray` (its arrays as tensors), `images` (batches of PNG and JPEG files), `metis` (partitions of meshes by
//! METIS, compiled from its source); and with libraries of the system `hdf5` (OP2's mesh files) and `hwloc` (the machine's
//! processors and memories as hwloc sees them).
#![forbid(unsafe_code)]

#[cfg(feature = "tasks")]
pub use drawloom_derive::Element;
pub use drawloom_graph as graph;
#[cfg(feature = "lang")]
pub use drawloom_lang as lang;
#[cfg(feature = "meshes")]
pub use drawloom_mesh as mesh;
#[cfg(feature = "messages")]
pub use drawloom_messages as messages;
#[cfg(feature = "onnx")]
pub use drawloom_onnx as onnx;
#[cfg(feature = "tasks")]
pub use drawloom_runtime as runtime;
#[cfg(feature = "tasks")]
pub use drawloom_runtime::element::Element;
#[cfg(feature = "streams")]
pub use drawloom_stream as stream;
#[cfg(feature = "tensors")]
pub use drawloom_tensor as tensor;
#[cfg(feature = "tasks")]
pub use drawloom_trace as trace;

/// The names most programs need: `use drawloom::prelude::*;`.
pub mod prelude {
    #[cfg(feature = "tasks")]
    pub use drawloom_derive::Element;
    pub use drawloom_graph::sentence;
    pub use drawloom_graph::{
        Access, Builder, Control, Diagnostic, Explanation, Graph, IndexMap, IndexSet, Label, NodeId, NodeKind, Order,
        PartitionId, Pieces, RegionId, Regions, Report, Rule, SpaceId,
    };
    #[cfg(feature = "meshes")]
    pub use drawloom_mesh::{Backend, Mesh, Program};
    #[cfg(feature = "tasks")]
    pub use drawloom_runtime::element::Element;
    #[cfg(feature = "tasks")]
    pub use drawloom_runtime::{
        Array, Future, Indexed, Loom, Matrix, Max, Min, Operator, Plan, Product, Region, Sum, Value, Vector,
    };
    #[cfg(feature = "streams")]
    pub use drawloom_stream::Stream;
    #[cfg(feature = "tensors")]
    pub use drawloom_tensor::Tensor;
}
