//! What a task leaves behind, and how the next one checks it.
//!
//! Each point has [`FIELDS`] cells that take turns: a task of step s writes the cell `s % FIELDS` of its point and
//! reads the other cell of the points it depends on. One cell would not do, because a neighbour of the same step may
//! still have to read it. With two, a task that runs before one of its inputs, or after an input was overwritten, finds
//! the wrong stamp.

use super::compute::Compute;
use super::pattern::Graph;
use std::fmt;

/// Cells of a point.
pub const FIELDS: usize = 2;

/// Which task wrote a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The step, counted from one, so that a cell that was never written has the stamp of no task.
    step: u32,
    point: u32,
}

impl Stamp {
    /// The stamp of a task of a [`Graph`], whose steps and points are below 2^32 - 1. Larger numbers are cut off.
    pub fn new(step: usize, point: usize) -> Stamp {
        Stamp { step: step.wrapping_add(1) as u32, point: point as u32 }
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step.checked_sub(1) {
            Some(step) => write!(f, "step {step}, point {}", self.point),
            None => f.write_str("no task"),
        }
    }
}

/// A task ran with a wrong input: it came too early, or too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StampError {
    /// The task that looked.
    pub task: Stamp,
    /// What it should have found.
    pub expected: Stamp,
    /// What it found; nothing if it was given too few inputs.
    pub found: Option<Stamp>,
}

impl fmt::Display for StampError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the task of {} needs what {} wrote, but ", self.task, self.expected)?;
        match self.found {
            Some(found) => write!(f, "found what {found} wrote"),
            None => f.write_str("was given too few inputs"),
        }
    }
}

impl std::error::Error for StampError {}

/// The body of a task: checks the inputs, which come in the order of [`Graph::dependencies`], runs the kernel, and
/// stamps the output.
///
/// # Errors
/// When an input was not written by the task it should come from. The kernel does not run then.
pub fn run_task<'a>(
    graph: Graph,
    compute: Compute,
    iterations: u64,
    (step, point): (usize, usize),
    inputs: impl IntoIterator<Item = &'a Stamp>,
    output: &mut Stamp,
) -> Result<(), StampError> {
    let task = Stamp::new(step, point);
    let mut inputs = inputs.into_iter();
    for &dependency in graph.dependencies(step, point).as_slice() {
        // A dependency is in a step before this one, so there is one.
        let expected = Stamp::new(step - 1, dependency);
        let found = inputs.next().copied();
        if found != Some(expected) {
            return Err(StampError { task, expected, found });
        }
    }
    std::hint::black_box(compute.run(iterations));
    *output = task;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::pattern::Pattern;
    use super::*;

    fn stencil(inputs: &[Stamp]) -> (Result<(), StampError>, Stamp) {
        let graph = Graph::new(Pattern::Stencil1d, 8, 10).unwrap();
        let mut output = Stamp::default();
        (run_task(graph, Compute::detect(), 1, (4, 2), inputs, &mut output), output)
    }

    #[test]
    fn a_task_with_the_right_inputs_leaves_its_stamp() {
        let (result, output) = stencil(&[Stamp::new(3, 1), Stamp::new(3, 2), Stamp::new(3, 3)]);
        assert_eq!(result, Ok(()));
        assert_eq!(output, Stamp::new(4, 2));
    }

    #[test]
    fn a_task_that_comes_too_early_or_too_late_says_so() {
        for (wrong, text) in [
            (Stamp::new(1, 2), "found what step 1, point 2 wrote"),
            (Stamp::new(5, 2), "found what step 5, point 2 wrote"),
            (Stamp::default(), "found what no task wrote"),
        ] {
            let (result, output) = stencil(&[Stamp::new(3, 1), wrong, Stamp::new(3, 3)]);
            let message = format!("the task of step 4, point 2 needs what step 3, point 2 wrote, but {text}");
            assert_eq!(result.unwrap_err().to_string(), message);
            assert_eq!(output, Stamp::default());
        }
        let (result, _) = stencil(&[Stamp::new(3, 1)]);
        assert_eq!(result.unwrap_err().found, None);
    }
}
