//! The microkernel at each level of instructions.

use super::micro::{self, Operands, Registers, WIDEST};
use pulp::{Arch, NullaryFnOnce, Scalar};

/// What is computed at a level. Its function is always inlined, and so compiled for the level.
trait Work {
    type Output;
    fn run<S: Registers>(self, simd: S) -> Self::Output;
}

/// Some work with the vectors that it is done with.
struct With<S, W>(S, W);

impl<S: Registers, W: Work> NullaryFnOnce for With<S, W> {
    type Output = W::Output;

    #[inline(always)]
    fn call(self) -> W::Output {
        self.1.run(self.0)
    }
}

fn at<W: Work>(level: Arch, work: W) -> W::Output {
    match level {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(simd) => simd.vectorize(With(simd, work)),
        #[cfg(target_arch = "x86_64")]
        Arch::V3(simd) => simd.vectorize(With(simd, work)),
        _ => With(Scalar, work).call(),
    }
}

struct Largest;

impl Work for Largest {
    type Output = (usize, usize);

    #[inline(always)]
    fn run<S: Registers>(self, _: S) -> (usize, usize) {
        (S::VECTORS * S::F64_LANES, S::WIDTH)
    }
}

/// The rows and columns of the largest block in registers.
pub(super) fn largest(level: Arch) -> (usize, usize) {
    at(level, Largest)
}

struct Update<'o, 'a, const SOLVE: bool>(&'o mut Operands<'a>);

impl<const SOLVE: bool> Work for Update<'_, '_, SOLVE> {
    type Output = ();

    #[inline(always)]
    fn run<S: Registers>(self, simd: S) {
        micro::run::<S, SOLVE>(simd, self.0);
    }
}

/// Subtracts a product.
pub(super) fn update(level: Arch, mut operands: Operands<'_>) {
    at(level, Update::<false>(&mut operands));
}

/// Subtracts a product, and solves.
pub(super) fn solve(level: Arch, mut operands: Operands<'_>) {
    at(level, Update::<true>(&mut operands));
}

/// A block on the diagonal, by columns.
pub(super) type Diagonal = [[f64; WIDEST]; WIDEST];

struct Factor<'a>(usize, &'a mut Diagonal);

impl Work for Factor<'_> {
    type Output = Result<(), usize>;

    #[inline(always)]
    fn run<S: Registers>(self, simd: S) -> Result<(), usize> {
        micro::factor(simd, self.0, self.1)
    }
}

/// Factors a block on the diagonal. The error is the first pivot that is not positive.
pub(super) fn factor(level: Arch, width: usize, block: &mut Diagonal) -> Result<(), usize> {
    at(level, Factor(width, block))
}
