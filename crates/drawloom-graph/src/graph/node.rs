//! Nodes: region versions are data, tasks, opens and closes compute.

use std::fmt;

use crate::region::regions::{RegionId, id};

id! {
    /// A node of a graph. Ids are dense, in the order of insertion.
    NodeId
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum NodeKind {
    /// A user's task, or a nested graph that runs as one.
    Task,
    /// Makes versions of subregions from a version of a region that contains them. Moves no data in serial order.
    Open,
    /// Makes a version of a region from versions of its subregions. Moves no data in serial order.
    Close,
    /// A version of a region.
    Data,
    /// Mentioned by an edge, declared nowhere (rule WF0).
    Undeclared,
}

impl NodeKind {
    /// Whether the node is a Task, an Open or a Close.
    pub fn is_compute(self) -> bool {
        matches!(self, NodeKind::Task | NodeKind::Open | NodeKind::Close)
    }
}

impl fmt::Display for NodeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NodeKind::Task => "Task",
            NodeKind::Open => "Open",
            NodeKind::Close => "Close",
            NodeKind::Data => "Region",
            NodeKind::Undeclared => "undeclared",
        })
    }
}

/// A node: its kind, and for data the region it is a version of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    pub(crate) kind: NodeKind,
    pub(crate) region: Option<RegionId>,
}

impl Node {
    /// The kind of the node.
    pub fn kind(&self) -> NodeKind {
        self.kind
    }

    /// The region a data node is a version of. `None` for compute nodes, and for data that names no region (rule RG1).
    pub fn region(&self) -> Option<RegionId> {
        self.region
    }
}
