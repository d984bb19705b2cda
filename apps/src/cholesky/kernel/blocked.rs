//! The four operations, made of panels as wide as the level's microkernel.
//!
//! Everything looks to the left: a panel of columns first has the products with all finished columns before it
//! subtracted, and is then solved or factored. That is one pass over the panel, and since columns are contiguous the
//! finished part and the panel are two disjoint slices.
//!
//! Products with many terms are cut so that what is reread stays in the caches: [`DEPTH`] terms by [`HEIGHT`] rows of A
//! in the second-level cache, and a panel's part of B in the first (Goto, van de Geijn: Anatomy of high-performance
//! matrix multiplication, 2008). Both are packed, because the columns of a large tile lie a power of two apart: they
//! fall into few sets of the cache, and each on another page. A small tile fits as it is, and packing would cost more
//! than it saves.

use super::level::{Diagonal, factor, largest, solve, update};
use super::micro::{Operands, WIDEST};
use super::scratch;
use super::view::{View, ViewMut};
use crate::level_name;
use pulp::Arch;
use std::fmt;

/// Products with more terms than this go through packed panels.
const DIRECT: usize = 128;
/// Terms of a product taken at once: what the microkernel goes through, 24 rows of A and 8 of B, is 32 KiB.
const DEPTH: usize = 128;
/// Rows taken at once, a multiple of every level's block of rows: `DEPTH * HEIGHT` elements are 384 KiB.
const HEIGHT: usize = 384;
/// Columns that are factored or solved without going through packed panels.
const COLUMNS: usize = 64;

/// The matrix is not positive definite: a pivot was not a positive, finite number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NotPositive {
    /// The row of the pivot, counted from zero, within what was factored: a tile, or a whole matrix.
    pub pivot: usize,
}

impl fmt::Display for NotPositive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the matrix is not positive definite: the pivot in row {} is not positive", self.pivot)
    }
}

impl std::error::Error for NotPositive {}

/// The tile operations for one level of instructions. Cheap to copy: ask for it once and hand it to every task.
///
/// ```
/// use drawloom_apps::cholesky::Kernels;
///
/// let kernels = Kernels::detect();
/// let mut tile = [4.0, 2.0, 2.0, 5.0]; // by columns
/// kernels.potrf(&mut tile, 2)?;
/// assert_eq!([tile[0], tile[1], tile[3]], [2.0, 1.0, 2.0]);
/// # Ok::<(), drawloom_apps::cholesky::NotPositive>(())
/// ```
#[derive(Clone, Copy)]
pub struct Kernels {
    level: Arch,
    /// Rows and columns of the microkernel's largest block.
    height: usize,
    width: usize,
}

impl Kernels {
    /// The fastest this processor has.
    pub fn detect() -> Kernels {
        Kernels::at(Arch::new())
    }

    /// Those of a certain level.
    pub fn at(level: Arch) -> Kernels {
        let (height, width) = largest(level);
        Kernels { level, height, width }
    }

    /// The name of the level in use.
    pub fn level(self) -> &'static str {
        level_name(self.level)
    }

    /// `C := C - A * B^T`.
    ///
    /// # Panics
    /// When a slice does not have `nb * nb` elements.
    pub fn gemm(self, a: &[f64], b: &[f64], c: &mut [f64], nb: usize) {
        check(nb, &[a, b, c]);
        self.subtract(Whole, nb, nb, nb, View::new(a, nb), View::new(b, nb), ViewMut::new(c, nb));
    }

    /// `C := C - A * A^T`, for the lower triangle of C. What lies above the diagonal is undefined afterwards.
    ///
    /// # Panics
    /// When a slice does not have `nb * nb` elements.
    pub fn syrk(self, a: &[f64], c: &mut [f64], nb: usize) {
        check(nb, &[a, c]);
        let a = View::new(a, nb);
        self.subtract(Lower, nb, nb, nb, a, a, ViewMut::new(c, nb));
    }

    /// `B := B * L^-T`, where L is the lower triangle of `l`; what lies above its diagonal is not read. A zero on the
    /// diagonal gives infinities, as a division would.
    ///
    /// # Panics
    /// When a slice does not have `nb * nb` elements.
    pub fn trsm(self, l: &[f64], b: &mut [f64], nb: usize) {
        check(nb, &[l, b]);
        let l = View::new(l, nb);
        let mut b = ViewMut::new(b, nb);
        for start in (0..nb).step_by(COLUMNS) {
            let width = COLUMNS.min(nb - start);
            let (solved, mut rest) = b.split_columns(start);
            self.subtract(Whole, nb, width, start, solved, l.from(start, 0), rest.from(0, 0));
            for (column, width) in self.panels(width) {
                let (left, panel) = rest.split_columns(column);
                let l = l.from(start + column, start);
                solve(self.level, Operands::solve(nb, width, column, left, l, panel, l.from(0, column)));
            }
        }
    }

    /// `A := L` with `A = L * L^T`, for the lower triangle of `a`. What lies above the diagonal is undefined
    /// afterwards.
    ///
    /// # Errors
    /// When the matrix is not positive definite; the tile is then partly factored.
    ///
    /// # Panics
    /// When the slice does not have `nb * nb` elements.
    pub fn potrf(self, a: &mut [f64], nb: usize) -> Result<(), NotPositive> {
        check(nb, &[a]);
        let mut a = ViewMut::new(a, nb);
        for start in (0..nb).step_by(COLUMNS) {
            let width = COLUMNS.min(nb - start);
            let (left, mut right) = a.split_columns(start);
            let left = left.from(start, 0);
            self.subtract(Lower, nb - start, width, start, left, left, right.from(start, 0));
            let mut corner = right.from(start, 0);
            self.factor_columns(&mut corner, nb - start, width)
                .map_err(|pivot| NotPositive { pivot: start + pivot })?;
        }
        Ok(())
    }

    /// Factors the first `columns` columns of a matrix of `rows` rows, by panels.
    fn factor_columns(self, a: &mut ViewMut<'_>, rows: usize, columns: usize) -> Result<(), usize> {
        for (column, width) in self.panels(columns) {
            let (left, mut panel) = a.split_columns(column);
            let left = left.from(column, 0);
            update(self.level, Operands::update(width, width, column, left, left, panel.from(column, 0)));
            // The block on the diagonal is copied out: below it, its columns are written while it is read.
            let mut diagonal: Diagonal = [[0.0; WIDEST]; WIDEST];
            for (j, block) in diagonal.iter_mut().enumerate().take(width) {
                block[..width].copy_from_slice(panel.from(column, 0).column(j, width));
            }
            factor(self.level, width, &mut diagonal).map_err(|pivot| column + pivot)?;
            for (j, block) in diagonal.iter().enumerate().take(width) {
                panel.from(column, 0).column(j, width).copy_from_slice(&block[..width]);
            }
            let (below, rows) = (column + width, rows - column - width);
            let triangle = View::new(diagonal.as_flattened(), WIDEST);
            let rest = panel.from(below, 0);
            solve(self.level, Operands::solve(rows, width, column, left.from(width, 0), left, rest, triangle));
        }
        Ok(())
    }

    /// `C -= A * B^T`, where C has `rows` by `columns` elements and the products have `depth` terms.
    #[allow(clippy::too_many_arguments)]
    fn subtract(
        self,
        part: Part,
        rows: usize,
        columns: usize,
        depth: usize,
        a: View<'_>,
        b: View<'_>,
        mut c: ViewMut<'_>,
    ) {
        match part {
            _ if depth > DIRECT => scratch::with(DEPTH * HEIGHT, |packed| {
                self.subtract_packed(part, rows, columns, depth, a, b, c, packed);
            }),
            Whole => update(self.level, Operands::update(rows, columns, depth, a, b, c)),
            Lower => {
                for (column, width) in self.panels(columns) {
                    let (a, b) = (a.from(column, 0), b.from(column, 0));
                    update(self.level, Operands::update(rows - column, width, depth, a, b, c.from(column, column)));
                }
            }
        }
    }

    /// The same by way of packed copies of A and B.
    #[allow(clippy::too_many_arguments)]
    fn subtract_packed(
        self,
        part: Part,
        rows: usize,
        columns: usize,
        depth: usize,
        a: View<'_>,
        b: View<'_>,
        mut c: ViewMut<'_>,
        packed_a: &mut [f64],
    ) {
        let mut packed_b = [0.0; DEPTH * WIDEST];
        let height = self.height;
        for term in (0..depth).step_by(DEPTH) {
            let depth = DEPTH.min(depth - term);
            for top in (0..rows).step_by(HEIGHT) {
                let bottom = rows.min(top + HEIGHT);
                for (row, packed) in (top..bottom).step_by(height).zip(packed_a.chunks_mut(height * depth)) {
                    pack(a.from(row, term), height.min(bottom - row), depth, packed);
                }
                for (column, width) in self.panels(columns) {
                    pack(b.from(column, term), width, depth, &mut packed_b);
                    let b = View::new(&packed_b, width);
                    for (row, packed) in (top..bottom).step_by(height).zip(packed_a.chunks(height * depth)) {
                        let rows = height.min(bottom - row);
                        if part.wants(row + rows, column) {
                            let a = View::new(packed, rows);
                            update(self.level, Operands::update(rows, width, depth, a, b, c.from(row, column)));
                        }
                    }
                }
            }
        }
    }

    /// Cuts columns into panels: as wide as the level allows, then what is left in powers of two.
    fn panels(self, columns: usize) -> impl Iterator<Item = (usize, usize)> {
        let widest = self.width;
        let mut next = 0;
        std::iter::from_fn(move || {
            let left = columns - next;
            if left == 0 {
                return None;
            }
            let width = if left >= widest { widest } else { 1 << left.ilog2() };
            next += width;
            Some((next - width, width))
        })
    }
}

impl fmt::Debug for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kernels").field(&self.level()).finish()
    }
}

/// Which part of C is wanted.
#[derive(Clone, Copy)]
enum Part {
    Whole,
    Lower,
}
use Part::{Lower, Whole};

impl Part {
    /// Whether anything is wanted of the rows before `bottom` in columns from `column` on.
    fn wants(self, bottom: usize, column: usize) -> bool {
        matches!(self, Whole) || bottom > column
    }
}

/// Copies `rows` rows of `depth` columns so that they lie without gaps.
fn pack(from: View<'_>, rows: usize, depth: usize, packed: &mut [f64]) {
    // The sizes of whole blocks are constants to the compiler: a column is then a few moves and not a call.
    match rows {
        24 => pack_columns::<24>(from, depth, packed),
        8 => pack_columns::<8>(from, depth, packed),
        6 => pack_columns::<6>(from, depth, packed),
        4 => pack_columns::<4>(from, depth, packed),
        _ => {
            for (column, packed) in packed.chunks_exact_mut(rows).enumerate().take(depth) {
                packed.copy_from_slice(from.column(column, rows));
            }
        }
    }
}

fn pack_columns<const ROWS: usize>(from: View<'_>, depth: usize, packed: &mut [f64]) {
    let (packed, _) = packed.as_chunks_mut::<ROWS>();
    for (column, packed) in packed.iter_mut().enumerate().take(depth) {
        packed.copy_from_slice(from.column(column, ROWS));
    }
}

fn check(nb: usize, tiles: &[&[f64]]) {
    for tile in tiles {
        assert!(nb.checked_mul(nb) == Some(tile.len()), "a tile of {nb} by {nb} in a slice of {} elements", tile.len());
    }
}
