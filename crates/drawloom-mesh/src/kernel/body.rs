//! The inner loop: a kernel compiled together with its arguments, and called for one iteration after the other.

use std::marker::PhantomData;
use std::ops::Range;

use super::args::{Folding, LoopArg};
use super::arity::for_each_arity;
use super::place::Place;

/// A kernel with its arguments, without their types.
pub(crate) trait LoopBody: Send + Sync {
    /// Calls the kernel for each iteration, in order. The error is the first iteration after which something was not
    /// written that must be.
    ///
    /// # Safety
    /// There is a place for each argument, of its kind. For every iteration of the range, the elements that it leads to
    /// exist and may be read, and those that it changes may be changed by the calling thread alone.
    unsafe fn run(&self, places: &[Place], iterations: Range<usize>) -> Result<(), usize>;

    /// How contributions to each argument are folded, where it has any.
    fn foldings(&self) -> Vec<Option<Folding>>;
}

/// A kernel, and the list of its arguments as a type.
pub(crate) struct Compiled<F, A> {
    kernel: F,
    arguments: PhantomData<fn() -> A>,
}

impl<F, A> Compiled<F, A> {
    /// The kernel must hold nothing: what it knows, it knows from its arguments.
    pub(crate) fn new(kernel: F) -> Self {
        const {
            assert!(
                size_of::<F>() == 0,
                "a kernel sees only its arguments: it cannot capture anything, nor be a pointer"
            );
        }
        Self { kernel, arguments: PhantomData }
    }
}

macro_rules! loop_body {
    ($(($($a:ident $x:ident $n:tt),*))*) => { $(
        impl<FN, $($a: LoopArg),*> Compiled<FN, ($($a,)*)>
        where
            FN: for<'v> Fn($($a::View<'v>),*) + Send + Sync + 'static,
        {
            /// # Safety
            /// As [`LoopBody::run`]; with `PLAIN`, the places are plain.
            #[inline(always)]
            unsafe fn each<const PLAIN: bool>(&self, places: &[Place], iterations: Range<usize>) -> Result<(), usize> {
                // Copies, so that nothing the kernel writes can be taken for a change of them.
                $(let $x = places[$n];)*
                for iteration in iterations {
                    // SAFETY: promised by the caller.
                    let done = unsafe {
                        let mut locals = ($($a::prepare::<PLAIN>(&$x, iteration),)*);
                        (self.kernel)($($a::view::<PLAIN>(&$x, iteration, &mut locals.$n)),*);
                        true $(& $a::finish::<PLAIN>(&$x, iteration, &mut locals.$n))*
                    };
                    if !done {
                        return Err(iteration);
                    }
                }
                Ok(())
            }

            /// # Safety
            /// As `each`; the processor has these features.
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            unsafe fn each_with_avx2(&self, places: &[Place], iterations: Range<usize>) -> Result<(), usize> {
                // SAFETY: promised by the caller.
                unsafe { self.each::<true>(places, iterations) }
            }
        }

        impl<FN, $($a: LoopArg),*> LoopBody for Compiled<FN, ($($a,)*)>
        where
            FN: for<'v> Fn($($a::View<'v>),*) + Send + Sync + 'static,
        {
            unsafe fn run(&self, places: &[Place], iterations: Range<usize>) -> Result<(), usize> {
                // SAFETY: promised by the caller; whether the places are plain, and what the processor has, is asked here.
                unsafe {
                    if !places.iter().all(Place::is_plain) {
                        return self.each::<false>(places, iterations);
                    }
                    #[cfg(target_arch = "x86_64")]
                    if std::arch::is_x86_feature_detected!("avx2") {
                        return self.each_with_avx2(places, iterations);
                    }
                    self.each::<true>(places, iterations)
                }
            }

            fn foldings(&self) -> Vec<Option<Folding>> {
                vec![$($a::folding()),*]
            }
        }
    )* };
}

for_each_arity!(loop_body);
