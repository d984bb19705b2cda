//! Measurements: `drawloom bench`.
//!
//! | file | concept |
//! |---|---|
//! | [`graph`] | checking, ordering, building and reading graphs of several families and sizes |
//! | [`meter`] | time, processor time and memory of a piece of work |
//! | [`peers`] | StarPU, OpenMP and OpenBLAS, measured beside ours |
//! | [`mod@rayon`] | rayon, measured beside ours |

mod graph;
mod meter;
mod peers;
mod rayon;

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::output::Output;

/// What to measure.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom bench graph                              everything, at a million nodes
  drawloom bench graph --nodes 1e5 --only check     a quick look at one thing")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Debug, Subcommand)]
enum Suite {
    Graph(graph::Arguments),
    #[command(hide = true)]
    Peers(peers::Arguments),
}

/// Measures, and prints one line of JSON for each measurement.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    match &arguments.suite {
        Suite::Graph(arguments) => graph::run(arguments, output),
        Suite::Peers(arguments) => peers::run(arguments, output),
    }
}
