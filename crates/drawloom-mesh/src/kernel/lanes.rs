//! Values of several iterations, component by component.
//!
//! A kernel is compiled for one iteration. Run for [`LANES`] iterations whose values lie like this, every operation of it
//! is the same operation on neighbouring numbers, which the compiler turns into vector instructions. Elements lie the
//! other way round in memory, so they are transposed on the way in and out, a [`GROUP`] at a time.

use std::mem::MaybeUninit;

use super::args::Path;

/// How many iterations are run side by side: few enough for their values to stay in registers.
pub(crate) const LANES: usize = 8;

/// How many elements are transposed at once.
pub(crate) const GROUP: usize = 4;

/// The elements of all lanes: for each component, one number for each lane.
#[doc(hidden)]
#[derive(Debug)]
pub struct Columns<T, const N: usize>([[MaybeUninit<T>; LANES]; N]);

impl<T: Copy, const N: usize> Columns<T, N> {
    /// Columns without values.
    #[inline(always)]
    pub(super) fn empty() -> Self {
        Self([[const { MaybeUninit::uninit() }; LANES]; N])
    }

    /// Brings the element of each lane.
    ///
    /// # Safety
    /// `at` gives the address of an element that may be read. On x86-64, the processor has AVX.
    #[inline(always)]
    pub(super) unsafe fn gather(&mut self, at: impl Fn(usize) -> *mut [T; N]) {
        for first in (0..LANES).step_by(GROUP) {
            // SAFETY: promised by the caller.
            let rows: [[T; N]; GROUP] = std::array::from_fn(|k| unsafe { *at(first + k) });
            // SAFETY: promised by the caller.
            let group = unsafe { transposed(rows) };
            for (column, values) in self.0.iter_mut().zip(group) {
                for (to, value) in column[first..first + GROUP].iter_mut().zip(values) {
                    *to = MaybeUninit::new(value);
                }
            }
        }
    }

    /// The element of a lane.
    ///
    /// # Safety
    /// It was brought or set.
    #[inline(always)]
    pub(super) unsafe fn row(&self, lane: usize) -> [T; N] {
        // SAFETY: promised by the caller.
        std::array::from_fn(|c| unsafe { self.0[c][lane].assume_init() })
    }

    /// Sets the element of a lane.
    #[inline(always)]
    pub(super) fn set_row(&mut self, lane: usize, value: [T; N]) {
        for (column, value) in self.0.iter_mut().zip(value) {
            column[lane] = MaybeUninit::new(value);
        }
    }

    /// The elements of a group of lanes.
    ///
    /// # Safety
    /// They were set. On x86-64, the processor has AVX.
    #[inline(always)]
    unsafe fn rows(&self, first: usize) -> [[T; N]; GROUP] {
        // SAFETY: promised by the caller.
        let group: [[T; GROUP]; N] =
            std::array::from_fn(|c| std::array::from_fn(|k| unsafe { self.0[c][first + k].assume_init() }));
        // SAFETY: promised by the caller.
        unsafe { transposed_back(group) }
    }
}

/// For each lane of a group, something made of each of its elements.
///
/// # Safety
/// As [`Columns::rows`].
#[inline(always)]
pub(super) unsafe fn rows_of_each<P: Path, T: Copy, const N: usize, X>(
    lanes: &P::Each<Columns<T, N>>,
    first: usize,
    make: impl Fn([T; N]) -> X,
) -> [P::Each<X>; GROUP] {
    // SAFETY: promised by the caller.
    let rows: P::Each<[[T; N]; GROUP]> = P::each(|c| unsafe { P::list(lanes)[c].rows(first) });
    std::array::from_fn(|k| P::each(|c| make(P::list(&rows)[c][k])))
}

/// Rows of elements as columns of components.
///
/// # Safety
/// On x86-64, the processor has AVX.
#[inline(always)]
unsafe fn transposed<T: Copy, const N: usize>(rows: [[T; N]; GROUP]) -> [[T; GROUP]; N] {
    #[cfg(target_arch = "x86_64")]
    if size_of::<T>() == 8 && (N == 2 || N == 4) {
        // SAFETY: the sizes are those of the vectors; what the numbers mean plays no part. AVX was promised.
        return unsafe {
            if N == 4 {
                as_array(x86::four_by_four(std::mem::transmute_copy(&rows)))
            } else {
                as_array(x86::four_by_two(std::mem::transmute_copy(&rows)))
            }
        };
    }
    std::array::from_fn(|c| std::array::from_fn(|k| rows[k][c]))
}

/// Columns of components as rows of elements.
///
/// # Safety
/// As [`transposed`].
#[inline(always)]
unsafe fn transposed_back<T: Copy, const N: usize>(columns: [[T; GROUP]; N]) -> [[T; N]; GROUP] {
    #[cfg(target_arch = "x86_64")]
    if size_of::<T>() == 8 && (N == 2 || N == 4) {
        // SAFETY: as above.
        return unsafe {
            if N == 4 {
                as_array(x86::four_by_four(std::mem::transmute_copy(&columns)))
            } else {
                as_array(x86::two_by_four(std::mem::transmute_copy(&columns)))
            }
        };
    }
    std::array::from_fn(|k| std::array::from_fn(|c| columns[c][k]))
}

/// Vectors as the numbers in them.
///
/// # Safety
/// Both have the same size, and any bits are a value of the second.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn as_array<V, A>(vectors: V) -> A {
    const { assert!(size_of::<V>() == 32 * 4 || size_of::<V>() == 32 * 2) };
    debug_assert_eq!(size_of::<V>(), size_of::<A>());
    // SAFETY: promised by the caller.
    unsafe { std::mem::transmute_copy(&vectors) }
}

/// Transposes of eight-byte numbers in vectors of four. All need AVX.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128d, __m256d, _mm256_castpd128_pd256, _mm256_castpd256_pd128, _mm256_extractf128_pd, _mm256_insertf128_pd,
        _mm256_permute2f128_pd, _mm256_unpackhi_pd, _mm256_unpacklo_pd,
    };

    #[inline(always)]
    pub(super) unsafe fn four_by_four([a, b, c, d]: [__m256d; 4]) -> [__m256d; 4] {
        // SAFETY: the caller has AVX.
        unsafe {
            let (ab, ab_odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
            let (cd, cd_odd) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
            [
                _mm256_permute2f128_pd::<0x20>(ab, cd),
                _mm256_permute2f128_pd::<0x20>(ab_odd, cd_odd),
                _mm256_permute2f128_pd::<0x31>(ab, cd),
                _mm256_permute2f128_pd::<0x31>(ab_odd, cd_odd),
            ]
        }
    }

    #[inline(always)]
    pub(super) unsafe fn four_by_two([a, b, c, d]: [__m128d; 4]) -> [__m256d; 2] {
        // SAFETY: the caller has AVX.
        unsafe {
            let ac = _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(a), c);
            let bd = _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(b), d);
            [_mm256_unpacklo_pd(ac, bd), _mm256_unpackhi_pd(ac, bd)]
        }
    }

    #[inline(always)]
    pub(super) unsafe fn two_by_four([first, second]: [__m256d; 2]) -> [__m128d; 4] {
        // SAFETY: the caller has AVX.
        unsafe {
            let (ac, bd) = (_mm256_unpacklo_pd(first, second), _mm256_unpackhi_pd(first, second));
            [
                _mm256_castpd256_pd128(ac),
                _mm256_castpd256_pd128(bd),
                _mm256_extractf128_pd::<1>(ac),
                _mm256_extractf128_pd::<1>(bd),
            ]
        }
    }
}
