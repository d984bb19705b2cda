//! `drawloom mesh info`: what is in a mesh.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use drawloom_apps::naca;
use drawloom_mesh::files;
use drawloom_mesh::raw::{RawMesh, RawSet, Values};
use drawloom_mesh::renumber::{MapQuality, quality};
use serde_json::{Value, json};

use super::Reason;
use crate::output::Output;

/// Show what is in a mesh: its format, nodes and cells, groups, maps and how near their targets are to each other, data
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom mesh info new_grid.dat                   sizes, quality of the order, ranges of values
  drawloom mesh info wing.msh                       the groups of its boundary too
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
    let name = arguments.file.display().to_string();
    let (mesh, form, notes) = match arguments.file.to_str().and_then(naca::by_name) {
        Some(generated) => (generated?, None, Vec::new()),
        None => {
            let file = files::open(&arguments.file)?;
            (file.mesh, Some(file.form), file.notes)
        }
    };
    let maps = quality(&mesh);
    if arguments.json {
        let mut json = as_json(&name, &mesh, &maps);
        json["format"] = form.map_or(Value::Null, |form| {
            json!({
                "name": form.format, "version": form.version, "encoding": form.encoding, "compression": form.compression,
            })
        });
        json["notes"] = notes.into();
        output.json(&json);
        return Ok(());
    }
    output.line(&name);
    output.line(format_args!("format            {}", form.map_or("generated".to_owned(), |form| form.to_string())));
    for note in notes {
        output.line(format_args!("note              {note}"));
    }
    text(&mesh, &maps, output);
    Ok(())
}

/// What the elements of a set are: the shape that a map to the nodes gives them.
fn shape(mesh: &RawMesh, set: &str) -> Option<&'static str> {
    let nodes = &mesh.sets.iter().find(|set| mesh.coordinates(&set.name).is_some())?.name;
    mesh.maps.iter().find(|map| map.from == set && map.to == *nodes).map(|map| map.shape().plural())
}

fn as_json(file: &str, mesh: &RawMesh, quality: &[MapQuality]) -> Value {
    let set = |set: &RawSet| match shape(mesh, &set.name) {
        Some(shape) => json!({"name": set.name, "size": set.size, "shape": shape}),
        None => json!({"name": set.name, "size": set.size}),
    };
    let sets: Vec<Value> = mesh.sets.iter().map(set).collect();
    let groups = mesh.groups().into_iter().map(
        |group| json!({"name": group.name, "number": group.number, "set": group.set, "elements": group.elements.len()}),
    );
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
        "file": file, "sets": sets, "groups": groups.collect::<Vec<_>>(), "maps": maps.collect::<Vec<_>>(), "dats": dats.collect::<Vec<_>>(),
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
        // Where the name says it already, nothing is added.
        let shape =
            shape(mesh, &set.name).filter(|shape| *shape != set.name).map_or(String::new(), |s| format!("  {s}"));
        output.line(format_args!("  {:<wide$}{:>12}{shape}", set.name, set.size));
    }
    let groups = mesh.groups();
    if !groups.is_empty() {
        output.line(format_args!("{:<1$}{2:>14}{3:>14}", "groups", wide, "number", "elements"));
    }
    for group in groups {
        let (name, count) = (group.name.as_deref().unwrap_or("(no name)"), group.elements.len());
        output.line(format_args!("  {name:<wide$}{:>12}{count:>14}  {}", group.number, group.set));
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
