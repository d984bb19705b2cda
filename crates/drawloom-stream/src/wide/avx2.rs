//! AVX2: vectors of eight numbers of 32 bits. What is kept is brought side by side by a permutation, which is looked up.

use std::arch::asm;
use std::arch::x86_64::{
    __m128i, __m256i, _mm_loadl_epi64, _mm256_add_epi64, _mm256_blend_epi32, _mm256_cvtepu8_epi32, _mm256_loadu_si256,
    _mm256_movemask_epi8, _mm256_permute2x128_si256, _mm256_permute4x64_epi64, _mm256_permutevar8x32_epi32,
    _mm256_setzero_si256, _mm256_slli_epi16, _mm256_storeu_si256, _mm256_sub_epi64, _mm256_unpackhi_epi64,
    _mm256_unpacklo_epi64,
};
use std::mem::transmute;

use super::lanes::Lanes;
use super::level::Kernel;
use super::portable::{self, Place, WORD, is_number, of_bits};
use super::registers;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn call<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
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

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
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

/// As [`super::portable::word`], half of it at once.
#[inline]
#[target_feature(enable = "avx2")]
fn word(flags: &[bool; WORD]) -> u64 {
    let half = |at: usize| {
        let flags = flags[at..at + WORD / 2].as_ptr().cast::<__m256i>();
        // SAFETY: there are as many bytes as a register holds.
        let flags = unsafe { _mm256_loadu_si256(flags) };
        // The only bit that a flag may have becomes the highest of its byte.
        u64::from(_mm256_movemask_epi8(_mm256_slli_epi16::<7>(flags)) as u32)
    };
    half(0) | half(WORD / 2) << 32
}

/// For each eight flags, the places of those that are set, a byte for each.
static EIGHT: [u64; 256] = places::<256>(1);
/// For each four flags the same, where what they stand for takes two places.
static FOUR: [u64; 16] = places::<16>(2);

const fn places<const N: usize>(each: u32) -> [u64; N] {
    let mut all = [0; N];
    let mut flags = 0;
    while flags < N {
        let (mut lane, mut front) = (0, 0);
        while lane < 8 {
            if flags >> (lane / each) & 1 == 1 {
                all[flags] |= (lane as u64) << (8 * front);
                front += 1;
            }
            lane += 1;
        }
        flags += 1;
    }
    all
}

/// Appends the values whose flags are set, a register at a time.
///
/// # Safety
/// The values are numbers of four or eight bytes. There is space for all whose flag is set, and [`SLACK`](super::SLACK) more.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
unsafe fn compress<O>(values: &[O; WORD], flags: u64, place: &mut Place<O>) {
    let lanes = size_of::<__m256i>() / size_of::<O>();
    for at in (0..WORD).step_by(lanes) {
        let mask = (flags >> at) as usize & ((1 << lanes) - 1);
        let places = if size_of::<O>() == 4 { &EIGHT[mask] } else { &FOUR[mask] };
        // SAFETY: a register of values from `at` on is in the array. There is space, as the caller says.
        unsafe {
            let places = _mm256_cvtepu8_epi32(_mm_loadl_epi64(std::ptr::from_ref(places).cast::<__m128i>()));
            let values = _mm256_loadu_si256(values.as_ptr().add(at).cast::<__m256i>());
            let front = _mm256_permutevar8x32_epi32(values, places);
            _mm256_storeu_si256(place.start.add(place.len).cast::<__m256i>(), front);
        }
        place.len += mask.count_ones() as usize;
    }
}

/// How many sums [`sums_in_rows`] makes at once.
pub(super) const BLOCK: usize = 16;

/// Where [`sums_in_rows`] puts the sum of so many items, as with AVX-512: blocks are half as large, and so are their four rows.
#[inline(always)]
pub(super) fn place_in_rows(count: u32) -> u32 {
    let last = count.wrapping_sub(1);
    (last & !15 | (last & 3) << 2 | last >> 2 & 3).wrapping_add(1)
}

/// The sum of the first items, for each number of items from one to all, but not in order: see [`place_in_rows`]. There is space for
/// whole blocks.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn sums_in_rows<I: 'static, V: Fn(&I) -> u64>(items: &[I], value: &V, sums: &mut [u64]) {
    let (blocks, rest) = items.as_chunks::<BLOCK>();
    let (sums_of_blocks, sums_of_rest) = sums.as_chunks_mut::<BLOCK>().0.split_at_mut(blocks.len());
    let mut sum = _mm256_setzero_si256();
    for (items, sums) in blocks.iter().zip(sums_of_blocks) {
        let rows = if is_number::<I>(4) {
            let words = pairs(items);
            let low = |words: [u64; 4]| side_by_side(|at| value(&of_bits(words[at] as u32)));
            let high = |words: [u64; 4]| side_by_side(|at| value(&of_bits((words[at] >> 32) as u32)));
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
#[target_feature(enable = "avx2")]
fn pairs<I: 'static>(items: &[I; BLOCK]) -> [[u64; 4]; 2] {
    assert!(is_number::<I>(4));
    let from = items.as_ptr().cast::<__m256i>();
    // SAFETY: as many bytes are read as there are, and all of them are part of numbers.
    let (front, back) = unsafe { (_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1))) };
    [_mm256_unpacklo_epi64(front, back), _mm256_unpackhi_epi64(front, back)].map(|words| {
        let mut words = _mm256_permute4x64_epi64::<0b11_01_10_00>(words);
        // SAFETY: it does nothing, but it is not known to do so: the compiler would load every other number, twice.
        unsafe { asm!("/* {0} */", inout(ymm_reg) words, options(pure, nomem, nostack, preserves_flags)) };
        // SAFETY: they are as many bytes.
        unsafe { transmute(words) }
    })
}

/// The numbers of a block in four rows: every fourth from the first on, from the second on, and so on.
#[inline]
#[target_feature(enable = "avx2")]
fn in_rows(number: impl Fn(usize) -> u64) -> [__m256i; 4] {
    let [a, b, c, d] = [0, 4, 8, 12].map(|from| side_by_side(|at| number(from + at)));
    let (even, odd) = (_mm256_unpacklo_epi64, _mm256_unpackhi_epi64);
    let halves = |a, b| (_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x31>(a, b));
    let ((first, third), (second, fourth)) = (halves(even(a, b), even(c, d)), halves(odd(a, b), odd(c, d)));
    [first, second, third, fourth]
}

/// The sums of the first of the numbers of a block and what was before them, in rows. Fours of numbers are added up first. Says the
/// sum of all, in all places of a register.
#[inline]
#[target_feature(enable = "avx2")]
fn sums_of_rows(before: __m256i, [first, second, third, fourth]: [__m256i; 4], sums: &mut [u64; BLOCK]) -> __m256i {
    let zero = _mm256_setzero_si256();
    let back = _mm256_add_epi64(third, fourth);
    // Each adds the one before it, and then the one that is two places before it (Hillis and Steele 1986).
    let own = _mm256_add_epi64(_mm256_add_epi64(first, second), back);
    let one = _mm256_blend_epi32::<0b11>(_mm256_permute4x64_epi64::<0b10_01_00_00>(own), zero);
    let two = _mm256_add_epi64(own, one);
    let fours = _mm256_add_epi64(two, _mm256_permute2x128_si256::<0x08>(two, two));
    let all = _mm256_add_epi64(fours, before);
    let two = _mm256_sub_epi64(all, back);
    let rows = [_mm256_sub_epi64(two, second), two, _mm256_sub_epi64(all, fourth), all];
    for (row, to) in rows.into_iter().zip(sums.as_chunks_mut::<4>().0) {
        // SAFETY: there is space for four numbers.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast::<__m256i>(), row) };
    }
    _mm256_add_epi64(before, _mm256_permute4x64_epi64::<0b11_11_11_11>(fours))
}

/// Four numbers in a register.
#[inline]
#[target_feature(enable = "avx2")]
fn side_by_side(number: impl Fn(usize) -> u64) -> __m256i {
    let numbers: [u64; 4] = std::array::from_fn(number);
    // SAFETY: there are four numbers.
    let mut all = unsafe { _mm256_loadu_si256(numbers.as_ptr().cast::<__m256i>()) };
    // SAFETY: it does nothing. The compiler makes all numbers side by side before it; it would make those that are moved within the
    // register once more, one by one.
    unsafe { asm!("/* {0} */", inout(ymm_reg) all, options(pure, nomem, nostack, preserves_flags)) };
    all
}
