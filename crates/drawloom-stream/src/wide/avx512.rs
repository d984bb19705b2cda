//! AVX-512 with F, BW, DQ and VL: vectors of sixteen numbers of 32 bits. What is kept is compressed, a register at a time.

use std::arch::x86_64::{
    __m512i, _mm512_loadu_si512, _mm512_maskz_compress_epi32, _mm512_maskz_compress_epi64, _mm512_storeu_si512,
    _mm512_test_epi8_mask,
};

use super::lanes::Lanes;
use super::level::Kernel;
use super::portable::{self, Place, WORD};
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
