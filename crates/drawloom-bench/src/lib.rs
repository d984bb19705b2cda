//! Measurements of drawloom and of the peers it is compared with: the program `drawloom-bench`.
//!
//! | module | what is in it |
//! |---|---|
//! | `graph` | checking, ordering, building and reading graphs of several families and sizes |
//! | `tasks`, `scaling` | what a task costs, and how much faster several workers are |
//! | `metg` | how small a task may be |
//! | `cholesky` | a tiled factorisation beside StarPU and OpenBLAS |
//! | `mesh` | what an iteration over a mesh costs |
//! | `stream` | how fast streams are |
//! | `tensor` | what a model over a batch costs |
//! | `trace` | what recording a trace costs |
//! | `onnx_test` | the tests of operators of the ONNX project |
//! | `peers`, `rayon`, `engines` | other runtimes and libraries, measured beside ours |
//! | [`micro`] | the smallest tasks in six shapes: what a task costs |
//! | [`taskbench`] | Task Bench: graphs of known shape with a kernel of any size, and what they say about a runtime |

#![forbid(unsafe_code)]

mod cholesky;
#[cfg(feature = "tensor-peers")]
mod engines;
mod graph;
mod mesh;
mod metg;
pub mod micro;
mod onnx_test;
mod peers;
mod rayon;
mod scaling;
mod stream;
pub mod taskbench;
mod tasks;
mod tensor;
mod trace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use drawloom_cli::exit::Exit;
use drawloom_cli::output::{Color, Output, complain};

/// Measure drawloom, and the runtimes it is compared with, as lines of JSON.
#[derive(Debug, Parser)]
#[command(
    name = "drawloom-bench",
    version,
    propagate_version = true,
    after_help = "\
Examples:
  drawloom-bench graph                              everything, at a million nodes
  drawloom-bench graph --nodes 1e5 --only check     a quick look at one thing
  drawloom-bench tasks                              what a task costs, here and in other runtimes
  drawloom-bench metg --patterns stencil_1d         how small a task may be
  drawloom-bench cholesky --n 4096 --tile 256       a factorisation, beside StarPU and OpenBLAS
  drawloom-bench mesh                               what an iteration over a mesh costs
  drawloom-bench stream                             how fast streams are
  drawloom-bench tensor                             processor time and memory of models over batches
  drawloom-bench trace                              what recording a trace costs"
)]
struct Arguments {
    /// When to colour the output; NO_COLOR and CLICOLOR_FORCE are respected
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    color: Color,

    #[command(subcommand)]
    suite: Suite,
}

#[derive(Debug, Subcommand)]
enum Suite {
    Graph(graph::Arguments),
    Tasks(tasks::Arguments),
    Metg(metg::Arguments),
    Cholesky(cholesky::Arguments),
    Mesh(mesh::Arguments),
    Stream(stream::Arguments),
    Tensor(tensor::Arguments),
    Trace(trace::Arguments),
    OnnxTest(onnx_test::Arguments),
}

/// Runs the program: prints one line of JSON for each measurement.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut output = Output::new(arguments.color);
    let exit = run(&arguments.suite, &mut output);
    let exit = match output.finish() {
        Ok(()) => exit,
        Err(error) => {
            complain(format_args!("cannot write to standard output: {error}"));
            exit.and(Exit::Unusable)
        }
    };
    exit.into()
}

fn run(suite: &Suite, output: &mut Output) -> Exit {
    match suite {
        Suite::Graph(arguments) => graph::run(arguments, output),
        Suite::Tasks(arguments) => tasks::run(arguments, output),
        Suite::Metg(arguments) => metg::run(arguments, output),
        Suite::Cholesky(arguments) => cholesky::run(arguments, output),
        Suite::Mesh(arguments) => mesh::run(arguments, output),
        Suite::Stream(arguments) => stream::run(arguments, output),
        Suite::Tensor(arguments) => tensor::run(arguments, output),
        Suite::Trace(arguments) => trace::run(arguments, output),
        Suite::OnnxTest(arguments) => onnx_test::run(arguments, output),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Arguments::command().debug_assert();
    }
}
