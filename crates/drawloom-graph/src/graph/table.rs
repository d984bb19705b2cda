//! The graph as a table of nodes and a table of edges.
//!
//! ```
//! use drawloom_graph::{Graph, Label, NodeKind, Regions};
//! let mut regions = Regions::new();
//! let a = regions.abstract_region("A")?;
//! let mut graph = Graph::new(regions);
//! let a0 = graph.add_data("A0", a);
//! let scale = graph.add_compute("scale", NodeKind::Task);
//! let a1 = graph.add_data("A1", a);
//! graph.connect(a0, scale, Label::Read);
//! graph.connect(scale, a1, Label::Write);
//! assert!(graph.check().is_valid());
//! # Ok::<(), drawloom_graph::RegionError>(())
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::body::Body;
use super::edge::{Edge, EdgeId, Label, MOST_OPERATORS, OperatorId};
use super::names::Names;
use super::node::{Node, NodeId, NodeKind};
use crate::region::{RegionId, Regions};

/// A dataflow graph over a table of regions.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    regions: Arc<Regions>,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    names: Names,
    /// One bit for each node: its name was the number itself, and not a text, in the file it came from.
    integer_names: Vec<u64>,
    operators: Vec<String>,
    costs: BTreeMap<NodeId, f64>,
    bodies: BTreeMap<NodeId, Body>,
}

impl Graph {
    /// A graph without nodes over the given regions. Pass an `Arc` to share one table between graphs.
    pub fn new(regions: impl Into<Arc<Regions>>) -> Self {
        Self {
            regions: regions.into(),
            nodes: Vec::new(),
            edges: Vec::new(),
            names: Names::default(),
            integer_names: Vec::new(),
            operators: Vec::new(),
            costs: BTreeMap::new(),
            bodies: BTreeMap::new(),
        }
    }

    /// A graph without nodes over the same regions and with the same operators, so that edges of this one fit into it.
    pub(crate) fn empty_like(&self) -> Self {
        Self { operators: self.operators.clone(), ..Self::new(self.shared_regions()) }
    }

    /// Makes room for nodes and edges that will be added.
    pub fn reserve(&mut self, nodes: usize, edges: usize) {
        self.nodes.reserve(nodes);
        self.edges.reserve(edges);
        self.names.reserve(nodes, nodes * 8);
    }

    /// The regions the graph is about.
    pub fn regions(&self) -> &Regions {
        &self.regions
    }

    /// The regions, to be shared with another graph.
    pub fn shared_regions(&self) -> Arc<Regions> {
        Arc::clone(&self.regions)
    }

    /// The regions, to add to. Copies them when they are shared.
    pub fn regions_mut(&mut self) -> &mut Regions {
        Arc::make_mut(&mut self.regions)
    }

    /// Replaces the region table of this graph and of every graph nested in it. Every region id in use must mean the same
    /// in the new table.
    pub fn set_regions(&mut self, regions: &Arc<Regions>) {
        self.regions = Arc::clone(regions);
        for body in self.bodies.values_mut() {
            body.graph.set_regions(regions);
            if let Some(otherwise) = &mut body.otherwise {
                otherwise.set_regions(regions);
            }
        }
    }

    /// Adds a version of a region. An empty name stands for `n` and the number of the node.
    pub fn add_data(&mut self, name: &str, region: RegionId) -> NodeId {
        self.push(name, Node { kind: NodeKind::Data, region: Some(region) })
    }

    /// Adds a Task, Open or Close. An empty name stands for `n` and the number of the node.
    pub fn add_compute(&mut self, name: &str, kind: NodeKind) -> NodeId {
        self.push(name, Node { kind, region: None })
    }

    /// Adds a node as an importer found it, valid or not: data without a region, or an endpoint nobody declared.
    pub fn add_raw(&mut self, name: &str, kind: NodeKind, region: Option<RegionId>) -> NodeId {
        self.push(name, Node { kind, region })
    }

    /// Adds an edge without port and operator.
    pub fn connect(&mut self, from: NodeId, to: NodeId, label: Label) -> EdgeId {
        self.add_edge(Edge::new(from, to, label))
    }

    /// Adds a Reduce edge.
    pub fn connect_reduce(&mut self, from: NodeId, to: NodeId, operator: &str) -> EdgeId {
        let operator = self.operator(operator);
        self.add_edge(Edge::new(from, to, Label::Reduce).with_operator(operator))
    }

    /// Adds an edge.
    ///
    /// # Panics
    /// When an end of the edge is not a node of this graph.
    pub fn add_edge(&mut self, edge: Edge) -> EdgeId {
        assert!(
            edge.from.index() < self.nodes.len() && edge.to.index() < self.nodes.len(),
            "an edge joins nodes of its own graph; ids of another graph were passed"
        );
        let id = EdgeId::from_index(self.edges.len());
        self.edges.push(edge);
        id
    }

    /// Marks the Write edge of a task at an argument position as one of a chain of updates whose order is free; see
    /// [`Edge::is_reorderable`]. False when there is none.
    pub fn set_reorderable(&mut self, task: NodeId, port: u32) -> bool {
        // Whoever marks an edge has mostly just added it.
        let is_meant = |e: &&mut Edge| e.from == task && e.label == Label::Write && e.port() == Some(port);
        self.edges.iter_mut().rev().find(is_meant).map(|edge| *edge = edge.reorderable()).is_some()
    }

    /// The id of an operator, entered when it is new.
    ///
    /// # Panics
    /// Beyond 65535 different operators in one graph; [`Graph::try_operator`] returns `None` instead.
    pub fn operator(&mut self, name: &str) -> OperatorId {
        self.try_operator(name).expect("at most 65535 different reduction operators in one graph")
    }

    /// The id of an operator, or `None` when the graph has 65535 others already.
    pub fn try_operator(&mut self, name: &str) -> Option<OperatorId> {
        if let Some(at) = self.operators.iter().position(|o| o == name) {
            return Some(OperatorId::from_index(at));
        }
        if self.operators.len() >= MOST_OPERATORS {
            return None;
        }
        self.operators.push(name.to_owned());
        Some(OperatorId::from_index(self.operators.len() - 1))
    }

    /// The name of an operator.
    pub fn operator_name(&self, operator: OperatorId) -> &str {
        &self.operators[operator.index()]
    }

    /// Sets what running a task costs, in any unit.
    pub fn set_cost(&mut self, node: NodeId, cost: f64) {
        self.costs.insert(node, cost);
    }

    /// What running a task costs, when it was said.
    pub fn cost(&self, node: NodeId) -> Option<f64> {
        self.costs.get(&node).copied()
    }

    /// Every cost that was given.
    pub fn costs(&self) -> impl Iterator<Item = (NodeId, f64)> {
        self.costs.iter().map(|(n, c)| (*n, *c))
    }

    /// Makes a task a control node that runs a nested graph.
    pub fn set_body(&mut self, node: NodeId, body: Body) {
        self.bodies.insert(node, body);
    }

    /// The nested graph of a control node.
    pub fn body(&self, node: NodeId) -> Option<&Body> {
        self.bodies.get(&node)
    }

    /// Every control node with its nested graph.
    pub fn bodies(&self) -> impl Iterator<Item = (NodeId, &Body)> {
        self.bodies.iter().map(|(n, b)| (*n, b))
    }

    /// Every node, by id.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Every edge, by id.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// One node.
    pub fn node(&self, id: NodeId) -> Node {
        self.nodes[id.index()]
    }

    /// One edge.
    pub fn edge(&self, id: EdgeId) -> Edge {
        self.edges[id.index()]
    }

    /// The kind of a node.
    pub fn kind(&self, id: NodeId) -> NodeKind {
        self.nodes[id.index()].kind
    }

    /// The region a data node is a version of.
    pub fn region(&self, id: NodeId) -> Option<RegionId> {
        self.nodes[id.index()].region
    }

    /// Every node id.
    pub fn node_ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + ExactSizeIterator + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// Every edge id.
    pub fn edge_ids(&self) -> impl DoubleEndedIterator<Item = EdgeId> + ExactSizeIterator + use<> {
        (0..self.edges.len() as u32).map(EdgeId)
    }

    /// The ids of all tasks.
    pub fn tasks(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.node_ids().filter(|n| self.kind(*n) == NodeKind::Task)
    }

    /// The name of a node.
    pub fn name(&self, node: NodeId) -> Cow<'_, str> {
        match self.names.get(node.index()) {
            "" => Cow::Owned(format!("n{}", node.0)),
            name => Cow::Borrowed(name),
        }
    }

    /// Remembers that a node's name is to be written as a JSON integer, as it was read.
    pub fn mark_integer_name(&mut self, node: NodeId) {
        let word = node.index() / 64;
        if self.integer_names.len() <= word {
            self.integer_names.resize(word + 1, 0);
        }
        self.integer_names[word] |= 1 << (node.index() % 64);
    }

    /// Whether a node's name is to be written as a JSON integer.
    pub fn has_integer_name(&self, node: NodeId) -> bool {
        self.integer_names.get(node.index() / 64).is_some_and(|w| w >> (node.index() % 64) & 1 == 1)
    }

    /// The name of a region.
    pub fn region_name(&self, region: RegionId) -> Cow<'_, str> {
        self.regions.name(region)
    }

    /// The first node of that name. Looks at every node; use [`Graph::by_name`] for many look-ups.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.node_ids().find(|n| self.name(*n) == name)
    }

    /// All nodes by name; of several with one name, the first.
    pub fn by_name(&self) -> FxHashMap<String, NodeId> {
        let mut map = FxHashMap::with_capacity_and_hasher(self.nodes.len(), Default::default());
        for node in self.node_ids() {
            map.entry(self.name(node).into_owned()).or_insert(node);
        }
        map
    }

    fn push(&mut self, name: &str, node: Node) -> NodeId {
        let id = NodeId::from_index(self.nodes.len());
        assert!(self.names.push(name), "the names of a graph hold at most four gigabytes of text");
        self.nodes.push(node);
        id
    }
}
