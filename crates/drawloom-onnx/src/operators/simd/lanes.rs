//! Sixteen numbers at once, in as many registers as a machine needs for them.
//!
//! All machines have the same sixteen lanes, so that all kernels do the same operations in the same order wherever the
//! processor multiplies and adds in one step. Only where numbers are computed one by one is there a rounding in between.

#[cfg(target_arch = "x86_64")]
use pulp::x86::{V3, V4};
use pulp::{Arch, MemMask, NullaryFnOnce, Scalar, Simd};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT};

/// How many numbers are computed at once.
pub(crate) const LANES: usize = 16;

/// Operations on sixteen numbers, with the instructions of a machine that has them.
pub(super) trait Lanes: Copy {
    type V: Copy;

    /// Whether there are registers for large tiles.
    const LARGE_TILES: bool;

    fn splat(self, value: f32) -> Self::V;
    /// # Safety
    /// There are sixteen elements to read.
    unsafe fn load(self, from: *const f32) -> Self::V;
    /// The first `count` lanes, at most sixteen; the others are zero.
    ///
    /// # Safety
    /// There are so many elements to read.
    unsafe fn load_part(self, from: *const f32, count: usize) -> Self::V;
    /// # Safety
    /// There are sixteen elements to write.
    unsafe fn store(self, into: *mut f32, value: Self::V);
    /// # Safety
    /// There are so many elements to write.
    unsafe fn store_part(self, into: *mut f32, value: Self::V, count: usize);
    /// `a · b + c`.
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    fn div(self, a: Self::V, b: Self::V) -> Self::V;
    /// The smaller one; `b` where one of them is not a number.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// The larger one; `b` where one of them is not a number.
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// The nearest integers.
    fn round(self, value: Self::V) -> Self::V;
    /// Two to the power of integers from -126 to 127.
    fn power_of_two(self, exponent: Self::V) -> Self::V;
    /// The sum of all lanes: the upper half is added to the lower one until one lane is left.
    fn sum(self, value: Self::V) -> f32;
    /// The elements of both with even numbers, and those with odd ones.
    fn unzip(self, first: Self::V, second: Self::V) -> (Self::V, Self::V);
}

/// What kernels need of one register beside of what all instruction sets of the library have.
trait Register: Simd {
    /// The first `count` lanes, at most as many as there are.
    fn first(self, count: usize) -> Self::m32s;
    /// The nearest integers.
    fn round(self, value: Self::f32s) -> Self::f32s;
    /// The elements of both with even numbers, and those with odd ones.
    fn unzip(self, first: Self::f32s, second: Self::f32s) -> (Self::f32s, Self::f32s);
}

#[cfg(target_arch = "x86_64")]
const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

#[cfg(target_arch = "x86_64")]
impl Register for V4 {
    #[inline(always)]
    fn first(self, count: usize) -> Self::m32s {
        pulp::b16(((1_u32 << count) - 1) as u16)
    }
    #[inline(always)]
    fn round(self, value: Self::f32s) -> Self::f32s {
        pulp::cast(self.avx512f._mm512_roundscale_ps::<NEAREST>(pulp::cast(value)))
    }
    #[inline(always)]
    fn unzip(self, first: Self::f32s, second: Self::f32s) -> (Self::f32s, Self::f32s) {
        let evens = pulp::cast([0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30_u32]);
        let odds = pulp::cast([1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31_u32]);
        let (first, second) = (pulp::cast(first), pulp::cast(second));
        let pick = |places| pulp::cast(self.avx512f._mm512_permutex2var_ps(first, places, second));
        (pick(evens), pick(odds))
    }
}

#[cfg(target_arch = "x86_64")]
impl Register for V3 {
    #[inline(always)]
    fn first(self, count: usize) -> Self::m32s {
        self.less_than_u32s(pulp::u32x8(0, 1, 2, 3, 4, 5, 6, 7), self.splat_u32s(count as u32))
    }
    #[inline(always)]
    fn round(self, value: Self::f32s) -> Self::f32s {
        pulp::cast(self.avx._mm256_round_ps::<NEAREST>(pulp::cast(value)))
    }
    #[inline(always)]
    fn unzip(self, first: Self::f32s, second: Self::f32s) -> (Self::f32s, Self::f32s) {
        let (a, b) = (pulp::cast(first), pulp::cast(second));
        let evens = pulp::cast(self.avx._mm256_shuffle_ps::<0b10_00_10_00>(a, b));
        let odds = pulp::cast(self.avx._mm256_shuffle_ps::<0b11_01_11_01>(a, b));
        // The halves of registers are put in order.
        (
            pulp::cast(self.avx2._mm256_permute4x64_pd::<0b11_01_10_00>(evens)),
            pulp::cast(self.avx2._mm256_permute4x64_pd::<0b11_01_10_00>(odds)),
        )
    }
}

impl Register for Scalar {
    #[inline(always)]
    fn first(self, count: usize) -> bool {
        count > 0
    }
    #[inline(always)]
    fn round(self, value: f32) -> f32 {
        value.round_ties_even()
    }
    #[inline(always)]
    fn unzip(self, first: f32, second: f32) -> (f32, f32) {
        (first, second)
    }
}

/// `N` registers of an instruction set, which have sixteen lanes together.
#[derive(Clone, Copy)]
struct Registers<S, const N: usize>(S);

impl<S: Register, const N: usize> Registers<S, N> {
    #[inline(always)]
    fn new(simd: S) -> Self {
        const { assert!(N * S::F32_LANES == LANES) };
        Self(simd)
    }

    /// Which lanes of a register take part when `count` lanes do from this register on.
    #[inline(always)]
    fn mask(self, count: usize) -> MemMask<S::m32s> {
        // Made of the lanes alone: a mask of the library would be given to assembly code, through a table of jumps. Its
        // tables of lanes would hide a number that is known from the compiler, too.
        MemMask::new(self.0.first(count.min(S::F32_LANES)))
    }
}

/// Operations that are the same on each register.
macro_rules! on_each {
    ($($name:ident = $method:ident;)*) => { $(
        #[inline(always)]
        fn $name(self, mut a: Self::V, b: Self::V) -> Self::V {
            for (a, b) in a.iter_mut().zip(&b) {
                *a = self.0.$method(*a, *b);
            }
            a
        }
    )* };
}

/// Operations on single numbers keep none that is not a number, where those on registers keep the second.
macro_rules! compare_each {
    ($($name:ident = $method:ident, $compare:ident;)*) => { $(
        #[inline(always)]
        fn $name(self, mut a: Self::V, b: Self::V) -> Self::V {
            for (a, b) in a.iter_mut().zip(&b) {
                *a = match S::IS_SCALAR {
                    true => self.0.select_f32s(self.0.$compare(*a, *b), *a, *b),
                    false => self.0.$method(*a, *b),
                };
            }
            a
        }
    )* };
}

impl<S: Register, const N: usize> Lanes for Registers<S, N> {
    type V = [S::f32s; N];
    const LARGE_TILES: bool = N == 1;

    on_each! { add = add_f32s; sub = sub_f32s; mul = mul_f32s; div = div_f32s; }
    compare_each! { min = min_f32s, less_than_f32s; max = max_f32s, greater_than_f32s; }

    #[inline(always)]
    fn splat(self, value: f32) -> Self::V {
        [self.0.splat_f32s(value); N]
    }
    #[inline(always)]
    unsafe fn load(self, from: *const f32) -> Self::V {
        // SAFETY: the caller says that sixteen elements can be read.
        unsafe { from.cast::<Self::V>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn load_part(self, from: *const f32, count: usize) -> Self::V {
        let mut value = self.splat(0.0);
        for (number, value) in value.iter_mut().enumerate() {
            let first = number * S::F32_LANES;
            let mask = self.mask(count.saturating_sub(first));
            // SAFETY: lanes that do not take part are not touched, and the addresses of registers without any only computed.
            *value = unsafe { self.0.mask_load_ptr_f32s(mask, from.wrapping_add(first)) };
        }
        value
    }
    #[inline(always)]
    unsafe fn store(self, into: *mut f32, value: Self::V) {
        // SAFETY: the caller says that sixteen elements can be written.
        unsafe { into.cast::<Self::V>().write_unaligned(value) };
    }
    #[inline(always)]
    unsafe fn store_part(self, into: *mut f32, value: Self::V, count: usize) {
        for (number, value) in value.iter().enumerate() {
            let first = number * S::F32_LANES;
            let mask = self.mask(count.saturating_sub(first));
            // SAFETY: as in `load_part`.
            unsafe { self.0.mask_store_ptr_f32s(mask, into.wrapping_add(first), *value) };
        }
    }
    #[inline(always)]
    fn fma(self, a: Self::V, b: Self::V, mut c: Self::V) -> Self::V {
        for (c, (a, b)) in c.iter_mut().zip(a.iter().zip(&b)) {
            *c = self.0.mul_add_e_f32s(*a, *b, *c);
        }
        c
    }
    #[inline(always)]
    fn round(self, mut value: Self::V) -> Self::V {
        for register in &mut value {
            *register = self.0.round(*register);
        }
        value
    }
    #[inline(always)]
    fn power_of_two(self, exponent: Self::V) -> Self::V {
        // The next number after this one is larger by 1, so that the lowest bits of the sum are the exponent as it is
        // stored. The others are shifted out.
        let mut sum = self.add(exponent, self.splat(12_582_912.0 + 127.0));
        for register in &mut sum {
            let bits = self.0.transmute_u32s_f32s(*register);
            *register = self.0.transmute_f32s_u32s(self.0.wrapping_dyn_shl_u32s(bits, self.0.splat_u32s(23)));
        }
        sum
    }
    #[inline(always)]
    fn sum(self, mut value: Self::V) -> f32 {
        let mut half = N / 2;
        while half > 0 {
            let (lower, upper) = value.split_at_mut(half);
            for (a, b) in lower.iter_mut().zip(upper) {
                *a = self.0.add_f32s(*a, *b);
            }
            half /= 2;
        }
        self.0.reduce_sum_f32s(value[0])
    }
    #[inline(always)]
    fn unzip(self, first: Self::V, second: Self::V) -> (Self::V, Self::V) {
        let (all, mut evens, mut odds) = ([first, second], first, first);
        let pairs = all.as_flattened().as_chunks::<2>().0;
        for ([a, b], (even, odd)) in pairs.iter().zip(evens.iter_mut().zip(&mut odds)) {
            (*even, *odd) = self.0.unzip(*a, *b);
        }
        (evens, odds)
    }
}

/// A function with lanes of any machine. It is always inlined, and so compiled for the machine.
pub(super) trait Kernel {
    fn run<S: Lanes>(self, simd: S);
}

/// A kernel with its lanes.
struct With<S, K>(S, K);

impl<S: Lanes, K: Kernel> NullaryFnOnce for With<S, K> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.1.run(self.0);
    }
}

/// Runs a kernel with the instructions of a level.
pub(super) fn run<K: Kernel>(level: Arch, kernel: K) {
    match level {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(simd) => simd.vectorize(With(Registers::<_, 1>::new(simd), kernel)),
        #[cfg(target_arch = "x86_64")]
        Arch::V3(simd) => simd.vectorize(With(Registers::<_, 2>::new(simd), kernel)),
        _ => With(Registers::<_, LANES>::new(Scalar), kernel).call(),
    }
}
