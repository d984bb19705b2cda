//! Products of matrices in memory that belongs to others: the one place that calls the library for them.

/// A matrix inside of a slice: where it begins, and how far its rows and columns are apart.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a, T> {
    pub(crate) values: &'a [T],
    pub(crate) row: usize,
    pub(crate) column: usize,
}

impl<T> Matrix<'_, T> {
    /// Whether every element of a matrix of this size lies inside of the slice.
    fn holds(&self, rows: usize, columns: usize) -> bool {
        rows == 0 || columns == 0 || (rows - 1) * self.row + (columns - 1) * self.column < self.values.len()
    }
}

macro_rules! multiply {
    ($name:ident, $type:ty, $function:ident) => {
        /// `c = a · b`, with `c` of `m` rows and `n` columns, row after row.
        pub(crate) fn $name(m: usize, k: usize, n: usize, a: Matrix<'_, $type>, b: Matrix<'_, $type>, c: &mut [$type]) {
            assert!(a.holds(m, k) && b.holds(k, n) && m * n <= c.len(), "invariant: the matrices lie in their slices");
            // SAFETY: the assertion above shows that all elements that the call reads lie in the slices `a` and `b`, and
            // that those it writes, with rows `n` apart and columns 1 apart, lie in `c`, which is borrowed alone. Steps
            // fit `isize`, as they are within slices, or not used where a size is 1.
            unsafe {
                matrixmultiply::$function(
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
    };
}

multiply!(multiply_f32, f32, sgemm);
multiply!(multiply_f64, f64, dgemm);
