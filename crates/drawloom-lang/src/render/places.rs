//! Where the things that a diagnostic is about were written.

use super::super::loom::{Span, Spans};
use super::super::scope;
use super::excerpt::Remark;
use drawloom_graph::Sentences;
use drawloom_graph::diagnostic::{Because, Diagnostic, OrderStep, Witness};
use drawloom_graph::graph::{EdgeId, Graph, NodeId};
use drawloom_graph::region::hierarchy::Inconsistency;

/// More remarks than this say less.
const MOST_REMARKS: usize = 12;

/// The graph that a diagnostic is about: the outer one, or one nested in it.
pub(super) struct Scope<'a> {
    pub(super) graph: &'a Graph,
    /// The places of that graph.
    pub(super) spans: Option<&'a Spans>,
    /// The places of the outer graph, which knows those of the regions.
    pub(super) outer: Option<&'a Spans>,
    /// The names of the control nodes around it, innermost first.
    pub(super) names: Vec<String>,
}

impl<'a> Scope<'a> {
    pub(super) fn find(graph: &'a Graph, spans: Option<&'a Spans>, diagnostic: &Diagnostic) -> Self {
        let nested = scope::scope(graph, diagnostic);
        let inner = nested.around.iter().try_fold(spans, |spans, control| {
            Some(spans.and_then(|spans| spans.bodies(control.node).get(control.branch)))
        });
        let names = nested.around.iter().rev().map(|control| control.graph.name(control.node).into_owned());
        Self { graph: nested.graph, spans: inner.flatten(), outer: spans, names: names.collect() }
    }
}

/// The place of the first thing that a diagnostic is about.
pub(crate) fn first_place(graph: &Graph, diagnostic: &Diagnostic, spans: &Spans) -> Option<Span> {
    let scope = Scope::find(graph, Some(spans), diagnostic);
    remarks(&scope, &Sentences::new(scope.graph), diagnostic).first().map(|r| r.span)
}

/// Remarks for the excerpts of a diagnostic, the main one first.
pub(super) fn remarks(scope: &Scope<'_>, sentences: &Sentences<'_>, diagnostic: &Diagnostic) -> Vec<Remark> {
    let Some(spans) = scope.spans else { return Vec::new() };
    let mut telling = Telling { scope, spans, sentences, remarks: Vec::new() };
    match &diagnostic.witness {
        Witness::Cycle(edges) => telling.edges(edges),
        Witness::Unordered { first, second, common_ancestor, .. } => {
            telling.unordered(*first, *second, *common_ancestor);
        }
        Witness::Order(steps) => telling.order(steps),
        Witness::Facts(inconsistency) => telling.facts(inconsistency),
        Witness::Listed | Witness::Overlap { .. } => {}
    }
    if telling.remarks.is_empty() {
        telling.listed(diagnostic);
    }
    let mut remarks = telling.remarks;
    remarks.truncate(MOST_REMARKS);
    if let Some(first) = remarks.first_mut() {
        first.main = true;
    }
    remarks
}

struct Telling<'a> {
    scope: &'a Scope<'a>,
    spans: &'a Spans,
    sentences: &'a Sentences<'a>,
    remarks: Vec<Remark>,
}

impl Telling<'_> {
    fn say(&mut self, span: Option<Span>, label: &str) {
        if let Some(span) = span {
            self.remarks.push(Remark::side(span, label));
        }
    }

    fn edges(&mut self, edges: &[EdgeId]) {
        for edge in edges {
            self.say(self.spans.edge(*edge), &self.sentences.edge(*edge));
        }
    }

    fn unordered(&mut self, first: NodeId, second: NodeId, ancestor: Option<NodeId>) {
        let (a, b) = (self.sentences.version(first), self.sentences.version(second));
        self.say(self.spans.node(first), &format!("this is {a}"));
        self.say(self.spans.node(second), &format!("and this is {b}: which comes first?"));
        if let Some(ancestor) = ancestor {
            self.say(self.spans.node(ancestor), "the last node that leads to both");
        }
    }

    /// For each step of the cycle, the read that must see the old version and the write that makes the new one.
    fn order(&mut self, steps: &[OrderStep]) {
        for step in steps {
            let (before, after) = (self.scope.graph.name(step.before), self.scope.graph.name(step.after));
            self.say(self.spans.node(step.before), &format!("{before} must run before {after}"));
        }
        for step in steps.iter().take(4) {
            if let Because::Overwrites { reads, writes } = step.because {
                let read = self.edge_between(reads, step.before);
                let write = self.edge_between(step.after, writes);
                self.edges(&[read, write].into_iter().flatten().collect::<Vec<_>>());
            }
        }
    }

    fn edge_between(&self, from: NodeId, to: NodeId) -> Option<EdgeId> {
        let edges = self.scope.graph.edges();
        edges.iter().position(|e| e.from == from && e.to == to).map(EdgeId::from_index)
    }

    fn facts(&mut self, inconsistency: &Inconsistency) {
        for region in inconsistency.regions() {
            let label = match inconsistency {
                Inconsistency::Undeclared(_) => "not declared".to_owned(),
                _ => format!("{} is declared here", self.scope.graph.region_name(region)),
            };
            self.say(self.scope.outer.and_then(|s| s.region(region)), &label);
        }
    }

    /// The node that the diagnostic is about, then its edges, then the other nodes.
    fn listed(&mut self, diagnostic: &Diagnostic) {
        let undeclared =
            diagnostic.nodes.iter().find(|n| self.scope.graph.kind(**n) == drawloom_graph::NodeKind::Undeclared);
        if let Some(node) = undeclared {
            self.say(self.spans.node(*node), "not declared");
            return;
        }
        if let ([_], []) = (diagnostic.edges.as_slice(), diagnostic.regions.as_slice()) {
            // One wrong edge: the edge says it all.
            self.edges(&diagnostic.edges);
        }
        let mut nodes = diagnostic.nodes.iter();
        if self.remarks.is_empty()
            && let Some(node) = nodes.next()
        {
            let graph = self.scope.graph;
            let label = match graph.region(*node) {
                Some(region) => format!("a version of {}", graph.region_name(region)),
                None => format!("this {}", graph.kind(*node)),
            };
            self.say(self.spans.node(*node), &label);
            self.edges(&diagnostic.edges);
        }
        for node in nodes.filter(|_| diagnostic.edges.is_empty()) {
            let label = self.sentences.version(*node);
            self.say(self.spans.node(*node), &label);
        }
        if self.remarks.is_empty() {
            for region in &diagnostic.regions {
                let label = format!("{} is declared here", self.scope.graph.region_name(*region));
                self.say(self.scope.outer.and_then(|s| s.region(*region)), &label);
            }
        }
    }
}
