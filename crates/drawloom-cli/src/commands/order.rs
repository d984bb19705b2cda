//! `drawloom order`: the serial order, the launch list, and the orders beyond the dataflow.

use drawloom_graph::{Graph, Label, NodeId, Order as Ordered, Parameter, Privilege, Sentences};
use drawloom_lang::{json, report};

use super::reason::Reasons;
use super::verdict::{self, Trouble, Voice};
use crate::arguments::{Format, Order};
use crate::exit::Exit;
use crate::input::Input;
use crate::output::Output;
use crate::progress;

/// Orders a graph.
pub(crate) fn run(arguments: &Order, output: &mut Output) -> Exit {
    let input = Input::new(&arguments.file);
    // The augmented graph is JSON for a machine, so troubles are told as JSON too.
    let voice = if arguments.augment { Voice::Json } else { Voice::from(arguments.format) };
    let ordered = verdict::valid(&input, voice, output, |graph| {
        let order = progress::order(&input.to_string(), graph)?;
        let augmented = if arguments.augment { Some(augmented(graph, &order)?) } else { None };
        Ok((order, augmented))
    });
    let (graph, (order, augmented)) = match ordered {
        Ok(ordered) => ordered,
        Err(exit) => return exit,
    };
    match (augmented, arguments.format) {
        (Some(augmented), _) => output.line(json::write(&augmented)),
        (None, Format::Json) => {
            output.line(report::order_json(&input.given(), &graph, &order, &graph.launches(&order.tasks)));
        }
        (None, Format::Text) => text(&input, &graph, &order, output),
    }
    Exit::Valid
}

fn augmented(graph: &Graph, order: &Ordered) -> Result<Graph, Trouble> {
    graph.augmented(order).ok_or_else(|| {
        let message = "so many tasks must each precede so many others that their orders cannot be listed as edges";
        Trouble::Unusable(message.to_owned())
    })
}

fn text(input: &Input, graph: &Graph, order: &Ordered, output: &mut Output) {
    let tasks = order.tasks.len();
    output.line(format_args!("{input}: a serial order of {}", counted(tasks, "task", "tasks")));
    launches(graph, order, tasks, output);
    let orders = derived(graph, order);
    output.line("");
    if orders.is_empty() {
        return output.line("The edges alone order the tasks.");
    }
    output.line(format_args!("{} because data is overwritten in place:", counted(orders.len(), "order", "orders")));
    reasons(graph, order, &orders, output);
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

/// The orders that were derived: the pairs that are listed and not stated in the graph.
pub(crate) fn derived(graph: &Graph, order: &Ordered) -> Vec<(NodeId, NodeId)> {
    let mut stated: Vec<_> =
        graph.edges().iter().filter(|e| e.label == Label::HappensBefore).map(|e| (e.from, e.to)).collect();
    stated.sort_unstable();
    order.happens_before.iter().copied().filter(|pair| stated.binary_search(pair).is_err()).collect()
}

/// Prints why orders are required.
pub(crate) fn reasons(graph: &Graph, order: &Ordered, orders: &[(NodeId, NodeId)], output: &mut Output) {
    let (reasons, sentences) = (Reasons::new(graph), Sentences::new(graph));
    for &(before, after) in orders {
        let names = (order.name(graph, before), order.name(graph, after));
        // A barrier is no node of the graph, and has no reason of its own.
        let step = match before.index().max(after.index()) < graph.nodes().len() {
            true => reasons.step(before, after),
            false => None,
        };
        match step {
            Some(step) => output.line(format_args!("  {}", sentences.step(&step))),
            None => output.line(format_args!("  {} must run before {}", names.0, names.1)),
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
