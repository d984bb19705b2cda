//! Graphs in the DOT language of Graphviz.
//!
//! Versions are rounded boxes with their region and number, tasks are boxes, Opens and Closes trapezoids. Every kind of
//! edge has its own colour, dashes and arrowhead, listed in a legend; violations are red and carry their rule.

use std::fmt::Write as _;

use drawloom_graph::dot::{Attributes, Dot};
use drawloom_graph::{Graph, NodeId, NodeKind, Versions};

use super::drawing::{ALARM, Drawing, Line, Marks, control_words, strokes};

/// The colour of frames.
const FRAME: &str = "#9aa3b2";

/// Writes a graph in the DOT language. Nested graphs are clusters around their control node.
pub fn write(graph: &Graph, drawing: &Drawing<'_>) -> String {
    let mut dot = Dot::new("drawloom");
    let font = |size: u32| Attributes::new().text("fontname", "Helvetica").word("fontsize", size);
    dot.defaults("graph", &font(12).word("bgcolor", "white").word("ranksep", 0.5).word("nodesep", 0.3));
    dot.defaults("node", &font(12));
    dot.defaults("edge", &font(11));
    let marks = Marks::new(graph, drawing.report);
    contents(graph, drawing, &marks, "n", &mut dot);
    legend(&mut dot);
    dot.finish()
}

/// The nodes and edges of one graph. `prefix` makes the names of nested nodes unique.
fn contents(graph: &Graph, drawing: &Drawing<'_>, marks: &Marks, prefix: &str, dot: &mut Dot) {
    let versions = Versions::new(graph);
    for node in graph.node_ids() {
        let attributes = node_attributes(graph, &versions, marks, node);
        let name = format!("{prefix}{}", node.index());
        let Some(body) = graph.body(node) else {
            dot.node(name, &attributes);
            continue;
        };
        dot.open(&name, &frame(&format!("{} {}", control_words(graph, body), graph.name(node))));
        dot.node(&name, &attributes);
        for (branch, nested) in body.graphs().enumerate() {
            contents(nested, &Drawing::default(), &Marks::default(), &format!("{name}_{branch}_"), dot);
        }
        dot.close();
    }
    for stroke in strokes(graph, &drawing.orders, marks) {
        let mut attributes = line_attributes(stroke.line, stroke.alarm);
        if let Some(text) = stroke.text {
            attributes = attributes.text("label", text);
        }
        let [from, to] = [stroke.from, stroke.to].map(|node| format!("{prefix}{}", node.index()));
        dot.edge(from, to, &attributes);
    }
}

fn frame(label: &str) -> Attributes {
    Attributes::new().text("label", label).word("style", "rounded").text("color", FRAME)
}

fn node_attributes(graph: &Graph, versions: &Versions, marks: &Marks, node: NodeId) -> Attributes {
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
    let rules = marks.nodes.get(&node);
    if let Some(rules) = rules {
        let codes: Vec<&str> = rules.iter().map(|rule| rule.code()).collect();
        let _ = write!(label, "\n{}", codes.join(" "));
    }
    let attributes = Attributes::new().text("label", &label).word("shape", shape).text("style", style);
    let attributes = attributes.text("fillcolor", fill);
    match rules {
        Some(_) => attributes.text("color", ALARM).text("fontcolor", ALARM).word("penwidth", 2.5),
        None => attributes,
    }
}

fn line_attributes(line: Line, alarm: bool) -> Attributes {
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
    let attributes = Attributes::new().text("color", colour).text("fontcolor", colour);
    attributes.word("style", style).word("arrowhead", head).word("penwidth", format_args!("{width:.1}"))
}

fn legend(dot: &mut Dot) {
    dot.open("legend", &frame("legend"));
    for (i, line) in Line::ALL.into_iter().enumerate() {
        let (start, end) = (format!("legend_a{i}"), format!("legend_b{i}"));
        dot.node(&start, &Attributes::new().word("shape", "point").word("width", 0.05).text("color", FRAME));
        dot.node(&end, &Attributes::new().word("shape", "plaintext").text("label", line.meaning()));
        dot.edge(&start, &end, &line_attributes(line, false));
    }
    dot.close();
}
