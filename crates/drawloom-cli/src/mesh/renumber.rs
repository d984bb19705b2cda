//! `drawloom mesh renumber`: the same mesh in a better order.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use drawloom_mesh::renumber::{self, MapQuality, quality};
use serde_json::{Value, json};

use super::{Reason, primary, read, write};
use crate::output::Output;

/// Order a mesh so that neighbours are near each other in memory, and say what that gains
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom mesh renumber new_grid.dat -o ordered.dat          along the Hilbert curve
  drawloom mesh renumber new_grid.dat --method rcm            only the figures, before and after
  drawloom mesh renumber naca0012:50x75 --set nodes --json    one line of JSON

Exit codes: 0 ordered, 2 an unusable file or setting.")]
pub(crate) struct Arguments {
    /// The mesh
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// How to order
    #[arg(long, value_enum, default_value_t, value_name = "METHOD")]
    method: Method,

    /// The set to order, which the others follow; by default the cells
    #[arg(long, value_name = "SET")]
    set: Option<String>,

    /// Where to write the ordered mesh: a name ending in .dat or .vtu
    #[arg(long, short, value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// How to order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Method {
    /// Along the Hilbert curve through the coordinates
    #[default]
    Hilbert,
    /// Reverse Cuthill-McKee: breadth first through the graph of neighbours
    Rcm,
}

/// Orders a mesh.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Reason> {
    let mesh = read(&arguments.file)?;
    let set = primary(&mesh, arguments.set.as_deref())?;
    let (method, name) = match arguments.method {
        Method::Hilbert => (renumber::Method::Hilbert, "hilbert"),
        Method::Rcm => (renumber::Method::ReverseCuthillMckee, "rcm"),
    };
    let ordered = renumber::renumber(&mesh, set, method)?.apply(&mesh)?;
    if let Some(path) = &arguments.output {
        write(path, &ordered)?;
    }
    let (before, after) = (quality(&mesh), quality(&ordered));
    if arguments.json {
        let maps = before.iter().zip(&after);
        let maps: Vec<Value> = maps
            .map(|(before, after)| json!({"map": before.map, "before": as_json(before), "after": as_json(after)}))
            .collect();
        let file = arguments.file.display().to_string();
        output.json(&json!({"file": file, "set": set, "method": name, "maps": maps}));
        return Ok(());
    }
    output.line(format_args!("{}: {set} by {name}, before and after", arguments.file.display()));
    output.line(format_args!("{:<18}{:>24}{:>24}{:>16}", "", "bandwidth", "distance", "reuse"));
    for (before, after) in before.iter().zip(&after) {
        output.line(format_args!(
            "  {:<16}{:>12}{:>12}{:>12.1}{:>12.1}{:>8.2}{:>8.2}",
            before.map,
            before.bandwidth,
            after.bandwidth,
            before.mean_distance,
            after.mean_distance,
            before.reuse,
            after.reuse
        ));
    }
    Ok(())
}

fn as_json(quality: &MapQuality) -> Value {
    json!({"bandwidth": quality.bandwidth, "mean_distance": quality.mean_distance, "reuse": quality.reuse})
}
