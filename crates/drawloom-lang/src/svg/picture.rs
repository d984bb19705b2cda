//! One graph as a picture, with the pictures of its bodies inside.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::layout::Layout;
use super::shape::{self, HEADING, Shape, rect, start_text};
use super::text::{Number, width};
use super::{MOST_CELLS, line};
use crate::drawing::{ALARM, Line, Marks, Stroke, TooLarge, strokes};
use drawloom_graph::Versions;
use drawloom_graph::graph::{Graph, NodeId};

/// The space around the picture of a body.
const PADDING: f64 = 14.0;
const LABEL_SIZE: f64 = 11.0;
/// The room for lines beside a node, both sides together.
const BESIDE: f64 = 76.0;

/// A drawn graph. Its top left corner is at (0, 0).
pub(super) struct Picture {
    pub(super) content: String,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A rectangle: left, top, right, bottom.
type Area = (f64, f64, f64, f64);

impl Picture {
    /// Draws a graph. `id` is the start of the ids of its nodes.
    pub(super) fn new(graph: &Graph, orders: &[(NodeId, NodeId)], marks: &Marks, id: &str) -> Result<Self, TooLarge> {
        let versions = Versions::new(graph);
        let mut bodies: BTreeMap<NodeId, String> = BTreeMap::new();
        let mut shapes = Vec::with_capacity(graph.nodes().len());
        for node in graph.node_ids() {
            shapes.push(match graph.body(node) {
                None => Shape::new(graph, &versions, node),
                Some(body) => {
                    let inner = beside(body.graphs(), &format!("{id}{}", node.index()))?;
                    bodies.insert(node, inner.content);
                    Shape::frame(graph, node, (inner.width, inner.height))
                }
            });
        }
        let strokes = strokes(graph, orders, marks);
        // The orders of a cycle have no place in time: they are drawn across a layout that does not know them.
        let (loose, strokes): (Vec<_>, Vec<_>) = strokes.into_iter().partition(|s| s.alarm && s.line == Line::Derived);
        // Lines beside a node need room there, on both sides, so that the node stays in the middle.
        let mut sizes: Vec<(f64, f64)> = shapes.iter().map(|s| (s.width, s.height)).collect();
        for (node, rules) in &marks.nodes {
            sizes[node.index()].0 = shapes[node.index()].width + 2.0 * Shape::overhang(rules);
        }
        for own in strokes.iter().filter(|s| s.from == s.to) {
            sizes[own.from.index()].0 = shapes[own.from.index()].width + BESIDE;
        }
        for node in loose.iter().flat_map(|s| [s.from.index(), s.to.index()]) {
            sizes[node].0 = shapes[node].width + BESIDE;
        }
        let edges: Vec<(usize, usize)> = strokes.iter().map(|s| (s.from.index(), s.to.index())).collect();
        let layout = Layout::new(&sizes, &edges).ok_or(TooLarge {
            what: "places where long edges pass",
            count: MOST_CELLS + 1,
            most: MOST_CELLS,
        })?;

        let mut content = String::new();
        let mut taken: Vec<Area> = layout
            .centres
            .iter()
            .zip(&shapes)
            .map(|((x, y), s)| (x - s.width / 2.0, y - s.height / 2.0, x + s.width / 2.0, y + s.height / 2.0))
            .collect();
        let mut labels = String::new();
        // Alarming lines come last, so that they lie on top.
        for alarm in [false, true] {
            for (stroke, path) in strokes.iter().zip(&layout.paths).filter(|(s, _)| s.alarm == alarm) {
                draw_stroke(stroke, path, &shapes, &layout.centres, &mut content);
                if let Some(text) = stroke.text {
                    draw_label(stroke, path, text, &mut taken, &mut labels);
                }
            }
        }
        for stroke in &loose {
            draw_loose(stroke, &shapes, &layout.centres, &mut content);
        }
        for node in graph.node_ids() {
            let (shape, centre) = (&shapes[node.index()], layout.centres[node.index()]);
            let rules = marks.nodes.get(&node).map(Vec::as_slice);
            let id = format!("{id}{}", node.index());
            match bodies.get(&node) {
                Some(inner) => shape.draw_frame(&id, centre, rules, inner, &mut content),
                None => shape.draw(&id, centre, rules, &mut content),
            }
        }
        content.push_str(&labels);
        Ok(Self { content, width: layout.width, height: layout.height })
    }
}

/// The pictures of a body's graphs, side by side, with captions when there are two.
fn beside<'g>(graphs: impl Iterator<Item = &'g Graph>, id: &str) -> Result<Picture, TooLarge> {
    let mut pictures = Vec::new();
    for (branch, graph) in graphs.enumerate() {
        pictures.push(Picture::new(graph, &[], &Marks::default(), &format!("{id}.{branch}."))?);
    }
    let caption = if pictures.len() > 1 { HEADING - 8.0 } else { 0.0 };
    let mut whole = Picture { content: String::new(), width: PADDING, height: 0.0 };
    for (picture, name) in pictures.iter().zip(["then", "else"]) {
        let [x, y] = [whole.width, PADDING + caption].map(Number);
        if caption > 0.0 {
            start_text(whole.width, PADDING + 10.0, LABEL_SIZE, "#7a6210", name, &mut whole.content);
        }
        let _ = writeln!(whole.content, r#"<g transform="translate({x},{y})">"#);
        whole.content.push_str(&picture.content);
        whole.content.push_str("</g>\n");
        whole.width += picture.width.max(30.0) + PADDING;
        whole.height = whole.height.max(picture.height + 2.0 * PADDING + caption);
    }
    Ok(whole)
}

fn draw_stroke(stroke: &Stroke<'_>, path: &[(f64, f64)], shapes: &[Shape], centres: &[(f64, f64)], out: &mut String) {
    let (from, to) = (stroke.from.index(), stroke.to.index());
    if from == to {
        let ((x, y), half) = (centres[from], shapes[from].width / 2.0);
        let [right, far, above, below] = [x + half, x + half + 34.0, y - 8.0, y + 8.0].map(Number);
        let data = format!("M{right},{above} C{far},{above} {far},{below} {right},{below}");
        line::path(stroke.line, stroke.alarm, &data, out);
        return;
    }
    let mut path = path.to_vec();
    // Lines end at the outline of a node, which is rounded, and not at its bounding box.
    let last = path.len() - 1;
    for (at, node) in [(0, from), (last, to)] {
        let inset = shapes[node].inset(path[at].0 - centres[node].0);
        path[at].1 += if path[at].1 > centres[node].1 { -inset } else { inset };
    }
    line::path(stroke.line, stroke.alarm, &line::curve(&path), out);
}

/// Draws an order that the layout does not know: an arc that bows to the left as seen from its start, so that the arcs
/// of two opposite orders do not meet.
fn draw_loose(stroke: &Stroke<'_>, shapes: &[Shape], centres: &[(f64, f64)], out: &mut String) {
    let (from, to) = (stroke.from.index(), stroke.to.index());
    let ((x0, y0), (x1, y1)) = (centres[from], centres[to]);
    let (dx, dy) = (x1 - x0, y1 - y0);
    let length = dx.hypot(dy).max(1.0);
    let bow = (length * 0.18).clamp(16.0, 60.0);
    let (bow_x, bow_y) = (dy / length * bow, -dx / length * bow);
    let (middle_x, middle_y) = ((x0 + x1) / 2.0 + bow_x * 1.6, (y0 + y1) / 2.0 + bow_y * 1.6);
    let (start_x, start_y) = shapes[from].border((x0, y0), (middle_x, middle_y));
    let (end_x, end_y) = shapes[to].border((x1, y1), (middle_x, middle_y));
    let [a, b, c, d, e, f] = [start_x, start_y, middle_x, middle_y, end_x, end_y].map(Number);
    line::path(stroke.line, stroke.alarm, &format!("M{a},{b} Q{c},{d} {e},{f}"), out);
}

/// Writes the operator of a reduction on its line, where nothing else is.
fn draw_label(stroke: &Stroke<'_>, path: &[(f64, f64)], text: &str, taken: &mut Vec<Area>, out: &mut String) {
    if path.len() < 2 {
        return;
    }
    let (wide, high) = (width(text, LABEL_SIZE) + 8.0, LABEL_SIZE + 5.0);
    let area = |(x, y): (f64, f64)| (x - wide / 2.0, y - high / 2.0, x + wide / 2.0, y + high / 2.0);
    let hits = |a: Area| taken.iter().filter(|t| a.0 < t.2 && t.0 < a.2 && a.1 < t.3 && t.1 < a.3).count();
    let parts = [0.45, 0.6, 0.3, 0.7, 0.2];
    let places = parts.iter().flat_map(|part| (0..path.len() - 1).map(|at| line::point(path, at, *part)));
    // The first place with the fewest collisions; `min_by_key` keeps the first of equals.
    let Some((x, y)) = places.min_by_key(|place| hits(area(*place))) else { return };
    taken.push(area((x, y)));
    rect((x - wide / 2.0, y - high / 2.0, wide, high), 4.0, r##"fill="#ffffff""##, out);
    let colour = if stroke.alarm { ALARM } else { Line::Reduce.colour() };
    let style = format!(r#"font-weight="bold" text-anchor="middle" fill="{colour}""#);
    shape::text((x, y + 3.8), LABEL_SIZE, &style, text, out);
}
