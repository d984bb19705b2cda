//! Pools: the mean, the largest or the norm of the elements under each window.

use crate::error::Fault;
use crate::operators::movement::advance;
use crate::operators::number::Number;
use crate::operators::spec::Spec;
use crate::operators::support::{Made, expect_rank, kernel, steps};
use crate::operators::window::{Steps, WindowSpec, Windows};
use crate::tensor::element::with_type;
use crate::tensor::{View, count};

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

fn largest(spec: &Spec) -> Made {
    let columns_first = spec.flag("storage_order", false)?;
    let spec = WindowSpec::new(spec)?;
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        let (windows, shape, channels) = plan(&spec, input)?;
        let channel: usize = windows.input.iter().product();
        let own = steps(&windows.input);
        with_type!(numbers, input.element(), T => {
            let values = input.values::<T>()?;
            let mut indices = vec![0i64; count(&shape)?];
            let results = outputs.allocate::<T>(0, &shape)?;
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
        with_type!(floats, input.element(), T => {
            let values = input.values::<T>()?;
            let results = outputs.allocate::<T>(0, &shape)?;
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

fn norm(spec: &Spec) -> Made {
    let p = spec.int("p", 2)? as f64;
    let spec = WindowSpec::new(spec)?;
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        let (windows, shape, channels) = plan(&spec, input)?;
        with_type!(floats, input.element(), T => {
            let values = input.values::<T>()?;
            let results = outputs.allocate::<T>(0, &shape)?;
            each_window(&windows, channels, |place, elements| {
                let sum: f64 = elements.map(|element| values[element].to_f64().abs().powf(p)).sum();
                results[place] = T::from_f64(sum.powf(1.0 / p));
            });
            Ok(())
        })
    })
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
        with_type!(floats, input.element(), T => {
            let values = input.values::<T>()?;
            let results = outputs.allocate::<T>(0, &shape)?;
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
        if let Some(wanted) = inputs.optional(2) {
            let wanted = crate::operators::support::lengths(&wanted.integers()?)?;
            if wanted.len() != shape.len() {
                return Err(Fault::new(format!("the shape {wanted:?} does not have {} axes", shape.len())));
            }
            let numbers = indices.values::<i64>()?;
            let (from, into) = (steps(&shape), steps(&wanted));
            with_type!(floats, input.element(), T => {
                let values = input.values::<T>()?;
                let results = outputs.allocate::<T>(0, &wanted)?;
                for (value, index) in values.iter().zip(numbers) {
                    let index = usize::try_from(*index).ok().filter(|index| *index < own);
                    let index = index.ok_or_else(|| Fault::new("an index is not within the result"))?;
                    let place: usize = (0..shape.len()).map(|axis| index / from[axis] as usize % shape[axis] * into[axis] as usize).sum();
                    *results.get_mut(place).ok_or_else(|| Fault::new("an index is not within the result"))? = *value;
                }
                Ok(())
            })
        } else {
            let numbers = indices.values::<i64>()?;
            with_type!(floats, input.element(), T => {
                let values = input.values::<T>()?;
                let results = outputs.allocate::<T>(0, &shape)?;
                for (value, index) in values.iter().zip(numbers) {
                    let place = usize::try_from(*index).ok().and_then(|index| results.get_mut(index));
                    *place.ok_or_else(|| Fault::new("an index is not within the result"))? = *value;
                }
                Ok(())
            })
        }
    })
}
