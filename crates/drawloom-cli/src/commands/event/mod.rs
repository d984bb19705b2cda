//! `drawloom event`: run a graph of devices that send each other messages.
//!
//! The graphs that have names are in [`samples`].

mod samples;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::{Args, ValueEnum, ValueHint};
use drawloom_messages::xml::{self, Version};
use drawloom_messages::{ErrorKind, Executor, Instance, Log, Machine, Report, Settings, log};
use serde::Serialize;

use crate::exit::Exit;
use crate::input::Input;
use crate::number::{integer, workers};
use crate::output::{self, Output};
use crate::written::{self, Use};

/// Run a graph of devices that send each other messages
///
/// A graph is an XML file of the published family (version 3 or 4) whose device types are known here, or a sample:
/// ring:NODESxLAPS, heat:WIDTHxHEIGHTxSTEPS, storm:NODESxDEGREExWAVES. Mesh programs are samples too, and their files have C
/// text for other tools of the family: airfoil:IxJxITERATIONS, aero:IxJxITERATIONS, reduction:IxJxITERATIONS and bounds:IxJ on
/// the mesh naca0012:IxJ, jacobi:SIDExSWEEPS and jacobi_mixed:SIDExSWEEPS on a square grid, and dots:LENGTHxITERATIONS. All
/// executors have one meaning; what differs is the order of messages, which logs show, and which `--compare` looks beyond.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom event heat:16x16x100                     a sample: heat spreads over a grid
  drawloom event heat:16x16x100 --write heat.xml    write the graph to a file too
  drawloom event heat.xml --executor random --seed 7 --log a.jsonl
  drawloom event heat.xml --workers 2 --compare a.jsonl --tolerance 1e-12
  drawloom event heat.xml --replay a.jsonl          do exactly what the log says, and verify it
  drawloom event airfoil:6x9x20 --write airfoil.xml --xml-version 4

Exit codes: 0 the run ended well, 1 a handler failed or asked for another exit code, or a log does not agree,
2 an unusable input.")]
pub(crate) struct Arguments {
    /// A graph file, `-` for standard input, or a sample
    #[arg(value_name = "GRAPH", value_hint = ValueHint::FilePath)]
    graph: PathBuf,

    /// Who decides what happens next; by default fifo for one worker, parallel for more
    #[arg(long, value_enum, value_name = "EXECUTOR")]
    executor: Option<Kind>,

    /// Which random order, for random and delay
    #[arg(long, default_value = "1", value_parser = integer, value_name = "SEED")]
    seed: u64,

    /// How likely a message is put off in each round, for delay: at least 0, below 1
    #[arg(long, default_value = "0.5", value_name = "P")]
    probability: f64,

    /// How many workers share the devices, for parallel
    #[arg(long, value_parser = workers, value_name = "K")]
    workers: Option<usize>,

    /// Give up after so many sends and deliveries
    #[arg(long, value_parser = integer, value_name = "N")]
    limit: Option<u64>,

    /// Write everything that happens to a file, as lines of JSON
    #[arg(long, value_name = "LOG", value_hint = ValueHint::FilePath)]
    log: Option<PathBuf>,

    /// Compare with a log of another run, up to the order of what happened
    #[arg(long, value_name = "LOG", value_hint = ValueHint::FilePath)]
    compare: Option<PathBuf>,

    /// By how much real numbers may differ from those of the other run, as a part of the largest at their place; those of
    /// single precision by 1e-4 at least, unless it is 0
    #[arg(long, default_value = "1e-9", value_parser = tolerance, requires = "compare", value_name = "PART")]
    tolerance: f64,

    /// Do exactly what a log says, and verify each step
    #[arg(long, value_name = "LOG", value_hint = ValueHint::FilePath, conflicts_with_all = ["executor", "workers", "log", "compare"])]
    replay: Option<PathBuf>,

    /// Write the graph to a file, before it runs
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    write: Option<PathBuf>,

    /// The version of the file that is written
    #[arg(long, default_value = "3", value_parser = clap::value_parser!(u8).range(3..=4), value_name = "3|4")]
    xml_version: u8,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// The executors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// In rounds, in the order of sending
    Fifo,
    /// In rounds, the newest first
    Lifo,
    /// One step after the other, at random
    Random,
    /// In rounds, each step put off with a probability
    Delay,
    /// On several workers at once
    Parallel,
}

/// What a run did. Keys of JSON output; an absent value is an absent key.
#[derive(Serialize)]
struct Line {
    graph: String,
    graph_type: String,
    instance: String,
    executor: &'static str,
    workers: usize,
    devices: usize,
    edges: usize,
    sends: u64,
    deliveries: u64,
    cancelled: u64,
    idle_rounds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    agrees: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    largest_difference: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    largest_difference_at: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differences: Vec<String>,
}

/// Why there is no result, and whose fault that is.
struct Failure(Exit, String);

impl Failure {
    fn unusable(message: impl std::fmt::Display) -> Self {
        Self(Exit::Unusable, message.to_string())
    }
}

/// Runs a graph.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    match execute(arguments, output) {
        Ok(exit) => exit,
        Err(Failure(exit, message)) => {
            output::complain(message);
            exit
        }
    }
}

fn execute(arguments: &Arguments, output: &mut Output) -> Result<Exit, Failure> {
    let (executor, workers) = executor(arguments);
    check_files(arguments)?;
    let instance = instance(&arguments.graph)?;
    if let Some(path) = &arguments.write {
        let version = if arguments.xml_version == 4 { Version::V4 } else { Version::V3 };
        create(path, |file| xml::write(&instance, version, file))?;
    }
    let other = |path: &Option<PathBuf>| path.as_deref().map(|path| read_log(path, &instance)).transpose();
    let (compared, followed) = (other(&arguments.compare)?, other(&arguments.replay)?);
    let mut settings = Settings::new(executor);
    if arguments.log.is_some() || compared.is_some() {
        settings = settings.log();
    }
    if let Some(limit) = arguments.limit {
        settings = settings.most_steps(limit);
    }
    let mut machine = Machine::new(&instance);
    let start = Instant::now();
    let result = match &followed {
        Some(log) => machine.replay(log),
        None => machine.run(&settings),
    };
    let seconds = start.elapsed().as_secs_f64();
    // Of a run that failed too: that is when one wants to see it.
    let log = result.as_ref().map_or_else(|_| machine.failed_log(), |report| report.log.as_ref());
    let logged = match (&arguments.log, log) {
        (Some(path), Some(log)) => create(path, |file| log.write(file)),
        _ => Ok(()),
    };
    let report = match result {
        Ok(report) => report,
        Err(error) => {
            if let Err(Failure(_, message)) = logged {
                output::complain(message);
            }
            let exit = match error.kind() {
                ErrorKind::Setting | ErrorKind::Engine => Exit::Unusable,
                _ => Exit::Invalid,
            };
            return Err(Failure(exit, format!("{}: {error}", arguments.graph.display())));
        }
    };
    let comparison = match (&compared, &report.log) {
        (Some(other), Some(ours)) => {
            Some(log::compare_within(other, ours, arguments.tolerance).map_err(Failure::unusable)?)
        }
        _ => None,
    };
    let mut line = line(arguments, &instance, &report, workers, seconds);
    if let Some(comparison) = &comparison {
        line.agrees = Some(comparison.is_equal());
        // Not a number in JSON, where it is beyond all of them.
        line.largest_difference =
            comparison.largest.as_ref().map(|largest| largest.part).filter(|part| part.is_finite());
        line.largest_difference_at = comparison.largest.as_ref().map(|largest| largest.place.clone());
        line.differences.clone_from(&comparison.differences);
        if comparison.unlisted > 0 {
            line.differences.push(format!("and {} more", comparison.unlisted));
        }
    }
    let exit = match (line.agrees, report.exit) {
        (Some(false), _) => Exit::Invalid,
        (_, Some(code)) if code != 0 => Exit::Invalid,
        _ => Exit::Valid,
    };
    match arguments.json {
        true => output.json(&line),
        false => text(&line, output),
    }
    logged.map(|()| exit)
}

/// Refuses, before anything is read, files that cannot be written or should not be.
fn check_files(arguments: &Arguments) -> Result<(), Failure> {
    let uses = |list: [(&str, Option<&PathBuf>); 3]| -> Vec<Use> {
        list.into_iter().filter_map(|(what, path)| path.map(|path| Use::new(what, path))).collect()
    };
    let graph = (arguments.graph.as_os_str() != "-").then_some(&arguments.graph);
    let read = uses([
        ("the graph", graph),
        ("the log to compare with", arguments.compare.as_ref()),
        ("the log to follow", arguments.replay.as_ref()),
    ]);
    let written = uses([("the graph", arguments.write.as_ref()), ("the log", arguments.log.as_ref()), ("", None)]);
    written::check_beside_output(&read, &written).map_err(Failure::unusable)
}

fn executor(arguments: &Arguments) -> (Executor, usize) {
    let seed = arguments.seed;
    let kind = match (arguments.executor, arguments.workers) {
        (Some(kind), _) => kind,
        (None, Some(2..)) => Kind::Parallel,
        (None, _) => Kind::Fifo,
    };
    let workers = arguments.workers.unwrap_or_else(crate::number::all_workers);
    match kind {
        Kind::Fifo => (Executor::Fifo, 1),
        Kind::Lifo => (Executor::Lifo, 1),
        Kind::Random => (Executor::Random { seed }, 1),
        Kind::Delay => (Executor::Delay { probability: arguments.probability, seed }, 1),
        Kind::Parallel => (Executor::Parallel { workers }, workers),
    }
}

/// The graph that an argument stands for.
fn instance(argument: &Path) -> Result<Arc<Instance>, Failure> {
    if let Some(sample) = argument.to_str().and_then(|text| samples::by_name(text).transpose()) {
        return sample;
    }
    let named = |error| Failure::unusable(format_args!("{}: {error}", argument.display()));
    let registry = samples::registry()?;
    match Input::new(argument) {
        Input::Stdin => xml::read(std::io::stdin().lock(), &registry).map_err(named),
        input => {
            let unreadable = |e: std::io::Error| Failure::unusable(format_args!("cannot read {input}: {e}"));
            xml::read(File::open(argument).map_err(unreadable)?, &registry).map_err(named)
        }
    }
}

fn read_log(path: &Path, instance: &Arc<Instance>) -> Result<Log, Failure> {
    let named = |error: &dyn std::fmt::Display| Failure::unusable(format_args!("{}: {error}", path.display()));
    Log::read(File::open(path).map_err(|e| named(&e))?, instance).map_err(|e| named(&e))
}

/// Writes a file.
fn create(path: &Path, write: impl FnOnce(&mut File) -> drawloom_messages::Result<()>) -> Result<(), Failure> {
    let named =
        |error: &dyn std::fmt::Display| Failure::unusable(format_args!("cannot write {}: {error}", path.display()));
    let mut file = File::create(path).map_err(|e| named(&e))?;
    write(&mut file).map_err(|e| named(&e))
}

fn line(arguments: &Arguments, instance: &Instance, report: &Report, workers: usize, seconds: f64) -> Line {
    let executor = match executor(arguments).0 {
        _ if arguments.replay.is_some() => "replay",
        Executor::Fifo => "fifo",
        Executor::Lifo => "lifo",
        Executor::Random { .. } => "random",
        Executor::Delay { .. } => "delay",
        Executor::Parallel { .. } => "parallel",
    };
    Line {
        graph: arguments.graph.display().to_string(),
        graph_type: instance.graph_type().id().to_owned(),
        instance: instance.id().to_owned(),
        executor,
        workers,
        devices: instance.devices(),
        edges: instance.edges(),
        sends: report.counts.sends,
        deliveries: report.counts.deliveries,
        cancelled: report.counts.cancelled,
        idle_rounds: report.counts.idle_rounds,
        exit_code: report.exit,
        seconds,
        agrees: None,
        largest_difference: None,
        largest_difference_at: None,
        differences: Vec::new(),
    }
}

fn text(line: &Line, output: &mut Output) {
    let workers = if line.workers == 1 { "1 worker".to_owned() } else { format!("{} workers", line.workers) };
    output.line(format_args!(
        "{}: {} of type {}, {}, {workers}",
        line.graph, line.instance, line.graph_type, line.executor
    ));
    let mut row = |what: &str, value: &dyn std::fmt::Display| output.line(format_args!("  {what:<18}{value:>12}"));
    row("devices", &line.devices);
    row("edges", &line.edges);
    row("sends", &line.sends);
    row("deliveries", &line.deliveries);
    row("cancelled sends", &line.cancelled);
    row("idle rounds", &line.idle_rounds);
    if let Some(code) = line.exit_code {
        row("exit code", &code);
    }
    match line.agrees {
        Some(true) => output.line("the runs did the same"),
        Some(false) => {
            output.line("the runs did not do the same:");
            line.differences.iter().for_each(|difference| output.line(format_args!("  {difference}")));
        }
        None => {}
    }
    if let (Some(part), Some(at)) = (line.largest_difference, &line.largest_difference_at) {
        output.line(format_args!("the largest difference is {part:.1e} of the largest number there: {at}"));
    }
}

/// Reads how far apart numbers may be.
fn tolerance(text: &str) -> Result<f64, String> {
    let part = text.parse::<f64>().ok().filter(|part| *part >= 0.0 && part.is_finite());
    part.ok_or_else(|| format!("`{text}` is no number from 0 on"))
}
