//! Where in a text the parts of a graph were written.

use std::collections::BTreeMap;

use super::span::Span;
use drawloom_graph::graph::{EdgeId, NodeId};
use drawloom_graph::region::RegionId;

/// The places of the nodes, edges and regions of one graph, and of the graphs nested in it.
///
/// What a builder adds by itself, such as an Open, has the place of the call that needed it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    nodes: Vec<Option<Span>>,
    edges: Vec<Option<Span>>,
    regions: BTreeMap<RegionId, Span>,
    bodies: BTreeMap<NodeId, Vec<Spans>>,
}

impl Spans {
    /// Where a node was written.
    pub fn node(&self, node: NodeId) -> Option<Span> {
        self.nodes.get(node.index()).copied().flatten()
    }

    /// Where an edge was written.
    pub fn edge(&self, edge: EdgeId) -> Option<Span> {
        self.edges.get(edge.index()).copied().flatten()
    }

    /// Where a region, or the partition it is a piece of, was declared. Known to the outermost graph only.
    pub fn region(&self, region: RegionId) -> Option<Span> {
        self.regions.get(&region).copied()
    }

    /// The places inside the bodies of a control node: its body, then what runs otherwise.
    pub fn bodies(&self, node: NodeId) -> &[Spans] {
        self.bodies.get(&node).map_or(&[], |b| b)
    }

    /// Gives a place to every node up to this count that has none yet.
    pub(crate) fn fill_nodes(&mut self, count: usize, span: Span) {
        self.nodes.resize(count.max(self.nodes.len()), Some(span));
    }

    /// Gives a place to every edge up to this count that has none yet.
    pub(crate) fn fill_edges(&mut self, count: usize, span: Span) {
        self.edges.resize(count.max(self.edges.len()), Some(span));
    }

    pub(crate) fn set_node(&mut self, node: NodeId, span: Span) {
        if let Some(entry) = self.nodes.get_mut(node.index()) {
            *entry = Some(span);
        }
    }

    pub(crate) fn set_edge(&mut self, edge: EdgeId, span: Span) {
        if let Some(entry) = self.edges.get_mut(edge.index()) {
            *entry = Some(span);
        }
    }

    pub(crate) fn set_region(&mut self, region: RegionId, span: Span) {
        self.regions.insert(region, span);
    }

    /// Takes over the places of the regions.
    pub(crate) fn take_regions(&mut self, from: &mut Spans) {
        self.regions = std::mem::take(&mut from.regions);
    }

    pub(crate) fn set_bodies(&mut self, node: NodeId, bodies: Vec<Spans>) {
        self.bodies.insert(node, bodies);
    }
}
