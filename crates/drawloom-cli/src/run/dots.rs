//! `drawloom run dots`: sums and scalar products whose results are known.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use drawloom_apps::dots::{self, Dots, Sums};
use drawloom_mesh::raw::{RawMesh, Values};

use super::mesh_program::{Common, Failure, Ready, ended, iterations, mesh, unusable, wrong};
use super::report;
use crate::exit::Exit;
use crate::output::Output;
use crate::progress;

/// Add the first numbers and their squares: directly, through maps, and the even and odd ones apart
///
/// `cells` is how many numbers there are, and the residual of an iteration by how much its results differ from the known
/// ones, relative to those: 0, or what rounding does to large sums.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom run dots                                        the 8 numbers of the published example
  drawloom run dots --mesh line:1000000 --iterations 100 --json

Exit codes: 0 the results are right, 1 they are not, 2 an unusable setting or mesh.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
    /// How many iterations
    #[arg(long, default_value = "2", value_parser = iterations, value_name = "N")]
    iterations: u64,
    /// The mesh: a line such as line:8, which has 8 elements
    #[arg(long, default_value = "line:8", value_name = "MESH", value_hint = ValueHint::FilePath)]
    mesh: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    ended("dots", compute(arguments, output))
}

fn compute(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let Arguments { common, iterations, .. } = arguments;
    common.check(&arguments.mesh, None)?;
    let mut raw = mesh(&arguments.mesh, dots::by_name)?;
    let bar = progress::bar("dots", *iterations);
    let watched = bar.clone();
    let app = Dots::new(&raw, *iterations, move |iteration, sums| {
        watched.set_position(iteration);
        watched.set_message(format!("the sum of squares is {}", sums.squares));
    })
    .map_err(unusable)?;
    let known = Sums::known(app.elements);
    let ready = Ready {
        name: "dots",
        program: &app.program,
        cells: app.elements,
        iterations: *iterations,
        history: &app.sums,
        residual: &|sums| sums.distance(&known),
        bar: &bar,
    };
    let (run, mut line) = ready.run(common)?;
    let all = report::all(&app.sums);
    if let Some(Sums { indices, squares, even, odd }) = all.last().copied() {
        line.results.extend([("indices", indices.into()), ("squares", squares.into())]);
        line.results.extend([("even", even.into()), ("odd", odd.into())]);
    }
    if !common.json {
        line.title("numbers", output);
        line.table(output);
        if let Some(Sums { indices, squares, even, odd }) = all.last() {
            output.line(format_args!("  sum {indices}, of squares {squares}, of even ones {even}, of odd ones {odd}"));
        }
        line.times(&run.stats(), output);
    }
    let with_products = || -> Result<RawMesh, Failure> {
        raw.add_dat("product", "pairs", 1, Values::F64(run.dat(app.product).map_err(wrong)?.into_flattened()));
        Ok(raw)
    };
    let written = common.write(with_products, output);
    common.say_trace(&line, output);
    common.conclude(line, [written], output)?;
    // Adding one after the other, each sum is rounded once more.
    let bound = app.elements as f64 * f64::EPSILON;
    match (1..).zip(&all).find(|(_, sums)| sums.distance(&known) > bound) {
        None => Ok(()),
        Some((iteration, sums)) => {
            Err(Failure::Wrong(format!("iteration {iteration} came to {sums:?} instead of {known:?}")))
        }
    }
}
