//! One window over one channel.
//!
//! The channel is copied into scratch memory with its pads, and for a stride with the elements that one element of the
//! window meets next to each other. Then there are no edges and no strides left, and every line of results is a sum of
//! lines.

use super::activation::{Activation, apply_body, line};
use super::lanes::{LANES, Lanes};
use super::{Level, by_level, wide};

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

    /// How many elements of scratch memory are needed: for the copy, and for one line of it.
    pub(crate) fn scratch(&self) -> usize {
        self.size().saturating_add(self.line())
    }

    fn size(&self) -> usize {
        self.lines().saturating_mul(self.strides[1]).saturating_mul(self.pitch())
    }

    /// How many elements a line has with its pads, up to whole registers.
    fn line(&self) -> usize {
        self.strides[1].saturating_mul(self.pitch().next_multiple_of(LANES))
    }

    /// Where the elements of the window begin in the copy.
    fn taps(&self) -> Vec<usize> {
        let (stride, pitch) = (self.strides[1], self.pitch());
        let tap = |y: usize, x: usize| {
            let shift = x * self.dilations[1];
            y * self.dilations[0] * pitch * stride + shift % stride * pitch + shift / stride
        };
        (0..self.kernel[0]).flat_map(|y| (0..self.kernel[1]).map(move |x| tap(y, x))).collect()
    }

    /// Copies the channel, with its pads. The line is for one line of it, pads included.
    fn copy(&self, from: &[f32], into: &mut [f32], padded: &mut [f32]) {
        let ([height, width], [stride, before]) = (self.input, [self.strides[1], self.before[1]]);
        let inside = width.min(padded.len().saturating_sub(before));
        padded.fill(0.0);
        for (number, line) in into.chunks_exact_mut(self.pitch() * stride).enumerate() {
            let Some(source) = number.checked_sub(self.before[0]).filter(|source| *source < height) else {
                line.fill(0.0);
                continue;
            };
            let source = &from[source * width..][..width];
            if stride == 1 {
                let end = (before + width).min(line.len());
                let first = before.min(end);
                line[..first].fill(0.0);
                line[first..end].copy_from_slice(&source[..end - first]);
                line[end..].fill(0.0);
                continue;
            }
            // Element `i` of a phase is element `i * stride + phase` of the line.
            padded[before..before + inside].copy_from_slice(&source[..inside]);
            if let ([evens, odds], true) = (two(line, self.pitch()), stride == 2) {
                for ((even, odd), pair) in evens.iter_mut().zip(odds).zip(padded.as_chunks::<2>().0) {
                    [*even, *odd] = *pair;
                }
                continue;
            }
            for (phase, line) in line.chunks_exact_mut(self.pitch()).enumerate() {
                line.iter_mut()
                    .zip(padded[phase..].iter().step_by(stride))
                    .for_each(|(value, source)| *value = *source);
            }
        }
    }
}

/// The first two parts of a line.
fn two(line: &mut [f32], length: usize) -> [&mut [f32]; 2] {
    let (first, second) = line.split_at_mut(length.min(line.len()));
    [first, second]
}

struct Job<'a> {
    plane: &'a Plane,
    taps: &'a [usize],
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
    let line_step = plane.pitch() * plane.strides[1];
    // SAFETY: the last line that is read is that of the last row under the last line of the window, and a line has room
    // for whole registers behind each element of the window.
    unsafe {
        let mut sums = [[S::splat(0.0); NV]; R];
        let from = job.from.add(row * plane.strides[0] * line_step + column);
        let row_step = plane.strides[0] * line_step;
        for (number, tap) in job.taps.iter().enumerate() {
            let from = from.add(*tap);
            let factor = S::splat(*job.weights.add(number));
            for (r, sums) in sums.iter_mut().enumerate() {
                for (v, sum) in sums.iter_mut().enumerate() {
                    *sum = S::fma(S::load(from.add(r * row_step + v * LANES)), factor, *sum);
                }
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

/// A plane, with where the elements of its window begin.
pub(crate) struct Window {
    plane: Plane,
    taps: Vec<usize>,
}

impl Window {
    pub(crate) fn new(plane: Plane) -> Self {
        Self { taps: plane.taps(), plane }
    }

    /// The results of the window over a channel, with something added and an activation.
    pub(crate) fn run(
        &self,
        level: Level,
        (from, weights): (&[f32], &[f32]),
        (bias, activation): (f32, Activation),
        into: &mut [f32],
        scratch: &mut [f32],
    ) {
        let plane = &self.plane;
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
        let (copy, line) = scratch.split_at_mut(plane.size());
        wide(|| plane.copy(from, copy, line));
        let job = Job {
            plane,
            taps: &self.taps,
            from: copy.as_ptr(),
            weights: weights.as_ptr(),
            into: into.as_mut_ptr(),
            bias,
            activation,
        };
        // SAFETY: the assertion above shows the sizes, the taps are those of the plane, and `into` is borrowed alone.
        unsafe { plane_results(level, &job) };
    }
}
