//! How a matrix is cut into tiles, and the operations that factor it.
//!
//! Only the lower triangle of tiles is stored, column of tiles after column of tiles. When the tile size does not
//! divide the matrix, the last row of tiles is filled up with the identity: the factor of a matrix with an identity in
//! its corner is the factor of the matrix with the same identity, so every tile stays square and every task alike.

use super::kernel::{Kernels, NotPositive};
use std::fmt;

/// The size of a matrix and of its tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    n: usize,
    tile: usize,
    side: usize,
}

/// Why a matrix cannot be laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LayoutError {
    /// The matrix or the tiles have no elements.
    Empty {
        /// Rows of the matrix.
        n: usize,
        /// Rows of a tile.
        tile: usize,
    },
    /// The elements or the tasks are too many to be counted, or the elements do not fit into memory.
    TooLarge {
        /// Rows of the matrix.
        n: usize,
        /// Rows of a tile.
        tile: usize,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutError::Empty { n, tile } => {
                write!(f, "a matrix of {n} rows in tiles of {tile} rows has nothing to factor; both must be at least 1")
            }
            LayoutError::TooLarge { n, tile } => {
                write!(f, "a matrix of {n} rows in tiles of {tile} rows does not fit into memory")
            }
        }
    }
}

impl std::error::Error for LayoutError {}

impl Layout {
    /// A matrix of `n` by `n` elements in tiles of `tile` by `tile`. A tile may be larger than the matrix.
    ///
    /// # Errors
    /// When either is zero, or when the elements or the tasks cannot be counted.
    pub fn new(n: usize, tile: usize) -> Result<Layout, LayoutError> {
        if n == 0 || tile == 0 {
            return Err(LayoutError::Empty { n, tile });
        }
        let layout = Layout { n, tile, side: n.div_ceil(tile) };
        let side = layout.side as u128;
        // A slice has at most `isize::MAX` bytes, and a loop counts its tasks.
        let tiles = side * (side + 1) / 2;
        let bytes = (tile as u128 * tile as u128).checked_mul(tiles).and_then(|elements| elements.checked_mul(8));
        let tasks = tiles.checked_mul(side + 2);
        let fits = bytes.is_some_and(|bytes| bytes <= isize::MAX as u128)
            && tasks.is_some_and(|tasks| tasks / 3 <= u64::MAX as u128);
        if fits { Ok(layout) } else { Err(LayoutError::TooLarge { n, tile }) }
    }

    /// Rows of the matrix.
    pub fn n(self) -> usize {
        self.n
    }

    /// Rows of a tile.
    pub fn tile(self) -> usize {
        self.tile
    }

    /// Tiles on a side, T.
    pub fn side(self) -> usize {
        self.side
    }

    /// Tiles that are stored: T (T + 1) / 2.
    pub fn tiles(self) -> usize {
        self.side * (self.side + 1) / 2
    }

    /// Elements of a tile.
    pub fn tile_len(self) -> usize {
        self.tile * self.tile
    }

    /// Where tile (`row`, `column`) comes among the stored ones: the first column from the diagonal down, then the
    /// next.
    ///
    /// # Panics
    /// When the tile is not in the lower triangle.
    pub fn index(self, row: usize, column: usize) -> usize {
        assert!(
            column <= row && row < self.side,
            "tile ({row}, {column}) of a lower triangle of {0} by {0}",
            self.side
        );
        column * self.side - column * (column + 1) / 2 + row
    }

    /// The tiles that are stored, in the order of [`index`](Self::index).
    pub fn coordinates(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.side).flat_map(move |column| (column..self.side).map(move |row| (row, column)))
    }

    /// Tasks of the factorisation: T (T + 1) (T + 2) / 6.
    pub fn tasks(self) -> u64 {
        let side = self.side as u128;
        (side * (side + 1) / 2 * (side + 2) / 3) as u64
    }

    /// Floating-point operations of the factorisation, n^3 / 3 by convention.
    pub fn flops(self) -> f64 {
        (self.n as f64).powi(3) / 3.0
    }

    /// The operations that factor the matrix, in an order in which they may be run or submitted.
    pub fn operations(self, order: Order) -> impl Iterator<Item = Operation> {
        let side = self.side;
        (0..side).flat_map(move |step| {
            let left = (order == Order::Left).then(|| left_column(side, step));
            let right = (order == Order::Right).then(|| right_step(side, step));
            left.into_iter().flatten().chain(right.into_iter().flatten())
        })
    }
}

/// In which order the operations come. Every tile sees the same ones in the same order, so the result is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Column after column: all updates of a tile, then the tile is finished. A tile that is being updated stays in the
    /// cache.
    Left,
    /// Step after step: when a column is finished, everything to its right is updated. Many tiles are ready at once.
    Right,
}

fn left_column(side: usize, column: usize) -> impl Iterator<Item = Operation> {
    let diagonal = (0..column).map(move |k| Operation::Syrk { row: column, k });
    let below = (column + 1..side).flat_map(move |row| {
        let updates = (0..column).map(move |k| Operation::Gemm { row, column, k });
        updates.chain([Operation::Trsm { row, k: column }])
    });
    diagonal.chain([Operation::Potrf { k: column }]).chain(below)
}

fn right_step(side: usize, k: usize) -> impl Iterator<Item = Operation> {
    let solves = (k + 1..side).map(move |row| Operation::Trsm { row, k });
    let updates = (k + 1..side).flat_map(move |column| {
        let below = (column + 1..side).map(move |row| Operation::Gemm { row, column, k });
        [Operation::Syrk { row: column, k }].into_iter().chain(below)
    });
    [Operation::Potrf { k }].into_iter().chain(solves).chain(updates)
}

/// One task of the factorisation. A tile is named by its row and its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Factors tile (k, k).
    Potrf {
        /// The step.
        k: usize,
    },
    /// Divides tile (row, k) by the factor of (k, k).
    Trsm {
        /// The tile's row.
        row: usize,
        /// The step.
        k: usize,
    },
    /// Subtracts the product of tile (row, k) with itself from (row, row).
    Syrk {
        /// The tile's row and column.
        row: usize,
        /// The step.
        k: usize,
    },
    /// Subtracts the product of tiles (row, k) and (column, k) from (row, column).
    Gemm {
        /// The tile's row.
        row: usize,
        /// The tile's column.
        column: usize,
        /// The step.
        k: usize,
    },
}

impl Operation {
    /// The name of the kernel.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Potrf { .. } => "potrf",
            Operation::Trsm { .. } => "trsm",
            Operation::Syrk { .. } => "syrk",
            Operation::Gemm { .. } => "gemm",
        }
    }

    /// The tile that is read and written.
    pub fn updates(self) -> (usize, usize) {
        match self {
            Operation::Potrf { k } => (k, k),
            Operation::Trsm { row, k } => (row, k),
            Operation::Syrk { row, .. } => (row, row),
            Operation::Gemm { row, column, .. } => (row, column),
        }
    }

    /// The tiles that are only read: none, one or two.
    pub fn reads(self) -> impl Iterator<Item = (usize, usize)> {
        let (first, second) = match self {
            Operation::Potrf { .. } => (None, None),
            Operation::Trsm { k, .. } => (Some((k, k)), None),
            Operation::Syrk { row, k } => (Some((row, k)), None),
            Operation::Gemm { row, column, k } => (Some((row, k)), Some((column, k))),
        };
        first.into_iter().chain(second)
    }

    /// Runs the kernel. `reads` are the tiles of [`reads`](Self::reads) in their order, `updated` is that of
    /// [`updates`](Self::updates).
    ///
    /// # Errors
    /// When the matrix is not positive definite; the pivot is counted in the whole matrix.
    ///
    /// # Panics
    /// When there are too few tiles, or a tile does not have `tile * tile` elements.
    pub fn run(self, kernels: Kernels, tile: usize, reads: &[&[f64]], updated: &mut [f64]) -> Result<(), NotPositive> {
        match self {
            Operation::Potrf { k } => {
                return kernels
                    .potrf(updated, tile)
                    .map_err(|NotPositive { pivot }| NotPositive { pivot: pivot + k * tile });
            }
            Operation::Trsm { .. } => kernels.trsm(reads[0], updated, tile),
            Operation::Syrk { .. } => kernels.syrk(reads[0], updated, tile),
            Operation::Gemm { .. } => kernels.gemm(reads[0], reads[1], updated, tile),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_operations_is_that_of_the_formula_in_either_order() {
        for side in 1..=12 {
            let layout = Layout::new(side * 3, 3).unwrap();
            for order in [Order::Left, Order::Right] {
                assert_eq!(layout.operations(order).count() as u64, layout.tasks(), "{side} tiles, {order:?}");
            }
        }
        assert_eq!(Layout::new(2048, 64).unwrap().tasks(), 5984);
        assert_eq!(Layout::new(2048, 32).unwrap().tasks(), 45760);
        assert_eq!(Layout::new(4096, 256).unwrap().tasks(), 816);
    }

    #[test]
    fn every_tile_sees_the_same_operations_in_either_order() {
        let layout = Layout::new(50, 7).unwrap();
        let of = |order, tile| layout.operations(order).filter(|o| o.updates() == tile).collect::<Vec<_>>();
        for tile in layout.coordinates() {
            assert_eq!(of(Order::Left, tile), of(Order::Right, tile), "tile {tile:?}");
        }
    }

    #[test]
    fn a_tile_is_finished_before_it_is_read() {
        let layout = Layout::new(50, 7).unwrap();
        for order in [Order::Left, Order::Right] {
            let mut finished = vec![false; layout.tiles()];
            for operation in layout.operations(order) {
                for (row, column) in operation.reads() {
                    assert!(finished[layout.index(row, column)], "{operation:?} reads ({row}, {column}), {order:?}");
                }
                if matches!(operation, Operation::Potrf { .. } | Operation::Trsm { .. }) {
                    let (row, column) = operation.updates();
                    finished[layout.index(row, column)] = true;
                }
            }
            assert!(finished.iter().all(|&finished| finished));
        }
    }

    #[test]
    fn tiles_are_numbered_in_the_order_of_their_coordinates() {
        let layout = Layout::new(100, 9).unwrap();
        for (at, (row, column)) in layout.coordinates().enumerate() {
            assert_eq!(layout.index(row, column), at);
        }
        assert_eq!(layout.coordinates().count(), layout.tiles());
    }

    #[test]
    fn sizes_that_make_no_sense_are_refused() {
        assert_eq!(Layout::new(0, 4), Err(LayoutError::Empty { n: 0, tile: 4 }));
        assert_eq!(Layout::new(4, 0), Err(LayoutError::Empty { n: 4, tile: 0 }));
        assert_eq!(Layout::new(4, usize::MAX), Err(LayoutError::TooLarge { n: 4, tile: usize::MAX }));
        for tile in [1, 64, usize::MAX / 2, usize::MAX] {
            assert_eq!(Layout::new(usize::MAX, tile), Err(LayoutError::TooLarge { n: usize::MAX, tile }));
        }
    }
}
