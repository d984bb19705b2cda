//! What was submitted, in the DOT language of Graphviz.
//!
//! Tasks are boxes, and boxes with rounded corners where the runtime made them itself. A solid arrow is an order that
//! follows from accesses, labelled with the regions; a dashed one was asked for. The children of a task stand in a frame
//! with it.

use drawloom_graph::dot::{Attributes, Dot};

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
    let font = |size: u32| Attributes::new().text("fontname", "Helvetica").word("fontsize", size);
    let mut dot = Dot::new("drawloom");
    dot.defaults("graph", &font(12).word("bgcolor", "white").word("ranksep", 0.5).word("nodesep", 0.3));
    dot.defaults("node", &font(12).word("shape", "box").word("style", "filled").text("fillcolor", "#fff4d6"));
    dot.defaults("edge", &font(11));
    nodes(trace, &family, &mut dot);
    let (mut budget, mut found, mut left_out) = (BUDGET, Vec::new(), 0);
    for scope in family.scopes.iter().rev() {
        left_out += edges(&family, scope, &mut budget, &mut found);
    }
    arrows(trace, &found, &mut dot);
    for task in &trace.tasks {
        for &other in task.after.iter().filter(|&&other| trace.position(other).is_some()) {
            dot.edge(id(other), id(task.number), &Attributes::new().word("style", "dashed"));
        }
    }
    if left_out > 0 {
        let note = format!("The orders of {left_out} more tasks are not drawn: there are too many.");
        let attributes = Attributes::new().word("shape", "note").text("fillcolor", "#ffd6d6").text("label", &note);
        dot.node("note", &attributes);
    }
    Ok(dot.finish())
}

/// What a task is called in the drawing's text.
fn id(task: u64) -> String {
    format!("t{task}")
}

/// What is left to write: a task, or the end of a frame.
enum Step {
    Task(u32),
    Close,
}

/// Nodes and frames, with a stack of our own because frames may nest as deep as the trace says.
fn nodes(trace: &Trace, family: &Family, dot: &mut Dot) {
    let roots = &family.scopes[trace.tasks.len()];
    let mut steps: Vec<Step> = roots.iter().rev().map(|&task| Step::Task(task)).collect();
    while let Some(step) = steps.pop() {
        let Step::Task(place) = step else {
            dot.close();
            continue;
        };
        let task = &trace.tasks[place as usize];
        let children = &family.scopes[place as usize];
        if !children.is_empty() {
            let frame = Attributes::new().text("label", &task.name).word("style", "rounded").text("color", "#9aa3b2");
            dot.open(task.number, &frame);
            steps.push(Step::Close);
            steps.extend(children.iter().rev().map(|&child| Step::Task(child)));
        }
        let mut attributes = Attributes::new().text("label", &format!("{}\n#{}", task.name, task.number));
        if task.internal {
            attributes = attributes.text("style", "filled,rounded").text("fillcolor", "#e9e9ef");
        }
        if let Some(site) = task.site() {
            attributes = attributes.text("tooltip", &site);
        }
        dot.node(id(task.number), &attributes);
    }
}

/// One arrow for each pair of tasks, with all regions on it. Edges are sorted by pair within each scope.
fn arrows(trace: &Trace, edges: &[Edge], dot: &mut Dot) {
    for pair in edges.chunk_by(|one, two| (one.from, one.to) == (two.from, two.to)) {
        let [from, to] = [pair[0].from, pair[0].to].map(|place| id(trace.tasks[place as usize].number));
        let names: Vec<&str> = pair.iter().map(|edge| &*trace.regions[edge.region as usize].name).collect();
        dot.edge(from, to, &Attributes::new().text("label", &names.join(", ")));
    }
}
