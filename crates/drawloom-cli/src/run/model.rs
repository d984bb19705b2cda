//! `drawloom run FILE.onnx`: a model over a batch of any size.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use drawloom_runtime::Loom;
use drawloom_tensor::files::{NpyWriter, RawWriter};
use drawloom_tensor::{BatchOutcome, ElementType, ErrorKind, Fault, PiecePlan, Pieces, Placement, RowSink, View};
use drawloom_tensor::{Model, Port};
use drawloom_trace::chrome;
use serde::Serialize;

use crate::batch::{Batch, Cutting, Format, ImageFront, MODEL_HINT, check_written, named_files};
use crate::exit::Exit;
use crate::meter;
use crate::number::{all_workers, integer, mebibytes, workers};
use crate::output::{self, Output};
use crate::progress;
use crate::written::Use;

/// Run a model in an ONNX file over a batch, in pieces that fit into memory
///
/// The batch may have any number of rows: it is cut into pieces, of which several are in flight on the workers. How much
/// memory that takes is known before, and said. Inputs are files of NumPy (.npy), elements without a header (.raw, .bin), or
/// folders of PNG and JPEG images; only the rows of pieces in flight are read. Outputs are written as .npy, .raw or .bin.
///
/// With --carry, pieces depend on each other as the user says. So a few rows are first computed all at once and in small
/// pieces, as with --check, and the run is refused where that changes the result.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom model sample                                       writes sample.onnx and sample.npy
  drawloom run sample.onnx --input sample.npy --output classes.npy
  drawloom run sample.onnx --input sample.npy --memory 1MiB --workers 2
  drawloom run sample.onnx --random 1000 --piece 4 --json
  drawloom run classify.onnx --input photos/ --mean 0.485,0.456,0.406 --deviation 0.229,0.224,0.225 --output out.npy
  drawloom run two.onnx --input a=a.npy --input b=b.npy --output sum=sum.npy --check
  drawloom run speech.onnx --input input=sound.npy --carry h=hn --carry c=cn --output speech_probs=out.npy

Exit codes: 0 done, 1 the run failed or rows cannot be computed apart, 2 an unusable file or setting.")]
pub(crate) struct Arguments {
    /// The model
    #[arg(value_name = "FILE", value_hint = MODEL_HINT)]
    file: PathBuf,
    /// A batch, with the name of its input where there are several
    #[arg(long = "input", value_name = "[NAME=]FILE", value_hint = MODEL_HINT)]
    inputs: Vec<String>,
    /// So many random rows instead: real numbers from -1 to 1, and for integers 0 and 1
    #[arg(long, value_parser = integer, value_name = "ROWS", conflicts_with = "inputs")]
    random: Option<u64>,
    /// Where to write an output, with its name where there are several: .npy, or .raw or .bin without a header
    #[arg(long = "output", value_name = "[NAME=]FILE", value_hint = MODEL_HINT)]
    outputs: Vec<String>,
    #[command(flatten)]
    cutting: Cutting,
    #[command(flatten)]
    images: ImageFront,
    /// How many workers; by default as many as there are cores
    #[arg(long, value_parser = workers, value_name = "N")]
    workers: Option<usize>,
    /// How many pieces may be in flight; by default as many as there are workers
    #[arg(long, value_parser = workers, value_name = "N")]
    in_flight: Option<usize>,
    /// First compute some rows all at once and in small pieces, and compare
    #[arg(long)]
    check: bool,
    /// Write when which node ran on which worker, for Perfetto
    #[arg(long, value_name = "FILE", value_hint = MODEL_HINT)]
    trace: Option<PathBuf>,
    /// Print one line of JSON, last
    #[arg(long)]
    json: bool,
}

/// What a run took.
#[derive(Serialize)]
struct Line {
    rows: u64,
    piece: u64,
    in_flight: usize,
    predicted_peak_bytes: usize,
    measured_peak_bytes: usize,
    cpu_ms_per_row: Option<f64>,
    seconds: f64,
}

/// Why there is no result.
enum Failure {
    /// The user must change something.
    Unusable(String),
    /// It was tried, and did not work.
    Failed(String),
}

impl From<drawloom_tensor::Error> for Failure {
    fn from(error: drawloom_tensor::Error) -> Self {
        match error.kind() {
            ErrorKind::Memory if error.piece().is_none() => Self::Unusable(error.to_string()),
            // The model or the batch cannot be used, even where that is found in the middle of a run.
            ErrorKind::Graph
            | ErrorKind::Loop
            | ErrorKind::Import
            | ErrorKind::Unsupported
            | ErrorKind::UnknownOperator
            | ErrorKind::Type
            | ErrorKind::NonTensor
            | ErrorKind::Random
            | ErrorKind::Input => Self::Unusable(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    match compute(arguments, output) {
        Ok(()) => Exit::Valid,
        Err(Failure::Unusable(why)) => {
            output::complain(format_args!("{}: {why}", arguments.file.display()));
            Exit::Unusable
        }
        Err(Failure::Failed(why)) => {
            output::complain(format_args!("{}: {why}", arguments.file.display()));
            Exit::Invalid
        }
    }
}

fn compute(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let Asked { model, files, batch, mut pieces, workers } = asked(arguments).map_err(Failure::Unusable)?;
    // Rows go into their files as they come, where a file has them one after the other.
    let placements = model.placements(&batch.named(), &pieces)?;
    let mut later = Vec::new();
    for file in &files {
        let place = model.outputs().iter().position(|port| port.name == file.name);
        if place.is_some_and(|place| placements[place] == Placement::Rows { axis: 0 }) {
            pieces = pieces.sink(&file.name, Arc::clone(&file.writer) as Arc<dyn RowSink>);
        } else {
            later.push(file);
        }
    }
    let plan = model.plan(&batch.named(), &pieces)?;
    if !arguments.json {
        for front in &batch.fronts {
            output.line(format_args!("before the graph, {front}"));
        }
        output.line(&plan);
    }
    try_out(arguments, &plan, output)?;
    let loom = Loom::builder().workers(workers).trace(arguments.trace.is_some()).build();
    let loom = loom.map_err(|error| Failure::Unusable(error.to_string()))?;
    let (cpu, start) = (meter::process_cpu_seconds(), Instant::now());
    let bar = progress::bar("rows", plan.rows());
    let outcome = plan.run_with(&loom, |progress| {
        let rate = progress.rows as f64 / start.elapsed().as_secs_f64();
        bar.set_position(progress.rows);
        bar.set_message(format!("{rate:.0} rows/s, {}", mebibytes(progress.peak_bytes)));
        ControlFlow::Continue(())
    });
    let seconds = start.elapsed().as_secs_f64();
    bar.finish_and_clear();
    let outcome = outcome?;
    let cpu = cpu.and_then(|before| Some(meter::process_cpu_seconds()? - before));
    if let Some(path) = &arguments.trace {
        let mut bytes = Vec::new();
        chrome::write(&loom.trace_stop(), &mut bytes)
            .and_then(|()| std::fs::write(path, bytes))
            .map_err(|error| Failure::Unusable(format!("{}: {error}", path.display())))?;
    }
    for OutputFile { name, writer, .. } in later {
        let missing = || Failure::Failed(format!("output `{name}` was not computed"));
        let tensor = outcome.output(name).ok_or_else(missing)?.view();
        writer.begin(tensor.element(), tensor.shape()).map_err(drawloom_tensor::Error::from)?;
        writer.write(0, tensor).map_err(drawloom_tensor::Error::from)?;
    }
    let line = Line {
        rows: plan.rows(),
        piece: plan.cut().most(),
        in_flight: plan.in_flight(),
        predicted_peak_bytes: plan.predicted_peak_bytes(),
        measured_peak_bytes: outcome.peak_bytes(),
        cpu_ms_per_row: cpu.map(|cpu| cpu * 1e3 / plan.rows().max(1) as f64),
        seconds,
    };
    if arguments.json {
        output.json(&line);
    } else {
        table(&plan, &outcome, &line, output);
        for OutputFile { name, path, writer } in &files {
            let contents =
                writer.contents().map(|(element, shape)| format!(": {element}{shape:?}")).unwrap_or_default();
            output.line(format_args!("wrote `{name}` to {}{contents}", path.display()));
        }
    }
    Ok(())
}

/// What was asked for, looked through before anything is computed or written.
struct Asked {
    model: Model,
    files: Vec<OutputFile>,
    batch: Batch,
    pieces: Pieces,
    workers: usize,
}

fn asked(arguments: &Arguments) -> Result<Asked, String> {
    let model = drawloom_onnx::read(&arguments.file).map_err(|error| error.to_string())?;
    arguments.cutting.check(&model)?;
    let workers = arguments.workers.unwrap_or_else(all_workers);
    let mut pieces = arguments.cutting.pieces(workers)?;
    if let Some(in_flight) = arguments.in_flight {
        pieces = pieces.in_flight(in_flight);
    }
    let outputs = named_files("output", model.outputs(), &arguments.outputs)?;
    let files = outputs.iter().map(|(port, path)| OutputFile::new(port, path)).collect::<Result<Vec<_>, _>>()?;
    let inputs = named_files("input", model.inputs(), &arguments.inputs)?;
    let read = inputs.iter().map(|(port, path)| Use::new(format_args!("input `{}`", port.name), path)).collect();
    let mut written: Vec<Use> =
        files.iter().map(|file| Use::new(format_args!("output `{}`", file.name), &file.path)).collect();
    written.extend(arguments.trace.iter().map(|path| Use::new("the trace", path)));
    check_written(&arguments.file, read, &written)?;
    let batch = match arguments.random {
        Some(rows) => {
            arguments.images.refuse()?;
            arguments.cutting.random(&model, rows)?
        }
        None if arguments.inputs.is_empty() => {
            return Err("there is no batch: give one with --input, or --random ROWS".to_owned());
        }
        None => Batch::read(&model, &inputs, &arguments.cutting, &arguments.images)?,
    };
    Ok(Asked { model, files, batch, pieces, workers })
}

/// Computes a few rows all at once and in small pieces, where that was asked for or where states are handed on from piece
/// to piece: nothing else says whether pieces change the result then.
fn try_out(arguments: &Arguments, plan: &PiecePlan, output: &mut Output) -> Result<(), Failure> {
    let carries = arguments.cutting.carries().map_err(Failure::Unusable)?;
    let hands_on = !carries.is_empty() && plan.cut().pieces() > 1;
    if !arguments.check && !hands_on {
        return Ok(());
    }
    match plan.check()? {
        rows @ 0..2 => {
            let rows = if rows == 1 { "one row" } else { "no rows" };
            output::complain(format_args!("nothing was compared: the batch has {rows}, and two are needed"));
        }
        rows if !arguments.json => {
            output.line(format_args!("{rows} rows are the same all at once, and in pieces of 1 and 3"));
        }
        _ => {}
    }
    Ok(())
}

/// An output, and the file that it goes to.
struct OutputFile {
    name: String,
    path: PathBuf,
    writer: Arc<Writer>,
}

impl OutputFile {
    fn new(port: &Port, path: &Path) -> Result<Self, String> {
        let writer = match Format::of(path)? {
            Format::Npy => Writer::Npy(NpyWriter::new(path)),
            Format::Raw => Writer::Raw(RawWriter::new(path)),
        };
        Ok(Self { name: port.name.clone(), path: path.to_owned(), writer: Arc::new(writer) })
    }
}

/// A file in one of the formats.
enum Writer {
    Npy(NpyWriter),
    Raw(RawWriter),
}

impl Writer {
    /// The type and shape of what was written.
    fn contents(&self) -> Option<(ElementType, Vec<usize>)> {
        match self {
            Self::Npy(writer) => writer.contents(),
            Self::Raw(writer) => writer.contents(),
        }
    }
}

impl RowSink for Writer {
    fn begin(&self, element: ElementType, shape: &[usize]) -> Result<(), Fault> {
        match self {
            Self::Npy(writer) => writer.begin(element, shape),
            Self::Raw(writer) => writer.begin(element, shape),
        }
    }

    fn write(&self, first: usize, rows: View<'_>) -> Result<(), Fault> {
        match self {
            Self::Npy(writer) => writer.write(first, rows),
            Self::Raw(writer) => writer.write(first, rows),
        }
    }
}

/// The time of each operator, and memory against the plan.
fn table(plan: &PiecePlan, outcome: &BatchOutcome, line: &Line, output: &mut Output) {
    let graph = plan.program().graph();
    let mut operators: BTreeMap<&str, (usize, Duration)> = BTreeMap::new();
    for (node, time) in outcome.times() {
        let entry = operators.entry(graph.operator_name(*node)).or_default();
        *entry = (entry.0 + 1, entry.1 + *time);
    }
    let all: Duration = operators.values().map(|entry| entry.1).sum();
    let mut operators: Vec<(&str, (usize, Duration))> = operators.into_iter().collect();
    operators.sort_by_key(|(name, (_, time))| (std::cmp::Reverse(*time), *name));
    output.line(format_args!("{:<24}{:>7}{:>12}{:>9}", "operator", "nodes", "seconds", "share"));
    for (name, (nodes, time)) in operators {
        let share = 100.0 * time.as_secs_f64() / all.as_secs_f64().max(1e-12);
        output.line(format_args!("{name:<24}{nodes:>7}{:>12.4}{share:>8.1}%", time.as_secs_f64()));
    }
    output.line(format_args!(
        "{} rows in {:.3} s, {:.1} rows/s{}",
        line.rows,
        line.seconds,
        line.rows as f64 / line.seconds.max(1e-12),
        line.cpu_ms_per_row.map(|cpu| format!(", {cpu:.3} ms of processor time for each")).unwrap_or_default()
    ));
    output.line(format_args!(
        "memory: {} at most, {} were planned",
        mebibytes(line.measured_peak_bytes),
        mebibytes(line.predicted_peak_bytes)
    ));
}
