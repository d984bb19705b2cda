//! The microkernel: a block of C kept in registers while the products that belong to it are subtracted.
//!
//! C is `rows` by `N`, A is `rows` by `depth`, B is `N` by `depth`, all column-major: `C -= A * B^T`. For each of the
//! `depth` steps one column of A is loaded as vectors and each element of B's column is spread over a vector, so both
//! are read in the order they lie in memory and a tile needs no packing. Up to three vectors of rows by `N` columns are
//! in registers: 24 by 8 or 16 by 12 with AVX-512, 8 by 6 with AVX2, more than enough to hide the latency of the
//! multiply-add.
//!
//! A *solve* continues in the registers: it divides the block by a triangle, `C := C * T^-T`, before it is stored.
//!
//! Each element of C starts from its old value and has its products subtracted in the order of the columns of A. No
//! choice of block sizes changes that, so none changes the result.

use super::lanes::Lanes;
use super::view::{View, ViewMut};

/// The widest panel of any level, which is the widest block that is solved or factored.
pub(super) const WIDEST: usize = 8;

/// Where the operands of one update or solve lie. Made by [`Operands::update`] and [`Operands::solve`], which check
/// that every element is there, so that holding one is the proof.
pub(super) struct Operands<'a> {
    rows: usize,
    columns: usize,
    depth: usize,
    a: View<'a>,
    b: View<'a>,
    c: ViewMut<'a>,
    triangle: View<'a>,
    inverse: [f64; WIDEST],
}

impl<'a> Operands<'a> {
    /// `C -= A * B^T`, where C has `rows` by `columns` elements and the product has `depth` terms.
    pub(super) fn update(
        rows: usize,
        columns: usize,
        depth: usize,
        a: View<'a>,
        b: View<'a>,
        c: ViewMut<'a>,
    ) -> Operands<'a> {
        assert!(
            a.holds(rows, depth) && b.holds(columns, depth) && c.holds(rows, columns),
            "a broken invariant of the tile kernels: a panel reaches outside its tile"
        );
        Operands { rows, columns, depth, a, b, c, triangle: View::new(&[], 0), inverse: [0.0; WIDEST] }
    }

    /// The same, and then `C := C * T^-T` with the lower triangle T of `width` by `width` elements.
    pub(super) fn solve(
        rows: usize,
        width: usize,
        depth: usize,
        a: View<'a>,
        b: View<'a>,
        c: ViewMut<'a>,
        triangle: View<'a>,
    ) -> Operands<'a> {
        assert!(
            width <= WIDEST && triangle.holds(width, width),
            "a broken invariant of the tile kernels: a triangle reaches outside its tile"
        );
        let mut inverse = [0.0; WIDEST];
        for (j, inverse) in inverse.iter_mut().enumerate().take(width) {
            *inverse = 1.0 / triangle.at(j, j);
        }
        Operands { triangle, inverse, ..Operands::update(rows, width, depth, a, b, c) }
    }
}

/// Runs an update or a solve with the vectors of `V`.
///
/// Rows come in blocks of one to three vectors, and each block goes through all columns before the next: its part of A
/// stays in the first-level cache. Four vectors are two and two: a block of
/// a single vector has too few sums in flight to keep the multipliers busy.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn run<V: Lanes, const SOLVE: bool>(mut operands: Operands<'_>) {
    let vectors = operands.rows.div_ceil(V::LANES);
    let partial = operands.rows % V::LANES;
    let mut done = 0;
    while done < vectors {
        let take = match vectors - done {
            4 => 2,
            left => left.min(V::VECTORS),
        };
        let row = done * V::LANES;
        let last = done + take == vectors;
        // SAFETY: the instructions by the caller. `row` and `take` vectors stay within `rows`, whose last vector is
        // masked when it is not a whole one; the mask's count is between one and `LANES`.
        unsafe {
            if last && partial != 0 {
                let mask = V::mask(partial);
                match take {
                    1 => across::<V, 1, true, SOLVE>(&mut operands, row, mask),
                    3 if V::VECTORS == 3 => across::<V, 3, true, SOLVE>(&mut operands, row, mask),
                    _ => across::<V, 2, true, SOLVE>(&mut operands, row, mask),
                }
            } else {
                let mask = V::mask(V::LANES);
                match take {
                    1 => across::<V, 1, false, SOLVE>(&mut operands, row, mask),
                    3 if V::VECTORS == 3 => across::<V, 3, false, SOLVE>(&mut operands, row, mask),
                    _ => across::<V, 2, false, SOLVE>(&mut operands, row, mask),
                }
            }
        }
        done += take;
    }
}

/// Takes a block of `M` vectors of rows through all columns, in panels as wide as possible.
///
/// # Safety
/// As for [`block`].
#[inline(always)]
unsafe fn across<V: Lanes, const M: usize, const PARTIAL: bool, const SOLVE: bool>(
    operands: &mut Operands<'_>,
    row: usize,
    mask: V::Mask,
) {
    let mut column = 0;
    // SAFETY: the instructions and the rows by the caller; `column` and the width stay within `columns`.
    unsafe {
        if V::WIDTH == 8 && M == 2 && !SOLVE {
            // Two vectors leave registers for twelve columns. Sixteen are eight and eight, without a narrow rest.
            while column + 12 <= operands.columns && operands.columns - column != 16 {
                block::<V, M, 12, PARTIAL, SOLVE>(operands, row, column, mask);
                column += 12;
            }
        }
        if V::WIDTH == 8 {
            while column + 8 <= operands.columns {
                block::<V, M, 8, PARTIAL, SOLVE>(operands, row, column, mask);
                column += 8;
            }
        }
        if V::WIDTH == 6 {
            while column + 6 <= operands.columns {
                block::<V, M, 6, PARTIAL, SOLVE>(operands, row, column, mask);
                column += 6;
            }
        }
        while column + 4 <= operands.columns {
            block::<V, M, 4, PARTIAL, SOLVE>(operands, row, column, mask);
            column += 4;
        }
        if column + 2 <= operands.columns {
            block::<V, M, 2, PARTIAL, SOLVE>(operands, row, column, mask);
            column += 2;
        }
        if column < operands.columns {
            block::<V, M, 1, PARTIAL, SOLVE>(operands, row, column, mask);
        }
    }
}

/// One block: `M` vectors of rows from `row` on, `N` columns from `column` on. With `PARTIAL` the last vector is
/// masked.
///
/// # Safety
/// The processor has the instructions of `V`. The rows of the block, less those masked away, and its columns are among
/// the operands'. A solve has a triangle, and starts at column zero.
#[inline(always)]
unsafe fn block<V: Lanes, const M: usize, const N: usize, const PARTIAL: bool, const SOLVE: bool>(
    operands: &mut Operands<'_>,
    row: usize,
    column: usize,
    mask: V::Mask,
) {
    let stride_c = operands.c.stride();
    // SAFETY: every address that is followed is that of an element (row + lane, column) of A, B, C or the triangle,
    // with a row, a column and a depth within the bounds that `Operands` checked; a vector that is not whole is masked.
    // `at` steps past the last column only as wrapping addresses, and a prefetch may have any address.
    unsafe {
        let c = operands.c.as_mut_ptr().add(row + column * stride_c);
        let mut sums = [[V::splat(0.0); M]; N];
        for (j, sums) in sums.iter_mut().enumerate() {
            for (v, sum) in sums.iter_mut().enumerate() {
                let from = c.add(j * stride_c + v * V::LANES);
                *sum = if PARTIAL && v == M - 1 { V::load_some(from, mask) } else { V::load(from) };
            }
        }
        // The next block of C is asked for while this one is computed: it is the only operand that is not reused, and
        // often far away. Waiting for it would cost a tenth of a small tile's time.
        let next = match column + N < operands.columns {
            true => c.wrapping_add(N * stride_c),
            false => operands.c.as_mut_ptr().wrapping_add(row + M * V::LANES),
        };
        for j in 0..N {
            for v in 0..M {
                V::prefetch(next.wrapping_add(j * stride_c + v * V::LANES));
            }
        }
        let mut at = (operands.a.as_ptr().wrapping_add(row), operands.b.as_ptr().wrapping_add(column));
        let strides = (operands.a.stride(), operands.b.stride());
        // Four terms a turn: the processor then foresees the end of the loop, whose misprediction would cost a tenth of
        // a small block's time.
        for _ in 0..operands.depth / 4 {
            at = term::<V, M, N, PARTIAL>(&mut sums, at, strides, mask);
            at = term::<V, M, N, PARTIAL>(&mut sums, at, strides, mask);
            at = term::<V, M, N, PARTIAL>(&mut sums, at, strides, mask);
            at = term::<V, M, N, PARTIAL>(&mut sums, at, strides, mask);
        }
        for _ in 0..operands.depth % 4 {
            at = term::<V, M, N, PARTIAL>(&mut sums, at, strides, mask);
        }
        if SOLVE {
            // One call for each column, so that the column is a constant and the sums stay in registers.
            solve_column::<V, M, N, 0>(operands, &mut sums);
            solve_column::<V, M, N, 1>(operands, &mut sums);
            solve_column::<V, M, N, 2>(operands, &mut sums);
            solve_column::<V, M, N, 3>(operands, &mut sums);
            solve_column::<V, M, N, 4>(operands, &mut sums);
            solve_column::<V, M, N, 5>(operands, &mut sums);
            solve_column::<V, M, N, 6>(operands, &mut sums);
            solve_column::<V, M, N, 7>(operands, &mut sums);
        }
        for (j, sums) in sums.iter().enumerate() {
            for (v, sum) in sums.iter().enumerate() {
                let to = c.add(j * stride_c + v * V::LANES);
                if PARTIAL && v == M - 1 { sum.store_some(to, mask) } else { sum.store(to) }
            }
        }
    }
}
/// Subtracts one term of the products, a column of A times a column of B, and gives the addresses of the next columns.
///
/// # Safety
/// As for [`block`]; both columns are there.
#[inline(always)]
unsafe fn term<V: Lanes, const M: usize, const N: usize, const PARTIAL: bool>(
    sums: &mut [[V; M]; N],
    (a, b): (*const f64, *const f64),
    (stride_a, stride_b): (usize, usize),
    mask: V::Mask,
) -> (*const f64, *const f64) {
    // SAFETY: `M` vectors of rows at `a`, of which the last is masked if it is not whole, and `N` elements at `b` are
    // there by the caller's contract.
    unsafe {
        let mut column = [V::splat(0.0); M];
        for (v, vector) in column.iter_mut().enumerate() {
            let from = a.add(v * V::LANES);
            *vector = if PARTIAL && v == M - 1 { V::load_some(from, mask) } else { V::load(from) };
        }
        for (j, sums) in sums.iter_mut().enumerate() {
            let factor = V::splat(b.add(j).read());
            for (sum, vector) in sums.iter_mut().zip(column) {
                *sum = sum.minus_product(vector, factor);
            }
        }
    }
    (a.wrapping_add(stride_a), b.wrapping_add(stride_b))
}

/// Finishes column `J` of a block that is solved, and takes it out of the columns after it.
///
/// # Safety
/// As for [`block`].
#[inline(always)]
unsafe fn solve_column<V: Lanes, const M: usize, const N: usize, const J: usize>(
    operands: &Operands<'_>,
    sums: &mut [[V; M]; N],
) {
    if J >= N {
        return;
    }
    // SAFETY: the instructions by the caller; the triangle was checked to have `N` by `N` elements.
    unsafe {
        let triangle = operands.triangle.as_ptr().add(J * operands.triangle.stride());
        let inverse = V::splat(operands.inverse[J]);
        for sum in &mut sums[J] {
            *sum = sum.times(inverse);
        }
        let solved = sums[J];
        for (later, sums) in sums.iter_mut().enumerate().skip(J + 1) {
            let factor = V::splat(triangle.add(later).read());
            for (sum, solved) in sums.iter_mut().zip(solved) {
                *sum = sum.minus_product(solved, factor);
            }
        }
    }
}

/// Factors the lower triangle of a `width` by `width` block into `L * L^T` and leaves L in its place. Gives the index
/// of the first pivot that is not positive.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn factor<V: Lanes>(width: usize, block: &mut [[f64; WIDEST]; WIDEST]) -> Result<(), usize> {
    for j in 0..width.min(WIDEST) {
        let pivot = block[j][j];
        if pivot <= 0.0 || !pivot.is_finite() {
            return Err(j);
        }
        let root = pivot.sqrt();
        let inverse = 1.0 / root;
        block[j][j] = root;
        for element in &mut block[j][j + 1..] {
            *element *= inverse;
        }
        let solved = block[j];
        for (later, column) in block.iter_mut().enumerate().skip(j + 1) {
            for (element, solved_row) in column.iter_mut().zip(solved) {
                // SAFETY: the instructions by the caller.
                *element = unsafe { V::scalar_minus_product(*element, solved_row, solved[later]) };
            }
        }
    }
    Ok(())
}
