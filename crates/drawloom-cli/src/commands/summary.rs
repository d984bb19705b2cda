//! What `drawloom check` says about one valid graph: how large it is, in what order it can run, and why.

use drawloom_graph::{Graph, NodeId, NodeKind, Order, Profile};

use super::order::{counted, derived, launches, reasons};
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

    let path: Vec<_> = profile.critical_path.windows(2).map(|pair| (pair[0], pair[1])).collect();
    if !path.is_empty() {
        output.line("\nThe longest chain of tasks that wait for each other:");
        some(graph, &order, &path, output);
    }
    let orders = derived(graph, &order);
    if !orders.is_empty() {
        let count = counted(orders.len(), "order", "orders");
        output.line(format_args!("\n{count} because data is overwritten in place:"));
        some(graph, &order, &orders, output);
    }
}

/// The first few reasons.
fn some(graph: &Graph, order: &Order, orders: &[(NodeId, NodeId)], output: &mut Output) {
    let shown = orders.len().min(MOST_REASONS);
    reasons(graph, order, &orders[..shown], output);
    if orders.len() > shown {
        output.line(format_args!("  … and {} more", orders.len() - shown));
    }
}

fn size(graph: &Graph) -> String {
    let count = |kind| graph.nodes().iter().filter(|node| node.kind() == kind).count();
    let mut parts = vec![
        counted(count(NodeKind::Task), "task", "tasks"),
        counted(count(NodeKind::Data), "version", "versions")
            + " of "
            + &counted(regions_in_use(graph), "region", "regions"),
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
    let costs = if graph.costs().next().is_some() {
        format!("work {}, critical path {}", profile.work, profile.span)
    } else {
        format!("critical path of {}", counted(profile.critical_path.len(), "task", "tasks"))
    };
    format!("{costs}; at most {} of {} at once", profile.peak_width(), counted(order.tasks.len(), "task", "tasks"))
}
