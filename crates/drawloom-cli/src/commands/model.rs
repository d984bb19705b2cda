//! `drawloom model`: what is in an ONNX file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use drawloom_tensor::files::write_npy;
use drawloom_tensor::onnx::sample::{sample_batch, sample_model};
use drawloom_tensor::onnx::{Model, Port};
use drawloom_tensor::{Error, Pieces, Placement};
use serde_json::{Value, json};

use crate::batch::Cutting;
use crate::exit::Exit;
use crate::number::{all_workers, integer, mebibytes, workers};
use crate::output::{Output, complain};

/// Look at models in ONNX files
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom model sample             writes sample.onnx and sample.npy, a small model and a batch to try things with
  drawloom model info sample.onnx   inputs, outputs, operators, and whether a batch can be cut into pieces")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Info(Info),
    Sample(Sample),
}

/// Write a small model and a batch for it: a classifier of images with random weights
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom model sample                      sample.onnx and sample.npy here
  drawloom model sample --folder /tmp --rows 1000")]
struct Sample {
    /// Where to write them
    #[arg(long, default_value = ".", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
    /// How many images the batch has
    #[arg(long, default_value = "256", value_parser = integer, value_name = "ROWS")]
    rows: u64,
}

impl Sample {
    fn write(&self, output: &mut Output) -> Result<(), String> {
        let rows = usize::try_from(self.rows).map_err(|_| format!("{} rows are too many", self.rows))?;
        let (model, batch) = (self.folder.join("sample.onnx"), self.folder.join("sample.npy"));
        let bytes = sample_model().map_err(|error| error.to_string())?;
        std::fs::write(&model, bytes).map_err(|error| format!("{}: {error}", model.display()))?;
        let tensor = sample_batch(rows).map_err(|error| error.to_string())?;
        write_npy(&batch, tensor.view()).map_err(|error| error.to_string())?;
        output.line(format_args!("wrote {} and {}", model.display(), batch.display()));
        Ok(())
    }
}

/// Show inputs, outputs, operators, partitions, and where the rows of a batch go
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom model info model.onnx                    what is in it, and whether a batch can be cut into pieces
  drawloom model info model.onnx --axis state=1     rows along axis 1 of the input state
  drawloom model info model.onnx --axis sr=none     no rows in the input sr
  drawloom model info model.onnx --memory 64MiB --rows 1e6 --workers 2      which pieces that would be
  drawloom model info model.onnx --dump             one line for each node, in the order in which they run
  drawloom model info model.onnx --dot | dot -Tsvg > model.svg

Exit codes: 0 printed, 1 a batch cannot be cut into pieces, 2 an unusable file.")]
struct Info {
    /// The model
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,

    #[command(flatten)]
    cutting: Cutting,

    /// For how many rows pieces are planned
    #[arg(long, default_value = "256", value_parser = integer, value_name = "ROWS")]
    rows: u64,

    /// For how many workers; by default as many as there are cores
    #[arg(long, value_parser = workers, value_name = "N")]
    workers: Option<usize>,

    /// Print every node
    #[arg(long, conflicts_with_all = ["dot", "json"])]
    dump: bool,

    /// Print a drawing in the language of Graphviz
    #[arg(long, conflicts_with = "json")]
    dot: bool,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// Does what was asked for.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    let (file, done) = match &arguments.action {
        Action::Info(info) => (&info.file, show(info, output)),
        Action::Sample(sample) => (&sample.folder, sample.write(output).map(|()| Exit::Valid)),
    };
    match done {
        Ok(exit) => exit,
        Err(reason) => {
            complain(format_args!("{}: {reason}", file.display()));
            Exit::Unusable
        }
    }
}

/// What is known about a model.
struct Facts<'a> {
    info: &'a Info,
    model: &'a Model,
    /// Where the rows of outputs are, or why there are none.
    batch: Result<Vec<Placement>, Error>,
    /// What a run would use, or why that is not known.
    memory: Result<Memory, String>,
}

/// The memory of a run in pieces.
struct Memory {
    /// What one piece of a row takes, and each row more.
    first_row: usize,
    each_row: usize,
    results: usize,
    rows: u64,
    pieces: u64,
    piece: u64,
    in_flight: usize,
    peak: usize,
}

fn show(info: &Info, output: &mut Output) -> Result<Exit, String> {
    let axes = info.cutting.axes()?;
    let model = Model::read(&info.file).map_err(|error| error.to_string())?;
    if info.dump {
        output.text(model.program());
        return Ok(Exit::Valid);
    }
    if info.dot {
        output.text(model.program().to_dot());
        return Ok(Exit::Valid);
    }
    let batch = model.batch(&axes).map(|plan| plan.outputs().to_vec());
    let memory = if batch.is_ok() { memory(info, &model) } else { Err(String::new()) };
    let facts = Facts { info, model: &model, batch, memory };
    if info.json {
        output.json(&as_json(&facts));
    } else {
        text(&facts, output);
    }
    Ok(if facts.batch.is_ok() { Exit::Valid } else { Exit::Invalid })
}

/// Plans runs with random rows.
fn memory(info: &Info, model: &Model) -> Result<Memory, String> {
    let workers = info.workers.unwrap_or_else(all_workers);
    let plan = |rows: u64, pieces: Pieces| {
        let batch = info.cutting.random(model, rows)?;
        model.plan(&batch.named(), &pieces).map_err(|error| error.to_string())
    };
    let of_rows = |rows: u64| {
        let mut pieces = Pieces::new().piece(rows);
        for (input, axis) in info.cutting.axes()? {
            pieces = pieces.axis(input, axis);
        }
        Ok::<usize, String>(plan(rows, pieces)?.bytes_in_flight())
    };
    let (one, two) = (of_rows(1)?, of_rows(2)?);
    let chosen = plan(info.rows, info.cutting.pieces(workers)?)?;
    Ok(Memory {
        first_row: one,
        each_row: two.saturating_sub(one),
        results: chosen.result_bytes(),
        rows: chosen.rows(),
        pieces: chosen.cut().pieces(),
        piece: chosen.cut().most(),
        in_flight: chosen.in_flight(),
        peak: chosen.predicted_peak_bytes(),
    })
}

/// How often each operator is used.
fn operators(model: &Model) -> BTreeMap<String, usize> {
    let graph = model.program().graph();
    let mut counts = BTreeMap::new();
    for node in model.program().order() {
        *counts.entry(graph.operator_name(*node).to_owned()).or_default() += 1;
    }
    counts.remove("OUTPUT");
    counts
}

fn crossing(model: &Model) -> Vec<&str> {
    let program = model.program();
    program.crossing().iter().map(|tensor| program.graph().tensor_name(*tensor)).collect()
}

fn as_json(facts: &Facts<'_>) -> Value {
    let Facts { info, model, batch, memory } = facts;
    let ports = |ports: &[Port]| ports.iter().map(Port::to_string).collect::<Vec<_>>();
    let mut value = json!({
        "file": info.file.display().to_string(),
        "inputs": ports(model.inputs()),
        "outputs": ports(model.outputs()),
        "operators": operators(model),
        "partitions": model.program().depth() + 1,
        "crossing": crossing(model),
    });
    match batch {
        Ok(outputs) => {
            let axes = model.outputs().iter().zip(outputs).filter_map(|(port, placement)| match placement {
                Placement::Rows { axis } => Some((port.name.clone(), *axis)),
                Placement::Fixed | Placement::Reduced(_) => None,
            });
            value["rows"] = json!(axes.collect::<BTreeMap<_, _>>());
        }
        Err(error) => value["refused"] = json!(error.to_string()),
    }
    if let Ok(memory) = memory {
        value["memory"] = json!({
            "first_row_bytes": memory.first_row,
            "bytes_per_row": memory.each_row,
            "result_bytes": memory.results,
            "rows": memory.rows,
            "pieces": memory.pieces,
            "piece": memory.piece,
            "in_flight": memory.in_flight,
            "predicted_peak_bytes": memory.peak,
        });
    }
    value
}

fn text(facts: &Facts<'_>, output: &mut Output) {
    let Facts { info, model, batch, memory } = facts;
    output.line(info.file.display());
    for port in model.inputs() {
        output.line(format_args!("  input   {port}"));
    }
    for port in model.outputs() {
        output.line(format_args!("  output  {port}"));
    }
    output.line("  operators");
    for (name, count) in operators(model) {
        output.line(format_args!("    {name:<24}{count:>6}"));
    }
    output.line(format_args!("  partitions {}", model.program().depth() + 1));
    let crossing = crossing(model);
    if !crossing.is_empty() {
        output.line(format_args!("  kept for later iterations: {}", crossing.join(", ")));
    }
    match batch {
        Ok(outputs) => {
            for (port, placement) in model.outputs().iter().zip(outputs) {
                match placement {
                    Placement::Rows { axis } => {
                        output.line(format_args!("  rows of `{}` are along axis {axis}", port.name))
                    }
                    Placement::Fixed | Placement::Reduced(_) => {
                        output.line(format_args!("  `{}` is the same for all rows", port.name))
                    }
                }
            }
        }
        Err(error) => return output.line(format_args!("  a batch cannot be cut into pieces: {error}")),
    }
    match memory {
        Ok(memory) => {
            output.line(format_args!(
                "  a piece of one row takes {}, and each row more {}",
                mebibytes(memory.first_row),
                mebibytes(memory.each_row)
            ));
            output.line(format_args!(
                "  {} rows: {} pieces of up to {}, {} in flight, {} at most with {} of results",
                memory.rows,
                memory.pieces,
                memory.piece,
                memory.in_flight,
                mebibytes(memory.peak),
                mebibytes(memory.results)
            ));
        }
        Err(why) => output.line(format_args!("  memory is not known: {why}")),
    }
}
