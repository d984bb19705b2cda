//! `drawloom run airfoil`: the flow around an airfoil, on an unstructured mesh.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use drawloom_apps::airfoil::Airfoil;
use drawloom_mesh::files;
use drawloom_mesh::raw::{RawMesh, Values};

use super::mesh_program::{Common, Failure, Ready, ended, iterations, mesh, unusable, wrong};
use crate::exit::Exit;
use crate::output::Output;
use crate::plot::Plot;
use crate::progress;
use crate::written;

/// Compute the flow of air around an airfoil: loops over the cells and edges of an unstructured mesh
///
/// The Euler equations in two dimensions, by finite volumes with a time step of its own in every cell, until the flow is
/// steady. The residual says how far it still is from that. The time is that of the iterations: making the mesh, cutting
/// loops into tasks and writing files are not part of it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom run airfoil                                     45,000 cells, 1000 iterations, on every core, and a picture
  drawloom run airfoil --mesh naca0012:400x600 --json      720,000 cells; one line of JSON
  drawloom run airfoil --mesh new_grid.dat --backend serial --iterations 100 --out flow.vtu
  drawloom run airfoil --checkpoint state --checkpoint-every 200
  drawloom run airfoil --restart state --workers 1         goes on where that was when it was stopped

Exit codes: 0 done, 1 the computation failed, 2 an unusable setting or mesh.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
    /// How many iterations
    #[arg(long, default_value = "1000", value_parser = iterations, value_name = "N")]
    iterations: u64,
    /// The mesh: a file, or a generated one such as naca0012:100x150, which has 3 x 100 x 150 cells
    #[arg(long, default_value = "naca0012:100x150", value_name = "MESH", value_hint = ValueHint::FilePath)]
    mesh: PathBuf,
    /// Where to draw the pressure near the airfoil, as .png or .svg; by default airfoil.png, and nowhere with --json
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    picture: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    ended("airfoil", compute(arguments, output))
}

fn compute(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let Arguments { common, iterations, .. } = arguments;
    let drawn = arguments.picture.clone().or_else(|| (!common.json).then(|| PathBuf::from("airfoil.png")));
    let format = drawn.as_deref().map(|path| written::ending("the picture", path, &["png", "svg"]));
    let format = format.transpose().map_err(Failure::Unusable)?;
    common.check(&arguments.mesh, drawn.as_deref())?;
    let raw = mesh(&arguments.mesh, |_| None)?;
    let bar = progress::bar("airfoil", *iterations);
    let watched = bar.clone();
    let app = Airfoil::new(&raw, *iterations, move |iteration, residual| {
        watched.set_position(iteration);
        watched.set_message(format!("residual {residual:.3e}"));
    })
    .map_err(unusable)?;
    let ready = Ready {
        name: "airfoil",
        program: &app.program,
        cells: app.cells,
        iterations: *iterations,
        history: &app.residuals,
        residual: &|residual| *residual,
        bar: &bar,
    };
    let (run, line) = ready.run(common)?;
    if !common.json {
        line.title("cells", output);
        line.table(output);
        line.times(&run.stats(), output);
    }
    let flow = match common.out.is_some() || drawn.is_some() {
        true => with_flow(raw, &run.dat(app.q).map_err(wrong)?),
        false => raw,
    };
    let pictured = match &drawn {
        Some(path) => draw(&flow, format == Some("svg"), path).map(|()| {
            common.say(output, format_args!("a picture of the pressure is in {}", path.display()));
        }),
        None => Ok(()),
    };
    let written = common.write(|| Ok(flow), output);
    common.say_trace(&line, output);
    common.conclude(line, [pictured, written], output)
}

/// Draws the pressure near the airfoil.
fn draw(flow: &RawMesh, as_svg: bool, path: &Path) -> Result<(), Failure> {
    let plot = Plot::new(flow).field("pressure").window([-0.6, -0.8, 1.6, 0.8]);
    let picture = if as_svg { plot.svg().map(String::into_bytes) } else { plot.png() }.map_err(wrong)?;
    files::write_bytes(path, &picture).map_err(unusable)
}

/// The mesh with the state, the pressure and the Mach number of each cell.
fn with_flow(mut raw: RawMesh, q: &[[f64; 4]]) -> RawMesh {
    let gam = f64::from(1.4_f32);
    let pressure = |q: &[f64; 4]| (gam - 1.0) * (q[3] - 0.5 * (q[1] * q[1] + q[2] * q[2]) / q[0]);
    let mach = |q: &[f64; 4]| ((q[1] * q[1] + q[2] * q[2]) / q[0]).sqrt() / (gam * pressure(q)).sqrt();
    raw.add_dat("pressure", "cells", 1, Values::F64(q.iter().map(pressure).collect()));
    raw.add_dat("mach", "cells", 1, Values::F64(q.iter().map(mach).collect()));
    raw.add_dat("state", "cells", 4, Values::F64(q.as_flattened().to_vec()));
    raw
}
