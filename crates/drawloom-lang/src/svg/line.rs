//! What edges look like.

use std::fmt::Write as _;

use super::text::Number;
use crate::drawing::{ALARM, Line};

/// The width of a line.
fn weight(line: Line) -> f64 {
    match line {
        Line::Read | Line::Discard | Line::Stated => 1.4,
        Line::Use => 1.6,
        Line::Derived => 1.9,
        Line::Write => 2.3,
        Line::Reduce => 2.1,
    }
}

fn dashes(line: Line) -> &'static str {
    match line {
        Line::Read | Line::Write => "",
        Line::Discard => r#" stroke-dasharray="6 4""#,
        Line::Reduce => r#" stroke-dasharray="10 3 2.5 3""#,
        Line::Use => r#" stroke-dasharray="1 4" stroke-linecap="round""#,
        Line::Stated => r#" stroke-dasharray="9 4""#,
        Line::Derived => r#" stroke-dasharray="3 4""#,
    }
}

/// A path of a kind. Alarming lines are wider, and red.
pub(super) fn path(line: Line, alarm: bool, data: &str, out: &mut String) {
    let (colour, extra, marker) = match alarm {
        true => (ALARM, 0.9, "x"),
        false => (line.colour(), 0.0, "m"),
    };
    let width = Number(weight(line) + extra);
    if alarm {
        let _ = writeln!(
            out,
            r#"<path d="{data}" fill="none" stroke="{ALARM}" stroke-opacity="0.16" stroke-width="9" stroke-linecap="round"/>"#
        );
    }
    let _ = writeln!(
        out,
        r#"<path class="{}" d="{data}" fill="none" stroke="{colour}" stroke-width="{width}"{} marker-end="url(#{marker}{})"/>"#,
        class(line),
        dashes(line),
        class(line)
    );
}

/// The name of a kind in the file: the first word of its meaning.
fn class(line: Line) -> &'static str {
    line.meaning().split(' ').next().unwrap_or_default()
}

/// The arrowheads of the given kinds, plain and alarming.
pub(super) fn markers(lines: &[Line], out: &mut String) {
    out.push_str("<defs>\n");
    for &line in lines {
        for (prefix, colour) in [("m", line.colour()), ("x", ALARM)] {
            // Heads point along x and end at x = 10, where the line ends.
            let (head, reference) = match line {
                Line::Read => (format!(r#"<path d="M1,2 L10,5.5 L1,9 Z" fill="{colour}"/>"#), 9.5),
                Line::Write => (format!(r#"<path d="M0,1 L11,5.5 L0,10 Z" fill="{colour}"/>"#), 10.5),
                Line::Discard => (
                    format!(
                        r##"<circle cx="6.5" cy="5.5" r="3.4" fill="#fff" stroke="{colour}" stroke-width="1.5"/>"##
                    ),
                    10.5,
                ),
                Line::Reduce => (format!(r#"<path d="M0,5.5 L5.5,1.5 L11,5.5 L5.5,9.5 Z" fill="{colour}"/>"#), 11.0),
                Line::Use => (
                    format!(r##"<path d="M2,2 L10,5.5 L2,9 Z" fill="#fff" stroke="{colour}" stroke-width="1.3"/>"##),
                    10.5,
                ),
                Line::Stated | Line::Derived => (
                    format!(
                        r#"<path d="M2,1.5 L10,5.5 L2,9.5" fill="none" stroke="{colour}" stroke-width="1.7" stroke-linejoin="round"/>"#
                    ),
                    10.5,
                ),
            };
            let _ = writeln!(
                out,
                r#"<marker id="{prefix}{}" markerWidth="12" markerHeight="11" refX="{reference}" refY="5.5" orient="auto" markerUnits="userSpaceOnUse">{head}</marker>"#,
                class(line)
            );
        }
    }
    out.push_str("</defs>\n");
}

/// A smooth curve through points, vertical at each of them.
pub(super) fn curve(points: &[(f64, f64)]) -> String {
    let mut data = String::new();
    let Some(&(x, y)) = points.first() else { return data };
    let _ = write!(data, "M{},{}", Number(x), Number(y));
    for pair in points.windows(2) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        if (x0 - x1).abs() < 0.05 {
            let _ = write!(data, " V{}", Number(y1));
        } else {
            let middle = (y1 - y0) * 0.5;
            let (c0, c1) = (Number(y0 + middle), Number(y1 - middle));
            let _ = write!(data, " C{},{c0} {},{c1} {},{}", Number(x0), Number(x1), Number(x1), Number(y1));
        }
    }
    data
}

/// The point of a curve through points where `part` of segment `at` is behind.
pub(super) fn point(points: &[(f64, f64)], at: usize, part: f64) -> (f64, f64) {
    let ((x0, y0), (x1, y1)) = (points[at], points[at + 1]);
    // The cubic with its control points at half height.
    let across = part * part * (3.0 - 2.0 * part);
    let along = 1.5 * part * (1.0 - part) + part * part * part;
    (x0 + (x1 - x0) * across, y0 + (y1 - y0) * along)
}
