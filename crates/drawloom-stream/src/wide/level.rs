//! What the processor can do, and how a loop is compiled for all of it.

use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};

/// What the processor can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// What every processor of the target has.
    Portable,
    /// AVX2: vectors of eight numbers of 32 bits; and what came with it, to count and cut bits.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with F, BW, DQ and VL: vectors of sixteen, which can be compressed.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The best that this processor has.
    #[inline]
    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| Self::all().last().copied().unwrap_or(Level::Portable))
    }

    /// All that this processor has, the slowest first.
    pub(crate) fn all() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut levels = vec![Level::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            let counts = is_x86_feature_detected!("popcnt")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2");
            if is_x86_feature_detected!("avx2") && counts {
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

/// A loop, around the user's function as a rule. What implements this marks `run` as `#[inline(always)]`, so that it is
/// compiled for each instruction set.
pub(crate) trait Kernel {
    /// What comes out.
    type Output;
    /// Runs the loop.
    fn run(self) -> Self::Output;
}

impl<R, F: FnOnce() -> R> Kernel for F {
    type Output = R;

    #[inline(always)]
    fn run(self) -> R {
        self()
    }
}

/// Runs a loop with the widest instructions that the processor has. A closure gets them only if it is small enough to be
/// inlined; larger loops are kernels.
#[inline]
pub(crate) fn call<K: Kernel>(kernel: K) -> K::Output {
    match Level::best() {
        Level::Portable => kernel.run(),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: this level is made only where the processor has AVX2, BMI1, BMI2 and POPCNT.
        Level::Avx2 => unsafe { avx2::call(kernel) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: this level is made only where the processor has these parts of AVX-512, and all of the level before.
        Level::Avx512 => unsafe { avx512::call(kernel) },
    }
}
