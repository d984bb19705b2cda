//! Normalisations: values less their mean, over their deviation; and the softmax family.

use crate::operators::reduce::Reduction;
use crate::operators::spec::Spec;
use crate::operators::support::{
    Made, Walk, axes_of, axis_of, broadcast_steps, doubles, expect_rank, kernel, kernel_with, within,
};
use drawloom_tensor::operator::Buffer;
use drawloom_tensor::operator::Number;
use drawloom_tensor::operator::around;
use drawloom_tensor::{Element, ElementType, Fault, Inputs, Outputs, Scratch, View, with_type};

pub(crate) fn make(spec: &Spec) -> Option<Made> {
    Some(match spec.operator.as_str() {
        "BatchNormalization" => batch(spec),
        "LayerNormalization" => layer(spec),
        "InstanceNormalization" => instance(spec),
        "GroupNormalization" => group(spec),
        "MeanVarianceNormalization" => mean_variance(spec),
        "LRN" => response(spec),
        "LpNormalization" => by_norm(spec),
        "Softmax" | "LogSoftmax" | "Hardmax" => softmax(spec),
        _ => return None,
    })
}

/// One number for each channel.
fn channels(view: View<'_>, count: usize, what: &str, scratch: &mut Scratch) -> Result<Buffer<f64>, Fault> {
    if !view.element().is_float() {
        return Err(Fault::unsupported(format!("{what} has elements of type {}", view.element())));
    }
    if view.len() != count {
        return Err(Fault::new(format!("{what} has {} numbers for {count} channels", view.len())));
    }
    doubles(view, scratch)
}

/// The mean and the variance of a list.
fn moments<T: Number>(values: impl Iterator<Item = T> + Clone) -> (f64, f64) {
    let (sum, count) = values.clone().fold((0.0, 0usize), |(sum, count), value| (sum + value.to_f64(), count + 1));
    let mean = sum / count as f64;
    let spread: f64 = values.map(|value| (value.to_f64() - mean).powi(2)).sum();
    (mean, spread / count as f64)
}

fn batch(spec: &Spec) -> Made {
    let epsilon = f64::from(spec.float("epsilon", 1e-5)?);
    let momentum = f64::from(spec.float("momentum", 0.9)?);
    let training = spec.flag("training_mode", false)?;
    spec.ignore(&["spatial", "is_test", "consumed_inputs"]);
    kernel_with(move |inputs, outputs, scratch| {
        let input = inputs.get(0)?;
        expect_rank(input, 2, "a batch")?;
        let (items, count, inner) = around(input.shape(), 1);
        with_type!(floats, input.element(), T => {
            let mut list = |index: usize, what: &str| channels(inputs.get(index)?, count, what, scratch);
            let (scale, bias) = (list(1, "scale")?, list(2, "bias")?);
            let (mut mean, mut variance) = (list(3, "mean")?, list(4, "variance")?);
            let old = if training { Some([list(3, "mean")?, list(4, "variance")?]) } else { None };
            outputs.announce(T::TYPE, 0, input.shape())?;
            for index in 1..outputs.len().min(3) {
                outputs.announce(inputs.get(index + 2)?.element(), index, &[count])?;
            }
            scratch.all_there()?;
            let values = input.values::<T>()?;
            if training {
                for channel in 0..count {
                    let elements = (0..items).flat_map(|item| values[(item * count + channel) * inner..][..inner].iter().copied());
                    (mean[channel], variance[channel]) = moments(elements);
                }
            }
            let results = outputs.allocate::<T>(0, input.shape())?;
            for (index, (result, value)) in results.chunks_mut(inner.max(1)).zip(values.chunks(inner.max(1))).enumerate() {
                let channel = index % count;
                let factor = scale[channel] / (variance[channel] + epsilon).sqrt();
                let shift = bias[channel] - mean[channel] * factor;
                result.iter_mut().zip(value).for_each(|(result, value)| *result = T::from_f64(value.to_f64() * factor + shift));
            }
            if let Some(old) = old {
                for (index, (old, new)) in old.iter().zip([&mean, &variance]).enumerate() {
                    if outputs.wanted(index + 1) {
                        let element = inputs.get(index + 3)?.element();
                        with_type!(floats, element, P => {
                            let results = outputs.allocate::<P>(index + 1, &[count])?;
                            for (result, (old, new)) in results.iter_mut().zip(old.iter().zip(new.iter())) {
                                *result = P::from_f64(old * momentum + new * (1.0 - momentum));
                            }
                            Ok(())
                        })?;
                    }
                }
            }
            Ok(())
        })
    })
}

fn layer(spec: &Spec) -> Made {
    let axis = spec.int("axis", -1)?;
    let epsilon = f64::from(spec.float("epsilon", 1e-5)?);
    spec.ignore(&["stash_type"]);
    kernel_with(move |inputs, outputs, scratch| {
        let (input, scale) = (inputs.get(0)?, inputs.get(1)?);
        let axis = axis_of(axis, input.rank())?;
        let (head, tail) = input.shape().split_at(axis);
        let size: usize = tail.iter().product();
        let mut kept = head.to_vec();
        kept.resize(input.rank(), 1);
        with_type!(floats, input.element(), T => {
            // For each row the mean, and the factor.
            let mut found = scratch.unset::<f64>(2 * input.len().div_ceil(size.max(1)))?;
            outputs.announce(T::TYPE, 0, input.shape())?;
            for index in 1..outputs.len().min(3) {
                outputs.announce(ElementType::F32, index, &kept)?;
            }
            scratch.all_there()?;
            let values = input.values::<T>()?;
            let scales = scale.values::<T>()?;
            let scale_steps = broadcast_steps(scale.shape(), input.shape())?;
            let (biases, bias_steps) = match inputs.optional(2) {
                Some(bias) => (bias.values::<T>()?, broadcast_steps(bias.shape(), input.shape())?),
                None => (&[T::ZERO][..], vec![0; input.rank()]),
            };
            for (found, row) in found.chunks_exact_mut(2).zip(values.chunks(size.max(1))) {
                let (mean, variance) = moments(row.iter().copied());
                found.copy_from_slice(&[mean, 1.0 / (variance + epsilon).sqrt()]);
            }
            let results = outputs.allocate::<T>(0, input.shape())?;
            let walk = Walk::new(input.shape(), [scale_steps, bias_steps]);
            for (index, ((result, value), [s, b])) in results.iter_mut().zip(values).zip(walk).enumerate() {
                let (mean, factor) = (found[index / size * 2], found[index / size * 2 + 1]);
                *result = T::from_f64((value.to_f64() - mean) * factor * scales[s].to_f64() + biases[b].to_f64());
            }
            for index in 1..outputs.len().min(3) {
                let results = outputs.allocate::<f32>(index, &kept)?;
                for (result, found) in results.iter_mut().zip(found.chunks_exact(2)) {
                    *result = found[index - 1] as f32;
                }
            }
            Ok(())
        })
    })
}

/// Normalises groups of channels, each with numbers of its own.
fn by_groups(
    inputs: &Inputs<'_>,
    outputs: &mut Outputs<'_>,
    scratch: &mut Scratch,
    (groups, epsilon): (usize, f64),
) -> Result<(), Fault> {
    let input = inputs.get(0)?;
    expect_rank(input, 2, "channels")?;
    let (_, count, inner) = around(input.shape(), 1);
    if groups == 0 || count % groups != 0 {
        return Err(Fault::new(format!("{count} channels cannot be put into {groups} groups")));
    }
    let size = count / groups * inner;
    with_type!(floats, input.element(), T => {
        let mut numbers = |index: usize, what: &str| -> Result<Buffer<f64>, Fault> {
            let view = inputs.get(index)?;
            // An older form has one number for each group.
            if view.len() == groups {
                let each = channels(view, groups, what, scratch)?;
                let mut all = scratch.unset(count)?;
                if scratch.is_there() {
                    all.iter_mut().enumerate().for_each(|(channel, into)| *into = each[channel / (count / groups)]);
                }
                return Ok(all);
            }
            channels(view, count, what, scratch)
        };
        let (scale, bias) = (numbers(1, "scale")?, numbers(2, "bias")?);
        let results = outputs.allocate::<T>(0, input.shape())?;
        let values = input.values::<T>()?;
        for (number, (result, row)) in results.chunks_mut(size.max(1)).zip(values.chunks(size.max(1))).enumerate() {
            let (mean, variance) = moments(row.iter().copied());
            let factor = 1.0 / (variance + epsilon).sqrt();
            for (index, (result, value)) in result.iter_mut().zip(row).enumerate() {
                let channel = number % groups * (count / groups) + index / inner;
                *result = T::from_f64((value.to_f64() - mean) * factor * scale[channel] + bias[channel]);
            }
        }
        Ok(())
    })
}

fn instance(spec: &Spec) -> Made {
    let epsilon = f64::from(spec.float("epsilon", 1e-5)?);
    kernel_with(move |inputs, outputs, scratch| {
        let groups = inputs.get(0)?.shape().get(1).copied().unwrap_or(0);
        by_groups(inputs, outputs, scratch, (groups, epsilon))
    })
}

fn group(spec: &Spec) -> Made {
    let epsilon = f64::from(spec.float("epsilon", 1e-5)?);
    let groups = spec.int("num_groups", 0)?;
    spec.ignore(&["stash_type"]);
    kernel_with(move |inputs, outputs, scratch| {
        by_groups(inputs, outputs, scratch, (usize::try_from(groups).unwrap_or(0), epsilon))
    })
}

fn mean_variance(spec: &Spec) -> Made {
    let axes = spec.ints("axes")?.unwrap_or_else(|| vec![0, 2, 3]);
    kernel_with(move |inputs, outputs, scratch| {
        let input = inputs.get(0)?;
        let axes = axes_of(&axes, input.rank())?;
        let reduction = Reduction::new(input.shape(), &axes, true);
        with_type!(floats, input.element(), T => {
            let size = reduction.count as f64;
            let mut mean = scratch.unset::<f64>(reduction.places())?;
            let mut variance = scratch.unset::<f64>(reduction.places())?;
            let results = outputs.allocate::<T>(0, input.shape())?;
            reduction.fold::<T, f64>(input, 0.0, &mut mean, |sum, value| sum + value.to_f64() / size)?;
            reduction.fold_with::<T>(input, &mean, &mut variance, |sum, value, mean| sum + (value.to_f64() - mean).powi(2) / size)?;
            let walk = Walk::new(input.shape(), [broadcast_steps(&reduction.shape, input.shape())?]);
            for ((result, value), [at]) in results.iter_mut().zip(input.values::<T>()?).zip(walk) {
                *result = T::from_f64((value.to_f64() - mean[at]) / (variance[at].sqrt() + 1e-9));
            }
            Ok(())
        })
    })
}

fn response(spec: &Spec) -> Made {
    let (alpha, beta, bias) = (
        f64::from(spec.float("alpha", 1e-4)?),
        f64::from(spec.float("beta", 0.75)?),
        f64::from(spec.float("bias", 1.0)?),
    );
    let size = spec.int("size", 1)?;
    let size = within(size, 1..1 << 16, || "attribute `size` is out of bounds".to_owned())?;
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        expect_rank(input, 2, "channels")?;
        let (items, count, inner) = around(input.shape(), 1);
        with_type!(floats, input.element(), T => {
            let results = outputs.allocate::<T>(0, input.shape())?;
            let values = input.values::<T>()?;
            for item in 0..items {
                for channel in 0..count {
                    let (first, last) = (channel.saturating_sub((size - 1) / 2), (channel + size / 2).min(count - 1));
                    for place in 0..inner {
                        let at = |channel: usize| (item * count + channel) * inner + place;
                        let squares: f64 = (first..=last).map(|channel| values[at(channel)].to_f64().powi(2)).sum();
                        let value = values[at(channel)].to_f64() / (bias + alpha / size as f64 * squares).powf(beta);
                        results[at(channel)] = T::from_f64(value);
                    }
                }
            }
            Ok(())
        })
    })
}

fn by_norm(spec: &Spec) -> Made {
    let axis = spec.int("axis", -1)?;
    let p = spec.int("p", 2)?;
    kernel_with(move |inputs, outputs, scratch| {
        let input = inputs.get(0)?;
        let axis = axis_of(axis, input.rank())?;
        let reduction = Reduction::new(input.shape(), &[axis], true);
        with_type!(floats, input.element(), T => {
            let mut sums = scratch.unset::<f64>(reduction.places())?;
            let results = outputs.allocate::<T>(0, input.shape())?;
            reduction.fold::<T, f64>(input, 0.0, &mut sums, |sum, value| {
                let value = value.to_f64();
                sum + if p == 1 { value.abs() } else { value * value }
            })?;
            let walk = Walk::new(input.shape(), [broadcast_steps(&reduction.shape, input.shape())?]);
            for ((result, value), [at]) in results.iter_mut().zip(input.values::<T>()?).zip(walk) {
                let norm = if p == 1 { sums[at] } else { sums[at].sqrt() };
                *result = T::from_f64(if norm == 0.0 { 0.0 } else { value.to_f64() / norm });
            }
            Ok(())
        })
    })
}

fn softmax(spec: &Spec) -> Made {
    // Before opset 13 all axes from this one on are one.
    let joined = spec.opset < 13;
    let axis = spec.int("axis", if joined { 1 } else { -1 })?;
    let operator = spec.operator.clone();
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        let axis = if joined && axis == input.rank() as i64 { input.rank() } else { axis_of(axis, input.rank())? };
        let (outer, length, inner) = if joined {
            let (head, tail) = input.shape().split_at(axis);
            (head.iter().product(), tail.iter().product(), 1)
        } else {
            around(input.shape(), axis)
        };
        with_type!(floats, input.element(), T => {
            let results = outputs.allocate::<T>(0, input.shape())?;
            let values = input.values::<T>()?;
            for block in 0..outer {
                for place in 0..inner {
                    let at = |index: usize| (block * length + index) * inner + place;
                    let largest = (0..length).fold(T::LOWEST, |best, index| best.larger(values[at(index)]));
                    if operator == "Hardmax" {
                        if let Some(best) = (0..length).find(|index| values[at(*index)] == largest) {
                            results[at(best)] = T::ONE;
                        }
                        continue;
                    }
                    let sum: T = (0..length).map(|index| (values[at(index)] - largest).exp()).sum();
                    let log = sum.ln();
                    for index in 0..length {
                        let less = values[at(index)] - largest;
                        results[at(index)] = if operator == "Softmax" { less.exp() / sum } else { less - log };
                    }
                }
            }
            Ok(())
        })
    })
}
