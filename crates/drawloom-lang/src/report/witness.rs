//! Witnesses as structured values, so that another program can confirm them.

use std::borrow::Cow;

use serde::Serialize;

use crate::json::Id;
use drawloom_graph::Sentences;
use drawloom_graph::diagnostic::{Because, Diagnostic, OrderStep, Witness};
use drawloom_graph::graph::{EdgeId, Graph, NodeId};
use drawloom_graph::region::hierarchy::Inconsistency;
use drawloom_graph::region::{Alias, RegionId};

/// An edge: from, to, label.
pub(super) type EdgeEntry<'a> = (Id<'a>, Id<'a>, &'static str);

/// A witness, and the same in sentences.
#[derive(Serialize)]
pub(super) struct WitnessEntry<'a> {
    #[serde(flatten)]
    evidence: Evidence<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sentences: Vec<String>,
}

/// `kind` tells which of the other keys are there.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Evidence<'a> {
    Listed {
        #[serde(skip_serializing_if = "Vec::is_empty")]
        regions: Vec<Cow<'a, str>>,
    },
    Cycle {
        edges: Vec<EdgeEntry<'a>>,
    },
    Unordered {
        first: Id<'a>,
        second: Id<'a>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        regions: Vec<Cow<'a, str>>,
        alias: AliasEntry<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        common_ancestor: Option<Id<'a>>,
    },
    Overlap {
        regions: Vec<Cow<'a, str>>,
        alias: AliasEntry<'a>,
    },
    Facts {
        problem: &'static str,
        regions: Vec<Cow<'a, str>>,
    },
    Order {
        steps: Vec<StepEntry<'a>>,
    },
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum AliasEntry<'a> {
    Same,
    Contains { container: Cow<'a, str>, contained: Cow<'a, str> },
    Shares { index: u64 },
    NotKnownDisjoint,
    Disjoint,
}

#[derive(Serialize)]
struct StepEntry<'a> {
    before: Id<'a>,
    after: Id<'a>,
    #[serde(flatten)]
    because: BecauseEntry<'a>,
    sentence: String,
}

#[derive(Serialize)]
#[serde(tag = "because", rename_all = "snake_case")]
enum BecauseEntry<'a> {
    Flow { path: Vec<Id<'a>> },
    Overwrites { reads: Id<'a>, writes: Id<'a> },
}

impl<'a> WitnessEntry<'a> {
    /// The witness of a finding about this graph.
    pub(super) fn new(graph: &'a Graph, sentences: &Sentences<'a>, finding: &Diagnostic) -> Self {
        let names = |regions: &[RegionId]| regions.iter().map(|r| graph.region_name(*r)).collect();
        let id = |node: NodeId| Id::of(graph, node);
        let evidence = match &finding.witness {
            Witness::Listed => Evidence::Listed { regions: names(&finding.regions) },
            Witness::Cycle(edges) => Evidence::Cycle { edges: edge_entries(graph, edges) },
            Witness::Unordered { first, second, alias, common_ancestor } => Evidence::Unordered {
                first: id(*first),
                second: id(*second),
                regions: [first, second]
                    .into_iter()
                    .filter_map(|n| Some(graph.region_name(graph.region(*n)?)))
                    .collect(),
                alias: AliasEntry::new(graph, alias),
                common_ancestor: common_ancestor.map(id),
            },
            Witness::Overlap { first, second, alias } => {
                Evidence::Overlap { regions: names(&[*first, *second]), alias: AliasEntry::new(graph, alias) }
            }
            Witness::Facts(inconsistency) => Evidence::Facts {
                problem: match inconsistency {
                    Inconsistency::Undeclared(_) => "undeclared",
                    Inconsistency::Cycle(_) => "cycle",
                    Inconsistency::DisjointFromAncestor(..) => "disjoint_from_ancestor",
                    Inconsistency::DisjointAncestors(..) => "disjoint_ancestors",
                },
                regions: names(&inconsistency.regions()),
            },
            Witness::Order(steps) => {
                Evidence::Order { steps: steps.iter().map(|step| StepEntry::new(graph, sentences, step)).collect() }
            }
        };
        Self { evidence, sentences: sentences.witness(&finding.witness) }
    }
}

impl<'a> AliasEntry<'a> {
    fn new(graph: &'a Graph, alias: &Alias) -> Self {
        match alias {
            Alias::Same => AliasEntry::Same,
            Alias::Contains(outer, inner) => {
                AliasEntry::Contains { container: graph.region_name(*outer), contained: graph.region_name(*inner) }
            }
            Alias::Shares(index) => AliasEntry::Shares { index: *index },
            Alias::NotKnownDisjoint => AliasEntry::NotKnownDisjoint,
            _ => AliasEntry::Disjoint,
        }
    }
}

impl<'a> StepEntry<'a> {
    fn new(graph: &'a Graph, sentences: &Sentences<'a>, step: &OrderStep) -> Self {
        let id = |node: &NodeId| Id::of(graph, *node);
        let because = match &step.because {
            Because::Flow(path) => BecauseEntry::Flow { path: path.iter().map(id).collect() },
            Because::Overwrites { reads, writes } => BecauseEntry::Overwrites { reads: id(reads), writes: id(writes) },
        };
        Self { before: id(&step.before), after: id(&step.after), because, sentence: sentences.step(step) }
    }
}

/// Edges with the ids of their ends.
pub(super) fn edge_entries<'a>(graph: &'a Graph, edges: &[EdgeId]) -> Vec<EdgeEntry<'a>> {
    let entry = |edge: &EdgeId| {
        let edge = graph.edge(*edge);
        (Id::of(graph, edge.from), Id::of(graph, edge.to), edge.label.name())
    };
    edges.iter().map(entry).collect()
}
