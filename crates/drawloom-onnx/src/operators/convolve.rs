//! Convolutions of `f32` over one or two axes, with what follows them: bias, an added tensor, and an activation.
//!
//! All of them are products of matrices, the weights on the left, without the matrix of all windows ever being there: its
//! rows are parts of the input, or are written a block at a time. Only one window for each channel is no product.

use crate::operators::simd::activation::Activation;
use crate::operators::simd::depthwise::{Plane, Window};
use crate::operators::simd::dot::multiply_rows;
use crate::operators::simd::lanes::LANES;
use crate::operators::simd::product::{BUFFER, Bias, Finish, Left, Runs, multiply_packed, multiply_runs, packed_size};
use crate::operators::simd::vector::multiply_vectors;
use crate::operators::simd::windows::write_windows;
use crate::operators::window::Windows;
use drawloom_tensor::Fault;
use pulp::Arch;

/// How the products are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// One window for each channel.
    Depthwise,
    /// One window over all of the input: a row of a matrix for each item.
    Whole,
    /// Rows of the matrix of windows are parts of the input.
    Parts,
    /// They are written, a block at a time.
    Blocks,
}

/// A convolution of known shapes.
pub(crate) struct Convolve {
    plane: Plane,
    route: Route,
    batch: usize,
    groups: usize,
    /// Channels of one group, in and out.
    inputs: usize,
    outputs: usize,
    /// Whether the weights were packed.
    packed: bool,
}

/// What follows the sums.
#[derive(Clone, Copy)]
pub(crate) struct Follow<'a> {
    pub(crate) bias: Option<&'a [f32]>,
    pub(crate) add: Option<&'a [f32]>,
    pub(crate) activation: Activation,
}

impl Convolve {
    /// None if there are other numbers of axes than one and two.
    pub(crate) fn new(
        windows: &Windows,
        batch: usize,
        groups: usize,
        (inputs, outputs): (usize, usize),
        packed: bool,
    ) -> Option<Self> {
        let two = |values: &[usize], none: usize| match *values {
            [x] => Some([none, x]),
            [y, x] => Some([y, x]),
            _ => None,
        };
        let plane = Plane {
            input: two(&windows.input, 1)?,
            kernel: two(&windows.kernel, 1)?,
            strides: two(&windows.strides, 1)?,
            dilations: two(&windows.dilations, 1)?,
            before: two(&windows.before, 0)?,
            output: two(&windows.output, 1)?,
        };
        let pads = windows.before.iter().chain(&windows.after).any(|pad| *pad > 0);
        let size = |lengths: [usize; 2]| lengths[0].saturating_mul(lengths[1]);
        let route =
            if inputs == 1 && outputs == 1 && plane.scratch() / 4 <= size(plane.input) + size(plane.output) + 1024 {
                Route::Depthwise
            } else if groups == 1
                && !pads
                && plane.kernel == plane.input
                && size(plane.output) == 1
                && plane.dilations == [1, 1]
            {
                Route::Whole
            } else if !pads && plane.strides == [1, 1] && (plane.output[1] == plane.input[1] || plane.output[0] == 1) {
                Route::Parts
            } else {
                Route::Blocks
            };
        Some(Self { plane, route, batch, groups, inputs, outputs, packed })
    }

    /// How many elements of scratch memory it needs.
    pub(crate) fn scratch(&self) -> usize {
        match self.route {
            Route::Depthwise => self.plane.scratch(),
            Route::Whole => 0,
            Route::Parts | Route::Blocks => BUFFER,
        }
    }

    pub(crate) fn run(
        &self,
        input: &[f32],
        weights: &[f32],
        results: &mut [f32],
        scratch: &mut [f32],
        follow: Follow<'_>,
    ) -> Result<(), Fault> {
        let level = Arch::new();
        let plane = &self.plane;
        let [channel, places, window] =
            [plane.input, plane.output, plane.kernel].map(|lengths| lengths[0] * lengths[1]);
        if places == 0 || results.is_empty() {
            return Ok(());
        }
        let depth = self.inputs * window;
        let channels = self.groups * self.outputs;
        if let Some(bias) = follow.bias
            && bias.len() != channels
        {
            return Err(Fault::new(format!("{} biases do not fit {channels} channels", bias.len())));
        }
        if let Some(add) = follow.add
            && add.len() != results.len()
        {
            return Err(Fault::new("a tensor that is added does not have the shape of the result"));
        }
        let activation = follow.activation;
        // Weights of one channel and one window are as they are.
        let size = if self.packed && !is_single(self.inputs, self.outputs) {
            packed_size(self.outputs, depth)
        } else {
            self.outputs * depth
        };
        if weights.len() != self.groups * size {
            return Err(Fault::new(format!("{} weights do not fit {channels} channels", weights.len())));
        }
        if self.route == Route::Whole {
            if self.packed {
                let follow = (follow.bias, follow.add, activation);
                multiply_vectors(level, (self.outputs, depth), weights, input, results, follow);
                return Ok(());
            }
            let bias = follow.bias.map_or(Bias::None, Bias::Columns);
            let finish = Finish { bias, add: follow.add, activation };
            multiply_rows(level, (self.batch, depth, self.outputs), input, weights, results, &finish);
            return Ok(());
        }
        // Windows that begin at each element of the kernel, in the first channel.
        let [height, width] = plane.kernel;
        let start = |at: usize| at / width * plane.dilations[0] * plane.input[1] + at % width * plane.dilations[1];
        let starts: Vec<usize> = match self.route {
            Route::Parts => (0..height * width).map(start).collect(),
            Route::Depthwise | Route::Whole | Route::Blocks => Vec::new(),
        };
        let windows = if self.route == Route::Depthwise { Some(Window::new(*plane)) } else { None };
        if windows.is_some() {
            // The pads, which all channels share.
            scratch.fill(0.0);
        }
        for (number, into) in results.chunks_exact_mut(self.outputs * places).enumerate() {
            let group = number % self.groups;
            let from = &input[number * self.inputs * channel..][..self.inputs * channel];
            let weights = &weights[group * size..][..size];
            let bias = follow.bias.map(|bias| &bias[group * self.outputs..][..self.outputs]);
            let add = follow.add.map(|add| &add[number * self.outputs * places..][..self.outputs * places]);
            if let Some(windows) = &windows {
                let bias = bias.map_or(0.0, |bias| bias[0]);
                let Some(add) = add else {
                    windows.run(level, (from, weights), (bias, activation), into, scratch);
                    continue;
                };
                windows.run(level, (from, weights), (bias, Activation::None), into, scratch);
                into.iter_mut().zip(add).for_each(|(sum, add)| *sum += add);
                activation.apply(into);
                continue;
            }
            let finish = Finish { bias: bias.map_or(Bias::None, Bias::Rows), add, activation };
            match self.route {
                Route::Parts => {
                    let (left, step) = if self.packed {
                        (Left::packed(weights, depth), self.inputs * LANES)
                    } else {
                        (Left::strided(weights, depth, window), 1)
                    };
                    let right = Runs { values: from, row: channel, starts: &starts, length: self.inputs, left: step };
                    multiply_runs(level, (self.outputs, places), left, right, scratch, into, &finish);
                }
                Route::Depthwise | Route::Whole | Route::Blocks => {
                    let left =
                        if self.packed { Left::packed(weights, depth) } else { Left::strided(weights, depth, 1) };
                    let channels = self.packed.then_some(self.inputs);
                    let pack = |row: usize, column: usize, columns: usize, block: &mut [f32]| {
                        write_windows(level, plane, channels, from, (row, column, columns), block);
                    };
                    multiply_packed(level, (self.outputs, depth, places), left, scratch, pack, into, &finish);
                }
            }
        }
        Ok(())
    }
}

fn is_single(inputs: usize, outputs: usize) -> bool {
    inputs == 1 && outputs == 1
}

/// The weights of a convolution in the order in which they are read: for each group, panels of sixteen output channels, in
/// which elements of the kernel follow each other, and of each of them the input channels.
pub(crate) fn pack(weights: &[f32], groups: usize, outputs: usize, inputs: usize, window: usize) -> Vec<f32> {
    if is_single(inputs, outputs) {
        return weights.to_vec();
    }
    let depth = inputs * window;
    let mut packed = vec![0.0; groups * packed_size(outputs, depth)];
    for (group, into) in packed.chunks_exact_mut(packed_size(outputs, depth).max(1)).enumerate() {
        for output in 0..outputs {
            let from = &weights[(group * outputs + output) * depth..][..depth];
            let panel = &mut into[output / LANES * depth * LANES..];
            for (place, value) in from.iter().enumerate() {
                let (input, at) = (place / window, place % window);
                panel[(at * inputs + input) * LANES + output % LANES] = *value;
            }
        }
    }
    packed
}
