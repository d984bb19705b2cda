//! The compute-bound kernel: 64 numbers in registers, each squared and added to itself, again and again.
//!
//! This is the kernel of Task Bench with the same count of operations. The loop is plain Rust, instantiated under each
//! level's target features; the 64 numbers are eight vectors of AVX-512 or sixteen of AVX2, just enough independent
//! chains to keep two multipliers busy. The multiply-add is fused where the level has one, as it is in Task Bench.

use drawloom_apps::level_name;
use pulp::{Arch, Simd, WithSimd};

/// Numbers that are worked on.
const LANES: usize = 64;

/// The kernel for one level of instructions. Cheap to copy: ask for it once and hand it to every task.
#[derive(Clone, Copy, Debug)]
pub struct Compute {
    level: Arch,
}

impl Compute {
    /// The fastest this processor has.
    pub fn detect() -> Compute {
        Compute::at(Arch::new())
    }

    /// That of a certain level.
    pub fn at(level: Arch) -> Compute {
        Compute { level }
    }

    /// The name of the level in use.
    pub fn level(self) -> &'static str {
        level_name(self.level)
    }

    /// Runs the kernel, [`flops`]`(iterations)` operations, and gives the product of the numbers. They grow beyond all
    /// bounds within a few iterations, so the value says nothing; pass it to [`std::hint::black_box`].
    pub fn run(self, iterations: u64) -> f64 {
        self.level.dispatch(Squares { iterations })
    }
}

/// Floating-point operations of one run of the kernel.
pub fn flops(iterations: u64) -> f64 {
    (2 * LANES) as f64 * iterations as f64 + LANES as f64
}

/// The loop, compiled for each level.
struct Squares {
    iterations: u64,
}

impl WithSimd for Squares {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        // Where there is no instruction for it, the fused form would be a slow library call.
        if S::IS_SCALAR { squares::<false>(self.iterations) } else { squares::<true>(self.iterations) }
    }
}

/// The starting value goes through a black box, so that nothing is computed beforehand.
#[inline(always)]
fn squares<const FUSED: bool>(iterations: u64) -> f64 {
    let mut numbers = [std::hint::black_box(1.2345); LANES];
    for (lane, number) in numbers.iter_mut().enumerate() {
        *number += lane as f64;
    }
    for _ in 0..iterations {
        for number in &mut numbers {
            *number = if FUSED { number.mul_add(*number, *number) } else { *number * *number + *number };
        }
    }
    // Folded by halves: a chain of 64 products would take longer than a small task.
    let mut half = LANES / 2;
    while half > 0 {
        let (low, high) = numbers.split_at_mut(half);
        for (low, high) in low.iter_mut().zip(high) {
            *low *= *high;
        }
        half /= 2;
    }
    numbers[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_computes_the_same_product() {
        let by_hand = |iterations| {
            let after = |start: f64| (0..iterations).fold(start, |number, _| number * number + number);
            (0..LANES).map(|lane| after(1.2345 + lane as f64)).product::<f64>()
        };
        for compute in drawloom_apps::levels().into_iter().map(Compute::at) {
            let level = compute.level();
            for iterations in 0..2 {
                let ratio = compute.run(iterations) / by_hand(iterations);
                assert!((ratio - 1.0).abs() < 1e-13, "{level}, {iterations} iterations: {ratio}");
            }
            assert_eq!(compute.run(1000), f64::INFINITY, "{level}");
        }
    }

    #[test]
    fn operations_are_counted_as_in_task_bench() {
        assert_eq!(flops(0), 64.0);
        assert_eq!(flops(10), 1344.0);
    }
}
