//! `drawloom model info`: inputs, outputs, operators, and what a run in pieces would be.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use drawloom_tensor::{Error, PiecePlan, Pieces, Placement};
use drawloom_tensor::{Model, Port};
use serde_json::{Value, json};

use super::listing::Listing;
use crate::batch::{Batch, Cutting};
use crate::exit::Exit;
use crate::number::{all_workers, integer, mebibytes, workers};
use crate::output::{Output, complain};

/// Show inputs, outputs, operators, partitions, and where the rows of a batch go
///
/// What a run would use is found out with random rows: real numbers from -1 to 1, and for integers 0 and 1. A model with
/// operators that are not supported is listed all the same, with a mark at those.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom model info model.onnx                    what is in it, and whether a batch can be cut into pieces
  drawloom model info model.onnx --axis state=1     rows along axis 1 of the input state
  drawloom model info model.onnx --axis sr=none     no rows in the input sr
  drawloom model info model.onnx --dim input:1=576  with the length 576 of axis 1 of the input
  drawloom model info model.onnx --memory 64MiB --rows 1e6 --workers 2      which pieces that would be
  drawloom model info model.onnx --dump             one line for each node, in the order in which they run
  drawloom model info model.onnx --dot | dot -Tsvg > model.svg

Exit codes: 0 printed, 1 a batch cannot be cut into pieces, 2 an unusable file, or operators that are not supported.")]
pub(super) struct Info {
    /// The model
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) file: PathBuf,

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

/// What is known about a model.
struct Facts<'a> {
    info: &'a Info,
    model: &'a Model,
    /// Where the rows of outputs are, or why there are none.
    placements: Result<Vec<Placement>, Error>,
    /// Whether lengths that are not known may be the reason for that.
    open: bool,
    /// What a run would use, or why that is not known.
    planned: Result<Planned, String>,
}

/// A run in pieces, planned.
struct Planned {
    plan: PiecePlan,
    /// What one piece of a row takes, and each row more.
    first_row: usize,
    each_row: usize,
    /// What crosses into the loop over pieces: it is kept for all of them.
    crossing: Vec<String>,
}

impl Info {
    /// Prints what was asked for.
    pub(super) fn show(&self, output: &mut Output) -> Result<Exit, String> {
        let model = match drawloom_onnx::read(&self.file) {
            Ok(model) => model,
            Err(error) => {
                let listing = Listing::read(&self.file, &error).ok_or_else(|| error.to_string())?;
                return Ok(self.list(&listing, output));
            }
        };
        self.cutting.check(&model)?;
        if self.dump {
            output.text(model.described());
            return Ok(Exit::Valid);
        }
        if self.dot {
            output.text(model.program().to_dot());
            return Ok(Exit::Valid);
        }
        let batch = self.cutting.random(&model, self.rows);
        let known = batch.is_err().then(|| self.cutting.random_where_known(&model));
        let shapes = batch.as_ref().ok().or(known.as_ref()).map(Batch::named).unwrap_or_default();
        let placements = model.placements(&shapes, &self.cutting.axes_and_carries()?);
        let planned = match (&placements, &batch) {
            (Ok(_), Ok(batch)) => self.planned(&model, batch),
            (Ok(_), Err(why)) => Err(why.clone()),
            (Err(error), _) => Err(error.to_string()),
        };
        let facts = Facts { info: self, model: &model, placements, open: batch.is_err(), planned };
        if self.json {
            output.json(&as_json(&facts));
        } else {
            text(&facts, output);
        }
        Ok(if facts.placements.is_ok() { Exit::Valid } else { Exit::Invalid })
    }

    /// Prints what there is of a file that cannot be imported.
    fn list(&self, listing: &Listing, output: &mut Output) -> Exit {
        if self.json {
            output.json(&listing.json(&self.file));
        } else if self.dump {
            output.text(listing.dump());
        } else if !self.dot {
            output.line(listing.text(&self.file));
        }
        output.flush();
        complain(format_args!("{}: {}", self.file.display(), listing.why()));
        Exit::Unusable
    }

    /// Plans runs with random rows.
    fn planned(&self, model: &Model, batch: &Batch) -> Result<Planned, String> {
        let text = |error: Error| error.to_string();
        let of_rows = |rows: u64| {
            let pieces: Pieces = self.cutting.axes_and_carries()?.piece(rows);
            let batch = self.cutting.random(model, rows)?;
            Ok::<usize, String>(model.plan(&batch.named(), &pieces).map_err(text)?.bytes_in_flight())
        };
        let (one, two) = (of_rows(1)?, of_rows(2)?);
        let pieces = self.cutting.pieces(self.workers.unwrap_or_else(all_workers))?;
        let plan = model.plan(&batch.named(), &pieces).map_err(text)?;
        let crossing = self.crossing(model, batch, &plan)?;
        Ok(Planned { plan, first_row: one, each_row: two.saturating_sub(one), crossing })
    }

    /// What crosses into the loop over pieces, with types and shapes.
    fn crossing(&self, model: &Model, batch: &Batch, plan: &PiecePlan) -> Result<Vec<String>, String> {
        let shapes: Vec<(&str, &[usize])> =
            batch.inputs.iter().map(|(name, rows)| (name.as_str(), rows.shape())).collect();
        // Rows of models that hand states on cannot be followed, and then only inputs have a known shape.
        let facts = model.batch_of(&self.cutting.axes()?, &shapes).ok();
        let program = plan.program();
        let shown = |tensor: &drawloom_tensor::TensorId| {
            let name = program.graph().tensor_name(*tensor);
            let input = batch.inputs.iter().find(|(input, _)| input == name);
            match (input, &facts) {
                (Some((_, rows)), _) => format!("{name}: {}{:?}", rows.element(), rows.shape()),
                (None, Some(facts)) => format!("{name}: {}", facts.fact(*tensor)),
                (None, None) => format!("{name}: ?"),
            }
        };
        Ok(program.crossing().iter().map(shown).collect())
    }
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

fn as_json(facts: &Facts<'_>) -> Value {
    let Facts { info, model, placements, planned, .. } = facts;
    let ports = |ports: &[Port]| ports.iter().map(Port::to_string).collect::<Vec<_>>();
    let mut value = json!({
        "file": info.file.display().to_string(),
        "inputs": ports(model.inputs()),
        "outputs": ports(model.outputs()),
        "operators": operators(model),
        "partitions": facts.partitions(),
        "crossing": facts.crossing(),
    });
    match placements {
        Ok(outputs) => {
            let axes = model.outputs().iter().zip(outputs).filter_map(|(port, placement)| match placement {
                Placement::Rows { axis } => Some((port.name.clone(), *axis)),
                Placement::Fixed => None,
            });
            value["rows"] = json!(axes.collect::<BTreeMap<_, _>>());
        }
        Err(error) => value["refused"] = json!(error.to_string()),
    }
    if let Ok(Planned { plan, first_row, each_row, .. }) = planned {
        value["memory"] = json!({
            "first_row_bytes": first_row,
            "bytes_per_row": each_row,
            "result_bytes": plan.result_bytes(),
            "rows": plan.rows(),
            "pieces": plan.cut().pieces(),
            "piece": plan.cut().most(),
            "in_flight": plan.in_flight(),
            "predicted_peak_bytes": plan.predicted_peak_bytes(),
        });
    }
    value
}

impl Facts<'_> {
    /// How many partitions the program that runs has: with the loop over pieces, where there is one.
    fn partitions(&self) -> usize {
        self.planned.as_ref().map_or(self.model.program(), |planned| planned.plan.program()).depth() + 1
    }

    fn crossing(&self) -> Vec<String> {
        let program = self.model.program();
        let names = || program.crossing().iter().map(|tensor| program.graph().tensor_name(*tensor).to_owned());
        self.planned.as_ref().map_or_else(|_| names().collect(), |planned| planned.crossing.clone())
    }
}

fn text(facts: &Facts<'_>, output: &mut Output) {
    let Facts { info, model, placements, planned, .. } = facts;
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
    let pieces = if planned.is_ok() { ", with the loop over pieces" } else { "" };
    output.line(format_args!("  partitions {}{pieces}", facts.partitions()));
    for tensor in facts.crossing() {
        output.line(format_args!("  kept for all iterations: {tensor}"));
    }
    let carries = info.cutting.carries().unwrap_or_default();
    match placements {
        Ok(outputs) => {
            for (port, placement) in model.outputs().iter().zip(outputs) {
                let carried = carries.iter().find(|(_, output)| *output == port.name);
                match (placement, carried) {
                    (_, Some((input, _))) => {
                        output.line(format_args!("  `{}` is `{input}` of the next piece", port.name));
                    }
                    (Placement::Rows { axis }, _) => {
                        output.line(format_args!("  rows of `{}` are along axis {axis}", port.name));
                    }
                    (Placement::Fixed, _) => {
                        output.line(format_args!("  `{}` is the same for all rows", port.name));
                    }
                }
            }
        }
        Err(error) => {
            output.line(format_args!("  a batch cannot be cut into pieces: {error}"));
            if facts.open {
                output.line("  lengths that are not known may be the reason: --dim gives them, and --axis says which of them count rows");
            }
            return;
        }
    }
    match planned {
        Ok(Planned { plan, first_row, each_row, .. }) => {
            output.line(format_args!(
                "  a piece of one row takes {}, and each row more {}",
                mebibytes(*first_row),
                mebibytes(*each_row)
            ));
            output.line(format_args!(
                "  {} rows: {} pieces of up to {}, {} in flight, {} at most with {} of results",
                plan.rows(),
                plan.cut().pieces(),
                plan.cut().most(),
                plan.in_flight(),
                mebibytes(plan.predicted_peak_bytes()),
                mebibytes(plan.result_bytes())
            ));
        }
        Err(why) => output.line(format_args!("  memory is not known: {why}")),
    }
}
