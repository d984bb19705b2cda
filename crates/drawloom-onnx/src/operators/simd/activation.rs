//! What is done to sums before they are stored, and functions of each element.
//!
//! Most activations of networks for images are a line that is cut off at both ends, perhaps times the element itself: these
//! are applied in registers. The others are applied to a piece of the result while it is in the nearest cache.

use super::lanes::{LANES, Lanes};
use super::{Level, by_level};

/// How many elements are copied before a function is applied to them.
const PART: usize = 2048;

/// A function of each element.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Activation {
    /// The element itself.
    #[default]
    None,
    /// `slope · x + shift` between two bounds, and that times `x` if it is a gate.
    Line { slope: f32, shift: f32, low: f32, high: f32, gate: bool },
    /// `x` above zero, and a part of it below.
    Leaky(f32),
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// `x / (1 + exp(-x))`.
    Silu,
    /// The hyperbolic tangent.
    Tanh,
    /// `x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))`.
    GeluTanh,
    /// The exponential function.
    Exp,
}

impl Activation {
    pub(crate) const RELU: Self = Self::clip(0.0, f32::INFINITY);
    pub(crate) const HARD_SWISH: Self = Self::Line { slope: 1.0 / 6.0, shift: 0.5, low: 0.0, high: 1.0, gate: true };

    pub(crate) const fn clip(low: f32, high: f32) -> Self {
        Self::Line { slope: 1.0, shift: 0.0, low, high, gate: false }
    }

    pub(crate) const fn hard_sigmoid(slope: f32, shift: f32) -> Self {
        Self::Line { slope, shift, low: 0.0, high: 1.0, gate: false }
    }

    /// Whether it is a line or nothing, which costs less than storing the elements first.
    pub(super) fn is_cheap(self) -> bool {
        matches!(self, Self::None | Self::Line { .. })
    }
}

/// `exp(x)`, off by about one unit in the last place.
///
/// # Safety
///
/// The machine must have the instructions of the kind.
#[inline(always)]
unsafe fn exp<S: Lanes>(x: S::V) -> S::V {
    // SAFETY: the caller says that the instructions are there.
    unsafe {
        // Beyond these the result is zero or infinite anyway; the order of arguments keeps what is not a number.
        let x = S::min(S::splat(90.0), S::max(S::splat(-105.0), x));
        let n = S::round(S::mul(x, S::splat(std::f32::consts::LOG2_E)));
        // ln 2 in two parts, the first of which has so few digits that its products are exact.
        let r = S::fma(n, S::splat(-0.693_359_4), x);
        let r = S::fma(n, S::splat(2.121_944_4e-4), r);
        let mut p = S::splat(1.987_569_1e-4);
        for coefficient in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5, 1.0, 1.0] {
            p = S::fma(p, r, S::splat(coefficient));
        }
        // Two factors, as one alone could not be as small or as large as the result.
        let half = S::round(S::mul(n, S::splat(0.5)));
        S::mul(S::mul(p, S::power_of_two(half)), S::power_of_two(S::sub(n, half)))
    }
}

/// The hyperbolic tangent as a quotient of polynomials, off by a few units in the last place.
///
/// # Safety
///
/// The machine must have the instructions of the kind.
#[inline(always)]
unsafe fn tanh<S: Lanes>(x: S::V) -> S::V {
    const ABOVE: [f32; 7] =
        [-2.760_768_5e-16, 2.000_188e-13, -8.604_672e-11, 5.122_297e-8, 1.485_722_4e-5, 6.372_619_3e-4, 4.893_524_6e-3];
    const BELOW: [f32; 4] = [1.198_258_4e-6, 1.185_347_1e-4, 2.268_434_6e-3, 4.893_525e-3];
    // SAFETY: the caller says that the instructions are there.
    unsafe {
        // Beyond this it is one.
        let x = S::min(S::splat(9.0), S::max(S::splat(-9.0), x));
        let square = S::mul(x, x);
        let mut above = S::splat(ABOVE[0]);
        for coefficient in &ABOVE[1..] {
            above = S::fma(above, square, S::splat(*coefficient));
        }
        let mut below = S::splat(BELOW[0]);
        for coefficient in &BELOW[1..] {
            below = S::fma(below, square, S::splat(*coefficient));
        }
        let quotient = S::div(S::mul(above, x), below);
        // Rounding must not make it larger than one.
        S::min(S::splat(1.0), S::max(S::splat(-1.0), quotient))
    }
}

/// # Safety
///
/// The machine must have the instructions of the kind.
#[inline(always)]
unsafe fn sigmoid<S: Lanes>(x: S::V) -> S::V {
    // SAFETY: the caller says that the instructions are there.
    unsafe {
        let one = S::splat(1.0);
        S::div(one, S::add(one, exp::<S>(S::sub(S::splat(0.0), x))))
    }
}

/// A line that is cut off at both ends, perhaps times the element.
///
/// # Safety
///
/// The machine must have the instructions of the kind.
#[inline(always)]
pub(super) unsafe fn line<S: Lanes>(x: S::V, (slope, shift, low, high, gate): (f32, f32, f32, f32, bool)) -> S::V {
    // SAFETY: the caller says that the instructions are there. The order of arguments keeps what is not a number.
    unsafe {
        let y = S::fma(x, S::splat(slope), S::splat(shift));
        let y = S::min(S::splat(high), S::max(S::splat(low), y));
        if gate { S::mul(x, y) } else { y }
    }
}

/// A loop over all elements. It is no function, as one that is handed a closure would not always become part of its caller,
/// and then not use its instructions.
macro_rules! over {
    ($S:ident, $into:expr, $count:expr, $x:ident => $body:expr) => {{
        let mut at = 0;
        while at < $count {
            let left = ($count - at).min(LANES);
            let place = $into.add(at);
            let $x = if left == LANES { $S::load(place) } else { $S::load_part(place, left) };
            let result = $body;
            if left == LANES {
                $S::store(place, result)
            } else {
                $S::store_part(place, result, left)
            }
            at += left;
        }
    }};
}

/// # Safety
///
/// `into` must be good for `count` elements, and the machine must have the instructions of the kind.
#[inline(always)]
pub(super) unsafe fn apply_body<S: Lanes>(activation: Activation, into: *mut f32, count: usize) {
    // SAFETY: every place is one of the `count` elements, of which as many are loaded and stored as are left.
    unsafe {
        match activation {
            Activation::None => {}
            Activation::Line { slope, shift, low, high, gate } => {
                over!(S, into, count, x => line::<S>(x, (slope, shift, low, high, gate)));
            }
            Activation::Leaky(part) => {
                // The larger one if the part is below one, and else the smaller one; both keep what is not a number.
                if part <= 1.0 {
                    over!(S, into, count, x => S::max(S::mul(x, S::splat(part)), x));
                } else {
                    over!(S, into, count, x => S::min(S::mul(x, S::splat(part)), x));
                }
            }
            Activation::Sigmoid => over!(S, into, count, x => sigmoid::<S>(x)),
            Activation::Silu => over!(S, into, count, x => S::mul(x, sigmoid::<S>(x))),
            Activation::Tanh => over!(S, into, count, x => tanh::<S>(x)),
            Activation::GeluTanh => over!(S, into, count, x => {
                let cubic = S::fma(S::mul(x, x), S::splat(0.044_715), S::splat(1.0));
                let inner = S::mul(S::mul(x, S::splat(0.797_884_6)), cubic);
                let half = S::mul(x, S::splat(0.5));
                S::fma(half, tanh::<S>(inner), half)
            }),
            Activation::Exp => over!(S, into, count, x => exp::<S>(x)),
        }
    }
}

by_level!(
    /// Applies an activation to `count` elements.
    apply_raw = apply_body(activation: Activation, into: *mut f32, count: usize)
);

impl Activation {
    /// Applies it to every element.
    pub(crate) fn apply(self, values: &mut [f32]) {
        self.apply_at(Level::best(), values);
    }

    /// Writes its values for every element.
    pub(crate) fn map(self, from: &[f32], into: &mut [f32]) {
        // A part at a time, which stays in the nearest cache.
        for (into, from) in into.chunks_mut(PART).zip(from.chunks(PART)) {
            into.copy_from_slice(from);
            self.apply(into);
        }
    }

    pub(crate) fn apply_at(self, level: Level, values: &mut [f32]) {
        debug_assert!(Level::all().contains(&level), "invariant: the machine has the level");
        // SAFETY: the slice is borrowed alone, and levels come from the list of those that the machine has.
        unsafe { apply_raw(level, self, values.as_mut_ptr(), values.len()) }
    }
}
