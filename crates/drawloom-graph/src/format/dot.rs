//! Graphs in the DOT language of Graphviz.
//!
//! Versions are rounded boxes with their region and number, tasks are boxes, Opens and Closes trapezoids. Every kind of
//! edge has its own colour, dashes and arrowhead, listed in a legend; violations are red and carry their rule.

use std::fmt::Write as _;

use super::drawing::{ALARM, Drawing, Line, Marks, control_words, strokes};
use super::sentence::Versions;
use crate::graph::{Graph, NodeId, NodeKind};

/// Writes a graph in the DOT language. Nested graphs are clusters around their control node.
pub fn write(graph: &Graph, drawing: &Drawing<'_>) -> String {
    let mut out = String::from("digraph drawloom {\n");
    out.push_str("  graph [bgcolor=white, fontname=\"Helvetica\", fontsize=12, ranksep=0.5, nodesep=0.3];\n");
    out.push_str("  node [fontname=\"Helvetica\", fontsize=12];\n");
    out.push_str("  edge [fontname=\"Helvetica\", fontsize=11];\n");
    let marks = Marks::new(graph, drawing.report);
    contents(graph, drawing, &marks, "n", "  ", &mut out);
    legend(&mut out);
    out.push_str("}\n");
    out
}

/// The nodes and edges of one graph. `prefix` makes the names of nested nodes unique.
fn contents(graph: &Graph, drawing: &Drawing<'_>, marks: &Marks, prefix: &str, indent: &str, out: &mut String) {
    let versions = Versions::new(graph);
    for node in graph.node_ids() {
        let attributes = node_attributes(graph, &versions, marks, node);
        let Some(body) = graph.body(node) else {
            let _ = writeln!(out, "{indent}{prefix}{} [{attributes}];", node.index());
            continue;
        };
        let inner = format!("{indent}  ");
        let _ = writeln!(out, "{indent}subgraph cluster_{prefix}{} {{", node.index());
        let title = format!("{} {}", control_words(graph, body), graph.name(node));
        let _ = writeln!(out, "{inner}label={}; style=rounded; color=\"#9aa3b2\";", quote(&title));
        let _ = writeln!(out, "{inner}{prefix}{} [{attributes}];", node.index());
        for (branch, nested) in body.graphs().enumerate() {
            let prefix = format!("{prefix}{}_{branch}_", node.index());
            contents(nested, &Drawing::default(), &Marks::default(), &prefix, &inner, out);
        }
        let _ = writeln!(out, "{indent}}}");
    }
    for stroke in strokes(graph, &drawing.orders, marks) {
        let (from, to) = (stroke.from.index(), stroke.to.index());
        let mut attributes = line_attributes(stroke.line, stroke.alarm);
        if let Some(text) = stroke.text {
            let _ = write!(attributes, ", label={}", quote(text));
        }
        let _ = writeln!(out, "{indent}{prefix}{from} -> {prefix}{to} [{attributes}];");
    }
}

fn node_attributes(graph: &Graph, versions: &Versions, marks: &Marks, node: NodeId) -> String {
    let name = graph.name(node);
    let mut label = match (graph.region(node), versions.of(node)) {
        (Some(region), Some(version)) => format!("{}\n{name}, version {version}", graph.region_name(region)),
        _ => name.into_owned(),
    };
    let (shape, style, fill) = match graph.kind(node) {
        NodeKind::Task => ("box", "filled", "#fff4d6"),
        NodeKind::Open => ("trapezium", "filled", "#e9e9ef"),
        NodeKind::Close => ("invtrapezium", "filled", "#e9e9ef"),
        NodeKind::Data => ("box", "filled,rounded", "#e4effa"),
        NodeKind::Undeclared => ("box", "filled,dashed", "#ffffff"),
    };
    let mut attributes = format!("shape={shape}, style=\"{style}\", fillcolor=\"{fill}\"");
    if let Some(rules) = marks.nodes.get(&node) {
        let codes: Vec<&str> = rules.iter().map(|rule| rule.code()).collect();
        let _ = write!(label, "\n{}", codes.join(" "));
        let _ = write!(attributes, ", color=\"{ALARM}\", fontcolor=\"{ALARM}\", penwidth=2.5");
    }
    format!("label={}, {attributes}", quote(&label))
}

fn line_attributes(line: Line, alarm: bool) -> String {
    let (style, head, width) = match line {
        Line::Read => ("solid", "normal", 1.2),
        Line::Discard => ("dashed", "odot", 1.2),
        Line::Write => ("bold", "normal", 2.0),
        Line::Reduce => ("bold", "diamond", 2.0),
        Line::Use => ("dotted", "empty", 1.2),
        Line::Stated => ("dashed", "vee", 1.2),
        Line::Derived => ("dotted", "vee", 1.6),
    };
    let colour = if alarm { ALARM } else { line.colour() };
    let width = if alarm { width + 1.2 } else { width };
    format!("color=\"{colour}\", fontcolor=\"{colour}\", style={style}, arrowhead={head}, penwidth={width:.1}")
}

fn legend(out: &mut String) {
    out.push_str("  subgraph cluster_legend {\n    label=\"legend\"; style=rounded; color=\"#9aa3b2\";\n");
    for (i, line) in Line::ALL.into_iter().enumerate() {
        let _ = writeln!(out, "    legend_a{i} [shape=point, width=0.05, color=\"#9aa3b2\"];");
        let _ = writeln!(out, "    legend_b{i} [shape=plaintext, label={}];", quote(line.meaning()));
        let _ = writeln!(out, "    legend_a{i} -> legend_b{i} [{}];", line_attributes(line, false));
    }
    out.push_str("  }\n");
}

/// A quoted string. Graphviz knows the escapes `\"`, `\\` and `\n`; other control characters have no place in a label.
fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control() => quoted.push('\u{fffd}'),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
