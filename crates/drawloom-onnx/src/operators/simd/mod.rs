//! Kernels on sixteen numbers at once, with the instructions that the machine has: the one place for `unsafe` code that
//! computes.
//!
//! The one idea: an element of a result is computed by the same operations in the same order, whatever else is computed in
//! the same call. A product adds up along `k` from the first to the last, and a tail shorter than a register goes through
//! the same instructions, so a batch in pieces gives the bits of the batch as a whole.
//!
//! | module | concept |
//! |---|---|
//! | [`lanes`] | the instructions of three kinds of machines |
//! | [`activation`] | what is done to sums before they are stored, and functions of each element |
//! | [`product`], [`tile`] | products of matrices, as tiles of registers |
//! | [`dot`] | the same of matrices that both have their `k` next to each other |
//! | [`vector`] | products of a matrix with vectors |
//! | [`windows`] | elements under windows as a part of a matrix |
//! | [`depthwise`] | one window over one channel |

pub(crate) mod activation;
pub(crate) mod depthwise;
pub(crate) mod dot;
pub(crate) mod lanes;
pub(crate) mod product;
pub(crate) mod tile;
pub(crate) mod vector;
pub(crate) mod windows;

/// Which instructions there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Registers of sixteen numbers.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// Registers of eight numbers, and products that are added without rounding in between.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// What every machine has.
    Plain,
}

impl Level {
    /// The best one of this machine.
    pub(crate) fn best() -> Self {
        Self::all()[0]
    }

    /// All that this machine has, the best one first.
    pub(crate) fn all() -> &'static [Self] {
        #[cfg(target_arch = "x86_64")]
        {
            // What is detected is remembered by the standard library.
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                if is_x86_feature_detected!("avx512f") {
                    return &[Self::Avx512, Self::Avx2, Self::Plain];
                }
                return &[Self::Avx2, Self::Plain];
            }
        }
        &[Self::Plain]
    }
}

/// A function that runs a generic body with the instructions of a level.
macro_rules! by_level {
    ($(#[$attribute:meta])* $visible:vis $name:ident = $body:ident($($argument:ident: $type:ty),* $(,)?)) => {
        $(#[$attribute])*
        ///
        /// # Safety
        ///
        /// The obligations are those of the body; the level must be one that the machine has.
        $visible unsafe fn $name(level: $crate::operators::simd::Level, $($argument: $type),*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx2,fma")]
            unsafe fn avx512($($argument: $type),*) {
                // SAFETY: the obligations are the caller's.
                unsafe { $body::<$crate::operators::simd::lanes::Avx512>($($argument),*) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn avx2($($argument: $type),*) {
                // SAFETY: the obligations are the caller's.
                unsafe { $body::<$crate::operators::simd::lanes::Avx2>($($argument),*) }
            }
            // SAFETY: the obligations are the caller's, who also says that the machine has the instructions.
            unsafe {
                match level {
                    #[cfg(target_arch = "x86_64")]
                    $crate::operators::simd::Level::Avx512 => avx512($($argument),*),
                    #[cfg(target_arch = "x86_64")]
                    $crate::operators::simd::Level::Avx2 => avx2($($argument),*),
                    $crate::operators::simd::Level::Plain => {
                        $body::<$crate::operators::simd::lanes::Plain>($($argument),*);
                    }
                }
            }
        }
    };
}
use by_level;

/// Runs a loop that was written for one element at a time as if for this machine: what the compiler makes of it uses wide
/// registers where there are some. Nothing is rounded differently, as products and sums are not joined.
pub(crate) fn wide<R>(run: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn with_avx2<R>(run: impl FnOnce() -> R) -> R {
            run()
        }
        if Level::best() != Level::Plain {
            // SAFETY: all levels but the plain one have these instructions.
            return unsafe { with_avx2(run) };
        }
    }
    run()
}
