//! The graph that a finding inside a nested graph is about.

use drawloom_graph::diagnostic::Diagnostic;
use drawloom_graph::graph::{Graph, NodeId};

/// The control nodes around a finding, outermost first, and the graph that its ids belong to.
pub(crate) struct Scope<'g> {
    pub(crate) around: Vec<ControlNode<'g>>,
    pub(crate) graph: &'g Graph,
}

/// A control node, the graph that it is in, and which of its bodies was followed.
#[derive(Clone, Copy)]
pub(crate) struct ControlNode<'g> {
    pub(crate) graph: &'g Graph,
    pub(crate) node: NodeId,
    pub(crate) branch: usize,
}

/// Follows the scope of a finding down from the outer graph.
///
/// A scope names control nodes and not branches. Where an `if` has two branches, the finding is about the one whose own
/// check reports it.
pub(crate) fn scope<'g>(outer: &'g Graph, finding: &Diagnostic) -> Scope<'g> {
    let mut found = Vec::new();
    follow(outer, finding, 0, &mut Vec::new(), &mut found);
    if found.len() > 1 {
        let reports = |graph: &Graph| {
            let report = graph.check();
            report
                .violations
                .iter()
                .chain(&report.warnings)
                .any(|own| own.rule == finding.rule && own.message == finding.message && own.nodes == finding.nodes)
        };
        if let Some(at) = found.iter().position(|scope| reports(scope.graph)) {
            found.swap(0, at);
        }
    }
    found.into_iter().next().unwrap_or(Scope { around: Vec::new(), graph: outer })
}

fn follow<'g>(
    graph: &'g Graph,
    finding: &Diagnostic,
    depth: usize,
    around: &mut Vec<ControlNode<'g>>,
    found: &mut Vec<Scope<'g>>,
) {
    let Some(&node) = finding.scope.get(depth) else {
        let fits = finding.nodes.iter().all(|n| n.index() < graph.nodes().len())
            && finding.edges.iter().all(|e| e.index() < graph.edges().len());
        if fits {
            found.push(Scope { around: around.clone(), graph });
        }
        return;
    };
    let Some(body) = graph.body(node) else { return };
    for (branch, nested) in body.graphs().enumerate() {
        around.push(ControlNode { graph, node, branch });
        follow(nested, finding, depth + 1, around, found);
        around.pop();
    }
}
