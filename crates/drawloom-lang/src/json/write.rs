//! A graph to text: compact JSON on one line.

use std::borrow::Cow;

use rustc_hash::FxHashSet;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::facts::RegionGraph;
use super::ids::Id;
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
        let ids = Ids::new(self.graph);
        let mut map = serializer.serialize_map(None)?;
        if self.outer {
            map.serialize_entry("region_graph", &Facts(self.facts))?;
        }
        map.serialize_entry("nodes", &Nodes { whole: self, ids: &ids })?;
        map.serialize_entry("edges", &Edges { graph: self.graph, ids: &ids })?;
        map.end()
    }
}

/// The ids of all nodes. A name that a node before has gets a number, since a file cannot hold an id twice.
struct Ids<'a> {
    graph: &'a Graph,
    renamed: rustc_hash::FxHashMap<NodeId, String>,
}

impl<'a> Ids<'a> {
    fn new(graph: &'a Graph) -> Self {
        let mut taken: FxHashSet<Cow<'a, str>> = FxHashSet::default();
        let mut repeated = Vec::new();
        for node in graph.node_ids() {
            if !taken.insert(graph.name(node)) {
                repeated.push(node);
            }
        }
        let mut renamed = rustc_hash::FxHashMap::default();
        let mut next: rustc_hash::FxHashMap<Cow<'a, str>, u32> = rustc_hash::FxHashMap::default();
        for node in repeated {
            let number = next.entry(graph.name(node)).or_insert(1);
            let name = loop {
                *number += 1;
                let name = format!("{}#{number}", graph.name(node));
                if taken.insert(Cow::Owned(name.clone())) {
                    break name;
                }
            };
            renamed.insert(node, name);
        }
        Self { graph, renamed }
    }

    fn of(&self, node: NodeId) -> Id<'_> {
        match self.renamed.get(&node) {
            Some(name) => Id::Text(Cow::Borrowed(name)),
            None => Id::of(self.graph, node),
        }
    }
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
    ids: &'a Ids<'a>,
}

impl Serialize for Nodes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Whole { graph, facts, .. } = *self.whole;
        let declared = graph.node_ids().filter(|n| graph.kind(*n) != NodeKind::Undeclared);
        serializer.collect_seq(declared.map(|node| {
            let body = graph.body(node);
            NodeEntry {
                id: self.ids.of(node),
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
    ids: &'a Ids<'a>,
}

impl Serialize for Edges<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.graph.edges().iter().map(|edge| EdgeEntry {
            from: self.ids.of(edge.from),
            to: self.ids.of(edge.to),
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
