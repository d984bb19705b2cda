//! The graph as the checks walk it: neighbours by node, in both directions, and a topological order.
//!
//! Three kinds of edges matter to different rules, so each list says what it holds: dataflow is everything but
//! HappensBefore; stated orders are HappensBefore.

use crate::graph::adjacency::{left_out, topological};
use crate::graph::{Edge, Graph, Label, NodeKind};

/// Neighbours of every node on one side.
pub(crate) struct Side {
    starts: Vec<u32>,
    nodes: Vec<u32>,
    labels: Vec<Label>,
}

impl Side {
    /// The neighbours of a node with the labels of the edges that lead to them.
    pub(crate) fn of(&self, node: u32) -> impl DoubleEndedIterator<Item = (u32, Label)> + ExactSizeIterator + '_ {
        let range = self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize;
        self.nodes[range.clone()].iter().copied().zip(self.labels[range].iter().copied())
    }

    /// The neighbours of a node.
    pub(crate) fn nodes(&self, node: u32) -> &[u32] {
        &self.nodes[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    /// The labels of the edges at a node, in the order of [`Side::nodes`].
    pub(crate) fn labels(&self, node: u32) -> &[Label] {
        &self.labels[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    /// How many edges a node has on this side.
    pub(crate) fn degree(&self, node: u32) -> u32 {
        self.starts[node as usize + 1] - self.starts[node as usize]
    }
}

/// Neighbours of every node on both sides, and the kinds of the nodes.
pub(crate) struct Flow {
    pub(crate) kinds: Vec<NodeKind>,
    /// Where edges lead; in edge order inside a node.
    pub(crate) out: Side,
    /// Where edges come from; sorted by node inside a node, so that membership is a binary search.
    pub(crate) into: Side,
    /// Whether any edge is a Reduce.
    pub(crate) has_reductions: bool,
}

impl Flow {
    pub(crate) fn new(graph: &Graph) -> Self {
        Self::of(graph.nodes().iter().map(|node| node.kind()).collect(), graph.edges())
    }

    /// The neighbours of nodes of these kinds along these edges.
    pub(crate) fn of(kinds: Vec<NodeKind>, edges: &[Edge]) -> Self {
        let n = kinds.len();
        let mut has_reductions = false;
        // Offsets are filled one slot late, so that the scatter below leaves each at the start of its row.
        let mut out_starts = vec![0u32; n + 2];
        let mut in_starts = vec![0u32; n + 2];
        for edge in edges {
            out_starts[edge.from.index() + 2] += 1;
            in_starts[edge.to.index() + 2] += 1;
            has_reductions |= edge.label == Label::Reduce;
        }
        for i in 2..n + 2 {
            out_starts[i] += out_starts[i - 1];
            in_starts[i] += in_starts[i - 1];
        }
        let mut out_nodes = vec![0u32; edges.len()];
        let mut out_labels = vec![Label::Read; edges.len()];
        for edge in edges {
            let at = &mut out_starts[edge.from.index() + 1];
            out_nodes[*at as usize] = edge.to.0;
            out_labels[*at as usize] = edge.label;
            *at += 1;
        }
        out_starts.pop();
        let out = Side { starts: out_starts, nodes: out_nodes, labels: out_labels };
        let mut in_nodes = vec![0u32; edges.len()];
        let mut in_labels = vec![Label::Read; edges.len()];
        for node in 0..n as u32 {
            for (to, label) in out.of(node) {
                let at = &mut in_starts[to as usize + 1];
                in_nodes[*at as usize] = node;
                in_labels[*at as usize] = label;
                *at += 1;
            }
        }
        in_starts.pop();
        let into = Side { starts: in_starts, nodes: in_nodes, labels: in_labels };
        Self { kinds, out, into, has_reductions }
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.kinds.len()
    }

    pub(crate) fn is_task(&self, node: u32) -> bool {
        self.kinds[node as usize] == NodeKind::Task
    }

    pub(crate) fn is_data(&self, node: u32) -> bool {
        self.kinds[node as usize] == NodeKind::Data
    }

    /// Whether a node has any edge.
    pub(crate) fn has_edges(&self, node: u32) -> bool {
        self.out.degree(node) + self.into.degree(node) > 0
    }

    /// The tasks that read a version, one by one; a task with several Reads of it comes several times in a row.
    pub(crate) fn task_readers(&self, data: u32) -> impl Iterator<Item = u32> + '_ {
        self.out.of(data).filter(|&(x, label)| label == Label::Read && self.is_task(x)).map(|(x, _)| x)
    }

    /// The tasks that write or reduce a version.
    pub(crate) fn task_mutators(&self, data: u32) -> impl Iterator<Item = u32> + '_ {
        self.into.of(data).filter(|&(c, label)| label.is_mutation() && self.is_task(c)).map(|(c, _)| c)
    }

    /// The versions a compute node writes or reduces.
    pub(crate) fn mutated(&self, compute: u32) -> impl Iterator<Item = u32> + '_ {
        self.out.of(compute).filter(|(_, label)| label.is_mutation()).map(|(w, _)| w)
    }
}

/// A topological order over all edges, stated orders included.
pub(crate) struct Topology {
    /// `None` when the nodes are in order as they are numbered, as programs written in order are.
    order: Option<(Vec<u32>, Vec<u32>)>,
}

impl Topology {
    /// Orders the nodes, or returns those that lie on a cycle or behind one.
    pub(crate) fn new(flow: &Flow) -> Result<Self, Vec<u32>> {
        let n = flow.len();
        if (0..n as u32).all(|node| flow.out.nodes(node).iter().all(|&to| node < to)) {
            return Ok(Self { order: None });
        }
        let order = topological(n, |node| flow.out.nodes(node).iter().copied());
        if order.len() < n {
            return Err(left_out(n, &order));
        }
        let mut position = vec![0; n];
        for (at, &node) in order.iter().enumerate() {
            position[node as usize] = at as u32;
        }
        Ok(Self { order: Some((order, position)) })
    }

    /// The place of a node in the order.
    pub(crate) fn position(&self, node: u32) -> u32 {
        self.order.as_ref().map_or(node, |(_, position)| position[node as usize])
    }

    /// The node at a place of the order.
    pub(crate) fn node(&self, position: u32) -> u32 {
        self.order.as_ref().map_or(position, |(order, _)| order[position as usize])
    }

    /// Whether nodes stand in order as they are numbered.
    pub(crate) fn is_identity(&self) -> bool {
        self.order.is_none()
    }
}
