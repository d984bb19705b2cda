//! `drawloom stats`: what is in a graph, and how parallel it is.

use drawloom_graph::{Graph, Label, NodeKind};
use serde::Serialize;

use super::order::derived;
use super::summary::regions_in_use;
use super::verdict::{self, Checked, Voice};
use crate::arguments::{Format, Stats};
use crate::exit::Exit;
use crate::input::Input;
use crate::output::Output;

/// The counts of a graph. Keys of JSON output; an absent value is an absent key.
#[derive(Serialize)]
struct Counts {
    file: String,
    valid: bool,
    tasks: usize,
    opens: usize,
    closes: usize,
    versions: usize,
    regions: usize,
    regions_in_use: usize,
    bodies: usize,
    edges: usize,
    reads: usize,
    discards: usize,
    writes: usize,
    reduces: usize,
    uses: usize,
    stated_orders: usize,
    violations: u64,
    warnings: usize,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    parallelism: Option<Parallelism>,
}

/// What only an ordered graph has.
#[derive(Serialize)]
struct Parallelism {
    derived_orders: usize,
    work: f64,
    span: f64,
    average_width: f64,
    greatest_width: u64,
    critical_path: usize,
}

/// Counts what is in a graph.
pub(crate) fn run(arguments: &Stats, output: &mut Output) -> Exit {
    let input = Input::new(&arguments.file);
    let checked = match Checked::new(&input) {
        Ok(checked) => checked,
        Err(reason) => return verdict::unusable(&input, &reason, Voice::from(arguments.format), output),
    };
    let counts = counts(&input, &checked);
    match arguments.format {
        Format::Json => output.json(&counts),
        Format::Text => text(&input, &counts, output),
    }
    checked.exit()
}

fn counts(input: &Input, checked: &Checked) -> Counts {
    let graph = checked.graph();
    let nodes = |kind| graph.nodes().iter().filter(|node| node.kind() == kind).count();
    let edges = |label| graph.edges().iter().filter(|edge| edge.label == label).count();
    Counts {
        file: input.given(),
        valid: checked.report.is_valid(),
        tasks: nodes(NodeKind::Task),
        opens: nodes(NodeKind::Open),
        closes: nodes(NodeKind::Close),
        versions: nodes(NodeKind::Data),
        regions: graph.regions().len(),
        regions_in_use: regions_in_use(graph),
        bodies: graph.bodies().count(),
        edges: graph.edges().len(),
        reads: edges(Label::Read),
        discards: edges(Label::Discard),
        writes: edges(Label::Write),
        reduces: edges(Label::Reduce),
        uses: edges(Label::Use),
        stated_orders: edges(Label::HappensBefore),
        violations: checked.report.violations.len() as u64 + checked.report.unlisted,
        warnings: checked.report.warnings.len(),
        parallelism: if checked.report.is_valid() { parallelism(graph) } else { None },
    }
}

fn parallelism(graph: &Graph) -> Option<Parallelism> {
    let order = graph.order().ok()?;
    let profile = graph.profile(&order);
    Some(Parallelism {
        derived_orders: derived(graph, &order).len(),
        work: profile.work,
        span: profile.span,
        average_width: if profile.span > 0.0 { profile.work / profile.span } else { 0.0 },
        greatest_width: profile.peak_width(),
        critical_path: profile.critical_path.len(),
    })
}

fn text(input: &Input, counts: &Counts, output: &mut Output) {
    let verdict = if counts.valid { "valid" } else { "invalid" };
    output.line(format_args!("{input}: {verdict}"));
    let mut row = |what: &str, value: &dyn std::fmt::Display| output.line(format_args!("  {what:<18}{value:>12}"));
    row("tasks", &counts.tasks);
    row("  with a body", &counts.bodies);
    row("opens", &counts.opens);
    row("closes", &counts.closes);
    row("versions", &counts.versions);
    row("regions", &counts.regions);
    row("  in use", &counts.regions_in_use);
    row("edges", &counts.edges);
    row("  Read", &counts.reads);
    row("  Discard", &counts.discards);
    row("  Write", &counts.writes);
    row("  Reduce", &counts.reduces);
    row("  Use", &counts.uses);
    row("  HappensBefore", &counts.stated_orders);
    row("violations", &counts.violations);
    row("warnings", &counts.warnings);
    if let Some(parallelism) = &counts.parallelism {
        row("derived orders", &parallelism.derived_orders);
        row("work", &parallelism.work);
        row("critical path", &parallelism.span);
        row("  tasks on it", &parallelism.critical_path);
        row("average width", &format!("{:.2}", parallelism.average_width));
        row("greatest width", &parallelism.greatest_width);
    }
}
