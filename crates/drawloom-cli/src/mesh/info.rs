//! `drawloom mesh info`: what is in a mesh.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use drawloom_mesh::raw::{RawMesh, Values};
use drawloom_mesh::renumber::{MapQuality, quality};
use serde_json::{Value, json};

use super::{Reason, read};
use crate::output::Output;

/// Show what is in a mesh: sets, maps and how near their targets are to each other, dats and their ranges
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom mesh info new_grid.dat                   sizes, quality of the order, ranges of values
  drawloom mesh info naca0012:6x9 --json            one line of JSON

Bandwidth is the greatest difference between two targets of one element, distance the mean one, reuse how many times
a target is used in 256 consecutive elements.

Exit codes: 0 printed, 2 an unusable file.")]
pub(crate) struct Arguments {
    /// The mesh
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// Shows a mesh.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Reason> {
    let mesh = read(&arguments.file)?;
    let maps = quality(&mesh);
    if arguments.json {
        output.json(&as_json(&arguments.file.display().to_string(), &mesh, &maps));
    } else {
        output.line(arguments.file.display());
        text(&mesh, &maps, output);
    }
    Ok(())
}

fn as_json(file: &str, mesh: &RawMesh, quality: &[MapQuality]) -> Value {
    let sets: Vec<Value> = mesh.sets.iter().map(|set| json!({"name": set.name, "size": set.size})).collect();
    let maps = mesh.maps.iter().zip(quality).map(|(map, quality)| {
        json!({
            "name": map.name, "from": map.from, "to": map.to, "arity": map.arity,
            "bandwidth": quality.bandwidth, "mean_distance": quality.mean_distance, "reuse": quality.reuse,
        })
    });
    let dats = mesh.dats.iter().map(|dat| {
        let [lowest, highest] = range(&dat.values);
        json!({
            "name": dat.name, "set": dat.set, "dim": dat.dim, "type": dat.values.type_name(),
            "lowest": lowest, "highest": highest,
        })
    });
    let constants = mesh.constants.iter().map(
        |constant| json!({"name": constant.name, "dim": constant.values.len(), "type": constant.values.type_name()}),
    );
    json!({
        "file": file, "sets": sets, "maps": maps.collect::<Vec<_>>(), "dats": dats.collect::<Vec<_>>(),
        "constants": constants.collect::<Vec<_>>(),
    })
}

fn text(mesh: &RawMesh, quality: &[MapQuality], output: &mut Output) {
    let names = (mesh.sets.iter().map(|set| &set.name))
        .chain(mesh.maps.iter().map(|map| &map.name))
        .chain(mesh.dats.iter().map(|dat| &dat.name))
        .chain(mesh.constants.iter().map(|constant| &constant.name));
    // Names have a column that is wide enough for all of them.
    let wide = names.map(|name| name.chars().count() + 2).max().unwrap_or(0).max(16);
    output.line("sets");
    for set in &mesh.sets {
        output.line(format_args!("  {:<wide$}{:>12}", set.name, set.size));
    }
    if !mesh.maps.is_empty() {
        output.line(format_args!("{:<1$}{2:>48}{3:>12}{4:>8}", "maps", wide, "bandwidth", "distance", "reuse"));
    }
    for (map, quality) in mesh.maps.iter().zip(quality) {
        let leads = format!("{} to {} {}", map.from, map.arity, map.to);
        let (bandwidth, distance, reuse) = (quality.bandwidth, quality.mean_distance, quality.reuse);
        output.line(format_args!("  {:<wide$}{leads:<34}{bandwidth:>12}{distance:>12.1}{reuse:>8.2}", map.name));
    }
    if !mesh.dats.is_empty() {
        output.line(format_args!("{:<1$}{2:>51}{3:>21}", "dats", wide, "lowest", "highest"));
    }
    for dat in &mesh.dats {
        let holds = format!("{} {} on {}", dat.dim, dat.values.type_name(), dat.set);
        let [lowest, highest] =
            range(&dat.values).map(|value| value.map_or("-".to_owned(), |value| format!("{value}")));
        output.line(format_args!("  {:<wide$}{holds:<28} {lowest:>20} {highest:>20}", dat.name));
    }
    if !mesh.constants.is_empty() {
        output.line("constants");
    }
    for constant in &mesh.constants {
        output.line(format_args!(
            "  {:<wide$}{} {}",
            constant.name,
            constant.values.len(),
            constant.values.type_name()
        ));
    }
}

/// The least and the greatest value; none if there are no values, or one that is not a number.
fn range(values: &Values) -> [Option<f64>; 2] {
    let numbers = values.numbers();
    let known = |value: f64| (!numbers.is_empty() && !numbers.iter().any(|number| number.is_nan())).then_some(value);
    let lowest = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    [known(lowest), known(highest)]
}
