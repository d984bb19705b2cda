//! `drawloom run`: programs that come with drawloom, one file each.

mod airfoil;
mod bar;
mod cholesky;
mod filters;
mod mesh_backend;

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::output::Output;

/// Run a program that comes with drawloom
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom run airfoil                              the flow around an airfoil, and a picture of it
  drawloom run cholesky                             factor a matrix, and check the factor
  drawloom run cholesky --n 4096 --tile 256 --json  one line of JSON
  drawloom run filters --app modfilter --n 1e9      a billion items through three filters

Exit codes: 0 the result is right, 1 it is not, 2 an unusable setting.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    program: Program,
}

#[derive(Debug, Subcommand)]
enum Program {
    Airfoil(airfoil::Arguments),
    Cholesky(cholesky::Arguments),
    Filters(filters::Arguments),
}

/// Runs a program.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    match &arguments.program {
        Program::Airfoil(arguments) => airfoil::run(arguments, output),
        Program::Cholesky(arguments) => cholesky::run(arguments, output),
        Program::Filters(arguments) => filters::run(arguments, output),
    }
}
