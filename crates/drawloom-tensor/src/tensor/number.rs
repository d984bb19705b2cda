//! Arithmetic on every type of number: integers wrap around, and nothing panics.

use crate::tensor::element::Element;

/// A number.
pub trait Number: Element {
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// The smallest value, or minus infinity.
    const LOWEST: Self;
    /// The largest value, or infinity.
    const HIGHEST: Self;

    /// The sum.
    fn plus(self, other: Self) -> Self;
    /// The difference.
    fn minus(self, other: Self) -> Self;
    /// The product.
    fn times(self, other: Self) -> Self;
    /// The quotient: none for an integer divided by zero.
    fn over(self, other: Self) -> Option<Self>;
    /// The remainder with the sign of the divisor, or with that of the dividend.
    fn modulo(self, other: Self, like_dividend: bool) -> Option<Self>;
    /// The number in double precision.
    fn to_f64(self) -> f64;
    /// The nearest number towards zero, within the bounds of the type.
    fn from_f64(value: f64) -> Self;
    /// The nearest integer towards zero.
    fn to_i64(self) -> i64;
    /// The number of an integer, cut to the bits of the type.
    fn from_i64(value: i64) -> Self;
    /// Its distance from zero.
    fn absolute(self) -> Self;
    /// Whether it is less than zero.
    fn is_below_zero(self) -> bool;
    /// The number with the other sign.
    fn negated(self) -> Self;
    /// The number to the power of an exponent.
    fn power(self, exponent: f64) -> Self;

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
    ($($type:ty),*) => {
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
        })*
    };
}

floats!(f32, f64);
integers!(i64, i32, u8, i8);
