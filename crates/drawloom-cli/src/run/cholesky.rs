//! `drawloom run cholesky`: a tiled Cholesky factorisation, timed and checked.

use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use drawloom_apps::cholesky::{Kernels, Layout, Order, Spd, Tiles};
use drawloom_runtime::Loom;
use serde::Serialize;

use crate::exit::Exit;
use crate::meter;
use crate::number::{all_workers, integer, workers};
use crate::output::{self, Output};

/// The best of so many factorisations counts, after one that does not.
const REPETITIONS: u32 = 3;

/// An upper bound of what the engine keeps for a tile, and for a task of a plan, in bytes.
const BYTES_PER_TILE: u64 = 1024;
const BYTES_PER_RECORDED_TASK: u64 = 1024;

/// Factor a symmetric positive definite matrix: A = L Lᵀ, in tiles, one task for each operation on a tile
///
/// The matrix is random, with a dominant diagonal. The time is that from the first submission to the last completion, the
/// best of three factorisations after a first one; making the matrix and checking the factor are not part of it. The error
/// is the largest element of A − L Lᵀ, relative to the largest of A.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom run cholesky                             2048 rows in tiles of 64, on every core
  drawloom run cholesky --n 4096 --tile 256 --workers 2 --backend replay --json

Exit codes: 0 the factor is right, 1 it is not, 2 an unusable setting.")]
pub struct Arguments {
    /// Rows of the matrix
    #[arg(long, default_value = "2048", value_parser = integer, value_name = "N")]
    pub n: u64,
    /// Rows of a tile; when it does not divide N the last tiles are filled up with the identity
    #[arg(long, default_value = "64", value_parser = integer, value_name = "T")]
    pub tile: u64,
    /// How many workers execute, the submitting thread not counted; by default as many as there are cores
    #[arg(long, value_parser = workers, value_name = "K")]
    workers: Option<usize>,
    /// The scheduling policy
    #[arg(long, default_value = "lws", value_name = "POLICY")]
    policy: String,
    /// How the tasks are run
    #[arg(long, value_enum, default_value_t, value_name = "BACKEND")]
    backend: Backend,
    /// In which order the tasks are submitted
    #[arg(long, value_enum, default_value_t, value_name = "ORDER")]
    order: Looking,
    /// Which random matrix
    #[arg(long, default_value = "1", value_parser = integer, value_name = "SEED")]
    seed: u64,
    /// Print one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// How tasks are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Backend {
    /// One after the other on the thread that submits them
    Serial,
    /// Submitted, and ordered by what they declare
    #[default]
    Dynamic,
    /// Recorded once, and replayed
    Replay,
}

impl Backend {
    fn name(self) -> &'static str {
        match self {
            Backend::Serial => "serial",
            Backend::Dynamic => "dynamic",
            Backend::Replay => "replay",
        }
    }
}

/// The order in which tasks are submitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Looking {
    /// Column after column: all updates of a tile, then the tile is finished
    Left,
    /// Step after step: when a column is finished, everything to its right is updated
    #[default]
    Right,
}

impl From<Looking> for Order {
    fn from(looking: Looking) -> Order {
        match looking {
            Looking::Left => Order::Left,
            Looking::Right => Order::Right,
        }
    }
}

/// What was measured.
#[derive(Serialize)]
struct Line {
    n: usize,
    tile: usize,
    workers: usize,
    tasks: u64,
    seconds: f64,
    gflops: f64,
    max_error: f64,
    backend: &'static str,
    policy: String,
}

/// Why there is no result, and whose fault that is.
enum Failure {
    /// A setting cannot be used.
    Unusable(String),
    /// The program went wrong.
    Wrong(String),
}

impl Arguments {
    /// How many workers execute.
    pub fn workers(&self) -> usize {
        self.workers.unwrap_or_else(all_workers)
    }
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    run_after(arguments, output, |_| ())
}

/// Runs the program. Between the checks of the arguments and the factorisation, `before` may print something.
pub fn run_after(arguments: &Arguments, output: &mut Output, before: impl FnOnce(&mut Output)) -> Exit {
    let (layout, loom) = match prepare(arguments) {
        Ok(prepared) => prepared,
        Err(why) => return fail(Failure::Unusable(why)),
    };
    before(output);
    match factor(arguments, layout, &loom) {
        Ok(line) => {
            match arguments.json {
                true => output.json(&line),
                false => text(&line, output),
            }
            // What rounding alone may do is far below this; a wrong tile is far above.
            let bound = line.n as f64 * 1e-14;
            if line.max_error < bound {
                return Exit::Valid;
            }
            fail(Failure::Wrong(format!("the error {:e} is larger than {bound:e}: this is no factor", line.max_error)))
        }
        Err(failure) => fail(failure),
    }
}

fn fail(failure: Failure) -> Exit {
    match failure {
        Failure::Unusable(why) => {
            output::complain(format_args!("cholesky: {why}"));
            Exit::Unusable
        }
        Failure::Wrong(why) => {
            output::complain(format_args!("cholesky: {why}"));
            Exit::Invalid
        }
    }
}

/// Checks everything that a user may have got wrong before anything large is made.
fn prepare(arguments: &Arguments) -> Result<(Layout, Loom), String> {
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let layout = Layout::new(size(arguments.n), size(arguments.tile)).map_err(|error| error.to_string())?;
    if arguments.tile > arguments.n {
        return Err(format!("tiles of {} rows are larger than the matrix, which has {}", arguments.tile, arguments.n));
    }
    check_memory(layout, arguments.backend)?;
    let builder = Loom::builder().policy(&arguments.policy);
    let loom = match arguments.backend {
        Backend::Serial => builder.make_serial().build(),
        Backend::Dynamic | Backend::Replay => builder.workers(arguments.workers()).build(),
    };
    if arguments.backend == Backend::Serial && arguments.workers.is_some_and(|workers| workers > 1) {
        output::complain("cholesky: the serial backend has one worker, the thread that submits");
    }
    Ok((layout, loom.map_err(|error| error.to_string())?))
}

/// Refuses a matrix that would push everything else out of memory.
fn check_memory(layout: Layout, backend: Backend) -> Result<(), String> {
    let Some(available) = meter::available_memory() else { return Ok(()) };
    let tiles = layout.tiles() as u128 * (layout.tile_len() as u128 * 8 + u128::from(BYTES_PER_TILE));
    let recorded = if backend == Backend::Replay { layout.tasks() } else { 0 };
    let needed = tiles + u128::from(recorded) * u128::from(BYTES_PER_RECORDED_TASK);
    if needed <= u128::from(available) {
        return Ok(());
    }
    let gibibytes = |bytes: f64| bytes / f64::from(1 << 30);
    let (needed, available) = (gibibytes(needed as f64), gibibytes(available as f64));
    Err(format!(
        "{} rows in tiles of {} need about {needed:.1} GiB of memory as {}, and {available:.1} are available",
        layout.n(),
        layout.tile(),
        backend.name()
    ))
}

fn factor(arguments: &Arguments, layout: Layout, loom: &Loom) -> Result<Line, Failure> {
    let wrong = |error: drawloom_runtime::Error| Failure::Wrong(error.to_string());
    let kernels = Kernels::detect();
    let matrix = Spd::new(layout, arguments.seed);
    let tiles = Tiles::new(loom, layout).map_err(|error| Failure::Unusable(error.to_string()))?;
    let order = Order::from(arguments.order);
    let plan = match arguments.backend {
        Backend::Replay => Some(tiles.capture(kernels, order).map_err(wrong)?),
        Backend::Serial | Backend::Dynamic => None,
    };
    let mut best = Duration::MAX;
    for repetition in 0..=REPETITIONS {
        tiles.fill(matrix).map_err(wrong)?;
        let start = Instant::now();
        match &plan {
            Some(plan) => plan.run().map_err(wrong)?,
            None => {
                tiles.submit(kernels, order);
                loom.wait_all().map_err(wrong)?;
            }
        }
        if repetition > 0 {
            best = best.min(start.elapsed());
        }
    }
    let seconds = best.as_secs_f64().max(f64::MIN_POSITIVE);
    Ok(Line {
        n: layout.n(),
        tile: layout.tile(),
        workers: loom.workers().max(1),
        tasks: layout.tasks(),
        seconds,
        gflops: (layout.flops() / seconds / 1e7).round() / 100.0,
        max_error: tiles.factor().map_err(wrong)?.max_error(kernels, matrix),
        backend: arguments.backend.name(),
        policy: arguments.policy.clone(),
    })
}

fn text(line: &Line, output: &mut Output) {
    let Line { n, tile, workers, tasks, seconds, gflops, max_error, backend, policy } = line;
    output.line(format_args!(
        "cholesky of {n} rows in tiles of {tile}: {tasks} tasks, {backend}, {policy}, {workers} worker{}",
        if *workers == 1 { "" } else { "s" }
    ));
    output.line(format_args!("  {:.3} ms, {gflops:.1} GFlop/s", seconds * 1e3));
    output.line(format_args!("  largest error {max_error:.1e}, relative to the largest element"));
}
