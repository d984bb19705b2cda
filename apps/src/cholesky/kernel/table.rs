//! One table of functions for each level of instructions, found once, then called through.
//!
//! The functions of a table are safe to call because the only way to a table is [`of`], which asks the processor
//! first.

use super::lanes::{Lanes, Portable};
use super::micro::{self, Operands, WIDEST};
use crate::Level;

/// The functions of a level, if this processor has its instructions.
pub(super) fn of(level: Level) -> Option<&'static Table> {
    level.is_available().then_some(match level {
        Level::Portable => &PORTABLE,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => &x86::AVX2,
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => &x86::AVX512,
        #[cfg(not(target_arch = "x86_64"))]
        Level::Avx2 | Level::Avx512 => &PORTABLE,
    })
}

/// A block on the diagonal, by columns.
pub(super) type Diagonal = [[f64; WIDEST]; WIDEST];

/// What a level has to offer.
pub(super) struct Table {
    pub(super) level: Level,
    /// Rows of the microkernel's largest block.
    pub(super) height: usize,
    /// Its columns.
    pub(super) width: usize,
    pub(super) update: fn(Operands<'_>),
    pub(super) solve: fn(Operands<'_>),
    pub(super) factor: fn(usize, &mut Diagonal) -> Result<(), usize>,
}

static PORTABLE: Table = Table {
    level: Level::Portable,
    height: Portable::VECTORS * Portable::LANES,
    width: Portable::WIDTH,
    // SAFETY: the portable vectors need no instructions beyond the target's own.
    update: |operands| unsafe { micro::run::<Portable, false>(operands) },
    // SAFETY: as above.
    solve: |operands| unsafe { micro::run::<Portable, true>(operands) },
    // SAFETY: as above.
    factor: |width, block| unsafe { micro::factor::<Portable>(width, block) },
};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::lanes::{Avx2, Avx512};
    use super::*;

    /// Makes the functions of a level and its table. They are instantiations of generic code under the level's
    /// features, and the table is private to this file, so that they run only where `of` found the features.
    macro_rules! level {
        ($table:ident, $module:ident, $vector:ty, $level:expr, $features:literal) => {
            mod $module {
                use super::*;

                #[target_feature(enable = $features)]
                pub(super) fn update(operands: Operands<'_>) {
                    // SAFETY: this function's own features are those of the vectors.
                    unsafe { micro::run::<$vector, false>(operands) }
                }

                #[target_feature(enable = $features)]
                pub(super) fn solve(operands: Operands<'_>) {
                    // SAFETY: as above.
                    unsafe { micro::run::<$vector, true>(operands) }
                }

                #[target_feature(enable = $features)]
                pub(super) fn factor(width: usize, block: &mut Diagonal) -> Result<(), usize> {
                    // SAFETY: as above.
                    unsafe { micro::factor::<$vector>(width, block) }
                }
            }

            pub(super) static $table: Table = Table {
                level: $level,
                height: <$vector>::VECTORS * <$vector>::LANES,
                width: <$vector>::WIDTH,
                // SAFETY: this table is handed out by `of` only, after the processor was asked.
                update: |operands| unsafe { $module::update(operands) },
                // SAFETY: as above.
                solve: |operands| unsafe { $module::solve(operands) },
                // SAFETY: as above.
                factor: |width, block| unsafe { $module::factor(width, block) },
            };

            const _: () = assert!(<$vector>::WIDTH <= WIDEST);
        };
    }

    level!(AVX2, avx2, Avx2, Level::Avx2, "avx2,fma");
    level!(AVX512, avx512, Avx512, Level::Avx512, "avx512f,avx2,fma");
}
