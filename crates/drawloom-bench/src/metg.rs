//! `drawloom-bench metg`: how small a task may be before it is not worth submitting.

use std::time::Duration;

use clap::Args;
use drawloom_cli::exit::Exit;
use drawloom_cli::number::{all_workers, integer, workers};
use drawloom_cli::output::{self, Output};
use drawloom_runtime::Loom;
use serde::Serialize;
use serde_json::Value;

use super::peers::{self, Peers};
use crate::taskbench::{self, Bench, BenchError, Compute, Graph, Pattern, Point, Run, run_serial};

/// The share of the reference rate that counts as worth it.
const TARGET: f64 = 0.5;

/// A curve is followed down to this share, a little below the target.
const LOW: f64 = 0.4;

/// The size of task to begin with, some microseconds of work; and the largest that is tried when that is too small.
const FIRST: u64 = 1 << 12;
const LARGEST: u64 = 1 << 15;

/// Each point is the best of so many runs, of more when they are short, and of fewer when they are long.
const REPETITIONS: u32 = 4;
const MOST_REPETITIONS: u32 = 40;
const SHORT: Duration = Duration::from_millis(40);
const LONG: Duration = Duration::from_millis(400);

/// A point below the target is measured so often before it counts: on a busy machine it may be the machine.
const ATTEMPTS: u32 = 3;

/// The best rate of the serial loop is the yardstick of everything. Many short runs find it on a busy machine too, where a
/// long one is always interrupted.
const REFERENCE_RUNS: u32 = 1000;
const REFERENCE_STEPS: u64 = 4;
const REFERENCE_SIZE: u64 = 1 << 13;

/// A plan and the tables of inputs keep something for each task.
const MOST_TASKS: u64 = 10_000_000;

/// Measure how small a task may be: Task Bench's METG(50%), submitted and replayed
///
/// Prints one line of JSON for each pattern, mode and width. `metg50_us` is the time a worker has for a task when the
/// runtime reaches half of what the serial loop could do on as many cores (`peak_flops`); `floor_us` is that time when
/// there is next to nothing in a task. `metg50_us` is absent when no size of task reached the half. `handoff_ns` is how long
/// news took from one core to another just before: with few tasks in a step, nothing can be faster than that allows.
#[derive(Debug, Args)]
#[command(after_help = "\
Patterns: trivial, no_comm, stencil_1d, fft, tree, nearest, spread, random_nearest

Examples:
  drawloom-bench metg                               every pattern but no_comm, and other runtimes
  drawloom-bench metg --patterns stencil_1d --no-peers
  drawloom-bench metg --workers 1 --widths 4")]
pub(crate) struct Arguments {
    /// How many workers execute, the submitting thread not counted; by default as many as there are cores
    #[arg(long, value_parser = workers, value_name = "K")]
    workers: Option<usize>,
    /// Which patterns; by default all but no_comm
    #[arg(long, value_delimiter = ',', value_parser = read_pattern, value_name = "PATTERN,…")]
    patterns: Vec<Pattern>,
    /// Tasks in a step
    #[arg(long, value_delimiter = ',', default_value = "2,16", value_parser = integer, value_name = "W,…")]
    widths: Vec<u64>,
    /// How many steps
    #[arg(long, default_value = "1000", value_parser = integer, value_name = "N")]
    steps: u64,
    /// Measure only ours
    #[arg(long)]
    no_peers: bool,
}

fn read_pattern(name: &str) -> Result<Pattern, String> {
    name.parse().map_err(|error: taskbench::GraphError| error.to_string())
}

/// One curve, ours or a peer's.
#[derive(Serialize)]
struct Line {
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<String>,
    pattern: String,
    mode: &'static str,
    width: u64,
    workers: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    metg50_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    floor_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    handoff_ns: Option<u64>,
    peak_flops: u64,
}

/// What is measured against what.
#[derive(Clone, Copy)]
struct Yardstick {
    workers: usize,
    /// Operations per second of the serial loop.
    rate: f64,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    let workers = arguments.workers.unwrap_or_else(all_workers);
    let patterns = match arguments.patterns.is_empty() {
        true => Pattern::ALL.into_iter().filter(|&pattern| pattern != Pattern::NoComm).collect(),
        false => arguments.patterns.clone(),
    };
    let mut graphs = Vec::new();
    for &pattern in &patterns {
        for &width in &arguments.widths {
            match graph(pattern, width, arguments.steps) {
                Ok(graph) => graphs.push(graph),
                Err(wrong) => {
                    output::complain(wrong);
                    return Exit::Unusable;
                }
            }
        }
    }
    match measure(workers, &graphs, output) {
        Ok(yardstick) => {
            if !arguments.no_peers {
                measure_peers(arguments, &patterns, yardstick, output);
            }
            Exit::Valid
        }
        Err(wrong) => {
            output::complain(wrong);
            Exit::Invalid
        }
    }
}

fn graph(pattern: Pattern, width: u64, steps: u64) -> Result<Graph, String> {
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let graph = Graph::new(pattern, size(width), size(steps)).map_err(|error| error.to_string())?;
    match width.checked_mul(steps) {
        Some(0..=MOST_TASKS) => Ok(graph),
        _ => Err(format!("{width} tasks in each of {steps} steps are more than {MOST_TASKS}")),
    }
}

fn measure(workers: usize, graphs: &[Graph], output: &mut Output) -> Result<Yardstick, String> {
    let compute = Compute::detect();
    let rate = reference_rate(compute)?;
    let yardstick = Yardstick { workers, rate };
    let loom = Loom::builder().workers(workers).build().map_err(|error| error.to_string())?;
    let mut words = Words::default();
    for &graph in graphs {
        let say = |error: BenchError| format!("{} of width {}: {error}", graph.pattern(), graph.width());
        let bench = Bench::new(&loom, graph, compute);
        let handoff_ns = handoff_ns();
        let points = curve(yardstick, |iterations| bench.run_dynamic(iterations)).map_err(say)?;
        words.dynamic.add(yardstick.report(None, graph, "dynamic", &points, handoff_ns, output));
        let plan = bench.capture().map_err(say)?;
        let points = curve(yardstick, |iterations| bench.run_plan(&plan, iterations)).map_err(say)?;
        words.replay.add(yardstick.report(None, graph, "replay", &points, handoff_ns, output));
    }
    output::complain(words.sentence(workers));
    Ok(yardstick)
}

/// How long news takes from one core to another at the moment.
fn handoff_ns() -> Option<u64> {
    taskbench::handoff().map(|time| time.as_nanos() as u64)
}

/// Operations per second of the serial loop, at best.
fn reference_rate(compute: Compute) -> Result<f64, String> {
    let graph = graph(Pattern::Trivial, 1, REFERENCE_STEPS)?;
    let mut best = 0.0_f64;
    for _ in 0..REFERENCE_RUNS {
        best = best.max(run_serial(graph, compute, REFERENCE_SIZE).map_err(|error| error.to_string())?.rate());
    }
    Ok(best)
}

/// Measures tasks of decreasing size until the efficiency has fallen below the target, and the smallest task.
fn curve(yardstick: Yardstick, mut run: impl FnMut(u64) -> Result<Run, BenchError>) -> Result<Vec<Point>, BenchError> {
    let mut points = Vec::new();
    let mut measure = |iterations: u64, attempts: u32| {
        let mut best: Option<Point> = None;
        for _ in 0..attempts {
            let point = yardstick.point(iterations, &mut run)?;
            if best.is_none_or(|best| point.wall < best.wall) {
                best = Some(point);
            }
            if point.efficiency(yardstick.rate) >= TARGET {
                break;
            }
        }
        let best = best.expect("there is at least one attempt");
        points.push(best);
        Ok::<f64, BenchError>(best.efficiency(yardstick.rate))
    };
    let mut size = FIRST;
    while measure(size, ATTEMPTS)? < TARGET && size < LARGEST {
        size *= 2;
    }
    for size in taskbench::sweep(FIRST).into_iter().skip(1) {
        if measure(size, ATTEMPTS)? < LOW {
            break;
        }
    }
    measure(1, 1)?;
    Ok(points)
}

impl Yardstick {
    /// The best of several runs with tasks of one size.
    fn point(self, iterations: u64, run: &mut impl FnMut(u64) -> Result<Run, BenchError>) -> Result<Point, BenchError> {
        let (mut best, mut spent, mut runs) = (Duration::MAX, Duration::ZERO, 0);
        let mut tasks = 0;
        while (runs < REPETITIONS && spent < LONG) || (runs < MOST_REPETITIONS && spent < SHORT) {
            let run = run(iterations)?;
            tasks = run.tasks;
            best = best.min(run.wall);
            spent += run.wall;
            runs += 1;
        }
        Ok(Point { iterations, wall: best, tasks, workers: self.workers })
    }

    /// Prints what a curve says, and returns its METG in microseconds.
    fn report(
        self,
        peer: Option<String>,
        graph: Graph,
        mode: &'static str,
        points: &[Point],
        handoff_ns: Option<u64>,
        output: &mut Output,
    ) -> Option<f64> {
        let microseconds = |seconds: f64| (seconds * 1e9).round() / 1e3;
        let metg50_us = taskbench::metg(points, self.rate, TARGET).seconds().map(microseconds);
        output.json(&Line {
            peer,
            pattern: graph.pattern().name().to_owned(),
            mode,
            width: graph.width() as u64,
            workers: self.workers,
            metg50_us,
            floor_us: taskbench::floor(points).map(microseconds),
            handoff_ns,
            peak_flops: (self.rate * self.workers as f64).round() as u64,
        });
        output.flush();
        metg50_us
    }
}

/// The largest METG of each mode, and whether one was not reached.
#[derive(Default)]
struct Words {
    dynamic: Largest,
    replay: Largest,
}

#[derive(Default)]
struct Largest {
    metg: f64,
    missing: bool,
}

impl Largest {
    fn add(&mut self, metg: Option<f64>) {
        match metg {
            Some(metg) => self.metg = self.metg.max(metg),
            None => self.missing = true,
        }
    }

    fn words(&self) -> String {
        match self.missing {
            true => "longer than anything measured here".to_owned(),
            false => format!("{:.2} µs", self.metg),
        }
    }
}

impl Words {
    fn sentence(&self, workers: usize) -> String {
        format!(
            "the smallest task worth submitting on this machine takes {}, and the smallest worth replaying {} ({workers} \
             worker{}, the slowest of the patterns above): with smaller ones more than half of the time is not spent on work",
            self.dynamic.words(),
            self.replay.words(),
            if workers == 1 { "" } else { "s" },
        )
    }
}

/// Peers are asked for the same graphs, with tasks from the smallest to larger ones than ours: they need them.
fn measure_peers(arguments: &Arguments, patterns: &[Pattern], yardstick: Yardstick, output: &mut Output) {
    let names: Vec<&str> = patterns.iter().map(|pattern| pattern.name()).collect();
    let iterations: Vec<u64> = (0..=14).map(|power| 1 << power).collect();
    let asked = peers::Metg {
        workers: yardstick.workers,
        patterns: &names,
        widths: &arguments.widths,
        steps: arguments.steps,
        iterations: &iterations,
    };
    let Peers { lines, notes } = peers::metg(&asked);
    let mut lines = lines.as_slice();
    Peers { lines: Vec::new(), notes }.complain();
    // The lines of one curve follow each other.
    while let Some(first) = lines.first() {
        let key = |line: &Value| (line["peer"].clone(), line["pattern"].clone(), line["width"].clone());
        let (curve, rest) = lines.split_at(lines.iter().take_while(|line| key(line) == key(first)).count());
        lines = rest;
        let points: Vec<Point> = curve.iter().filter_map(|line| peer_point(line, yardstick.workers)).collect();
        let pattern = first["pattern"].as_str().and_then(|name| name.parse().ok());
        let (Some(pattern), Some(width)) = (pattern, first["width"].as_u64()) else { continue };
        let Ok(graph) = graph(pattern, width, arguments.steps) else { continue };
        let peer = first["peer"].as_str().map(str::to_owned);
        yardstick.report(peer, graph, "dynamic", &points, None, output);
    }
}

fn peer_point(line: &Value, workers: usize) -> Option<Point> {
    Some(Point {
        iterations: line["iterations"].as_u64()?,
        wall: Duration::try_from_secs_f64(line["seconds"].as_f64()?).ok()?,
        tasks: line["tasks"].as_u64()?,
        workers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A runtime that adds a microsecond to each task of each of two workers.
    fn slow_runtime(iterations: u64) -> Result<Run, BenchError> {
        let flops = taskbench::flops(iterations);
        let wall = Duration::from_secs_f64((1e-6 + flops / 1e10) * 1000.0 / 2.0);
        Ok(Run { tasks: 1000, wall, flops: 1000.0 * flops })
    }

    #[test]
    fn a_curve_reaches_below_the_target_and_has_the_smallest_task() {
        let points = curve(Yardstick { workers: 2, rate: 1e10 }, slow_runtime).unwrap();
        let metg = taskbench::metg(&points, 1e10, TARGET).seconds().unwrap();
        assert!((metg / 2e-6 - 1.0).abs() < 0.05, "{metg}");
        assert_eq!(points.last().unwrap().iterations, 1);
        let measured = points.iter().filter(|point| point.efficiency(1e10) < LOW).count();
        assert_eq!(measured, 2, "one point below, and the smallest task");
    }

    #[test]
    fn tasks_grow_until_the_target_is_reached() {
        // Ten thousand times slower: even the first size is not worth it.
        let points = curve(Yardstick { workers: 2, rate: 1e14 }, slow_runtime).unwrap();
        assert_eq!(points.iter().map(|point| point.iterations).max(), Some(LARGEST));
        assert_eq!(taskbench::metg(&points, 1e14, TARGET).seconds(), None);
    }

    #[test]
    fn the_sentence_names_the_slowest_pattern_and_what_was_not_reached() {
        let mut words = Words::default();
        [Some(0.5), Some(1.25), Some(0.75)].into_iter().for_each(|metg| words.dynamic.add(metg));
        [Some(0.5), None].into_iter().for_each(|metg| words.replay.add(metg));
        let sentence = words.sentence(2);
        assert!(sentence.starts_with(
            "the smallest task worth submitting on this machine takes 1.25 µs, and the smallest worth replaying longer than \
             anything measured here (2 workers"
        ));
    }

    #[test]
    fn what_a_peer_left_out_gives_no_point() {
        let line = serde_json::json!({"iterations": 4, "seconds": 0.5, "tasks": 100});
        assert_eq!(peer_point(&line, 2).unwrap().granularity(), 0.01);
        for key in ["iterations", "seconds", "tasks"] {
            let mut line = line.clone();
            line.as_object_mut().unwrap().remove(key);
            assert_eq!(peer_point(&line, 2), None, "{key}");
        }
        assert_eq!(peer_point(&serde_json::json!({"iterations": 4, "seconds": -1.0, "tasks": 100}), 2), None);
    }
}
