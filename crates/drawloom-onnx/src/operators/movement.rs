//! Operators that put elements elsewhere: transposes, slices, pieces and pads.

use crate::operators::shape::{gather_from, gather_walk, permuted_steps};
use crate::operators::spec::Spec;
use crate::operators::support::{Made, axes_of, axis_of, expect_rank, kernel, lengths, listed, steps, within};
use drawloom_tensor::operator::around;
use drawloom_tensor::{Element, ElementType, Fault, Inputs, Outputs, View, with_type};

pub(crate) fn make(spec: &Spec) -> Option<Made> {
    Some(match spec.operator.as_str() {
        "Transpose" => transpose(spec),
        "Concat" => concat(spec),
        "Split" => split(spec),
        "Slice" => slice(spec),
        "Pad" => pad(spec),
        "Tile" => kernel(|inputs, outputs| {
            let input = inputs.get(0)?;
            let repeats = lengths(&inputs.get(1)?.integers()?)?;
            tile(input, &repeats, outputs)
        }),
        "DepthToSpace" => depth_to_space(spec),
        "SpaceToDepth" => space_to_depth(spec),
        "Trilu" => triangle(spec),
        "ReverseSequence" => reverse_sequence(spec),
        "CenterCropPad" => center(spec),
        _ => return None,
    })
}

fn transpose(spec: &Spec) -> Made {
    let order = spec.ints("perm")?;
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        let rank = input.rank();
        let order: Vec<usize> = match &order {
            None => (0..rank).rev().collect(),
            Some(order) => {
                if axes_of(order, rank)?.len() != rank {
                    return Err(Fault::new(format!("{order:?} is not an order of {rank} axes")));
                }
                order.iter().map(|axis| axis_of(*axis, rank)).collect::<Result<_, _>>()?
            }
        };
        let shape: Vec<usize> = order.iter().map(|axis| input.shape()[*axis]).collect();
        gather_walk(input, outputs, &shape, permuted_steps(input.shape(), &order))
    })
}

fn concat(spec: &Spec) -> Made {
    let axis = spec.int("axis", 1)?;
    kernel(move |inputs, outputs| {
        let views = (0..inputs.len()).map(|index| inputs.get(index)).collect::<Result<Vec<_>, _>>()?;
        concatenate(&views, axis, outputs)
    })
}

pub(crate) fn concatenate(views: &[View<'_>], axis: i64, outputs: &mut Outputs<'_>) -> Result<(), Fault> {
    let Some(first) = views.first() else { return Err(Fault::new("there is nothing to put together")) };
    let axis = axis_of(axis, first.rank())?;
    let mut shape = first.shape().to_vec();
    shape[axis] = 0;
    for view in views {
        let fits = view.rank() == shape.len()
            && (0..shape.len()).all(|other| other == axis || view.shape()[other] == shape[other]);
        if !fits || view.element() != first.element() {
            return Err(Fault::new(format!(
                "{} {:?} cannot be put behind {} {:?} along axis {axis}",
                view.element(),
                view.shape(),
                first.element(),
                first.shape()
            )));
        }
        shape[axis] = shape[axis].saturating_add(view.shape()[axis]);
    }
    with_type!(all, first.element(), T => {
        let results = outputs.allocate::<T>(0, &shape)?;
        let (outer, length, inner) = around(&shape, axis);
        let mut before = 0;
        for view in views {
            let own = view.shape()[axis];
            let values = view.values::<T>()?;
            if own * inner > 0 {
                for block in 0..outer {
                    let at = (block * length + before) * inner;
                    results[at..at + own * inner].copy_from_slice(&values[block * own * inner..][..own * inner]);
                }
            }
            before += own;
        }
        Ok(())
    })
}

fn split(spec: &Spec) -> Made {
    let axis = spec.int("axis", 0)?;
    let given = spec.ints("split")?;
    let parts = spec.optional_int("num_outputs")?;
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        let axis = axis_of(axis, input.rank())?;
        let (outer, length, inner) = around(input.shape(), axis);
        let sizes = match listed(inputs, 1, given.as_ref())? {
            Some(sizes) => lengths(&sizes)?,
            None => {
                let parts = parts.map_or(Ok(outputs.len()), |parts| {
                    usize::try_from(parts).map_err(|_| Fault::new("`num_outputs` is negative"))
                })?;
                let size = length.div_ceil(parts.max(1));
                (0..parts.min(outputs.len())).map(|part| size.min(length.saturating_sub(part * size))).collect()
            }
        };
        if sizes.len() != outputs.len()
            || sizes.iter().try_fold(0usize, |sum, size| sum.checked_add(*size)) != Some(length)
        {
            return Err(Fault::new(format!("axis {axis} of length {length} cannot be split into {sizes:?}")));
        }
        let part = |size: usize| {
            let mut shape = input.shape().to_vec();
            shape[axis] = size;
            shape
        };
        for (index, size) in sizes.iter().copied().enumerate() {
            outputs.announce(input.element(), index, &part(size))?;
        }
        let mut before = 0;
        for (index, size) in sizes.iter().copied().enumerate() {
            with_type!(all, input.element(), T => {
                let results = outputs.allocate::<T>(index, &part(size))?;
                let values = input.values::<T>()?;
                if size * inner > 0 {
                    for (block, result) in results.chunks_exact_mut(size * inner).enumerate().take(outer) {
                        result.copy_from_slice(&values[(block * length + before) * inner..][..size * inner]);
                    }
                }
                Ok(())
            })?;
            before += size;
        }
        Ok(())
    })
}

fn slice(spec: &Spec) -> Made {
    let given = (spec.ints("starts")?, spec.ints("ends")?, spec.ints("axes")?);
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        let missing = || Fault::new("the starts or ends are missing");
        let starts = listed(inputs, 1, given.0.as_ref())?.ok_or_else(missing)?;
        let ends = listed(inputs, 2, given.1.as_ref())?.ok_or_else(missing)?;
        let axes = listed(inputs, 3, given.2.as_ref())?.unwrap_or_else(|| (0..starts.len() as i64).collect());
        let strides = listed(inputs, 4, None)?.unwrap_or_else(|| vec![1; starts.len()]);
        if [ends.len(), axes.len(), strides.len()] != [starts.len(); 3] {
            return Err(Fault::new("starts, ends, axes and steps have different lengths"));
        }
        axes_of(&axes, input.rank())?;
        let mut shape = input.shape().to_vec();
        let mut walk = steps(input.shape());
        let mut first = 0isize;
        for (((start, end), axis), stride) in starts.iter().zip(&ends).zip(&axes).zip(&strides) {
            let axis = axis_of(*axis, input.rank())?;
            let length = input.shape()[axis] as i64;
            if *stride == 0 {
                return Err(Fault::new(format!("the step along axis {axis} is zero")));
            }
            let counted = |value: i64| if value < 0 { value.saturating_add(length) } else { value };
            let (start, end) = if *stride > 0 {
                (counted(*start).clamp(0, length), counted(*end).clamp(0, length))
            } else {
                (counted(*start).clamp(-1, length - 1), counted(*end).clamp(-1, length - 1))
            };
            let span = if *stride > 0 { end - start } else { start - end };
            let count = if span <= 0 { 0 } else { (span as u64).div_ceil(stride.unsigned_abs()) as usize };
            shape[axis] = count;
            if count > 0 {
                first += start as isize * walk[axis];
            }
            // With one element there is no step, and a huge one cannot overflow.
            walk[axis] = if count > 1 { walk[axis] * *stride as isize } else { 0 };
        }
        gather_from(input, outputs, (&shape, &shape), walk, first)
    })
}

fn pad(spec: &Spec) -> Made {
    let mode = spec.text("mode", "constant")?;
    let given = spec.ints("pads")?;
    let fill = spec.float("value", 0.0)?;
    if !["constant", "edge", "reflect", "wrap"].contains(&mode.as_str()) {
        return Err(Fault::new(format!("there is no padding `{mode}`")));
    }
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        let rank = input.rank();
        let pads = listed(inputs, 1, given.as_ref())?.ok_or_else(|| Fault::new("the pads are missing"))?;
        let axes = listed(inputs, 3, None)?.unwrap_or_else(|| (0..rank as i64).collect());
        if pads.len() != 2 * axes.len() {
            return Err(Fault::new(format!("{} pads do not fit {} axes", pads.len(), axes.len())));
        }
        axes_of(&axes, rank)?;
        let mut before = vec![0i64; rank];
        let mut shape = input.shape().to_vec();
        for (place, axis) in axes.iter().enumerate() {
            let axis = axis_of(*axis, rank)?;
            before[axis] = pads[place];
            let length = (shape[axis] as i64)
                .checked_add(pads[place])
                .and_then(|length| length.checked_add(pads[place + axes.len()]));
            let length = length.and_then(|length| usize::try_from(length).ok());
            shape[axis] = length
                .ok_or_else(|| Fault::new(format!("the pads {pads:?} do not fit the shape {:?}", input.shape())))?;
        }
        if mode != "constant" && input.is_empty() && !shape.contains(&0) {
            return Err(Fault::new("there are no elements to pad with"));
        }
        let source = |axis: usize, place: usize| source(input.shape()[axis] as i64, place as i64 - before[axis], &mode);
        let filled = outputs.allocate_unset_of(input.element(), 0, &shape)?;
        with_type!(all, input.element(), T => {
            let none = match inputs.optional(2) {
                Some(value) => value.only::<T>()?,
                None => fill_value::<T>(fill),
            };
            filled.values_mut::<T>()?.fill(none);
            Ok(())
        })?;
        picked(input, outputs, &shape, &source)
    })
}

/// Writes the elements of the input whose places along each axis a function finds; where it finds none, the result is left as
/// it is.
fn picked(
    input: View<'_>,
    outputs: &mut Outputs<'_>,
    shape: &[usize],
    source: &dyn Fn(usize, usize) -> Option<usize>,
) -> Result<(), Fault> {
    let own = steps(input.shape());
    let mut index = vec![0; shape.len()];
    let mut next = || {
        let places = index.iter().enumerate();
        let mut steps = places.map(|(axis, place)| Some(source(axis, *place)? * own[axis] as usize));
        let offset = steps.try_fold(0, |offset, step| Some(offset + step?));
        advance(&mut index, shape);
        offset
    };
    with_type!(all, input.element(), T => {
        let (results, values) = (outputs.tensor_mut(0)?.values_mut::<T>()?, input.values::<T>()?);
        for result in results {
            if let Some(offset) = next() {
                *result = values[offset];
            }
        }
        Ok(())
    })
}

/// Which of the elements along an axis is at a place that may be before or behind them.
fn source(length: i64, place: i64, mode: &str) -> Option<usize> {
    match mode {
        _ if (0..length).contains(&place) => Some(place as usize),
        "constant" => None,
        "edge" => Some(place.clamp(0, length - 1) as usize),
        "wrap" => Some(place.rem_euclid(length) as usize),
        _ => {
            let period = (2 * (length - 1)).max(1);
            let folded = place.rem_euclid(period);
            Some((if folded < length { folded } else { period - folded }) as usize)
        }
    }
}

pub(crate) fn fill_value<T: Element>(fill: f32) -> T {
    let value = match T::TYPE {
        ElementType::F32 => T::data(f32::wrap(vec![fill])),
        ElementType::F64 => T::data(f64::wrap(vec![f64::from(fill)])),
        ElementType::I64 => T::data(i64::wrap(vec![fill as i64])),
        ElementType::I32 => T::data(i32::wrap(vec![fill as i32])),
        ElementType::U8 => T::data(u8::wrap(vec![fill as u8])),
        ElementType::I8 => T::data(i8::wrap(vec![fill as i8])),
        ElementType::Bool => T::data(bool::wrap(vec![fill != 0.0])),
    };
    value.and_then(|values| values.first().copied()).unwrap_or_default()
}

/// The next index, the last axis fastest.
pub(crate) fn advance(index: &mut [usize], shape: &[usize]) {
    for axis in (0..index.len()).rev() {
        index[axis] += 1;
        if index[axis] < shape[axis] {
            return;
        }
        index[axis] = 0;
    }
}

fn tile(input: View<'_>, repeats: &[usize], outputs: &mut Outputs<'_>) -> Result<(), Fault> {
    if repeats.len() != input.rank() {
        return Err(Fault::new(format!("{} repeats do not fit {} axes", repeats.len(), input.rank())));
    }
    let shape: Vec<usize> =
        input.shape().iter().zip(repeats).map(|(length, times)| length.saturating_mul(*times)).collect();
    // Each axis is two: the repeats, which do not move, and the elements.
    let walked: Vec<usize> = repeats.iter().zip(input.shape()).flat_map(|(times, length)| [*times, *length]).collect();
    let from = steps(input.shape()).into_iter().flat_map(|step| [0, step]).collect();
    gather_from(input, outputs, (&shape, &walked), from, 0)
}

/// Splits, orders and joins axes: a reshape, a transpose and a reshape.
fn regroup(
    input: View<'_>,
    split: &[usize],
    order: &[usize],
    joined: &[usize],
    outputs: &mut Outputs<'_>,
) -> Result<(), Fault> {
    let input = input.with_shape(split)?;
    let shape: Vec<usize> = order.iter().map(|axis| split[*axis]).collect();
    gather_from(input, outputs, (joined, &shape), permuted_steps(split, order), 0)
}

fn block_size(spec: &Spec) -> Result<usize, Fault> {
    let block = spec.int("blocksize", 0)?;
    within(block, 1..65536, || format!("a block cannot have the size {block}"))
}

fn depth_to_space(spec: &Spec) -> Made {
    let block = block_size(spec)?;
    let columns_first = spec.text("mode", "DCR")? == "CRD";
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        let &[n, c, h, w] = input.shape() else {
            return Err(Fault::new(format!("expected four axes, found {:?}", input.shape())));
        };
        let left = c / (block * block);
        let joined = [n, left, h.saturating_mul(block), w.saturating_mul(block)];
        if columns_first {
            regroup(input, &[n, left, block, block, h, w], &[0, 1, 4, 2, 5, 3], &joined, outputs)
        } else {
            regroup(input, &[n, block, block, left, h, w], &[0, 3, 4, 1, 5, 2], &joined, outputs)
        }
    })
}

fn space_to_depth(spec: &Spec) -> Made {
    let block = block_size(spec)?;
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        let &[n, c, h, w] = input.shape() else {
            return Err(Fault::new(format!("expected four axes, found {:?}", input.shape())));
        };
        let (rows, columns) = (h / block, w / block);
        let joined = [n, c.saturating_mul(block * block), rows, columns];
        regroup(input, &[n, c, rows, block, columns, block], &[0, 3, 5, 1, 2, 4], &joined, outputs)
    })
}

fn triangle(spec: &Spec) -> Made {
    let upper = spec.flag("upper", true)?;
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        expect_rank(input, 2, "a triangle")?;
        let (rows, columns) = (input.shape()[input.rank() - 2], input.shape()[input.rank() - 1]);
        with_type!(all, input.element(), T => {
            let results = outputs.allocate::<T>(0, input.shape())?;
            let values = input.values::<T>()?;
            let k = inputs.optional(1).map_or(Ok(0), |k| k.only::<i64>())?;
            for (index, (result, value)) in results.iter_mut().zip(values).enumerate() {
                let (row, column) = ((index / columns % rows) as i64, (index % columns) as i64);
                let edge = row.saturating_add(k);
                if if upper { column >= edge } else { column <= edge } {
                    *result = *value;
                }
            }
            Ok(())
        })
    })
}

fn reverse_sequence(spec: &Spec) -> Made {
    let time = spec.int("time_axis", 0)?;
    let batch = spec.int("batch_axis", 1)?;
    if (time, batch) != (0, 1) && (time, batch) != (1, 0) {
        return Err(Fault::new("the axes of time and batch must be 0 and 1"));
    }
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        expect_rank(input, 2, "a sequence")?;
        outputs.announce(input.element(), 0, input.shape())?;
        let ends = lengths(&inputs.get(1)?.integers()?)?;
        let (first, second) = (input.shape()[0], input.shape()[1]);
        let (times, batches) = if time == 0 { (first, second) } else { (second, first) };
        if ends.len() != batches || ends.iter().any(|end| *end > times) {
            return Err(Fault::new(format!("the lengths {ends:?} do not fit the shape {:?}", input.shape())));
        }
        let inner: usize = input.shape()[2..].iter().product();
        with_type!(all, input.element(), T => {
            let results = outputs.allocate::<T>(0, input.shape())?;
            let values = input.values::<T>()?;
            for at in 0..times {
                for (row, end) in ends.iter().enumerate() {
                    let from = if at < *end { end - 1 - at } else { at };
                    let place = |at: usize| if time == 0 { at * second + row } else { row * second + at } * inner;
                    results[place(at)..][..inner].copy_from_slice(&values[place(from)..][..inner]);
                }
            }
            Ok(())
        })
    })
}

fn center(spec: &Spec) -> Made {
    let axes = spec.ints("axes")?;
    kernel(move |inputs: &Inputs<'_>, outputs: &mut Outputs<'_>| {
        let input = inputs.get(0)?;
        let wanted = lengths(&inputs.get(1)?.integers()?)?;
        let axes = axes.clone().unwrap_or_else(|| (0..input.rank() as i64).collect());
        axes_of(&axes, input.rank())?;
        if wanted.len() != axes.len() {
            return Err(Fault::new(format!("{} lengths do not fit {} axes", wanted.len(), axes.len())));
        }
        let mut shape = input.shape().to_vec();
        // How far the result is ahead of the input, along each axis.
        let mut shift = vec![0i64; input.rank()];
        for (axis, length) in axes.iter().zip(&wanted) {
            let axis = axis_of(*axis, input.rank())?;
            let (own, length) = (shape[axis] as i64, *length as i64);
            shift[axis] = if length < own { (own - length) / 2 } else { -((length - own) / 2) };
            shape[axis] = length as usize;
        }
        outputs.allocate_of(input.element(), 0, &shape)?;
        picked(input, outputs, &shape, &|axis, place| {
            source(input.shape()[axis] as i64, place as i64 + shift[axis], "constant")
        })
    })
}
