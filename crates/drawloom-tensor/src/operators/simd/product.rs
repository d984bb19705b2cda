//! Products of matrices of `f32`, as tiles of registers.
//!
//! A tile of the result is kept in registers while `k` runs. Each of its elements is one chain `c = a · b + c` from the
//! first `k` to the last; between two blocks of `k` it rests in the result itself, which loses nothing. So neither the size
//! of the matrices nor that of the tiles changes a bit of it. What the network does with the sums next, bias, an added
//! tensor and an activation, is done before they are stored for the last time.

use super::activation::{Activation, apply_body, line};
use super::lanes::{LANES, Lanes};
use super::{Level, by_level};

/// How many columns are computed together.
pub(crate) const TILE: usize = 3 * LANES;

/// How many steps of `k` are done before the next rows have their turn: so much of the right matrix fits the nearest cache.
const BLOCK: usize = 192;

/// The left matrix.
#[derive(Clone, Copy)]
pub(crate) struct Left<'a> {
    values: &'a [f32],
    /// How far neighbours are apart, in a column and in a row, and sixteen rows from the next sixteen.
    row: usize,
    column: usize,
    panel: usize,
}

impl<'a> Left<'a> {
    /// A matrix with any steps between its elements.
    pub(crate) fn strided(values: &'a [f32], row: usize, column: usize) -> Self {
        Self { values, row, column, panel: LANES * row }
    }

    /// A matrix of so many columns in panels of sixteen rows, of which each has its columns one behind the other.
    pub(crate) fn packed(values: &'a [f32], columns: usize) -> Self {
        Self { values, row: 1, column: LANES, panel: columns * LANES }
    }

    /// Whether the elements of these rows and columns, the latter from a place on, lie in the slice.
    fn holds(&self, rows: usize, columns: usize, from: usize) -> bool {
        rows == 0
            || columns == 0
            || (rows - 1) / LANES * self.panel + (rows - 1) % LANES * self.row + from + (columns - 1) * self.column
                < self.values.len()
    }
}

/// How many elements a matrix in panels of sixteen rows has.
pub(crate) fn packed_size(rows: usize, columns: usize) -> usize {
    rows.next_multiple_of(LANES) * columns
}

/// What is added to sums.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Bias<'a> {
    #[default]
    None,
    /// A number for each row.
    Rows(&'a [f32]),
    /// A number for each column.
    Columns(&'a [f32]),
}

/// What is done to sums before they are stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finish<'a> {
    pub(crate) bias: Bias<'a>,
    /// A tensor of the shape of the result.
    pub(crate) add: Option<&'a [f32]>,
    pub(crate) activation: Activation,
}

impl Finish<'_> {
    pub(crate) const NOTHING: Self = Self { bias: Bias::None, add: None, activation: Activation::None };

    fn fits(&self, m: usize, n: usize) -> bool {
        let bias = match self.bias {
            Bias::None => true,
            Bias::Rows(bias) => bias.len() == m,
            Bias::Columns(bias) => bias.len() == n,
        };
        bias && self.add.is_none_or(|add| add.len() == m * n)
    }

    fn raw(&self) -> Raw {
        let null = std::ptr::null();
        Raw {
            rows: if let Bias::Rows(bias) = self.bias { bias.as_ptr() } else { null },
            columns: if let Bias::Columns(bias) = self.bias { bias.as_ptr() } else { null },
            add: self.add.map_or(null, <[f32]>::as_ptr),
            activation: self.activation,
        }
    }
}

/// The same with pointers, of which those that are null stand for nothing.
#[derive(Clone, Copy)]
struct Raw {
    rows: *const f32,
    columns: *const f32,
    add: *const f32,
    activation: Activation,
}

/// All rows of up to [`TILE`] columns, over one block of `k`.
#[derive(Clone, Copy)]
struct Panel {
    m: usize,
    k: usize,
    /// The first element of the block of the left matrix, and the steps between its rows and columns.
    a: *const f32,
    a_row: usize,
    a_column: usize,
    a_panel: usize,
    /// The first element of the block of the right matrix, and the step between its rows.
    b: *const f32,
    b_row: usize,
    /// The first column of the result, and the step between its rows.
    c: *mut f32,
    c_row: usize,
    columns: usize,
    first: bool,
    last: bool,
    /// Its pointers to columns and to the added tensor are at the first column.
    finish: Raw,
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
        let mut b = panel.b.add(column);
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

/// # Safety
///
/// As for the panel.
#[inline(always)]
unsafe fn rows<S: Lanes, const MR: usize, const NV: usize>(panel: &Panel, column: usize, tail: usize) {
    let mut row = 0;
    // SAFETY: a tile begins only where all of its rows are there.
    unsafe {
        while row + MR <= panel.m {
            tile::<S, MR, NV>(panel, row, column, tail);
            row += MR;
        }
        if MR > 4 && row + 4 <= panel.m {
            tile::<S, 4, NV>(panel, row, column, tail);
            row += 4;
        }
        if row + 2 <= panel.m {
            tile::<S, 2, NV>(panel, row, column, tail);
            row += 2;
        }
        if row < panel.m {
            tile::<S, 1, NV>(panel, row, column, tail);
        }
    }
}

/// # Safety
///
/// All elements of the panel must lie in their matrices, and the machine must have the instructions of the kind.
#[inline(always)]
unsafe fn panel_body<S: Lanes>(panel: &Panel) {
    let vectors = panel.columns.div_ceil(LANES);
    let tail = panel.columns - (vectors - 1) * LANES;
    // SAFETY: the vectors cover the columns of the panel, and no more.
    unsafe {
        if S::LARGE_TILES {
            match vectors {
                1 => rows::<S, 8, 1>(panel, 0, tail),
                2 => rows::<S, 8, 2>(panel, 0, tail),
                _ => rows::<S, 8, 3>(panel, 0, tail),
            }
        } else {
            for vector in 0..vectors {
                rows::<S, 4, 1>(panel, vector * LANES, if vector + 1 == vectors { tail } else { LANES });
            }
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
    panel = panel_body(job: &Panel)
);

/// A right matrix whose columns are next to each other: rows of it, `row` apart, in several runs.
#[derive(Clone, Copy)]
pub(crate) struct Runs<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) row: usize,
    /// Where each run begins.
    pub(crate) starts: &'a [usize],
    /// How many rows each run has.
    pub(crate) length: usize,
    /// How many elements apart the runs begin in the left matrix.
    pub(crate) left: usize,
}

/// How many elements a buffer for a block of the right matrix has: some more than it, for it to begin at a line of the cache.
pub(crate) const BUFFER: usize = TILE * BLOCK + LANES;

/// Products of more rows than this are worth a copy of each block of the right matrix.
const WORTH_A_COPY: usize = 32;

/// How many blocks `k` has, and how many steps each of them but the last.
fn blocks(k: usize) -> (usize, usize) {
    let steps = k.div_ceil(BLOCK).max(1);
    (steps, k.div_ceil(steps))
}

/// The part of a buffer that begins at a line of the cache.
fn aligned(buffer: &mut [f32]) -> &mut [f32] {
    let skip = buffer.as_ptr().align_offset(LANES * size_of::<f32>()).min(LANES);
    &mut buffer[skip..][..TILE * BLOCK]
}

/// `c = finish(a · b)`, with `c` of `m` rows and `n` columns, row after row. The rows of `b` are those of all runs. With a
/// buffer of [`BUFFER`] elements, blocks of `b` are copied where that is faster.
pub(crate) fn multiply_runs(
    level: Level,
    (m, n): (usize, usize),
    a: Left<'_>,
    b: Runs<'_>,
    buffer: &mut [f32],
    c: &mut [f32],
    finish: &Finish<'_>,
) {
    let last_row = b.length.saturating_sub(1) * b.row + n;
    assert!(
        a.holds(m, b.length, b.starts.len().saturating_sub(1) * b.left)
            && b.starts.iter().all(|start| b.length == 0 || start + last_row <= b.values.len())
            && c.len() == m * n
            && finish.fits(m, n),
        "invariant: the matrices lie in their slices"
    );
    if m == 0 || n == 0 {
        return;
    }
    let mut buffer = if m > WORTH_A_COPY && buffer.len() >= BUFFER { Some(aligned(buffer)) } else { None };
    let (steps, block) = blocks(b.length);
    for column in (0..n).step_by(TILE) {
        for (run, start) in b.starts.iter().enumerate() {
            for step in 0..steps {
                let done = step * block;
                let k = (b.length - done).min(block);
                let from = start + done * b.row + column;
                let (block, row) = match &mut buffer {
                    Some(buffer) => {
                        let columns = (n - column).min(TILE);
                        for (number, into) in buffer.as_chunks_mut::<TILE>().0.iter_mut().take(k).enumerate() {
                            let row = &b.values[from + number * b.row..];
                            match row.first_chunk::<TILE>().filter(|_| columns == TILE) {
                                Some(row) => *into = *row,
                                None => into[..columns].copy_from_slice(&row[..columns]),
                            }
                        }
                        (buffer.as_ptr(), TILE)
                    }
                    None => (b.values.as_ptr().wrapping_add(from), b.row),
                };
                let job = Panel {
                    m,
                    k,
                    a: a.values.as_ptr().wrapping_add(run * b.left + done * a.column),
                    a_row: a.row,
                    a_column: a.column,
                    a_panel: a.panel,
                    b: block,
                    b_row: row,
                    first: run == 0 && step == 0,
                    last: run + 1 == b.starts.len() && step + 1 == steps,
                    ..panel_at(c, n, column, finish)
                };
                // SAFETY: the assertion above shows that all elements that are read lie in their slices, and that those
                // that are written lie in `c`, which is borrowed alone.
                unsafe { panel(level, &job) };
            }
        }
    }
}

/// The same with a right matrix that is written, a block at a time, into a buffer of [`BUFFER`] elements:
/// `pack` is given the first row and column, and how many columns, and writes rows that are [`TILE`] apart.
pub(crate) fn multiply_packed(
    level: Level,
    (m, k, n): (usize, usize, usize),
    a: Left<'_>,
    buffer: &mut [f32],
    mut pack: impl FnMut(usize, usize, usize, &mut [f32]),
    c: &mut [f32],
    finish: &Finish<'_>,
) {
    assert!(
        a.holds(m, k, 0) && buffer.len() >= BUFFER && c.len() == m * n && finish.fits(m, n),
        "invariant: the matrices lie in their slices"
    );
    if m == 0 || n == 0 {
        return;
    }
    let buffer = aligned(buffer);
    let (steps, block) = blocks(k);
    for column in (0..n).step_by(TILE) {
        for step in 0..steps {
            let done = step * block;
            let length = (k - done).min(block);
            pack(done, column, (n - column).min(TILE), &mut buffer[..length * TILE]);
            let job = Panel {
                m,
                k: length,
                a: a.values.as_ptr().wrapping_add(done * a.column),
                a_row: a.row,
                a_column: a.column,
                a_panel: a.panel,
                b: buffer.as_ptr(),
                b_row: TILE,
                first: step == 0,
                last: step + 1 == steps,
                ..panel_at(c, n, column, finish)
            };
            // SAFETY: the assertion above shows that all elements that are read lie in their slices, and that those that
            // are written lie in `c`, which is borrowed alone.
            unsafe { panel(level, &job) };
        }
    }
}

/// A panel of the result, without the matrices.
fn panel_at(c: &mut [f32], n: usize, column: usize, finish: &Finish<'_>) -> Panel {
    let raw = finish.raw();
    let from = |pointer: *const f32| if pointer.is_null() { pointer } else { pointer.wrapping_add(column) };
    Panel {
        m: 0,
        k: 0,
        a: std::ptr::null(),
        a_row: 0,
        a_column: 0,
        a_panel: 0,
        b: std::ptr::null(),
        b_row: 0,
        c: c.as_mut_ptr().wrapping_add(column),
        c_row: n,
        columns: (n - column).min(TILE),
        first: false,
        last: false,
        finish: Raw { columns: from(raw.columns), add: from(raw.add), ..raw },
    }
}
