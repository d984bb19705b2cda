//! A stream as a picture for Graphviz.

use std::fmt::Write;

use crate::plan::{Description, Kind};
use crate::report::{Report, visible};

/// Nodes with their figures below each other, channels as edges, back edges dashed, regions as boxes around their nodes.
pub(crate) fn picture(name: &str, of: &Description, report: Option<&Report>) -> String {
    let places = crate::plan::regions::places(of);
    let mut text = format!("digraph {} {{\n  rankdir=LR;\n  node [shape=plain];\n", quoted(name));
    // Writing to a string cannot fail.
    if let Some(report) = report {
        let _ = writeln!(text, "  label=\"{} firings\";", report.trips);
    }
    for (number, node) in of.nodes.iter().enumerate() {
        let mut rows = format!("<tr><td><b>{}</b></td></tr>", escaped(&node.name));
        let what = match node.kind {
            Kind::Source { .. } => "source".to_owned(),
            Kind::Sink => "sink".to_owned(),
            _ => format!("width {}", node.width),
        };
        let apart = if node.fuses { "" } else { ", apart" };
        let _ = write!(rows, "<tr><td>{what}{apart}</td></tr>");
        if let Some(figures) = report.and_then(|report| report.nodes.get(number)) {
            let _ = write!(rows, "<tr><td>{} items</td></tr><tr><td>", figures.inputs);
            let _ = match &figures.fused_into {
                Some(head) => write!(rows, "in {}", escaped(head)),
                None => write!(rows, "{} runs", figures.runs),
            };
            if figures.is_source || figures.fused_into.is_some() {
                rows.push_str("</td></tr>");
            } else {
                let _ = write!(rows, ", {} full, {:.1} lanes</td></tr>", figures.full_runs, figures.mean_lanes());
            }
            if figures.fused_into.is_none() && report.is_some_and(|report| report.timed) {
                let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
                let (user, pushing, overhead) = (ms(figures.user), ms(figures.pushing), ms(figures.overhead));
                let _ = write!(rows, "<tr><td>{user:.3} + {pushing:.3} + {overhead:.3} ms</td></tr>");
            }
        }
        let _ = writeln!(text, "  n{number} [label=<<table cellborder=\"0\" style=\"rounded\">{rows}</table>>];");
    }
    for (region, head) in of.regions.iter().enumerate() {
        let inside = (0..of.nodes.len()).filter(|node| places.of_node[*node].last() == Some(&(region as u32)));
        let inside: Vec<String> = inside.map(|node| format!("n{node};")).collect();
        let title = quoted(&format!("region of {}", of.nodes[head.node as usize].name));
        let _ = writeln!(text, "  subgraph cluster_{region} {{ label={title}; style=rounded; {} }}", inside.join(" "));
    }
    for (number, edge) in (0_u32..).zip(&of.edges) {
        let mut label = of.channels[edge.channel as usize].name.clone();
        // Between nodes that run as one there is no queue.
        if let Some(report) = report
            && let Some(figures) = report.edges.get(number as usize)
            && report.inside(figures).is_none()
        {
            let _ = write!(label, " {}/{}", figures.high_water, figures.capacity);
            if report.timed {
                let _ = write!(label, ", {:.3} ms", figures.blocked.as_secs_f64() * 1e3);
            }
        }
        let style = if edge.growth.is_some() { ", style=dashed" } else { "" };
        let _ = writeln!(text, "  n{} -> n{} [label={}{style}];", of.from(number), edge.to, quoted(&label));
    }
    text.push_str("}\n");
    text
}

/// A text between quotes. A label is read twice: as a text in which a backslash begins something else, and for what HTML calls `&`.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for sign in text.chars() {
        match sign {
            '"' | '\\' => quoted.extend(['\\', sign]),
            '&' => quoted.push_str("&amp;"),
            '\n' => quoted.push_str("\\n"),
            sign => quoted.push(visible(sign)),
        }
    }
    quoted.push('"');
    quoted
}

/// A text in a label of Graphviz's kind of HTML.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("<br/>"),
            sign => escaped.push(visible(sign)),
        }
    }
    escaped
}
