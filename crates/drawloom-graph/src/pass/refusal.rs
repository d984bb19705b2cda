//! Why a pass left a graph alone.

use std::fmt;

use crate::diagnostic::Report;
use crate::graph::{Graph, NodeId};

/// A pass that would have been wrong, with the reason in the names of the graph's author.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    kind: RefusalKind,
    message: String,
    path: Vec<NodeId>,
    report: Option<Box<Report>>,
}

/// The kinds of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalKind {
    /// The graph that was passed in violates rules. [`Refusal::report`] lists them; mend the graph first.
    Invalid,
    /// A node that was named is not in the graph, or is not of the kind the pass works on.
    WrongNode,
    /// The nodes cannot become one: a path leaves them and comes back. [`Refusal::path`] is that path.
    NotConvex,
    /// The result would violate rules. [`Refusal::report`] lists them; its node ids are those of the result.
    Breaks,
}

impl Refusal {
    pub(crate) fn new(kind: RefusalKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), path: Vec::new(), report: None }
    }

    pub(crate) fn along(mut self, path: Vec<NodeId>) -> Self {
        self.path = path;
        self
    }

    fn with_report(kind: RefusalKind, what: &str, report: Report) -> Self {
        let first = report.violations.first().map(|d| format!(": {}: {}", d.rule, d.message)).unwrap_or_default();
        Self { report: Some(Box::new(report)), ..Self::new(kind, format!("{what}{first}")) }
    }

    /// The kind of reason, for programs.
    pub fn kind(&self) -> RefusalKind {
        self.kind
    }

    /// The nodes of a path that leaves the chosen nodes and comes back, ends included, in the graph that was passed in.
    pub fn path(&self) -> &[NodeId] {
        &self.path
    }

    /// The violations that the pass found or would have caused.
    pub fn report(&self) -> Option<&Report> {
        self.report.as_deref()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

/// Refuses a graph that is not valid: passes rely on what the check establishes.
pub(crate) fn require_valid(graph: &Graph) -> Result<(), Refusal> {
    let report = graph.check();
    if report.is_valid() {
        return Ok(());
    }
    Err(Refusal::with_report(RefusalKind::Invalid, "the graph is not valid", report))
}

/// Hands out the result of a pass only when it is valid.
pub(crate) fn rechecked(graph: Graph, what: &str) -> Result<Graph, Refusal> {
    let report = graph.check();
    if report.is_valid() {
        return Ok(graph);
    }
    Err(Refusal::with_report(RefusalKind::Breaks, &format!("{what} would break a rule"), report))
}

/// Refuses ids of nodes that the graph does not have.
pub(crate) fn require_node(graph: &Graph, node: NodeId) -> Result<(), Refusal> {
    if node.index() < graph.nodes().len() {
        return Ok(());
    }
    Err(Refusal::new(
        RefusalKind::WrongNode,
        format!("node {} is not in the graph, which has {} nodes", node.index(), graph.nodes().len()),
    ))
}
