//! `drawloom-bench tasks`: what a task costs when there is nothing in it.

use std::time::{Duration, Instant};

use clap::Args;
use drawloom_cli::exit::Exit;
use drawloom_cli::meter;
use drawloom_cli::number::{all_workers, integer, workers};
use drawloom_cli::output::{self, Output};
use drawloom_runtime::{Error, Loom, Region};
use serde::Serialize;

use super::{peers, rayon, scaling};
use crate::micro::{Cells, Shape};

/// The best of so many repetitions counts.
const REPETITIONS: u32 = 6;

/// A round trip is a thousand times longer than a task, and its cost does not depend on their number.
const MOST_ROUND_TRIPS: u64 = 20_000;

/// A plan keeps each of its tasks, some hundred bytes.
const MOST_REPLAYED: u64 = 2_000_000;

/// So many tasks wait at once when their memory is measured. The engine takes memory for tasks in chunks that double, and
/// this number fills the last of them.
const WAITING: u32 = 520_000;

/// What workers do before they settle is over after this.
const SETTLING: Duration = Duration::from_millis(300);

/// How tasks are submitted that are part of no plan.
const DYNAMIC: &str = "dynamic";

/// For so long an idle runtime is watched.
const IDLE: Duration = Duration::from_secs(1);

/// Measure tasks: what submitting and running one costs, in six patterns, here and in other runtimes
///
/// Prints one line of JSON for each measurement. `ns_per_task` is the wall time from the first submission to the last
/// completion, divided by tasks, the best of six repetitions; `submit_ns_per_task` is the part of it until the last
/// submission returned. Lines of other runtimes have a `peer`; those that are not installed are skipped with a note.
#[derive(Debug, Args)]
#[command(after_help = "\
Patterns:
  independent   tasks without data
  chain         each task updates the same region
  chains64      task i updates region i mod 64
  readers       every task reads the same region
  stencil       a task writes one of 16 regions and reads three of the step before
  roundtrip     one task is submitted and waited for, again and again

Examples:
  drawloom-bench tasks                              everything, with one worker and with all cores
  drawloom-bench tasks --workers 2 --no-peers       ours only, with two workers
  drawloom-bench tasks --only stencil,chain         two patterns")]
pub(crate) struct Arguments {
    /// How many workers execute, the submitting thread not counted; by default 1, and then as many as there are cores
    #[arg(long, value_parser = workers, value_name = "K")]
    workers: Option<usize>,
    /// How many tasks a pattern has
    #[arg(long, default_value = "2e5", value_parser = integer, value_name = "N")]
    tasks: u64,
    /// Measure only these: patterns, scaling, startup, idle, memory
    #[arg(long, value_delimiter = ',', value_parser = What::read, value_name = "WHAT,…")]
    only: Vec<What>,
    /// Measure only ours
    #[arg(long)]
    no_peers: bool,
}

/// Something to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// The cost of a task.
    Pattern(Shape),
    /// Until the first task has run.
    Startup,
    /// Processor time without tasks.
    Idle,
    /// Bytes that a waiting task takes.
    Memory,
    /// How much faster several workers are than one.
    Scaling,
}

impl What {
    fn all() -> impl Iterator<Item = What> {
        [What::Memory].into_iter().chain(Shape::ALL.map(What::Pattern)).chain([
            What::Scaling,
            What::Startup,
            What::Idle,
        ])
    }

    fn name(self) -> &'static str {
        match self {
            What::Pattern(shape) => shape.name(),
            What::Startup => "startup",
            What::Idle => "idle",
            What::Memory => "memory",
            What::Scaling => "scaling",
        }
    }

    fn read(name: &str) -> Result<What, String> {
        What::all().find(|what| what.name() == name).ok_or_else(|| {
            let names: Vec<&str> = What::all().map(What::name).collect();
            format!("there is no `{name}`; there are {}", names.join(", "))
        })
    }
}

/// The cost of a task.
#[derive(Serialize)]
struct Line {
    bench: &'static str,
    mode: &'static str,
    workers: usize,
    tasks: u64,
    ns_per_task: f64,
    submit_ns_per_task: f64,
}

#[derive(Serialize)]
struct Startup {
    bench: &'static str,
    mode: &'static str,
    workers: usize,
    tasks: u64,
    startup_ms: f64,
    shutdown_ms: f64,
}

#[derive(Serialize)]
struct Idle {
    bench: &'static str,
    mode: &'static str,
    workers: usize,
    tasks: u64,
    idle_cores: f64,
}

#[derive(Serialize)]
struct Memory {
    bench: &'static str,
    mode: &'static str,
    workers: usize,
    tasks: u64,
    bytes_per_task: f64,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    if !(1..=1_000_000_000).contains(&arguments.tasks) {
        output::complain(format_args!("--tasks takes 1 to 1e9, and is {}", arguments.tasks));
        return Exit::Unusable;
    }
    let counts = match arguments.workers {
        Some(count) => vec![count],
        None if all_workers() == 1 => vec![1],
        None => vec![1, all_workers()],
    };
    let wanted = |what| arguments.only.is_empty() || arguments.only.contains(&what);
    for &workers in &counts {
        let bench = Bench { workers, tasks: arguments.tasks };
        // Memory comes first, while the process has not yet had and returned any that could be used again unnoticed.
        for what in What::all().filter(|&what| wanted(what)) {
            if let Err(wrong) = bench.measure(what, workers == counts[0], output) {
                output::complain(format_args!("{}: {wrong}", what.name()));
                return Exit::Invalid;
            }
            output.flush();
        }
    }
    if !arguments.no_peers {
        let wanted = |name: &str| What::read(name).is_ok_and(wanted);
        for &workers in &counts {
            rayon::tasks(workers, arguments.tasks, wanted).report(output);
            peers::tasks(workers, arguments.tasks, wanted).report(output);
        }
    }
    Exit::Valid
}

/// One number of workers.
struct Bench {
    workers: usize,
    tasks: u64,
}

/// The time of one repetition: all of it, and the part until the last submission.
struct Spent {
    total: Duration,
    submit: Duration,
}

impl Bench {
    fn loom(&self) -> Result<Loom, Error> {
        Loom::builder().workers(self.workers).build()
    }

    fn measure(&self, what: What, first: bool, output: &mut Output) -> Result<(), String> {
        let say = |error: Error| error.to_string();
        match what {
            What::Pattern(shape) => {
                output.json(&self.dynamic(shape)?);
                if shape != Shape::RoundTrip {
                    output.json(&self.replay(shape)?);
                }
            }
            What::Startup => output.json(&self.startup().map_err(say)?),
            What::Idle => match self.idle().map_err(say)? {
                Some(line) => output.json(&line),
                None => output::complain("idle: this system does not say how much processor time threads use; skipped"),
            },
            // One worker is not faster than one.
            What::Scaling if self.workers == 1 => {}
            What::Scaling => output.json(&scaling::measure(self.workers, REPETITIONS)?),
            // How many workers there are makes no difference to what waits.
            What::Memory if !first => {}
            What::Memory => match self.memory().map_err(say)? {
                Some(line) => output.json(&line),
                None => output::complain("memory: this system does not say how much memory a process has; skipped"),
            },
        }
        Ok(())
    }

    fn line(&self, shape: Shape, mode: &'static str, tasks: u64, best: &Spent) -> Line {
        let each = |time: Duration| (time.as_secs_f64() * 1e10 / tasks as f64).round() / 10.0;
        let (ns_per_task, submit_ns_per_task) = (each(best.total), each(best.submit));
        Line { bench: shape.name(), mode, workers: self.workers, tasks, ns_per_task, submit_ns_per_task }
    }

    fn dynamic(&self, shape: Shape) -> Result<Line, String> {
        let loom = self.loom().map_err(|error| error.to_string())?;
        let cells = Cells::new(&loom);
        let tasks = if shape == Shape::RoundTrip { self.tasks.min(MOST_ROUND_TRIPS) } else { self.tasks };
        let tasks = shape.round(tasks);
        let best = best(&cells, shape, tasks, |start| {
            cells.submit(shape, tasks)?;
            let submit = start.elapsed();
            loom.wait_all()?;
            Ok(submit)
        })?;
        Ok(self.line(shape, DYNAMIC, tasks, &best))
    }

    fn replay(&self, shape: Shape) -> Result<Line, String> {
        let loom = self.loom().map_err(|error| error.to_string())?;
        let cells = Cells::new(&loom);
        let tasks = shape.round(self.tasks.min(MOST_REPLAYED));
        let plan = cells.capture(shape, tasks).map_err(|error| error.to_string())?;
        let best = best(&cells, shape, tasks, |start| {
            let run = plan.start();
            let submit = start.elapsed();
            run.wait()?;
            Ok(submit)
        })?;
        Ok(self.line(shape, "replay", tasks, &best))
    }

    /// The time until a new runtime has run its first task, and the time to end it.
    fn startup(&self) -> Result<Startup, Error> {
        let (mut startup, mut shutdown) = (Duration::MAX, Duration::MAX);
        for _ in 0..REPETITIONS {
            let start = Instant::now();
            let loom = self.loom()?;
            loom.task("first").run(|| ()).wait()?;
            startup = startup.min(start.elapsed());
            let start = Instant::now();
            drop(loom);
            shutdown = shutdown.min(start.elapsed());
        }
        let (startup_ms, shutdown_ms) = (milliseconds(startup), milliseconds(shutdown));
        let (bench, mode, workers) = ("startup", DYNAMIC, self.workers);
        Ok(Startup { bench, mode, workers, tasks: 1, startup_ms, shutdown_ms })
    }

    /// Processor time in a second without tasks.
    fn idle(&self) -> Result<Option<Idle>, Error> {
        let loom = self.loom()?;
        loom.task("last").run(|| ()).wait()?;
        std::thread::sleep(SETTLING);
        let (before, start) = (meter::process_cpu_seconds(), Instant::now());
        std::thread::sleep(IDLE);
        let seconds = start.elapsed().as_secs_f64();
        let used = before.and_then(|before| Some(meter::process_cpu_seconds()? - before));
        let (bench, mode, workers) = ("idle", DYNAMIC, self.workers);
        let line = |idle_cores| Idle { bench, mode, workers, tasks: 0, idle_cores };
        Ok(used.map(|used| line((used / seconds * 1e4).round() / 1e4)))
    }

    /// What the process grows by when tasks with one access each are submitted behind a guard.
    fn memory(&self) -> Result<Option<Memory>, Error> {
        let tasks = u64::from(WAITING);
        let loom = Loom::builder().workers(self.workers).in_flight(WAITING + 1).build()?;
        let cell = loom.value("cell", 0_u64);
        let guard = cell.write()?;
        let before = meter::memory();
        for _ in 0..tasks {
            loom.task("add").update(&cell).run(|cell| *cell += 1);
        }
        let after = meter::memory();
        drop(guard);
        loom.wait_all()?;
        let grown = before.zip(after).map(|((before, _), (after, _))| after.saturating_sub(before));
        let each = grown.map(|bytes| (bytes as f64 * 10.0 / tasks as f64).round() / 10.0);
        let (bench, mode, workers) = ("memory", DYNAMIC, self.workers);
        Ok(each.map(|bytes_per_task| Memory { bench, mode, workers, tasks, bytes_per_task }))
    }
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// The best of several repetitions, by the whole time. Each starts with empty cells, and its result is checked.
fn best(
    cells: &Cells,
    shape: Shape,
    tasks: u64,
    mut once: impl FnMut(Instant) -> Result<Duration, Error>,
) -> Result<Spent, String> {
    let mut best = Spent { total: Duration::MAX, submit: Duration::MAX };
    for _ in 0..REPETITIONS {
        cells.wipe().map_err(|error| error.to_string())?;
        let start = Instant::now();
        let submit = once(start).map_err(|error| error.to_string())?;
        let total = start.elapsed();
        if let Some(wrong) = cells.check(shape, tasks).map_err(|error| error.to_string())? {
            return Err(wrong);
        }
        if total < best.total {
            best = Spent { total, submit };
        }
    }
    Ok(best)
}
