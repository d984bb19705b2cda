//! Products of matrices in memory that belongs to others: those of `f32` are ours, and those of `f64` of a library.

use crate::operators::simd::Level;
use crate::operators::simd::dot::multiply_rows;
use crate::operators::simd::product::{Finish, Left, Runs, multiply_runs};

/// A matrix inside of a slice: where it begins, and how far its rows and columns are apart.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a, T> {
    pub(crate) values: &'a [T],
    pub(crate) row: usize,
    pub(crate) column: usize,
    /// Whether its columns, and not its rows, lie one behind the other: sizes of 1 do not tell.
    pub(crate) turned: bool,
}

impl<'a, T: Copy> Matrix<'a, T> {
    /// A matrix with its rows one behind the other.
    pub(crate) fn rows(values: &'a [T], columns: usize) -> Self {
        Self { values, row: columns, column: 1, turned: false }
    }

    /// A matrix with its columns one behind the other.
    pub(crate) fn columns(values: &'a [T], rows: usize) -> Self {
        Self { values, row: 1, column: rows, turned: true }
    }

    fn at(&self, row: usize, column: usize) -> T {
        self.values[row * self.row + column * self.column]
    }

    /// Whether every element of a matrix of this size lies inside of the slice.
    fn holds(&self, rows: usize, columns: usize) -> bool {
        rows == 0 || columns == 0 || (rows - 1) * self.row + (columns - 1) * self.column < self.values.len()
    }
}

/// `c = a · b`, with `c` of `m` rows and `n` columns, row after row. A buffer makes it faster; it may be empty. Which way it is
/// computed depends on how the matrices lie, and not on their size.
pub(crate) fn multiply_f32(
    (m, k, n): (usize, usize, usize),
    a: Matrix<'_, f32>,
    b: Matrix<'_, f32>,
    buffer: &mut [f32],
    c: &mut [f32],
) {
    assert!(a.holds(m, k) && b.holds(k, n) && m * n <= c.len(), "invariant: the matrices lie in their slices");
    let (level, c) = (Level::best(), &mut c[..m * n]);
    if b.column == 1 && !b.turned {
        let right = Runs { values: b.values, row: b.row, starts: &[0], length: k, left: 0 };
        multiply_runs(level, (m, n), Left::strided(a.values, a.row, a.column), right, buffer, c, &Finish::NOTHING);
    } else if a.column == 1 && a.row == k {
        multiply_rows(level, (m, k, n), &a.values[..m * k], &b.values[..n * k], c, &Finish::NOTHING);
    } else {
        // Both matrices are turned, which is rare.
        for (row, sums) in c.chunks_exact_mut(n.max(1)).enumerate() {
            for (column, sum) in sums.iter_mut().enumerate() {
                let products = (0..k).map(|k| a.at(row, k) * b.at(k, column));
                *sum = products.sum();
            }
        }
    }
}

/// `c = a · b`, with `c` of `m` rows and `n` columns, row after row.
pub(crate) fn multiply_f64(m: usize, k: usize, n: usize, a: Matrix<'_, f64>, b: Matrix<'_, f64>, c: &mut [f64]) {
    assert!(a.holds(m, k) && b.holds(k, n) && m * n <= c.len(), "invariant: the matrices lie in their slices");
    // SAFETY: the assertion above shows that all elements that the call reads lie in the slices `a` and `b`, and that those
    // it writes, with rows `n` apart and columns 1 apart, lie in `c`, which is borrowed alone. Steps fit `isize`, as they
    // are within slices, or not used where a size is 1.
    unsafe {
        matrixmultiply::dgemm(
            m,
            k,
            n,
            1.0,
            a.values.as_ptr(),
            a.row as isize,
            a.column as isize,
            b.values.as_ptr(),
            b.row as isize,
            b.column as isize,
            0.0,
            c.as_mut_ptr(),
            n as isize,
            1,
        );
    }
}

/// The library packs blocks of both matrices into memory that it allocates: 64 rows of the left one and 1024 columns of the
/// right one at most, 256 elements deep.
pub(crate) fn multiply_f64_bytes(k: usize, n: usize) -> usize {
    const EDGE: usize = 8;
    k.min(256) * (64 + EDGE + n.min(1024) + EDGE) * size_of::<f64>() + drawloom_tensor::operator::ALIGNMENT
}
