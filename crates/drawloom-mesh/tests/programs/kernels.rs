//! Kernels that keep numbers small, however often they run, and round.

use drawloom_mesh::kernel::{Acc, HighestWith, Lowest, LowestWith, Out};

pub(crate) fn turn(real: &mut [f64; 2], index: usize, size: usize) {
    *real = [0.8 * real[0] - 0.1 * (real[1] * 1e-3) + 1e-3 * (index % 7) as f64, 0.9 * real[1] + size as f64 * 1e-4];
}

pub(crate) fn spread<const A: usize>(real: &[f64; 2], there: [&[f64; 3]; A], into: &mut [[Acc<f64>; 3]; A]) {
    for (n, into) in into.iter_mut().enumerate() {
        into[0] += 0.01 * real[0];
        into[1] -= 1e-3 * there[(n + 1) % A][2].tanh();
        into[2] += 1e-5 * real[1].sin();
    }
}

pub(crate) fn add(
    real: &[f64; 2],
    one: &mut [Acc<f64>; 3],
    other: &mut [Acc<f64>; 3],
    sum: &mut [Acc<f64>; 2],
    counted: &mut [Acc<i64>; 1],
) {
    one[0] += 0.01 * real[0];
    other[1] += 1e-2 * real[0].cos();
    other[2] -= 1e-3;
    sum[0] += real[0] / 3.0;
    sum[1] -= 1e-3 * real[1].cos();
    counted[0] += 1;
}

pub(crate) fn count(real: &[f64; 2], count: &mut [Acc<i64>; 1], lowest: &mut [Lowest<f64>; 1]) {
    count[0] += 1 + i64::from(real[0] > 0.0);
    lowest[0].offer(real[0]);
}

pub(crate) fn mix(from: &[f64; 3], into: &mut [f64; 3], sum: &mut [Acc<f64>; 2]) {
    for n in 0..3 {
        into[n] = 0.5 * into[n] + 0.3 * from[(n + 1) % 3].tanh();
    }
    sum[1] += into[0] / 7.0;
}

pub(crate) fn find(index: usize, real: &[f64; 2], highest: &mut HighestWith<f64, u32>) {
    highest.offer((real[0] * 64.0).round(), index as u32);
}

pub(crate) fn scatter(real: &[f64; 2], there: &mut Out<f64, 2>) {
    there.set([real[1], -real[0]]);
}

pub(crate) fn gather(there: &[f64; 3], other: Option<&[f64; 2]>, real: &mut Out<f64, 2>) {
    let other = other.copied().unwrap_or([0.25, 0.5]);
    real.set([0.5 * there[0].tanh() + 1e-3 * other[1].sin(), 100.0 * there[2].cos() + other[0].tanh()]);
}

pub(crate) fn both(real: &mut [f64; 2], there: &mut [Acc<f64>; 3], count: Option<&mut [Acc<i64>; 1]>) {
    there[1] += 1e-2 * real[0].tanh();
    real[0] = 0.9 * real[0] + 0.01;
    if let Some(count) = count {
        count[0] -= 1;
    }
}

pub(crate) fn tidy(there: &mut [f64; 3], inc: &mut [Acc<f64>; 3], lowest: &mut [Lowest<f64>; 1]) {
    inc[0] += 1e-2 * there[1].tanh();
    inc[0] += 1e-3;
    there[2] *= 0.5;
    lowest[0].offer(there[2]);
}

pub(crate) fn reset(there: &mut Out<f64, 3>, sum: &[f64; 2]) {
    // The sums may be large: what they differ by in the last digits must stay small.
    there.set([0.1, (1e-6 * sum[0]).tanh(), (1e-9 * sum[1]).cos()]);
}

pub(crate) fn nudge(real: &[f64; 2], there: &mut [f64; 2]) {
    *there = [0.5 * there[0] + 0.1 * real[0], 0.9 * there[1] + 0.01 * real[1].cos()];
}

pub(crate) fn both_ends(index: usize, there: &mut [Out<f64, 2>; 2]) {
    there[0].set([1e-3 * (index % 11) as f64, 2.0]);
    there[1].set([-0.5, (index % 5) as f64]);
}

pub(crate) fn swap(index: usize, there: &mut [[f64; 2]; 2]) {
    there.swap(0, 1);
    there[index % 2][0] *= 0.75;
}

/// Few values, so that many are equal.
pub(crate) fn rank(index: usize, lowest: &mut LowestWith<i64, u32>) {
    lowest.offer(3 - (index * 7 % 5) as i64, index as u32);
}
