//! Nested graphs: each is checked on its own, and against what its control node declares (B1).

use rustc_hash::FxHashSet;

use super::{Findings, Options};
use crate::build::Access;
use crate::diagnostic::{Diagnostic, Rule, Witness};
use crate::graph::adjacency::{Lists, edges_by};
use crate::graph::{Body, EdgeId, Graph, Label, NodeId};
use crate::pass::summary::summarise_body;
use crate::region::RegionId;

pub(crate) fn check(graph: &Graph, options: &Options<'_>, findings: &mut Findings) {
    if graph.bodies().next().is_none() {
        return;
    }
    let n = graph.nodes().len();
    let edges = [edges_by(n, graph.edges(), |_| true, |e| e.from.0), edges_by(n, graph.edges(), |_| true, |e| e.to.0)];
    for (node, body) in graph.bodies() {
        let mut valid = true;
        for inner in body.graphs() {
            let report = inner.check_with(options);
            valid &= report.is_valid();
            findings.skip(report.unlisted);
            for mut diagnostic in report.violations.into_iter().chain(report.warnings) {
                // Facts about shared regions are reported once, for the outer graph.
                if diagnostic.rule == Rule::RG2 && inner.regions() == graph.regions() {
                    continue;
                }
                diagnostic.scope.insert(0, node);
                findings.push(diagnostic);
            }
        }
        if valid {
            check_declared(graph, &edges, node, body, findings);
        }
    }
}

/// B1: every access of the body is covered by an access of the control node.
fn check_declared(graph: &Graph, edges: &[Lists<EdgeId>; 2], node: NodeId, body: &Body, findings: &mut Findings) {
    let at = |end: usize| edges[end].get(node.index() as u32).iter().map(|e| graph.edge(*e));
    let declared: FxHashSet<(RegionId, Label)> = at(0)
        .map(|e| (e.to, e.label))
        .chain(at(1).map(|e| (e.from, e.label)))
        .filter_map(|(data, label)| Some((graph.region(data)?, label)))
        .collect();
    let regions = graph.regions();
    // Mostly the region itself is declared; looking for a container among all is for the rest.
    let has = |region: RegionId, labels: &[Label]| {
        labels.iter().any(|l| declared.contains(&(region, *l)))
            || declared.iter().any(|(r, l)| labels.contains(l) && regions.is_subregion(region, *r))
    };
    for (region, access) in summarise_body(body) {
        let (fine, verb) = match access {
            Access::Read => (has(region, &[Label::Read]), "reads"),
            Access::Write => (has(region, &[Label::Write]), "writes"),
            Access::Update => (has(region, &[Label::Read]) && has(region, &[Label::Write]), "reads and writes"),
            Access::Reduce(_) => (
                has(region, &[Label::Reduce]) || has(region, &[Label::Read]) && has(region, &[Label::Write]),
                "reduces into",
            ),
        };
        if fine {
            continue;
        }
        let (name, region_name) = (graph.name(node), graph.region_name(region));
        findings.push(
            Diagnostic::new(
                Rule::B1,
                format!("the body of {name} {verb} {region_name}, and {name} does not declare it"),
            )
            .at([node])
            .with_regions([region])
            .because(Witness::Listed)
            .repair(format!("give {name} the edges of a task that {verb} {region_name}")),
        );
    }
}
