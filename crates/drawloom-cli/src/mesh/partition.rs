//! `drawloom mesh partition`: a mesh in parts.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use drawloom_mesh::partition::{self, Partition, Quality, SetQuality};
use drawloom_mesh::raw::{RawMesh, Values};
use serde_json::{Value, json};

use super::{Reason, primary, read, write};
use crate::number::integer;
use crate::output::Output;

/// Divide a mesh into parts, and say how equal they are and how much they have in common
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom mesh partition new_grid.dat --parts 8                       by the graph of neighbours
  drawloom mesh partition new_grid.dat --parts 8 --method coordinates  by recursive coordinate bisection
  drawloom mesh partition naca0012:50x75 --parts 4 -o parts.vtu        with the owner of each element, for a viewer

The halo of a part are the elements of others that its own lead to.

Exit codes: 0 divided, 2 an unusable file or setting.")]
pub(crate) struct Arguments {
    /// The mesh
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// How many parts
    #[arg(long, value_parser = integer, value_name = "N")]
    parts: u64,

    /// How to divide
    #[arg(long, value_enum, default_value_t, value_name = "METHOD")]
    method: Method,

    /// The set to divide, which the others follow; by default the cells
    #[arg(long, value_name = "SET")]
    set: Option<String>,

    /// Where to write the mesh with a dat owner_SET for each set: a name ending in .vtu
    #[arg(long, short, value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// How to divide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Method {
    /// Consecutive elements
    Blocks,
    /// Recursive coordinate bisection
    Coordinates,
    /// Recursive bisection of the graph of neighbours
    #[default]
    Graph,
    /// METIS, where it is built in
    Metis,
}

impl Method {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn method(self) -> Result<partition::Method, Reason> {
        Ok(match self {
            Method::Blocks => partition::Method::Blocks,
            Method::Coordinates => partition::Method::Coordinates,
            Method::Graph => partition::Method::Graph,
            #[cfg(feature = "metis")]
            Method::Metis => partition::Method::Metis,
            #[cfg(not(feature = "metis"))]
            Method::Metis => return Err("this program is built without METIS; build it with --features metis".into()),
        })
    }
}

/// Divides a mesh.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Reason> {
    let method = arguments.method.method()?;
    let mesh = read(&arguments.file)?;
    let set = primary(&mesh, arguments.set.as_deref())?;
    let parts = usize::try_from(arguments.parts).unwrap_or(usize::MAX);
    let partition = partition::partition(&mesh, set, parts, method)?;
    let quality = partition.quality(&mesh)?;
    if let Some(path) = &arguments.output {
        write(path, &with_owners(&mesh, &partition))?;
    }
    let file = arguments.file.display().to_string();
    let name = arguments.method.name();
    if arguments.json {
        let sets: Vec<Value> = quality.sets.iter().map(as_json).collect();
        output.json(&json!({
            "file": file, "set": set, "method": name, "parts": quality.parts,
            "cut_edges": quality.cut_edges, "edges": quality.edges, "sets": sets,
        }));
    } else {
        output.line(format_args!("{file}: {set} in {} parts by {name}", quality.parts));
        text(&quality, output);
    }
    Ok(())
}

fn as_json(set: &SetQuality) -> Value {
    json!({"set": set.set, "imbalance": set.imbalance, "owned": set.owned, "halo": set.halo})
}

fn text(quality: &Quality, output: &mut Output) {
    let share = if quality.edges == 0 { 0.0 } else { 100.0 * quality.cut_edges as f64 / quality.edges as f64 };
    output.line(format_args!("  {} of {} edges are cut, {share:.2} percent", quality.cut_edges, quality.edges));
    output.line(format_args!(
        "  {:<14}{:>10}{:>24}{:>24}",
        "", "imbalance", "owned, least and most", "halo, mean and most"
    ));
    for set in &quality.sets {
        let most = |counts: &[usize]| counts.iter().max().copied().unwrap_or(0);
        let least = set.owned.iter().min().copied().unwrap_or(0);
        let mean = set.halo.iter().sum::<usize>() as f64 / set.halo.len().max(1) as f64;
        output.line(format_args!(
            "  {:<14}{:>10.4}{:>12}{:>12}{:>12.1}{:>12}",
            set.set,
            set.imbalance,
            least,
            most(&set.owned),
            mean,
            most(&set.halo)
        ));
    }
}

/// The mesh, with the owner of each element as a dat.
fn with_owners(mesh: &RawMesh, partition: &Partition) -> RawMesh {
    let mut mesh = mesh.clone();
    for (set, owners) in partition.sets() {
        mesh.add_dat(&format!("owner_{set}"), set, 1, Values::U32(owners.to_vec()));
    }
    mesh
}
