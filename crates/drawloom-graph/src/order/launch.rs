//! The launch list: for each task, its parameters with privileges. RDIR calls this code generation.

use std::fmt;

use crate::graph::adjacency::edges_by;
use crate::graph::{Edge, Graph, Label, NodeId, OperatorId};
use crate::region::RegionId;

/// What a task may do with a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    ///
    /// Edges at one port, or without ports at one region, make one parameter.
    pub fn launches(&self, tasks: &[NodeId]) -> Vec<Launch> {
        let n = self.nodes().len();
        let into = edges_by(n, self.edges(), |e| e.label.is_dataflow(), |e| e.to.0);
        let out = edges_by(n, self.edges(), |e| e.label.is_dataflow(), |e| e.from.0);
        tasks
            .iter()
            .map(|&task| {
                let mut edges: Vec<Edge> =
                    into.get(task.0).iter().chain(out.get(task.0)).map(|e| self.edge(*e)).collect();
                // Ports first, so that an edge without one can join the argument of its region.
                edges.sort_by_key(|e| e.port().unwrap_or(u32::MAX));
                let mut slots: Vec<Slot> = Vec::new();
                edges.iter().for_each(|e| self.place(e, &mut slots));
                Launch { task, parameters: slots.into_iter().map(Slot::parameter).collect() }
            })
            .collect()
    }

    fn place(&self, edge: &Edge, slots: &mut Vec<Slot>) {
        let version = if edge.label.is_mutation() { edge.to } else { edge.from };
        let Some(region) = self.region(version) else { return };
        let found = slots.iter().position(|s| {
            s.region == region && (edge.port().is_none() || s.ports.is_empty() || Some(s.ports[0]) == edge.port())
        });
        let slot = match found {
            Some(at) => &mut slots[at],
            None => {
                slots.push(Slot {
                    region,
                    takes: None,
                    makes: None,
                    reads: false,
                    operator: None,
                    writes: false,
                    ports: Vec::new(),
                });
                slots.last_mut().expect("just pushed")
            }
        };
        match edge.label {
            Label::Read => {
                slot.reads = true;
                slot.takes = Some(version);
            }
            Label::Discard | Label::Use => slot.takes = slot.takes.or(Some(version)),
            Label::Write => {
                slot.writes = true;
                slot.makes = Some(version);
            }
            Label::Reduce => {
                slot.operator = edge.operator();
                slot.makes = Some(version);
            }
            Label::HappensBefore => {}
        }
        if let Some(port) = edge.port()
            && !slot.ports.contains(&port)
        {
            slot.ports.push(port);
        }
    }
}

/// A parameter while its edges are gathered.
struct Slot {
    region: RegionId,
    takes: Option<NodeId>,
    makes: Option<NodeId>,
    reads: bool,
    writes: bool,
    operator: Option<OperatorId>,
    ports: Vec<u32>,
}

impl Slot {
    fn parameter(self) -> Parameter {
        let privilege = match (self.reads, self.writes, self.operator) {
            (false, false, Some(operator)) => Privilege::Reduce(operator),
            (true, false, None) => Privilege::Read,
            (false, _, None) => Privilege::Write,
            _ => Privilege::Update,
        };
        Parameter { region: self.region, privilege, takes: self.takes, makes: self.makes, ports: self.ports }
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
