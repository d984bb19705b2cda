//! `drawloom run`: programs that come with drawloom, one file each.

mod aero;
mod airfoil;
pub mod cholesky;
mod dots;
mod filters;
mod jacobi;
mod mesh_backend;
mod mesh_program;
mod model;
mod reduction;
mod report;

use std::ffi::OsString;
use std::path::Path;

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::output::Output;

/// Run a program that comes with drawloom, or a model in an ONNX file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom run airfoil                              the flow around an airfoil, and a picture of it
  drawloom run aero                                 the potential of that flow, by finite elements
  drawloom run cholesky                             factor a matrix, and check the factor
  drawloom run cholesky --n 4096 --tile 256 --json  one line of JSON
  drawloom run filters --app modfilter --n 1e9      a billion items through three filters
  drawloom run model.onnx --input batch.npy --output out.npy --memory 64MiB

Exit codes: 0 the result is right, 1 it is not, 2 an unusable setting.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    program: Program,
}

#[derive(Debug, Subcommand)]
enum Program {
    Aero(aero::Arguments),
    Airfoil(airfoil::Arguments),
    Cholesky(cholesky::Arguments),
    Dots(dots::Arguments),
    Filters(filters::Arguments),
    Jacobi(jacobi::Arguments),
    Model(model::Arguments),
    Reduction(reduction::Arguments),
}

/// A file may be named where a program is: `run model.onnx` is `run model model.onnx`.
pub(crate) fn with_names(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let run = arguments.iter().skip(1).position(|argument| argument == "run").map(|place| place + 1);
    if let Some(place) = run
        && arguments.get(place + 1).is_some_and(|file| Path::new(file).extension().is_some_and(|e| e == "onnx"))
    {
        arguments.insert(place + 1, "model".into());
    }
    arguments
}

/// Runs a program.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    match &arguments.program {
        Program::Aero(arguments) => aero::run(arguments, output),
        Program::Airfoil(arguments) => airfoil::run(arguments, output),
        Program::Cholesky(arguments) => cholesky::run(arguments, output),
        Program::Dots(arguments) => dots::run(arguments, output),
        Program::Filters(arguments) => filters::run(arguments, output),
        Program::Jacobi(arguments) => jacobi::run(arguments, output),
        Program::Model(arguments) => model::run(arguments, output),
        Program::Reduction(arguments) => reduction::run(arguments, output),
    }
}
