//! The graph on the engine: tasks that are submitted, or recorded once and replayed.
//!
//! Each point has [`FIELDS`] cells, as in the serial loop, and a task declares what it reads and writes; the engine finds
//! the order. The inputs of tasks are found before the clock starts, and stamps are wiped before each run, so that a run
//! cannot take those of the one before for its own.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use drawloom_runtime::{Error, Loom, Plan, Region, Value};

use super::compute::{Compute, flops};
use super::pattern::{Dependencies, Graph, Pattern};
use super::serial::Run;
use super::stamp::{FIELDS, Stamp, StampError, run_task};

/// A stamp alone on its cache line, so that neighbours do not disturb each other.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Cell(Stamp);

/// A graph whose cells are regions of a runtime.
pub struct Bench {
    loom: Loom,
    graph: Graph,
    compute: Compute,
    cells: [Vec<Value<Cell>>; FIELDS],
    /// The inputs of every task, step by step.
    dependencies: Vec<Dependencies>,
    /// What a recorded task asks for its size, so that one plan serves for all.
    iterations: Arc<AtomicU64>,
}

/// Why a run is not worth its time.
#[derive(Debug)]
#[non_exhaustive]
pub enum BenchError {
    /// A task failed: it found a wrong input.
    Engine(Error),
    /// After the run, a cell of the last step has a wrong stamp: a task did not run.
    Stamp(StampError),
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchError::Engine(error) => error.fmt(f),
            BenchError::Stamp(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BenchError {}

impl From<Error> for BenchError {
    fn from(error: Error) -> Self {
        BenchError::Engine(error)
    }
}

/// Everything a task needs to know, in few enough words that the engine keeps them in place.
#[derive(Clone, Copy)]
struct Work {
    compute: Compute,
    pattern: Pattern,
    width: u32,
    steps: u32,
    step: u32,
    point: u32,
}

impl Work {
    fn run<const N: usize>(self, iterations: u64, inputs: [&Cell; N], output: &mut Cell) -> Result<(), StampError> {
        let graph = Graph::new(self.pattern, self.width as usize, self.steps as usize);
        let graph = graph.expect("a broken invariant of Task Bench: the graph was made before");
        let at = (self.step as usize, self.point as usize);
        run_task(graph, self.compute, iterations, at, inputs.iter().map(|cell| &cell.0), &mut output.0)
    }
}

/// Adds one task to a runtime or to a recording: both have the same builder, but no type in common. The expression at the
/// end is the body of the task, with names for its inputs and its output.
macro_rules! add {
    ($to:expr, $bench:expr, $at:expr, $finish:ident, |$inputs:ident, $output:ident| $body:expr) => {{
        let (bench, (step, point)): (&Bench, (usize, usize)) = ($bench, $at);
        let input = &bench.cells[(step + 1) % FIELDS];
        let task = $to.task("point").write(&bench.cells[step % FIELDS][point]);
        // Lists of regions of any length cost more than a few regions, and no pattern has more than three.
        match bench.dependencies_of(step, point) {
            [] => {
                task.$finish(move |$output| {
                    let $inputs = [];
                    $body
                });
            }
            &[a] => {
                task.read(&input[a]).$finish(move |$output, a| {
                    let $inputs = [a];
                    $body
                });
            }
            &[a, b] => {
                task.read(&input[a]).read(&input[b]).$finish(move |$output, a, b| {
                    let $inputs = [a, b];
                    $body
                });
            }
            &[a, b, c] => {
                task.read(&input[a]).read(&input[b]).read(&input[c]).$finish(move |$output, a, b, c| {
                    let $inputs = [a, b, c];
                    $body
                });
            }
            more => unreachable!("a broken invariant of Task Bench: {} inputs", more.len()),
        }
    }};
}

impl Bench {
    /// A graph on a runtime. Keeps the inputs of every task, so the graph should not be larger than memory.
    pub fn new(loom: &Loom, graph: Graph, compute: Compute) -> Bench {
        let cell = |field: usize, point: usize| loom.host_value(format!("cell{field}.{point}"), Cell::default());
        let cells = std::array::from_fn(|field| (0..graph.width()).map(|point| cell(field, point)).collect());
        let steps = (0..graph.steps()).flat_map(|step| (0..graph.width()).map(move |point| (step, point)));
        let dependencies = steps.map(|(step, point)| match point < graph.width_at(step) {
            true => graph.dependencies(step, point),
            false => Dependencies::default(),
        });
        let dependencies = dependencies.collect();
        Bench { loom: loom.clone(), graph, compute, cells, dependencies, iterations: Arc::default() }
    }

    /// Submits every task, and waits for the last one.
    ///
    /// # Errors
    /// When a task ran too early, or not at all.
    pub fn run_dynamic(&self, iterations: u64) -> Result<Run, BenchError> {
        self.timed(iterations, || {
            for at in self.tasks() {
                let work = self.work(at);
                add!(self.loom, self, at, run, |inputs, output| {
                    // A task that returns an error needs a place for its result; one that panics does not.
                    if let Err(error) = work.run(iterations, inputs, output) {
                        panic!("{error}");
                    }
                });
            }
            self.loom.wait_all()
        })
    }

    /// Records every task.
    ///
    /// # Errors
    /// When the plan cannot be made.
    pub fn capture(&self) -> Result<Plan, BenchError> {
        let capture = self.loom.capture("taskbench");
        for at in self.tasks() {
            let (work, size) = (self.work(at), Arc::clone(&self.iterations));
            add!(capture, self, at, try_run, |inputs, output| {
                // Relaxed: it was written before the run began, and does not change while it lasts.
                work.run(size.load(Ordering::Relaxed), inputs, output)
            });
        }
        Ok(capture.plan()?)
    }

    /// Runs a plan that this bench has made.
    ///
    /// # Errors
    /// When a task ran too early, or not at all.
    pub fn run_plan(&self, plan: &Plan, iterations: u64) -> Result<Run, BenchError> {
        // Relaxed: starting the plan orders this before its tasks.
        self.iterations.store(iterations, Ordering::Relaxed);
        self.timed(iterations, || plan.run())
    }

    fn timed(&self, iterations: u64, run: impl FnOnce() -> Result<(), Error>) -> Result<Run, BenchError> {
        for cell in self.cells.iter().flatten() {
            cell.set(Cell::default())?;
        }
        let start = Instant::now();
        run()?;
        let wall = start.elapsed();
        self.check_last_step()?;
        let tasks = self.graph.tasks();
        Ok(Run { tasks, wall, flops: tasks as f64 * flops(iterations) })
    }

    fn check_last_step(&self) -> Result<(), BenchError> {
        let last = self.graph.steps() - 1;
        for point in 0..self.graph.width_at(last) {
            let expected = Stamp::new(last, point);
            let found = self.cells[last % FIELDS][point].read()?.0;
            if found != expected {
                let task = Stamp::new(last + 1, point);
                return Err(BenchError::Stamp(StampError { task, expected, found: Some(found) }));
            }
        }
        Ok(())
    }

    fn tasks(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let graph = self.graph;
        (0..graph.steps()).flat_map(move |step| (0..graph.width_at(step)).map(move |point| (step, point)))
    }

    fn dependencies_of(&self, step: usize, point: usize) -> &[usize] {
        self.dependencies[step * self.graph.width() + point].as_slice()
    }

    fn work(&self, (step, point): (usize, usize)) -> Work {
        // A graph's width and steps are below 2^32.
        let (width, steps) = (self.graph.width() as u32, self.graph.steps() as u32);
        let (step, point) = (step as u32, point as u32);
        Work { compute: self.compute, pattern: self.graph.pattern(), width, steps, step, point }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_finds_its_stamps_on_every_engine() {
        let with = |workers, policy: &str| Loom::builder().workers(workers).policy(policy).build().unwrap();
        for loom in [Loom::serial(), with(1, "lws"), with(2, "lws"), with(3, "eager")] {
            for pattern in Pattern::ALL {
                for width in [1, 2, 7, 16] {
                    let graph = Graph::new(pattern, width, 30).unwrap();
                    let bench = Bench::new(&loom, graph, Compute::detect());
                    let plan = bench.capture().unwrap();
                    assert_eq!(plan.len() as u64, graph.tasks());
                    for iterations in [1, 3] {
                        let run = bench.run_dynamic(iterations).unwrap();
                        assert_eq!((run.tasks, run.flops), (graph.tasks(), graph.tasks() as f64 * flops(iterations)));
                        assert_eq!(bench.run_plan(&plan, iterations).unwrap().flops, run.flops, "{pattern}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_run_that_leaves_tasks_out_is_noticed() {
        let loom = Loom::serial();
        let bench = Bench::new(&loom, Graph::new(Pattern::Trivial, 2, 3).unwrap(), Compute::detect());
        let nothing = loom.capture("nothing").plan().unwrap();
        let error = bench.run_plan(&nothing, 1).unwrap_err();
        assert!(matches!(error, BenchError::Stamp(_)), "{error}");
    }

    #[test]
    fn a_task_that_runs_too_early_fails() {
        let loom = Loom::builder().workers(1).build().unwrap();
        let graph = Graph::new(Pattern::Stencil1d, 4, 9).unwrap();
        let bench = Bench::new(&loom, graph, Compute::detect());
        // The tasks of the second half only, which find the stamps of no task.
        for at in bench.tasks().skip(20) {
            let work = bench.work(at);
            add!(loom, &bench, at, try_run, |inputs, output| work.run(1, inputs, output));
        }
        assert!(loom.wait_all().unwrap_err().message().contains("needs what step 4"));
    }

    #[test]
    fn the_work_of_a_task_fits_into_a_record_of_the_engine() {
        assert!(size_of::<(Work, u64)>() <= 48);
    }
}
