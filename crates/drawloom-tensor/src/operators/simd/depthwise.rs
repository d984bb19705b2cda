//! One window over one channel.
//!
//! The channel is copied into scratch memory with its pads, and for a stride with the elements that one element of the
//! window meets next to each other. Then there are no edges and no strides left, and every line of results is a sum of
//! lines.

use super::activation::{Activation, apply_body, line};
use super::lanes::{LANES, Lanes};
use super::{Level, by_level};

/// A window over a channel, for both axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    pub(crate) input: [usize; 2],
    pub(crate) kernel: [usize; 2],
    pub(crate) strides: [usize; 2],
    pub(crate) dilations: [usize; 2],
    pub(crate) before: [usize; 2],
    pub(crate) output: [usize; 2],
}

impl Plane {
    /// How many lines of the channel are met, pads included.
    fn lines(&self) -> usize {
        (self.output[0].max(1) - 1)
            .saturating_mul(self.strides[0])
            .saturating_add((self.kernel[0] - 1) * self.dilations[0] + 1)
    }

    /// How many elements there are in a line, of those that are a stride apart: whole registers can be read.
    fn pitch(&self) -> usize {
        self.output[1].next_multiple_of(LANES) + (self.kernel[1] - 1) * self.dilations[1] / self.strides[1]
    }

    /// How many elements of scratch memory are needed.
    pub(crate) fn scratch(&self) -> usize {
        self.lines().saturating_mul(self.strides[1]).saturating_mul(self.pitch())
    }

    fn copy(&self, from: &[f32], into: &mut [f32]) {
        let ([height, width], [stride, before]) = (self.input, [self.strides[1], self.before[1]]);
        for (number, line) in into.chunks_exact_mut(self.pitch() * stride).enumerate() {
            let Some(source) = number.checked_sub(self.before[0]).filter(|source| *source < height) else {
                line.fill(0.0);
                continue;
            };
            let source = &from[source * width..][..width];
            for (phase, line) in line.chunks_exact_mut(self.pitch()).enumerate() {
                // Element `i` of the line is element `i * stride + phase - before` of the source.
                let first = before.saturating_sub(phase).div_ceil(stride).min(line.len());
                let end = (width + before).saturating_sub(phase).div_ceil(stride).clamp(first, line.len());
                line[..first].fill(0.0);
                line[end..].fill(0.0);
                if first == end {
                    continue;
                }
                let source = &source[first * stride + phase - before..];
                if stride == 1 {
                    line[first..end].copy_from_slice(&source[..end - first]);
                } else {
                    let sources = source.iter().step_by(stride);
                    line[first..end].iter_mut().zip(sources).for_each(|(value, source)| *value = *source);
                }
            }
        }
    }
}

struct Job<'a> {
    plane: &'a Plane,
    from: *const f32,
    weights: *const f32,
    into: *mut f32,
    bias: f32,
    activation: Activation,
}

/// # Safety
///
/// The tile must lie in the result, the scratch memory must have the size that the plane says, and the machine must have
/// the instructions of the kind.
#[inline(always)]
unsafe fn tile<S: Lanes, const R: usize, const NV: usize>(job: &Job<'_>, row: usize, column: usize, tail: usize) {
    let plane = job.plane;
    let (pitch, stride) = (plane.pitch(), plane.strides[1]);
    let line_step = pitch * stride;
    // SAFETY: the last line that is read is that of the last row under the last line of the window, and a line has room
    // for whole registers behind each element of the window.
    unsafe {
        let mut sums = [[S::splat(0.0); NV]; R];
        let mut weight = job.weights;
        for y in 0..plane.kernel[0] {
            let from = job.from.add((row * plane.strides[0] + y * plane.dilations[0]) * line_step + column);
            for x in 0..plane.kernel[1] {
                let shift = x * plane.dilations[1];
                let from = from.add(shift % stride * pitch + shift / stride);
                let factor = S::splat(*weight);
                for (r, sums) in sums.iter_mut().enumerate() {
                    for (v, sum) in sums.iter_mut().enumerate() {
                        let value = S::load(from.add(r * plane.strides[0] * line_step + v * LANES));
                        *sum = S::fma(value, factor, *sum);
                    }
                }
                weight = weight.add(1);
            }
        }
        let bias = S::splat(job.bias);
        for (r, sums) in sums.iter().enumerate() {
            for (v, sum) in sums.iter().enumerate() {
                let mut sum = S::add(*sum, bias);
                if let Activation::Line { slope, shift, low, high, gate } = job.activation {
                    sum = line::<S>(sum, (slope, shift, low, high, gate));
                }
                let at = job.into.add((row + r) * plane.output[1] + column + v * LANES);
                if v + 1 == NV { S::store_part(at, sum, tail) } else { S::store(at, sum) }
            }
        }
    }
}

/// # Safety
///
/// As for the tile, with all columns.
#[inline(always)]
unsafe fn rows<S: Lanes, const R: usize>(job: &Job<'_>, row: usize) {
    let width = job.plane.output[1];
    let mut column = 0;
    // SAFETY: the vectors cover the columns, and no more.
    unsafe {
        while column + LANES < width {
            tile::<S, R, 2>(job, row, column, (width - column - LANES).min(LANES));
            column += 2 * LANES;
        }
        if column < width {
            tile::<S, R, 1>(job, row, column, width - column);
        }
    }
}

/// # Safety
///
/// The scratch memory, the weights and the result must have the sizes that the plane says, and the machine must have the
/// instructions of the kind.
#[inline(always)]
unsafe fn plane_body<S: Lanes>(job: &Job<'_>) {
    let height = job.plane.output[0];
    let mut row = 0;
    // SAFETY: a tile begins only where all of its rows are there.
    unsafe {
        while row + 4 <= height {
            rows::<S, 4>(job, row);
            row += 4;
        }
        while row < height {
            rows::<S, 1>(job, row);
            row += 1;
        }
        if !job.activation.is_cheap() {
            apply_body::<S>(job.activation, job.into, height * job.plane.output[1]);
        }
    }
}

by_level!(
    /// Computes the results of a plane.
    plane_results = plane_body(job: &Job<'_>)
);

/// The results of a window over a channel, with something added and an activation.
pub(crate) fn depthwise(
    level: Level,
    plane: &Plane,
    from: &[f32],
    weights: &[f32],
    (bias, activation): (f32, Activation),
    into: &mut [f32],
    scratch: &mut [f32],
) {
    assert!(
        from.len() == plane.input[0] * plane.input[1]
            && weights.len() == plane.kernel[0] * plane.kernel[1]
            && into.len() == plane.output[0] * plane.output[1]
            && scratch.len() == plane.scratch(),
        "invariant: everything has the sizes of the plane"
    );
    if into.is_empty() {
        return;
    }
    plane.copy(from, scratch);
    let job =
        Job { plane, from: scratch.as_ptr(), weights: weights.as_ptr(), into: into.as_mut_ptr(), bias, activation };
    // SAFETY: the assertion above shows the sizes, and `into` is borrowed alone.
    unsafe { plane_results(level, &job) };
}
