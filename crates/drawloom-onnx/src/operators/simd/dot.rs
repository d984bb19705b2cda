//! Products of matrices of `f32` that both have their `k` next to each other: sixteen partial sums for each element.

use super::lanes::{Kernel, LANES, Lanes, run};
use super::product::{Bias, Finish};
use pulp::Arch;

/// The product of the rows of two matrices, which have these sizes.
#[derive(Clone, Copy)]
struct Dots {
    m: usize,
    n: usize,
    k: usize,
    a: *const f32,
    b: *const f32,
    c: *mut f32,
}

/// # Safety
///
/// The rows must lie in their matrices.
#[inline(always)]
unsafe fn tile<S: Lanes, const MR: usize, const NR: usize>(simd: S, dots: &Dots, row: usize, column: usize) {
    // SAFETY: all addresses are of elements of `MR` rows of `a` and `NR` rows of `b`, and of their sums in `c`.
    unsafe {
        let (a, b) = (dots.a.add(row * dots.k), dots.b.add(column * dots.k));
        let mut sums = [[simd.splat(0.0); NR]; MR];
        let mut at = 0;
        while at < dots.k {
            let count = (dots.k - at).min(LANES);
            let mut right = [simd.splat(0.0); NR];
            for (n, right) in right.iter_mut().enumerate() {
                *right = simd.load_part(b.add(n * dots.k + at), count);
            }
            for (m, sums) in sums.iter_mut().enumerate() {
                let left = simd.load_part(a.add(m * dots.k + at), count);
                for (n, sum) in sums.iter_mut().enumerate() {
                    *sum = simd.fma(left, right[n], *sum);
                }
            }
            at += LANES;
        }
        for (m, sums) in sums.iter().enumerate() {
            for (n, sum) in sums.iter().enumerate() {
                *dots.c.add((row + m) * dots.n + column + n) = simd.sum(*sum);
            }
        }
    }
}

/// # Safety
///
/// As for the tile, with all rows.
#[inline(always)]
unsafe fn columns<S: Lanes, const MR: usize>(simd: S, dots: &Dots, row: usize) {
    let mut column = 0;
    // SAFETY: a tile begins only where all of its columns are there.
    unsafe {
        while column + 4 <= dots.n {
            tile::<S, MR, 4>(simd, dots, row, column);
            column += 4;
        }
        while column < dots.n {
            tile::<S, MR, 1>(simd, dots, row, column);
            column += 1;
        }
    }
}

impl Kernel for &Dots {
    #[inline(always)]
    fn run<S: Lanes>(self, simd: S) {
        let mut row = 0;
        // SAFETY: a tile begins only where all of its rows are there: `multiply_rows`, which makes these, saw to the sizes.
        unsafe {
            if S::LARGE_TILES {
                while row + 4 <= self.m {
                    columns::<S, 4>(simd, self, row);
                    row += 4;
                }
            }
            while row < self.m {
                columns::<S, 1>(simd, self, row);
                row += 1;
            }
        }
    }
}

/// `c = finish(a · bᵀ)`: `a` has `m` rows of `k` elements, `b` has `n` of them, and `c` has `m` rows of `n`.
pub(crate) fn multiply_rows(
    level: Arch,
    (m, k, n): (usize, usize, usize),
    a: &[f32],
    b: &[f32],
    c: &mut [f32],
    finish: &Finish<'_>,
) {
    assert!(a.len() == m * k && b.len() == n * k && c.len() == m * n, "invariant: the matrices lie in their slices");
    run(level, &Dots { m, n, k, a: a.as_ptr(), b: b.as_ptr(), c: c.as_mut_ptr() });
    follow(level, n, c, finish);
}

/// What follows the sums, when they are stored already.
pub(crate) fn follow(level: Arch, n: usize, c: &mut [f32], finish: &Finish<'_>) {
    if n == 0 {
        return;
    }
    for (number, row) in c.chunks_exact_mut(n).enumerate() {
        match finish.bias {
            Bias::None => {}
            Bias::Rows(bias) => row.iter_mut().for_each(|sum| *sum += bias[number]),
            Bias::Columns(bias) => row.iter_mut().zip(bias).for_each(|(sum, bias)| *sum += bias),
        }
        if let Some(add) = finish.add {
            row.iter_mut().zip(&add[number * n..]).for_each(|(sum, add)| *sum += add);
        }
        finish.activation.apply_at(level, row);
    }
}
