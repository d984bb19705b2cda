//! The first stage: is it a graph at all? Rules WF0 to WF5.

use super::Findings;
use super::cycle;
use super::flow::{Flow, Topology};
use crate::diagnostic::Sentences;
use crate::diagnostic::{Diagnostic, Rule, Witness};
use crate::graph::{Edge, EdgeId, Graph, Label, NodeKind};

/// Operators that give different results in different orders, so that no reduction can use them.
const NON_COMMUTATIVE: [&str; 2] = ["-", "/"];

/// Why an operator cannot be used in a reduction, or `None` when nothing is known against it.
pub(crate) fn operator_fault(name: &str) -> Option<String> {
    NON_COMMUTATIVE
        .contains(&name)
        .then(|| format!("`{name}` is not commutative: the result would depend on the order of the contributions"))
}

/// Checks WF0 to WF5. Returns the topological order when the graph is acyclic.
pub(crate) fn check(graph: &Graph, flow: &Flow, findings: &mut Findings) -> Option<Topology> {
    for (id, edge) in graph.edges().iter().enumerate() {
        let (from, to) = (flow.kinds[edge.from.index()], flow.kinds[edge.to.index()]);
        let fits = match edge.label {
            Label::Read | Label::Discard => from == NodeKind::Data && to.is_compute(),
            Label::Write => from.is_compute() && to == NodeKind::Data,
            Label::Reduce => from.is_compute() && to == NodeKind::Data && operator_is_fine(graph, edge),
            Label::HappensBefore => from.is_compute() && to.is_compute(),
            Label::Use => from == NodeKind::Data && to == NodeKind::Task && reduces(flow, edge),
        };
        if !fits {
            misfit(graph, flow, EdgeId::from_index(id), edge, findings);
        }
    }
    match Topology::new(flow) {
        Ok(topology) => Some(topology),
        Err(tangled) => {
            for edges in cycle::shortest_dataflow_cycles(graph, flow, &tangled) {
                let nodes: Vec<_> = edges.iter().map(|e| graph.edge(*e).from).collect();
                let witness = Witness::Cycle(edges.clone());
                let message = match nodes[..] {
                    [only] => format!("{} has an edge to itself", graph.name(only)),
                    _ => format!("the graph has a cycle: {}", Sentences::new(graph).cycle(&edges)),
                };
                findings.push(
                    Diagnostic::new(Rule::WF1, message)
                        .at(nodes)
                        .with_edges(edges)
                        .because(witness)
                        .repair("let one of these edges start from, or lead to, a new version of its region"),
                );
            }
            None
        }
    }
}

fn operator_is_fine(graph: &Graph, edge: &Edge) -> bool {
    edge.operator().is_some_and(|op| !NON_COMMUTATIVE.contains(&graph.operator_name(op)))
}

fn reduces(flow: &Flow, edge: &Edge) -> bool {
    flow.out.labels(edge.to.0).contains(&Label::Reduce)
}

/// Reports what is wrong with one edge, which may be several things.
fn misfit(graph: &Graph, flow: &Flow, id: EdgeId, edge: &Edge, findings: &mut Findings) {
    let (from, to) = (graph.name(edge.from), graph.name(edge.to));
    let (from_kind, to_kind) = (graph.kind(edge.from), graph.kind(edge.to));
    let label = edge.label;
    let mut report = |rule, message: String, repair: String| {
        findings.push(Diagnostic::new(rule, message).at([edge.from, edge.to]).with_edges([id]).repair(repair));
    };
    let mut undeclared = false;
    for (name, kind) in [(&from, from_kind), (&to, to_kind)] {
        if kind == NodeKind::Undeclared {
            undeclared = true;
            report(
                Rule::WF0,
                format!("the {label} edge from {from} to {to} names {name}, which is not declared"),
                format!("declare the node {name}, or correct the name"),
            );
        }
    }
    if !undeclared {
        let ends = format!("this one goes from {from} ({from_kind}) to {to} ({to_kind})");
        match label {
            Label::Read | Label::Discard if !(from_kind == NodeKind::Data && to_kind.is_compute()) => report(
                Rule::WF2,
                format!("a {label} edge goes from a region version to a compute node; {ends}"),
                turn(from_kind, to_kind, label),
            ),
            Label::Write | Label::Reduce if !(from_kind.is_compute() && to_kind == NodeKind::Data) => report(
                Rule::WF3,
                format!("a {label} edge goes from a compute node to a region version; {ends}"),
                turn(from_kind, to_kind, label),
            ),
            Label::HappensBefore if !(from_kind.is_compute() && to_kind.is_compute()) => report(
                Rule::WF5,
                format!("a HappensBefore edge joins two compute nodes; {ends}"),
                "order the tasks that make and take these versions instead".to_owned(),
            ),
            Label::Use if !(from_kind == NodeKind::Data && to_kind == NodeKind::Task) => report(
                Rule::WF5,
                format!("a Use edge goes from a region version to a Task that reduces; {ends}"),
                turn(from_kind, to_kind, label),
            ),
            Label::Use if !reduces(flow, edge) => report(
                Rule::WF5,
                format!("{to} uses {from} as the start of a reduction, but reduces nothing"),
                format!("make it a Read of {from}, or add the Reduce edge of {to}"),
            ),
            _ => {}
        }
    }
    if label == Label::Reduce {
        match edge.operator() {
            None => report(
                Rule::WF4,
                format!("the Reduce edge from {from} to {to} has no operator"),
                "name a commutative operator such as + or max".to_owned(),
            ),
            Some(operator) => {
                if let Some(fault) = operator_fault(graph.operator_name(operator)) {
                    report(
                        Rule::WF4,
                        format!("the Reduce edge from {from} to {to} cannot use its operator: {fault}"),
                        "reduce with + (or *) of the negated (or inverted) contributions".to_owned(),
                    );
                }
            }
        }
    }
}

fn turn(from: NodeKind, to: NodeKind, label: Label) -> String {
    if from.is_compute() && to == NodeKind::Data || from == NodeKind::Data && to.is_compute() {
        return "turn the edge around, or change its label".to_owned();
    }
    let between = if from == NodeKind::Data { "a task" } else { "a region version" };
    format!("put {between} between the two; a {label} edge cannot join {from} and {to}")
}
