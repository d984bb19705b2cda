//! A graph that is being changed.
//!
//! [`Graph`] only grows. A pass changes an [`Edit`], which can also drop and redirect, and turns it into a graph at the
//! end. Node ids of the original stay what they are until then; nodes that are added get the ids after them.
//!
//! # The order of the result
//! Nodes keep their order, and an added node takes the place it was given. Edges are grouped by the compute node they
//! belong to, in node order: first the dataflow edges, in the order they had, then the HappensBefore edges that end at the
//! node, by where they start. A node whose name is `n` and its number has an empty name stored. So two graphs that differ
//! only in how they were edited come out equal, byte for byte.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::{Body, Edge, EdgeId, Graph, Label, NodeId, NodeKind};
use crate::region::{RegionId, Regions};

/// A graph that is being changed.
#[derive(Clone)]
pub(crate) struct Edit<'g> {
    base: &'g Graph,
    added: Vec<Added>,
    gone: Vec<bool>,
    edges: Vec<Edge>,
    gone_edges: Vec<bool>,
    incoming: Vec<Vec<u32>>,
    outgoing: Vec<Vec<u32>>,
    /// New bodies and costs of nodes, base or added.
    bodies: BTreeMap<NodeId, Body>,
    costs: BTreeMap<NodeId, f64>,
    names: Option<FxHashSet<String>>,
    /// For each name that was taken, the number to try next.
    numbers: FxHashMap<String, u64>,
}

#[derive(Clone)]
struct Added {
    name: String,
    kind: NodeKind,
    region: Option<RegionId>,
    /// The base node in whose place this node stands, after that node and what was placed there before.
    place: u32,
}

impl<'g> Edit<'g> {
    pub(crate) fn new(base: &'g Graph) -> Self {
        let n = base.nodes().len();
        let mut edit = Self {
            base,
            added: Vec::new(),
            gone: vec![false; n],
            edges: Vec::with_capacity(base.edges().len()),
            gone_edges: Vec::with_capacity(base.edges().len()),
            incoming: vec![Vec::new(); n],
            outgoing: vec![Vec::new(); n],
            bodies: BTreeMap::new(),
            costs: BTreeMap::new(),
            names: None,
            numbers: FxHashMap::default(),
        };
        base.edges().iter().for_each(|edge| edit.connect(*edge));
        edit
    }

    pub(crate) fn base(&self) -> &'g Graph {
        self.base
    }

    pub(crate) fn regions(&self) -> &'g Regions {
        self.base.regions()
    }

    /// Every node that is still there.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        (0..self.gone.len()).filter(|n| !self.gone[*n]).map(NodeId::from_index)
    }

    pub(crate) fn is_gone(&self, node: NodeId) -> bool {
        self.gone[node.index()]
    }

    pub(crate) fn kind(&self, node: NodeId) -> NodeKind {
        self.added(node).map_or_else(|| self.base.kind(node), |a| a.kind)
    }

    pub(crate) fn region(&self, node: NodeId) -> Option<RegionId> {
        self.added(node).map_or_else(|| self.base.region(node), |a| a.region)
    }

    pub(crate) fn name(&self, node: NodeId) -> Cow<'_, str> {
        self.added(node).map_or_else(|| self.base.name(node), |a| Cow::Borrowed(&a.name))
    }

    pub(crate) fn has_integer_name(&self, node: NodeId) -> bool {
        self.added(node).is_none() && self.base.has_integer_name(node)
    }

    pub(crate) fn body(&self, node: NodeId) -> Option<&Body> {
        self.bodies.get(&node).or_else(|| self.added(node).map_or_else(|| self.base.body(node), |_| None))
    }

    pub(crate) fn cost(&self, node: NodeId) -> Option<f64> {
        let given = self.costs.get(&node).copied();
        given.or_else(|| self.added(node).map_or_else(|| self.base.cost(node), |_| None))
    }

    /// The base node in whose place a node stands.
    pub(crate) fn place(&self, node: NodeId) -> NodeId {
        self.added(node).map_or(node, |a| NodeId(a.place))
    }

    /// Every edge that is still there.
    pub(crate) fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        self.edges.iter().zip(&self.gone_edges).filter(|(_, gone)| !**gone).map(|(edge, _)| *edge)
    }

    /// The edges that end at a node.
    pub(crate) fn edges_in(&self, node: NodeId) -> impl Iterator<Item = Edge> + '_ {
        self.alive(&self.incoming[node.index()])
    }

    /// The edges that start at a node.
    pub(crate) fn edges_out(&self, node: NodeId) -> impl Iterator<Item = Edge> + '_ {
        self.alive(&self.outgoing[node.index()])
    }

    /// The data edges that end at a node: what a compute node takes, or who makes a version.
    pub(crate) fn takes(&self, node: NodeId) -> impl Iterator<Item = Edge> + '_ {
        self.edges_in(node).filter(|e| e.label.is_dataflow())
    }

    /// The data edges that start at a node: what a compute node makes, or who takes a version.
    pub(crate) fn makes(&self, node: NodeId) -> impl Iterator<Item = Edge> + '_ {
        self.edges_out(node).filter(|e| e.label.is_dataflow())
    }

    /// The edges that end or start at a node, in the order they were added.
    pub(crate) fn edges_at(&self, node: NodeId) -> impl Iterator<Item = Edge> + '_ {
        let mut all: Vec<u32> =
            self.incoming[node.index()].iter().chain(&self.outgoing[node.index()]).copied().collect();
        all.sort_unstable();
        all.into_iter().filter(|e| !self.gone_edges[*e as usize]).map(|e| self.edges[e as usize])
    }

    /// Adds a node in the place of a base node.
    pub(crate) fn add_node(&mut self, name: &str, kind: NodeKind, region: Option<RegionId>, place: NodeId) -> NodeId {
        let id = NodeId::from_index(self.gone.len());
        let name = self.fresh_name(name);
        self.added.push(Added { name, kind, region, place: place.0 });
        self.gone.push(false);
        self.incoming.push(Vec::new());
        self.outgoing.push(Vec::new());
        id
    }

    pub(crate) fn set_body(&mut self, node: NodeId, body: Body) {
        self.bodies.insert(node, body);
    }

    pub(crate) fn set_cost(&mut self, node: NodeId, cost: f64) {
        self.costs.insert(node, cost);
    }

    pub(crate) fn connect(&mut self, edge: Edge) {
        let id = self.edges.len() as u32;
        self.outgoing[edge.from.index()].push(id);
        self.incoming[edge.to.index()].push(id);
        self.edges.push(edge);
        self.gone_edges.push(false);
    }

    /// Drops a node and its edges. Its name is free again.
    pub(crate) fn remove_node(&mut self, node: NodeId) {
        for list in [&mut self.incoming, &mut self.outgoing] {
            for edge in std::mem::take(&mut list[node.index()]) {
                self.gone_edges[edge as usize] = true;
            }
        }
        self.gone[node.index()] = true;
        if self.names.is_some() {
            let name = self.name(node).into_owned();
            if let Some(names) = &mut self.names {
                names.remove(&name);
            }
        }
    }

    /// Drops every edge from one node to another.
    pub(crate) fn disconnect(&mut self, from: NodeId, to: NodeId) {
        for &edge in &self.outgoing[from.index()] {
            self.gone_edges[edge as usize] |= self.edges[edge as usize].to == to;
        }
    }

    /// Drops an edge of the base.
    pub(crate) fn remove_edge(&mut self, edge: EdgeId) {
        self.gone_edges[edge.index()] = true;
    }

    /// Drops a version; whoever took it takes the other one instead.
    pub(crate) fn replace_version(&mut self, old: NodeId, new: NodeId) {
        let moved: Vec<Edge> = self.edges_out(old).collect();
        self.remove_node(old);
        for edge in moved {
            let edge = between(edge, new, edge.to);
            // Taking one version twice in one way, through one port, is taking it once.
            if !self.edges_in(edge.to).any(|e| e == edge) {
                self.connect(edge);
            }
        }
    }

    /// The graph as it is now.
    pub(crate) fn finish(&self) -> Graph {
        let mut order: Vec<NodeId> = self.nodes().collect();
        // Base nodes come before what was added in their place, and added nodes are numbered after base nodes.
        order.sort_by_key(|n| (self.place(*n), *n));
        let mut graph = self.base.empty_like();
        let mut ids = vec![NodeId(u32::MAX); self.gone.len()];
        graph.reserve(order.len(), self.edges.len());
        for node in order {
            let name = self.name(node);
            let id = NodeId::from_index(graph.nodes().len());
            let name = if is_default_name(&name, id) { "" } else { &name };
            ids[node.index()] = self.copy_node(node, name, &mut graph);
        }
        let mut edges: Vec<Edge> = self
            .edges
            .iter()
            .zip(&self.gone_edges)
            .filter(|(_, gone)| !**gone)
            .map(|(e, _)| between(*e, ids[e.from.index()], ids[e.to.index()]))
            .collect();
        sort_edges(&graph, &mut edges);
        for edge in edges {
            graph.add_edge(edge);
        }
        graph
    }

    /// Adds a node to a graph over the same regions, with everything but its edges.
    pub(crate) fn copy_node(&self, node: NodeId, name: &str, graph: &mut Graph) -> NodeId {
        let id = graph.add_raw(name, self.kind(node), self.region(node));
        if self.has_integer_name(node) {
            graph.mark_integer_name(id);
        }
        if let Some(cost) = self.cost(node) {
            graph.set_cost(id, cost);
        }
        if let Some(body) = self.body(node) {
            graph.set_body(id, body.clone());
        }
        id
    }

    /// A name that no node has: the one asked for, or that with `#2`, `#3` and so on.
    pub(crate) fn fresh_name(&mut self, wanted: &str) -> String {
        if self.names.is_none() {
            self.names = Some(self.nodes().map(|n| self.name(n).into_owned()).collect());
        }
        let names = self.names.get_or_insert_default();
        if names.insert(wanted.to_owned()) {
            return wanted.to_owned();
        }
        let number = self.numbers.entry(wanted.to_owned()).or_insert(2);
        loop {
            let name = format!("{wanted}#{number}");
            *number += 1;
            if names.insert(name.clone()) {
                return name;
            }
        }
    }

    fn added(&self, node: NodeId) -> Option<&Added> {
        self.added.get(node.index().checked_sub(self.base.nodes().len())?)
    }

    fn alive<'a>(&'a self, list: &'a [u32]) -> impl Iterator<Item = Edge> + 'a {
        list.iter().filter(|e| !self.gone_edges[**e as usize]).map(|e| self.edges[*e as usize])
    }
}

/// Whether a name is the one that an unnamed node has.
fn is_default_name(name: &str, id: NodeId) -> bool {
    name.strip_prefix('n').is_some_and(|digits| digits == id.index().to_string())
}

/// The same edge between other nodes.
pub(crate) fn between(mut edge: Edge, from: NodeId, to: NodeId) -> Edge {
    edge.from = from;
    edge.to = to;
    edge
}

/// Brings edges into the order that all passes leave.
pub(crate) fn sort_edges(graph: &Graph, edges: &mut [Edge]) {
    edges.sort_by_key(|e| {
        let stated = e.label == Label::HappensBefore;
        let owner = if stated || graph.kind(e.to).is_compute() { e.to } else { e.from };
        (owner, stated, if stated { e.from.0 } else { 0 })
    });
}
