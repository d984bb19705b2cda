//! `drawloom run filters`: streams in which it is not known how many items come of one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use drawloom_apps::filters::{App, Outcome, Program, Request};
use drawloom_runtime::Loom;
use drawloom_stream::{NodeReport, Running, Settings};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::exit::Exit;
use crate::number::{all_workers, integer, length, workers};
use crate::output::{self, Output};
use crate::progress;
use crate::written::{self, Use};

/// How often the bar is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// How many firings of each worker go into a trace.
const MOST_FIRINGS: usize = 1 << 18;

/// Run a stream of items through nodes that keep, drop or multiply them
///
/// Each node sees up to a vector of items at once, and runs with a full vector unless what it has is all it can get. The time
/// is that of the run, with the making of queues; making random input is not part of it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom run filters                                    three filters in a row, a million items
  drawloom run filters --app modfilter --n 1e9            a billion, on every core
  drawloom run filters --app regionsum --mean-length 16 --json
  drawloom run filters --app synthgain --workers 1 --n 1e5
  drawloom run filters --app queens --n 12                all boards of twelve queens
  drawloom run filters --app blast --timed                where the time goes, node by node
  drawloom run filters --dot filters.dot                  a picture of the stream with its figures

Exit codes: 0 done, 1 the run failed, 2 an unusable setting.")]
pub(crate) struct Arguments {
    /// Which program
    #[arg(long, value_enum, default_value_t, value_name = "APP")]
    app: Name,
    /// How many inputs; by default a million, and eight queens
    #[arg(long, value_parser = integer, value_name = "N", allow_negative_numbers = true)]
    n: Option<u64>,
    /// How many items a node sees at once
    #[arg(long, default_value = "128", value_parser = integer, value_name = "W", allow_negative_numbers = true)]
    width: u64,
    /// How many workers have a copy of the stream; by default as many as there are cores
    #[arg(long, value_parser = workers, value_name = "K", allow_negative_numbers = true)]
    workers: Option<usize>,
    /// How long the segments of regionsum are on average; by default 128
    #[arg(long, value_parser = length, value_name = "L", allow_negative_numbers = true)]
    mean_length: Option<u64>,
    /// Rounds of work for each item of synthgain and sametypepipe; by default 10
    #[arg(long, value_parser = integer, value_name = "ITERS", allow_negative_numbers = true)]
    work: Option<u64>,
    /// Keep the items in the order of the inputs
    #[arg(long)]
    ordered: bool,
    /// Whether nodes that need no queue between them run as one; the runs of all but the first are not known then
    #[arg(long, value_enum, default_value_t, value_name = "FUSE")]
    fuse: Fuse,
    /// Measure the time that nodes take, and how long full queues keep them waiting
    #[arg(long)]
    timed: bool,
    /// Write when which node fired on which worker, for Perfetto
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Write a picture of the stream with its figures, for Graphviz
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
    /// Print one line of JSON, last
    #[arg(long)]
    json: bool,
}

/// Whether nodes run as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Fuse {
    /// Never
    Off,
    /// Where it is faster
    #[default]
    Auto,
}

/// The names of programs, as they are typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Name {
    /// The even hashes of numbers
    Evenfilter,
    /// Even hashes to one sink, odd ones to another
    Splitfilter,
    /// Three filters in a row
    #[default]
    Modfilter,
    /// Three filters, one after the other
    Asyncfilter,
    /// Five nodes with fixed gains
    Synthgain,
    /// Five nodes that each keep the lower half
    Sametypepipe,
    /// Pairs of numbers in lines of text
    Taxi,
    /// Three filters as one node that leads to itself
    Loopfilter,
    /// Iterations at points, one each time around
    Mandelbrot,
    /// Items that become up to 39 items
    Interruptsim,
    /// Sums of segments
    Regionsum,
    /// A sequence that is looked for in a long one
    Blast,
    /// Queens on a board, none of which attacks another
    Queens,
}

impl From<Name> for App {
    fn from(name: Name) -> App {
        match name {
            Name::Evenfilter => App::EvenFilter,
            Name::Splitfilter => App::SplitFilter,
            Name::Modfilter => App::ModFilter,
            Name::Asyncfilter => App::AsyncFilter,
            Name::Synthgain => App::SynthGain,
            Name::Sametypepipe => App::SameTypePipe,
            Name::Taxi => App::Taxi,
            Name::Loopfilter => App::LoopFilter,
            Name::Mandelbrot => App::Mandelbrot,
            Name::Interruptsim => App::InterruptSim,
            Name::Regionsum => App::RegionSum,
            Name::Blast => App::Blast,
            Name::Queens => App::Queens,
        }
    }
}

/// What was computed.
#[derive(Serialize)]
struct Line {
    app: &'static str,
    n: u64,
    width: u64,
    workers: usize,
    outputs: Figure<u64>,
    sum: Figure<u128>,
    seconds: f64,
    nodes: Vec<Node>,
}

/// One figure, or one for each sink where there are several.
#[derive(Serialize)]
#[serde(untagged)]
enum Figure<T> {
    One(T),
    Each(BTreeMap<&'static str, T>),
}

#[derive(Serialize)]
struct Node {
    name: String,
    inputs: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    full_runs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pushing_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overhead_seconds: Option<f64>,
}

impl Node {
    fn new(node: &NodeReport, timed: bool) -> Self {
        let is_known = node.fused_into.is_none();
        let seconds = |time: Duration| (timed && is_known).then_some(time.as_secs_f64());
        Self {
            name: node.name.clone(),
            inputs: node.inputs,
            runs: is_known.then_some(node.runs),
            full_runs: is_known.then_some(node.full_runs),
            user_seconds: seconds(node.user),
            pushing_seconds: seconds(node.pushing),
            overhead_seconds: seconds(node.overhead),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    let app = App::from(arguments.app);
    let workers = arguments.workers.unwrap_or_else(all_workers);
    let prepared = prepare(arguments, app, workers);
    let (loom, program) = match prepared {
        Ok(prepared) => prepared,
        Err(why) => {
            output::complain(format_args!("filters: {why}"));
            return Exit::Unusable;
        }
    };
    let bar = progress::bar(app.name(), arguments.n(app));
    let mut settings = Settings::new().workers(workers);
    if arguments.timed {
        settings = settings.timed();
    }
    if arguments.trace.is_some() {
        settings = settings.traced(MOST_FIRINGS);
        loom.trace_start();
    }
    let start = Instant::now();
    let outcome = program.run_with(&loom, &settings, |running| watch(running, &bar, start));
    let seconds = start.elapsed().as_secs_f64();
    bar.finish_and_clear();
    match outcome {
        Ok(outcome) => {
            // What was computed is printed, whatever becomes of the files.
            let written = write_files(arguments, &loom, &outcome);
            print(arguments, app, workers, seconds, &outcome, output);
            match written {
                Ok(()) => Exit::Valid,
                Err(why) => {
                    output::complain(format_args!("filters: {why}"));
                    Exit::Invalid
                }
            }
        }
        Err(error) => {
            output::complain(format_args!("filters: {error}"));
            Exit::Invalid
        }
    }
}

impl Arguments {
    fn n(&self, app: App) -> u64 {
        self.n.unwrap_or_else(|| app.usual_n())
    }

    /// Says which options the program leaves alone. They are no mistake: a script may give them to all programs.
    fn note_unused(&self, app: App) {
        let name = app.name();
        if self.mean_length.is_some() && app != App::RegionSum {
            output::complain(format_args!("note: --mean-length is for regionsum: {name} has no segments"));
        }
        if self.work.is_some() && !matches!(app, App::SynthGain | App::SameTypePipe) {
            output::complain(format_args!(
                "note: --work is for synthgain and sametypepipe: {name} has no rounds of work"
            ));
        }
    }

    /// Refuses files that cannot be written, before anything runs.
    fn check_files(&self) -> Result<(), String> {
        let files = [("the picture", &self.dot), ("the trace", &self.trace)];
        let files: Vec<Use> =
            files.iter().filter_map(|(what, path)| path.as_deref().map(|path| Use::new(what, path))).collect();
        written::check_beside_output(&[], &files)
    }
}

fn prepare(arguments: &Arguments, app: App, workers: usize) -> Result<(Loom, Program), String> {
    let size = |number: u64, what: &str| u32::try_from(number).map_err(|_| format!("{what} of {number} is too large"));
    arguments.check_files()?;
    arguments.note_unused(app);
    let usual = Request::default();
    let request = Request {
        n: arguments.n(app),
        width: size(arguments.width, "a width")? as usize,
        mean_length: arguments.mean_length.unwrap_or(usual.mean_length),
        ordered: arguments.ordered,
        work: arguments.work.map_or(Ok(usual.work), |work| size(work, "a number of rounds"))?,
        fuse: arguments.fuse == Fuse::Auto,
    };
    // Those of the others go around; a segment or a sequence would end there.
    if matches!(app, App::RegionSum | App::Blast) && size(request.n, "inputs").is_err() {
        let (name, most) = (app.name(), u32::MAX);
        return Err(format!("{name} numbers its inputs with 32 bits: there can be at most {most}, not {}", request.n));
    }
    let program = Program::new(app, &request).map_err(|error| error.to_string())?;
    let loom = Loom::builder().workers(workers).build().map_err(|error| error.to_string())?;
    Ok((loom, program))
}

/// Writes the picture and the trace, where they are wanted. The trace has the tasks of the engine, and what fired in each.
fn write_files(arguments: &Arguments, loom: &Loom, outcome: &Outcome) -> Result<(), String> {
    let write =
        |path: &Path, bytes: &[u8]| std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()));
    if let Some(path) = &arguments.dot {
        write(path, outcome.pictures.concat().as_bytes())?;
    }
    if let Some(path) = &arguments.trace {
        let (mut trace, mut bytes) = (loom.trace_stop(), Vec::new());
        for report in &outcome.reports {
            report.add_to(&mut trace, report.stream());
        }
        drawloom_trace::chrome::write(&trace, &mut bytes).map_err(|error| error.to_string())?;
        write(path, &bytes)?;
    }
    Ok(())
}

/// Shows how far a stream is, until it is done.
fn watch(running: &Running, bar: &ProgressBar, start: Instant) {
    while !bar.is_hidden() && !running.is_complete() {
        let given = running.given();
        let rate = given as f64 / start.elapsed().as_secs_f64().max(1e-9) / 1e6;
        bar.set_position(given);
        bar.set_message(format!("items, {rate:.0} M items/s"));
        std::thread::sleep(LOOK);
    }
}

fn print(arguments: &Arguments, app: App, workers: usize, seconds: f64, outcome: &Outcome, output: &mut Output) {
    if !arguments.json {
        let rate = arguments.n(app) as f64 / seconds.max(1e-9) / 1e6;
        output.line(format_args!(
            "{} of {} inputs, width {}, {workers} worker{}: {:.3} ms, {rate:.1} M items/s",
            app.name(),
            arguments.n(app),
            arguments.width,
            if workers == 1 { "" } else { "s" },
            seconds * 1e3
        ));
        for (name, tally) in &outcome.sinks {
            output.line(format_args!("  {name}: {} outputs, sum {}", tally.outputs(), tally.sum()));
        }
        for report in &outcome.reports {
            output.text(report.table());
        }
        return;
    }
    let nodes = outcome.reports.iter().flat_map(|report| &report.nodes).filter(|node| !node.is_source);
    output.json(&Line {
        app: app.name(),
        n: arguments.n(app),
        width: arguments.width,
        workers,
        outputs: figure(outcome.sinks.iter().map(|(name, tally)| (*name, tally.outputs()))),
        sum: figure(outcome.sinks.iter().map(|(name, tally)| (*name, tally.sum()))),
        seconds,
        nodes: nodes.map(|node| Node::new(node, arguments.timed)).collect(),
    });
}

fn figure<T>(sinks: impl Iterator<Item = (&'static str, T)>) -> Figure<T> {
    let mut sinks: Vec<_> = sinks.collect();
    match sinks.len() {
        1 => Figure::One(sinks.remove(0).1),
        _ => Figure::Each(sinks.into_iter().collect()),
    }
}
