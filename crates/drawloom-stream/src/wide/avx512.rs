//! AVX-512 with F, BW, DQ and VL: vectors of sixteen numbers of 32 bits. What is kept is compressed, a register at a time.

use std::arch::asm;
use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_alignr_epi64, _mm512_loadu_si512, _mm512_maskz_compress_epi32,
    _mm512_maskz_compress_epi64, _mm512_permutex2var_epi64, _mm512_permutexvar_epi64, _mm512_set1_epi64,
    _mm512_setr_epi64, _mm512_setzero_si512, _mm512_shuffle_i64x2, _mm512_storeu_si512, _mm512_sub_epi64,
    _mm512_test_epi8_mask,
};
use std::mem::transmute;

use super::lanes::Lanes;
use super::level::Kernel;
use super::portable::{self, Place, WORD, is_number, of_bits};
use super::registers;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn call<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn select<L, O, F, W>(items: L, to: &mut Vec<O>, words: &mut W, code: &F)
where
    L: Lanes,
    O: Copy + Default + 'static,
    F: Fn(L::Lane) -> (O, bool),
    W: FnMut(u64),
{
    if !registers::fit::<O>() {
        return portable::select(items, to, words, code);
    }
    // SAFETY: the values are plain numbers, and there is space for those whose flag is set, and for more. No more than these count.
    let compress = |values: &_, flags, place: &mut _| unsafe { compress(values, flags, place) };
    // SAFETY: it appends the values whose flag is set, and writes no more than a register behind them.
    unsafe { registers::select(items, to, words, code, |flags| word(flags), compress) };
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn split<L, O, F, W>(items: L, to: (&mut Vec<O>, &mut Vec<O>), words: &mut W, code: &F)
where
    L: Lanes,
    O: Copy + Default + 'static,
    F: Fn(L::Lane) -> (O, bool),
    W: FnMut(u64),
{
    if !registers::fit::<O>() {
        return portable::split(items, to, words, code);
    }
    // SAFETY: as in [`select`].
    let compress = |values: &_, flags, place: &mut _| unsafe { compress(values, flags, place) };
    // SAFETY: as in [`select`].
    unsafe { registers::split(items, to, words, code, |flags| word(flags), compress) };
}

/// As [`super::portable::running_sums`], sixteen at once.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn running_sums<I: 'static, V: Fn(&I) -> u64>(before: u64, items: &[I], value: &V, sums: &mut [u64]) {
    let mut sum = _mm512_set1_epi64(before as i64);
    let ((blocks, rest), (sums, sums_of_rest)) = (items.as_chunks::<16>(), sums.as_chunks_mut::<16>());
    for (items, sums) in blocks.iter().zip(sums.iter_mut()) {
        let (even, odd) = if is_number::<I>(4) {
            let words = in_words(items);
            let low = |at: usize| value(&of_bits(words[at] as u32));
            (side_by_side(low), side_by_side(|at| value(&of_bits((words[at] >> 32) as u32))))
        } else if size_of::<I>() <= 4 {
            // The numbers of every other item are where the halves of a register's numbers are.
            (side_by_side(|at| value(&items[2 * at])), side_by_side(|at| value(&items[2 * at + 1])))
        } else {
            let (front, back) = (side_by_side(|at| value(&items[at])), side_by_side(|at| value(&items[8 + at])));
            let places = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
            let even = _mm512_permutex2var_epi64(front, places, back);
            (even, _mm512_permutex2var_epi64(front, _mm512_add_epi64(places, _mm512_set1_epi64(1)), back))
        };
        sum = sums_of_sixteen(sum, even, odd, sums);
    }
    let before = sums.last().filter(|_| !blocks.is_empty()).map_or(before, |sums| sums[15]);
    portable::running_sums(before, rest, value, sums_of_rest);
}

/// How many sums [`sums_in_rows`] makes at once.
pub(super) const BLOCK: usize = 32;

/// Where [`sums_in_rows`] puts the sum of so many items, if that of none is in front of all others. Each block has four rows: one for
/// the sums that end with the first of four items, one for those that end with the second, and so on.
#[inline(always)]
pub(super) fn place_in_rows(count: u32) -> u32 {
    // The one of no items is as far in front as numbers go, and its bits stay the same wherever they are moved.
    let last = count.wrapping_sub(1);
    (last & !31 | (last & 3) << 3 | last >> 2 & 7).wrapping_add(1)
}

/// The sum of the first items, for each number of items from one to all, but not in order: that would cost as much again. See
/// [`place_in_rows`]. There is space for whole blocks.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn sums_in_rows<I: 'static, V: Fn(&I) -> u64>(items: &[I], value: &V, sums: &mut [u64]) {
    let (blocks, rest) = items.as_chunks::<BLOCK>();
    let (sums_of_blocks, sums_of_rest) = sums.as_chunks_mut::<BLOCK>().0.split_at_mut(blocks.len());
    let mut sum = _mm512_setzero_si512();
    for (items, sums) in blocks.iter().zip(sums_of_blocks) {
        let rows = if is_number::<I>(4) {
            let words = pairs(items);
            let low = |words: [u64; 8]| side_by_side(|at| value(&of_bits(words[at] as u32)));
            let high = |words: [u64; 8]| side_by_side(|at| value(&of_bits((words[at] >> 32) as u32)));
            [low(words[0]), high(words[0]), low(words[1]), high(words[1])]
        } else {
            in_rows(|at| value(&items[at]))
        };
        sum = sums_of_rows(sum, rows, sums);
    }
    if !rest.is_empty() {
        let mut values = [0; BLOCK];
        values.iter_mut().zip(rest).for_each(|(to, item)| *to = value(item));
        sums_of_rows(sum, in_rows(|at| values[at]), &mut sums_of_rest[0]);
    }
}

/// Numbers of 32 bits, two in each word: the pairs at even places, and those at odd places.
#[inline]
#[target_feature(enable = "avx512f")]
fn pairs<I: 'static>(items: &[I; BLOCK]) -> [[u64; 8]; 2] {
    assert!(is_number::<I>(4));
    let from = items.as_ptr();
    // SAFETY: as many bytes are read as there are, and all of them are part of numbers.
    let (front, back) = unsafe {
        (_mm512_loadu_si512(from.cast::<__m512i>()), _mm512_loadu_si512(from.add(BLOCK / 2).cast::<__m512i>()))
    };
    let even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    let odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    [even, odd].map(|places| {
        let mut words = _mm512_permutex2var_epi64(front, places, back);
        // SAFETY: it does nothing, but it is not known to do so: see [`in_words`].
        unsafe { asm!("/* {0} */", inout(zmm_reg) words, options(pure, nomem, nostack, preserves_flags)) };
        // SAFETY: they are as many bytes.
        unsafe { transmute(words) }
    })
}

/// The numbers of a block in four rows: every fourth from the first on, from the second on, and so on.
#[inline]
#[target_feature(enable = "avx512f")]
fn in_rows(number: impl Fn(usize) -> u64) -> [__m512i; 4] {
    let eight = |from: usize| side_by_side(|at| number(from + at));
    let (front, back) = ([eight(0), eight(8)], [eight(16), eight(24)]);
    // Two rows of what is in two registers, side by side; and then each row of both.
    let two = |[a, b]: [__m512i; 2], places| _mm512_permutex2var_epi64(a, places, b);
    let (first, third) = (_mm512_setr_epi64(0, 4, 8, 12, 1, 5, 9, 13), _mm512_setr_epi64(2, 6, 10, 14, 3, 7, 11, 15));
    let (a, b) = (two(front, first), two(back, first));
    let (c, d) = (two(front, third), two(back, third));
    [
        _mm512_shuffle_i64x2::<0b01_00_01_00>(a, b),
        _mm512_shuffle_i64x2::<0b11_10_11_10>(a, b),
        _mm512_shuffle_i64x2::<0b01_00_01_00>(c, d),
        _mm512_shuffle_i64x2::<0b11_10_11_10>(c, d),
    ]
}

/// The sums of the first of the numbers of a block and what was before them, in rows. As [`sums_of_sixteen`], with fours instead of
/// pairs. Says the sum of all, in all places of a register.
#[inline]
#[target_feature(enable = "avx512f")]
fn sums_of_rows(before: __m512i, [first, second, third, fourth]: [__m512i; 4], sums: &mut [u64; BLOCK]) -> __m512i {
    let back = _mm512_add_epi64(third, fourth);
    let fours = first_eight(_mm512_add_epi64(_mm512_add_epi64(first, second), back));
    let all = _mm512_add_epi64(fours, before);
    let two = _mm512_sub_epi64(all, back);
    let rows = [_mm512_sub_epi64(two, second), two, _mm512_sub_epi64(all, fourth), all];
    for (row, to) in rows.into_iter().zip(sums.as_chunks_mut::<8>().0) {
        // SAFETY: there is space for eight numbers.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast::<__m512i>(), row) };
    }
    _mm512_add_epi64(before, _mm512_permutexvar_epi64(_mm512_set1_epi64(7), fours))
}

/// The sums of the first of eight numbers, in three steps, in which each adds the one that is one, two and four places before it
/// (Hillis and Steele 1986).
#[inline]
#[target_feature(enable = "avx512f")]
fn first_eight(numbers: __m512i) -> __m512i {
    let zero = _mm512_setzero_si512();
    let mut all = _mm512_add_epi64(numbers, _mm512_alignr_epi64::<7>(numbers, zero));
    all = _mm512_add_epi64(all, _mm512_alignr_epi64::<6>(all, zero));
    _mm512_add_epi64(all, _mm512_alignr_epi64::<4>(all, zero))
}

/// Sixteen numbers of 32 bits, two in each word: the compiler would load those of every other place, twice.
#[inline]
#[target_feature(enable = "avx512f")]
fn in_words<I: 'static>(items: &[I; 16]) -> [u64; 8] {
    assert!(is_number::<I>(4));
    // SAFETY: as many bytes are read as there are, and all of them are part of numbers.
    let mut all = unsafe { _mm512_loadu_si512(items.as_ptr().cast::<__m512i>()) };
    // SAFETY: it does nothing, but it is not known to do so.
    unsafe { asm!("/* {0} */", inout(zmm_reg) all, options(pure, nomem, nostack, preserves_flags)) };
    // SAFETY: they are as many bytes.
    unsafe { transmute(all) }
}

/// Eight numbers in a register.
#[inline]
#[target_feature(enable = "avx512f")]
fn side_by_side(number: impl Fn(usize) -> u64) -> __m512i {
    let numbers: [u64; 8] = std::array::from_fn(number);
    // SAFETY: there are eight numbers.
    let mut all = unsafe { _mm512_loadu_si512(numbers.as_ptr().cast::<__m512i>()) };
    // SAFETY: it does nothing. The compiler makes all numbers side by side before it; it would make those that are moved within the
    // register once more, one by one.
    unsafe { asm!("/* {0} */", inout(zmm_reg) all, options(pure, nomem, nostack, preserves_flags)) };
    all
}

/// The sums of the first of sixteen numbers and what was before them. Pairs of numbers are added up. Says the sum of all, in all
/// places of a register.
#[inline]
#[target_feature(enable = "avx512f")]
fn sums_of_sixteen(before: __m512i, even: __m512i, odd: __m512i, sums: &mut [u64; 16]) -> __m512i {
    let all = first_eight(_mm512_add_epi64(even, odd));
    let second = _mm512_add_epi64(all, before);
    let first = _mm512_sub_epi64(second, odd);
    let (front, back) = (_mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15));
    let place = sums.as_mut_ptr();
    // SAFETY: there is space for sixteen numbers.
    unsafe {
        _mm512_storeu_si512(place.cast::<__m512i>(), _mm512_permutex2var_epi64(first, front, second));
        _mm512_storeu_si512(place.add(8).cast::<__m512i>(), _mm512_permutex2var_epi64(first, back, second));
    }
    _mm512_add_epi64(before, _mm512_permutexvar_epi64(_mm512_set1_epi64(7), all))
}

/// As [`super::portable::word`], all at once.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn word(flags: &[bool; WORD]) -> u64 {
    // SAFETY: there are as many bytes as a register holds.
    let flags = unsafe { _mm512_loadu_si512(flags.as_ptr().cast::<__m512i>()) };
    _mm512_test_epi8_mask(flags, flags)
}

/// Appends the values whose flags are set, a register at a time.
///
/// # Safety
/// The values are numbers of four or eight bytes. There is space for all whose flag is set, and [`SLACK`](super::SLACK) more.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
unsafe fn compress<O>(values: &[O; WORD], flags: u64, place: &mut Place<O>) {
    let from = values.as_ptr();
    if size_of::<O>() == 4 {
        for at in (0..WORD).step_by(16) {
            let mask = (flags >> at) as u16;
            // SAFETY: sixteen values from `at` are in the array. There is space, as the caller says.
            unsafe {
                let front = _mm512_maskz_compress_epi32(mask, _mm512_loadu_si512(from.add(at).cast::<__m512i>()));
                _mm512_storeu_si512(place.start.add(place.len).cast::<__m512i>(), front);
            }
            place.len += mask.count_ones() as usize;
        }
    } else {
        for at in (0..WORD).step_by(8) {
            let mask = (flags >> at) as u8;
            // SAFETY: as above, with eight values.
            unsafe {
                let front = _mm512_maskz_compress_epi64(mask, _mm512_loadu_si512(from.add(at).cast::<__m512i>()));
                _mm512_storeu_si512(place.start.add(place.len).cast::<__m512i>(), front);
            }
            place.len += mask.count_ones() as usize;
        }
    }
}
