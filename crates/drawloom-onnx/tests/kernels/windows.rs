//! One window over one channel, and the elements under windows as a matrix.

use fastrand::Rng;

use crate::operators::simd::depthwise::{Plane, Window};
use crate::operators::simd::tile::TILE;
use crate::operators::simd::windows::write_windows;
use crate::{ALL, assert_near, levels, random, value};

/// A window that fits a channel.
fn plane(rng: &mut Rng) -> Plane {
    let mut plane =
        Plane { input: [0; 2], kernel: [0; 2], strides: [0; 2], dilations: [0; 2], before: [0; 2], output: [0; 2] };
    for axis in 0..2 {
        let (kernel, dilation, stride) = (rng.usize(1..6), rng.usize(1..3), rng.usize(1..4));
        let span = (kernel - 1) * dilation + 1;
        let (before, after) = (rng.usize(0..4), rng.usize(0..4));
        let input = span.saturating_sub(before + after).max(1) + rng.usize(0..40);
        plane.input[axis] = input;
        plane.kernel[axis] = kernel;
        plane.dilations[axis] = dilation;
        plane.strides[axis] = stride;
        plane.before[axis] = before;
        plane.output[axis] = (input + before + after - span) / stride + 1;
    }
    plane
}

#[test]
fn a_window_over_a_channel_is_the_sums_that_define_it() {
    let mut rng = Rng::with_seed(1);
    for round in 0..150 {
        let mut plane = plane(&mut rng);
        if round % 2 == 0 {
            // The windows of most networks, which have kernels of their own.
            let (kernel, stride) = (if rng.bool() { 3 } else { 5 }, rng.usize(1..3));
            plane.kernel = [kernel; 2];
            plane.strides[0] = stride;
            plane.dilations = [1; 2];
            plane.before = [rng.usize(0..=kernel / 2), rng.usize(0..=kernel / 2)];
            plane.input = [kernel + rng.usize(0..40), kernel + rng.usize(0..40)];
            for axis in 0..2 {
                plane.output[axis] = (plane.input[axis] + 2 * plane.before[axis] - kernel) / plane.strides[axis] + 1;
            }
        }
        let plane = plane;
        let ([height, width], [rows, columns]) = (plane.input, plane.output);
        let channels: Vec<Vec<f32>> = (0..2).map(|_| random(&mut rng, height * width)).collect();
        let weights = random(&mut rng, plane.kernel[0] * plane.kernel[1]);
        let (bias, activation) = (rng.f32(), ALL[rng.usize(0..ALL.len())]);
        let window = Window::new(plane);
        for level in levels() {
            // The scratch memory of one channel is used for the next one.
            let mut scratch = vec![0.0; plane.scratch()];
            for channel in &channels {
                let mut found = vec![f32::NAN; rows * columns];
                window.run(level, (channel, &weights), (bias, activation), &mut found, &mut scratch);
                for (place, found) in found.iter().enumerate() {
                    let mut sum = f64::from(bias);
                    for (number, weight) in weights.iter().enumerate() {
                        let at = [number / plane.kernel[1], number % plane.kernel[1]];
                        let source = |axis: usize, place: usize| {
                            let place = place * plane.strides[axis] + at[axis] * plane.dilations[axis];
                            place.checked_sub(plane.before[axis]).filter(|place| *place < plane.input[axis])
                        };
                        if let (Some(y), Some(x)) = (source(0, place / columns), source(1, place % columns)) {
                            sum += f64::from(*weight) * f64::from(channel[y * width + x]);
                        }
                    }
                    assert_near(*found, value(activation, sum), 25, &(level, plane));
                }
            }
        }
    }
}

#[test]
fn a_part_of_the_matrix_of_windows_has_their_elements_and_zeros_for_pads() {
    let mut rng = Rng::with_seed(2);
    for _ in 0..100 {
        let plane = plane(&mut rng);
        let ([height, width], places) = (plane.input, plane.output[0] * plane.output[1]);
        let (channels, window) = (rng.usize(1..4), plane.kernel[0] * plane.kernel[1]);
        let input = random(&mut rng, channels * height * width);
        let channels_last = rng.bool();
        let (row, column) = (rng.usize(0..channels * window), rng.usize(0..places));
        let (rows, columns) = (rng.usize(1..=channels * window - row), rng.usize(1..=(places - column).min(TILE)));
        for level in levels() {
            let mut block = vec![f32::NAN; rows * TILE];
            let order = channels_last.then_some(channels);
            write_windows(level, &plane, order, &input, (row, column, columns), &mut block);
            for (place, found) in block.iter().enumerate().filter(|(place, _)| place % TILE < columns) {
                let (k, at) = (row + place / TILE, column + place % TILE);
                let (channel, tap) =
                    if channels_last { (k % channels, k / channels) } else { (k / window, k % window) };
                let source = |axis: usize, window: usize, tap: usize| {
                    let place = window * plane.strides[axis] + tap * plane.dilations[axis];
                    place.checked_sub(plane.before[axis]).filter(|place| *place < plane.input[axis])
                };
                let (y, x) = (
                    source(0, at / plane.output[1], tap / plane.kernel[1]),
                    source(1, at % plane.output[1], tap % plane.kernel[1]),
                );
                let expected = y.zip(x).map_or(0.0, |(y, x)| input[(channel * height + y) * width + x]);
                assert_eq!(*found, expected, "{level:?} {plane:?} {k} {at}");
            }
        }
    }
}
