//! `drawloom order`: the serial order, the launch list, and the orders beyond the dataflow.

use drawloom_graph::format::{Sentences, json, report};
use drawloom_graph::{Graph, Label, Order as Ordered, Parameter, Privilege};

use super::reason::Reasons;
use super::verdict::{self, Voice};
use crate::arguments::{Format, Order};
use crate::exit::Exit;
use crate::input::Input;
use crate::output::Output;

/// Orders a graph.
pub(crate) fn run(arguments: &Order, output: &mut Output) -> Exit {
    let input = Input::new(&arguments.file);
    // The augmented graph is JSON for a machine, so troubles are told as JSON too.
    let voice = if arguments.augment { Voice::Json } else { Voice::from(arguments.format) };
    let (graph, order) = match verdict::ordered(&input, voice, output) {
        Ok(ordered) => ordered,
        Err(exit) => return exit,
    };
    let graph = &graph;
    if arguments.augment {
        output.line(json::write(&augmented(graph, &order)));
    } else if arguments.format == Format::Json {
        output.line(report::order_json(&input.given(), graph, &order, &graph.launches(&order.tasks)));
    } else {
        text(&input, graph, &order, output);
    }
    Exit::Valid
}

/// The graph with the derived orders as edges. An order that is an edge already is not added again.
fn augmented(graph: &Graph, order: &Ordered) -> Graph {
    let mut stated: Vec<_> =
        graph.edges().iter().filter(|e| e.label == Label::HappensBefore).map(|e| (e.from, e.to)).collect();
    stated.sort_unstable();
    let mut graph = graph.clone();
    for &(before, after) in &order.happens_before {
        if stated.binary_search(&(before, after)).is_err() {
            graph.connect(before, after, Label::HappensBefore);
        }
    }
    graph
}

fn text(input: &Input, graph: &Graph, order: &Ordered, output: &mut Output) {
    let tasks = order.tasks.len();
    output.line(format_args!("{input}: a serial order of {}", counted(tasks, "task", "tasks")));
    launches(graph, order, tasks, output);
    output.line("");
    if order.happens_before.is_empty() {
        return output.line("the dataflow alone orders the tasks");
    }
    output.line(format_args!(
        "{} beyond the dataflow",
        counted(order.happens_before.len(), "order", "orders")
    ));
    reasons(graph, order, order.happens_before.len(), output);
}

/// Prints the first tasks of an order with their parameters.
pub(crate) fn launches(graph: &Graph, order: &Ordered, most: usize, output: &mut Output) {
    let shown = &order.tasks[..order.tasks.len().min(most)];
    let number = order.tasks.len().to_string().len().max(2);
    let name = shown.iter().map(|task| graph.name(*task).chars().count()).max().unwrap_or(0).min(32);
    for (at, launch) in graph.launches(shown).iter().enumerate() {
        let parameters: Vec<String> = launch.parameters.iter().map(|p| parameter(graph, p)).collect();
        let task = graph.name(launch.task);
        let line = format!("  {:>number$}  {task:<name$}  {}", at + 1, parameters.join(", "));
        output.line(line.trim_end());
    }
}

/// Prints why the first orders beyond the dataflow are required.
pub(crate) fn reasons(graph: &Graph, order: &Ordered, most: usize, output: &mut Output) {
    let (reasons, sentences) = (Reasons::new(graph), Sentences::new(graph));
    for &(before, after) in order.happens_before.iter().take(most) {
        match reasons.step(before, after) {
            Some(step) => output.line(format_args!("  {}", sentences.step(&step))),
            None => output.line(format_args!("  {} must run before {}", graph.name(before), graph.name(after))),
        }
    }
}

/// `3 tasks`, `1 task`.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn parameter(graph: &Graph, parameter: &Parameter) -> String {
    let region = graph.region_name(parameter.region);
    match parameter.privilege {
        Privilege::Reduce(operator) => format!("reduce({}) {region}", graph.operator_name(operator)),
        privilege => format!("{privilege} {region}"),
    }
}
