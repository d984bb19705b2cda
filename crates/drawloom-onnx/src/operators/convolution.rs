//! Convolutions: the elements under each window are put into the columns of a matrix, and multiplied with the kernels.

use crate::operators::convolve::{Convolve, Follow};
use crate::operators::matrix::{requantize, widened};
use crate::operators::movement::advance;
use crate::operators::multiply::Matrix;
use crate::operators::number::MatrixNumber;
use crate::operators::simd::activation::Activation;
use crate::operators::spec::Spec;
use crate::operators::support::{Made, Walk, broadcast, broadcast_steps, kernel_with};
use crate::operators::transposed::transposed;
use crate::operators::window::{WindowSpec, Windows};
use drawloom_tensor::operator::Number;
use drawloom_tensor::operator::count;
use drawloom_tensor::{ElementType, Fault, Inputs, Kernel, Outputs, Scratch, View, with_type};

pub(crate) fn make(spec: &Spec) -> Option<Made> {
    Some(match spec.operator.as_str() {
        "Conv" => convolution(spec),
        "ConvInteger" => convolution_integer(spec),
        "QLinearConv" => convolution_quantized(spec),
        "ConvTranspose" => transposed(spec),
        _ => return None,
    })
}

/// A convolution of known shapes.
struct Shapes {
    windows: Windows,
    batch: usize,
    groups: usize,
    /// Channels of one group, in and out.
    inputs: usize,
    outputs: usize,
    shape: Vec<usize>,
}

impl Shapes {
    fn new(spec: &WindowSpec, groups: i64, input: &[usize], weight: &[usize]) -> Result<Self, Fault> {
        let wrong = || {
            Fault::new(format!("weights of shape {weight:?} in {groups} groups do not fit an input of shape {input:?}"))
        };
        let groups = usize::try_from(groups).ok().filter(|groups| *groups > 0).ok_or_else(wrong)?;
        if input.len() < 2
            || input.len() != weight.len()
            || weight[1].checked_mul(groups) != Some(input[1])
            || !weight[0].is_multiple_of(groups)
        {
            return Err(wrong());
        }
        let windows = spec.over(&input[2..], Some(&weight[2..]))?;
        let mut shape = vec![input[0], weight[0]];
        shape.extend(&windows.output);
        count(&shape)?;
        Ok(Self { windows, batch: input[0], groups, inputs: weight[1], outputs: weight[0] / groups, shape })
    }

    fn places(&self) -> usize {
        self.windows.output.iter().product()
    }

    /// How many products make one element.
    fn depth(&self) -> usize {
        self.inputs * self.windows.kernel.iter().product::<usize>()
    }

    /// Whether the columns of the matrix are the input itself.
    fn is_pointwise(&self) -> bool {
        let windows = &self.windows;
        windows.kernel.iter().chain(&windows.strides).all(|size| *size == 1)
            && windows.before.iter().chain(&windows.after).all(|pad| *pad == 0)
    }

    fn is_depthwise(&self) -> bool {
        self.inputs == 1 && self.outputs == 1 && self.windows.kernel.len() == 2
    }

    /// How many elements of scratch memory the columns take.
    fn columns(&self) -> Result<usize, Fault> {
        if self.is_pointwise() || self.is_depthwise() { Ok(0) } else { count(&[self.depth(), self.places()]) }
    }

    fn run<T: MatrixNumber>(&self, input: &[T], weight: &[T], results: &mut [T], columns: &mut [T]) {
        let places = self.places();
        let channel: usize = self.windows.input.iter().product();
        let depth = self.depth();
        if places == 0 {
            return;
        }
        for item in 0..self.batch {
            for group in 0..self.groups {
                let from = &input[(item * self.groups + group) * self.inputs * channel..][..self.inputs * channel];
                let weights = &weight[group * self.outputs * depth..][..self.outputs * depth];
                let into =
                    &mut results[(item * self.groups + group) * self.outputs * places..][..self.outputs * places];
                if self.is_depthwise() {
                    depthwise(&self.windows, from, weights, into);
                    continue;
                }
                let matrix = if self.is_pointwise() {
                    from
                } else {
                    unfold(&self.windows, self.inputs, from, columns);
                    &columns[..]
                };
                T::multiply(
                    self.outputs,
                    depth,
                    places,
                    Matrix::rows(weights, depth),
                    Matrix::rows(matrix, places),
                    into,
                );
            }
        }
    }
}

/// Writes the elements under each window, a row for each element of the kernel and a column for each window.
fn unfold<T: Number>(windows: &Windows, channels: usize, input: &[T], columns: &mut [T]) {
    let channel: usize = windows.input.iter().product();
    let places: usize = windows.output.iter().product();
    let axes = windows.input.len();
    let Some((width, outer)) = windows.output.split_last() else {
        columns.copy_from_slice(input);
        return;
    };
    let last = axes - 1;
    let stride = windows.strides[last];
    let mut rows = columns.chunks_exact_mut(places);
    for number in 0..channels {
        let from = &input[number * channel..][..channel];
        let mut at = vec![0; axes];
        for _ in 0..windows.kernel.iter().product::<usize>() {
            let Some(row) = rows.next() else { return };
            let mut place = vec![0; outer.len()];
            let (first, end, start) = windows.inside(last, at[last]);
            for line in row.chunks_exact_mut(*width) {
                let begin = (0..last).try_fold(0usize, |offset, axis| {
                    Some(offset * windows.input[axis] + windows.source(axis, place[axis], at[axis])?)
                });
                match begin {
                    None => line.fill(T::ZERO),
                    Some(begin) => {
                        let from = &from[begin * windows.input[last]..][..windows.input[last]];
                        line[..first].fill(T::ZERO);
                        line[end..].fill(T::ZERO);
                        if stride == 1 {
                            line[first..end].copy_from_slice(&from[start..start + end - first]);
                        } else {
                            let sources = from[start..].iter().step_by(stride);
                            line[first..end].iter_mut().zip(sources).for_each(|(value, source)| *value = *source);
                        }
                    }
                }
                advance(&mut place, outer);
            }
            advance(&mut at, &windows.kernel);
        }
    }
}

/// One channel with one kernel over two axes: a line of results at a time, for each element of the kernel.
fn depthwise<T: Number>(windows: &Windows, input: &[T], weights: &[T], results: &mut [T]) {
    let (width, columns) = (windows.input[1], windows.output[1]);
    let stride = windows.strides[1];
    for (y, line) in results.chunks_exact_mut(columns).enumerate() {
        line.fill(T::ZERO);
        for ky in 0..windows.kernel[0] {
            let Some(source) = windows.source(0, y, ky) else { continue };
            let from = &input[source * width..][..width];
            for kx in 0..windows.kernel[1] {
                let weight = weights[ky * windows.kernel[1] + kx];
                let (first, end, begin) = windows.inside(1, kx);
                if stride == 1 {
                    for (result, value) in line[first..end].iter_mut().zip(&from[begin..]) {
                        *result = result.plus(weight.times(*value));
                    }
                } else {
                    for (result, value) in line[first..end].iter_mut().zip(from[begin..].iter().step_by(stride)) {
                        *result = result.plus(weight.times(*value));
                    }
                }
            }
        }
    }
}

/// A convolution, and what follows it.
struct Convolution {
    windows: WindowSpec,
    groups: i64,
    following: Following,
}

/// What a convolution of `f32` over one or two axes does beyond its operator.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Following {
    /// The shape of the weights, if they were packed.
    pub(crate) packed: Option<Vec<usize>>,
    /// Whether its last input is added to the sums.
    pub(crate) add: bool,
    pub(crate) activation: Activation,
    /// Axes of length 1 that the result does not have.
    pub(crate) squeeze: Vec<usize>,
}

/// The input of a convolution that is added to its result.
const ADDED: usize = 3;

impl Convolution {
    fn shapes(&self, input: &[usize], weight: &[usize]) -> Result<Shapes, Fault> {
        Shapes::new(&self.windows, self.groups, input, self.following.packed.as_deref().unwrap_or(weight))
    }

    /// The arrangement for `f32`, for one or two axes.
    fn convolve(&self, shapes: &Shapes) -> Option<Convolve> {
        let channels = (shapes.inputs, shapes.outputs);
        Convolve::new(&shapes.windows, shapes.batch, shapes.groups, channels, self.following.packed.is_some())
    }

    /// The shape of the result.
    fn squeezed(&self, shape: &[usize]) -> Result<Vec<usize>, Fault> {
        let axes = &self.following.squeeze;
        if axes.iter().any(|axis| shape.get(*axis) != Some(&1)) {
            return Err(Fault::new(format!("the axes {axes:?} of the shape {shape:?} do not have the length 1")));
        }
        Ok(shape.iter().enumerate().filter(|(axis, _)| !axes.contains(axis)).map(|(_, length)| *length).collect())
    }

    /// Sums of `f32`, and what follows them.
    fn run_f32(
        &self,
        (shapes, convolve): (&Shapes, &Convolve),
        inputs: &Inputs<'_>,
        outputs: &mut Outputs<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), Fault> {
        let read = || -> Result<_, Fault> {
            let bias = inputs.optional(2).map(|bias| bias.values::<f32>()).transpose()?;
            Ok((inputs.get(0)?.values::<f32>()?, inputs.get(1)?.values::<f32>()?, bias))
        };
        let mut buffer = scratch.unset::<f32>(convolve.scratch())?;
        let shape = self.squeezed(&shapes.shape)?;
        let add = if self.following.add { Some(inputs.get(ADDED)?) } else { None };
        if let Some(add) = add.filter(|add| add.shape() != shape) {
            // It is broadcast, or the sums are: then they cannot be added in place.
            let mut sums = scratch.unset::<f32>(count(&shape)?)?;
            let full = broadcast(&[&shape, add.shape()])?;
            let steps = [broadcast_steps(&shape, &full)?, broadcast_steps(add.shape(), &full)?];
            let (results, add) = (outputs.allocate_unset::<f32>(0, &full)?, add.values::<f32>()?);
            let (values, weights, bias) = read()?;
            let follow = Follow { bias, add: None, activation: Activation::None };
            convolve.run(values, weights, &mut sums, &mut buffer, follow)?;
            for (result, [sum, other]) in results.iter_mut().zip(Walk::new(&full, steps)) {
                *result = sums[sum] + add[other];
            }
            self.following.activation.apply(results);
            return Ok(());
        }
        let results = outputs.allocate_unset::<f32>(0, &shape)?;
        let (values, weights, bias) = read()?;
        let add = add.map(|add| add.values::<f32>()).transpose()?;
        let follow = Follow { bias, add, activation: self.following.activation };
        convolve.run(values, weights, results, &mut buffer, follow)
    }
}

impl Kernel for Convolution {
    fn asks_first(&self) -> bool {
        true
    }

    fn scratch(&self, shapes: &[Option<&[usize]>]) -> usize {
        let (Some(Some(input)), Some(Some(weight))) = (shapes.first(), shapes.get(1)) else { return 0 };
        let Ok(shapes) = self.shapes(input, weight) else { return 0 };
        self.convolve(&shapes).map_or(0, |convolve| Scratch::bytes::<f32>(convolve.scratch()))
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        let (input, weight) = (inputs.get(0)?, inputs.get(1)?);
        let shapes = self.shapes(input.shape(), weight.shape())?;
        if input.element() == ElementType::F32
            && let Some(convolve) = self.convolve(&shapes)
        {
            return self.run_f32((&shapes, &convolve), inputs, outputs, scratch);
        }
        if self.following != Following::default() {
            return Err(Fault::new(format!("expected elements of type f32, found {}", input.element())));
        }
        with_type!(floats, input.element(), T => {
            // Other types and more than two axes are rare, and not fast.
            let mut columns = scratch.unset::<T>(shapes.columns()?)?;
            scratch.count(T::multiply_bytes(shapes.depth(), shapes.places()))?;
            let results = outputs.allocate::<T>(0, &shapes.shape)?;
            let (values, weights) = (input.values::<T>()?, weight.values::<T>()?);
            shapes.run::<T>(values, weights, results, &mut columns);
            if let Some(bias) = inputs.optional(2) {
                add_bias::<T>(results, bias, &shapes.shape)?;
            }
            Ok(())
        })
    }
}

pub(crate) fn add_bias<T: Number>(results: &mut [T], bias: View<'_>, shape: &[usize]) -> Result<(), Fault> {
    let bias = bias.values::<T>()?;
    if bias.len() != shape[1] {
        return Err(Fault::new(format!("{} biases do not fit {} channels", bias.len(), shape[1])));
    }
    let places: usize = shape[2..].iter().product();
    if places > 0 {
        for (number, channel) in results.chunks_exact_mut(places).enumerate() {
            channel.iter_mut().for_each(|result| *result = result.plus(bias[number % bias.len()]));
        }
    }
    Ok(())
}

fn convolution(spec: &Spec) -> Made {
    following(spec, Following::default())
}

/// A convolution of `f32` over one or two axes, and what follows it.
pub(crate) fn following(spec: &Spec, following: Following) -> Made {
    Ok(Box::new(Convolution { windows: WindowSpec::new(spec)?, groups: spec.int("group", 1)?, following }))
}

fn convolution_integer(spec: &Spec) -> Made {
    let windows = WindowSpec::new(spec)?;
    let groups = spec.int("group", 1)?;
    kernel_with(move |inputs, outputs, scratch| {
        let (input, weight) = (inputs.get(0)?, inputs.get(1)?);
        let shapes = Shapes::new(&windows, groups, input.shape(), weight.shape())?;
        let values = widened(input, inputs.optional(2), 1, scratch)?;
        let weights = widened(weight, inputs.optional(3), 0, scratch)?;
        let mut columns = scratch.unset::<i32>(shapes.columns()?)?;
        shapes.run(&values, &weights, outputs.allocate::<i32>(0, &shapes.shape)?, &mut columns);
        Ok(())
    })
}

fn convolution_quantized(spec: &Spec) -> Made {
    let windows = WindowSpec::new(spec)?;
    let groups = spec.int("group", 1)?;
    kernel_with(move |inputs, outputs, scratch| {
        let (input, weight) = (inputs.get(0)?, inputs.get(3)?);
        let shapes = Shapes::new(&windows, groups, input.shape(), weight.shape())?;
        let values = widened(input, Some(inputs.get(2)?), 1, scratch)?;
        let weights = widened(weight, Some(inputs.get(5)?), 0, scratch)?;
        let mut columns = scratch.unset::<i32>(shapes.columns()?)?;
        let mut sums = scratch.zeros::<i32>(count(&shapes.shape)?)?;
        outputs.announce(inputs.get(7)?.element(), 0, &shapes.shape)?;
        scratch.all_there()?;
        shapes.run(&values, &weights, &mut sums, &mut columns);
        if let Some(bias) = inputs.optional(8) {
            add_bias::<i32>(&mut sums, bias, &shapes.shape)?;
        }
        let (x, y) = (f64::from(inputs.get(1)?.only::<f32>()?), f64::from(inputs.get(6)?.only::<f32>()?));
        let scales = inputs.get(4)?.values::<f32>()?;
        let channels = shapes.shape[1];
        if scales.len() != 1 && scales.len() != channels {
            return Err(Fault::new(format!("{} scales do not fit {channels} channels", scales.len())));
        }
        let places = shapes.places().max(1);
        let scale =
            |index: usize| x * f64::from(scales[if scales.len() == 1 { 0 } else { index / places % channels }]) / y;
        requantize(&sums, &shapes.shape, scale, inputs.get(7)?, outputs)
    })
}
