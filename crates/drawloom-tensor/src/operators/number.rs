//! Arithmetic on every type of number: integers wrap around, and nothing panics.

use crate::operators::multiply::{Matrix, multiply_f32, multiply_f32_bytes, multiply_f64, multiply_f64_bytes};
use crate::tensor::element::Element;

/// A number.
pub(crate) trait Number: Element {
    const ZERO: Self;
    const ONE: Self;
    /// The smallest value, or minus infinity.
    const LOWEST: Self;
    /// The largest value, or infinity.
    const HIGHEST: Self;

    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// The quotient: none for an integer divided by zero.
    fn over(self, other: Self) -> Option<Self>;
    /// The remainder with the sign of the divisor, or with that of the dividend.
    fn modulo(self, other: Self, like_dividend: bool) -> Option<Self>;
    fn to_f64(self) -> f64;
    /// The nearest number towards zero, within the bounds of the type.
    fn from_f64(value: f64) -> Self;
    fn to_i64(self) -> i64;
    fn from_i64(value: i64) -> Self;
    fn absolute(self) -> Self;
    fn is_below_zero(self) -> bool;
    fn negated(self) -> Self;
    fn power(self, exponent: f64) -> Self;

    /// `c = a · b`, with `c` of `m` rows and `n` columns, row after row.
    fn multiply(m: usize, k: usize, n: usize, a: Matrix<'_, Self>, b: Matrix<'_, Self>, c: &mut [Self]);

    /// How many bytes a product over `k` elements with `n` columns takes beside its matrices.
    fn multiply_bytes(k: usize, n: usize) -> usize {
        let _ = (k, n);
        0
    }

    /// The larger one; not a number, if one of them is not.
    fn larger(self, other: Self) -> Self {
        #[allow(clippy::eq_op)]
        if self > other || self != self { self } else { other }
    }

    /// The smaller one; not a number, if one of them is not.
    fn smaller(self, other: Self) -> Self {
        #[allow(clippy::eq_op)]
        if self < other || self != self { self } else { other }
    }
}

macro_rules! floats {
    ($($type:ty: $multiply:ident, $bytes:ident),*) => {
        $(impl Number for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const LOWEST: Self = <$type>::NEG_INFINITY;
            const HIGHEST: Self = <$type>::INFINITY;

            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn minus(self, other: Self) -> Self {
                self - other
            }
            fn times(self, other: Self) -> Self {
                self * other
            }
            fn over(self, other: Self) -> Option<Self> {
                Some(self / other)
            }
            fn modulo(self, other: Self, like_dividend: bool) -> Option<Self> {
                let rest = self % other;
                Some(if !like_dividend && rest != 0.0 && (rest < 0.0) != (other < 0.0) { rest + other } else { rest })
            }
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            fn from_f64(value: f64) -> Self {
                value as $type
            }
            fn to_i64(self) -> i64 {
                self as i64
            }
            fn from_i64(value: i64) -> Self {
                value as $type
            }
            fn absolute(self) -> Self {
                self.abs()
            }
            fn is_below_zero(self) -> bool {
                self < 0.0
            }
            fn negated(self) -> Self {
                -self
            }
            fn power(self, exponent: f64) -> Self {
                f64::from(self).powf(exponent) as $type
            }
            fn multiply(m: usize, k: usize, n: usize, a: Matrix<'_, Self>, b: Matrix<'_, Self>, c: &mut [Self]) {
                $multiply(m, k, n, a, b, c);
            }
            fn multiply_bytes(k: usize, n: usize) -> usize {
                $bytes(k, n)
            }
        })*
    };
}

macro_rules! integers {
    ($($type:ty),*) => {
        $(impl Number for $type {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const LOWEST: Self = <$type>::MIN;
            const HIGHEST: Self = <$type>::MAX;

            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn over(self, other: Self) -> Option<Self> {
                (other != 0).then(|| self.wrapping_div(other))
            }
            #[allow(unused_comparisons, clippy::absurd_extreme_comparisons)]
            fn modulo(self, other: Self, like_dividend: bool) -> Option<Self> {
                if other == 0 {
                    return None;
                }
                let rest = self.wrapping_rem(other);
                Some(if !like_dividend && rest != 0 && (rest < 0) != (other < 0) { rest.wrapping_add(other) } else { rest })
            }
            fn to_f64(self) -> f64 {
                self as f64
            }
            fn from_f64(value: f64) -> Self {
                value as $type
            }
            fn to_i64(self) -> i64 {
                self as i64
            }
            fn from_i64(value: i64) -> Self {
                value as $type
            }
            #[allow(unused_comparisons, clippy::absurd_extreme_comparisons)]
            fn absolute(self) -> Self {
                if self < 0 { (0 as $type).wrapping_sub(self) } else { self }
            }
            #[allow(unused_comparisons, clippy::absurd_extreme_comparisons)]
            fn is_below_zero(self) -> bool {
                self < 0
            }
            fn negated(self) -> Self {
                (0 as $type).wrapping_sub(self)
            }
            fn power(self, exponent: f64) -> Self {
                if exponent.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&exponent) {
                    self.wrapping_pow(exponent as u32)
                } else {
                    (self as f64).powf(exponent) as $type
                }
            }
            fn multiply(m: usize, k: usize, n: usize, a: Matrix<'_, Self>, b: Matrix<'_, Self>, c: &mut [Self]) {
                for row in 0..m {
                    for column in 0..n {
                        c[row * n + column] = (0..k).fold(0, |sum: $type, step| {
                            let (a, b) = (a.values[row * a.row + step * a.column], b.values[step * b.row + column * b.column]);
                            sum.wrapping_add(a.wrapping_mul(b))
                        });
                    }
                }
            }
        })*
    };
}

floats!(f32: multiply_f32, multiply_f32_bytes, f64: multiply_f64, multiply_f64_bytes);
integers!(i64, i32, u8, i8);

/// The error function. A series near zero, and a continued fraction far from it; both to the last digits of `f64`.
pub(crate) fn erf(x: f64) -> f64 {
    let size = x.abs();
    if size.is_nan() {
        return x;
    }
    let value = if size > 6.0 {
        1.0
    } else if size < 2.5 {
        let (mut term, mut sum) = (size, size);
        for n in 1..60 {
            let n = f64::from(n);
            term *= -size * size / n;
            sum += term / (2.0 * n + 1.0);
        }
        sum * 2.0 / std::f64::consts::PI.sqrt()
    } else {
        let mut fraction = 0.0;
        for n in (1..60).rev() {
            fraction = f64::from(n) / 2.0 / (size + fraction);
        }
        1.0 - (-size * size).exp() / (std::f64::consts::PI.sqrt() * (size + fraction))
    };
    value.copysign(x)
}
