//! AVX-512 with F, BW, DQ and VL: vectors of sixteen numbers of 32 bits. What is kept is compressed, a register at a time.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_alignr_epi64, _mm512_loadu_si512, _mm512_maskz_compress_epi32,
    _mm512_maskz_compress_epi64, _mm512_permutexvar_epi64, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_storeu_si512, _mm512_test_epi8_mask,
};

use super::lanes::Lanes;
use super::level::Kernel;
use super::portable::{self, Place, WORD, is_number, sweep};
use super::reserve;

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
    if !is_number::<O>(4) && !is_number::<O>(8) {
        return portable::select(items, to, words, code);
    }
    reserve(to, items.count());
    let mut place = Place::of(to);
    sweep(
        items,
        code,
        |values, flags, _| {
            words(flags);
            // SAFETY: there is space for as many values as there are items, and for a register behind them. No flag is
            // set for what is no item.
            unsafe { compress(values, flags, &mut place) };
        },
        |flags| word(flags),
    );
    let len = place.len;
    // SAFETY: so many values were written side by side.
    unsafe { to.set_len(len) };
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn split<L, O, F, W>(items: L, to: (&mut Vec<O>, &mut Vec<O>), words: &mut W, code: &F)
where
    L: Lanes,
    O: Copy + Default + 'static,
    F: Fn(L::Lane) -> (O, bool),
    W: FnMut(u64),
{
    if !is_number::<O>(4) && !is_number::<O>(8) {
        return portable::split(items, to, words, code);
    }
    let (accepted, rejected) = to;
    reserve(accepted, items.count());
    reserve(rejected, items.count());
    let (mut yes, mut no) = (Place::of(accepted), Place::of(rejected));
    sweep(
        items,
        code,
        |values, flags, count| {
            words(flags);
            // SAFETY: as in [`select`], in both vectors.
            unsafe {
                compress(values, flags, &mut yes);
                compress(values, !flags & (u64::MAX >> (WORD - count)), &mut no);
            }
        },
        |flags| word(flags),
    );
    let (yes, no) = (yes.len, no.len);
    // SAFETY: so many values were written side by side.
    unsafe {
        accepted.set_len(yes);
        rejected.set_len(no);
    }
}

/// As [`super::portable::running_sums`], eight at once: three steps in which each number adds the one that is one, two and four
/// places before it (Hillis and Steele 1986).
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn running_sums<I, V: Fn(&I) -> u64>(items: &[I], value: &V, sums: &mut [u64]) {
    // All numbers first: so this is a simple loop, whatever they are made of.
    for (sum, item) in sums.iter_mut().zip(items) {
        *sum = value(item);
    }
    let (zero, last) = (_mm512_setzero_si512(), _mm512_set1_epi64(7));
    let mut sum = zero;
    let (eights, rest) = sums.as_chunks_mut::<8>();
    for eight in eights.iter_mut() {
        let place = eight.as_mut_ptr().cast::<__m512i>();
        // SAFETY: there are eight numbers.
        let mut of_eight = unsafe { _mm512_loadu_si512(place) };
        of_eight = _mm512_add_epi64(of_eight, _mm512_alignr_epi64::<7>(of_eight, zero));
        of_eight = _mm512_add_epi64(of_eight, _mm512_alignr_epi64::<6>(of_eight, zero));
        of_eight = _mm512_add_epi64(of_eight, _mm512_alignr_epi64::<4>(of_eight, zero));
        // SAFETY: as above.
        unsafe { _mm512_storeu_si512(place, _mm512_add_epi64(of_eight, sum)) };
        sum = _mm512_add_epi64(sum, _mm512_permutexvar_epi64(last, of_eight));
    }
    let mut sum = eights.last().map_or(0, |sums| sums[7]);
    for one in rest {
        sum = sum.wrapping_add(*one);
        *one = sum;
    }
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
