//! A symmetric positive definite matrix to factor, and its tiles in memory.

use super::kernel::{Kernels, NotPositive};
use super::layout::{Layout, LayoutError, Operation, Order};

/// Bytes to which the tiles are aligned: a cache line, which is also the widest vector.
const ALIGNMENT: usize = 64;

/// A random symmetric matrix with elements between -1/2 and 1/2, plus n on the diagonal.
///
/// It is positive definite because the diagonal dominates, and well conditioned: no eigenvalue is further than n/2 from
/// n. Each element is a function of the seed and its place, so any part can be made alone and none need be kept to
/// check a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spd {
    layout: Layout,
    seed: u64,
}

impl Spd {
    /// The matrix of a seed.
    pub fn new(layout: Layout, seed: u64) -> Spd {
        Spd { layout, seed }
    }

    /// How it is cut into tiles.
    pub fn layout(self) -> Layout {
        self.layout
    }

    /// An element; beyond the last row and column, that of the identity.
    pub fn element(self, row: usize, column: usize) -> f64 {
        let n = self.layout.n();
        if row >= n || column >= n {
            return if row == column { 1.0 } else { 0.0 };
        }
        let (low, high) = (row.min(column) as u64, row.max(column) as u64);
        let hash = mix(mix(self.seed ^ low.wrapping_mul(0x9e37_79b9_7f4a_7c15)) ^ high);
        // The upper 53 bits are an exact fraction.
        let fraction = (hash >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
        if row == column { fraction + n as f64 } else { fraction }
    }

    /// Writes tile (`row`, `column`), all of it, the part above the diagonal included.
    ///
    /// # Panics
    /// When the slice does not have `tile * tile` elements.
    pub fn fill(self, row: usize, column: usize, tile: &mut [f64]) {
        let size = self.layout.tile();
        assert_eq!(tile.len(), self.layout.tile_len(), "the elements of tile ({row}, {column})");
        for (j, elements) in tile.chunks_exact_mut(size).enumerate() {
            for (i, element) in elements.iter_mut().enumerate() {
                *element = self.element(row * size + i, column * size + j);
            }
        }
    }

    /// The largest element's size.
    pub fn max_norm(self) -> f64 {
        // The diagonal is at least n - 1/2, everything else at most 1/2.
        (0..self.layout.n()).map(|i| self.element(i, i).abs()).fold(0.5, f64::max)
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The lower triangle of tiles of a matrix, one after the other in one aligned buffer.
pub struct TiledMatrix {
    layout: Layout,
    /// Longer than the tiles, so that they can start at a multiple of [`ALIGNMENT`].
    buffer: Vec<f64>,
    start: usize,
}

impl TiledMatrix {
    /// A matrix of zeros.
    ///
    /// # Errors
    /// When it does not fit into memory.
    pub fn zeros(layout: Layout) -> Result<TiledMatrix, LayoutError> {
        let len = layout.tiles() * layout.tile_len();
        let mut buffer = Vec::new();
        buffer
            .try_reserve_exact(len + ALIGNMENT / size_of::<f64>())
            .map_err(|_| LayoutError::TooLarge { n: layout.n(), tile: layout.tile() })?;
        buffer.resize(len + ALIGNMENT / size_of::<f64>(), 0.0);
        // An allocator may decline to say, and then the tiles are merely not aligned.
        let start = buffer.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT / size_of::<f64>());
        Ok(TiledMatrix { layout, buffer, start })
    }

    /// The tiles of a matrix.
    ///
    /// # Errors
    /// When it does not fit into memory.
    pub fn new(matrix: Spd) -> Result<TiledMatrix, LayoutError> {
        let mut tiles = TiledMatrix::zeros(matrix.layout())?;
        tiles.fill(matrix);
        Ok(tiles)
    }

    /// Overwrites every tile with that of a matrix of the same layout.
    ///
    /// # Panics
    /// When the layouts differ.
    pub fn fill(&mut self, matrix: Spd) {
        assert_eq!(self.layout, matrix.layout(), "the layouts of a matrix and its tiles");
        for (row, column) in self.layout.coordinates() {
            matrix.fill(row, column, self.tile_mut(row, column));
        }
    }

    /// How it is cut.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Tile (`row`, `column`) of the lower triangle.
    ///
    /// # Panics
    /// When the tile is not in the lower triangle.
    pub fn tile(&self, row: usize, column: usize) -> &[f64] {
        let len = self.layout.tile_len();
        &self.buffer[self.start..][self.layout.index(row, column) * len..][..len]
    }

    /// The same, to write.
    ///
    /// # Panics
    /// When the tile is not in the lower triangle.
    pub fn tile_mut(&mut self, row: usize, column: usize) -> &mut [f64] {
        let len = self.layout.tile_len();
        &mut self.buffer[self.start..][self.layout.index(row, column) * len..][..len]
    }

    /// An element of the lower triangle, and zero above it: what the matrix holds after it was factored.
    pub fn element(&self, row: usize, column: usize) -> f64 {
        let size = self.layout.tile();
        if row < column {
            return 0.0;
        }
        self.tile(row / size, column / size)[row % size + column % size * size]
    }

    /// Factors the matrix in place, one operation after the other.
    ///
    /// # Errors
    /// When the matrix is not positive definite; it is then partly factored.
    pub fn factor_serial(&mut self, kernels: Kernels, order: Order) -> Result<(), NotPositive> {
        self.layout.operations(order).try_for_each(|operation| self.apply(kernels, operation))
    }

    fn apply(&mut self, kernels: Kernels, operation: Operation) -> Result<(), NotPositive> {
        let (layout, len) = (self.layout, self.layout.tile_len());
        let (row, column) = operation.updates();
        // What an operation reads is stored before what it updates: it lies in an earlier column, or above in the same.
        let (before, after) = self.buffer[self.start..].split_at_mut(layout.index(row, column) * len);
        let mut reads = [&[][..]; 2];
        for (read, (row, column)) in reads.iter_mut().zip(operation.reads()) {
            *read = &before[layout.index(row, column) * len..][..len];
        }
        operation.run(kernels, layout.tile(), &reads, &mut after[..len])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_is_symmetric_and_its_diagonal_dominates() {
        let matrix = Spd::new(Layout::new(40, 8).unwrap(), 1);
        for row in 0..40 {
            for column in 0..40 {
                assert_eq!(matrix.element(row, column), matrix.element(column, row));
            }
            let others: f64 = (0..40).filter(|&c| c != row).map(|c| matrix.element(row, c).abs()).sum();
            assert!(matrix.element(row, row) > others);
        }
        let max = (0..40).flat_map(|r| (0..40).map(move |c| (r, c))).map(|(r, c)| matrix.element(r, c).abs());
        assert_eq!(matrix.max_norm(), max.fold(0.0, f64::max));
    }

    #[test]
    fn the_seed_changes_the_elements_and_the_tile_size_does_not() {
        let one = Spd::new(Layout::new(40, 8).unwrap(), 1);
        let two = Spd::new(Layout::new(40, 8).unwrap(), 2);
        let other_tiles = Spd::new(Layout::new(40, 7).unwrap(), 1);
        assert_ne!(one.element(3, 2), two.element(3, 2));
        assert_eq!(one.element(39, 2), other_tiles.element(39, 2));
    }

    #[test]
    fn the_last_tiles_are_filled_up_with_the_identity() {
        let matrix = TiledMatrix::new(Spd::new(Layout::new(10, 4).unwrap(), 1)).unwrap();
        assert_eq!(matrix.element(10, 10), 1.0);
        assert_eq!(matrix.element(11, 11), 1.0);
        assert_eq!((0..10).map(|column| matrix.element(11, column)).collect::<Vec<_>>(), [0.0; 10]);
    }

    #[test]
    fn every_tile_starts_at_a_cache_line_when_its_size_allows() {
        let matrix = TiledMatrix::zeros(Layout::new(40, 8).unwrap()).unwrap();
        for (row, column) in matrix.layout().coordinates() {
            assert_eq!(matrix.tile(row, column).as_ptr().align_offset(ALIGNMENT), 0);
        }
    }

    #[test]
    fn a_matrix_that_does_not_fit_is_an_error() {
        let layout = Layout::new(1 << 30, 1 << 10).unwrap();
        assert!(matches!(TiledMatrix::zeros(layout), Err(LayoutError::TooLarge { .. })));
    }
}
