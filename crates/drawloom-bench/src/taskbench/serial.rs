//! The graph without a runtime: one loop, in order of steps.

use super::compute::{Compute, flops};
use super::pattern::{Graph, Pattern};
use super::stamp::{FIELDS, Stamp, StampError, run_task};
use std::time::{Duration, Instant};

/// What a run took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Tasks that ran.
    pub tasks: u64,
    /// Time from the first to the last.
    pub wall: Duration,
    /// Floating-point operations of all tasks.
    pub flops: f64,
}

impl Run {
    /// Operations in a second.
    pub fn rate(&self) -> f64 {
        self.flops / self.wall.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// Runs a graph on this thread.
///
/// # Errors
/// When a task finds a wrong input. That would be an error of this loop.
pub fn run_serial(graph: Graph, compute: Compute, iterations: u64) -> Result<Run, StampError> {
    let width = graph.width();
    let mut fields: [Vec<Stamp>; FIELDS] = std::array::from_fn(|_| vec![Stamp::default(); width]);
    let start = Instant::now();
    for step in 0..graph.steps() {
        let [even, odd] = &mut fields;
        let (output, input) = if step % FIELDS == 0 { (even, odd) } else { (odd, even) };
        for (point, output) in output.iter_mut().enumerate().take(graph.width_at(step)) {
            let dependencies = graph.dependencies(step, point);
            let inputs = dependencies.as_slice().iter().map(|&point| &input[point]);
            run_task(graph, compute, iterations, (step, point), inputs, output)?;
        }
    }
    Ok(Run { tasks: graph.tasks(), wall: start.elapsed(), flops: graph.tasks() as f64 * flops(iterations) })
}

/// The best rate of the serial loop, in operations per second: what one worker can reach at most, and the yardstick of
/// every runtime. Takes about `repetitions` times 10 milliseconds.
///
/// # Errors
/// As for [`run_serial`].
pub fn reference_rate(compute: Compute, repetitions: usize) -> Result<f64, StampError> {
    const STEPS: usize = 100;
    // Tasks so large that the loop around them does not show: about 100 microseconds.
    const ITERATIONS: u64 = 1 << 16;
    let graph = Graph::new(Pattern::Trivial, 1, STEPS).expect("a broken invariant: a graph of 100 tasks exists");
    let mut best = 0.0_f64;
    for _ in 0..repetitions.max(1) {
        best = best.max(run_serial(graph, compute, ITERATIONS)?.rate());
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_serial_loop_runs_every_pattern_in_order() {
        for pattern in Pattern::ALL {
            for width in [1, 2, 3, 16] {
                let graph = Graph::new(pattern, width, 40).unwrap();
                let run = run_serial(graph, Compute::detect(), 1).unwrap();
                assert_eq!(run.tasks, graph.tasks(), "{pattern} of width {width}");
                assert_eq!(run.flops, graph.tasks() as f64 * 192.0);
            }
        }
    }

    #[test]
    fn the_reference_rate_is_a_rate() {
        let rate = reference_rate(Compute::detect(), 1).unwrap();
        assert!(rate.is_finite() && rate > 0.0);
    }
}
