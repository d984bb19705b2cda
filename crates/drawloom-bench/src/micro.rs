//! The smallest tasks, in six shapes: what a task costs.
//!
//! The bodies do next to nothing, but what they leave behind tells whether the tasks ran in the right order, as often as
//! they should ([`Cells::check`]). `benchmarks/peers/patterns.h` holds the same shapes for other runtimes.

use std::fmt;
use std::hint::black_box;
use std::str::FromStr;

use drawloom_runtime::{Error, Loom, Plan, Region, Value};

/// Cells of the shape with independent chains.
const CHAINS: usize = 64;
/// Cells of one generation of the stencil.
const WIDTH: usize = 16;
/// All cells.
const CELLS: usize = CHAINS;

/// Which tasks wait for which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Tasks without data.
    Independent,
    /// Each task updates the same cell.
    Chain,
    /// Task i updates cell i mod 64.
    Chains64,
    /// Every task reads the same cell.
    Readers,
    /// 16 cells, two generations: a task writes a cell of the new one, and reads the three around it in the old one.
    Stencil,
    /// One task without data at a time, each waited for.
    RoundTrip,
}

impl Shape {
    /// Every shape.
    pub const ALL: [Shape; 6] =
        [Shape::Independent, Shape::Chain, Shape::Chains64, Shape::Readers, Shape::Stencil, Shape::RoundTrip];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Independent => "independent",
            Shape::Chain => "chain",
            Shape::Chains64 => "chains64",
            Shape::Readers => "readers",
            Shape::Stencil => "stencil",
            Shape::RoundTrip => "roundtrip",
        }
    }

    /// About so many tasks: a stencil has whole generations only.
    pub fn round(self, tasks: u64) -> u64 {
        let whole = if self == Shape::Stencil { WIDTH as u64 } else { 1 };
        (tasks / whole * whole).max(whole)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(name: &str) -> Result<Shape, String> {
        let named = Shape::ALL.into_iter().find(|shape| shape.name() == name);
        named.ok_or_else(|| format!("there is no `{name}`; there are {}", Shape::ALL.map(Shape::name).join(", ")))
    }
}

/// A number alone on its cache line, so that neighbours do not disturb each other.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
pub struct Cell(u64);

/// The cells that tasks work on.
pub struct Cells {
    loom: Loom,
    cells: Vec<Value<Cell>>,
}

/// Adds the tasks of a shape to a runtime or to a recording: both have the same builder, but no type in common.
macro_rules! add {
    ($to:expr, $cells:expr, $shape:expr, $tasks:expr) => {{
        let (cells, tasks): (&[Value<Cell>], u64) = ($cells, $tasks);
        match $shape {
            Shape::Independent | Shape::RoundTrip => {
                for _ in 0..tasks {
                    $to.task("empty").run(|| ());
                }
            }
            Shape::Chain => {
                for _ in 0..tasks {
                    $to.task("add").update(&cells[0]).run(|cell| cell.0 += 1);
                }
            }
            Shape::Chains64 => {
                for task in 0..tasks {
                    $to.task("add").update(&cells[task as usize % CHAINS]).run(|cell| cell.0 += 1);
                }
            }
            Shape::Readers => {
                for _ in 0..tasks {
                    $to.task("look").read(&cells[0]).run(|cell| _ = black_box(cell.0));
                }
            }
            Shape::Stencil => {
                for step in 0..tasks as usize / WIDTH {
                    let (now, before) = (&cells[generation(step)..], &cells[generation(step + 1)..]);
                    for point in 0..WIDTH {
                        let near = |offset: usize| &before[(point + offset) % WIDTH];
                        let task =
                            $to.task("step").write(&now[point]).read(near(WIDTH - 1)).read(near(0)).read(near(1));
                        task.run(|cell, left, middle, right| cell.0 = left.0.max(middle.0).max(right.0) + 1);
                    }
                }
            }
        }
    }};
}

impl Cells {
    /// Cells of zero.
    pub fn new(loom: &Loom) -> Cells {
        let cells = (0..CELLS).map(|cell| loom.host_value(format!("cell{cell}"), Cell::default())).collect();
        Cells { loom: loom.clone(), cells }
    }

    /// Puts zero into every cell.
    ///
    /// # Errors
    /// When something that was submitted before has failed.
    pub fn wipe(&self) -> Result<(), Error> {
        self.cells.iter().try_for_each(|cell| cell.set(Cell::default()))
    }

    /// Submits `tasks` tasks of a shape, which [`Shape::round`] has rounded. Waits for none of them, but for those of
    /// round trips.
    ///
    /// # Errors
    /// When a round trip fails.
    pub fn submit(&self, shape: Shape, tasks: u64) -> Result<(), Error> {
        if shape == Shape::RoundTrip {
            return (0..tasks).try_for_each(|_| self.loom.task("empty").run(|| ()).wait());
        }
        add!(self.loom, &self.cells, shape, tasks);
        Ok(())
    }

    /// Records the same tasks.
    ///
    /// # Errors
    /// When the plan cannot be made.
    pub fn capture(&self, shape: Shape, tasks: u64) -> Result<Plan, Error> {
        let capture = self.loom.capture(shape.name());
        add!(capture, &self.cells, shape, tasks);
        capture.plan()
    }

    /// Compares the cells with what the tasks of one run should have left in them, and says what is wrong.
    ///
    /// # Errors
    /// When a task that touches a cell failed.
    pub fn check(&self, shape: Shape, tasks: u64) -> Result<Option<String>, Error> {
        for (at, cell) in self.cells.iter().enumerate() {
            let (expected, found) = (expected(shape, tasks, at), cell.read()?.0);
            if found != expected {
                return Ok(Some(format!("{shape}: cell {at} holds {found} and should hold {expected}")));
            }
        }
        Ok(None)
    }
}

/// Where the generation that a step writes begins.
fn generation(step: usize) -> usize {
    step % 2 * WIDTH
}

fn expected(shape: Shape, tasks: u64, cell: usize) -> u64 {
    let steps = tasks / WIDTH as u64;
    match shape {
        Shape::Chain if cell == 0 => tasks,
        Shape::Chains64 => tasks / CHAINS as u64 + u64::from((cell as u64) < tasks % CHAINS as u64),
        // The generation of the last step holds the number of steps, the other one that of the step before.
        Shape::Stencil if cell < 2 * WIDTH && steps > 0 => steps - u64::from(cell / WIDTH != (steps - 1) as usize % 2),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_leaves_what_it_should_on_every_engine() {
        for loom in
            [Loom::serial(), Loom::builder().workers(1).build().unwrap(), Loom::builder().workers(3).build().unwrap()]
        {
            let cells = Cells::new(&loom);
            for shape in Shape::ALL {
                for tasks in [1, 17, 1000] {
                    let tasks = shape.round(tasks);
                    cells.wipe().unwrap();
                    cells.submit(shape, tasks).unwrap();
                    assert_eq!(cells.check(shape, tasks).unwrap(), None);
                    let plan = cells.capture(shape, tasks).unwrap();
                    assert_eq!(plan.len() as u64, tasks);
                    for _ in 0..2 {
                        cells.wipe().unwrap();
                        plan.run().unwrap();
                        assert_eq!(cells.check(shape, tasks).unwrap(), None, "replayed");
                    }
                }
            }
        }
    }

    #[test]
    fn a_task_too_few_is_noticed() {
        let loom = Loom::serial();
        let cells = Cells::new(&loom);
        for shape in [Shape::Chain, Shape::Chains64, Shape::Stencil] {
            cells.wipe().unwrap();
            cells.submit(shape, 32).unwrap();
            let wrong = cells.check(shape, 48).unwrap().unwrap();
            assert!(wrong.starts_with(shape.name()), "{wrong}");
        }
        assert_eq!(cells.check(Shape::Readers, 1).unwrap().unwrap(), "readers: cell 0 holds 1 and should hold 0");
    }

    #[test]
    fn names_lead_back_to_shapes_and_sizes_are_rounded() {
        for shape in Shape::ALL {
            assert_eq!(shape.name().parse(), Ok(shape));
        }
        assert!("stencil_1d".parse::<Shape>().unwrap_err().contains("independent, chain, chains64"));
        assert_eq!([0, 15, 40].map(|tasks| Shape::Stencil.round(tasks)), [16, 16, 32]);
        assert_eq!([0, 7].map(|tasks| Shape::Chain.round(tasks)), [1, 7]);
    }
}
