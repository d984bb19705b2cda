//! The ways in which kernels contribute: by adding, by the lowest, by the highest.

use super::accumulate::{Acc, Highest, Lowest};
use super::sealed::Sealed;
use crate::element::{Number, Ordered};

/// How contributions to one number are put together. The order does not matter, except for rounding. [`Adding`], [`Lowering`]
/// and [`Raising`] are all there are.
///
/// ```compile_fail,E0277
/// # use drawloom_mesh::kernel::Operator;
/// struct Multiplying;
/// impl Operator<f64> for Multiplying {
///     type Cell = [u8; 1024]; // a number has not so many bytes
///     const IDENTITY: f64 = 1.0;
///     fn fold(a: f64, b: f64) -> f64 {
///         a * b
///     }
/// }
/// ```
pub trait Operator<T>: Sealed + Send + Sync + 'static {
    /// What a kernel sees of the number. It has the same bytes.
    type Cell: 'static;
    /// What changes nothing.
    const IDENTITY: T;

    /// Two contributions as one.
    fn fold(a: T, b: T) -> T;
}

/// Contributions are added.
#[derive(Debug)]
pub struct Adding;
/// The lowest contribution counts.
#[derive(Debug)]
pub struct Lowering;
/// The highest contribution counts.
#[derive(Debug)]
pub struct Raising;

impl Sealed for Adding {}
impl Sealed for Lowering {}
impl Sealed for Raising {}

impl<T: Number> Operator<T> for Adding {
    type Cell = Acc<T>;
    const IDENTITY: T = T::ZERO;

    #[inline(always)]
    fn fold(a: T, b: T) -> T {
        a.plus(b)
    }
}

impl<T: Ordered> Operator<T> for Lowering {
    type Cell = Lowest<T>;
    const IDENTITY: T = T::HIGHEST;

    #[inline(always)]
    fn fold(a: T, b: T) -> T {
        if b < a { b } else { a }
    }
}

impl<T: Ordered> Operator<T> for Raising {
    type Cell = Highest<T>;
    const IDENTITY: T = T::LOWEST;

    #[inline(always)]
    fn fold(a: T, b: T) -> T {
        if b > a { b } else { a }
    }
}
