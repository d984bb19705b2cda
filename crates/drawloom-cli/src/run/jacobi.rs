//! `drawloom run jacobi`: Jacobi's method on a grid.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use drawloom_apps::jacobi::{self, Jacobi, Sweep};
use drawloom_mesh::raw::{RawMesh, Values};

use super::mesh_program::{Common, Failure, Ready, ended, iterations, mesh, unusable, wrong};
use super::report;
use crate::exit::Exit;
use crate::output::Output;
use crate::progress;

/// Solve Laplace's equation on a grid by Jacobi's method: every node becomes the mean of its neighbours
///
/// The values start at 0 and go towards 1, which is what they are all around. `cells` is the number of nodes, and the
/// residual of an iteration is the root of the mean of the squares of the values.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom run jacobi                                      the 5 x 5 nodes and 2 iterations of the published example
  drawloom run jacobi --mesh grid:500 --iterations 1000 --out values.vtu
  drawloom run jacobi --variant mixed --backend event --executor lifo --json

Exit codes: 0 done, 1 the computation failed, 2 an unusable setting or mesh.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
    /// How many iterations
    #[arg(long, default_value = "2", value_parser = iterations, value_name = "N")]
    iterations: u64,
    /// The mesh: a grid such as grid:5, which has 5 x 5 nodes, or any mesh with edges, from a file or generated
    #[arg(long, default_value = "grid:5", value_name = "MESH", value_hint = ValueHint::FilePath)]
    mesh: PathBuf,
    /// Which numbers to compute with
    #[arg(long, value_enum, default_value_t, value_name = "VARIANT")]
    variant: Variant,
}

/// Which numbers to compute with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Variant {
    /// Double precision
    #[default]
    Double,
    /// Double precision for the matrix and single for the values, with components that are not used
    Mixed,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    ended("jacobi", compute(arguments, output))
}

fn compute(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let Arguments { common, iterations, .. } = arguments;
    common.check(&arguments.mesh, None)?;
    let mut raw = mesh(&arguments.mesh, jacobi::by_name)?;
    let variant = match arguments.variant {
        Variant::Double => jacobi::Variant::Double,
        Variant::Mixed => jacobi::Variant::Mixed,
    };
    let bar = progress::bar("jacobi", *iterations);
    let watched = bar.clone();
    let app = Jacobi::new(&raw, variant, *iterations, move |iteration, Sweep { max, rms }| {
        watched.set_position(iteration);
        watched.set_message(format!("largest {max:.3}, mean square {rms:.3}"));
    })
    .map_err(unusable)?;
    let ready = Ready {
        name: "jacobi",
        program: &app.program,
        cells: app.nodes,
        iterations: *iterations,
        history: &app.sweeps,
        residual: &|sweep| sweep.rms,
        bar: &bar,
    };
    let (run, mut line) = ready.run(common)?;
    let last = report::all(&app.sweeps).last().copied();
    if let Some(last) = last {
        line.results.insert("max", last.max.into());
    }
    if !common.json {
        line.title("nodes", output);
        line.table(output);
        if let Some(last) = last {
            output.line(format_args!("  the largest value is {:.6}", last.max));
        }
        line.times(&run.stats(), output);
    }
    let with_values = || -> Result<RawMesh, Failure> {
        raw.add_dat("value", "nodes", 1, Values::F64(app.values(&run).map_err(wrong)?));
        Ok(raw)
    };
    let written = common.write(with_values, output);
    common.say_trace(&line, output);
    common.conclude(line, [written], output)
}
