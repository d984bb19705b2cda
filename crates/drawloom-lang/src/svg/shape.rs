//! What nodes look like.

use std::fmt::Write as _;

use super::text::{Escaped, Number, shortened, width};
use crate::drawing::{ALARM, control_words};
use drawloom_graph::Versions;
use drawloom_graph::diagnostic::Rule;
use drawloom_graph::graph::{Graph, NodeId, NodeKind};

const NAME_SIZE: f64 = 13.0;
const NOTE_SIZE: f64 = 10.5;
const CODE_SIZE: f64 = 10.0;
/// How much of the codes of violated rules lies on the node; the rest is beside it.
const ON_NODE: f64 = 22.0;
/// The slope of a trapezoid's sides.
pub(super) const SLOPE: f64 = 12.0;

/// A node without its place: the texts in it and its size.
pub(super) struct Shape {
    pub(super) kind: NodeKind,
    name: String,
    note: String,
    title: String,
    pub(super) width: f64,
    pub(super) height: f64,
    /// The width of the picture inside a frame.
    inner: f64,
}

impl Shape {
    pub(super) fn new(graph: &Graph, versions: &Versions, node: NodeId) -> Self {
        let kind = graph.kind(node);
        let id = graph.name(node);
        let cost = graph.cost(node).map(|cost| format!("cost {cost}"));
        let (name, note, title) = match (graph.region(node), versions.of(node)) {
            (Some(region), Some(version)) => {
                let region = graph.region_name(region);
                let note = format!("{} · version {version}", shortened(&id));
                (shortened(&region), note, format!("{id}: version {version} of {region}"))
            }
            _ => {
                let note = match kind {
                    NodeKind::Open => "open".to_owned(),
                    NodeKind::Close => "close".to_owned(),
                    NodeKind::Undeclared => "not declared".to_owned(),
                    NodeKind::Data => "no region".to_owned(),
                    NodeKind::Task => cost.unwrap_or_default(),
                };
                (shortened(&id), note, format!("{kind} {id}"))
            }
        };
        let words = width(&name, NAME_SIZE).max(width(&note, NOTE_SIZE));
        let (padding, least) = match kind {
            NodeKind::Data => (30.0, 64.0),
            NodeKind::Open | NodeKind::Close => (2.0 * SLOPE + 12.0, 60.0),
            NodeKind::Task | NodeKind::Undeclared => (28.0, 64.0),
        };
        let height = if note.is_empty() { 32.0 } else { 38.0 };
        Self { kind, name, note, title, width: (words + padding).max(least), height, inner: 0.0 }
    }

    /// The frame of a control node around the drawing of its body.
    pub(super) fn frame(graph: &Graph, node: NodeId, inner: (f64, f64)) -> Self {
        let words = graph.body(node).map_or_else(String::new, |body| control_words(graph, body));
        let id = graph.name(node);
        let (name, note) = (shortened(&id), shortened(&words));
        let heading = width(&name, NAME_SIZE) + width(&note, NOTE_SIZE) + 44.0;
        Self {
            kind: NodeKind::Task,
            title: format!("Task {id}, {words}"),
            name,
            note,
            width: heading.max(inner.0 + 12.0),
            height: inner.1 + HEADING + 6.0,
            inner: inner.0,
        }
    }

    /// Draws a node around its centre.
    pub(super) fn draw(&self, id: &str, (x, y): (f64, f64), rules: Option<&[Rule]>, out: &mut String) {
        self.open(id, rules, out);
        let (w, h) = (self.width, self.height);
        let (left, top) = (x - w / 2.0, y - h / 2.0);
        let (fill, stroke) = self.colours();
        let style = match rules {
            Some(_) => format!(r#"fill="{fill}" stroke="{ALARM}" stroke-width="2.6""#),
            None => format!(r#"fill="{fill}" stroke="{stroke}" stroke-width="1.2""#),
        };
        match self.kind {
            NodeKind::Open | NodeKind::Close => {
                let (above, below) = if self.kind == NodeKind::Open { (SLOPE, 0.0) } else { (0.0, SLOPE) };
                let points = [
                    (left + above, top),
                    (left + w - above, top),
                    (left + w - below, top + h),
                    (left + below, top + h),
                ];
                let points: Vec<String> =
                    points.iter().map(|(x, y)| format!("{},{}", Number(*x), Number(*y))).collect();
                let _ = writeln!(out, r#"<polygon points="{}" {style} stroke-linejoin="round"/>"#, points.join(" "));
            }
            _ => {
                let radius = if self.kind == NodeKind::Data { h / 2.0 } else { 5.0 };
                let dashes = if self.kind == NodeKind::Undeclared { r#" stroke-dasharray="4 3""# } else { "" };
                rect((left, top, w, h), radius, &format!("{style}{dashes}"), out);
            }
        }
        let baseline = if self.note.is_empty() { y + 4.5 } else { y - 1.5 };
        text((x, baseline), NAME_SIZE, r##"text-anchor="middle" fill="#1b2733""##, &self.name, out);
        if !self.note.is_empty() {
            text((x, y + 12.5), NOTE_SIZE, r##"text-anchor="middle" fill="#5a6776""##, &self.note, out);
        }
        self.close((left + w, top), rules, out);
    }

    /// Draws a frame around its centre, with a picture inside.
    pub(super) fn draw_frame(
        &self,
        id: &str,
        (x, y): (f64, f64),
        rules: Option<&[Rule]>,
        inner: &str,
        out: &mut String,
    ) {
        self.open(id, rules, out);
        let (w, h) = (self.width, self.height);
        let (left, top) = (x - w / 2.0, y - h / 2.0);
        let (stroke, weight) = if rules.is_some() { (ALARM, 2.6) } else { ("#c9a227", 1.2) };
        let style = format!(r##"fill="#fff4d6" stroke="{stroke}" stroke-width="{weight}""##);
        rect((left, top, w, h), 7.0, &style, out);
        let inside = (left + 6.0, top + HEADING, w - 12.0, h - HEADING - 6.0);
        rect(inside, 4.0, r##"fill="#ffffff" stroke="#e6d9ae""##, out);
        let start = left + 14.0;
        start_text(start, top + 18.0, NAME_SIZE, "#1b2733", &self.name, out);
        start_text(start + width(&self.name, NAME_SIZE) + 12.0, top + 18.0, NOTE_SIZE, "#7a6210", &self.note, out);
        let _ = writeln!(out, r#"<g transform="translate({},{})">"#, Number(x - self.inner / 2.0), Number(inside.1));
        out.push_str(inner);
        out.push_str("</g>\n");
        self.close((left + w, top), rules, out);
    }

    fn open(&self, id: &str, rules: Option<&[Rule]>, out: &mut String) {
        let kind = match self.kind {
            NodeKind::Task => "task",
            NodeKind::Open => "open",
            NodeKind::Close => "close",
            NodeKind::Data => "version",
            NodeKind::Undeclared => "undeclared",
        };
        let alarm = if rules.is_some() { " violation" } else { "" };
        let _ = writeln!(out, r#"<g class="node {kind}{alarm}" id="{id}"><title>{}</title>"#, Escaped(&self.title));
    }

    /// The codes of the violated rules, at the upper right corner, and the end of the group.
    fn close(&self, (right, top): (f64, f64), rules: Option<&[Rule]>, out: &mut String) {
        if let Some(rules) = rules {
            let codes = codes(rules);
            let wide = width(&codes, CODE_SIZE) + 12.0;
            // Beside the middle, where lines arrive.
            let (left, top) = (right - ON_NODE, top - 9.0);
            rect((left, top, wide, 16.0), 8.0, &format!(r#"fill="{ALARM}""#), out);
            let style = r##"font-weight="bold" text-anchor="middle" fill="#ffffff""##;
            text((left + wide / 2.0, top + 11.6), CODE_SIZE, style, &codes, out);
        }
        out.push_str("</g>\n");
    }

    fn colours(&self) -> (&'static str, &'static str) {
        match self.kind {
            NodeKind::Task => ("#fff4d6", "#c9a227"),
            NodeKind::Open | NodeKind::Close => ("#ececf2", "#8b90a0"),
            NodeKind::Data => ("#e4effa", "#7fa6cc"),
            NodeKind::Undeclared => ("#ffffff", "#8b90a0"),
        }
    }

    /// How far the codes of violated rules reach beyond the right side.
    pub(super) fn overhang(rules: &[Rule]) -> f64 {
        (width(&codes(rules), CODE_SIZE) + 12.0 - ON_NODE).max(0.0)
    }

    /// Where the line from the centre to a point outside leaves the bounding box.
    pub(super) fn border(&self, (x, y): (f64, f64), (to_x, to_y): (f64, f64)) -> (f64, f64) {
        let (dx, dy) = (to_x - x, to_y - y);
        let across = if dx == 0.0 { f64::INFINITY } else { self.width / 2.0 / dx.abs() };
        let along = if dy == 0.0 { f64::INFINITY } else { self.height / 2.0 / dy.abs() };
        let part = across.min(along).min(1.0);
        (x + dx * part, y + dy * part)
    }

    /// How far below the top of the bounding box, or above its bottom, the outline is at a distance from the centre.
    pub(super) fn inset(&self, across: f64) -> f64 {
        if self.kind != NodeKind::Data {
            return 0.0;
        }
        let radius = self.height / 2.0;
        let beyond = (across.abs() - (self.width / 2.0 - radius)).clamp(0.0, radius);
        radius - (radius * radius - beyond * beyond).sqrt()
    }
}

/// The height of the heading of a frame.
pub(super) const HEADING: f64 = 28.0;

/// The codes of rules, as they stand on a node.
fn codes(rules: &[Rule]) -> String {
    rules.iter().map(|rule| rule.code()).collect::<Vec<_>>().join(" ")
}

/// A rectangle with round corners: left, top, width, height.
pub(super) fn rect((x, y, wide, high): (f64, f64, f64, f64), radius: f64, style: &str, out: &mut String) {
    let [x, y, wide, high, radius] = [x, y, wide, high, radius].map(Number);
    let _ = writeln!(out, r#"<rect x="{x}" y="{y}" width="{wide}" height="{high}" rx="{radius}" {style}/>"#);
}

/// A text at a point, with the attributes of its style.
pub(super) fn text((x, y): (f64, f64), size: f64, style: &str, content: &str, out: &mut String) {
    let [x, y, size] = [x, y, size].map(Number);
    let _ = writeln!(out, r#"<text x="{x}" y="{y}" font-size="{size}" {style}>{}</text>"#, Escaped(content));
}

/// A text that starts at a point.
pub(super) fn start_text(x: f64, y: f64, size: f64, colour: &str, content: &str, out: &mut String) {
    text((x, y), size, &format!(r#"fill="{colour}""#), content, out);
}
