//! Sixteen numbers at once: what kernels need of a machine's vector instructions, for three kinds of machines.
//!
//! Every kind has sixteen lanes, in one register or in two, so that all kernels do the same operations in the same order on
//! all machines that multiply and add in one step. Only the plain kind rounds in between.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// How many numbers are computed at once.
pub(crate) const LANES: usize = 16;

/// Operations on sixteen numbers.
///
/// # Safety
///
/// Its methods may be called only where the machine has the instructions of the kind. Pointers must be good for as many
/// elements as are loaded or stored: sixteen, or `count` of them, which is at most sixteen.
pub(super) trait Lanes: Copy {
    type V: Copy;

    /// Whether there are registers for large tiles.
    const LARGE_TILES: bool;

    unsafe fn splat(value: f32) -> Self::V;
    unsafe fn load(from: *const f32) -> Self::V;
    /// The first `count` lanes; the others are zero.
    unsafe fn load_part(from: *const f32, count: usize) -> Self::V;
    unsafe fn store(into: *mut f32, value: Self::V);
    unsafe fn store_part(into: *mut f32, value: Self::V, count: usize);
    /// `a · b + c`.
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V;
    /// The smaller one; `b` where one of them is not a number.
    unsafe fn min(a: Self::V, b: Self::V) -> Self::V;
    /// The larger one; `b` where one of them is not a number.
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V;
    /// The nearest integers.
    unsafe fn round(value: Self::V) -> Self::V;
    /// Two to the power of integers from -126 to 127.
    unsafe fn power_of_two(exponent: Self::V) -> Self::V;
    /// The sum of all lanes: the upper half is added to the lower one until one lane is left.
    unsafe fn sum(value: Self::V) -> f32;
    /// The elements of both with even numbers, and those with odd ones.
    unsafe fn unzip(first: Self::V, second: Self::V) -> (Self::V, Self::V);
}

/// Machines with registers of sixteen numbers.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Avx512;

/// Machines with registers of eight numbers that multiply and add in one step.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Avx2;

/// Any machine.
#[derive(Clone, Copy)]
pub(super) struct Plain;

#[cfg(target_arch = "x86_64")]
impl Lanes for Avx512 {
    type V = __m512;
    const LARGE_TILES: bool = true;

    #[inline(always)]
    unsafe fn splat(value: f32) -> __m512 {
        // SAFETY: the caller says that the instructions are there.
        unsafe { _mm512_set1_ps(value) }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m512 {
        // SAFETY: as above, and the caller says that sixteen elements can be read.
        unsafe { _mm512_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn load_part(from: *const f32, count: usize) -> __m512 {
        // SAFETY: as above; elements behind the mask are not touched.
        unsafe { _mm512_maskz_loadu_ps(mask(count), from) }
    }
    #[inline(always)]
    unsafe fn store(into: *mut f32, value: __m512) {
        // SAFETY: as above, and the caller says that sixteen elements can be written.
        unsafe { _mm512_storeu_ps(into, value) }
    }
    #[inline(always)]
    unsafe fn store_part(into: *mut f32, value: __m512, count: usize) {
        // SAFETY: as above; elements behind the mask are not touched.
        unsafe { _mm512_mask_storeu_ps(into, mask(count), value) }
    }
    #[inline(always)]
    unsafe fn fma(a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: the caller says that the instructions are there.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    unsafe fn add(a: __m512, b: __m512) -> __m512 {
        // SAFETY: the caller says that the instructions are there.
        unsafe { _mm512_add_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn sub(a: __m512, b: __m512) -> __m512 {
        // SAFETY: the caller says that the instructions are there.
        unsafe { _mm512_sub_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn mul(a: __m512, b: __m512) -> __m512 {
        // SAFETY: the caller says that the instructions are there.
        unsafe { _mm512_mul_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn div(a: __m512, b: __m512) -> __m512 {
        // SAFETY: the caller says that the instructions are there.
        unsafe { _mm512_div_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn min(a: __m512, b: __m512) -> __m512 {
        // SAFETY: the caller says that the instructions are there.
        unsafe { _mm512_min_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn max(a: __m512, b: __m512) -> __m512 {
        // SAFETY: the caller says that the instructions are there.
        unsafe { _mm512_max_ps(a, b) }
    }
    #[inline(always)]
    unsafe fn round(value: __m512) -> __m512 {
        // SAFETY: the caller says that the instructions are there.
        unsafe { _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(value) }
    }
    #[inline(always)]
    unsafe fn power_of_two(exponent: __m512) -> __m512 {
        // SAFETY: the caller says that the instructions are there.
        unsafe {
            let biased = _mm512_add_epi32(_mm512_cvtps_epi32(exponent), _mm512_set1_epi32(127));
            _mm512_castsi512_ps(_mm512_slli_epi32::<23>(biased))
        }
    }
    #[inline(always)]
    unsafe fn sum(value: __m512) -> f32 {
        // SAFETY: the caller says that the instructions are there.
        unsafe {
            let upper = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(value)));
            sum_of_eight(_mm256_add_ps(_mm512_castps512_ps256(value), upper))
        }
    }
    #[inline(always)]
    unsafe fn unzip(first: __m512, second: __m512) -> (__m512, __m512) {
        // SAFETY: the caller says that the instructions are there.
        unsafe {
            let evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let odds = _mm512_add_epi32(evens, _mm512_set1_epi32(1));
            (_mm512_permutex2var_ps(first, evens, second), _mm512_permutex2var_ps(first, odds, second))
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn mask(count: usize) -> u16 {
    ((1u32 << count) - 1) as u16
}

/// # Safety
///
/// The machine must have the instructions of AVX.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn sum_of_eight(value: __m256) -> f32 {
    // SAFETY: the caller says that the instructions are there.
    unsafe {
        let four = _mm_add_ps(_mm256_castps256_ps128(value), _mm256_extractf128_ps::<1>(value));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
    }
}

/// Which of eight lanes are loaded or stored, when so many are left.
#[cfg(target_arch = "x86_64")]
static MASKS: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

/// # Safety
///
/// The machine must have the instructions of AVX.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn masks(count: usize) -> (__m256i, __m256i) {
    let (lower, upper) = (count.min(8), count.saturating_sub(8).min(8));
    // SAFETY: both begin at 0 to 8, so that eight of the sixteen integers are left; the instructions are there.
    unsafe {
        (
            _mm256_loadu_si256(MASKS.as_ptr().add(8 - lower).cast()),
            _mm256_loadu_si256(MASKS.as_ptr().add(8 - upper).cast()),
        )
    }
}

/// An operation on both halves.
#[cfg(target_arch = "x86_64")]
macro_rules! halves {
    ($operation:ident($($value:ident),*)) => {{
        // SAFETY: the caller says that the instructions are there.
        unsafe { [$operation($($value[0]),*), $operation($($value[1]),*)] }
    }};
}

#[cfg(target_arch = "x86_64")]
impl Lanes for Avx2 {
    type V = [__m256; 2];
    const LARGE_TILES: bool = false;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self::V {
        // SAFETY: the caller says that the instructions are there.
        unsafe { [_mm256_set1_ps(value); 2] }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self::V {
        // SAFETY: as above, and the caller says that sixteen elements can be read.
        unsafe { [_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))] }
    }
    #[inline(always)]
    unsafe fn load_part(from: *const f32, count: usize) -> Self::V {
        // SAFETY: as above; elements behind the mask are not touched, and the address of the upper half is only computed.
        unsafe {
            let (lower, upper) = masks(count);
            [_mm256_maskload_ps(from, lower), _mm256_maskload_ps(from.wrapping_add(8), upper)]
        }
    }
    #[inline(always)]
    unsafe fn store(into: *mut f32, value: Self::V) {
        // SAFETY: as above, and the caller says that sixteen elements can be written.
        unsafe {
            _mm256_storeu_ps(into, value[0]);
            _mm256_storeu_ps(into.add(8), value[1]);
        }
    }
    #[inline(always)]
    unsafe fn store_part(into: *mut f32, value: Self::V, count: usize) {
        // SAFETY: as above; elements behind the mask are not touched, and the address of the upper half is only computed.
        unsafe {
            let (lower, upper) = masks(count);
            _mm256_maskstore_ps(into, lower, value[0]);
            _mm256_maskstore_ps(into.wrapping_add(8), upper, value[1]);
        }
    }
    #[inline(always)]
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        halves!(_mm256_fmadd_ps(a, b, c))
    }
    #[inline(always)]
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
        halves!(_mm256_add_ps(a, b))
    }
    #[inline(always)]
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V {
        halves!(_mm256_sub_ps(a, b))
    }
    #[inline(always)]
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V {
        halves!(_mm256_mul_ps(a, b))
    }
    #[inline(always)]
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V {
        halves!(_mm256_div_ps(a, b))
    }
    #[inline(always)]
    unsafe fn min(a: Self::V, b: Self::V) -> Self::V {
        halves!(_mm256_min_ps(a, b))
    }
    #[inline(always)]
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V {
        halves!(_mm256_max_ps(a, b))
    }
    #[inline(always)]
    unsafe fn round(value: Self::V) -> Self::V {
        // SAFETY: the caller says that the instructions are there.
        unsafe {
            const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
            [_mm256_round_ps::<NEAREST>(value[0]), _mm256_round_ps::<NEAREST>(value[1])]
        }
    }
    #[inline(always)]
    unsafe fn power_of_two(exponent: Self::V) -> Self::V {
        let mut result = exponent;
        for half in &mut result {
            // SAFETY: the caller says that the instructions are there.
            unsafe {
                let biased = _mm256_add_epi32(_mm256_cvtps_epi32(*half), _mm256_set1_epi32(127));
                *half = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased));
            }
        }
        result
    }
    #[inline(always)]
    unsafe fn sum(value: Self::V) -> f32 {
        // SAFETY: the caller says that the instructions are there.
        unsafe { sum_of_eight(_mm256_add_ps(value[0], value[1])) }
    }
    #[inline(always)]
    unsafe fn unzip(first: Self::V, second: Self::V) -> (Self::V, Self::V) {
        let mut result = ([first[0]; 2], [first[0]; 2]);
        for (half, [a, b]) in [first, second].into_iter().enumerate() {
            // SAFETY: the caller says that the instructions are there. The halves of registers are put in order at last.
            unsafe {
                let evens = _mm256_castps_pd(_mm256_shuffle_ps::<0b10_00_10_00>(a, b));
                let odds = _mm256_castps_pd(_mm256_shuffle_ps::<0b11_01_11_01>(a, b));
                result.0[half] = _mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(evens));
                result.1[half] = _mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(odds));
            }
        }
        result
    }
}

#[inline(always)]
fn each(a: [f32; LANES], b: [f32; LANES], apply: impl Fn(f32, f32) -> f32) -> [f32; LANES] {
    let mut result = a;
    result.iter_mut().zip(b).for_each(|(a, b)| *a = apply(*a, b));
    result
}

impl Lanes for Plain {
    type V = [f32; LANES];
    const LARGE_TILES: bool = false;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self::V {
        [value; LANES]
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self::V {
        // SAFETY: the caller says that sixteen elements can be read; an array of numbers is aligned like one of them.
        unsafe { from.cast::<[f32; LANES]>().read() }
    }
    #[inline(always)]
    unsafe fn load_part(from: *const f32, count: usize) -> Self::V {
        let mut value = [0.0; LANES];
        // SAFETY: the caller says that so many elements can be read, and that they are sixteen at most.
        unsafe { std::ptr::copy_nonoverlapping(from, value.as_mut_ptr(), count) };
        value
    }
    #[inline(always)]
    unsafe fn store(into: *mut f32, value: Self::V) {
        // SAFETY: the caller says that sixteen elements can be written.
        unsafe { into.cast::<[f32; LANES]>().write(value) };
    }
    #[inline(always)]
    unsafe fn store_part(into: *mut f32, value: Self::V, count: usize) {
        // SAFETY: the caller says that so many elements can be written, and that they are sixteen at most.
        unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), into, count) };
    }
    #[inline(always)]
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        each(each(a, b, |a, b| a * b), c, |product, c| product + c)
    }
    #[inline(always)]
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| a + b)
    }
    #[inline(always)]
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| a - b)
    }
    #[inline(always)]
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| a * b)
    }
    #[inline(always)]
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| a / b)
    }
    #[inline(always)]
    unsafe fn min(a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V {
        each(a, b, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    unsafe fn round(value: Self::V) -> Self::V {
        value.map(f32::round_ties_even)
    }
    #[inline(always)]
    unsafe fn power_of_two(exponent: Self::V) -> Self::V {
        exponent.map(|exponent| f32::from_bits(((exponent as i32 + 127) as u32) << 23))
    }
    #[inline(always)]
    unsafe fn sum(value: Self::V) -> f32 {
        let mut value = value;
        for half in [8, 4, 2, 1] {
            for lane in 0..half {
                value[lane] += value[lane + half];
            }
        }
        value[0]
    }
    #[inline(always)]
    unsafe fn unzip(first: Self::V, second: Self::V) -> (Self::V, Self::V) {
        let mut result = (first, first);
        for (place, [even, odd]) in first.as_chunks::<2>().0.iter().chain(second.as_chunks::<2>().0).enumerate() {
            (result.0[place], result.1[place]) = (*even, *odd);
        }
        result
    }
}
