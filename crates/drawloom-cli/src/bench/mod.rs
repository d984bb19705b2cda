//! Measurements: `drawloom bench`.

mod graph;

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::output::Output;

/// What to measure.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom bench graph                              a graph of a million nodes
  drawloom bench graph --nodes 1e5 --repeat 10      a smaller one, ten times

Each line of output is one measurement, as JSON.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(Debug, Subcommand)]
enum Subject {
    Graph(graph::Arguments),
}

/// Measures.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    match &arguments.subject {
        Subject::Graph(arguments) => graph::run(arguments, output),
    }
}
