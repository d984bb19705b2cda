//! The compute-bound kernel: 64 numbers in registers, each squared and added to itself, again and again.
//!
//! This is the kernel of Task Bench with the same count of operations. The loop is plain Rust, instantiated under each
//! level's target features; the 64 numbers are eight vectors of AVX-512 or sixteen of AVX2, just enough independent
//! chains to keep two multipliers busy. The multiply-add is fused where the level has one, as it is in Task Bench.

use drawloom_apps::Level;

/// Numbers that are worked on.
const LANES: usize = 64;

/// The kernel for one level of instructions. Cheap to copy: ask for it once and hand it to every task.
#[derive(Clone, Copy, Debug)]
pub struct Compute {
    level: Level,
    run: fn(u64) -> f64,
}

impl Compute {
    /// The fastest this processor has.
    pub fn detect() -> Compute {
        let best = Level::ALL.into_iter().rev().find_map(Compute::at);
        best.expect("a broken invariant of the compute kernel: the portable level is always there")
    }

    /// A certain level, if this processor has it.
    pub fn at(level: Level) -> Option<Compute> {
        level.is_available().then_some(Compute {
            level,
            run: match level {
                Level::Portable => portable,
                #[cfg(target_arch = "x86_64")]
                // SAFETY: this arm is only called when the level is available, and then the features are there.
                Level::Avx2 => |iterations| unsafe { avx2(iterations) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                Level::Avx512 => |iterations| unsafe { avx512(iterations) },
                #[cfg(not(target_arch = "x86_64"))]
                Level::Avx2 | Level::Avx512 => portable,
            },
        })
    }

    /// The level in use.
    pub fn level(self) -> Level {
        self.level
    }

    /// Runs the kernel, [`flops`]`(iterations)` operations, and gives the product of the numbers. They grow beyond all
    /// bounds within a few iterations, so the value says nothing; pass it to [`std::hint::black_box`].
    pub fn run(self, iterations: u64) -> f64 {
        (self.run)(iterations)
    }
}

/// Floating-point operations of one run of the kernel.
pub fn flops(iterations: u64) -> f64 {
    (2 * LANES) as f64 * iterations as f64 + LANES as f64
}

/// Whether the target always has a fused multiply-add. Elsewhere the fused form would be a slow library call.
const FUSED: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));

fn portable(iterations: u64) -> f64 {
    squares::<FUSED>(iterations)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2(iterations: u64) -> f64 {
    squares::<true>(iterations)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
fn avx512(iterations: u64) -> f64 {
    squares::<true>(iterations)
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
        for level in Level::ALL {
            let Some(compute) = Compute::at(level) else { continue };
            for iterations in 0..2 {
                let ratio = compute.run(iterations) / by_hand(iterations);
                assert!((ratio - 1.0).abs() < 1e-13, "{level:?}, {iterations} iterations: {ratio}");
            }
            assert_eq!(compute.run(1000), f64::INFINITY, "{level:?}");
        }
    }

    #[test]
    fn operations_are_counted_as_in_task_bench() {
        assert_eq!(flops(0), 64.0);
        assert_eq!(flops(10), 1344.0);
    }
}
