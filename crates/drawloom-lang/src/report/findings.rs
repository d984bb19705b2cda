//! The result of a check, one line of JSON.

use serde::Serialize;

use super::witness::{EdgeEntry, WitnessEntry, edge_entries};
use crate::json::Id;
use crate::scope::{Scope, scope};
use drawloom_graph::Sentences;
use drawloom_graph::diagnostic::{Diagnostic, Report};
use drawloom_graph::graph::Graph;

/// One line of JSON about one checked file, without a line end.
///
/// ```text
/// {"file","valid","violations":[{"rule","message","nodes":[ids],"edges":[[from,to,label]]?,"witness":{"kind",…},
///  "repair":[sentences]?,"scope":[ids]?}],"warnings":[…],"unlisted":count?}
/// ```
pub fn check_json(file: &str, graph: &Graph, report: &Report) -> String {
    let outer = Sentences::new(graph);
    to_line(&CheckLine {
        file,
        valid: report.is_valid(),
        violations: report.violations.iter().map(|f| FindingEntry::new(graph, &outer, f)).collect(),
        warnings: report.warnings.iter().map(|f| FindingEntry::new(graph, &outer, f)).collect(),
        unlisted: (report.unlisted > 0).then_some(report.unlisted),
    })
}

/// One line of JSON about a file that could not be used, without a line end.
pub fn error_json(file: &str, message: &str) -> String {
    #[derive(Serialize)]
    struct ErrorLine<'a> {
        file: &'a str,
        error: &'a str,
    }
    to_line(&ErrorLine { file, error: message })
}

/// Compact JSON of a value that is made of lists and keys that are texts.
pub(super) fn to_line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("reports have only texts as keys and no failing values")
}

#[derive(Serialize)]
struct CheckLine<'a> {
    file: &'a str,
    valid: bool,
    violations: Vec<FindingEntry<'a>>,
    warnings: Vec<FindingEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unlisted: Option<u64>,
}

#[derive(Serialize)]
struct FindingEntry<'a> {
    rule: &'static str,
    message: &'a str,
    nodes: Vec<Id<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    edges: Vec<EdgeEntry<'a>>,
    witness: WitnessEntry<'a>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    repair: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scope: Vec<Id<'a>>,
}

impl<'a> FindingEntry<'a> {
    fn new(outer: &'a Graph, sentences: &Sentences<'a>, finding: &'a Diagnostic) -> Self {
        let Scope { around, graph } = scope(outer, finding);
        let nested = Sentences::new(graph);
        let sentences = if finding.scope.is_empty() { sentences } else { &nested };
        Self {
            rule: finding.rule.code(),
            message: &finding.message,
            nodes: finding.nodes.iter().map(|node| Id::of(graph, *node)).collect(),
            edges: edge_entries(graph, &finding.edges),
            witness: WitnessEntry::new(graph, sentences, finding),
            repair: &finding.repairs,
            scope: around.into_iter().map(|control| Id::of(control.graph, control.node)).collect(),
        }
    }
}
