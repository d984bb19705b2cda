//! Programs as graphs of tasks over regions: check that a graph has no race, explain what is wrong with one that has, and
//! put its tasks in order. Everything here is a function on values: no threads, no files, no `unsafe`.
//!
//! ```
//! use drawloom_graph::{Access, Builder, Regions};
//!
//! let mut regions = Regions::new();
//! let cells = regions.space("cells", 1000)?;
//! let [old, new] = ["old", "new"].map(|name| regions.field(name, cells).unwrap());
//! let [old, new] = [old, new].map(|field| regions.whole(field));
//!
//! let mut program = Builder::new(regions);
//! program.call("load", &[(old, Access::Write)]).unwrap();
//! let smooth = program.call("smooth", &[(old, Access::Read), (new, Access::Write)]).unwrap();
//! let scale = program.call("scale", &[(old, Access::Update)]).unwrap();
//! let order = program.finish().order().expect("a built program is valid");
//! assert_eq!(order.happens_before, [(smooth, scale)], "scale overwrites what smooth reads");
//! # Ok::<(), drawloom_graph::RegionError>(())
//! ```
//!
//! | module | what is in it |
//! |---|---|
//! | [`region`] | spaces, partitions, fields, regions; what may alias |
//! | [`graph`] | region versions, tasks, edges, nested graphs |
//! | [`build`] | graphs from task calls in program order |
//! | [`check`] | every rule, with witnesses |
//! | [`diagnostic`] | rules, findings and witnesses as values |
//! | [`order`] | serial order, required orders, launch list, critical path |
//! | [`pass`] | graph to graph, with the meaning preserved |
//! | [`dot`] | a writer of the DOT language of Graphviz |
//!
//! The text language, JSON, drawings and reports with excerpts of the source are in the crate `drawloom-lang`.
#![forbid(unsafe_code)]

pub mod build;
pub mod check;
pub mod diagnostic;
pub mod dot;
pub mod graph;
pub mod order;
pub mod pass;
pub mod region;

pub use build::{Access, Builder};
pub use diagnostic::{Because, Diagnostic, OrderStep, Report, Rule, Sentences, Stage, Versions, Witness, sentence};
pub use graph::{Body, Control, Edge, EdgeId, Graph, Label, Node, NodeId, NodeKind, OperatorId};
pub use order::{Explanation, Launch, Order, Parameter, Privilege, Profile};
pub use region::hierarchy::Inconsistency;
pub use region::regions::Fact;
pub use region::{
    Alias, Containment, Coverage, FieldId, IndexMap, IndexSet, PartitionId, Pieces, RegionError, RegionErrorKind,
    RegionId, Regions, Run, RunIndex, SpaceId,
};
