//! Products of matrices of `f32` that both have their `k` next to each other: sixteen partial sums for each element.

use super::lanes::{LANES, Lanes};
use super::product::{Bias, Finish};
use super::{Level, by_level};

/// The product of the rows of two matrices.
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
/// The rows must lie in their matrices, and the machine must have the instructions of the kind.
#[inline(always)]
unsafe fn tile<S: Lanes, const MR: usize, const NR: usize>(dots: &Dots, row: usize, column: usize) {
    // SAFETY: all addresses are of elements of `MR` rows of `a` and `NR` rows of `b`, and of their sums in `c`.
    unsafe {
        let (a, b) = (dots.a.add(row * dots.k), dots.b.add(column * dots.k));
        let mut sums = [[S::splat(0.0); NR]; MR];
        let mut at = 0;
        while at < dots.k {
            let count = (dots.k - at).min(LANES);
            let mut right = [S::splat(0.0); NR];
            for (n, right) in right.iter_mut().enumerate() {
                *right = S::load_part(b.add(n * dots.k + at), count);
            }
            for (m, sums) in sums.iter_mut().enumerate() {
                let left = S::load_part(a.add(m * dots.k + at), count);
                for (n, sum) in sums.iter_mut().enumerate() {
                    *sum = S::fma(left, right[n], *sum);
                }
            }
            at += LANES;
        }
        for (m, sums) in sums.iter().enumerate() {
            for (n, sum) in sums.iter().enumerate() {
                *dots.c.add((row + m) * dots.n + column + n) = S::sum(*sum);
            }
        }
    }
}

/// # Safety
///
/// As for the tile, with all rows.
#[inline(always)]
unsafe fn columns<S: Lanes, const MR: usize>(dots: &Dots, row: usize) {
    let mut column = 0;
    // SAFETY: a tile begins only where all of its columns are there.
    unsafe {
        while column + 4 <= dots.n {
            tile::<S, MR, 4>(dots, row, column);
            column += 4;
        }
        while column < dots.n {
            tile::<S, MR, 1>(dots, row, column);
            column += 1;
        }
    }
}

/// # Safety
///
/// The matrices must have the sizes that the job says, and the machine must have the instructions of the kind.
#[inline(always)]
unsafe fn dots_body<S: Lanes>(dots: &Dots) {
    let mut row = 0;
    // SAFETY: a tile begins only where all of its rows are there.
    unsafe {
        if S::LARGE_TILES {
            while row + 4 <= dots.m {
                columns::<S, 4>(dots, row);
                row += 4;
            }
        }
        while row < dots.m {
            columns::<S, 1>(dots, row);
            row += 1;
        }
    }
}

by_level!(
    /// Computes all products of rows.
    dots = dots_body(job: &Dots)
);

/// `c = finish(a · bᵀ)`: `a` has `m` rows of `k` elements, `b` has `n` of them, and `c` has `m` rows of `n`.
pub(crate) fn multiply_rows(
    level: Level,
    (m, k, n): (usize, usize, usize),
    a: &[f32],
    b: &[f32],
    c: &mut [f32],
    finish: &Finish<'_>,
) {
    assert!(a.len() == m * k && b.len() == n * k && c.len() == m * n, "invariant: the matrices lie in their slices");
    let job = Dots { m, n, k, a: a.as_ptr(), b: b.as_ptr(), c: c.as_mut_ptr() };
    // SAFETY: the assertion above shows that all rows lie in their slices, and `c` is borrowed alone.
    unsafe { dots(level, &job) };
    follow(level, n, c, finish);
}

/// What follows the sums, when they are stored already.
pub(crate) fn follow(level: Level, n: usize, c: &mut [f32], finish: &Finish<'_>) {
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
