//! AVX2: vectors of eight numbers of 32 bits. What is kept is brought side by side by a permutation, which is looked up.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_loadl_epi64, _mm256_cvtepu8_epi32, _mm256_loadu_si256, _mm256_movemask_epi8,
    _mm256_permutevar8x32_epi32, _mm256_slli_epi16, _mm256_storeu_si256,
};

use super::lanes::Lanes;
use super::level::Kernel;
use super::portable::{self, Place, WORD};
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
