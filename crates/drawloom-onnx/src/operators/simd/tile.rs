//! Tiles of registers: a part of a product of matrices that is kept in registers while `k` runs.

use super::activation::{Activation, apply_body, line};
use super::lanes::{Kernel, LANES, Lanes, run};
use pulp::Arch;

/// How many columns a tile has.
pub(crate) const TILE: usize = 3 * LANES;

/// The same with pointers, of which those that are null stand for nothing.
#[derive(Clone, Copy)]
pub(super) struct Raw {
    pub(super) rows: *const f32,
    pub(super) columns: *const f32,
    pub(super) add: *const f32,
    pub(super) activation: Activation,
}

/// All rows of some columns, over one block of `k`.
#[derive(Clone, Copy)]
pub(super) struct Panel {
    pub(super) m: usize,
    pub(super) k: usize,
    /// The first element of the block of the left matrix, and the steps between its rows and columns.
    pub(super) a: *const f32,
    pub(super) a_row: usize,
    pub(super) a_column: usize,
    pub(super) a_panel: usize,
    /// The first element of the block of the right matrix, and the steps between its rows and between tiles of columns.
    pub(super) b: *const f32,
    pub(super) b_row: usize,
    pub(super) b_tile: usize,
    /// The first column of the result, and the step between its rows.
    pub(super) c: *mut f32,
    pub(super) c_row: usize,
    pub(super) columns: usize,
    pub(super) first: bool,
    pub(super) last: bool,
    /// Its pointers to columns and to the added tensor are at the first column.
    pub(super) finish: Raw,
}

/// # Safety
///
/// All elements of the tile must lie in their matrices. The tile has `NV` vectors of columns, of which the last one has `tail`
/// lanes.
#[inline(always)]
unsafe fn tile<S: Lanes, const MR: usize, const NV: usize>(
    simd: S,
    panel: &Panel,
    row: usize,
    column: usize,
    tail: usize,
) {
    // SAFETY: every address is of an element of the tile, or of its rows and columns in the other matrices.
    unsafe {
        let mut a = panel.a.add(row / LANES * panel.a_panel + row % LANES * panel.a_row);
        let mut b = panel.b.add(column / TILE * panel.b_tile + column % TILE);
        let c = panel.c.add(row * panel.c_row + column);
        let mut sums = [[simd.splat(0.0); NV]; MR];
        if !panel.first {
            for (m, sums) in sums.iter_mut().enumerate() {
                for (v, sum) in sums.iter_mut().enumerate() {
                    let at = c.add(m * panel.c_row + v * LANES);
                    *sum = if v + 1 == NV { simd.load_part(at, tail) } else { simd.load(at) };
                }
            }
        }
        for _ in 0..panel.k {
            let mut right = [simd.splat(0.0); NV];
            for (v, right) in right.iter_mut().enumerate() {
                let at = b.add(v * LANES);
                *right = if v + 1 == NV { simd.load_part(at, tail) } else { simd.load(at) };
            }
            for (m, sums) in sums.iter_mut().enumerate() {
                let left = simd.splat(*a.add(m * panel.a_row));
                for (v, sum) in sums.iter_mut().enumerate() {
                    *sum = simd.fma(left, right[v], *sum);
                }
            }
            a = a.wrapping_add(panel.a_column);
            b = b.wrapping_add(panel.b_row);
        }
        if panel.last {
            finish::<S, MR, NV>(simd, panel, row, column, tail, &mut sums);
        }
        for (m, sums) in sums.iter().enumerate() {
            for (v, sum) in sums.iter().enumerate() {
                let at = c.add(m * panel.c_row + v * LANES);
                if v + 1 == NV { simd.store_part(at, *sum, tail) } else { simd.store(at, *sum) }
            }
        }
    }
}

/// Bias, added tensor, and an activation that is cheap.
///
/// # Safety
///
/// As for the tile.
#[inline(always)]
unsafe fn finish<S: Lanes, const MR: usize, const NV: usize>(
    simd: S,
    panel: &Panel,
    row: usize,
    column: usize,
    tail: usize,
    sums: &mut [[S::V; NV]; MR],
) {
    let Raw { rows, columns, add, activation } = panel.finish;
    // SAFETY: biases are as long as the result has rows or columns, and the added tensor is laid out like the result.
    unsafe {
        if !rows.is_null() {
            for (m, sums) in sums.iter_mut().enumerate() {
                let bias = simd.splat(*rows.add(row + m));
                for sum in sums.iter_mut() {
                    *sum = simd.add(*sum, bias);
                }
            }
        }
        if !columns.is_null() {
            for v in 0..NV {
                let at = columns.add(column + v * LANES);
                let bias = if v + 1 == NV { simd.load_part(at, tail) } else { simd.load(at) };
                for sums in sums.iter_mut() {
                    sums[v] = simd.add(sums[v], bias);
                }
            }
        }
        if !add.is_null() {
            for (m, sums) in sums.iter_mut().enumerate() {
                for (v, sum) in sums.iter_mut().enumerate() {
                    let at = add.add((row + m) * panel.c_row + column + v * LANES);
                    *sum = simd.add(*sum, if v + 1 == NV { simd.load_part(at, tail) } else { simd.load(at) });
                }
            }
        }
        if let Activation::Line { slope, shift, low, high, gate } = activation {
            // Loops over constant bounds only, as everywhere here: others would keep the sums out of the registers.
            for sums in sums.iter_mut() {
                for sum in sums.iter_mut() {
                    *sum = line::<S>(simd, *sum, (slope, shift, low, high, gate));
                }
            }
        }
    }
}

/// As many rows as a tile has, for all columns: so its part of the left matrix is read once.
///
/// # Safety
///
/// As for the panel.
#[inline(always)]
unsafe fn columns<S: Lanes, const MR: usize>(simd: S, panel: &Panel, row: usize) {
    let mut column = 0;
    // SAFETY: the vectors cover the columns of the panel, and no more.
    unsafe {
        while column < panel.columns {
            let left = panel.columns - column;
            if !S::LARGE_TILES {
                tile::<S, MR, 1>(simd, panel, row, column, left.min(LANES));
                column += LANES;
                continue;
            }
            match left.div_ceil(LANES) {
                1 => tile::<S, MR, 1>(simd, panel, row, column, left),
                2 => tile::<S, MR, 2>(simd, panel, row, column, left - LANES),
                _ => tile::<S, MR, 3>(simd, panel, row, column, (left - 2 * LANES).min(LANES)),
            }
            column += TILE;
        }
    }
}

/// A panel whose elements all lie in their matrices.
struct Inside<'a>(&'a Panel);

impl Kernel for Inside<'_> {
    #[inline(always)]
    fn run<S: Lanes>(self, simd: S) {
        let panel = self.0;
        let mut row = 0;
        // SAFETY: a tile begins only where all of its rows are there, and only `panel` makes one of these, whose caller says
        // that they lie in their matrices.
        unsafe {
            while S::LARGE_TILES && row + 8 <= panel.m {
                columns::<S, 8>(simd, panel, row);
                row += 8;
            }
            while row + 4 <= panel.m {
                columns::<S, 4>(simd, panel, row);
                row += 4;
            }
            if row + 2 <= panel.m {
                columns::<S, 2>(simd, panel, row);
                row += 2;
            }
            if row < panel.m {
                columns::<S, 1>(simd, panel, row);
            }
            if panel.last && !panel.finish.activation.is_cheap() {
                for row in 0..panel.m {
                    let row = std::slice::from_raw_parts_mut(panel.c.add(row * panel.c_row), panel.columns);
                    apply_body(simd, panel.finish.activation, row);
                }
            }
        }
    }
}

/// Computes a panel.
///
/// # Safety
///
/// All elements of the panel must lie in their matrices, and those of the result must be borrowed by the caller alone.
pub(super) unsafe fn panel(level: Arch, panel: &Panel) {
    run(level, Inside(panel));
}
