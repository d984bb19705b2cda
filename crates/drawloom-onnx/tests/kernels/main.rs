//! Kernels on sixteen numbers at once against the sums that define them, for all kinds of instructions that the machine has.
//!
//! The source of the kernels is compiled into this program once more: they are not part of what the crate offers.

mod products;
mod windows;

/// The modules as the kernels know them.
#[path = "../../src/operators"]
mod operators {
    // Not all of it is tested by itself.
    #[allow(dead_code)]
    pub(crate) mod simd;
}

use fastrand::Rng;
use operators::simd::activation::Activation;
use pulp::Arch;

/// The instruction sets that the machine has, the best one first.
fn levels() -> Vec<Arch> {
    #[cfg(target_arch = "x86_64")]
    let wide = [pulp::x86::V4::try_new().map(Arch::V4), pulp::x86::V3::try_new().map(Arch::V3)];
    #[cfg(not(target_arch = "x86_64"))]
    let wide: [Option<Arch>; 0] = [];
    wide.into_iter().flatten().chain([Arch::Scalar]).collect()
}

/// Numbers around zero.
fn random(rng: &mut Rng, count: usize) -> Vec<f32> {
    (0..count).map(|_| rng.f32() - 0.5).collect()
}

/// What a function of each element is by definition.
fn value(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::None => x,
        Activation::Line { slope, shift, low, high, gate } => {
            let y = (x * f64::from(slope) + f64::from(shift)).clamp(f64::from(low), f64::from(high));
            if gate { x * y } else { y }
        }
        Activation::Leaky(part) => x.max(0.0) + x.min(0.0) * f64::from(part),
        Activation::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Activation::Silu => x / (1.0 + (-x).exp()),
        Activation::Tanh => x.tanh(),
        Activation::GeluTanh => 0.5 * x * (1.0 + (0.797_884_560_8 * (x + 0.044_715 * x.powi(3))).tanh()),
        Activation::Exp => x.exp(),
    }
}

const ALL: [Activation; 10] = [
    Activation::None,
    Activation::RELU,
    Activation::HARD_SWISH,
    Activation::clip(-0.25, 0.5),
    Activation::Leaky(0.1),
    Activation::Leaky(1.5),
    Activation::Sigmoid,
    Activation::Silu,
    Activation::Tanh,
    Activation::GeluTanh,
];

/// Sums of more products may be off by more.
fn assert_near(found: f32, expected: f64, products: usize, what: &dyn std::fmt::Debug) {
    let tolerance = 2e-6 + 2e-8 * products as f64;
    let near = (f64::from(found) - expected).abs() <= tolerance * expected.abs().max(1.0);
    assert!(near, "{what:?}: {found} instead of {expected}");
}

#[test]
fn functions_of_elements_are_what_they_are_by_definition() {
    let samples: Vec<f32> = (-2000..=2000).map(|step| step as f32 / 100.0).collect();
    for level in levels() {
        for activation in ALL.into_iter().chain([Activation::hard_sigmoid(0.2, 0.5)]) {
            // All lengths of a tail.
            for count in (0..40).chain([samples.len()]) {
                let mut found = samples[samples.len() - count..].to_vec();
                activation.apply_at(level, &mut found);
                for (x, found) in samples[samples.len() - count..].iter().zip(found) {
                    assert_near(found, value(activation, f64::from(*x)), 0, &(level, activation, x));
                }
            }
        }
        let mut found: Vec<f32> = samples.clone();
        Activation::Exp.apply_at(level, &mut found);
        for (x, found) in samples.iter().zip(found) {
            let expected = f64::from(*x).exp();
            assert!((f64::from(found) - expected).abs() <= 3e-7 * expected, "{level:?}: exp({x}) is not {found}");
        }
    }
}

#[test]
fn what_is_not_a_number_stays_so_and_infinities_have_their_limits() {
    for level in levels() {
        for activation in ALL {
            let mut found = [f32::NAN; 3];
            activation.apply_at(level, &mut found);
            assert!(found.iter().all(|value| value.is_nan()), "{level:?} {activation:?}: {found:?}");
        }
        let limits = [
            (Activation::RELU, [0.0, f32::INFINITY]),
            (Activation::Sigmoid, [0.0, 1.0]),
            (Activation::Tanh, [-1.0, 1.0]),
            (Activation::Exp, [0.0, f32::INFINITY]),
        ];
        for (activation, expected) in limits {
            let mut found = [f32::NEG_INFINITY, f32::INFINITY];
            activation.apply_at(level, &mut found);
            for (found, expected) in found.into_iter().zip(expected) {
                assert!(found == expected || (found - expected).abs() < 3e-7, "{level:?} {activation:?}: {found}");
            }
        }
    }
}

#[test]
fn the_exponential_function_reaches_from_zero_to_infinity() {
    for level in levels() {
        let mut found = [-200.0, -103.0, -88.0, 88.0, 88.8, 200.0];
        let expected = found.map(|x: f32| f64::from(x).exp() as f32);
        Activation::Exp.apply_at(level, &mut found);
        for (found, expected) in found.iter().zip(expected) {
            // The smallest numbers have few digits.
            assert!(
                *found == expected || (found - expected).abs() <= 1e-6 * expected + 3e-45,
                "{level:?}: {found} {expected}"
            );
        }
    }
}
