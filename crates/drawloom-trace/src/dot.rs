//! What was submitted, in the DOT language of Graphviz.
//!
//! Tasks are boxes, and boxes with rounded corners where the runtime made them itself. A solid arrow is an order that
//! follows from accesses, labelled with the regions; a dashed one was asked for. The children of a task stand in a frame
//! with it.

use std::fmt::Write as _;

use crate::error::Error;
use crate::order::edges::{Edge, edges};
use crate::order::family::Family;
use crate::record::Trace;

/// How much work goes into edges before the rest is left out, with a note in the drawing that says so.
const BUDGET: usize = 1 << 20;

/// Writes what was submitted in the DOT language. The only error is a trace that does not pass [`Trace::check`].
pub fn text(trace: &Trace) -> Result<String, Error> {
    trace.check()?;
    let family = Family::new(trace);
    let mut out = String::from("digraph drawloom {\n");
    out.push_str("  graph [bgcolor=white, fontname=\"Helvetica\", fontsize=12, ranksep=0.5, nodesep=0.3];\n");
    out.push_str("  node [fontname=\"Helvetica\", fontsize=12, shape=box, style=filled, fillcolor=\"#fff4d6\"];\n");
    out.push_str("  edge [fontname=\"Helvetica\", fontsize=11];\n");
    nodes(trace, &family, &mut out);
    let (mut budget, mut found, mut left_out) = (BUDGET, Vec::new(), 0);
    for scope in family.scopes.iter().rev() {
        left_out += edges(&family, scope, &mut budget, &mut found);
    }
    arrows(trace, &found, &mut out);
    for task in &trace.tasks {
        for &other in task.after.iter().filter(|&&other| trace.position(other).is_some()) {
            let _ = writeln!(out, "  t{other} -> t{} [style=dashed];", task.number);
        }
    }
    if left_out > 0 {
        let note = format!("The orders of {left_out} more tasks are not drawn: there are too many.");
        let _ = writeln!(out, "  note [shape=note, fillcolor=\"#ffd6d6\", label={}];", quote(&note));
    }
    out.push_str("}\n");
    Ok(out)
}

/// What is left to write: a task, or the end of a frame.
enum Step {
    Task(u32),
    Close,
}

/// Nodes and frames, with a stack of our own because frames may nest as deep as the trace says.
fn nodes(trace: &Trace, family: &Family, out: &mut String) {
    let roots = &family.scopes[trace.tasks.len()];
    let mut steps: Vec<Step> = roots.iter().rev().map(|&task| Step::Task(task)).collect();
    while let Some(step) = steps.pop() {
        let Step::Task(place) = step else {
            out.push_str("  }\n");
            continue;
        };
        let task = &trace.tasks[place as usize];
        let children = &family.scopes[place as usize];
        if !children.is_empty() {
            let _ = writeln!(out, "  subgraph cluster_{} {{", task.number);
            let _ = writeln!(out, "  label={}; style=rounded; color=\"#9aa3b2\";", quote(&task.name));
            steps.push(Step::Close);
            steps.extend(children.iter().rev().map(|&child| Step::Task(child)));
        }
        let style = if task.internal { ", style=\"filled,rounded\", fillcolor=\"#e9e9ef\"" } else { "" };
        let tooltip = task.site().map_or_else(String::new, |site| format!(", tooltip={}", quote(&site)));
        let label = format!("{}\n#{}", task.name, task.number);
        let _ = writeln!(out, "  t{} [label={}{style}{tooltip}];", task.number, quote(&label));
    }
}

/// One arrow for each pair of tasks, with all regions on it. Edges are sorted by pair within each scope.
fn arrows(trace: &Trace, edges: &[Edge], out: &mut String) {
    for pair in edges.chunk_by(|one, two| (one.from, one.to) == (two.from, two.to)) {
        let [from, to] = [pair[0].from, pair[0].to].map(|place| trace.tasks[place as usize].number);
        let names: Vec<&str> = pair.iter().map(|edge| &*trace.regions[edge.region as usize].name).collect();
        let _ = writeln!(out, "  t{from} -> t{to} [label={}];", quote(&names.join(", ")));
    }
}

/// A string of the DOT language. A backslash would start an escape, and a bare line break would end up as a space.
fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            letter if letter.is_control() => quoted.push(' '),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}
