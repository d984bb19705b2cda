//! The elements under windows as a part of a matrix: a row for each element of the kernel of each channel, and a column for
//! each window.

use super::depthwise::{Plane, copy_line, unzip_line};
use super::lanes::{Kernel, Lanes, run};
use super::tile::TILE;
use pulp::Arch;

/// A part of the matrix of windows, from a row and a column on.
struct Part<'a> {
    plane: &'a Plane,
    channels: Option<usize>,
    input: &'a [f32],
    row: usize,
    column: usize,
    columns: usize,
}

/// Which windows have an element of the kernel inside of the input, along the last axis, and which element of the input
/// that is: `window * stride + shift - before`.
struct Inside {
    first: usize,
    end: usize,
    shift: usize,
    before: usize,
}

/// A part, and the block that it is written to.
struct Write<'a>(Part<'a>, &'a mut [f32]);

impl Kernel for Write<'_> {
    #[inline(always)]
    fn run<S: Lanes>(self, simd: S) {
        let Self(part, block) = self;
        let plane = part.plane;
        let window = plane.kernel[0] * plane.kernel[1];
        let [height, width] = plane.input;
        // Divisions take longer than anything else here, so that the numbers of a row follow from those of the one before.
        let (begin_y, begin_x) = (part.column / plane.output[1], part.column % plane.output[1]);
        let (mut channel, tap) = match part.channels {
            Some(channels) => (part.row % channels, part.row / channels),
            None => (part.row / window, part.row % window),
        };
        let (mut y, mut x) = (tap / plane.kernel[1], tap % plane.kernel[1]);
        for line in block.chunks_exact_mut(TILE) {
            let values = &part.input[channel * height * width..][..height * width];
            let (shift, before, stride) = (x * plane.dilations[1], plane.before[1], plane.strides[1]);
            let inside = Inside {
                first: rounded_up(before.saturating_sub(shift), stride),
                end: rounded_up((before + width).saturating_sub(shift), stride).min(plane.output[1]),
                shift,
                before,
            };
            let mut done = 0;
            let (mut at_y, mut at_x) = (begin_y, begin_x);
            while done < part.columns {
                let count = (plane.output[1] - at_x).min(part.columns - done);
                let into = &mut line[done..done + count];
                let source = (at_y * plane.strides[0] + y * plane.dilations[0]).checked_sub(plane.before[0]);
                match source.filter(|source| *source < height) {
                    Some(source) => {
                        segment(simd, &values[source * width..][..width], &inside, (at_x, stride), into);
                    }
                    None => into.fill(0.0),
                }
                done += count;
                (at_y, at_x) = (at_y + 1, 0);
            }
            // Either the next channel and then the next element of the kernel, or the other way round.
            let mut next_tap = true;
            if let Some(channels) = part.channels {
                channel += 1;
                next_tap = channel == channels;
                channel = if next_tap { 0 } else { channel };
            }
            if next_tap {
                x += 1;
                if x == plane.kernel[1] {
                    (x, y) = (0, y + 1);
                }
                if y == plane.kernel[0] {
                    (y, channel) = (0, channel + 1);
                }
            }
        }
    }
}

/// A quotient, rounded up, without a division for the strides that there mostly are.
#[inline(always)]
fn rounded_up(value: usize, stride: usize) -> usize {
    match stride {
        1 => value,
        2 => value.div_ceil(2),
        _ => value.div_ceil(stride),
    }
}

/// The elements of a line of the input that windows from one on have.
#[inline(always)]
fn segment<S: Lanes>(simd: S, line: &[f32], inside: &Inside, (at, stride): (usize, usize), into: &mut [f32]) {
    let first = inside.first.clamp(at, at + into.len());
    let end = inside.end.clamp(first, at + into.len());
    into[..first - at].fill(0.0);
    into[end - at..].fill(0.0);
    if first == end {
        return;
    }
    let from = &line[first * stride + inside.shift - inside.before..];
    let into = &mut into[first - at..end - at];
    let count = into.len();
    if stride <= 2 {
        assert!((count - 1) * stride < from.len(), "invariant: windows inside of the input have their elements there");
        // SAFETY: as many elements are there to be read, and `into` is written.
        unsafe {
            if stride == 1 {
                copy_line::<S>(simd, from.as_ptr(), into.as_mut_ptr(), count);
            } else {
                unzip_line::<S>(
                    simd,
                    (from.as_ptr(), 2 * count - 1),
                    (into.as_mut_ptr(), count),
                    (std::ptr::null_mut(), 0),
                );
            }
        }
    } else {
        into.iter_mut().zip(from.iter().step_by(stride)).for_each(|(value, source)| *value = *source);
    }
}

/// Writes a part of the matrix of windows, from a row and a column on, with rows that are [`TILE`] apart. If a number of
/// channels is given, they follow each other in the rows, and not the elements of the kernel.
pub(crate) fn write_windows(
    level: Arch,
    plane: &Plane,
    channels: Option<usize>,
    input: &[f32],
    (row, column, columns): (usize, usize, usize),
    block: &mut [f32],
) {
    let part = Part { plane, channels, input, row, column, columns };
    run(level, Write(part, block));
}
