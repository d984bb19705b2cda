//! `drawloom run reduction`: counting the iterations of loops that are cut into blocks.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use drawloom_apps::reduction::{Counts, Reduction};
use drawloom_mesh::raw::{RawMesh, Values};

use super::mesh_program::{Common, Failure, Ready, ended, iterations, mesh, unusable, wrong};
use super::report;
use crate::exit::Exit;
use crate::output::Output;
use crate::progress;

/// Count the edges and cells of a mesh in loops that also change dats, and compare with what there are
///
/// Loops over blocks may run an iteration several times; it must count once. The residual of an iteration is how many
/// edges and cells were counted too much or too little: 0.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom run reduction                                   11,250 cells, 10 iterations, on every core
  drawloom run reduction --mesh new_grid.dat --backend threads --fast --workers 3 --json

Exit codes: 0 the counts are right, 1 they are not, 2 an unusable setting or mesh.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
    /// How many iterations
    #[arg(long, default_value = "10", value_parser = iterations, value_name = "N")]
    iterations: u64,
    /// The mesh: a file, or a generated one such as naca0012:50x75, which has 3 x 50 x 75 cells
    #[arg(long, default_value = "naca0012:50x75", value_name = "MESH", value_hint = ValueHint::FilePath)]
    mesh: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    ended("reduction", compute(arguments, output))
}

fn compute(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let Arguments { common, iterations, .. } = arguments;
    common.check(&arguments.mesh, None)?;
    let mut raw = mesh(&arguments.mesh, |_| None)?;
    let bar = progress::bar("reduction", *iterations);
    let watched = bar.clone();
    let app = Reduction::new(&raw, *iterations, move |iteration, Counts { edges, cells }| {
        watched.set_position(iteration);
        watched.set_message(format!("{edges} edges, {cells} cells"));
    })
    .map_err(unusable)?;
    let Counts { edges, cells } = app.sizes;
    let distance = |counts: &Counts| f64::from((counts.edges - edges).abs()) + f64::from((counts.cells - cells).abs());
    let ready = Ready {
        name: "reduction",
        program: &app.program,
        cells: cells as usize,
        iterations: *iterations,
        history: &app.counts,
        residual: &distance,
        bar: &bar,
    };
    let (run, mut line) = ready.run(common)?;
    let counted = report::all(&app.counts);
    if let Some(last) = counted.last() {
        line.results.extend([("edges", last.edges.into()), ("cells", last.cells.into())]);
    }
    if !common.json {
        line.title("cells", output);
        line.table(output);
        if let Some(last) = counted.last() {
            output.line(format_args!("  counted {} edges of {edges}, and {} cells of {cells}", last.edges, last.cells));
        }
        line.times(&run.stats(), output);
    }
    let with_counts = || -> Result<RawMesh, Failure> {
        let seen = run.dat(app.seen).map_err(wrong)?.into_flattened();
        raw.add_dat("seen", "cells", 2, Values::F64(seen));
        Ok(raw)
    };
    let written = common.write(with_counts, output);
    common.say_trace(&line, output);
    common.conclude(line, [written], output)?;
    match (1..).zip(&counted).find(|(_, counts)| **counts != app.sizes) {
        None => Ok(()),
        Some((iteration, counts)) => Err(Failure::Wrong(format!(
            "iteration {iteration} counted {} edges of {edges}, and {} cells of {cells}",
            counts.edges, counts.cells
        ))),
    }
}
