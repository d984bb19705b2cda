//! `drawloom mesh naca0012`: a mesh around an airfoil.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use drawloom_apps::naca;

use super::{Reason, write};
use crate::number::integer;
use crate::output::Output;

/// Make a mesh of 3 x I x J cells around the airfoil NACA 0012
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom mesh naca0012 --i 400 --j 600 -o new_grid.dat   finite volumes, 720000 cells
  drawloom mesh naca0012 --i 50 --j 75 --fe                finite elements, to FE_grid.dat
  drawloom mesh naca0012 --i 20 --j 30 -o airfoil.vtu      for a viewer

Exit codes: 0 written, 2 an unusable size or file.")]
pub(crate) struct Arguments {
    /// A third of the cells around the airfoil
    #[arg(long, default_value = "200", value_parser = integer, value_name = "I")]
    i: u64,

    /// Cells outwards
    #[arg(long, default_value = "300", value_parser = integer, value_name = "J")]
    j: u64,

    /// Finite elements: nodes, cells and the nodes far away
    #[arg(long)]
    fe: bool,

    /// Where to write: a name ending in .dat or .vtu; without it, new_grid.dat or FE_grid.dat
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
}

/// Makes a mesh.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Reason> {
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let (i, j) = (size(arguments.i), size(arguments.j));
    let mesh = if arguments.fe { naca::naca0012_fe(i, j)? } else { naca::naca0012(i, j)? };
    let usual = if arguments.fe { "FE_grid.dat" } else { "new_grid.dat" };
    let path = arguments.output.clone().unwrap_or_else(|| PathBuf::from(usual));
    write(&path, &mesh)?;
    let sets: Vec<String> = mesh.sets.iter().map(|set| format!("{} {}", set.size, set.name)).collect();
    output.line(format_args!("{}: {}", path.display(), sets.join(", ")));
    Ok(())
}
