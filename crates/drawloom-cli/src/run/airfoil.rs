//! `drawloom run airfoil`: the flow around an airfoil, on an unstructured mesh.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use clap::{Args, ValueHint};
use drawloom_apps::airfoil::Airfoil;
use drawloom_mesh::files::{self, vtu};
use drawloom_mesh::plot::Plot;
use drawloom_mesh::raw::{RawMesh, Values};
use serde::Serialize;

use super::bar::Bar;
use super::mesh_backend::MeshBackend;
use crate::exit::Exit;
use crate::number::integer;
use crate::output::{self, Output};

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

Exit codes: 0 done, 1 the computation failed, 2 an unusable setting or mesh.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    backend: MeshBackend,
    /// How many iterations
    #[arg(long, default_value = "1000", value_parser = integer, value_name = "N")]
    iterations: u64,
    /// The mesh: a file, or a generated one such as naca0012:100x150, which has 3 x 100 x 150 cells
    #[arg(long, default_value = "naca0012:100x150", value_name = "MESH", value_hint = ValueHint::FilePath)]
    mesh: PathBuf,
    /// Write the mesh and the flow to this file, for ParaView and the like
    #[arg(long, value_name = "FILE.vtu", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    /// Where to draw the pressure near the airfoil, as .png or .svg; by default airfoil.png, and nowhere with --json
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    picture: Option<PathBuf>,
    /// Print one line of JSON, and draw nothing unless asked to
    #[arg(long)]
    json: bool,
}

/// What was computed.
#[derive(Serialize)]
struct Line {
    app: &'static str,
    backend: &'static str,
    workers: usize,
    cells: usize,
    iterations: u64,
    residuals: Vec<(u64, f64)>,
    seconds: f64,
    ms_per_iteration: f64,
    #[serde(skip_serializing_if = "Option::is_none", flatten)]
    messages: Option<Messages>,
}

/// What a run as messages amounts to.
#[derive(Serialize)]
struct Messages {
    devices: usize,
    sends: u64,
    deliveries: u64,
}

/// Why there is no result, and whose fault that is.
enum Failure {
    Unusable(String),
    Wrong(String),
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    match compute(arguments, output) {
        Ok(()) => Exit::Valid,
        Err(Failure::Unusable(why)) => {
            output::complain(format_args!("airfoil: {why}"));
            Exit::Unusable
        }
        Err(Failure::Wrong(why)) => {
            output::complain(format_args!("airfoil: {why}"));
            Exit::Invalid
        }
    }
}

fn compute(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let unusable = |error: drawloom_mesh::Error| Failure::Unusable(error.to_string());
    let wrong = |error: drawloom_mesh::Error| Failure::Wrong(error.to_string());
    let raw = files::read(&arguments.mesh).map_err(unusable)?;
    let bar = Arc::new(Bar::new("airfoil", arguments.iterations));
    let watched = Arc::clone(&bar);
    let app = Airfoil::new(&raw, arguments.iterations, move |iteration, residual| {
        watched.show(iteration, &format!("residual {residual:.3e}"));
    })
    .map_err(unusable)?;
    let mut run = app.program.start(arguments.backend.backend()).map_err(unusable)?;
    let start = Instant::now();
    let done = run.run();
    let seconds = start.elapsed().as_secs_f64();
    bar.clear();
    done.map_err(wrong)?;
    let all = app.residuals.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let last = all.len() as u64;
    let shown = |iteration: &u64| iteration.is_multiple_of(100) || *iteration == last;
    let residuals = (1..=last).filter(shown).map(|iteration| (iteration, all[iteration as usize - 1])).collect();
    let line = Line {
        app: "airfoil",
        backend: arguments.backend.name(),
        workers: arguments.backend.count(),
        cells: app.cells,
        iterations: arguments.iterations,
        residuals,
        seconds,
        ms_per_iteration: seconds * 1e3 / arguments.iterations.max(1) as f64,
        messages: run.messages().map(|counts| Messages {
            devices: counts.devices,
            sends: counts.sends,
            deliveries: counts.deliveries,
        }),
    };
    if !arguments.json {
        text(&line, &run.stats(), output);
    }
    let drawn = arguments.picture.clone().or_else(|| (!arguments.json).then(|| PathBuf::from("airfoil.png")));
    if arguments.out.is_some() || drawn.is_some() {
        let flow = with_flow(raw, &run.dat(app.q).map_err(wrong)?);
        if let Some(path) = &arguments.out {
            let bytes = vtu::write(&flow, vtu::Encoding::Raw).map_err(wrong)?;
            files::write_bytes(path, &bytes).map_err(unusable)?;
            say(arguments.json, output, format_args!("the flow is in {}", path.display()));
        }
        if let Some(path) = drawn {
            let plot = Plot::new(&flow).field("pressure").window([-0.6, -0.8, 1.6, 0.8]);
            let is_svg = path.extension().is_some_and(|ending| ending == "svg");
            let picture = if is_svg { plot.svg().map(String::into_bytes) } else { plot.png() }.map_err(wrong)?;
            files::write_bytes(&path, &picture).map_err(unusable)?;
            say(arguments.json, output, format_args!("a picture of the pressure is in {}", path.display()));
        }
    }
    if arguments.json {
        output.json(&line);
    }
    Ok(())
}

/// What is said beside the result: with JSON, not on the same stream.
fn say(json: bool, output: &mut Output, what: std::fmt::Arguments<'_>) {
    if json { output::complain(what) } else { output.line(what) }
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

fn text(line: &Line, stats: &[drawloom_mesh::LoopStats], output: &mut Output) {
    let Line { backend, workers, cells, iterations, seconds, ms_per_iteration, .. } = line;
    let plural = if *workers == 1 { "" } else { "s" };
    output.line(format_args!("airfoil: {cells} cells, {iterations} iterations, {backend}, {workers} worker{plural}"));
    output.line("  iteration   residual");
    for (iteration, residual) in &line.residuals {
        output.line(format_args!("  {iteration:9}   {residual:.6e}"));
    }
    if let Some(Messages { devices, sends, deliveries }) = &line.messages {
        let rate = *deliveries as f64 / seconds.max(f64::MIN_POSITIVE) / 1e6;
        output.line(format_args!(
            "  {devices} devices, {sends} sends, {deliveries} deliveries, {rate:.1} million a second"
        ));
    }
    if !stats.is_empty() {
        output.line("  loop         how      tasks   time    GB/s");
    }
    let total: f64 = stats.iter().map(|stats| stats.seconds).sum();
    for stats in stats {
        let share = 100.0 * stats.seconds / total.max(f64::MIN_POSITIVE);
        output.line(format_args!(
            "  {:12} {:7} {:6} {share:5.1} % {:6.1}",
            stats.name,
            stats.strategy.to_string(),
            stats.tasks,
            stats.gigabytes_per_second()
        ));
    }
    output.line(format_args!("  {seconds:.3} s, {ms_per_iteration:.3} ms an iteration"));
}
