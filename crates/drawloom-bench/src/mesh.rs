//! `drawloom-bench mesh`: what an iteration of the airfoil costs, and what it could cost at best.

use std::hint::black_box;
use std::time::Instant;

use clap::Args;
use drawloom_apps::airfoil::Airfoil;
use drawloom_apps::airfoil::fused::Fused;
use drawloom_apps::naca;
use drawloom_cli::exit::Exit;
use drawloom_cli::number::{all_workers, integer, workers};
use drawloom_cli::output::{self, Output};
use drawloom_mesh::raw::RawMesh;
use drawloom_mesh::{Backend, Error, Mode, Threads};
use serde::Serialize;

/// Measure mesh loops: the time of an iteration of the airfoil on each backend
///
/// Prints one line of JSON for each backend. `gb_per_s` counts every element once for each loop that uses it. The loop
/// written by hand (backend `hand`) does the same on one core, everything for a cell at once; `copy` moves as many bytes
/// as that one does, in memory of the same size. All times are the best of several repetitions; `plan_ms` is what it took
/// to cut the loops into tasks and to record them, before the first iteration.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom-bench mesh                     180,000 cells, on one core and on all of them
  drawloom-bench mesh --cells 720000      a larger mesh
  drawloom-bench mesh --workers 2         two workers instead of one and all")]
pub(crate) struct Arguments {
    /// How many workers execute; by default one, and then as many as there are cores
    #[arg(long, value_parser = workers, value_name = "K")]
    workers: Option<usize>,
    /// About how many cells the mesh has
    #[arg(long, default_value = "180000", value_parser = integer, value_name = "N")]
    cells: u64,
    /// How many blocks sets are cut into; by default as many as suit the caches and the workers
    #[arg(long, value_parser = integer, value_name = "N")]
    blocks: Option<u64>,
    /// How many iterations there are in a repetition
    #[arg(long, default_value = "20", value_parser = integer, value_name = "N")]
    iterations: u64,
    /// How many repetitions there are
    #[arg(long, default_value = "5", value_parser = integer, value_name = "N")]
    repeat: u64,
}

#[derive(Serialize)]
struct Line {
    app: &'static str,
    backend: &'static str,
    mode: &'static str,
    workers: usize,
    cells: usize,
    ms_per_iteration: f64,
    gb_per_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_ms: Option<f64>,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    let limits = [
        ("--cells", arguments.cells, 18, 1_000_000_000),
        ("--iterations", arguments.iterations, 1, 1_000_000),
        ("--repeat", arguments.repeat, 1, 1_000_000),
    ];
    for (name, value, least, most) in limits {
        if !(least..=most).contains(&value) {
            output::complain(format_args!("{name} takes {least} to {most}, and is {value}"));
            return Exit::Unusable;
        }
    }
    match measure(arguments, output) {
        Ok(()) => Exit::Valid,
        Err(wrong) => {
            output::complain(format_args!("mesh: {wrong}"));
            Exit::Invalid
        }
    }
}

fn measure(arguments: &Arguments, output: &mut Output) -> Result<(), Box<dyn std::error::Error>> {
    // A generated mesh has three cells for each of `i` times `j`, and looks best with these sides.
    let i = ((arguments.cells as f64 / 4.5).sqrt().round() as usize).max(2);
    let j = ((arguments.cells as f64 / (3 * i) as f64).round() as usize).max(3);
    let bench = Bench { raw: naca::naca0012(i, j)?, iterations: arguments.iterations, repeat: arguments.repeat };
    let counts = match arguments.workers {
        Some(count) => vec![count],
        None if all_workers() > 1 => vec![1, all_workers()],
        None => vec![1],
    };
    let mut print = |line: &Line| {
        output.json(line);
        output.flush();
    };
    print(&bench.backend("serial", "deterministic", 1, Backend::Serial)?);
    for count in counts {
        for (name, mode) in [("deterministic", Mode::Deterministic), ("fast", Mode::Fast)] {
            let threads = Threads::new().workers(count).mode(mode);
            let threads = match arguments.blocks {
                Some(blocks) => threads.blocks(blocks.max(1) as usize),
                None => threads,
            };
            print(&bench.backend("threads", name, count, Backend::Threads(threads))?);
        }
    }
    let [fused, copy] = bench.limits()?;
    print(&fused);
    print(&copy);
    Ok(())
}

struct Bench {
    raw: RawMesh,
    iterations: u64,
    repeat: u64,
}

impl Bench {
    fn backend(&self, name: &'static str, mode: &'static str, workers: usize, backend: Backend) -> Result<Line, Error> {
        let app = Airfoil::new(&self.raw, self.iterations, |_, _| ())?;
        let begun = Instant::now();
        let mut run = app.program.start(backend)?;
        let plan = begun.elapsed().as_secs_f64();
        // The first one fills caches, and finds out how kernels are run best.
        run.run()?;
        let mut best = f64::INFINITY;
        for _ in 0..self.repeat {
            let start = Instant::now();
            run.run()?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        let runs = (self.repeat + 1) as f64;
        let bytes: f64 = run.stats().iter().map(|l| l.bytes as f64 * l.executions as f64 / runs).sum();
        let plan_ms = (name == "threads").then(|| rounded(plan * 1e3));
        Ok(self.line(name, mode, workers, app.cells, best, bytes, plan_ms))
    }

    /// The loop written by hand, and a plain copy of as many bytes.
    fn limits(&self) -> Result<[Line; 2], Error> {
        let mut fused = Fused::new(&self.raw)?;
        black_box(fused.run(1));
        let mut best = f64::INFINITY;
        for _ in 0..self.repeat {
            let start = Instant::now();
            black_box(fused.run(self.iterations as usize));
            best = best.min(start.elapsed().as_secs_f64());
        }
        let cells = self.raw.size("cells")?;
        let bytes = fused.traffic() as f64 * self.iterations as f64;
        let hand = self.line("hand", "fused", 1, cells, best, bytes, None);

        let from = vec![1_u8; fused.bytes() / 2];
        let mut to = vec![0_u8; from.len()];
        // A copy of `n` bytes reads and writes `n`.
        let times = (bytes / (2 * from.len()) as f64).ceil().max(1.0);
        let mut best = f64::INFINITY;
        for _ in 0..self.repeat {
            let start = Instant::now();
            for _ in 0..times as u64 {
                to.copy_from_slice(black_box(&from));
                black_box(&mut to);
            }
            best = best.min(start.elapsed().as_secs_f64() * bytes / (times * 2.0 * from.len() as f64));
        }
        Ok([hand, self.line("copy", "plain", 1, cells, best, bytes, None)])
    }

    #[allow(clippy::too_many_arguments)]
    fn line(
        &self,
        backend: &'static str,
        mode: &'static str,
        workers: usize,
        cells: usize,
        seconds: f64,
        bytes: f64,
        plan_ms: Option<f64>,
    ) -> Line {
        let ms_per_iteration = rounded(seconds * 1e3 / self.iterations as f64);
        let gb_per_s = rounded(bytes / seconds / 1e9);
        Line { app: "airfoil", backend, mode, workers, cells, ms_per_iteration, gb_per_s, plan_ms }
    }
}

/// A number with three decimals.
fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}
