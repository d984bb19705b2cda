//! How much faster several workers replay small tasks than one worker does.

use std::time::{Duration, Instant};

use drawloom_runtime::Loom;
use serde::Serialize;

use crate::taskbench::{Bench, Compute, Graph, Pattern};

/// The size of the graph: a stencil with so many points, and so many steps.
const WIDTH: usize = 16;
const STEPS: usize = 1000;

/// How long a task should take.
const TASK: Duration = Duration::from_micros(1);

/// So many iterations of the kernel are timed to find out how many a task needs.
const SAMPLE: u64 = 200_000;

#[derive(Serialize)]
pub(super) struct Line {
    bench: &'static str,
    mode: &'static str,
    workers: usize,
    tasks: u64,
    /// What is in a task, as a loop without a runtime measures it.
    task_ns: f64,
    one_worker_ns_per_task: f64,
    ns_per_task: f64,
    speedup: f64,
}

/// Replays a stencil of tasks of a microsecond with one worker and with several, in turn, and compares the best of both.
pub(super) fn measure(workers: usize, repetitions: u32) -> Result<Line, String> {
    let compute = Compute::detect();
    let (iterations, task_ns) = calibrate(compute, repetitions);
    let graph = Graph::new(Pattern::Stencil1d, WIDTH, STEPS).map_err(|error| error.to_string())?;
    let mut benches = Vec::new();
    for count in [1, workers] {
        let loom = Loom::builder().workers(count).build().map_err(|error| error.to_string())?;
        let bench = Bench::new(&loom, graph, compute);
        let plan = bench.capture().map_err(|error| error.to_string())?;
        benches.push((bench, plan, f64::INFINITY));
    }
    for _ in 0..repetitions {
        for (bench, plan, best) in &mut benches {
            let run = bench.run_plan(plan, iterations).map_err(|error| error.to_string())?;
            *best = best.min(run.wall.as_secs_f64() * 1e9 / run.tasks as f64);
        }
    }
    let [one, several] = [benches[0].2, benches[1].2];
    Ok(Line {
        bench: "scaling",
        mode: "replay",
        workers,
        tasks: graph.tasks(),
        task_ns: tenths(task_ns),
        one_worker_ns_per_task: tenths(one),
        ns_per_task: tenths(several),
        speedup: (one / several * 100.0).round() / 100.0,
    })
}

/// How many iterations of the kernel take as long as a task should, and how long they take.
fn calibrate(compute: Compute, repetitions: u32) -> (u64, f64) {
    let timed = || {
        let start = Instant::now();
        std::hint::black_box(compute.run(SAMPLE));
        start.elapsed().as_secs_f64() * 1e9 / SAMPLE as f64
    };
    let each = (0..repetitions).map(|_| timed()).fold(f64::INFINITY, f64::min);
    let iterations = (TASK.as_secs_f64() * 1e9 / each.max(f64::MIN_POSITIVE)).round().clamp(1.0, 1e9) as u64;
    (iterations, each * iterations as f64)
}

fn tenths(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}
