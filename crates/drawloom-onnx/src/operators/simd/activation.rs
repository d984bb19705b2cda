//! What is done to sums before they are stored, and functions of each element.
//!
//! Most activations of networks for images are a line that is cut off at both ends, perhaps times the element itself: these
//! are applied in registers. The others are applied to a piece of the result while it is in the nearest cache.

use super::lanes::{Kernel, LANES, Lanes, run};
use pulp::Arch;

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
#[inline(always)]
fn exp<S: Lanes>(simd: S, x: S::V) -> S::V {
    // Beyond these the result is zero or infinite anyway; the order of arguments keeps what is not a number.
    let x = simd.min(simd.splat(90.0), simd.max(simd.splat(-105.0), x));
    let n = simd.round(simd.mul(x, simd.splat(std::f32::consts::LOG2_E)));
    // ln 2 in two parts, the first of which has so few digits that its products are exact.
    let r = simd.fma(n, simd.splat(-0.693_359_4), x);
    let r = simd.fma(n, simd.splat(2.121_944_4e-4), r);
    let mut p = simd.splat(1.987_569_1e-4);
    for coefficient in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5, 1.0, 1.0] {
        p = simd.fma(p, r, simd.splat(coefficient));
    }
    // Two factors, as one alone could not be as small or as large as the result.
    let half = simd.round(simd.mul(n, simd.splat(0.5)));
    simd.mul(simd.mul(p, simd.power_of_two(half)), simd.power_of_two(simd.sub(n, half)))
}

/// The hyperbolic tangent as a quotient of polynomials, off by a few units in the last place.
#[inline(always)]
fn tanh<S: Lanes>(simd: S, x: S::V) -> S::V {
    const ABOVE: [f32; 7] =
        [-2.760_768_5e-16, 2.000_188e-13, -8.604_672e-11, 5.122_297e-8, 1.485_722_4e-5, 6.372_619_3e-4, 4.893_524_6e-3];
    const BELOW: [f32; 4] = [1.198_258_4e-6, 1.185_347_1e-4, 2.268_434_6e-3, 4.893_525e-3];
    // Beyond this it is one.
    let x = simd.min(simd.splat(9.0), simd.max(simd.splat(-9.0), x));
    let square = simd.mul(x, x);
    let mut above = simd.splat(ABOVE[0]);
    for coefficient in &ABOVE[1..] {
        above = simd.fma(above, square, simd.splat(*coefficient));
    }
    let mut below = simd.splat(BELOW[0]);
    for coefficient in &BELOW[1..] {
        below = simd.fma(below, square, simd.splat(*coefficient));
    }
    let quotient = simd.div(simd.mul(above, x), below);
    // Rounding must not make it larger than one.
    simd.min(simd.splat(1.0), simd.max(simd.splat(-1.0), quotient))
}

#[inline(always)]
fn sigmoid<S: Lanes>(simd: S, x: S::V) -> S::V {
    let one = simd.splat(1.0);
    simd.div(one, simd.add(one, exp::<S>(simd, simd.sub(simd.splat(0.0), x))))
}

/// A line that is cut off at both ends, perhaps times the element.
#[inline(always)]
pub(super) fn line<S: Lanes>(simd: S, x: S::V, (slope, shift, low, high, gate): (f32, f32, f32, f32, bool)) -> S::V {
    // The order of arguments keeps what is not a number.
    let y = simd.fma(x, simd.splat(slope), simd.splat(shift));
    let y = simd.min(simd.splat(high), simd.max(simd.splat(low), y));
    if gate { simd.mul(x, y) } else { y }
}

/// A loop over all elements. It is no function, as one that is handed a closure would not always become part of its caller,
/// and then not use its instructions.
macro_rules! over {
    ($simd:ident, $values:expr, $x:ident => $body:expr) => {{
        for values in $values.chunks_mut(LANES) {
            let (count, place) = (values.len(), values.as_mut_ptr());
            // SAFETY: there are `count` elements, at most as many as lanes.
            let $x = unsafe { if count == LANES { $simd.load(place) } else { $simd.load_part(place, count) } };
            let result = $body;
            // SAFETY: as above.
            unsafe { if count == LANES { $simd.store(place, result) } else { $simd.store_part(place, result, count) } }
        }
    }};
}

/// Applies it to every element.
#[inline(always)]
pub(super) fn apply_body<S: Lanes>(simd: S, activation: Activation, values: &mut [f32]) {
    match activation {
        Activation::None => {}
        Activation::Line { slope, shift, low, high, gate } => {
            over!(simd, values, x => line::<S>(simd, x, (slope, shift, low, high, gate)));
        }
        Activation::Leaky(part) => {
            // The larger one if the part is below one, and else the smaller one; both keep what is not a number.
            if part <= 1.0 {
                over!(simd, values, x => simd.max(simd.mul(x, simd.splat(part)), x));
            } else {
                over!(simd, values, x => simd.min(simd.mul(x, simd.splat(part)), x));
            }
        }
        Activation::Sigmoid => over!(simd, values, x => sigmoid::<S>(simd, x)),
        Activation::Silu => over!(simd, values, x => simd.mul(x, sigmoid::<S>(simd, x))),
        Activation::Tanh => over!(simd, values, x => tanh::<S>(simd, x)),
        Activation::GeluTanh => over!(simd, values, x => {
            let cubic = simd.fma(simd.mul(x, x), simd.splat(0.044_715), simd.splat(1.0));
            let inner = simd.mul(simd.mul(x, simd.splat(0.797_884_6)), cubic);
            let half = simd.mul(x, simd.splat(0.5));
            simd.fma(half, tanh::<S>(simd, inner), half)
        }),
        Activation::Exp => over!(simd, values, x => exp::<S>(simd, x)),
    }
}

/// An activation, and what it is applied to.
struct Apply<'a>(Activation, &'a mut [f32]);

impl Kernel for Apply<'_> {
    #[inline(always)]
    fn run<S: Lanes>(self, simd: S) {
        apply_body(simd, self.0, self.1);
    }
}

impl Activation {
    /// Applies it to every element.
    pub(crate) fn apply(self, values: &mut [f32]) {
        self.apply_at(Arch::new(), values);
    }

    /// Writes its values for every element.
    pub(crate) fn map(self, from: &[f32], into: &mut [f32]) {
        // A part at a time, which stays in the nearest cache.
        for (into, from) in into.chunks_mut(PART).zip(from.chunks(PART)) {
            into.copy_from_slice(from);
            self.apply(into);
        }
    }

    pub(crate) fn apply_at(self, level: Arch, values: &mut [f32]) {
        run(level, Apply(self, values));
    }
}
