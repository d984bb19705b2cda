//! One window over one channel.
//!
//! The channel is copied into scratch memory between pads of zeros, and for a stride with the elements that one element of the
//! window meets next to each other. Then there are no edges and no strides left, and every line of results is a sum of
//! lines.

use super::activation::{Activation, apply_body, line};
use super::lanes::{Kernel, LANES, Lanes, run};
use pulp::Arch;

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

    /// Where the elements of the window begin in the copy.
    fn taps(&self) -> Vec<usize> {
        let columns = self.columns();
        let line = self.pitch() * self.strides[1];
        (0..self.kernel[0]).flat_map(|y| columns.iter().map(move |x| y * self.dilations[0] * line + x)).collect()
    }

    /// Where the elements of the first line of the window begin in the copy.
    fn columns(&self) -> Vec<usize> {
        let (stride, pitch) = (self.strides[1], self.pitch());
        let column = |x: usize| x * self.dilations[1] % stride * pitch + x * self.dilations[1] / stride;
        (0..self.kernel[1]).map(column).collect()
    }
}

/// Copies a channel into scratch memory that has zeros where the pads are.
///
/// # Safety
///
/// `from` must be good for the channel, and `into` for the scratch memory of the plane.
#[inline(always)]
unsafe fn copy<S: Lanes>(simd: S, plane: &Plane, from: *const f32, into: *mut f32) {
    let ([height, width], [stride, before], pitch) = (plane.input, [plane.strides[1], plane.before[1]], plane.pitch());
    let lines = plane.lines().saturating_sub(plane.before[0]).min(height);
    for line in 0..lines {
        // SAFETY: lines of the channel, and lines of the copy behind the pads above; `count` elements of each phase lie in
        // the source, and behind `begin` in the phase.
        unsafe {
            let source = from.add(line * width);
            let line = into.add((line + plane.before[0]) * pitch * stride);
            match stride {
                1 => copy_line::<S>(simd, source, line.wrapping_add(before), width.min(pitch.saturating_sub(before))),
                2 => {
                    // Elements with even numbers go to the phase of the first one, the others to the other phase.
                    let phases = [(before % 2, before / 2), ((before + 1) % 2, before.div_ceil(2))];
                    let counts = [width.div_ceil(2), width / 2];
                    let [even, odd] = phases.map(|(phase, begin)| line.wrapping_add(phase * pitch + begin));
                    let room = phases.map(|(_, begin)| pitch.saturating_sub(begin));
                    unzip_line::<S>(
                        simd,
                        (source, width),
                        (even, counts[0].min(room[0])),
                        (odd, counts[1].min(room[1])),
                    );
                }
                _ => {
                    for place in 0..width {
                        let (phase, at) = ((before + place) % stride, (before + place) / stride);
                        if at < pitch {
                            *line.add(phase * pitch + at) = *source.add(place);
                        }
                    }
                }
            }
        }
    }
}

/// # Safety
///
/// Both must be good for `count` elements.
#[inline(always)]
pub(super) unsafe fn copy_line<S: Lanes>(simd: S, from: *const f32, into: *mut f32, count: usize) {
    let mut at = 0;
    while at < count {
        let left = (count - at).min(LANES);
        // SAFETY: `at + left <= count`.
        unsafe {
            match left {
                LANES => simd.store(into.add(at), simd.load(from.add(at))),
                _ => simd.store_part(into.add(at), simd.load_part(from.add(at), left), left),
            }
        }
        at += left;
    }
}

/// # Safety
///
/// All must be good for their numbers of elements.
#[inline(always)]
pub(super) unsafe fn unzip_line<S: Lanes>(
    simd: S,
    (from, width): (*const f32, usize),
    (even, evens): (*mut f32, usize),
    (odd, odds): (*mut f32, usize),
) {
    let mut at = 0;
    while 2 * at < width {
        let left = width - 2 * at;
        let part = |all: usize| all.saturating_sub(at).min(LANES);
        // SAFETY: as many elements are read and written as there are, of those that are left.
        unsafe {
            let place = from.add(2 * at);
            let first = simd.load_part(place, left.min(LANES));
            let second = simd.load_part(place.wrapping_add(LANES), left.saturating_sub(LANES).min(LANES));
            let (first, second) = simd.unzip(first, second);
            simd.store_part(even.wrapping_add(at), first, part(evens));
            simd.store_part(odd.wrapping_add(at), second, part(odds));
        }
        at += LANES;
    }
}

/// A plane, with a channel, weights, scratch memory and results of its sizes.
struct Job<'a> {
    plane: &'a Plane,
    /// How many elements apart lines are in the copy.
    line: usize,
    taps: &'a [usize],
    /// The channel, and the scratch memory with its copy.
    channel: *const f32,
    copy: *mut f32,
    weights: *const f32,
    into: *mut f32,
    bias: f32,
    activation: Activation,
}

/// # Safety
///
/// The tile must lie in the result, and the scratch memory must have the size that the plane says.
#[inline(always)]
unsafe fn tile<S: Lanes, const R: usize, const NV: usize>(
    simd: S,
    job: &Job<'_>,
    row: usize,
    column: usize,
    tail: usize,
) {
    let plane = job.plane;
    let line_step = job.line;
    // SAFETY: the last line that is read is that of the last row under the last line of the window, and a line has room
    // for whole registers behind each element of the window.
    unsafe {
        let mut sums = [[simd.splat(0.0); NV]; R];
        let from = job.copy.add(row * plane.strides[0] * line_step + column);
        let row_step = plane.strides[0] * line_step;
        for (number, tap) in job.taps.iter().enumerate() {
            let from = from.add(*tap);
            let factor = simd.splat(*job.weights.add(number));
            for (r, sums) in sums.iter_mut().enumerate() {
                for (v, sum) in sums.iter_mut().enumerate() {
                    *sum = simd.fma(simd.load(from.add(r * row_step + v * LANES)), factor, *sum);
                }
            }
        }
        store::<S, R, NV>(simd, job, (row, column), tail, &sums);
    }
}

/// Bias and activation, and the end of a tile.
///
/// # Safety
///
/// As for the tile.
#[inline(always)]
unsafe fn store<S: Lanes, const R: usize, const NV: usize>(
    simd: S,
    job: &Job<'_>,
    (row, column): (usize, usize),
    tail: usize,
    sums: &[[S::V; NV]; R],
) {
    // SAFETY: the tile lies in the result.
    unsafe {
        let bias = simd.splat(job.bias);
        for (r, sums) in sums.iter().enumerate() {
            for (v, sum) in sums.iter().enumerate() {
                let mut sum = simd.add(*sum, bias);
                if let Activation::Line { slope, shift, low, high, gate } = job.activation {
                    sum = line::<S>(simd, sum, (slope, shift, low, high, gate));
                }
                let at = job.into.add((row + r) * job.plane.output[1] + column + v * LANES);
                if v + 1 == NV { simd.store_part(at, sum, tail) } else { simd.store(at, sum) }
            }
        }
    }
}

/// How many rows of results a strip has: the heights of images in networks are often a multiple of it.
const STRIP: usize = 7;

/// Seven rows of up to sixteen results of a window of `K` times `K` elements with a stride of `STRIDE`: a line of the copy is
/// loaded once for all rows that it is part of. Elements of the window are added column by column.
///
/// # Safety
///
/// As for the tile. Lines of the window must be neighbours.
#[inline(always)]
unsafe fn strip<S: Lanes, const K: usize, const STRIDE: usize>(
    simd: S,
    job: &Job<'_>,
    row: usize,
    column: usize,
    tail: usize,
) {
    // Everything is unrolled, as only sums with constant places stay in registers: line `i` of the copy is line `y` of the
    // window for row `(i - y) / STRIDE`, if there is one.
    macro_rules! lines {
        ($sums:ident, $factors:ident, $from:ident, $($i:literal)*) => {
            $(if $i < (STRIP - 1) * STRIDE + K {
                let value = simd.load($from.add($i * job.line));
                lines!(@row $sums, $factors, value, $i, 0 1 2 3 4);
            })*
        };
        (@row $sums:ident, $factors:ident, $value:ident, $i:literal, $($y:literal)*) => {
            $(if $y < K && $i >= $y && ($i - $y) % STRIDE == 0 && ($i - $y) / STRIDE < STRIP {
                let row = ($i - $y) / STRIDE;
                $sums[row][0] = simd.fma($value, $factors[$y], $sums[row][0]);
            })*
        };
    }
    // SAFETY: the lines are those of the rows of the strip, and a line has room for whole registers behind each element of
    // the window.
    unsafe {
        let mut sums = [[simd.splat(0.0); 1]; STRIP];
        let from = job.copy.add(row * STRIDE * job.line + column);
        for (x, shift) in job.taps.iter().take(K).enumerate() {
            let from = from.add(*shift);
            let mut factors = [simd.splat(0.0); 5];
            for (y, factor) in factors.iter_mut().enumerate().take(K) {
                *factor = simd.splat(*job.weights.add(y * K + x));
            }
            lines!(sums, factors, from, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
        }
        store::<S, STRIP, 1>(simd, job, (row, column), tail, &sums);
    }
}

/// Strips from the first row on, as far as there are seven rows. Says how many rows it computed.
///
/// # Safety
///
/// As for the strip, with all columns.
#[inline(always)]
unsafe fn strips<S: Lanes, const K: usize, const STRIDE: usize>(simd: S, job: &Job<'_>) -> usize {
    let [height, width] = job.plane.output;
    let mut row = 0;
    while row + STRIP <= height {
        for column in (0..width).step_by(LANES) {
            // SAFETY: the strip has as many rows and columns as are there.
            unsafe { strip::<S, K, STRIDE>(simd, job, row, column, (width - column).min(LANES)) };
        }
        row += STRIP;
    }
    row
}

/// # Safety
///
/// As for the tile, with all columns.
#[inline(always)]
unsafe fn rows<S: Lanes, const R: usize>(simd: S, job: &Job<'_>, row: usize) {
    let width = job.plane.output[1];
    let mut column = 0;
    // SAFETY: the vectors cover the columns, and no more.
    unsafe {
        while column + LANES < width {
            tile::<S, R, 2>(simd, job, row, column, (width - column - LANES).min(LANES));
            column += 2 * LANES;
        }
        if column < width {
            tile::<S, R, 1>(simd, job, row, column, width - column);
        }
    }
}

impl Kernel for &Job<'_> {
    #[inline(always)]
    fn run<S: Lanes>(self, simd: S) {
        let [height, width] = self.plane.output;
        // SAFETY: a tile begins only where all of its rows are there: `Window::run`, which makes these, saw to the sizes.
        unsafe {
            copy(simd, self.plane, self.channel, self.copy);
            let mut row = match (self.plane.kernel, self.plane.strides[0]) {
                _ if !S::LARGE_TILES || self.plane.dilations[0] != 1 => 0,
                ([3, 3], 1) => strips::<S, 3, 1>(simd, self),
                ([3, 3], 2) => strips::<S, 3, 2>(simd, self),
                ([5, 5], 1) => strips::<S, 5, 1>(simd, self),
                ([5, 5], 2) => strips::<S, 5, 2>(simd, self),
                _ => 0,
            };
            while row + 3 <= height {
                rows::<S, 3>(simd, self, row);
                row += 3;
            }
            while row < height {
                rows::<S, 1>(simd, self, row);
                row += 1;
            }
            if !self.activation.is_cheap() {
                apply_body(simd, self.activation, std::slice::from_raw_parts_mut(self.into, height * width));
            }
        }
    }
}

/// A plane, with where the elements of its window begin.
pub(crate) struct Window {
    plane: Plane,
    line: usize,
    taps: Vec<usize>,
}

impl Window {
    pub(crate) fn new(plane: Plane) -> Self {
        Self { taps: plane.taps(), line: plane.pitch() * plane.strides[1], plane }
    }

    /// The results of the window over a channel, with something added and an activation. The scratch memory must be all
    /// zero before the first channel, and is left as it is for the next one.
    pub(crate) fn run(
        &self,
        level: Arch,
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
        let job = Job {
            plane,
            line: self.line,
            taps: &self.taps,
            channel: from.as_ptr(),
            copy: scratch.as_mut_ptr(),
            weights: weights.as_ptr(),
            into: into.as_mut_ptr(),
            bias,
            activation,
        };
        run(level, &job);
    }
}
