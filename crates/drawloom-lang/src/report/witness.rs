//! Witnesses as structured values, so that another program can confirm them.

use std::borrow::Cow;

use serde::Serialize;

use crate::json::Id;
use drawloom_graph::Sentences;
use drawloom_graph::diagnostic::{Because, Diagnostic, OrderStep, Witness};
use drawloom_graph::graph::{EdgeId, Graph};
use drawloom_graph::region::hierarchy::Inconsistency;
use drawloom_graph::region::{Alias, RegionId};

/// An edge: from, to, label.
pub(super) type EdgeEntry<'a> = (Id<'a>, Id<'a>, &'static str);

/// A witness. `kind` tells which of the other keys are there.
#[derive(Serialize)]
pub(super) struct WitnessEntry<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<Id<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    second: Option<Id<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    regions: Vec<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    edges: Vec<EdgeEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alias: Option<AliasEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    common_ancestor: Option<Id<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<StepEntry<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sentences: Vec<String>,
}

#[derive(Serialize)]
struct AliasEntry<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contained: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u64>,
}

#[derive(Serialize)]
struct StepEntry<'a> {
    before: Id<'a>,
    after: Id<'a>,
    because: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    path: Vec<Id<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reads: Option<Id<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    writes: Option<Id<'a>>,
    sentence: String,
}

impl<'a> WitnessEntry<'a> {
    /// The witness of a finding about this graph.
    pub(super) fn new(graph: &'a Graph, sentences: &Sentences<'a>, finding: &Diagnostic) -> Self {
        let mut entry = Self {
            kind: "listed",
            problem: None,
            first: None,
            second: None,
            regions: Vec::new(),
            edges: Vec::new(),
            alias: None,
            common_ancestor: None,
            steps: Vec::new(),
            sentences: sentences.witness(&finding.witness),
        };
        let names = |regions: &[RegionId]| regions.iter().map(|r| graph.region_name(*r)).collect();
        match &finding.witness {
            Witness::Listed => entry.regions = names(&finding.regions),
            Witness::Cycle(edges) => {
                entry.kind = "cycle";
                entry.edges = edge_entries(graph, edges);
            }
            Witness::Unordered { first, second, alias, common_ancestor } => {
                entry.kind = "unordered";
                entry.first = Some(Id::of(graph, *first));
                entry.second = Some(Id::of(graph, *second));
                entry.regions =
                    [first, second].iter().filter_map(|n| graph.region(**n)).map(|r| graph.region_name(r)).collect();
                entry.alias = Some(AliasEntry::new(graph, alias));
                entry.common_ancestor = common_ancestor.map(|node| Id::of(graph, node));
            }
            Witness::Overlap { first, second, alias } => {
                entry.kind = "overlap";
                entry.regions = names(&[*first, *second]);
                entry.alias = Some(AliasEntry::new(graph, alias));
            }
            Witness::Facts(inconsistency) => {
                let (problem, regions) = match inconsistency {
                    Inconsistency::Undeclared(region) => ("undeclared", vec![*region]),
                    Inconsistency::Cycle(regions) => ("cycle", regions.clone()),
                    Inconsistency::DisjointFromAncestor(region, above) => {
                        ("disjoint_from_ancestor", vec![*region, *above])
                    }
                    Inconsistency::DisjointAncestors(region, a, b) => ("disjoint_ancestors", vec![*region, *a, *b]),
                };
                entry.kind = "facts";
                entry.problem = Some(problem);
                entry.regions = names(&regions);
            }
            Witness::Order(steps) => {
                entry.kind = "order";
                entry.steps = steps.iter().map(|step| StepEntry::new(graph, sentences, step)).collect();
            }
        }
        entry
    }
}

impl<'a> AliasEntry<'a> {
    fn new(graph: &'a Graph, alias: &Alias) -> Self {
        let mut entry = Self { kind: "", container: None, contained: None, index: None };
        entry.kind = match alias {
            Alias::Same => "same",
            Alias::Contains(outer, inner) => {
                entry.container = Some(graph.region_name(*outer));
                entry.contained = Some(graph.region_name(*inner));
                "contains"
            }
            Alias::Shares(index) => {
                entry.index = Some(*index);
                "shares"
            }
            Alias::NotKnownDisjoint => "not_known_disjoint",
            Alias::DifferentFields
            | Alias::DifferentSpaces
            | Alias::DisjointPieces(..)
            | Alias::NoSharedIndex
            | Alias::Stated(..) => "disjoint",
        };
        entry
    }
}

impl<'a> StepEntry<'a> {
    fn new(graph: &'a Graph, sentences: &Sentences<'a>, step: &OrderStep) -> Self {
        let mut entry = Self {
            before: Id::of(graph, step.before),
            after: Id::of(graph, step.after),
            because: "flow",
            path: Vec::new(),
            reads: None,
            writes: None,
            sentence: sentences.step(step),
        };
        match &step.because {
            Because::Flow(path) => entry.path = path.iter().map(|node| Id::of(graph, *node)).collect(),
            Because::Overwrites { reads, writes } => {
                entry.because = "overwrites";
                entry.reads = Some(Id::of(graph, *reads));
                entry.writes = Some(Id::of(graph, *writes));
            }
        }
        entry
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
