//! What a drawing of a graph shows: kinds of lines, and what is highlighted. Shared by DOT and SVG.

use std::collections::BTreeMap;
use std::fmt;

use rustc_hash::FxHashSet;

use drawloom_graph::diagnostic::{Because, Diagnostic, Report, Rule, Witness};
use drawloom_graph::graph::{Body, Control, EdgeId, Graph, Label, NodeId};

/// What to draw beside the graph itself.
#[derive(Clone, Debug, Default)]
pub struct Drawing<'a> {
    /// Derived orders: pairs (before, after) of tasks. Pairs that the graph states itself are not drawn twice.
    pub orders: Vec<(NodeId, NodeId)>,
    /// Findings to highlight.
    pub report: Option<&'a Report>,
}

/// A graph that is too large to be drawn for reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLarge {
    pub(crate) what: &'static str,
    pub(crate) count: usize,
    pub(crate) most: usize,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, count, most } = self;
        write!(f, "a drawing of {count} {what} cannot be read, and at most {most} are drawn; ")?;
        f.write_str("write DOT for another tool, or draw a part of the graph")
    }
}

impl std::error::Error for TooLarge {}

/// A kind of line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Line {
    Read,
    Discard,
    Write,
    Reduce,
    Use,
    Stated,
    Derived,
}

impl Line {
    pub(crate) const ALL: [Line; 7] =
        [Line::Read, Line::Discard, Line::Write, Line::Reduce, Line::Use, Line::Stated, Line::Derived];

    pub(crate) fn of(label: Label) -> Self {
        match label {
            Label::Read => Line::Read,
            Label::Discard => Line::Discard,
            Label::Write => Line::Write,
            Label::Reduce => Line::Reduce,
            Label::HappensBefore => Line::Stated,
            Label::Use => Line::Use,
        }
    }

    /// The words of the legend.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Line::Read => "read",
            Line::Discard => "discard",
            Line::Write => "write",
            Line::Reduce => "reduce",
            Line::Use => "use",
            Line::Stated => "stated order",
            Line::Derived => "derived order",
        }
    }

    pub(crate) fn colour(self) -> &'static str {
        match self {
            Line::Read => "#1d66b0",
            Line::Discard => "#a86400",
            Line::Write => "#2a7a35",
            Line::Reduce => "#8441a8",
            Line::Use => "#6b7280",
            Line::Stated => "#222222",
            Line::Derived => "#007e8a",
        }
    }
}

/// The colour of everything that is part of a violation.
pub(crate) const ALARM: &str = "#d3261f";

/// What the findings of a report highlight in one graph.
#[derive(Default)]
pub(crate) struct Marks {
    /// The violated rules at a node, without repeats, in the order of the report.
    pub(crate) nodes: BTreeMap<NodeId, Vec<Rule>>,
    pub(crate) edges: FxHashSet<EdgeId>,
    /// Orders of a cycle that no edge stands for.
    pub(crate) orders: Vec<(NodeId, NodeId)>,
}

impl Marks {
    /// What a report highlights in the outer graph. A finding inside a nested graph highlights its control node.
    pub(crate) fn new(graph: &Graph, report: Option<&Report>) -> Self {
        let mut marks = Marks::default();
        for finding in report.into_iter().flat_map(|report| &report.violations) {
            marks.add(graph, finding);
        }
        marks.orders.sort_unstable();
        marks.orders.dedup();
        marks
    }

    fn add(&mut self, graph: &Graph, finding: &Diagnostic) {
        if let Some(control) = finding.scope.first() {
            return self.node(graph, *control, finding.rule);
        }
        for node in &finding.nodes {
            self.node(graph, *node, finding.rule);
        }
        self.edges.extend(finding.edges.iter().filter(|e| e.index() < graph.edges().len()));
        match &finding.witness {
            Witness::Cycle(edges) => self.edges.extend(edges),
            Witness::Order(steps) => {
                for step in steps {
                    self.node(graph, step.before, finding.rule);
                    self.node(graph, step.after, finding.rule);
                    match &step.because {
                        Because::Overwrites { .. } => self.orders.push((step.before, step.after)),
                        Because::Flow(path) => self.path(graph, path),
                    }
                }
            }
            _ => {}
        }
    }

    fn node(&mut self, graph: &Graph, node: NodeId, rule: Rule) {
        if node.index() < graph.nodes().len() {
            let rules = self.nodes.entry(node).or_default();
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
    }

    fn path(&mut self, graph: &Graph, path: &[NodeId]) {
        let steps: FxHashSet<(NodeId, NodeId)> = path.windows(2).map(|pair| (pair[0], pair[1])).collect();
        self.edges.extend(graph.edge_ids().filter(|e| {
            let edge = graph.edge(*e);
            steps.contains(&(edge.from, edge.to))
        }));
    }
}

/// One line to draw.
pub(crate) struct Stroke<'g> {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) line: Line,
    pub(crate) alarm: bool,
    /// The operator of a reduction.
    pub(crate) text: Option<&'g str>,
}

/// Every line of a drawing: the edges, then the orders that no edge states.
pub(crate) fn strokes<'g>(graph: &'g Graph, orders: &[(NodeId, NodeId)], marks: &Marks) -> Vec<Stroke<'g>> {
    let mut strokes: Vec<Stroke<'g>> = graph
        .edge_ids()
        .map(|id| {
            let edge = graph.edge(id);
            Stroke {
                from: edge.from,
                to: edge.to,
                line: Line::of(edge.label),
                alarm: marks.edges.contains(&id),
                text: match edge.operator() {
                    Some(operator) => Some(graph.operator_name(operator)),
                    None => edge.is_reorderable().then_some("reorderable"),
                },
            }
        })
        .collect();
    let mut drawn: FxHashSet<(NodeId, NodeId)> =
        graph.edges().iter().filter(|e| e.label == Label::HappensBefore).map(|e| (e.from, e.to)).collect();
    let alarms = marks.orders.iter().map(|order| (*order, true));
    for ((from, to), alarm) in alarms.chain(orders.iter().map(|order| (*order, false))) {
        let inside = from.index() < graph.nodes().len() && to.index() < graph.nodes().len();
        if inside && drawn.insert((from, to)) {
            strokes.push(Stroke { from, to, line: Line::Derived, alarm, text: None });
        }
    }
    strokes
}

/// How often a body runs, in a few words.
pub(crate) fn control_words(graph: &Graph, body: &Body) -> String {
    match body.control {
        Control::Call => "call".to_owned(),
        Control::Repeat(count) => format!("repeat {count}"),
        Control::While(region) => format!("while {}", graph.region_name(region)),
        Control::If(region) => format!("if {}", graph.region_name(region)),
    }
}
