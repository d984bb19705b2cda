//! Measurements: `drawloom bench`.
//!
//! | file | concept |
//! |---|---|
//! | [`graph`] | checking, ordering, building and reading graphs of several families and sizes |
//! | [`tasks`] | what a task costs |
//! | [`metg`] | how small a task may be |
//! | [`mesh`] | what an iteration over a mesh costs |
//! | [`stream`] | how fast streams are |
//! | [`tensor`] | what a model over a batch costs |
//! | [`meter`] | time, processor time and memory of a piece of work |
//! | [`peers`] | StarPU, OpenMP and OpenBLAS, measured beside ours |
//! | [`trace`] | what recording costs |
//! | [`mod@rayon`] | rayon, measured beside ours |

#[cfg(feature = "tensor-peers")]
mod engines;
mod graph;
mod mesh;
pub(crate) mod meter;
mod metg;
pub(crate) mod peers;
mod rayon;
mod scaling;
mod stream;
mod tasks;
mod tensor;
mod trace;

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::output::Output;

/// What to measure.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom bench graph                              everything, at a million nodes
  drawloom bench graph --nodes 1e5 --only check     a quick look at one thing
  drawloom bench tasks                              what a task costs, here and in other runtimes
  drawloom bench metg --patterns stencil_1d         how small a task may be
  drawloom bench mesh                               what an iteration over a mesh costs
  drawloom bench stream                             how fast streams are
  drawloom bench tensor                             processor time and memory of models over batches
  drawloom bench trace                              what recording a trace costs")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Debug, Subcommand)]
enum Suite {
    Graph(graph::Arguments),
    Tasks(tasks::Arguments),
    Metg(metg::Arguments),
    Mesh(mesh::Arguments),
    Stream(stream::Arguments),
    Tensor(tensor::Arguments),
    Trace(trace::Arguments),
}

/// Measures, and prints one line of JSON for each measurement.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    match &arguments.suite {
        Suite::Graph(arguments) => graph::run(arguments, output),
        Suite::Tasks(arguments) => tasks::run(arguments, output),
        Suite::Metg(arguments) => metg::run(arguments, output),
        Suite::Mesh(arguments) => mesh::run(arguments, output),
        Suite::Stream(arguments) => stream::run(arguments, output),
        Suite::Tensor(arguments) => tensor::run(arguments, output),
        Suite::Trace(arguments) => trace::run(arguments, output),
    }
}
