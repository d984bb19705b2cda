//! The graph: region versions, tasks, and the edges between them.
//!
//! | file | concept |
//! |---|---|
//! | [`node`] | what a node is |
//! | [`edge`] | what an edge is, and operators |
//! | [`body`] | nested graphs: repeat, while, if, and outlined calls |
//! | [`names`] | the users' names of nodes, kept compactly |
//! | [`table`] | [`Graph`] itself |
//! | [`adjacency`] | lists by key, such as edges by source, and topological orders |
//! | [`components`] | strongly connected components |

pub(crate) mod adjacency;
pub mod body;
pub(crate) mod components;
pub mod edge;
pub mod names;
pub mod node;
pub mod table;

pub use body::{Body, Control};
pub use edge::{Edge, EdgeId, Label, OperatorId};
pub use node::{Node, NodeId, NodeKind};
pub use table::Graph;
