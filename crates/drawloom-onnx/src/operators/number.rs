//! Products of matrices of every type of number, and the error function.

use crate::operators::multiply::{Matrix, multiply_f32, multiply_f64, multiply_f64_bytes};
use drawloom_tensor::operator::Number;

/// A number that matrices can have.
pub(crate) trait MatrixNumber: Number {
    /// `c = a · b`, with `c` of `m` rows and `n` columns, row after row.
    fn multiply(m: usize, k: usize, n: usize, a: Matrix<'_, Self>, b: Matrix<'_, Self>, c: &mut [Self]);

    /// How many bytes a product over `k` elements with `n` columns takes beside its matrices.
    fn multiply_bytes(k: usize, n: usize) -> usize {
        let _ = (k, n);
        0
    }
}

impl MatrixNumber for f32 {
    fn multiply(m: usize, k: usize, n: usize, a: Matrix<'_, Self>, b: Matrix<'_, Self>, c: &mut [Self]) {
        multiply_f32((m, k, n), a, b, &mut [], c);
    }
}

impl MatrixNumber for f64 {
    fn multiply(m: usize, k: usize, n: usize, a: Matrix<'_, Self>, b: Matrix<'_, Self>, c: &mut [Self]) {
        multiply_f64(m, k, n, a, b, c);
    }

    fn multiply_bytes(k: usize, n: usize) -> usize {
        multiply_f64_bytes(k, n)
    }
}

macro_rules! integers {
    ($($type:ty),*) => {
        $(impl MatrixNumber for $type {
            fn multiply(m: usize, k: usize, n: usize, a: Matrix<'_, Self>, b: Matrix<'_, Self>, c: &mut [Self]) {
                for row in 0..m {
                    for column in 0..n {
                        c[row * n + column] = (0..k).fold(0, |sum: $type, step| {
                            let (a, b) = (a.values[row * a.row + step * a.column], b.values[step * b.row + column * b.column]);
                            sum.wrapping_add(a.wrapping_mul(b))
                        });
                    }
                }
            }
        })*
    };
}

integers!(i64, i32, u8, i8);

/// The error function. A series near zero, and a continued fraction far from it; both to the last digits of `f64`.
pub(crate) fn erf(x: f64) -> f64 {
    let size = x.abs();
    if size.is_nan() {
        return x;
    }
    let value = if size > 6.0 {
        1.0
    } else if size < 2.5 {
        let (mut term, mut sum) = (size, size);
        for n in 1..60 {
            let n = f64::from(n);
            term *= -size * size / n;
            sum += term / (2.0 * n + 1.0);
        }
        sum * 2.0 / std::f64::consts::PI.sqrt()
    } else {
        let mut fraction = 0.0;
        for n in (1..60).rev() {
            fraction = f64::from(n) / 2.0 / (size + fraction);
        }
        1.0 - (-size * size).exp() / (std::f64::consts::PI.sqrt() * (size + fraction))
    };
    value.copysign(x)
}
