//! Tensor graphs with loops: a model over a batch of any size, in pieces.
//!
//! ```
//! use drawloom_tensor::{Fault, Graph, Inputs, Outputs, Placement, Settings, Tensor};
//!
//! let mut graph = Graph::new("double");
//! graph.input("x")?;
//! let double = |inputs: &Inputs<'_>, outputs: &mut Outputs<'_>| -> Result<(), Fault> {
//!     let x = inputs.get(0)?;
//!     let y = outputs.allocate::<f32>(0, x.shape())?;
//!     y.iter_mut().zip(x.values::<f32>()?).for_each(|(y, x)| *y = 2.0 * x);
//!     Ok(())
//! };
//! graph.kernel("twice", "Double", double, &["x"], &["y"])?;
//! graph.output("result", &[("y", Placement::Rows { axis: 0 })])?;
//! let program = graph.check(4)?;
//! let x = Tensor::new(&[2], vec![1.0f32, 2.0])?;
//! let outcome = program.run(&[("x", x.view())], &Settings::new())?;
//! assert_eq!(outcome.output("y").unwrap().values::<f32>()?, [2.0, 4.0]);
//! # Ok::<(), drawloom_tensor::Error>(())
//! ```
//!
//! A node may be a loop-control node: everything downstream of it runs once for every iteration that it pushes, and the
//! rows of the outputs are put behind each other. The rules are described in the README of this crate.
//!
//! | module | concept |
//! |---|---|
//! | [`Tensor`], [`View`], [`Element`] | values with a type and a shape |
//! | [`Graph`], [`Kernel`], [`LoopControl`] | describing what is computed |
//! | [`Program`] | a graph that was checked: its order, partitions and lifetimes |
//! | [`Settings`], [`Outcome`] | running it, and what came of it |
//! | [`Counts`], [`LoopTurn`] | where a loop is |
//! | [`Slicing`], [`Rows`], [`RowSink`] | batches in pieces |
//! | [`Pieces`], [`PiecePlan`], [`BatchOutcome`] | a run in pieces: what it may use, what it will use, what came of it |
//! | [`BatchPlan`] | which axis counts rows, and whether they can be computed apart |
//! | [`files`] | batches in files |
//! | [`Model`], [`Port`] | a program with types and shapes of its inputs and outputs; files of models are read by other crates |
//! | [`operator`] | what authors of operators need beside [`Kernel`] |
#![deny(unsafe_code)]

mod batch;
mod error;
pub mod files;
mod graph;
mod model;
mod plan;
mod program;
mod run;
mod slice;
mod tensor;

pub use batch::{BatchPlan, Fact};
pub use error::{Error, ErrorKind, Fault};
pub use graph::{Graph, Kernel, LoopControl, Node, NodeId, Operator, Placement, TensorId};
pub use model::{Dimension, Model, Port};
pub use plan::{PiecePlan, Pieces};
pub use program::dump::Described;
pub use program::{Lifetime, Program};
pub use run::call::{Inputs, Outputs, Scratch};
pub use run::loops::{Counts, LoopEnd, LoopTurn, Next};
pub use run::pieces::{BatchOutcome, Progress};
pub use run::{Outcome, Placed, Settings};
pub use slice::{Cut, RowSink, Rows, Slicing};
pub use tensor::element::{Element, ElementType, Slice};
pub use tensor::{Tensor, View};

/// What authors of operators need beside [`Kernel`]: memory, arithmetic on elements of any type, and facts about rows.
pub mod operator {
    pub use crate::batch::{MOST_VALUES, ShapeNumber, constant_facts, follow};
    pub use crate::run::call::without_elements;
    pub use crate::run::room::Room;
    pub use crate::tensor::memory::{ALIGNMENT, Buffer};
    pub use crate::tensor::number::Number;
    pub use crate::tensor::{around, count};
}
