//! Products of matrices of `f32`, as tiles of registers.
//!
//! A tile of the result is kept in registers while `k` runs. Each of its elements is one chain `c = a · b + c` from the
//! first `k` to the last; between two blocks of `k` it rests in the result itself, which loses nothing. So neither the size
//! of the matrices nor that of the tiles changes a bit of it. What the network does with the sums next, bias, an added
//! tensor and an activation, is done before they are stored for the last time.

use super::activation::Activation;
use super::lanes::LANES;
use super::tile::{Panel, Raw, TILE, panel};
use pulp::Arch;

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

/// How many elements a buffer for blocks of the right matrix has: some more than two of them, to begin at a line of the cache.
pub(crate) const BUFFER: usize = 2 * TILE * BLOCK + LANES;

/// How many elements of the right matrix are read by all rows before the next ones have their turn.
const NEAR: usize = 6144;

/// Products of more rows than this are worth a copy of each block of the right matrix.
const WORTH_A_COPY: usize = 32;

/// The part of a buffer that begins at a line of the cache.
fn aligned(buffer: &mut [f32]) -> &mut [f32] {
    let skip = buffer.as_ptr().align_offset(LANES * size_of::<f32>()).min(LANES);
    &mut buffer[skip..][..2 * TILE * BLOCK]
}

/// How many blocks `k` has, and how many steps each of them but the last.
fn blocks(k: usize) -> (usize, usize) {
    let steps = k.div_ceil(BLOCK).max(1);
    (steps, k.div_ceil(steps))
}

/// How many columns are computed together, for blocks of so many steps, when so many are left: whole tiles, and with them
/// what is left if it is less than one.
fn group(block: usize, left: usize) -> usize {
    let most = (NEAR / TILE / block.max(1)).max(1) * TILE;
    if left < most + TILE { left } else { most }
}

/// `c = finish(a · b)`, with `c` of `m` rows and `n` columns, row after row. The rows of `b` are those of all runs. With a
/// buffer of [`BUFFER`] elements, blocks of `b` are copied where that is faster.
pub(crate) fn multiply_runs(
    level: Arch,
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
            && !b.starts.is_empty()
            && c.len() == m * n
            && finish.fits(m, n),
        "invariant: the matrices lie in their slices"
    );
    if m == 0 || n == 0 {
        return;
    }
    let mut buffer = if m > WORTH_A_COPY && buffer.len() >= BUFFER { Some(aligned(buffer)) } else { None };
    let (steps, block) = blocks(b.length);
    let mut column = 0;
    while column < n {
        let columns = group(block, n - column);
        for (run, start) in b.starts.iter().enumerate() {
            for step in 0..steps {
                let done = step * block;
                let k = (b.length - done).min(block);
                let from = start + done * b.row + column;
                let (right, row, tile) = match &mut buffer {
                    Some(buffer) => {
                        copy_tiles(b, from, (k, columns), buffer);
                        (buffer.as_ptr(), TILE, k * TILE)
                    }
                    None => (b.values.as_ptr().wrapping_add(from), b.row, TILE),
                };
                let job = Panel {
                    m,
                    k,
                    a: a.values.as_ptr().wrapping_add(run * b.left + done * a.column),
                    a_row: a.row,
                    a_column: a.column,
                    a_panel: a.panel,
                    b: right,
                    b_row: row,
                    b_tile: tile,
                    first: run == 0 && step == 0,
                    last: run + 1 == b.starts.len() && step + 1 == steps,
                    ..panel_at(c, n, (column, columns), finish)
                };
                // SAFETY: the assertion above shows that all elements that are read lie in their slices, and that those
                // that are written lie in `c`, which is borrowed alone.
                unsafe { panel(level, &job) };
            }
        }
        column += columns;
    }
}

/// Copies a block of the right matrix, a tile of columns after another.
fn copy_tiles(b: Runs<'_>, from: usize, (k, columns): (usize, usize), buffer: &mut [f32]) {
    for (tile, into) in buffer.chunks_exact_mut((k * TILE).max(1)).take(columns.div_ceil(TILE)).enumerate() {
        let width = (columns - tile * TILE).min(TILE);
        for (number, into) in into.as_chunks_mut::<TILE>().0.iter_mut().enumerate() {
            let row = &b.values[from + tile * TILE + number * b.row..];
            match row.first_chunk::<TILE>().filter(|_| width == TILE) {
                Some(row) => *into = *row,
                None => into[..width].copy_from_slice(&row[..width]),
            }
        }
    }
}

/// The same with a right matrix that is written, a block at a time, into a buffer of [`BUFFER`] elements: `pack` is given
/// the first row and column, and how many columns, and writes rows that are [`TILE`] apart.
pub(crate) fn multiply_packed(
    level: Arch,
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
    let mut column = 0;
    while column < n {
        let columns = group(block, n - column);
        for step in 0..steps {
            let done = step * block;
            let length = (k - done).min(block);
            for (tile, into) in buffer.chunks_exact_mut((length * TILE).max(1)).take(columns.div_ceil(TILE)).enumerate()
            {
                pack(done, column + tile * TILE, (columns - tile * TILE).min(TILE), into);
            }
            let job = Panel {
                m,
                k: length,
                a: a.values.as_ptr().wrapping_add(done * a.column),
                a_row: a.row,
                a_column: a.column,
                a_panel: a.panel,
                b: buffer.as_ptr(),
                b_row: TILE,
                b_tile: length * TILE,
                first: step == 0,
                last: step + 1 == steps,
                ..panel_at(c, n, (column, columns), finish)
            };
            // SAFETY: the assertion above shows that all elements that are read lie in their slices, and that those that
            // are written lie in `c`, which is borrowed alone.
            unsafe { panel(level, &job) };
        }
        column += columns;
    }
}

/// A panel of the result, without the matrices.
fn panel_at(c: &mut [f32], n: usize, (column, columns): (usize, usize), finish: &Finish<'_>) -> Panel {
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
        b_tile: 0,
        c: c.as_mut_ptr().wrapping_add(column),
        c_row: n,
        columns,
        first: false,
        last: false,
        finish: Raw { columns: from(raw.columns), add: from(raw.add), ..raw },
    }
}
