//! The vectors the microkernel computes with: one trait, three instruction sets.
//!
//! Every operation is `#[inline(always)]`, so that it becomes one instruction of the function it ends up in. That
//! function carries the `target_feature`, and is only reachable after the processor was asked (see [`super::table`]).
//!
//! The multiply-subtract is fused wherever the processor can: then every level performs the same roundings in the same
//! order on each element, and the results are the same bits on every such machine.

/// A vector of `f64`.
pub(super) trait Lanes: Copy {
    /// How many elements it has.
    const LANES: usize;
    /// The largest block that the registers have room for, beside the operands of the next product: vectors of rows, 2
    /// or 3.
    const VECTORS: usize;
    /// Its columns: 4, 6 or 8.
    const WIDTH: usize;
    /// Which elements of a vector take part.
    type Mask: Copy;

    /// The first `count` elements, where `0 < count <= LANES`.
    ///
    /// # Safety
    /// The processor has this trait implementation's instructions.
    unsafe fn mask(count: usize) -> Self::Mask;

    /// # Safety
    /// As for [`mask`](Self::mask); `LANES` elements are readable at `from`.
    unsafe fn load(from: *const f64) -> Self;

    /// # Safety
    /// As for [`mask`](Self::mask); the elements of `mask` are readable at `from`. The others become zero.
    unsafe fn load_some(from: *const f64, mask: Self::Mask) -> Self;

    /// # Safety
    /// As for [`mask`](Self::mask); `LANES` elements are writable at `to`.
    unsafe fn store(self, to: *mut f64);

    /// # Safety
    /// As for [`mask`](Self::mask); the elements of `mask` are writable at `to`.
    unsafe fn store_some(self, to: *mut f64, mask: Self::Mask);

    /// # Safety
    /// As for [`mask`](Self::mask).
    unsafe fn splat(value: f64) -> Self;

    /// `self * factor`.
    ///
    /// # Safety
    /// As for [`mask`](Self::mask).
    unsafe fn times(self, factor: Self) -> Self;

    /// `self - a * b`, with one rounding where the level fuses.
    ///
    /// # Safety
    /// As for [`mask`](Self::mask).
    unsafe fn minus_product(self, a: Self, b: Self) -> Self;

    /// The same on single numbers.
    ///
    /// # Safety
    /// As for [`mask`](Self::mask).
    unsafe fn scalar_minus_product(c: f64, a: f64, b: f64) -> f64;

    /// Asks for the cache line at `at`, which may be any address.
    ///
    /// # Safety
    /// As for [`mask`](Self::mask).
    unsafe fn prefetch(at: *const f64);
}

/// Two elements in plain Rust: SSE2 on x86, NEON on Arm, by the compiler's own vectoriser.
#[derive(Clone, Copy)]
pub(super) struct Portable([f64; 2]);

/// Whether the target always has a fused multiply-add. Elsewhere the fused form would be a slow library call.
const FUSED: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));

impl Lanes for Portable {
    const LANES: usize = 2;
    const VECTORS: usize = 3;
    const WIDTH: usize = 4;
    type Mask = usize;

    #[inline(always)]
    unsafe fn mask(count: usize) -> usize {
        count
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller has two readable elements at `from`; an array of `f64` is aligned as an `f64`.
        Portable(unsafe { from.cast::<[f64; 2]>().read() })
    }

    #[inline(always)]
    unsafe fn load_some(from: *const f64, count: usize) -> Self {
        // SAFETY: the caller has `count` readable elements at `from`, and `count` is at least one.
        let first = unsafe { from.read() };
        // SAFETY: as above; the second element is only read when it takes part.
        Portable([first, if count > 1 { unsafe { from.add(1).read() } } else { 0.0 }])
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller has two writable elements at `to`.
        unsafe { to.cast::<[f64; 2]>().write(self.0) }
    }

    #[inline(always)]
    unsafe fn store_some(self, to: *mut f64, count: usize) {
        // SAFETY: the caller has `count` writable elements at `to`, and `count` is at least one.
        unsafe { to.write(self.0[0]) };
        if count > 1 {
            // SAFETY: as above; the second element takes part.
            unsafe { to.add(1).write(self.0[1]) };
        }
    }

    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        Portable([value; 2])
    }

    #[inline(always)]
    unsafe fn times(self, factor: Self) -> Self {
        Portable([self.0[0] * factor.0[0], self.0[1] * factor.0[1]])
    }

    #[inline(always)]
    unsafe fn minus_product(self, a: Self, b: Self) -> Self {
        // SAFETY: plain Rust needs no instructions beyond the target's own.
        unsafe {
            Portable([
                Self::scalar_minus_product(self.0[0], a.0[0], b.0[0]),
                Self::scalar_minus_product(self.0[1], a.0[1], b.0[1]),
            ])
        }
    }

    #[inline(always)]
    unsafe fn scalar_minus_product(c: f64, a: f64, b: f64) -> f64 {
        if FUSED { (-a).mul_add(b, c) } else { c - a * b }
    }

    #[inline(always)]
    unsafe fn prefetch(_: *const f64) {}
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Lanes;
    use std::arch::x86_64::*;

    /// Four elements; needs AVX2 and FMA.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(__m256d);

    // SAFETY, for every block below: the instructions are there because the caller of each function says so, and the
    // memory is readable or writable as that function's own contract says; unaligned forms are used throughout.
    impl Lanes for Avx2 {
        const LANES: usize = 4;
        // Three by four needs all sixteen registers, and the compiler then keeps one sum in memory.
        const VECTORS: usize = 2;
        const WIDTH: usize = 6;
        type Mask = __m256i;

        #[inline(always)]
        unsafe fn mask(count: usize) -> __m256i {
            // SAFETY: AVX2 by contract.
            unsafe { _mm256_cmpgt_epi64(_mm256_set1_epi64x(count as i64), _mm256_set_epi64x(3, 2, 1, 0)) }
        }

        #[inline(always)]
        unsafe fn load(from: *const f64) -> Self {
            // SAFETY: AVX2 and four readable elements by contract.
            Avx2(unsafe { _mm256_loadu_pd(from) })
        }

        #[inline(always)]
        unsafe fn load_some(from: *const f64, mask: __m256i) -> Self {
            // SAFETY: AVX2 and readable masked elements by contract; the instruction touches no others.
            Avx2(unsafe { _mm256_maskload_pd(from, mask) })
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f64) {
            // SAFETY: AVX2 and four writable elements by contract.
            unsafe { _mm256_storeu_pd(to, self.0) }
        }

        #[inline(always)]
        unsafe fn store_some(self, to: *mut f64, mask: __m256i) {
            // SAFETY: AVX2 and writable masked elements by contract; the instruction touches no others.
            unsafe { _mm256_maskstore_pd(to, mask, self.0) }
        }

        #[inline(always)]
        unsafe fn splat(value: f64) -> Self {
            // SAFETY: AVX2 by contract.
            Avx2(unsafe { _mm256_set1_pd(value) })
        }

        #[inline(always)]
        unsafe fn times(self, factor: Self) -> Self {
            // SAFETY: AVX2 by contract.
            Avx2(unsafe { _mm256_mul_pd(self.0, factor.0) })
        }

        #[inline(always)]
        unsafe fn minus_product(self, a: Self, b: Self) -> Self {
            // SAFETY: FMA by contract.
            Avx2(unsafe { _mm256_fnmadd_pd(a.0, b.0, self.0) })
        }

        #[inline(always)]
        unsafe fn scalar_minus_product(c: f64, a: f64, b: f64) -> f64 {
            (-a).mul_add(b, c)
        }

        #[inline(always)]
        unsafe fn prefetch(at: *const f64) {
            // SAFETY: a prefetch never faults, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
        }
    }

    /// Eight elements; needs AVX-512F.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx512(__m512d);

    impl Lanes for Avx512 {
        const LANES: usize = 8;
        const VECTORS: usize = 3;
        const WIDTH: usize = 8;
        type Mask = __mmask8;

        #[inline(always)]
        unsafe fn mask(count: usize) -> __mmask8 {
            0xff >> (8 - count)
        }

        #[inline(always)]
        unsafe fn load(from: *const f64) -> Self {
            // SAFETY: AVX-512F and eight readable elements by contract.
            Avx512(unsafe { _mm512_loadu_pd(from) })
        }

        #[inline(always)]
        unsafe fn load_some(from: *const f64, mask: __mmask8) -> Self {
            // SAFETY: AVX-512F and readable masked elements by contract; the instruction touches no others.
            Avx512(unsafe { _mm512_maskz_loadu_pd(mask, from) })
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f64) {
            // SAFETY: AVX-512F and eight writable elements by contract.
            unsafe { _mm512_storeu_pd(to, self.0) }
        }

        #[inline(always)]
        unsafe fn store_some(self, to: *mut f64, mask: __mmask8) {
            // SAFETY: AVX-512F and writable masked elements by contract; the instruction touches no others.
            unsafe { _mm512_mask_storeu_pd(to, mask, self.0) }
        }

        #[inline(always)]
        unsafe fn splat(value: f64) -> Self {
            // SAFETY: AVX-512F by contract.
            Avx512(unsafe { _mm512_set1_pd(value) })
        }

        #[inline(always)]
        unsafe fn times(self, factor: Self) -> Self {
            // SAFETY: AVX-512F by contract.
            Avx512(unsafe { _mm512_mul_pd(self.0, factor.0) })
        }

        #[inline(always)]
        unsafe fn minus_product(self, a: Self, b: Self) -> Self {
            // SAFETY: AVX-512F by contract.
            Avx512(unsafe { _mm512_fnmadd_pd(a.0, b.0, self.0) })
        }

        #[inline(always)]
        unsafe fn scalar_minus_product(c: f64, a: f64, b: f64) -> f64 {
            (-a).mul_add(b, c)
        }

        #[inline(always)]
        unsafe fn prefetch(at: *const f64) {
            // SAFETY: a prefetch never faults, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
        }
    }
}
