//! `drawloom mesh`: make, look at, order and divide meshes, one file for each.

mod info;
mod naca0012;
mod partition;
mod renumber;

use std::path::Path;

use clap::{Args, Subcommand};
use drawloom_apps::naca;
use drawloom_mesh::Error;
use drawloom_mesh::files::{self, vtu};
use drawloom_mesh::raw::RawMesh;

use crate::exit::Exit;
use crate::output::{Output, complain};

/// Make, look at, order and divide meshes
///
/// A mesh is a file (new_grid.dat, FE_grid.dat, Gmsh .msh, VTK .vtu, OP2's HDF5 where it is built in), or a
/// generated one, written naca0012:400x600 for 3 x 400 x 600 cells, or naca0012-fe:400x600 in its finite-element form.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom mesh naca0012 --i 400 --j 600 -o new_grid.dat   720000 cells around an airfoil
  drawloom mesh info new_grid.dat                          its sets, maps, dats, and how good its order is
  drawloom mesh renumber new_grid.dat --method hilbert -o ordered.dat
  drawloom mesh partition naca0012:50x75 --parts 8 --method graph --json

Exit codes: 0 done, 2 an unusable file or setting.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Naca0012(naca0012::Arguments),
    Info(info::Arguments),
    Renumber(renumber::Arguments),
    Partition(partition::Arguments),
}

/// Does what was asked for.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    let done = match &arguments.action {
        Action::Naca0012(arguments) => naca0012::run(arguments, output),
        Action::Info(arguments) => info::run(arguments, output),
        Action::Renumber(arguments) => renumber::run(arguments, output),
        Action::Partition(arguments) => partition::run(arguments, output),
    };
    match done {
        Ok(()) => Exit::Valid,
        Err(reason) => {
            complain(reason);
            Exit::Unusable
        }
    }
}

/// Why a command did nothing.
pub(crate) type Reason = Box<dyn std::error::Error>;

/// The mesh that an argument means. What is not in it as it is in the file is said.
pub(crate) fn read(argument: &Path) -> Result<RawMesh, Reason> {
    if let Some(generated) = argument.to_str().and_then(naca::by_name) {
        return Ok(generated?);
    }
    let file = files::open(argument)?;
    for note in file.notes {
        complain(format_args!("{}: {note}", argument.display()));
    }
    Ok(file.mesh)
}

/// Writes a mesh, and says what a file of this kind has no place for.
fn write(path: &Path, mesh: &RawMesh) -> Result<(), Reason> {
    files::write(path, mesh)?;
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("vtu"))
        && let Some(without) = without(mesh)?
    {
        complain(format_args!("{} is {without}", path.display()));
    }
    Ok(())
}

/// What a VTK file of a mesh is without, in words, if that is anything.
pub(crate) fn without(mesh: &RawMesh) -> Result<Option<String>, Error> {
    let names: Vec<String> = vtu::left_out(mesh)?.iter().map(|set| format!("`{set}`")).collect();
    Ok((!names.is_empty()).then(|| format!("without {}: VTK has points and cells", names.join(", "))))
}

/// The set that is ordered or divided if nothing is said: the cells, or else the largest one.
fn primary<'a>(mesh: &'a RawMesh, asked: Option<&'a str>) -> Result<&'a str, Reason> {
    if let Some(set) = asked {
        return Ok(&mesh.set(set)?.name);
    }
    let cells = mesh.sets.iter().find(|set| set.name == "cells");
    // Of several that are the largest, the first one.
    let largest = || mesh.sets.iter().rev().max_by_key(|set| set.size);
    Ok(&cells.or_else(largest).ok_or("the mesh has no sets")?.name)
}
