//! The widest instructions that the processor has: the one place of this crate with `unsafe` code.
//!
//! A loop over a vector of items is compiled for several instruction sets, with the user's function inside of it, and the
//! right one is chosen at run time. Then the values that are kept are moved side by side: 16 or 8 at once where the processor
//! can compress a register, one by one elsewhere. All ways give the same values.

use std::any::TypeId;
use std::sync::OnceLock;

/// What the processor can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// What every processor of the target has.
    Portable,
    /// AVX2: vectors of eight numbers of 32 bits.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with F, BW, DQ and VL: vectors of sixteen, which can be compressed.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The best that this processor has.
    pub(crate) fn best() -> Self {
        Self::all().last().copied().unwrap_or(Level::Portable)
    }

    /// All that this processor has, the slowest first.
    pub(crate) fn all() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut levels = vec![Level::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                levels.push(Level::Avx2);
            }
            let more = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            if more && levels.contains(&Level::Avx2) {
                levels.push(Level::Avx512);
            }
        }
        levels
    }
}

/// Computes a value and a flag for each item, with the widest instructions that the processor has, and moves the values whose
/// flag is set to the front. Returns how many there are. This is what [`NodeBuilder::select`](crate::NodeBuilder::select) runs,
/// for loops that are written by hand.
///
/// # Panics
/// When the slices have different lengths.
pub fn select<I, O, F>(items: &[I], values: &mut [O], kept: &mut [bool], code: &F) -> usize
where
    I: Copy,
    O: Copy + 'static,
    F: Fn(I) -> (O, bool),
{
    static BEST: OnceLock<Level> = OnceLock::new();
    select_at(*BEST.get_or_init(Level::best), items, values, kept, code)
}

/// Computes a value and a flag for each item, and moves the values whose flag is set to the front. Returns how many there
/// are. All slices have the same length.
#[inline]
pub(crate) fn select_at<I, O, F>(level: Level, items: &[I], values: &mut [O], kept: &mut [bool], code: &F) -> usize
where
    I: Copy,
    O: Copy + 'static,
    F: Fn(I) -> (O, bool),
{
    assert!(items.len() == values.len() && items.len() == kept.len(), "slices of one run have one length");
    match level {
        Level::Portable => {
            compute(items, values, kept, code);
            compact(values, kept)
        }
        #[cfg(target_arch = "x86_64")]
        // SAFETY: this level is made only where the processor has AVX2.
        Level::Avx2 => unsafe { x86::select_avx2(items, values, kept, code) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: this level is made only where the processor has these parts of AVX-512.
        Level::Avx512 => unsafe { x86::select_avx512(items, values, kept, code) },
    }
}

/// The user's function, for each item. It is inlined into the functions that are compiled for an instruction set.
#[inline(always)]
fn compute<I: Copy, O, F: Fn(I) -> (O, bool)>(items: &[I], values: &mut [O], kept: &mut [bool], code: &F) {
    for ((value, kept), item) in values.iter_mut().zip(kept).zip(items) {
        (*value, *kept) = code(*item);
    }
}

/// Moves what is kept to the front, without a branch that depends on it.
#[inline(always)]
fn compact<O: Copy>(values: &mut [O], kept: &[bool]) -> usize {
    let mut next = 0;
    for at in 0..values.len() {
        values[next] = values[at];
        next += usize::from(kept[at]);
    }
    next
}

/// Whether a type is a plain number of four bytes, or of eight.
#[inline(always)]
fn is_number<O: 'static>(bytes: usize) -> bool {
    let id = TypeId::of::<O>();
    match bytes {
        4 => id == TypeId::of::<u32>() || id == TypeId::of::<i32>() || id == TypeId::of::<f32>(),
        8 => id == TypeId::of::<u64>() || id == TypeId::of::<i64>() || id == TypeId::of::<f64>(),
        _ => false,
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, __m512i, _mm_loadu_si64, _mm_loadu_si128, _mm_test_epi8_mask, _mm512_loadu_si512,
        _mm512_maskz_compress_epi32, _mm512_maskz_compress_epi64, _mm512_storeu_si512,
    };

    use super::{compact, compute, is_number};

    #[target_feature(enable = "avx2")]
    pub(super) fn select_avx2<I, O, F>(items: &[I], values: &mut [O], kept: &mut [bool], code: &F) -> usize
    where
        I: Copy,
        O: Copy + 'static,
        F: Fn(I) -> (O, bool),
    {
        compute(items, values, kept, code);
        compact(values, kept)
    }

    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn select_avx512<I, O, F>(items: &[I], values: &mut [O], kept: &mut [bool], code: &F) -> usize
    where
        I: Copy,
        O: Copy + 'static,
        F: Fn(I) -> (O, bool),
    {
        compute(items, values, kept, code);
        if is_number::<O>(4) {
            // SAFETY: the type is one of four bytes, all of which are a value; the slice is borrowed mutably.
            let numbers = unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast::<u32>(), values.len()) };
            compress_4(numbers, kept)
        } else if is_number::<O>(8) {
            // SAFETY: as above, with eight bytes.
            let numbers = unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast::<u64>(), values.len()) };
            compress_8(numbers, kept)
        } else {
            compact(values, kept)
        }
    }

    /// As [`compact`], sixteen at once.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    fn compress_4(values: &mut [u32], kept: &[bool]) -> usize {
        const LANES: usize = 16;
        let whole = values.len().min(kept.len()) / LANES * LANES;
        let mut next = 0;
        for at in (0..whole).step_by(LANES) {
            // SAFETY: sixteen flags and values from `at` are inside of the slices, as `whole` is at most their length. No
            // more is kept than was read, so `next` is at most `at`, and what is overwritten was read before.
            unsafe {
                let flags = _mm_loadu_si128(kept.as_ptr().add(at).cast::<__m128i>());
                let mask = _mm_test_epi8_mask(flags, flags);
                let numbers = _mm512_loadu_si512(values.as_ptr().add(at).cast::<__m512i>());
                let front = _mm512_maskz_compress_epi32(mask, numbers);
                _mm512_storeu_si512(values.as_mut_ptr().add(next).cast::<__m512i>(), front);
                next += mask.count_ones() as usize;
            }
        }
        rest(values, kept, whole, next)
    }

    /// As [`compact`], eight at once.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    fn compress_8(values: &mut [u64], kept: &[bool]) -> usize {
        const LANES: usize = 8;
        let whole = values.len().min(kept.len()) / LANES * LANES;
        let mut next = 0;
        for at in (0..whole).step_by(LANES) {
            // SAFETY: as in `compress_4`, with eight flags and values.
            unsafe {
                let flags = _mm_loadu_si64(kept.as_ptr().add(at).cast::<u8>());
                let mask = _mm_test_epi8_mask(flags, flags) as u8;
                let numbers = _mm512_loadu_si512(values.as_ptr().add(at).cast::<__m512i>());
                let front = _mm512_maskz_compress_epi64(mask, numbers);
                _mm512_storeu_si512(values.as_mut_ptr().add(next).cast::<__m512i>(), front);
                next += mask.count_ones() as usize;
            }
        }
        rest(values, kept, whole, next)
    }

    /// What is left when the vectors are done.
    #[inline(always)]
    fn rest<T: Copy>(values: &mut [T], kept: &[bool], from: usize, mut next: usize) -> usize {
        for at in from..values.len() {
            values[next] = values[at];
            next += usize::from(kept[at]);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use fastrand::Rng;

    use super::{Level, select_at};

    /// All levels give what a filter gives, for all lengths and shares of items that are kept.
    fn agrees<O: Copy + Default + PartialEq + Debug + 'static>(make: impl Fn(u32) -> O) {
        let mut rng = Rng::with_seed(3);
        for length in (0..70).chain([127, 128, 129, 1000]) {
            for share in [0, 1, 50, 99, 100] {
                let items: Vec<(u32, bool)> = (0..length).map(|_| (rng.u32(..), rng.u32(..100) < share)).collect();
                let code = |(number, keep): (u32, bool)| (make(number), keep);
                let expected: Vec<O> = items.iter().filter(|item| item.1).map(|item| make(item.0)).collect();
                for level in Level::all() {
                    let mut values = vec![O::default(); items.len()];
                    let mut kept = vec![false; items.len()];
                    let count = select_at(level, &items, &mut values, &mut kept, &code);
                    assert_eq!(values[..count], expected, "{level:?}, {length} items, {share}%");
                }
            }
        }
    }

    #[test]
    fn every_level_keeps_the_same_values() {
        agrees(|n| n);
        agrees(|n| n as f32);
        agrees(|n| n as i32);
        agrees(|n| u64::from(n) << 7);
        agrees(f64::from);
        agrees(|n| n as u8);
        agrees(|n| (n, n as u8));
    }
}
