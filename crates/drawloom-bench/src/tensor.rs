//! `drawloom-bench tensor`: processor time and memory of models over batches, beside other runtimes.

use std::path::{Path, PathBuf};

use clap::Args;
use drawloom_cli::batch::{Batch, Cutting, MODEL_HINT};
use drawloom_cli::exit::Exit;
use drawloom_cli::meter;
use drawloom_cli::number::{all_workers, integer, workers};
use drawloom_cli::output::{self, Output};
use drawloom_onnx::sample::sample_model;
use drawloom_runtime::Loom;
use drawloom_tensor::Model;
use drawloom_tensor::{PiecePlan, Pieces};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::peers::{Asked, onnxruntime};

/// Measure models over batches, all at once and in pieces, beside ONNX Runtime
///
/// Prints one line of JSON for each measurement, the best of several by processor time. `peak_bytes` is what the plan counts
/// and the run used; `resident_bytes` is by how much the memory of the process grew, for ours and for the peer. Rows are
/// random: real numbers from -1 to 1, and for integers 0 and 1. ONNX Runtime runs in python3, where it is installed. rten and tract are measured in a build with the feature
/// `tensor-peers`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom-bench tensor                                  the sample model
  drawloom-bench tensor classify.onnx --rows 256 --pieces 256,16,4,1
  drawloom-bench tensor text.onnx --dim x:2=48 --dim x:3=192 --workers 2")]
pub(crate) struct Arguments {
    /// Models; without any, the sample
    #[arg(value_name = "FILE", value_hint = MODEL_HINT)]
    files: Vec<PathBuf>,
    /// How many rows
    #[arg(long, default_value = "256", value_parser = integer, value_name = "ROWS")]
    rows: u64,
    /// The sizes of pieces, one measurement for each; by default all at once, 16, 4 and 1
    #[arg(long, value_delimiter = ',', value_parser = integer, value_name = "ROWS")]
    pieces: Vec<u64>,
    #[command(flatten)]
    cutting: Cutting,
    /// How many workers; by default one, and then as many as there are cores
    #[arg(long, value_parser = workers, value_name = "N")]
    workers: Option<usize>,
    /// How often each measurement is repeated; the best counts
    #[arg(long, default_value = "3", value_parser = integer, value_name = "N")]
    repeat: u64,
    /// Leave out the others
    #[arg(long)]
    no_peers: bool,
}

/// One measurement.
#[derive(Serialize)]
struct Line<'a> {
    bench: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<&'static str>,
    model: &'a str,
    rows: u64,
    piece: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_flight: Option<usize>,
    workers: usize,
    cpu_ms_per_row: Option<f64>,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted_peak_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_bytes: Option<usize>,
    resident_bytes: Option<u64>,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    let sample = std::env::temp_dir().join(format!("drawloom-sample-{}.onnx", std::process::id()));
    let files = if arguments.files.is_empty() {
        let written = sample_model().map_err(|error| error.to_string());
        let written = written.and_then(|bytes| std::fs::write(&sample, bytes).map_err(|error| error.to_string()));
        if let Err(why) = written {
            output::complain(format_args!("bench tensor: {why}"));
            return Exit::Unusable;
        }
        vec![sample.clone()]
    } else {
        arguments.files.clone()
    };
    let mut exit = Exit::Valid;
    for file in &files {
        if let Err(why) = measure(arguments, file, output) {
            output::complain(format_args!("bench tensor: {}: {why}", file.display()));
            exit = Exit::Unusable;
        }
    }
    if arguments.files.is_empty() {
        // A file that stays behind in the folder for such files disturbs nobody.
        let _ = std::fs::remove_file(&sample);
    }
    exit
}

fn measure(arguments: &Arguments, file: &Path, output: &mut Output) -> Result<(), String> {
    let text = |error: drawloom_tensor::Error| error.to_string();
    let model = drawloom_onnx::read(file).map_err(text)?;
    let name = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    arguments.cutting.check(&model)?;
    let name = if arguments.files.is_empty() { "sample".to_owned() } else { name };
    let batch = arguments.cutting.random(&model, arguments.rows)?;
    let mut sizes = arguments.pieces.clone();
    if sizes.is_empty() {
        sizes = [arguments.rows, 16, 4, 1].into_iter().filter(|size| *size <= arguments.rows).collect();
        sizes.dedup();
    }
    let mut counts = arguments.workers.map_or_else(|| vec![1, all_workers()], |workers| vec![workers]);
    counts.dedup();
    for &workers in &counts {
        let loom = Loom::builder().workers(workers).build().map_err(|error| error.to_string())?;
        let chosen = arguments.cutting.pieces(workers)?;
        // The sizes that were asked for, and then the one that the planner chooses.
        let mut plans: Vec<Pieces> = Vec::new();
        if arguments.cutting.piece.is_none() && arguments.cutting.memory.is_none() {
            plans.extend(sizes.iter().map(|size| chosen.clone().piece(*size)));
        }
        plans.push(chosen);
        for pieces in plans {
            let plan = model.plan(&batch.named(), &pieces).map_err(text)?;
            output.json(&ours(&plan, &loom, workers, arguments.repeat, &name)?);
            output.flush();
        }
    }
    if !arguments.no_peers {
        let inputs = shapes(&model, &batch, arguments)?;
        for &threads in &counts {
            let asked =
                Asked { model: file, rows: arguments.rows, threads, repeat: arguments.repeat, inputs: inputs.clone() };
            onnxruntime(&asked, &sizes).report(output);
        }
        #[cfg(feature = "tensor-peers")]
        super::engines::measure(file, &name, &batch, &sizes, arguments.repeat, output);
    }
    Ok(())
}

/// The best of several runs of a plan.
fn ours<'a>(plan: &PiecePlan, loom: &Loom, workers: usize, repeat: u64, model: &'a str) -> Result<Line<'a>, String> {
    let mut best: Option<Line<'a>> = None;
    for _ in 0..repeat.max(1) {
        meter::reset_peak();
        let before = meter::memory().map(|memory| memory.0);
        let (cpu, start) = (meter::process_cpu_seconds(), std::time::Instant::now());
        let outcome = plan.run(loom).map_err(|error| error.to_string())?;
        let seconds = start.elapsed().as_secs_f64();
        let cpu = cpu.and_then(|before| Some(meter::process_cpu_seconds()? - before));
        let resident = before.and_then(|before| Some(meter::memory()?.1.saturating_sub(before)));
        let line = Line {
            bench: "tensor",
            peer: None,
            model,
            rows: plan.rows(),
            piece: plan.cut().most(),
            in_flight: Some(plan.in_flight()),
            workers,
            cpu_ms_per_row: cpu.map(|cpu| cpu * 1e3 / plan.rows().max(1) as f64),
            seconds,
            predicted_peak_bytes: Some(plan.predicted_peak_bytes()),
            peak_bytes: Some(outcome.peak_bytes()),
            resident_bytes: resident,
        };
        let cost = |line: &Line<'_>| line.cpu_ms_per_row.unwrap_or(line.seconds);
        if best.as_ref().is_none_or(|best| cost(&line) < cost(best)) {
            best = Some(line);
        }
    }
    best.ok_or_else(|| "nothing was measured".to_owned())
}

/// What the peer must know about the inputs.
fn shapes(model: &Model, batch: &Batch, arguments: &Arguments) -> Result<Value, String> {
    let mut shapes = Map::new();
    let mut rows = Map::new();
    for (name, values) in &batch.inputs {
        let port = model.inputs().iter().find(|port| port.name == *name);
        let axis = port.map_or(Ok(None), |port| arguments.cutting.axis_of(model, port))?;
        shapes.insert(name.clone(), json!(values.shape()));
        rows.insert(name.clone(), json!(axis));
    }
    shapes.insert("axes".to_owned(), Value::Object(rows));
    Ok(Value::Object(shapes))
}
