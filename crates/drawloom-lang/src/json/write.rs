//! A graph to text: compact JSON on one line.

use std::borrow::Cow;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::facts::RegionGraph;
use super::ids::Id;
use crate::names::UniqueNames;
use drawloom_graph::graph::{Body, Control, Graph, NodeId, NodeKind};
use drawloom_graph::region::RegionId;

/// Writes a graph as one line of JSON, without a line end.
///
/// Reading it back gives the same nodes, edges and bodies, and the same answers about which of their regions may alias and
/// which contain which, but for two things that facts have no words for. Of regions with equal indices, the later one is
/// written as a part of the earlier one. A region without any index is written as if it could have every index of what it
/// was cut from.
pub fn write(graph: &Graph) -> String {
    let mut used = Vec::new();
    collect_used(graph, &mut used);
    let facts = RegionGraph::new(graph.regions(), used.into_iter());
    serde_json::to_string(&Whole { graph, facts: &facts, outer: true }).expect("a graph has only texts as keys")
}

/// Every region that a node or a condition names, in nested graphs too.
fn collect_used(graph: &Graph, used: &mut Vec<RegionId>) {
    used.extend(graph.nodes().iter().filter_map(|n| n.region()));
    for (_, body) in graph.bodies() {
        if let Control::While(region) | Control::If(region) = body.control {
            used.push(region);
        }
        for nested in body.graphs() {
            collect_used(nested, used);
        }
    }
}

struct Whole<'a> {
    graph: &'a Graph,
    facts: &'a RegionGraph,
    outer: bool,
}

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = UniqueNames::new(self.graph);
        let mut map = serializer.serialize_map(None)?;
        if self.outer {
            map.serialize_entry("region_graph", &Facts(self.facts))?;
        }
        map.serialize_entry("nodes", &Nodes { whole: self, names: &names })?;
        map.serialize_entry("edges", &Edges { graph: self.graph, names: &names })?;
        map.end()
    }
}

/// The id of a node in a file.
fn id<'a>(graph: &'a Graph, names: &'a UniqueNames<'_>, node: NodeId) -> Id<'a> {
    names.renamed(node).map_or_else(|| Id::of(graph, node), |name| Id::Text(Cow::Borrowed(name)))
}

struct Facts<'a>(&'a RegionGraph);

impl Serialize for Facts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let facts = self.0;
        let pair = |(a, b): &(usize, usize)| [facts.text(*a), facts.text(*b)];
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("regions", &Seq(|| facts.listed.iter().map(|n| facts.text(*n))))?;
        map.serialize_entry("subregion", &Seq(|| facts.subregion.iter().map(pair)))?;
        map.serialize_entry("disjoint", &Seq(|| facts.disjoint.iter().map(pair)))?;
        map.end()
    }
}

/// A list made by an iterator, without collecting it.
struct Seq<F>(F);

impl<F, I> Serialize for Seq<F>
where
    F: Fn() -> I,
    I: Iterator,
    I::Item: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

struct Nodes<'a> {
    whole: &'a Whole<'a>,
    names: &'a UniqueNames<'a>,
}

impl Serialize for Nodes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Whole { graph, facts, .. } = *self.whole;
        let declared = graph.node_ids().filter(|n| graph.kind(*n) != NodeKind::Undeclared);
        serializer.collect_seq(declared.map(|node| {
            let body = graph.body(node);
            NodeEntry {
                id: id(graph, self.names, node),
                label: match graph.kind(node) {
                    NodeKind::Open => "Open",
                    NodeKind::Close => "Close",
                    NodeKind::Data => "Region",
                    NodeKind::Task | NodeKind::Undeclared => "Task",
                },
                region: graph.region(node).map(|region| facts.region(graph.regions(), region)),
                cost: graph.cost(node),
                control: body.map(|body| ControlEntry { body, whole: self.whole }),
                body: body.map(|body| Whole { graph: &body.graph, facts, outer: false }),
                otherwise: body.and_then(|body| body.otherwise.as_deref()).map(|graph| Whole {
                    graph,
                    facts,
                    outer: false,
                }),
            }
        }))
    }
}

#[derive(Serialize)]
struct NodeEntry<'a> {
    id: Id<'a>,
    label: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    control: Option<ControlEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Whole<'a>>,
    #[serde(rename = "else", skip_serializing_if = "Option::is_none")]
    otherwise: Option<Whole<'a>>,
}

struct ControlEntry<'a> {
    body: &'a Body,
    whole: &'a Whole<'a>,
}

impl Serialize for ControlEntry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Whole { graph, facts, .. } = *self.whole;
        let mut map = serializer.serialize_map(Some(1))?;
        match self.body.control {
            Control::Call => map.serialize_entry("call", &true)?,
            Control::Repeat(count) => map.serialize_entry("repeat", &count)?,
            Control::While(region) => map.serialize_entry("while", facts.region(graph.regions(), region))?,
            Control::If(region) => map.serialize_entry("if", facts.region(graph.regions(), region))?,
        }
        map.end()
    }
}

struct Edges<'a> {
    graph: &'a Graph,
    names: &'a UniqueNames<'a>,
}

impl Serialize for Edges<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.graph.edges().iter().map(|edge| EdgeEntry {
            from: id(self.graph, self.names, edge.from),
            to: id(self.graph, self.names, edge.to),
            label: edge.label.name(),
            op: edge.operator().map(|operator| self.graph.operator_name(operator)),
            port: edge.port(),
            reorderable: edge.is_reorderable().then_some(true),
        }))
    }
}

#[derive(Serialize)]
struct EdgeEntry<'a> {
    from: Id<'a>,
    to: Id<'a>,
    label: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    op: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reorderable: Option<bool>,
}
