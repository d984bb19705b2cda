//! `drawloom-bench trace`: what recording costs.

use std::hint::black_box;
use std::time::{Duration, Instant};

use clap::Args;
use drawloom_cli::exit::Exit;
use drawloom_cli::meter;
use drawloom_cli::number::{all_workers, integer, workers};
use drawloom_cli::output::{self, Output};
use drawloom_runtime::{Error, Loom, Plan, Value};
use serde::Serialize;

/// Tasks update so many regions in turn, so that there is work for many workers and an order to keep.
const CHAINS: usize = 64;

/// So many tasks have a plan, which is run as often as needed.
const PLANNED: usize = 16 * CHAINS;

/// More tasks than this would fill the memory that a recording may take, and cost nothing from there on.
const MOST_TASKS: u64 = 1_000_000;

/// Measure recording: what a task costs with a trace being recorded, and without
///
/// Prints one line of JSON for each length of tasks, submitted and replayed. Both costs are wall times for each task, the
/// best of several repetitions that alternate between recording and not; `cost_percent` is by how much the first exceeds
/// the second. Where others use the machine too, the `cpu` figures say more: they are processor times.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom-bench trace                              tasks of 0, 1, 10 and 30 microseconds
  drawloom-bench trace --task-us 5 --workers 1      tasks of 5 microseconds on one worker")]
pub(crate) struct Arguments {
    /// How many workers execute, the submitting thread not counted; by default as many as there are cores
    #[arg(long, value_parser = workers, value_name = "K")]
    workers: Option<usize>,
    /// How long tasks take, in microseconds
    #[arg(long, value_delimiter = ',', default_values_t = [0, 1, 10, 30], value_parser = integer, value_name = "T,…")]
    task_us: Vec<u64>,
    /// How many microseconds of tasks there are in a repetition; a task of no length counts as one
    #[arg(long, default_value = "1e5", value_parser = integer, value_name = "US")]
    work_us: u64,
    /// How many repetitions there are with recording, and as many without
    #[arg(long, default_value = "15", value_parser = integer, value_name = "N")]
    repeat: u64,
}

/// What recording costs tasks of one length.
#[derive(Serialize)]
struct Line {
    bench: &'static str,
    mode: &'static str,
    workers: usize,
    task_us: u64,
    tasks: u64,
    off_ns_per_task: f64,
    on_ns_per_task: f64,
    cost_percent: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_off_ns_per_task: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_on_ns_per_task: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_cost_percent: Option<f64>,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    let limits = [("--work-us", arguments.work_us, 1, 1_000_000_000), ("--repeat", arguments.repeat, 1, 1_000_000)];
    let lengths = arguments.task_us.iter().map(|&length| ("--task-us", length, 0, 1_000_000));
    for (name, value, least, most) in limits.into_iter().chain(lengths) {
        if !(least..=most).contains(&value) {
            output::complain(format_args!("{name} takes {least} to {most}, and is {value}"));
            return Exit::Unusable;
        }
    }
    let bench = Bench {
        workers: arguments.workers.unwrap_or_else(all_workers),
        repeat: arguments.repeat,
        turns: turns_per_microsecond(),
    };
    for &task_us in &arguments.task_us {
        let tasks = (arguments.work_us / task_us.max(1)).clamp(CHAINS as u64, MOST_TASKS);
        for measure in [Bench::dynamic, Bench::replay] {
            match measure(&bench, task_us, tasks) {
                Ok(line) => output.json(&line),
                Err(wrong) => {
                    output::complain(format_args!("trace: {wrong}"));
                    return Exit::Invalid;
                }
            }
            output.flush();
        }
    }
    Exit::Valid
}

struct Bench {
    workers: usize,
    repeat: u64,
    /// How many turns of a loop take a microsecond.
    turns: f64,
}

/// Wall and processor time of one repetition, the least so far.
#[derive(Clone, Copy)]
struct Best {
    wall: Duration,
    cpu: Option<f64>,
}

impl Best {
    const NONE: Best = Best { wall: Duration::MAX, cpu: None };

    fn take(&mut self, wall: Duration, cpu: Option<f64>) {
        self.wall = self.wall.min(wall);
        self.cpu = match (self.cpu, cpu) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
    }
}

impl Bench {
    fn dynamic(&self, task_us: u64, tasks: u64) -> Result<Line, Error> {
        let loom = Loom::builder().workers(self.workers).build()?;
        let cells = cells(&loom);
        let turns = self.turns_of(task_us);
        self.line("dynamic", task_us, tasks, &loom, || {
            for task in 0..tasks as usize {
                loom.task("work").update(&cells[task % CHAINS]).run(move |cell| *cell = work(*cell, turns));
            }
            loom.wait_all()
        })
    }

    fn replay(&self, task_us: u64, tasks: u64) -> Result<Line, Error> {
        let loom = Loom::builder().workers(self.workers).build()?;
        let cells = cells(&loom);
        let turns = self.turns_of(task_us);
        let capture = loom.capture("plan");
        for task in 0..PLANNED {
            capture.task("work").update(&cells[task % CHAINS]).run(move |cell| *cell = work(*cell, turns));
        }
        let plan: Plan = capture.plan()?;
        let runs = tasks.div_ceil(PLANNED as u64);
        self.line("replay", task_us, runs * PLANNED as u64, &loom, || (0..runs).try_for_each(|_| plan.run()))
    }

    fn turns_of(&self, task_us: u64) -> u64 {
        (self.turns * task_us as f64) as u64
    }

    fn line(
        &self,
        mode: &'static str,
        task_us: u64,
        tasks: u64,
        loom: &Loom,
        mut once: impl FnMut() -> Result<(), Error>,
    ) -> Result<Line, Error> {
        // The first one fills caches and takes memory from the system.
        once()?;
        let (mut off, mut on) = (Best::NONE, Best::NONE);
        for _ in 0..self.repeat {
            measure(&mut off, &mut once)?;
            loom.trace_start();
            let measured = measure(&mut on, &mut once);
            // What was recorded is dropped here, outside of the measured time.
            drop(loom.trace_stop());
            measured?;
        }
        let each = |seconds: f64| (seconds * 1e10 / tasks as f64).round() / 10.0;
        let percent = |off: f64, on: f64| ((on / off - 1.0) * 1e4).round() / 100.0;
        let (wall_off, wall_on) = (off.wall.as_secs_f64(), on.wall.as_secs_f64());
        Ok(Line {
            bench: "trace",
            mode,
            workers: self.workers,
            task_us,
            tasks,
            off_ns_per_task: each(wall_off),
            on_ns_per_task: each(wall_on),
            cost_percent: percent(wall_off, wall_on),
            cpu_off_ns_per_task: off.cpu.map(each),
            cpu_on_ns_per_task: on.cpu.map(each),
            cpu_cost_percent: off.cpu.zip(on.cpu).map(|(off, on)| percent(off, on)),
        })
    }
}

fn measure(best: &mut Best, once: &mut impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
    let (cpu, start) = (meter::process_cpu_seconds(), Instant::now());
    once()?;
    let wall = start.elapsed();
    best.take(wall, cpu.and_then(|before| Some(meter::process_cpu_seconds()? - before)));
    Ok(())
}

fn cells(loom: &Loom) -> Vec<Value<u64>> {
    (0..CHAINS).map(|cell| loom.value(format!("cell{cell}"), cell as u64)).collect()
}

/// Work that cannot be left out or done at once: each turn needs the one before, and no memory.
fn work(seed: u64, turns: u64) -> u64 {
    black_box((0..turns).fold(seed, |state, _| (state ^ state >> 29).wrapping_mul(0x5851_f42d_4c95_7f2d)))
}

/// How many turns of the loop in [`work`] take a microsecond on this processor: the most of several tries.
fn turns_per_microsecond() -> f64 {
    const TURNS: u64 = 100_000;
    let tries = (0..20).map(|seed| {
        let start = Instant::now();
        black_box(work(seed, TURNS));
        TURNS as f64 / (start.elapsed().as_secs_f64() * 1e6)
    });
    tries.fold(1.0, f64::max)
}
