//! Region graphs: check a dataflow graph for races, explain what is wrong with it, and order it.
#![forbid(unsafe_code)]

pub mod build;
pub mod check;
pub mod diagnostic;
pub mod families;
pub mod format;
pub mod graph;
pub mod order;
pub mod pass;
pub mod region;

pub use build::{Access, Builder};
pub use diagnostic::{Because, Diagnostic, OrderStep, Report, Rule, Stage, Witness};
pub use graph::{Body, Control, Edge, EdgeId, Graph, Label, Node, NodeId, NodeKind, OperatorId};
pub use order::{Explanation, Launch, Order, Parameter, Privilege, Profile};
pub use region::hierarchy::Inconsistency;
pub use region::regions::Fact;
pub use region::{
    Alias, Containment, Coverage, FieldId, IndexMap, IndexSet, PartitionId, Pieces, RegionError, RegionErrorKind,
    RegionId, Regions, Run, SpaceId,
};
