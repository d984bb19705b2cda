//! A graph to text: compact JSON on one line.

use std::borrow::Cow;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::facts::RegionGraph;
use super::ids::Id;
use crate::names::UniqueNames;
use drawloom_graph::graph::{Control, Edge, Graph, NodeId, NodeKind};
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
        let Whole { graph, facts, outer } = *self;
        let names = UniqueNames::new(graph);
        let region = |region: RegionId| facts.region(graph.regions(), region);
        let nested = |graph| Whole { graph, facts, outer: false };
        let node_entry = |node: NodeId| {
            let body = graph.body(node);
            NodeEntry {
                id: id(graph, &names, node),
                label: match graph.kind(node) {
                    NodeKind::Open => "Open",
                    NodeKind::Close => "Close",
                    NodeKind::Data => "Region",
                    NodeKind::Task | NodeKind::Undeclared => "Task",
                },
                region: graph.region(node).map(region),
                cost: graph.cost(node),
                control: body.map(|body| match body.control {
                    Control::Call => ControlEntry::Call(true),
                    Control::Repeat(count) => ControlEntry::Repeat(count),
                    Control::While(condition) => ControlEntry::While(region(condition)),
                    Control::If(condition) => ControlEntry::If(region(condition)),
                }),
                body: body.map(|body| nested(&body.graph)),
                otherwise: body.and_then(|body| body.otherwise.as_deref()).map(nested),
            }
        };
        let edge_entry = |edge: &Edge| EdgeEntry {
            from: id(graph, &names, edge.from),
            to: id(graph, &names, edge.to),
            label: edge.label.name(),
            op: edge.operator().map(|operator| graph.operator_name(operator)),
            port: edge.port(),
            reorderable: edge.is_reorderable().then_some(true),
        };
        let declared = || graph.node_ids().filter(|node| graph.kind(*node) != NodeKind::Undeclared);
        let mut map = serializer.serialize_map(None)?;
        if outer {
            map.serialize_entry("region_graph", &Facts(facts))?;
        }
        map.serialize_entry("nodes", &Seq(|| declared().map(node_entry)))?;
        map.serialize_entry("edges", &Seq(|| graph.edges().iter().map(edge_entry)))?;
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

/// How often a body runs, as an object with one key.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum ControlEntry<'a> {
    Call(bool),
    Repeat(u64),
    While(&'a str),
    If(&'a str),
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
