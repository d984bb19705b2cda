//! `drawloom-bench graph`: how long graphs take to check, order, build and read, and how that grows.

use clap::Args;
use drawloom_cli::exit::Exit;
use drawloom_cli::meter::{self, Spent, best_of};
use drawloom_cli::number::integer;
use drawloom_cli::output::{self, Output};
use drawloom_graph::Graph;
use drawloom_lang::json;
use serde::Serialize;

// The benchmarks of `drawloom-graph` measure the same graphs.
#[path = "../../drawloom-graph/benches/families/mod.rs"]
mod families;

/// Measure graphs: check, order, append and JSON, over families and sizes
///
/// Prints one line of JSON for each measurement, and one for the linear fit over four sizes. Times are the best of several
/// runs; `cpu_seconds` is the steadier figure on a shared machine.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom-bench graph                    everything, at a million nodes
  drawloom-bench graph --nodes 1e7 --only check
  drawloom-bench graph --nodes 1e5        a quick look")]
pub(crate) struct Arguments {
    /// About how many nodes the largest graphs have
    #[arg(long, default_value = "1e6", value_parser = integer, value_name = "N")]
    nodes: u64,
    /// How often each measurement is repeated; the best counts
    #[arg(long, default_value = "3", value_parser = integer, value_name = "N")]
    repeat: u64,
    /// Measure only one thing
    #[arg(long, value_enum, value_name = "WHAT")]
    only: Option<What>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum What {
    /// Checking a stencil at four sizes, with a linear fit
    Check,
    /// A region tree of depth 8 against a flat one
    Depth,
    /// Shapes on which a naive check is quadratic
    Shapes,
    /// Ordering
    Order,
    /// Appending calls in program order
    Append,
    /// Reading and writing JSON
    Json,
}

/// One measurement.
#[derive(Serialize)]
struct Line {
    bench: &'static str,
    family: &'static str,
    nodes: usize,
    edges: usize,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_seconds: Option<f64>,
    #[serde(flatten)]
    extra: Extra,
}

/// What only some measurements have.
#[derive(Default, Serialize)]
struct Extra {
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_item: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    microseconds_per_task: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    megabytes_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio_to_flat: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    orders: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    barriers: Option<usize>,
}

/// A straight line through the times of several sizes.
#[derive(Serialize)]
struct Fit {
    bench: &'static str,
    family: &'static str,
    nanoseconds_per_item: f64,
    r_squared: f64,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    // Graphs hold 32-bit ids, and the stencil has five edges for two nodes.
    if !(1_000..=1_000_000_000).contains(&arguments.nodes) {
        output::complain(format_args!("--nodes takes 1000 to 1e9, and is {}", arguments.nodes));
        return Exit::Unusable;
    }
    let mut bench = Bench { nodes: arguments.nodes as usize, repeat: arguments.repeat, output };
    let wanted = |what| arguments.only.is_none_or(|only| only == what);
    if wanted(What::Check) {
        bench.check();
    }
    if wanted(What::Depth) {
        bench.depth();
    }
    if wanted(What::Shapes) {
        bench.shapes();
    }
    if wanted(What::Order) {
        bench.order();
    }
    if wanted(What::Append) {
        bench.append();
    }
    if wanted(What::Json) {
        bench.json();
    }
    Exit::Valid
}

struct Bench<'a> {
    nodes: usize,
    repeat: u64,
    output: &'a mut Output,
}

impl Bench<'_> {
    fn line(&mut self, bench: &'static str, family: &'static str, graph: &Graph, spent: Spent, extra: Extra) {
        let (nodes, edges) = (graph.nodes().len(), graph.edges().len());
        let Spent { seconds, cpu_seconds } = spent;
        self.output.json(&Line { bench, family, nodes, edges, seconds, cpu_seconds, extra });
    }

    fn check_valid(&mut self, family: &'static str, graph: &Graph, extra: Extra) -> Spent {
        let (spent, report) = best_of(self.repeat, || graph.check());
        assert!(report.is_valid(), "the graphs of the family {family} are valid");
        self.line("check", family, graph, spent, extra);
        spent
    }

    fn check(&mut self) {
        let mut points = Vec::new();
        for part in [8, 4, 2, 1] {
            let before = meter::memory();
            meter::reset_peak();
            let graph = stencil(self.nodes / part);
            let items = (graph.nodes().len() + graph.edges().len()) as f64;
            assert!(graph.check().is_valid(), "a stencil is valid");
            let bytes_per_item = before
                .and_then(|(held, _)| Some(meter::memory()?.1.saturating_sub(held)))
                .map(|bytes| bytes as f64 / items);
            let spent = self.check_valid("stencil", &graph, Extra { bytes_per_item, ..Extra::default() });
            points.push((items, spent.cpu_seconds.unwrap_or(spent.seconds)));
        }
        let (slope, r_squared) = linear_fit(&points);
        let fit = Fit { bench: "check", family: "stencil", nanoseconds_per_item: slope * 1e9, r_squared };
        self.output.json(&fit);
    }

    fn depth(&mut self) {
        let steps = (self.nodes / 512).max(1) as u32;
        let flat = self.check_valid("flat", &families::stencil(256, steps), Extra::default());
        let graph = families::deep_stencil(8, steps);
        let (deep, report) = best_of(self.repeat, || graph.check());
        assert!(report.is_valid(), "a stencil is valid");
        let key = |s: Spent| s.cpu_seconds.unwrap_or(s.seconds);
        let ratio_to_flat = Some(key(deep) / key(flat));
        self.line("check", "depth 8", &graph, deep, Extra { ratio_to_flat, ..Extra::default() });
    }

    fn shapes(&mut self) {
        for part in [4, 2, 1] {
            let many = (self.nodes / 10 / part) as u32;
            self.check_valid("fan out", &families::fan_out(many), Extra::default());
            self.check_valid("reopen", &families::reopen(many, 3, false), Extra::default());
            self.check_valid("reopen, read only", &families::reopen(many, 3, true), Extra::default());
        }
    }

    fn order(&mut self) {
        let many = (self.nodes / 10) as u32;
        for (family, graph) in [
            ("stencil", stencil(self.nodes)),
            ("fan out", families::fan_out(many)),
            ("reopen", families::reopen(many, 3, false)),
            ("reopen, read only", families::reopen(many, 3, true)),
        ] {
            let (spent, order) = best_of(self.repeat, || graph.order().expect("the graphs of this family are valid"));
            let (orders, barriers) = (Some(order.happens_before.len()), Some(order.barriers));
            self.line("order", family, &graph, spent, Extra { orders, barriers, ..Extra::default() });
        }
    }

    fn append(&mut self) {
        let steps = (self.nodes / 2000).max(1) as u32;
        let (spent, builder) = best_of(self.repeat, || families::program(1000, steps));
        let tasks = f64::from(steps) * 1000.0;
        let microseconds_per_task = Some(spent.cpu_seconds.unwrap_or(spent.seconds) * 1e6 / tasks);
        let graph = builder.finish();
        self.line("append", "program", &graph, spent, Extra { microseconds_per_task, ..Extra::default() });
        self.check_valid("program", &graph, Extra::default());
    }

    fn json(&mut self) {
        let graph = stencil(self.nodes);
        let (spent, text) = best_of(self.repeat, || json::write(&graph));
        let rate = |s: Spent| Some(text.len() as f64 / 1e6 / s.cpu_seconds.unwrap_or(s.seconds));
        self.line(
            "write json",
            "stencil",
            &graph,
            spent,
            Extra { megabytes_per_second: rate(spent), ..Extra::default() },
        );
        let (spent, read) = best_of(self.repeat, || json::read(text.as_bytes()).expect("what was written can be read"));
        self.line(
            "read json",
            "stencil",
            &read,
            spent,
            Extra { megabytes_per_second: rate(spent), ..Extra::default() },
        );
    }
}

/// A stencil of about so many nodes.
fn stencil(nodes: usize) -> Graph {
    let blocks = 1000.min(nodes / 4).max(1);
    families::stencil(blocks as u32, (nodes / 2 / blocks).max(1) as u32)
}

/// The slope of the least-squares line through the points, and how well it fits.
fn linear_fit(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let (mean_x, mean_y) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let sum = |f: fn(f64, f64) -> f64| points.iter().map(|p| f(p.0 - mean_x, p.1 - mean_y)).sum::<f64>();
    let (xx, xy, yy) = (sum(|x, _| x * x), sum(|x, y| x * y), sum(|_, y| y * y));
    (xy / xx, xy * xy / (xx * yy))
}
