//! `drawloom model`: what is in an ONNX file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use drawloom_tensor::onnx::{Model, Port};
use drawloom_tensor::{Error, Placement};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::output::{Output, complain};

/// Look at models in ONNX files
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom model info model.onnx    inputs, outputs, operators, and whether a batch can be cut into pieces")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Info(Info),
}

/// Show inputs, outputs, operators, partitions, and where the rows of a batch go
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom model info model.onnx                    what is in it, and whether a batch can be cut into pieces
  drawloom model info model.onnx --axis state=1     rows along axis 1 of the input state
  drawloom model info model.onnx --axis sr=none     no rows in the input sr
  drawloom model info model.onnx --dump             one line for each node, in the order in which they run
  drawloom model info model.onnx --dot | dot -Tsvg > model.svg

Exit codes: 0 printed, 1 a batch cannot be cut into pieces, 2 an unusable file.")]
struct Info {
    /// The model
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// The axis that counts rows in an input, or none
    #[arg(long = "axis", value_name = "INPUT=AXIS")]
    axes: Vec<String>,

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
    let Action::Info(info) = &arguments.action;
    match show(info, output) {
        Ok(exit) => exit,
        Err(reason) => {
            complain(format_args!("{}: {reason}", info.file.display()));
            Exit::Unusable
        }
    }
}

fn axis(text: &str) -> Result<(&str, Option<usize>), String> {
    let wrong = || format!("`{text}` is not INPUT=AXIS, with a number or `none`");
    let (name, axis) = text.rsplit_once('=').ok_or_else(wrong)?;
    match axis {
        "none" => Ok((name, None)),
        axis => axis.parse().map(|axis| (name, Some(axis))).map_err(|_| wrong()),
    }
}

fn show(info: &Info, output: &mut Output) -> Result<Exit, String> {
    let axes = info.axes.iter().map(|text| axis(text)).collect::<Result<Vec<_>, _>>()?;
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
    if info.json {
        output.json(&as_json(info, &model, &batch));
    } else {
        text(info, &model, &batch, output);
    }
    Ok(if batch.is_ok() { Exit::Valid } else { Exit::Invalid })
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

fn as_json(info: &Info, model: &Model, batch: &Result<Vec<Placement>, Error>) -> Value {
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
                Placement::Fixed => None,
            });
            value["rows"] = json!(axes.collect::<BTreeMap<_, _>>());
        }
        Err(error) => value["refused"] = json!(error.to_string()),
    }
    value
}

fn text(info: &Info, model: &Model, batch: &Result<Vec<Placement>, Error>, output: &mut Output) {
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
                    Placement::Fixed => output.line(format_args!("  `{}` is the same for all rows", port.name)),
                }
            }
        }
        Err(error) => output.line(format_args!("  a batch cannot be cut into pieces: {error}")),
    }
}
