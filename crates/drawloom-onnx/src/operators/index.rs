//! Operators that choose elements by index, or put them there.

use std::cmp::Ordering;

use crate::operators::movement::advance;
use crate::operators::spec::Spec;
use crate::operators::support::{Made, axis_of, expect_rank, index_of, indices, kernel, kernel_with, steps, within};
use drawloom_tensor::operator::Buffer;
use drawloom_tensor::operator::Number;
use drawloom_tensor::operator::around;
use drawloom_tensor::{Element, ElementType, Fault, Inputs, Outputs, Scratch, View, with_type};

pub(crate) fn make(spec: &Spec) -> Option<Made> {
    Some(match spec.operator.as_str() {
        "Gather" => gather(spec),
        "GatherElements" => gather_elements(spec),
        "GatherND" => gather_nd(spec),
        "Scatter" | "ScatterElements" => scatter_elements(spec),
        "ScatterND" => scatter_nd(spec),
        "OneHot" => one_hot(spec),
        "NonZero" => kernel(non_zero),
        "Compress" => compress(spec),
        "TopK" => top(spec),
        "Unique" => unique(spec),
        _ => return None,
    })
}

fn gather(spec: &Spec) -> Made {
    let axis = spec.int("axis", 0)?;
    kernel_with(move |inputs, outputs, scratch| {
        let (input, chosen) = (inputs.get(0)?, inputs.get(1)?);
        let axis = axis_of(axis, input.rank())?;
        let (outer, length, inner) = around(input.shape(), axis);
        let mut places = indices(chosen, scratch)?;
        let mut shape = input.shape()[..axis].to_vec();
        shape.extend(chosen.shape());
        shape.extend(&input.shape()[axis + 1..]);
        with_type!(all, input.element(), T => {
            let results = outputs.allocate::<T>(0, &shape)?;
            for place in places.iter_mut() {
                *place = index_of(*place, length)? as i64;
            }
            let values = input.values::<T>()?;
            if inner > 0 && !places.is_empty() {
                let pairs = (0..outer).flat_map(|block| places.iter().map(move |place| (block, *place as usize)));
                for (result, (block, place)) in results.chunks_exact_mut(inner).zip(pairs) {
                    result.copy_from_slice(&values[(block * length + place) * inner..][..inner]);
                }
            }
            Ok(())
        })
    })
}

/// The offsets of elements that are named by an index along one axis, and by their own place along the others.
fn element_offsets(data: &[usize], chosen: View<'_>, axis: usize, scratch: &mut Scratch) -> Result<Buffer<i64>, Fault> {
    let fits = chosen.rank() == data.len()
        && (0..data.len()).all(|other| other == axis || chosen.shape()[other] <= data[other]);
    if !fits {
        return Err(Fault::new(format!("indices of shape {:?} do not fit data of shape {data:?}", chosen.shape())));
    }
    let own = steps(data);
    let mut at = vec![0; data.len()];
    let mut offsets = indices(chosen, scratch)?;
    if !scratch.is_there() {
        return Ok(offsets);
    }
    for offset in offsets.iter_mut() {
        let place = index_of(*offset, data[axis])?;
        let others: usize =
            (0..data.len()).filter(|other| *other != axis).map(|other| at[other] * own[other] as usize).sum();
        *offset = (others + place * own[axis] as usize) as i64;
        advance(&mut at, chosen.shape());
    }
    Ok(offsets)
}

fn gather_elements(spec: &Spec) -> Made {
    let axis = spec.int("axis", 0)?;
    kernel_with(move |inputs, outputs, scratch| {
        let (input, indices) = (inputs.get(0)?, inputs.get(1)?);
        let offsets = element_offsets(input.shape(), indices, axis_of(axis, input.rank())?, scratch)?;
        with_type!(all, input.element(), T => {
            let results = outputs.allocate::<T>(0, indices.shape())?;
            let values = input.values::<T>()?;
            results.iter_mut().zip(offsets.iter()).for_each(|(result, offset)| *result = values[*offset as usize]);
            Ok(())
        })
    })
}

fn scatter_elements(spec: &Spec) -> Made {
    let axis = spec.int("axis", 0)?;
    let how = spec.text("reduction", "none")?;
    kernel_with(move |inputs, outputs, scratch| {
        let (input, indices, updates) = (inputs.get(0)?, inputs.get(1)?, inputs.get(2)?);
        if updates.shape() != indices.shape() {
            return Err(Fault::new(format!("{:?} updates do not fit {:?} indices", updates.shape(), indices.shape())));
        }
        let offsets = element_offsets(input.shape(), indices, axis_of(axis, input.rank())?, scratch)?;
        scatter(input, &offsets, updates, 1, &how, outputs)
    })
}

/// Puts runs of updates at offsets.
fn scatter(
    input: View<'_>,
    offsets: &[i64],
    updates: View<'_>,
    run: usize,
    how: &str,
    outputs: &mut Outputs<'_>,
) -> Result<(), Fault> {
    outputs.copy(0, input, input.shape())?;
    let offsets = offsets.iter().map(|offset| *offset as usize).enumerate();
    if how == "none" {
        return with_type!(all, input.element(), T => {
            let values = updates.values::<T>()?;
            let results = outputs.tensor_mut(0)?.values_mut::<T>()?;
            offsets.for_each(|(place, offset)| results[offset..offset + run].copy_from_slice(&values[place * run..][..run]));
            Ok(())
        });
    }
    with_type!(numbers, input.element(), T => {
        let values = updates.values::<T>()?;
        let combine: fn(T, T) -> T = match how {
            "add" => T::plus,
            "mul" => T::times,
            "max" => T::larger,
            "min" => T::smaller,
            other => return Err(Fault::new(format!("there is no reduction `{other}`"))),
        };
        let results = outputs.tensor_mut(0)?.values_mut::<T>()?;
        for (place, offset) in offsets {
            for step in 0..run {
                results[offset + step] = combine(results[offset + step], values[place * run + step]);
            }
        }
        Ok(())
    })
}

/// The offsets of the parts of a tensor that tuples of indices name, and the length of a part.
fn tuple_offsets(
    data: &[usize],
    chosen: View<'_>,
    batch: usize,
    scratch: &mut Scratch,
) -> Result<(Buffer<i64>, usize, usize), Fault> {
    let depth = chosen.shape().last().copied().unwrap_or(0);
    if chosen.rank() == 0
        || depth + batch > data.len()
        || batch >= chosen.rank()
        || data[..batch] != chosen.shape()[..batch]
    {
        return Err(Fault::new(format!("indices of shape {:?} do not fit data of shape {data:?}", chosen.shape())));
    }
    let own = steps(data);
    let run: usize = data[batch + depth..].iter().product();
    let tuples: usize = chosen.shape()[..chosen.rank() - 1].iter().product();
    let batches: usize = data[..batch].iter().product();
    let each = tuples.checked_div(batches).unwrap_or(0).max(1);
    let stride: usize = data[batch..].iter().product();
    let numbers = indices(chosen, scratch)?;
    let mut offsets = scratch.unset::<i64>(tuples)?;
    if !scratch.is_there() {
        return Ok((offsets, run, depth));
    }
    for (tuple, into) in offsets.iter_mut().enumerate() {
        let mut offset = tuple / each * stride;
        for step in 0..depth {
            offset += index_of(numbers[tuple * depth + step], data[batch + step])? * own[batch + step] as usize;
        }
        *into = offset as i64;
    }
    Ok((offsets, run, depth))
}

fn gather_nd(spec: &Spec) -> Made {
    let batch = spec.int("batch_dims", 0)?;
    kernel_with(move |inputs, outputs, scratch| {
        let (input, indices) = (inputs.get(0)?, inputs.get(1)?);
        let batch = within(batch, 0..input.rank(), || "`batch_dims` does not fit".to_owned())?;
        let (offsets, run, depth) = tuple_offsets(input.shape(), indices, batch, scratch)?;
        let mut shape = indices.shape()[..indices.rank() - 1].to_vec();
        shape.extend(&input.shape()[batch + depth..]);
        with_type!(all, input.element(), T => {
            let results = outputs.allocate::<T>(0, &shape)?;
            let values = input.values::<T>()?;
            if run > 0 {
                for (result, offset) in results.chunks_exact_mut(run).zip(offsets.iter()) {
                    result.copy_from_slice(&values[*offset as usize..][..run]);
                }
            }
            Ok(())
        })
    })
}

fn scatter_nd(spec: &Spec) -> Made {
    let how = spec.text("reduction", "none")?;
    kernel_with(move |inputs, outputs, scratch| {
        let (input, indices, updates) = (inputs.get(0)?, inputs.get(1)?, inputs.get(2)?);
        let (offsets, run, _) = tuple_offsets(input.shape(), indices, 0, scratch)?;
        let tuples: usize = indices.shape()[..indices.rank() - 1].iter().product();
        if updates.len() != tuples * run {
            return Err(Fault::new(format!("{:?} updates do not fit {:?} indices", updates.shape(), indices.shape())));
        }
        scatter(input, &offsets, updates, run, &how, outputs)
    })
}

fn one_hot(spec: &Spec) -> Made {
    let axis = spec.int("axis", -1)?;
    kernel_with(move |inputs, outputs, scratch| {
        let (indices, depth, values) = (inputs.get(0)?, inputs.get(1)?, inputs.get(2)?);
        let places = with_type!(numbers, indices.element(), T => {
            scratch.converted(indices, |value: T| value.to_i64())
        })?;
        let depth: i64 =
            with_type!(numbers, depth.element(), T => Ok(depth.values::<T>()?.first().map_or(0, |d| d.to_i64())))?;
        let axis = axis_of(axis, indices.rank() + 1)?;
        let mut shape = indices.shape().to_vec();
        shape.insert(axis, usize::try_from(depth).map_err(|_| Fault::new(format!("the depth {depth} is negative")))?);
        let (outer, length, inner) = around(&shape, axis);
        with_type!(all, values.element(), T => {
            let results = outputs.allocate::<T>(0, &shape)?;
            let &[off, on] = values.values::<T>()? else { return Err(Fault::new("there must be two values, off and on")) };
            results.fill(off);
            for block in 0..outer {
                for at in 0..inner {
                    // An index outside of the range is legal here, and turns nothing on.
                    if let Ok(place) = index_of(places[block * inner + at], length) {
                        results[(block * length + place) * inner + at] = on;
                    }
                }
            }
            Ok(())
        })
    })
}

fn non_zero(inputs: &Inputs<'_>, outputs: &mut Outputs<'_>) -> Result<(), Fault> {
    let input = inputs.get(0)?;
    let own = steps(input.shape());
    with_type!(all, input.element(), T => {
        let values = input.values::<T>()?;
        let places = values.iter().enumerate().filter(|(_, value)| **value != T::default()).map(|(at, _)| at);
        let count = places.clone().count();
        let results = outputs.allocate::<i64>(0, &[input.rank(), count])?;
        for (number, place) in places.enumerate() {
            for axis in 0..input.rank() {
                results[axis * count + number] = (place / own[axis] as usize % input.shape()[axis]) as i64;
            }
        }
        Ok(())
    })
}

fn compress(spec: &Spec) -> Made {
    let axis = spec.optional_int("axis")?;
    kernel(move |inputs, outputs| {
        let (input, condition) = (inputs.get(0)?, inputs.get(1)?);
        let flat = [input.len()];
        let (input, axis) = match axis {
            Some(axis) => (input, axis_of(axis, input.rank())?),
            None => (input.with_shape(&flat)?, 0),
        };
        let (outer, length, inner) = around(input.shape(), axis);
        let truth = condition.values::<bool>()?;
        let kept = (0..length).filter(|at| truth.get(*at).copied().unwrap_or(false));
        let mut shape = input.shape().to_vec();
        shape[axis] = kept.clone().count();
        with_type!(all, input.element(), T => {
            let results = outputs.allocate::<T>(0, &shape)?;
            let values = input.values::<T>()?;
            let mut results = results.iter_mut();
            for block in 0..outer {
                for at in kept.clone() {
                    let run = &values[(block * length + at) * inner..][..inner];
                    run.iter().for_each(|value| if let Some(result) = results.next() { *result = *value });
                }
            }
            Ok(())
        })
    })
}

/// An order of all elements, in which what is not a number is the largest.
fn total_order<T: Element>(a: &T, b: &T) -> Ordering {
    #[allow(clippy::eq_op)]
    a.partial_cmp(b).unwrap_or_else(|| (a != a).cmp(&(b != b)))
}

fn top(spec: &Spec) -> Made {
    let axis = spec.int("axis", -1)?;
    let largest = spec.flag("largest", true)?;
    spec.ignore(&["sorted"]);
    let given = spec.optional_int("k")?;
    kernel_with(move |inputs, outputs, scratch| {
        let input = inputs.get(0)?;
        let axis = axis_of(axis, input.rank())?;
        let (outer, length, inner) = around(input.shape(), axis);
        let k = match inputs.optional(1) {
            Some(k) => k.only::<i64>()?,
            None => given.ok_or_else(|| Fault::new("`k` is missing"))?,
        };
        let k = within(k, 0..length + 1, || format!("`k` is not within the {length} elements of axis {axis}"))?;
        let mut shape = input.shape().to_vec();
        shape[axis] = k;
        with_type!(numbers, input.element(), T => {
            let mut best = scratch.unset::<i64>(outer * k * inner)?;
            let mut order = scratch.unset::<i64>(length)?;
            outputs.announce(T::TYPE, 0, &shape)?;
            outputs.announce(ElementType::I64, 1, &shape)?;
            scratch.all_there()?;
            let values = input.values::<T>()?;
            for block in 0..outer {
                for place in 0..inner {
                    let at = |index: i64| values[(block * length + index as usize) * inner + place];
                    order.iter_mut().enumerate().for_each(|(index, order)| *order = index as i64);
                    order.sort_unstable_by(|a, b| {
                        let order = total_order(&at(*a), &at(*b));
                        if largest { order.reverse() } else { order }.then(a.cmp(b))
                    });
                    for (rank, index) in order[..k].iter().enumerate() {
                        best[(block * k + rank) * inner + place] = *index;
                    }
                }
            }
            let results = outputs.allocate::<T>(0, &shape)?;
            for (place, (result, index)) in results.iter_mut().zip(best.iter()).enumerate() {
                let (block, inside) = (place / inner / k, place % inner);
                *result = values[(block * length + *index as usize) * inner + inside];
            }
            if outputs.wanted(1) {
                outputs.allocate::<i64>(1, &shape)?.copy_from_slice(&best);
            }
            Ok(())
        })
    })
}

fn unique(spec: &Spec) -> Made {
    let axis = spec.optional_int("axis")?;
    let sorted = spec.flag("sorted", true)?;
    kernel_with(move |inputs, outputs, scratch| {
        let input = inputs.get(0)?;
        let flat = [input.len()];
        let (view, axis) = match axis {
            Some(axis) => (input, axis_of(axis, input.rank())?),
            None => (input.with_shape(&flat)?, 0),
        };
        expect_rank(view, 1, "a list")?;
        let (outer, length, inner) = around(view.shape(), axis);
        with_type!(all, view.element(), T => {
            let mut order = scratch.filled((0..length).map(|index| index as i64))?;
            let mut begins = scratch.unset::<i64>(length)?;
            scratch.all_there()?;
            let values = view.values::<T>()?;
            let slice = |index: usize| (0..outer).flat_map(move |block| values[(block * length + index) * inner..][..inner].iter());
            let compare = |a: usize, b: usize| {
                slice(a).zip(slice(b)).map(|(a, b)| total_order(a, b)).find(|order| *order != Ordering::Equal).unwrap_or(Ordering::Equal)
            };
            order.sort_unstable_by(|a, b| compare(*a as usize, *b as usize).then(a.cmp(b)));
            // Where each group of equal slices begins in that order; the first of a group is the first of its slices.
            let mut count = 0;
            for (at, index) in order.iter().enumerate() {
                if at == 0 || compare(order[at - 1] as usize, *index as usize) != Ordering::Equal {
                    begins[count] = at as i64;
                    count += 1;
                }
            }
            let ends = |group: i64| (group as usize + 1..length).find(|at| compare(order[*at - 1] as usize, order[*at] as usize) != Ordering::Equal).unwrap_or(length);
            let begins = &mut begins[..count];
            if !sorted {
                begins.sort_unstable_by_key(|begin| order[*begin as usize]);
            }
            let mut shape = view.shape().to_vec();
            shape[axis] = count;
            let results = outputs.allocate::<T>(0, &shape)?;
            for (rank, begin) in begins.iter().enumerate() {
                for (step, value) in slice(order[*begin as usize] as usize).enumerate() {
                    results[(step / inner.max(1) * count + rank) * inner + step % inner.max(1)] = *value;
                }
            }
            if outputs.wanted(1) {
                let first = outputs.allocate::<i64>(1, &[count])?;
                first.iter_mut().zip(begins.iter()).for_each(|(first, begin)| *first = order[*begin as usize]);
            }
            if outputs.wanted(2) {
                let inverse = outputs.allocate::<i64>(2, &[length])?;
                for (rank, begin) in begins.iter().enumerate() {
                    order[*begin as usize..ends(*begin)].iter().for_each(|index| inverse[*index as usize] = rank as i64);
                }
            }
            if outputs.wanted(3) {
                let counts = outputs.allocate::<i64>(3, &[count])?;
                counts.iter_mut().zip(begins.iter()).for_each(|(count, begin)| *count = ends(*begin) as i64 - begin);
            }
            Ok(())
        })
    })
}
