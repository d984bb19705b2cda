//! A graph that was checked: in which order its nodes run, how often, and how long each tensor is needed.
//!
//! The one idea is the *partition*: the number of loop-control nodes upstream of a node, itself included. All loops end at
//! the end of the list, so a node of partition `p` runs once for every iteration of the loops `1..=p`, and a tensor that is
//! read in a higher partition than its own is needed until the end.

mod draw;
pub(crate) mod dump;
mod order;
mod partition;

use crate::error::{Error, ErrorKind};
use crate::graph::{Graph, NodeId, Operator, Source, TensorId};

/// A graph that was checked, and can be run.
#[derive(Clone)]
pub struct Program {
    pub(crate) graph: Graph,
    order: Vec<NodeId>,
    partitions: Vec<u32>,
    crossing: Vec<TensorId>,
    lifetimes: Vec<Option<Lifetime>>,
    /// The tensors whose last reader is at each place of the order.
    pub(crate) ends: Vec<Vec<TensorId>>,
    depth: usize,
}

/// How long a tensor is needed, in places of the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// The place of the node that writes it. An input is there from 0.
    pub first: usize,
    /// The place of the last node that may read it. The number of nodes, when it must survive the jumps back.
    pub last: usize,
}

impl Graph {
    /// Checks the graph: every tensor has a writer, nothing waits for itself, and its loop-control nodes form a nest of at
    /// most `depth` loops with the output node in the innermost one.
    pub fn check(self, depth: usize) -> Result<Program, Error> {
        for node in &self.nodes {
            for input in node.inputs.iter().flatten() {
                let entry = &self.tensors[input.index()];
                if matches!(entry.source, Source::Nobody) {
                    return Err(Error::new(
                        ErrorKind::Graph,
                        format!(
                            "node `{}` ({}) reads `{}`, which nobody writes",
                            node.name, node.operator_name, entry.name
                        ),
                    )
                    .at(&node.name, &[]));
                }
            }
        }
        if self.output.is_none() {
            return Err(Error::new(ErrorKind::Graph, format!("graph `{}` has no output node", self.name)));
        }
        let listed = order::topological(&self)?;
        let partition::Partitions { order, partitions, crossing, depth } = partition::partition(&self, &listed, depth)?;
        let lifetimes = lifetimes(&self, &order, &crossing);
        let mut ends = vec![Vec::new(); order.len()];
        for (index, lifetime) in lifetimes.iter().enumerate() {
            if let Some(lifetime) = lifetime
                && lifetime.last < order.len()
                && matches!(self.tensors[index].source, Source::Node(..))
            {
                ends[lifetime.last].push(TensorId(index as u32));
            }
        }
        Ok(Program { graph: self, order, partitions, crossing, lifetimes, ends, depth })
    }
}

impl Program {
    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The nodes in the order in which they run.
    pub fn order(&self) -> &[NodeId] {
        &self.order
    }

    /// How many loops a node is in.
    pub fn partition(&self, node: NodeId) -> usize {
        self.partitions[node.index()] as usize
    }

    /// How many loops there are.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The tensors that are read in more loops than they are written in, each once, in the order in which they are read.
    pub fn crossing(&self) -> &[TensorId] {
        &self.crossing
    }

    /// How long a tensor is needed. A constant, which is always there, has none.
    pub fn lifetime(&self, tensor: TensorId) -> Option<Lifetime> {
        self.lifetimes[tensor.index()]
    }

    pub(crate) fn place(&self, node: NodeId) -> usize {
        // Only loop-control nodes are looked up, once for each iteration.
        self.order.iter().position(|other| *other == node).unwrap_or(0)
    }
}

fn lifetimes(graph: &Graph, order: &[NodeId], crossing: &[TensorId]) -> Vec<Option<Lifetime>> {
    let mut lifetimes: Vec<Option<Lifetime>> = graph
        .tensors
        .iter()
        .map(|entry| matches!(entry.source, Source::Input).then_some(Lifetime { first: 0, last: 0 }))
        .collect();
    for (place, node) in order.iter().enumerate() {
        let node = &graph.nodes[node.index()];
        for output in &node.outputs {
            lifetimes[output.index()] = Some(Lifetime { first: place, last: place });
        }
        for input in node.inputs.iter().flatten() {
            if let Some(lifetime) = &mut lifetimes[input.index()] {
                lifetime.last = place;
            }
        }
    }
    // What crosses into a loop must survive the jump back.
    for tensor in crossing {
        if let Some(lifetime) = &mut lifetimes[tensor.index()] {
            lifetime.last = order.len();
        }
    }
    lifetimes
}

pub(crate) fn is_loop(operator: &Operator) -> bool {
    matches!(operator, Operator::Loop(_))
}
