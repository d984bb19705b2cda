//! A stream as a picture for Graphviz.

use std::fmt::Write;

use drawloom_graph::dot::{Attributes, Dot, escaped};

use crate::plan::{Description, Kind};
use crate::report::{Report, visible};

/// Nodes with their figures below each other, channels as edges, back edges dashed, regions as boxes around their nodes.
pub(crate) fn picture(name: &str, of: &Description, report: Option<&Report>) -> String {
    let places = crate::plan::regions::places(of);
    let mut dot = Dot::new(&shown(name));
    let whole = Attributes::new().word("rankdir", "LR");
    dot.defaults(
        "graph",
        &match report {
            Some(report) => whole.text("label", &format!("{} firings", report.trips)),
            None => whole,
        },
    );
    dot.defaults("node", &Attributes::new().word("shape", "plain"));
    for (number, node) in of.nodes.iter().enumerate() {
        let mut rows = format!("<tr><td><b>{}</b></td></tr>", escaped(&shown(&node.name)));
        let what = match node.kind {
            Kind::Source { .. } => "source".to_owned(),
            Kind::Sink => "sink".to_owned(),
            _ => format!("width {}", node.width),
        };
        // Writing to a string cannot fail.
        let apart = if node.fuses { "" } else { ", apart" };
        let _ = write!(rows, "<tr><td>{what}{apart}</td></tr>");
        if let Some(figures) = report.and_then(|report| report.nodes.get(number)) {
            let _ = write!(rows, "<tr><td>{} items</td></tr><tr><td>", figures.inputs);
            let _ = match &figures.fused_into {
                Some(head) => write!(rows, "in {}", escaped(&shown(head))),
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
        let table = format!("<table cellborder=\"0\" style=\"rounded\">{rows}</table>");
        dot.node(format_args!("n{number}"), &Attributes::new().html(&table));
    }
    for (region, head) in of.regions.iter().enumerate() {
        let inside = (0..of.nodes.len()).filter(|node| places.of_node[*node].last() == Some(&(region as u32)));
        let title = format!("region of {}", shown(&of.nodes[head.node as usize].name));
        dot.open(region, &Attributes::new().text("label", &title).word("style", "rounded"));
        inside.for_each(|node| dot.node(format_args!("n{node}"), &Attributes::new()));
        dot.close();
    }
    for (number, edge) in (0_u32..).zip(&of.edges) {
        let mut label = shown(&of.channels[edge.channel as usize].name);
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
        let attributes = Attributes::new().text("label", &label);
        let attributes = if edge.growth.is_some() { attributes.word("style", "dashed") } else { attributes };
        dot.edge(format_args!("n{}", of.from(number)), format_args!("n{}", edge.to), &attributes);
    }
    dot.finish()
}

/// A name with signs in place of control characters, but for the ends of lines.
fn shown(name: &str) -> String {
    name.chars().map(|sign| if sign == '\n' { sign } else { visible(sign) }).collect()
}
