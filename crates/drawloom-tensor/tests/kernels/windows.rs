//! One window over one channel, and every second element.

use fastrand::Rng;

use crate::operators::simd::Level;
use crate::operators::simd::depthwise::{Plane, Window, every_second};
use crate::{ALL, assert_near, random, value};

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
        for level in Level::all() {
            // The scratch memory of one channel is used for the next one.
            let mut scratch = vec![0.0; plane.scratch()];
            for channel in &channels {
                let mut found = vec![f32::NAN; rows * columns];
                window.run(*level, (channel, &weights), (bias, activation), &mut found, &mut scratch);
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
fn every_second_element_is_copied_and_no_other_one_touched() {
    for level in Level::all() {
        for count in 0..70usize {
            let from: Vec<f32> = (0..(2 * count).saturating_sub(1)).map(|number| number as f32).collect();
            let mut into = vec![-1.0; count + 20];
            every_second(*level, &from, &mut into[..count]);
            assert!(into[..count].iter().enumerate().all(|(place, value)| *value == 2.0 * place as f32), "{level:?}");
            assert!(into[count..].iter().all(|value| *value == -1.0), "{level:?} {count}");
        }
    }
}
