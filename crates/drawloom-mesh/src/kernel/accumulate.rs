//! What a kernel receives to contribute to: it can add or compare, and never look, not even by formatting.
//!
//! That is what makes a result independent of the order of iterations. It holds because of these types, not because of a
//! rule that someone has to remember. One thing they cannot forbid: values behind two exclusive references can change places,
//! so `std::mem::swap` of two accumulators compiles. Its result depends on the backend.

use std::fmt;
use std::ops::{AddAssign, SubAssign};

use crate::element::{Number, Ordered};

/// A number that a kernel adds to. Only `+=` and `-=` exist. Integers wrap; see [`Number`].
///
/// ```
/// # use drawloom_mesh::kernel::Acc;
/// fn kernel(edge: &[f64; 1], cell: &mut [Acc<f64>; 2]) {
///     cell[0] += edge[0];
///     cell[1] -= edge[0];
/// }
/// ```
///
/// ```compile_fail,E0308
/// # use drawloom_mesh::kernel::Acc;
/// fn kernel(cell: &mut [Acc<f64>; 1]) {
///     cell[0] = 0.0; // an increment starts at zero, and what others added is theirs
/// }
/// ```
#[repr(transparent)]
pub struct Acc<T>(pub(crate) T);

impl<T: Number> AddAssign<T> for Acc<T> {
    #[inline(always)]
    fn add_assign(&mut self, value: T) {
        self.0 = self.0.plus(value);
    }
}

impl<T: Number> SubAssign<T> for Acc<T> {
    #[inline(always)]
    fn sub_assign(&mut self, value: T) {
        self.0 = self.0.minus(value);
    }
}

/// The lowest of the values that kernels offer.
#[repr(transparent)]
pub struct Lowest<T>(pub(crate) T);

impl<T: Ordered> Lowest<T> {
    /// Offers a value. Something that is not a number is never the lowest.
    #[inline(always)]
    pub fn offer(&mut self, value: T) {
        if value < self.0 {
            self.0 = value;
        }
    }
}

/// The highest of the values that kernels offer.
#[repr(transparent)]
pub struct Highest<T>(pub(crate) T);

impl<T: Ordered> Highest<T> {
    /// Offers a value. Something that is not a number is never the highest.
    #[inline(always)]
    pub fn offer(&mut self, value: T) {
        if value > self.0 {
            self.0 = value;
        }
    }
}

/// The lowest of the values that kernels offer, and what came with it. Of equal values the first iteration's counts.
#[repr(C)]
pub struct LowestWith<T, P> {
    pub(crate) value: T,
    pub(crate) payload: P,
    /// Where contributions come in any order, the element that this one is of.
    pub(crate) element: u32,
}

impl<T: Ordered, P: Copy> LowestWith<T, P> {
    /// Offers a value, with something that belongs to it.
    #[inline(always)]
    pub fn offer(&mut self, value: T, payload: P) {
        if value < self.value {
            (self.value, self.payload) = (value, payload);
        }
    }
}

/// The highest of the values that kernels offer, and what came with it. Of equal values the first iteration's counts.
#[repr(C)]
pub struct HighestWith<T, P> {
    pub(crate) value: T,
    pub(crate) payload: P,
    /// Where contributions come in any order, the element that this one is of.
    pub(crate) element: u32,
}

impl<T: Ordered, P: Copy> HighestWith<T, P> {
    /// Offers a value, with something that belongs to it.
    #[inline(always)]
    pub fn offer(&mut self, value: T, payload: P) {
        if value > self.value {
            (self.value, self.payload) = (value, payload);
        }
    }
}

/// Where a kernel writes all components of an element. What was there before cannot be seen, and a kernel that returns
/// without having written is an error.
pub struct Out<T, const N: usize>(pub(crate) Option<[T; N]>);

impl<T: Copy, const N: usize> Out<T, N> {
    /// Writes the element.
    #[inline(always)]
    pub fn set(&mut self, value: [T; N]) {
        self.0 = Some(value);
    }
}

/// The names of types alone: what was contributed so far, or written, is not to be seen.
macro_rules! debug_without_values {
    ($($name:ident<$($p:ident),*>)*) => { $(
        impl<$($p),*> fmt::Debug for $name<$($p),*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(..)"))
            }
        }
    )* };
}
debug_without_values! { Acc<T> Lowest<T> Highest<T> LowestWith<T, P> HighestWith<T, P> }

impl<T, const N: usize> fmt::Debug for Out<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Out(..)")
    }
}
