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

use super::view::{View, ViewMut};
#[cfg(target_arch = "x86_64")]
use pulp::x86::{V3, V4};
use pulp::{MemMask, Scalar, Simd};

/// The widest panel of any level, which is the widest block that is solved or factored.
pub(super) const WIDEST: usize = 8;

/// The largest block that the registers of an instruction set have room for, beside the operands of the next product.
pub(super) trait Registers: Simd {
    /// Vectors of rows, 2 or 3.
    const VECTORS: usize;
    /// Columns: 4, 6 or 8.
    const WIDTH: usize;
}

impl Registers for Scalar {
    const VECTORS: usize = 3;
    const WIDTH: usize = 4;
}

#[cfg(target_arch = "x86_64")]
impl Registers for V3 {
    // Three by four needs all sixteen registers, and the compiler then keeps one sum in memory.
    const VECTORS: usize = 2;
    const WIDTH: usize = 6;
}

#[cfg(target_arch = "x86_64")]
impl Registers for V4 {
    const VECTORS: usize = 3;
    const WIDTH: usize = 8;
}

const _: () = assert!(<Scalar as Registers>::WIDTH <= WIDEST);
#[cfg(target_arch = "x86_64")]
const _: () = assert!(<V3 as Registers>::WIDTH <= WIDEST && <V4 as Registers>::WIDTH <= WIDEST);

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

/// Runs an update or a solve. The multiply-subtract is fused where the processor can: then all levels that fuse do the same
/// roundings in the same order on each element, and give the same bits.
///
/// Rows come in blocks of one to three vectors, and each block goes through all columns before the next: its part of A
/// stays in the first-level cache. Four vectors are two and two: a block of a single vector has too few sums in flight to keep
/// the multipliers busy.
#[inline(always)]
pub(super) fn run<S: Registers, const SOLVE: bool>(simd: S, operands: &mut Operands<'_>) {
    assert!(
        !SOLVE || operands.triangle.holds(operands.columns, operands.columns),
        "a broken invariant of the tile kernels: there is no triangle to solve with"
    );
    let vectors = operands.rows.div_ceil(S::F64_LANES);
    let partial = operands.rows % S::F64_LANES;
    let mut done = 0;
    while done < vectors {
        let take = match vectors - done {
            4 => 2,
            left => left.min(S::VECTORS),
        };
        let row = done * S::F64_LANES;
        let last = done + take == vectors;
        // SAFETY: `row` and `take` vectors stay within `rows`, whose last vector is masked when it is not a whole one. A
        // solve has a triangle, as was just seen.
        unsafe {
            if last && partial != 0 {
                let mask = mask(simd, partial);
                match take {
                    1 => across::<S, 1, true, SOLVE>(simd, operands, row, mask),
                    3 if S::VECTORS == 3 => across::<S, 3, true, SOLVE>(simd, operands, row, mask),
                    _ => across::<S, 2, true, SOLVE>(simd, operands, row, mask),
                }
            } else {
                let mask = mask(simd, S::F64_LANES);
                match take {
                    1 => across::<S, 1, false, SOLVE>(simd, operands, row, mask),
                    3 if S::VECTORS == 3 => across::<S, 3, false, SOLVE>(simd, operands, row, mask),
                    _ => across::<S, 2, false, SOLVE>(simd, operands, row, mask),
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
unsafe fn across<S: Registers, const M: usize, const PARTIAL: bool, const SOLVE: bool>(
    simd: S,
    operands: &mut Operands<'_>,
    row: usize,
    mask: MemMask<S::m64s>,
) {
    let mut column = 0;
    // SAFETY: the rows by the caller; `column` and the width stay within `columns`.
    unsafe {
        if S::WIDTH == 8 && M == 2 && !SOLVE {
            // Two vectors leave registers for twelve columns. Sixteen are eight and eight, without a narrow rest.
            while column + 12 <= operands.columns && operands.columns - column != 16 {
                block::<S, M, 12, PARTIAL, SOLVE>(simd, operands, row, column, mask);
                column += 12;
            }
        }
        if S::WIDTH == 8 {
            while column + 8 <= operands.columns {
                block::<S, M, 8, PARTIAL, SOLVE>(simd, operands, row, column, mask);
                column += 8;
            }
        }
        if S::WIDTH == 6 {
            while column + 6 <= operands.columns {
                block::<S, M, 6, PARTIAL, SOLVE>(simd, operands, row, column, mask);
                column += 6;
            }
        }
        while column + 4 <= operands.columns {
            block::<S, M, 4, PARTIAL, SOLVE>(simd, operands, row, column, mask);
            column += 4;
        }
        if column + 2 <= operands.columns {
            block::<S, M, 2, PARTIAL, SOLVE>(simd, operands, row, column, mask);
            column += 2;
        }
        if column < operands.columns {
            block::<S, M, 1, PARTIAL, SOLVE>(simd, operands, row, column, mask);
        }
    }
}

/// One block: `M` vectors of rows from `row` on, `N` columns from `column` on. With `PARTIAL` the last vector is
/// masked.
///
/// # Safety
/// The rows of the block, less those masked away, and its columns are among
/// the operands'. A solve has a triangle, and starts at column zero.
#[inline(always)]
unsafe fn block<S: Registers, const M: usize, const N: usize, const PARTIAL: bool, const SOLVE: bool>(
    simd: S,
    operands: &mut Operands<'_>,
    row: usize,
    column: usize,
    mask: MemMask<S::m64s>,
) {
    let stride_c = operands.c.stride();
    // SAFETY: every address that is followed is that of an element (row + lane, column) of A, B, C or the triangle,
    // with a row, a column and a depth within the bounds that `Operands` checked; a vector that is not whole is masked.
    // `at` steps past the last column only as wrapping addresses, and a prefetch may have any address.
    unsafe {
        let c = operands.c.as_mut_ptr().add(row + column * stride_c);
        let mut sums = [[simd.splat_f64s(0.0); M]; N];
        for (j, sums) in sums.iter_mut().enumerate() {
            for (v, sum) in sums.iter_mut().enumerate() {
                let from = c.add(j * stride_c + v * S::F64_LANES);
                *sum = load::<S>(simd, from, (PARTIAL && v == M - 1).then_some(mask));
            }
        }
        // The next block of C is asked for while this one is computed: it is the only operand that is not reused, and
        // often far away. Waiting for it would cost a tenth of a small tile's time.
        let next = match column + N < operands.columns {
            true => c.wrapping_add(N * stride_c),
            false => operands.c.as_mut_ptr().wrapping_add(row + M * S::F64_LANES),
        };
        for j in 0..N {
            for v in 0..M {
                prefetch::<S>(next.wrapping_add(j * stride_c + v * S::F64_LANES));
            }
        }
        let mut at = (operands.a.as_ptr().wrapping_add(row), operands.b.as_ptr().wrapping_add(column));
        let strides = (operands.a.stride(), operands.b.stride());
        // Four terms a turn: the processor then foresees the end of the loop, whose misprediction would cost a tenth of
        // a small block's time.
        for _ in 0..operands.depth / 4 {
            at = term::<S, M, N, PARTIAL>(simd, &mut sums, at, strides, mask);
            at = term::<S, M, N, PARTIAL>(simd, &mut sums, at, strides, mask);
            at = term::<S, M, N, PARTIAL>(simd, &mut sums, at, strides, mask);
            at = term::<S, M, N, PARTIAL>(simd, &mut sums, at, strides, mask);
        }
        for _ in 0..operands.depth % 4 {
            at = term::<S, M, N, PARTIAL>(simd, &mut sums, at, strides, mask);
        }
        if SOLVE {
            // One call for each column, so that the column is a constant and the sums stay in registers.
            solve_column::<S, M, N, 0>(simd, operands, &mut sums);
            solve_column::<S, M, N, 1>(simd, operands, &mut sums);
            solve_column::<S, M, N, 2>(simd, operands, &mut sums);
            solve_column::<S, M, N, 3>(simd, operands, &mut sums);
            solve_column::<S, M, N, 4>(simd, operands, &mut sums);
            solve_column::<S, M, N, 5>(simd, operands, &mut sums);
            solve_column::<S, M, N, 6>(simd, operands, &mut sums);
            solve_column::<S, M, N, 7>(simd, operands, &mut sums);
        }
        for (j, sums) in sums.iter().enumerate() {
            for (v, sum) in sums.iter().enumerate() {
                let to = c.add(j * stride_c + v * S::F64_LANES);
                store::<S>(simd, to, *sum, (PARTIAL && v == M - 1).then_some(mask))
            }
        }
    }
}
/// Subtracts one term of the products, a column of A times a column of B, and gives the addresses of the next columns.
///
/// # Safety
/// As for [`block`]; both columns are there.
#[inline(always)]
unsafe fn term<S: Registers, const M: usize, const N: usize, const PARTIAL: bool>(
    simd: S,
    sums: &mut [[S::f64s; M]; N],
    (a, b): (*const f64, *const f64),
    (stride_a, stride_b): (usize, usize),
    mask: MemMask<S::m64s>,
) -> (*const f64, *const f64) {
    // SAFETY: `M` vectors of rows at `a`, of which the last is masked if it is not whole, and `N` elements at `b` are
    // there by the caller's contract.
    unsafe {
        let mut column = [simd.splat_f64s(0.0); M];
        for (v, vector) in column.iter_mut().enumerate() {
            let from = a.add(v * S::F64_LANES);
            *vector = load::<S>(simd, from, (PARTIAL && v == M - 1).then_some(mask));
        }
        for (j, sums) in sums.iter_mut().enumerate() {
            let factor = simd.splat_f64s(b.add(j).read());
            for (sum, vector) in sums.iter_mut().zip(column) {
                *sum = simd.negate_mul_add_e_f64s(vector, factor, *sum);
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
unsafe fn solve_column<S: Registers, const M: usize, const N: usize, const J: usize>(
    simd: S,
    operands: &Operands<'_>,
    sums: &mut [[S::f64s; M]; N],
) {
    if J >= N {
        return;
    }
    // SAFETY: the triangle was checked to have `N` by `N` elements.
    unsafe {
        let triangle = operands.triangle.as_ptr().add(J * operands.triangle.stride());
        let inverse = simd.splat_f64s(operands.inverse[J]);
        for sum in &mut sums[J] {
            *sum = simd.mul_f64s(*sum, inverse);
        }
        let solved = sums[J];
        for (later, sums) in sums.iter_mut().enumerate().skip(J + 1) {
            let factor = simd.splat_f64s(triangle.add(later).read());
            for (sum, solved) in sums.iter_mut().zip(solved) {
                *sum = simd.negate_mul_add_e_f64s(solved, factor, *sum);
            }
        }
    }
}

/// The first `count` elements of a vector.
#[inline(always)]
fn mask<S: Simd>(simd: S, count: usize) -> MemMask<S::m64s> {
    // Made of the elements alone: a mask of the library would be given to assembly code, through a table of jumps.
    MemMask::new(simd.mask_between_m64s(0, count as u64).mask())
}

/// # Safety
/// The elements of the mask, or all of a vector, are readable.
#[inline(always)]
unsafe fn load<S: Simd>(simd: S, from: *const f64, mask: Option<MemMask<S::m64s>>) -> S::f64s {
    // SAFETY: by the caller; a masked load touches no other elements.
    unsafe {
        match mask {
            Some(mask) => simd.mask_load_ptr_f64s(mask, from),
            None => from.cast::<S::f64s>().read_unaligned(),
        }
    }
}

/// # Safety
/// The elements of the mask, or all of a vector, are writable.
#[inline(always)]
unsafe fn store<S: Simd>(simd: S, to: *mut f64, value: S::f64s, mask: Option<MemMask<S::m64s>>) {
    // SAFETY: by the caller; a masked store touches no other elements.
    unsafe {
        match mask {
            Some(mask) => simd.mask_store_ptr_f64s(mask, to, value),
            None => to.cast::<S::f64s>().write_unaligned(value),
        }
    }
}

/// Asks for the cache line at an address, which may be any.
#[inline(always)]
fn prefetch<S: Simd>(at: *const f64) {
    #[cfg(target_arch = "x86_64")]
    if !S::IS_SCALAR {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every processor of the target has the instruction, and it never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
}

/// Factors the lower triangle of a `width` by `width` block into `L * L^T` and leaves L in its place. Gives the index
/// of the first pivot that is not positive.
#[inline(always)]
pub(super) fn factor<S: Registers>(_: S, width: usize, block: &mut [[f64; WIDEST]; WIDEST]) -> Result<(), usize> {
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
                *element = match S::IS_SCALAR {
                    // Without the instruction, the fused form would be a slow library call.
                    true => *element - solved_row * solved[later],
                    false => (-solved_row).mul_add(solved[later], *element),
                };
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "there is no triangle to solve with")]
    fn operands_without_a_triangle_are_not_solved() {
        let mut c = [1.0; 4];
        let nothing = View::new(&[], 2);
        run::<_, true>(Scalar::new(), &mut Operands::update(2, 2, 0, nothing, nothing, ViewMut::new(&mut c, 2)));
    }
}
