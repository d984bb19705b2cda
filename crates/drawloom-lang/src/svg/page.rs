//! A picture on a page, with legend and findings.

use std::fmt::Write as _;

use super::picture::Picture;
use super::shape::{start_text, text};
use super::text::{FONTS, Number, width, wrapped};
use super::{MOST_EDGES, MOST_NODES, line};
use crate::drawing::{ALARM, Drawing, Line, Marks, TooLarge, strokes};
use drawloom_graph::diagnostic::Report;
use drawloom_graph::graph::Graph;

const MARGIN: f64 = 28.0;
const LEGEND_SIZE: f64 = 11.5;
const SAMPLE: f64 = 38.0;
const FINDING_SIZE: f64 = 12.0;
/// The narrowest page, so that legend and findings have room.
const NARROWEST: f64 = 420.0;
/// The most findings that are told below a drawing.
const MOST_FINDINGS: usize = 8;

/// Draws a graph as a self-contained SVG file.
///
/// Refuses graphs of more than 2000 nodes or 6000 edges: nobody can read them, and a layout would take minutes.
pub fn write(graph: &Graph, drawing: &Drawing<'_>) -> Result<String, TooLarge> {
    let graphs = with_nested(graph);
    let nodes = graphs.iter().map(|graph| graph.nodes().len()).sum();
    if nodes > MOST_NODES {
        return Err(TooLarge { what: "nodes", count: nodes, most: MOST_NODES });
    }
    let edges = graphs.iter().map(|graph| graph.edges().len()).sum::<usize>() + drawing.orders.len();
    if edges > MOST_EDGES {
        return Err(TooLarge { what: "edges", count: edges, most: MOST_EDGES });
    }
    let marks = Marks::new(graph, drawing.report);
    let picture = Picture::new(graph, &drawing.orders, &marks, "n")?;
    let mut kinds: Vec<Line> = strokes(graph, &drawing.orders, &marks).iter().map(|s| s.line).collect();
    kinds.extend(graphs.iter().flat_map(|graph| graph.edges()).map(|edge| Line::of(edge.label)));
    kinds.sort_unstable();
    kinds.dedup();

    let inner = picture.width.max(NARROWEST);
    let mut below = String::new();
    let mut y = MARGIN + picture.height + 34.0;
    legend(&kinds, inner, &mut y, &mut below);
    if let Some(report) = drawing.report {
        findings(report, inner, &mut y, &mut below);
    }
    let [page_width, page_height] = [inner + 2.0 * MARGIN, y + MARGIN - 8.0].map(Number);
    let mut out = String::with_capacity(picture.content.len() + below.len() + 4096);
    let _ = writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{page_width}" height="{page_height}" viewBox="0 0 {page_width} {page_height}" font-family="{FONTS}">"#
    );
    // A background of its own keeps the drawing readable on dark pages.
    let _ = writeln!(out, r##"<rect width="100%" height="100%" rx="8" fill="#ffffff"/>"##);
    line::markers(&kinds, &mut out);
    let [left, top] = [MARGIN + (inner - picture.width) / 2.0, MARGIN].map(Number);
    let _ = writeln!(out, r#"<g transform="translate({left},{top})">"#);
    out.push_str(&picture.content);
    out.push_str("</g>\n");
    out.push_str(&below);
    out.push_str("</svg>\n");
    Ok(out)
}

/// A graph and all graphs nested in it.
fn with_nested(graph: &Graph) -> Vec<&Graph> {
    let mut graphs = vec![graph];
    let mut at = 0;
    while at < graphs.len() {
        graphs.extend(graphs[at].bodies().flat_map(|(_, body)| body.graphs()));
        at += 1;
    }
    graphs
}

fn legend(kinds: &[Line], inner: f64, y: &mut f64, out: &mut String) {
    if kinds.is_empty() {
        return;
    }
    out.push_str("<g class=\"legend\">\n");
    let mut x = MARGIN;
    for &kind in kinds {
        let wide = SAMPLE + 8.0 + width(kind.meaning(), LEGEND_SIZE) + 22.0;
        if x > MARGIN && x + wide > MARGIN + inner {
            x = MARGIN;
            *y += 22.0;
        }
        let [from, to, at] = [x, x + SAMPLE, *y].map(Number);
        line::path(kind, false, &format!("M{from},{at} H{to}"), out);
        start_text(x + SAMPLE + 8.0, *y + 4.0, LEGEND_SIZE, "#3b4653", kind.meaning(), out);
        x += wide;
    }
    out.push_str("</g>\n");
    *y += 16.0;
}

fn findings(report: &Report, inner: f64, y: &mut f64, out: &mut String) {
    if report.violations.is_empty() {
        return;
    }
    out.push_str("<g class=\"findings\">\n");
    *y += 12.0;
    for finding in report.violations.iter().take(MOST_FINDINGS) {
        let indent = width("RF1a", FINDING_SIZE) + 14.0;
        let style = format!(r#"font-weight="bold" fill="{ALARM}""#);
        text((MARGIN, *y), FINDING_SIZE, &style, finding.rule.code(), out);
        for words in wrapped(&finding.message, FINDING_SIZE, inner - indent) {
            start_text(MARGIN + indent, *y, FINDING_SIZE, "#3b4653", &words, out);
            *y += 16.0;
        }
        *y += 5.0;
    }
    let more = report.violations.len().saturating_sub(MOST_FINDINGS) as u64 + report.unlisted;
    if more > 0 {
        start_text(MARGIN, *y, FINDING_SIZE, "#3b4653", &format!("and {more} more"), out);
        *y += 18.0;
    }
    out.push_str("</g>\n");
}
