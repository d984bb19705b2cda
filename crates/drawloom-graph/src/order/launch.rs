//! The launch list: for each task, its parameters with privileges. Seed 003 calls this code generation.

use std::fmt;

use crate::graph::{Graph, NodeId, OperatorId};
use crate::region::RegionId;

/// What a task may do with a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Privilege {
    /// Read only.
    Read,
    /// Write without reading: the old values are discarded.
    Write,
    /// Read and write.
    Update,
    /// Fold contributions into the region with an operator.
    Reduce(OperatorId),
}

/// One parameter of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The region passed.
    pub region: RegionId,
    /// What the task may do with it.
    pub privilege: Privilege,
    /// The version that is read, discarded, or used as the base of a reduction.
    pub takes: Option<NodeId>,
    /// The version that is written or reduced.
    pub makes: Option<NodeId>,
    /// The argument positions of this parameter, when the graph has ports.
    pub ports: Vec<u32>,
}

/// One task with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The task.
    pub task: NodeId,
    /// Its parameters, by port where the graph has ports, otherwise in edge order.
    pub parameters: Vec<Parameter>,
}

impl Graph {
    /// The launch list of the given tasks.
    pub fn launches(&self, tasks: &[NodeId]) -> Vec<Launch> {
        tasks.iter().map(|&task| Launch { task, parameters: Vec::new() }).collect()
    }
}

impl fmt::Display for Privilege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Privilege::Read => "read",
            Privilege::Write => "write",
            Privilege::Update => "update",
            Privilege::Reduce(_) => "reduce",
        })
    }
}
