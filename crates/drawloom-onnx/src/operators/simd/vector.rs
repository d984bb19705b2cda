//! Products of a matrix in panels of sixteen rows with vectors: each register holds the sums of sixteen rows.

use super::activation::Activation;
use super::dot::follow;
use super::lanes::{Kernel, LANES, Lanes, run};
use super::product::{Bias, Finish, packed_size};
use pulp::Arch;

/// The product of a matrix with several vectors, which have these sizes.
#[derive(Clone, Copy)]
struct Vectors {
    rows: usize,
    k: usize,
    items: usize,
    a: *const f32,
    x: *const f32,
    y: *mut f32,
}

/// # Safety
///
/// The panels and items must be there.
#[inline(always)]
unsafe fn tile<S: Lanes, const ITEMS: usize, const PANELS: usize>(simd: S, job: &Vectors, item: usize, panel: usize) {
    // SAFETY: all addresses are of elements of the panels and items; what is stored are the rows that there are.
    unsafe {
        let (mut a, mut x) = (job.a.add(panel * job.k * LANES), job.x.add(item * job.k));
        let mut sums = [[simd.splat(0.0); PANELS]; ITEMS];
        for _ in 0..job.k {
            let mut left = [simd.splat(0.0); PANELS];
            for (p, left) in left.iter_mut().enumerate() {
                *left = simd.load(a.add(p * job.k * LANES));
            }
            for (i, sums) in sums.iter_mut().enumerate() {
                let right = simd.splat(*x.add(i * job.k));
                for (p, sum) in sums.iter_mut().enumerate() {
                    *sum = simd.fma(left[p], right, *sum);
                }
            }
            a = a.wrapping_add(LANES);
            x = x.wrapping_add(1);
        }
        for (i, sums) in sums.iter().enumerate() {
            for (p, sum) in sums.iter().enumerate() {
                let row = (panel + p) * LANES;
                simd.store_part(job.y.add((item + i) * job.rows + row), *sum, (job.rows - row).min(LANES));
            }
        }
    }
}

/// # Safety
///
/// As for the tile, with all panels.
#[inline(always)]
unsafe fn panels<S: Lanes, const ITEMS: usize>(simd: S, job: &Vectors, item: usize) {
    let count = job.rows.div_ceil(LANES);
    let mut panel = 0;
    // SAFETY: a tile begins only where all of its panels are there.
    unsafe {
        while panel + 4 <= count {
            tile::<S, ITEMS, 4>(simd, job, item, panel);
            panel += 4;
        }
        while panel < count {
            tile::<S, ITEMS, 1>(simd, job, item, panel);
            panel += 1;
        }
    }
}

impl Kernel for &Vectors {
    #[inline(always)]
    fn run<S: Lanes>(self, simd: S) {
        let mut item = 0;
        // SAFETY: a tile begins only where all of its items are there: `multiply_vectors`, which makes these, saw to the sizes.
        unsafe {
            if S::LARGE_TILES {
                while item + 4 <= self.items {
                    panels::<S, 4>(simd, self, item);
                    item += 4;
                }
            }
            while item < self.items {
                panels::<S, 1>(simd, self, item);
                item += 1;
            }
        }
    }
}

/// For each of the vectors, which lie one behind the other, the product with a matrix of `rows` rows and `k` columns in
/// panels, with what follows: a bias for each row, an added tensor, and an activation.
pub(crate) fn multiply_vectors(
    level: Arch,
    (rows, k): (usize, usize),
    a: &[f32],
    x: &[f32],
    y: &mut [f32],
    (bias, add, activation): (Option<&[f32]>, Option<&[f32]>, Activation),
) {
    let items = y.len().checked_div(rows).unwrap_or(0);
    assert!(
        a.len() == packed_size(rows, k) && x.len() == items * k && y.len() == items * rows,
        "invariant: the matrix and the vectors fill their slices"
    );
    run(level, &Vectors { rows, k, items, a: a.as_ptr(), x: x.as_ptr(), y: y.as_mut_ptr() });
    follow(level, rows, y, &Finish { bias: bias.map_or(Bias::None, Bias::Columns), add, activation });
}
