//! Tiles as regions, and the operations as tasks on them.
//!
//! The tiles are the blocks of one vector, so that a plan has one region however many tiles there are. Each operation
//! becomes one task that updates a tile and reads up to two others; the engine finds the order. A task's priority is the
//! number of tasks on the longest path that starts with it, for policies that look at priorities; a plan finds it by
//! itself.

use std::fmt;

use drawloom_runtime::{Error, Loom, Plan, ReadGuard, Region, Vector};

use super::check::max_error;
use super::kernel::Kernels;
use super::layout::{Layout, LayoutError, Operation, Order};
use super::line::{Line, lines_for, numbers, numbers_mut};
use super::matrix::Spd;

/// The tiles of a matrix, as regions of a runtime.
pub struct Tiles {
    loom: Loom,
    layout: Layout,
    whole: Vector<Line>,
    /// In the order of [`Layout::index`].
    tiles: Vec<Vector<Line>>,
}

/// Why tiles cannot be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum TilesError {
    /// The tiles do not fit into memory.
    Layout(LayoutError),
    /// The engine refused.
    Engine(Error),
}

impl fmt::Display for TilesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TilesError::Layout(error) => error.fmt(f),
            TilesError::Engine(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TilesError {}

impl From<Error> for TilesError {
    fn from(error: Error) -> Self {
        TilesError::Engine(error)
    }
}

/// Adds the task of one operation to a runtime or to a recording: both have the same builder, but no type in common.
macro_rules! add {
    ($to:expr, $tiles:expr, $kernels:expr, $operation:expr, $priority:expr) => {{
        let (tiles, kernels, operation): (&Tiles, Kernels, Operation) = ($tiles, $kernels, $operation);
        let (size, len) = (tiles.layout.tile(), tiles.layout.tile_len());
        let task = $to.task(operation.name()).priority($priority);
        match operation {
            Operation::Potrf { k } => {
                task.update(tiles.at(k, k))
                    .try_run(move |tile| operation.run(kernels, size, &[], numbers_mut(tile, len)));
            }
            Operation::Trsm { row, k } => {
                task.update(tiles.at(row, k))
                    .read(tiles.at(k, k))
                    .run(move |tile, factor| kernels.trsm(numbers(factor, len), numbers_mut(tile, len), size));
            }
            Operation::Syrk { row, k } => {
                task.update(tiles.at(row, row))
                    .read(tiles.at(row, k))
                    .run(move |tile, panel| kernels.syrk(numbers(panel, len), numbers_mut(tile, len), size));
            }
            Operation::Gemm { row, column, k } => {
                task.update(tiles.at(row, column)).read(tiles.at(row, k)).read(tiles.at(column, k)).run(
                    move |tile, left, right| {
                        kernels.gemm(numbers(left, len), numbers(right, len), numbers_mut(tile, len), size);
                    },
                );
            }
        }
    }};
}

impl Tiles {
    /// Tiles of zeros.
    ///
    /// # Errors
    /// When they do not fit into memory, or are too many for the engine.
    pub fn new(loom: &Loom, layout: Layout) -> Result<Tiles, TilesError> {
        let too_large = || TilesError::Layout(LayoutError::TooLarge { n: layout.n(), tile: layout.tile() });
        let lines = lines_for(layout.tile_len()).checked_mul(layout.tiles()).ok_or_else(too_large)?;
        let mut data = Vec::new();
        data.try_reserve_exact(lines).map_err(|_| too_large())?;
        data.resize(lines, Line::default());
        let whole = loom.vector("a", data);
        let tiles = whole.blocks(layout.tiles())?.collect();
        Ok(Tiles { loom: loom.clone(), layout, whole, tiles })
    }

    /// How the matrix is cut.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Overwrites every tile with that of a matrix, and waits until that is done.
    ///
    /// # Errors
    /// When something that was submitted before has failed.
    ///
    /// # Panics
    /// When the layouts differ.
    pub fn fill(&self, matrix: Spd) -> Result<(), Error> {
        assert_eq!(self.layout, matrix.layout(), "the layouts of a matrix and its tiles");
        self.fill_with(move |row, column, tile| matrix.fill(row, column, tile))
    }

    /// Overwrites every tile with what a function makes of its row and its column, and waits until that is done.
    ///
    /// # Errors
    /// When something that was submitted before has failed.
    pub fn fill_with<F>(&self, make: F) -> Result<(), Error>
    where
        F: Fn(usize, usize, &mut [f64]) + Copy + Send + 'static,
    {
        let len = self.layout.tile_len();
        for ((row, column), tile) in self.layout.coordinates().zip(&self.tiles) {
            self.loom.task("fill").write(tile).run(move |tile| make(row, column, numbers_mut(tile, len)));
        }
        self.loom.wait_all()
    }

    /// Submits the factorisation, [`Layout::tasks`] tasks, and does not wait for it.
    ///
    /// When the matrix is not positive definite, the task that finds out fails, and so does the next wait.
    pub fn submit(&self, kernels: Kernels, order: Order) {
        for operation in self.layout.operations(order) {
            add!(self.loom, self, kernels, operation, priority(self.layout, operation));
        }
    }

    /// Records the factorisation.
    ///
    /// # Errors
    /// When the plan cannot be made; the tasks are too many, for example.
    pub fn capture(&self, kernels: Kernels, order: Order) -> Result<Plan, Error> {
        let capture = self.loom.capture("cholesky");
        for operation in self.layout.operations(order) {
            add!(capture, self, kernels, operation, 0);
        }
        capture.plan()
    }

    /// Waits for what was submitted, and gives access to the tiles.
    ///
    /// # Errors
    /// When a task that should have written them failed.
    pub fn factor(&self) -> Result<Factor, Error> {
        Ok(Factor { layout: self.layout, lines: self.whole.read()? })
    }

    fn at(&self, row: usize, column: usize) -> &Vector<Line> {
        &self.tiles[self.layout.index(row, column)]
    }
}

/// The tiles as they are after everything that was submitted before. Nobody changes them meanwhile.
pub struct Factor {
    layout: Layout,
    lines: ReadGuard<Vector<Line>>,
}

impl Factor {
    /// A tile of the lower triangle.
    ///
    /// # Panics
    /// When the tile is not in the lower triangle.
    pub fn tile(&self, row: usize, column: usize) -> &[f64] {
        let len = self.layout.tile_len();
        let lines = lines_for(len);
        numbers(&self.lines[self.layout.index(row, column) * lines..][..lines], len)
    }

    /// How far the tiles are from the factor of a matrix. See [`max_error`].
    pub fn max_error(&self, kernels: Kernels, matrix: Spd) -> f64 {
        max_error(kernels, matrix, |row, column| self.tile(row, column))
    }
}

/// The number of tasks on the longest path from an operation to the end.
///
/// From tile (i, j) at step k it leads through the rest of the updates of that tile, its solution, and then from the
/// diagonal tile of row i to the last one by three tasks a step. All four kernels give the same sum.
fn priority(layout: Layout, operation: Operation) -> i32 {
    let (row, column) = operation.updates();
    let k = match operation {
        Operation::Potrf { k } | Operation::Trsm { k, .. } | Operation::Syrk { k, .. } | Operation::Gemm { k, .. } => k,
    };
    i32::try_from(3 * layout.side() - 2 - (row + column + k)).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::matrix::TiledMatrix;
    use super::*;

    fn matrix() -> Spd {
        Spd::new(Layout::new(75, 11).unwrap(), 3)
    }

    /// The bits of what a way to factor a matrix leaves behind.
    fn bits(loom: &Loom, factor: impl FnOnce(&Tiles)) -> Vec<u64> {
        let tiles = Tiles::new(loom, matrix().layout()).unwrap();
        tiles.fill(matrix()).unwrap();
        factor(&tiles);
        let factor = tiles.factor().unwrap();
        let coordinates = matrix().layout().coordinates();
        coordinates.flat_map(|(row, column)| factor.tile(row, column).to_vec()).map(f64::to_bits).collect()
    }

    #[test]
    fn every_engine_order_and_policy_gives_the_bits_of_the_serial_loop() {
        let kernels = Kernels::detect();
        let mut serial = TiledMatrix::new(matrix()).unwrap();
        serial.factor_serial(kernels, Order::Right).unwrap();
        let coordinates = matrix().layout().coordinates();
        let expected: Vec<u64> =
            coordinates.flat_map(|(row, column)| serial.tile(row, column).to_vec()).map(f64::to_bits).collect();
        let with = |workers, policy: &str| Loom::builder().workers(workers).policy(policy).build().unwrap();
        for loom in [Loom::serial(), with(1, "lws"), with(3, "lws"), with(2, "eager"), with(2, "prio")] {
            for order in [Order::Left, Order::Right] {
                let submitted = bits(&loom, |tiles| {
                    tiles.submit(kernels, order);
                    loom.wait_all().unwrap();
                });
                assert!(submitted == expected, "submitted, {order:?}, {} workers", loom.workers());
                let replayed = bits(&loom, |tiles| {
                    let plan = tiles.capture(kernels, order).unwrap();
                    assert_eq!(plan.len() as u64, matrix().layout().tasks());
                    plan.run().unwrap();
                    tiles.fill(matrix()).unwrap();
                    plan.run().unwrap();
                });
                assert!(replayed == expected, "replayed, {order:?}, {} workers", loom.workers());
            }
        }
    }

    #[test]
    fn the_factor_is_one() {
        let loom = Loom::builder().workers(2).build().unwrap();
        let tiles = Tiles::new(&loom, matrix().layout()).unwrap();
        tiles.fill(matrix()).unwrap();
        assert!(tiles.factor().unwrap().max_error(Kernels::detect(), matrix()) > 1e-3, "not yet factored");
        tiles.submit(Kernels::detect(), Order::Left);
        assert!(tiles.factor().unwrap().max_error(Kernels::detect(), matrix()) < 1e-14);
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_is_an_error_that_names_the_task_and_the_pivot() {
        let layout = Layout::new(40, 8).unwrap();
        // Positive definite but for one element of the diagonal.
        let make = move |row: usize, column: usize, tile: &mut [f64]| {
            Spd::new(layout, 1).fill(row, column, tile);
            if (row, column) == (2, 2) {
                tile[3 + 3 * 8] = -1.0;
            }
        };
        for loom in [Loom::serial(), Loom::builder().workers(2).build().unwrap()] {
            let tiles = Tiles::new(&loom, layout).unwrap();
            tiles.fill_with(make).unwrap();
            tiles.submit(Kernels::detect(), Order::Right);
            let error = loom.wait_all().unwrap_err();
            assert_eq!(error.task().unwrap().name, "potrf");
            assert!(error.message().contains("19"), "the pivot is counted in the whole matrix: {error}");
            assert!(error.cancelled_tasks().iter().any(|task| task.name == "trsm"), "{error}");
            assert!(tiles.factor().is_err(), "what was not computed cannot be read");

            tiles.fill_with(make).unwrap();
            let plan = tiles.capture(Kernels::detect(), Order::Right).unwrap();
            let error = plan.run().unwrap_err();
            assert_eq!((error.task().unwrap().name.as_str(), error.message().contains("19")), ("potrf", true));
        }
    }

    #[test]
    fn priorities_are_the_lengths_of_the_longest_paths() {
        let layout = Layout::new(30, 3).unwrap();
        let operations: Vec<Operation> = layout.operations(Order::Right).collect();
        // The next operation on the updated tile waits for this one, and so does everyone who reads the finished tile.
        let mut longest: HashMap<Operation, i32> = HashMap::new();
        for (at, &operation) in operations.iter().enumerate().rev() {
            let later = operations[at + 1..].iter().filter(|later| {
                later.updates() == operation.updates() || later.reads().any(|read| read == operation.updates())
            });
            let most = later.map(|later| longest[later]).max().unwrap_or(0);
            longest.insert(operation, most + 1);
        }
        for operation in operations {
            assert_eq!(priority(layout, operation), longest[&operation], "{operation:?}");
        }
    }

    #[test]
    fn tiles_that_do_not_fit_into_memory_are_an_error() {
        let layout = Layout::new(1 << 30, 1 << 10).unwrap();
        let refused = Tiles::new(&Loom::serial(), layout).err().unwrap();
        assert!(refused.to_string().contains("does not fit into memory"), "{refused}");
    }
}
