//! A graph as plain lists, so that a generator can change it and a failing case can be made smaller.

use std::sync::Arc;

use drawloom_graph::{Edge, Graph, Label, NodeId, NodeKind, RegionId, Regions};

/// An edge between numbered nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) label: Label,
    pub(crate) operator: Option<&'static str>,
    pub(crate) port: Option<u32>,
}

/// Nodes and edges, before they are a graph.
#[derive(Clone, Debug)]
pub(crate) struct Sketch {
    pub(crate) regions: Arc<Regions>,
    pub(crate) nodes: Vec<(String, NodeKind, Option<RegionId>)>,
    pub(crate) lines: Vec<Line>,
}

impl Sketch {
    pub(crate) fn new(regions: Arc<Regions>) -> Self {
        Self { regions, nodes: Vec::new(), lines: Vec::new() }
    }

    /// Adds a version of a region, named after it.
    pub(crate) fn data(&mut self, region: RegionId) -> usize {
        let versions = self.nodes.iter().filter(|n| n.2 == Some(region)).count();
        self.nodes.push((format!("{}_{versions}", self.regions.name(region)), NodeKind::Data, Some(region)));
        self.nodes.len() - 1
    }

    /// Adds a Task, Open or Close, named after its kind.
    pub(crate) fn compute(&mut self, kind: NodeKind) -> usize {
        let letter = match kind {
            NodeKind::Task => "t",
            NodeKind::Open => "open",
            _ => "close",
        };
        let count = self.nodes.iter().filter(|n| n.1 == kind).count();
        self.nodes.push((format!("{letter}{count}"), kind, None));
        self.nodes.len() - 1
    }

    pub(crate) fn line(&mut self, from: usize, to: usize, label: Label) -> &mut Line {
        self.lines.push(Line { from, to, label, operator: None, port: None });
        self.lines.last_mut().expect("a line was just added")
    }

    pub(crate) fn region(&self, node: usize) -> Option<RegionId> {
        self.nodes[node].2
    }

    pub(crate) fn to_graph(&self) -> Graph {
        let mut graph = Graph::new(Arc::clone(&self.regions));
        for (name, kind, region) in &self.nodes {
            graph.add_raw(name, *kind, *region);
        }
        for line in &self.lines {
            let mut edge = Edge::new(NodeId::from_index(line.from), NodeId::from_index(line.to), line.label);
            if let Some(operator) = line.operator {
                edge = edge.with_operator(graph.operator(operator));
            }
            if let Some(port) = line.port {
                edge = edge.at_port(port);
            }
            graph.add_edge(edge);
        }
        graph
    }

    /// The lists of a graph; its bodies and costs are left out.
    pub(crate) fn from_graph(graph: &Graph) -> Self {
        let operators = ["+", "*", "-", "min"];
        let nodes = graph.node_ids().map(|n| (graph.name(n).into_owned(), graph.kind(n), graph.region(n))).collect();
        let lines = graph.edges().iter().map(|e| Line {
            from: e.from.index(),
            to: e.to.index(),
            label: e.label,
            operator: e.operator().and_then(|o| operators.iter().copied().find(|name| *name == graph.operator_name(o))),
            port: e.port(),
        });
        Self { regions: graph.shared_regions(), nodes, lines: lines.collect() }
    }

    /// The smallest sketch that still fails, found by leaving out nodes and edges one by one.
    pub(crate) fn shrink(mut self, fails: impl Fn(&Graph) -> bool) -> Self {
        loop {
            let nodes = (0..self.nodes.len()).map(|node| self.without_node(node));
            let lines = (0..self.lines.len()).map(|line| {
                let mut smaller = self.clone();
                smaller.lines.remove(line);
                smaller
            });
            match nodes.chain(lines).find(|s| fails(&s.to_graph())) {
                Some(smaller) => self = smaller,
                None => return self,
            }
        }
    }

    fn without_node(&self, node: usize) -> Self {
        let mut smaller = self.clone();
        smaller.nodes.remove(node);
        smaller.lines.retain(|l| l.from != node && l.to != node);
        for line in &mut smaller.lines {
            line.from -= usize::from(line.from > node);
            line.to -= usize::from(line.to > node);
        }
        smaller
    }

    /// The sketch as a person reads it.
    pub(crate) fn describe(&self) -> String {
        let mut text = String::new();
        for fact in self.regions.facts() {
            text += &match fact {
                drawloom_graph::Fact::Subregion(a, b) => {
                    format!("{} <= {}\n", self.regions.name(*a), self.regions.name(*b))
                }
                drawloom_graph::Fact::Disjoint(a, b) => {
                    format!("disjoint {} {}\n", self.regions.name(*a), self.regions.name(*b))
                }
            };
        }
        for region in self.regions.ids() {
            if let Some(indices) = self.regions.indices(self.regions.space_of(region)) {
                text += &format!("{} = {indices}\n", self.regions.name(region));
            }
        }
        for (name, kind, region) in &self.nodes {
            let of = region.map_or(String::new(), |r| format!(" of {}", self.regions.name(r)));
            text += &format!("{kind} {name}{of}\n");
        }
        for line in &self.lines {
            let operator = line.operator.map_or(String::new(), |o| format!(" {o}"));
            let (from, to) = (&self.nodes[line.from].0, &self.nodes[line.to].0);
            text += &format!("{from} -> {to}: {}{operator}\n", line.label);
        }
        text
    }
}
