//! Pools: the mean, the largest or the norm of the elements under each window.

use crate::operators::movement::advance;
use crate::operators::simd::wide;
use crate::operators::spec::Spec;
use crate::operators::support::{Made, expect_rank, kernel, kernel_with, lengths, listed, steps, within};
use crate::operators::window::{Steps, WindowSpec, Windows};
use drawloom_tensor::operator::Number;
use drawloom_tensor::operator::count;
use drawloom_tensor::{ElementType, Fault, View, with_type};

pub(crate) fn make(spec: &Spec) -> Option<Made> {
    Some(match spec.operator.as_str() {
        "MaxPool" => largest(spec),
        "AveragePool" => average(spec),
        "LpPool" => norm(spec),
        "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" => global(spec),
        "MaxUnpool" => unpool(spec),
        _ => return None,
    })
}

/// Calls a function for each window: its place in the result, and the places of its elements in the input and the kernel.
fn each_window(windows: &Windows, channels: usize, mut visit: impl FnMut(usize, &mut dyn Iterator<Item = usize>)) {
    let channel: usize = windows.input.iter().product();
    let places: usize = windows.output.iter().product();
    let size: usize = windows.kernel.iter().product();
    for number in 0..channels {
        let mut at = vec![0; windows.output.len()];
        for place in 0..places {
            let mut k = vec![0; windows.kernel.len()];
            let mut elements = (0..size).filter_map(|_| {
                let offset = (0..k.len()).try_fold(0usize, |offset, axis| {
                    Some(offset * windows.input[axis] + windows.source(axis, at[axis], k[axis])?)
                });
                advance(&mut k, &windows.kernel);
                offset.map(|offset| number * channel + offset)
            });
            visit(number * places + place, &mut elements);
            advance(&mut at, &windows.output);
        }
    }
}

fn plan(spec: &WindowSpec, input: View<'_>) -> Result<(Windows, Vec<usize>, usize), Fault> {
    expect_rank(input, 3, "a pool")?;
    let windows = spec.over(&input.shape()[2..], None)?;
    let mut shape = input.shape()[..2].to_vec();
    shape.extend(&windows.output);
    count(&shape)?;
    Ok((windows, shape, input.shape()[0] * input.shape()[1]))
}

/// Folds all elements of windows over one or two axes into their results, a line of them at a time.
#[inline(always)]
fn lines(windows: &Windows, channels: usize, values: &[f32], results: &mut [f32], fold: impl Fn(&mut f32, f32)) {
    let last = windows.input.len() - 1;
    let (width, columns, stride) = (windows.input[last], windows.output[last], windows.strides[last]);
    let (height, rows, kernel) =
        if last == 0 { (1, 1, 1) } else { (windows.input[0], windows.output[0], windows.kernel[0]) };
    if width * height == 0 || columns * rows == 0 {
        return;
    }
    for number in 0..channels {
        let from = &values[number * width * height..][..width * height];
        let into = &mut results[number * columns * rows..][..columns * rows];
        for (row, line) in into.chunks_exact_mut(columns).enumerate() {
            for y in 0..kernel {
                let source = if last == 0 { Some(0) } else { windows.source(0, row, y) };
                let Some(source) = source else { continue };
                let from = &from[source * width..][..width];
                for x in 0..windows.kernel[last] {
                    let (first, end, begin) = windows.inside(last, x);
                    let line = &mut line[first..end];
                    if stride == 1 {
                        line.iter_mut().zip(&from[begin..]).for_each(|(result, value)| fold(result, *value));
                    } else {
                        let values = from[begin..].iter().step_by(stride);
                        line.iter_mut().zip(values).for_each(|(result, value)| fold(result, *value));
                    }
                }
            }
        }
    }
}

fn largest(spec: &Spec) -> Made {
    let columns_first = spec.flag("storage_order", false)?;
    let spec = WindowSpec::new(spec)?;
    kernel_with(move |inputs, outputs, scratch| {
        let input = inputs.get(0)?;
        let (windows, shape, channels) = plan(&spec, input)?;
        if input.element() == ElementType::F32 && !outputs.wanted(1) && windows.input.len() <= 2 {
            let results = outputs.allocate_unset::<f32>(0, &shape)?;
            results.fill(f32::NEG_INFINITY);
            let larger =
                |best: &mut f32, value: f32| *best = if value > *best || value.is_nan() { value } else { *best };
            let values = input.values::<f32>()?;
            wide(|| lines(&windows, channels, values, results, larger));
            return Ok(());
        }
        let channel: usize = windows.input.iter().product();
        let own = steps(&windows.input);
        with_type!(numbers, input.element(), T => {
            let mut indices = scratch.unset::<i64>(count(&shape)?)?;
            outputs.announce(ElementType::I64, 1, &shape)?;
            let results = outputs.allocate::<T>(0, &shape)?;
            let values = input.values::<T>()?;
            each_window(&windows, channels, |place, elements| {
                let best = elements.reduce(|best, element| if values[element] > values[best] { element } else { best });
                results[place] = best.map_or(T::LOWEST, |best| values[best]);
                indices[place] = best.map_or(-1, |best| {
                    if !columns_first {
                        return best as i64;
                    }
                    let within = best % channel;
                    let mut step = 1;
                    let mut turned = 0;
                    for (own, length) in own.iter().zip(&windows.input) {
                        turned += within / *own as usize % length * step;
                        step *= length;
                    }
                    (best - within + turned) as i64
                });
            });
            if outputs.wanted(1) {
                outputs.allocate::<i64>(1, &shape)?.copy_from_slice(&indices);
            }
            Ok(())
        })
    })
}

fn average(spec: &Spec) -> Made {
    let count_pads = spec.flag("count_include_pad", false)?;
    let spec = WindowSpec::new(spec)?;
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        let (windows, shape, channels) = plan(&spec, input)?;
        let size: usize = windows.kernel.iter().product();
        if input.element() == ElementType::F32 && windows.input.len() <= 2 {
            let (results, values) = (outputs.allocate::<f32>(0, &shape)?, input.values::<f32>()?);
            wide(|| lines(&windows, channels, values, results, |sum, value| *sum += value));
            means(&windows, if count_pads { Some(size) } else { None }, results);
            return Ok(());
        }
        with_type!(floats, input.element(), T => {
            let results = outputs.allocate::<T>(0, &shape)?;
            let values = input.values::<T>()?;
            each_window(&windows, channels, |place, elements| {
                let (sum, number) = elements.fold((0.0, 0usize), |(sum, number), element| (sum + values[element].to_f64(), number + 1));
                // With pads, every element of the window counts, also those behind the pads that the last one may have.
                let number = if count_pads { size } else { number };
                results[place] = T::from_f64(if number == 0 { 0.0 } else { sum / number as f64 });
            });
            Ok(())
        })
    })
}

/// Divides the sums of windows over one or two axes by how many elements they have outside of the pads, or by a number.
fn means(windows: &Windows, size: Option<usize>, sums: &mut [f32]) {
    let inside = |axis: usize, place: usize| {
        (0..windows.kernel[axis]).filter(|at| windows.source(axis, place, *at).is_some()).count()
    };
    let last = windows.output.len() - 1;
    let counts: Vec<usize> = (0..windows.output[last]).map(|place| inside(last, place)).collect();
    let rows = if last == 0 { 1 } else { windows.output[0] };
    for (number, line) in sums.chunks_exact_mut(counts.len().max(1)).enumerate() {
        let along = if last == 0 { 1 } else { inside(0, number % rows) };
        for (sum, count) in line.iter_mut().zip(&counts) {
            *sum /= size.unwrap_or(along * count).max(1) as f32;
        }
    }
}

fn norm(spec: &Spec) -> Made {
    let p = spec.int("p", 2)? as f64;
    let spec = WindowSpec::new(spec)?;
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        let (windows, shape, channels) = plan(&spec, input)?;
        with_type!(floats, input.element(), T => {
            let results = outputs.allocate::<T>(0, &shape)?;
            let values = input.values::<T>()?;
            each_window(&windows, channels, |place, elements| {
                let sum: f64 = elements.map(|element| values[element].to_f64().abs().powf(p)).sum();
                results[place] = T::from_f64(sum.powf(1.0 / p));
            });
            Ok(())
        })
    })
}

/// The sum of a list, as eight sums that are added in the end.
#[inline(always)]
fn sum_of(values: &[f32]) -> f64 {
    let mut sums = [0.0f64; 8];
    let (parts, rest) = values.as_chunks::<8>();
    for part in parts {
        sums.iter_mut().zip(part).for_each(|(sum, value)| *sum += f64::from(*value));
    }
    sums.iter().sum::<f64>() + rest.iter().map(|value| f64::from(*value)).sum::<f64>()
}

/// The largest of a list; not a number, if one of them is not.
#[inline(always)]
fn max_of(values: &[f32]) -> f32 {
    let mut best = [f32::NEG_INFINITY; 16];
    let mut wrong = [false; 16];
    let (parts, rest) = values.as_chunks::<16>();
    for part in parts {
        for ((best, wrong), value) in best.iter_mut().zip(&mut wrong).zip(part) {
            *best = if *value > *best { *value } else { *best };
            *wrong |= value.is_nan();
        }
    }
    let first = if wrong.contains(&true) { f32::NAN } else { f32::NEG_INFINITY };
    best.iter().chain(rest).fold(first, |best, value| best.larger(*value))
}

fn global(spec: &Spec) -> Made {
    let operator = spec.operator.clone();
    let p = if operator == "GlobalLpPool" { spec.int("p", 2)? as f64 } else { 2.0 };
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        expect_rank(input, 2, "a pool")?;
        let mut shape = input.shape().to_vec();
        let size: usize = shape[2..].iter().product();
        shape[2..].fill(1);
        if size == 0 {
            return Err(Fault::new(format!("there is nothing to pool in the shape {:?}", input.shape())));
        }
        if input.element() == ElementType::F32 && operator != "GlobalLpPool" {
            let (results, values) = (outputs.allocate_unset::<f32>(0, &shape)?, input.values::<f32>()?);
            let largest = operator == "GlobalMaxPool";
            wide(|| {
                for (result, channel) in results.iter_mut().zip(values.chunks_exact(size)) {
                    *result = if largest { max_of(channel) } else { (sum_of(channel) / size as f64) as f32 };
                }
            });
            return Ok(());
        }
        with_type!(floats, input.element(), T => {
            let results = outputs.allocate::<T>(0, &shape)?;
            let values = input.values::<T>()?;
            for (result, channel) in results.iter_mut().zip(values.chunks_exact(size)) {
                *result = match operator.as_str() {
                    "GlobalMaxPool" => channel.iter().fold(T::LOWEST, |best, value| best.larger(*value)),
                    "GlobalAveragePool" => T::from_f64(channel.iter().map(|value| value.to_f64()).sum::<f64>() / size as f64),
                    _ => T::from_f64(channel.iter().map(|value| value.to_f64().abs().powf(p)).sum::<f64>().powf(1.0 / p)),
                };
            }
            Ok(())
        })
    })
}

fn unpool(spec: &Spec) -> Made {
    let spec = WindowSpec::new(spec)?;
    kernel(move |inputs, outputs| {
        let (input, indices) = (inputs.get(0)?, inputs.get(1)?);
        expect_rank(input, 3, "a pool")?;
        let axes = input.rank() - 2;
        let Steps { strides, pads, .. } = spec.raw(axes)?;
        let kernel = spec.kernel_sizes(axes)?;
        let mut shape = input.shape()[..2].to_vec();
        for axis in 0..axes {
            let length = (input.shape()[axis + 2].max(1) - 1).saturating_mul(strides[axis]) + kernel[axis];
            shape.push(length.saturating_sub(pads[axis] + pads[axis + axes]));
        }
        // The indices are counted in the shape without the size that is asked for.
        let own = count(&shape)?;
        let wanted = listed(inputs, 2, None)?.map_or(Ok(shape.clone()), |wanted| lengths(&wanted))?;
        if wanted.len() != shape.len() {
            return Err(Fault::new(format!("the shape {wanted:?} does not have {} axes", shape.len())));
        }
        let (from, into) = (steps(&shape), steps(&wanted));
        with_type!(floats, input.element(), T => {
            let results = outputs.allocate::<T>(0, &wanted)?;
            let (values, numbers) = (input.values::<T>()?, indices.values::<i64>()?);
            for (value, index) in values.iter().zip(numbers) {
                let outside = || "an index is not within the result".to_owned();
                let index = within(*index, 0..own, outside)?;
                let along = |axis: usize| index / from[axis] as usize % shape[axis] * into[axis] as usize;
                let place = (0..shape.len()).map(along).sum::<usize>();
                *results.get_mut(place).ok_or_else(|| Fault::new(outside()))? = *value;
            }
            Ok(())
        })
    })
}
