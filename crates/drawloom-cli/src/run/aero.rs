//! `drawloom run aero`: the potential of a flow, by finite elements.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use drawloom_apps::aero::{Aero, Outer};
use drawloom_apps::naca;
use drawloom_mesh::raw::{RawMesh, Values};

use super::mesh_program::{Common, Failure, Ready, ended, iterations, mesh, unusable, wrong};
use super::report;
use crate::exit::Exit;
use crate::output::Output;
use crate::progress;

/// So many lines of the table are shown at least before some are left out.
const FEW: u64 = 100;

/// Compute the potential of a flow around an airfoil: Newton's method, with conjugate gradients inside of it
///
/// Finite elements in two dimensions. An iteration is one of Newton's; its conjugate gradients take as many steps as it
/// takes to make their residual ten times smaller, 200 at most. The residual is by how much the potential changed, as a
/// mean over the nodes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom run aero                                        11,250 cells, 20 iterations, on every core
  drawloom run aero --mesh FE_grid.dat --backend serial --out potential.vtu
  drawloom run aero --mesh naca0012:3x5 --backend event --executor random --seed 7 --json

Exit codes: 0 done, 1 the computation failed, 2 an unusable setting or mesh.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
    /// How many iterations of Newton's method
    #[arg(long, default_value = "20", value_parser = iterations, value_name = "N")]
    iterations: u64,
    /// The mesh: a file such as FE_grid.dat, or a generated one such as naca0012:50x75, which has 3 x 50 x 75 cells
    #[arg(long, default_value = "naca0012:50x75", value_name = "MESH", value_hint = ValueHint::FilePath)]
    mesh: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    ended("aero", compute(arguments, output))
}

fn compute(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let Arguments { common, iterations, .. } = arguments;
    common.check(&arguments.mesh, None)?;
    let mut raw = mesh(&arguments.mesh, by_name)?;
    let bar = progress::bar("aero", *iterations);
    let watched = bar.clone();
    let app = Aero::new(&raw, *iterations, move |iteration, Outer { inner, residual }| {
        watched.set_position(iteration);
        watched.set_message(format!("{inner} steps, residual {residual:.3e}"));
    })
    .map_err(unusable)?;
    let ready = Ready {
        name: "aero",
        program: &app.program,
        cells: app.cells,
        iterations: *iterations,
        history: &app.iterations,
        residual: &|outer| outer.residual,
        bar: &bar,
    };
    let (run, mut line) = ready.run(common)?;
    let all = report::all(&app.iterations);
    if !common.json {
        line.title("cells", output);
        table(&all, output);
        line.times(&run.stats(), output);
    }
    line.results.insert("steps", all.iter().map(|outer| outer.inner).sum::<i64>().into());
    let with_potential = || -> Result<RawMesh, Failure> {
        let potential = run.dat(app.phim).map_err(wrong)?.into_flattened();
        raw.add_dat("potential", "nodes", 1, Values::F64(potential));
        Ok(raw)
    };
    let written = common.write(with_potential, output);
    common.say_trace(&line, output);
    common.conclude(line, [written], output)
}

/// A generated mesh is always one of finite elements, whichever of its two names is used.
fn by_name(name: &str) -> Option<Result<RawMesh, String>> {
    let name = match name.strip_prefix("naca0012:") {
        Some(size) => format!("naca0012-fe:{size}"),
        None => name.to_owned(),
    };
    naca::by_name(&name)
}

fn table(all: &[Outer], output: &mut Output) {
    output.line("  iteration   steps   residual");
    let last = all.len() as u64;
    for (iteration, Outer { inner, residual }) in (1..).zip(all) {
        if last <= FEW || iteration % FEW == 0 || iteration == last {
            output.line(format_args!("  {iteration:9}   {inner:5}   {residual:.6e}"));
        }
    }
}
