//! One graph as a picture, with the pictures of its bodies inside.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::layout::Layout;
use super::shape::{HEADING, Shape, start_text};
use super::text::{Escaped, Number, width};
use super::{MOST_CELLS, line};
use crate::format::drawing::{ALARM, Line, Marks, Stroke, TooLarge, strokes};
use crate::format::sentence::Versions;
use crate::graph::{Graph, NodeId};

/// The space around the picture of a body.
const PADDING: f64 = 14.0;
const LABEL_SIZE: f64 = 11.0;

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
        let loops: Vec<bool> = graph.node_ids().map(|n| strokes.iter().any(|s| s.from == n && s.to == n)).collect();
        // A line from a node to itself needs room on the right, and the same on the left keeps the node centred.
        let sizes: Vec<(f64, f64)> =
            shapes.iter().zip(&loops).map(|(s, l)| (s.width + if *l { 76.0 } else { 0.0 }, s.height)).collect();
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

/// Writes the operator of a reduction beside its line, where nothing else is.
fn draw_label(stroke: &Stroke<'_>, path: &[(f64, f64)], text: &str, taken: &mut Vec<Area>, out: &mut String) {
    if path.len() < 2 {
        return;
    }
    let (wide, high) = (width(text, LABEL_SIZE) + 4.0, LABEL_SIZE + 3.0);
    let mut best: Option<(f64, f64, usize)> = None;
    'search: for part in [0.5, 0.38, 0.62, 0.28, 0.72] {
        for side in [1.0, -1.0] {
            for segment in 0..path.len() - 1 {
                let (x, y) = line::point(path, segment, part);
                let x = x + side * (wide / 2.0 + 4.0);
                let area = (x - wide / 2.0, y - high / 2.0, x + wide / 2.0, y + high / 2.0);
                let hits =
                    taken.iter().filter(|t| area.0 < t.2 && t.0 < area.2 && area.1 < t.3 && t.1 < area.3).count();
                if best.is_none_or(|(_, _, fewest)| hits < fewest) {
                    best = Some((x, y, hits));
                }
                if hits == 0 {
                    break 'search;
                }
            }
        }
    }
    let Some((x, y, _)) = best else { return };
    taken.push((x - wide / 2.0, y - high / 2.0, x + wide / 2.0, y + high / 2.0));
    let colour = if stroke.alarm { ALARM } else { Line::Reduce.colour() };
    let [x, y] = [x, y + 3.8].map(Number);
    let _ = writeln!(
        out,
        r##"<text x="{x}" y="{y}" font-size="{LABEL_SIZE}" font-weight="bold" text-anchor="middle" fill="{colour}" stroke="#ffffff" stroke-width="3" paint-order="stroke">{}</text>"##,
        Escaped(text)
    );
}
