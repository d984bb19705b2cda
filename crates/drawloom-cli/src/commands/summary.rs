//! What `drawloom check` says about one valid graph: how large it is, in what order it can run, and why.

use drawloom_graph::format::Sentences;
use drawloom_graph::{Explanation, Graph, NodeKind, Order, Profile};

use super::order::{counted, launches, reasons};
use super::verdict::Checked;
use crate::input::Input;
use crate::output::Output;

/// A summary fits on a screen: it shows this many tasks, and this many reasons of each sort.
const MOST_TASKS: usize = 12;
const MOST_REASONS: usize = 4;

/// Describes a valid graph.
pub(crate) fn describe(input: &Input, checked: &Checked, output: &mut Output) {
    let graph = checked.graph();
    output.line(format_args!("{input}: valid"));
    output.line(format_args!("  {}", size(graph)));
    let Ok(order) = graph.order() else { return };
    if order.tasks.is_empty() {
        return;
    }
    let profile = graph.profile(&order);
    output.line(format_args!("  {}", parallelism(graph, &order, &profile)));

    output.line("\nOne order in which the tasks can run, with what each may do:");
    launches(graph, &order, MOST_TASKS, output);
    if order.tasks.len() > MOST_TASKS {
        output.line(format_args!("  … and {} more (`drawloom order` prints all)", order.tasks.len() - MOST_TASKS));
    }

    let path = &profile.critical_path;
    if path.len() > 1 {
        output.line("\nThe longest chain of tasks that wait for each other:");
        why(graph, &order, path, output);
    }
    if !order.happens_before.is_empty() {
        let count = order.happens_before.len();
        output.line(format_args!("\n{} beyond the dataflow, because data is overwritten in place:", counted(count, "order", "orders")));
        reasons(graph, &order, MOST_REASONS, output);
        if count > MOST_REASONS {
            output.line(format_args!("  … and {} more", count - MOST_REASONS));
        }
    }
}

fn size(graph: &Graph) -> String {
    let count = |kind| graph.nodes().iter().filter(|node| node.kind() == kind).count();
    let mut parts = vec![
        counted(count(NodeKind::Task), "task", "tasks"),
        counted(count(NodeKind::Data), "version", "versions") + " of " + &counted(regions_in_use(graph), "region", "regions"),
    ];
    for (kind, one, many) in [(NodeKind::Open, "Open", "Opens"), (NodeKind::Close, "Close", "Closes")] {
        if count(kind) > 0 {
            parts.push(counted(count(kind), one, many));
        }
    }
    parts.push(counted(graph.edges().len(), "edge", "edges"));
    parts.join(", ")
}

/// How many regions have a version in the graph.
pub(crate) fn regions_in_use(graph: &Graph) -> usize {
    let mut used = vec![false; graph.regions().len()];
    for region in graph.nodes().iter().filter_map(|node| node.region()) {
        used[region.index()] = true;
    }
    used.into_iter().filter(|used| *used).count()
}

fn parallelism(graph: &Graph, order: &Order, profile: &Profile) -> String {
    let widest = profile.width.iter().map(|(_, running)| *running).max().unwrap_or(0);
    let costs = if graph.costs().next().is_some() {
        format!("work {}, critical path {}", profile.work, profile.span)
    } else {
        format!("critical path of {}", counted(profile.critical_path.len(), "task", "tasks"))
    };
    format!("{costs}; at most {widest} of {} at once", counted(order.tasks.len(), "task", "tasks"))
}

fn why(graph: &Graph, order: &Order, path: &[drawloom_graph::NodeId], output: &mut Output) {
    let sentences = Sentences::new(graph);
    for pair in path.windows(2).take(MOST_REASONS) {
        if let Explanation::Before(steps) = graph.explain(order, pair[0], pair[1]) {
            for step in &steps {
                output.line(format_args!("  {}", sentences.step(step)));
            }
        }
    }
    if path.len() > MOST_REASONS + 1 {
        output.line(format_args!("  … and so on for {} more", counted(path.len() - 1 - MOST_REASONS, "task", "tasks")));
    }
}
