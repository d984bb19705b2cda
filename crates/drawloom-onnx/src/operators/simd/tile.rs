//! Tiles of registers: a part of a product of matrices that is kept in registers while `k` runs.

use super::activation::{Activation, apply_body, line};
use super::by_level;
use super::lanes::{LANES, Lanes};

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
/// All elements of the tile must lie in their matrices, and the machine must have the instructions of the kind. The tile
/// has `NV` vectors of columns, of which the last one has `tail` lanes.
#[inline(always)]
unsafe fn tile<S: Lanes, const MR: usize, const NV: usize>(panel: &Panel, row: usize, column: usize, tail: usize) {
    // SAFETY: every address is of an element of the tile, or of its rows and columns in the other matrices.
    unsafe {
        let mut a = panel.a.add(row / LANES * panel.a_panel + row % LANES * panel.a_row);
        let mut b = panel.b.add(column / TILE * panel.b_tile + column % TILE);
        let c = panel.c.add(row * panel.c_row + column);
        let mut sums = [[S::splat(0.0); NV]; MR];
        if !panel.first {
            for (m, sums) in sums.iter_mut().enumerate() {
                for (v, sum) in sums.iter_mut().enumerate() {
                    let at = c.add(m * panel.c_row + v * LANES);
                    *sum = if v + 1 == NV { S::load_part(at, tail) } else { S::load(at) };
                }
            }
        }
        for _ in 0..panel.k {
            let mut right = [S::splat(0.0); NV];
            for (v, right) in right.iter_mut().enumerate() {
                let at = b.add(v * LANES);
                *right = if v + 1 == NV { S::load_part(at, tail) } else { S::load(at) };
            }
            for (m, sums) in sums.iter_mut().enumerate() {
                let left = S::splat(*a.add(m * panel.a_row));
                for (v, sum) in sums.iter_mut().enumerate() {
                    *sum = S::fma(left, right[v], *sum);
                }
            }
            a = a.wrapping_add(panel.a_column);
            b = b.wrapping_add(panel.b_row);
        }
        if panel.last {
            finish::<S, MR, NV>(panel, row, column, tail, &mut sums);
        }
        for (m, sums) in sums.iter().enumerate() {
            for (v, sum) in sums.iter().enumerate() {
                let at = c.add(m * panel.c_row + v * LANES);
                if v + 1 == NV { S::store_part(at, *sum, tail) } else { S::store(at, *sum) }
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
                let bias = S::splat(*rows.add(row + m));
                for sum in sums.iter_mut() {
                    *sum = S::add(*sum, bias);
                }
            }
        }
        if !columns.is_null() {
            for v in 0..NV {
                let at = columns.add(column + v * LANES);
                let bias = if v + 1 == NV { S::load_part(at, tail) } else { S::load(at) };
                for sums in sums.iter_mut() {
                    sums[v] = S::add(sums[v], bias);
                }
            }
        }
        if !add.is_null() {
            for (m, sums) in sums.iter_mut().enumerate() {
                for (v, sum) in sums.iter_mut().enumerate() {
                    let at = add.add((row + m) * panel.c_row + column + v * LANES);
                    *sum = S::add(*sum, if v + 1 == NV { S::load_part(at, tail) } else { S::load(at) });
                }
            }
        }
        if let Activation::Line { slope, shift, low, high, gate } = activation {
            // Loops over constant bounds only, as everywhere here: others would keep the sums out of the registers.
            for sums in sums.iter_mut() {
                for sum in sums.iter_mut() {
                    *sum = line::<S>(*sum, (slope, shift, low, high, gate));
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
unsafe fn columns<S: Lanes, const MR: usize>(panel: &Panel, row: usize) {
    let mut column = 0;
    // SAFETY: the vectors cover the columns of the panel, and no more.
    unsafe {
        while column < panel.columns {
            let left = panel.columns - column;
            if !S::LARGE_TILES {
                tile::<S, MR, 1>(panel, row, column, left.min(LANES));
                column += LANES;
                continue;
            }
            match left.div_ceil(LANES) {
                1 => tile::<S, MR, 1>(panel, row, column, left),
                2 => tile::<S, MR, 2>(panel, row, column, left - LANES),
                _ => tile::<S, MR, 3>(panel, row, column, (left - 2 * LANES).min(LANES)),
            }
            column += TILE;
        }
    }
}

/// # Safety
///
/// All elements of the panel must lie in their matrices, and the machine must have the instructions of the kind.
#[inline(always)]
unsafe fn panel_body<S: Lanes>(panel: &Panel) {
    let mut row = 0;
    // SAFETY: a tile begins only where all of its rows are there.
    unsafe {
        while S::LARGE_TILES && row + 8 <= panel.m {
            columns::<S, 8>(panel, row);
            row += 8;
        }
        while row + 4 <= panel.m {
            columns::<S, 4>(panel, row);
            row += 4;
        }
        if row + 2 <= panel.m {
            columns::<S, 2>(panel, row);
            row += 2;
        }
        if row < panel.m {
            columns::<S, 1>(panel, row);
        }
        if panel.last && !panel.finish.activation.is_cheap() {
            for row in 0..panel.m {
                apply_body::<S>(panel.finish.activation, panel.c.add(row * panel.c_row), panel.columns);
            }
        }
    }
}

by_level!(
    /// Computes a panel.
    pub(super) panel = panel_body(job: &Panel)
);
