//! How a loop is compiled for all that the processor can do.

use pulp::{Arch, NullaryFnOnce};

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

/// A loop as the library wants it.
pub(super) struct Loop<K>(pub(super) K);

impl<K: Kernel> NullaryFnOnce for Loop<K> {
    type Output = K::Output;

    #[inline(always)]
    fn call(self) -> K::Output {
        self.0.run()
    }
}

/// Runs a loop with the widest instructions that the processor has. A closure gets them only if it is small enough to be
/// inlined; larger loops are kernels.
#[inline]
pub(crate) fn call<K: Kernel>(kernel: K) -> K::Output {
    Arch::new().dispatch(Loop(kernel))
}
