//! The results of several checks as SARIF 2.1.0, the format of code scanning services.
//!
//! See "Static Analysis Results Interchange Format (SARIF) Version 2.1.0", OASIS Standard.

use std::ops::Range;

use serde_json::{Value, json};

use crate::loom::span::line_and_column;
use crate::scope::{Scope, scope};
use drawloom_graph::Sentences;
use drawloom_graph::diagnostic::{Diagnostic, Report, Rule};
use drawloom_graph::graph::{Graph, NodeId};

/// One checked file.
#[derive(Clone, Copy)]
pub struct Checked<'a> {
    /// The path of the file as the user gave it.
    pub file: &'a str,
    /// The text of the file, where nodes have places in it.
    pub source: Option<&'a str>,
    /// The graph.
    pub graph: &'a Graph,
    /// What the check found.
    pub report: &'a Report,
    /// The bytes of the source that declare a node of the outer graph.
    pub spans: &'a dyn Fn(NodeId) -> Option<Range<usize>>,
}

/// A SARIF log of the checked files, and of files that could not be used: (file, what is wrong).
pub fn sarif(checked: &[Checked<'_>], unusable: &[(&str, &str)]) -> String {
    let rules: Vec<Value> = Rule::ALL
        .iter()
        .map(|rule| {
            json!({
                "id": rule.code(),
                "shortDescription": {"text": rule.meaning()},
                "defaultConfiguration": {"level": level(*rule)},
            })
        })
        .collect();
    let mut results = Vec::new();
    for file in checked {
        let findings = file.report.violations.iter().chain(&file.report.warnings);
        results.extend(findings.map(|finding| result(file, finding)));
    }
    let notifications: Vec<Value> = unusable
        .iter()
        .map(|(file, message)| {
            json!({
                "level": "error",
                "message": {"text": message},
                "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri(file)}}}],
            })
        })
        .collect();
    let invocation = json!({
        "executionSuccessful": unusable.is_empty(),
        "toolExecutionNotifications": notifications,
    });
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "drawloom", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
            "columnKind": "unicodeCodePoints",
            "invocations": [invocation],
            "results": results,
        }],
    })
    .to_string()
}

fn level(rule: Rule) -> &'static str {
    match rule.stage() {
        drawloom_graph::diagnostic::Stage::Warning => "warning",
        _ => "error",
    }
}

fn result(file: &Checked<'_>, finding: &Diagnostic) -> Value {
    let Scope { around, graph } = scope(file.graph, finding);
    let sentences = Sentences::new(graph).witness(&finding.witness);
    let mut text = finding.message.clone();
    // The message of a finding often is its witness already.
    for sentence in sentences.iter().filter(|s| !finding.message.contains(s.as_str())) {
        text.push_str("; ");
        text.push_str(sentence);
    }
    let place = |node: Option<NodeId>| {
        let mut physical = json!({"artifactLocation": {"uri": uri(file.file)}});
        // Nodes of nested graphs are shown at the control node that the file declares.
        let declared = around.first().map(|control| control.node).or(node);
        if let (Some(source), Some(span)) = (file.source, declared.and_then(file.spans)) {
            physical["region"] = region(source, span);
        }
        let mut location = json!({"physicalLocation": physical});
        if let Some(node) = node {
            let controls = around.iter().map(|control| control.graph.name(control.node));
            let path: Vec<_> = controls.chain([graph.name(node)]).collect();
            location["logicalLocations"] = json!([{"name": graph.name(node), "fullyQualifiedName": path.join("/")}]);
        }
        location
    };
    let others: Vec<Value> = finding.nodes.iter().skip(1).map(|node| place(Some(*node))).collect();
    let mut result = json!({
        "ruleId": finding.rule.code(),
        "ruleIndex": Rule::ALL.iter().position(|rule| *rule == finding.rule),
        "level": level(finding.rule),
        "message": {"text": text},
        "locations": [place(finding.nodes.first().copied())],
    });
    if !others.is_empty() {
        result["relatedLocations"] = Value::Array(others);
    }
    if !finding.repairs.is_empty() {
        result["properties"] = json!({"repair": finding.repairs});
    }
    result
}

/// Lines and columns, both from 1, in characters; the end column is the one after the last character.
fn region(source: &str, span: Range<usize>) -> Value {
    let ends = [span.start, span.end.max(span.start)].map(|at| line_and_column(source, at));
    let [(start_line, start_column), (end_line, end_column)] = ends;
    json!({"startLine": start_line, "startColumn": start_column, "endLine": end_line, "endColumn": end_column})
}

/// A path as a URI reference: what RFC 3986 does not allow in a path is escaped.
fn uri(path: &str) -> String {
    use std::fmt::Write as _;
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b'+' | b'=' | b'@' | b',' => {
                uri.push(byte as char);
            }
            b'\\' => uri.push('/'),
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}
