//! Operators that choose elements by index, or put them there.

use std::cmp::Ordering;

use crate::error::Fault;
use crate::operators::movement::advance;
use crate::operators::number::Number;
use crate::operators::spec::Spec;
use crate::operators::support::{Made, around, axis_of, expect_rank, index_of, kernel, steps};
use crate::run::call::{Inputs, Outputs};
use crate::tensor::View;
use crate::tensor::element::{Element, with_type};

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
    kernel(move |inputs, outputs| {
        let (input, indices) = (inputs.get(0)?, inputs.get(1)?);
        let axis = axis_of(axis, input.rank())?;
        let (outer, length, inner) = around(input.shape(), axis);
        let places = indices.integers()?.iter().map(|index| index_of(*index, length)).collect::<Result<Vec<_>, _>>()?;
        let mut shape = input.shape()[..axis].to_vec();
        shape.extend(indices.shape());
        shape.extend(&input.shape()[axis + 1..]);
        with_type!(all, input.element(), T => {
            let values = input.values::<T>()?;
            let results = outputs.allocate::<T>(0, &shape)?;
            if inner > 0 && !places.is_empty() {
                let pairs = (0..outer).flat_map(|block| places.iter().map(move |place| (block, *place)));
                for (result, (block, place)) in results.chunks_exact_mut(inner).zip(pairs) {
                    result.copy_from_slice(&values[(block * length + place) * inner..][..inner]);
                }
            }
            Ok(())
        })
    })
}

/// The offsets of elements that are named by an index along one axis, and by their own place along the others.
fn element_offsets(data: &[usize], indices: View<'_>, axis: usize) -> Result<Vec<usize>, Fault> {
    let fits = indices.rank() == data.len()
        && (0..data.len()).all(|other| other == axis || indices.shape()[other] <= data[other]);
    if !fits {
        return Err(Fault::new(format!("indices of shape {:?} do not fit data of shape {data:?}", indices.shape())));
    }
    let own = steps(data);
    let mut at = vec![0; data.len()];
    let mut offsets = Vec::with_capacity(indices.len());
    for index in indices.integers()? {
        let place = index_of(index, data[axis])?;
        let others: usize =
            (0..data.len()).filter(|other| *other != axis).map(|other| at[other] * own[other] as usize).sum();
        offsets.push(others + place * own[axis] as usize);
        advance(&mut at, indices.shape());
    }
    Ok(offsets)
}

fn gather_elements(spec: &Spec) -> Made {
    let axis = spec.int("axis", 0)?;
    kernel(move |inputs, outputs| {
        let (input, indices) = (inputs.get(0)?, inputs.get(1)?);
        let offsets = element_offsets(input.shape(), indices, axis_of(axis, input.rank())?)?;
        with_type!(all, input.element(), T => {
            let values = input.values::<T>()?;
            let results = outputs.allocate::<T>(0, indices.shape())?;
            results.iter_mut().zip(offsets).for_each(|(result, offset)| *result = values[offset]);
            Ok(())
        })
    })
}

fn scatter_elements(spec: &Spec) -> Made {
    let axis = spec.int("axis", 0)?;
    let how = spec.text("reduction", "none")?;
    kernel(move |inputs, outputs| {
        let (input, indices, updates) = (inputs.get(0)?, inputs.get(1)?, inputs.get(2)?);
        if updates.shape() != indices.shape() {
            return Err(Fault::new(format!("{:?} updates do not fit {:?} indices", updates.shape(), indices.shape())));
        }
        let offsets = element_offsets(input.shape(), indices, axis_of(axis, input.rank())?)?;
        scatter(input, offsets.into_iter().enumerate(), updates, 1, &how, outputs)
    })
}

/// Puts runs of updates at offsets.
fn scatter(
    input: View<'_>,
    offsets: impl Iterator<Item = (usize, usize)>,
    updates: View<'_>,
    run: usize,
    how: &str,
    outputs: &mut Outputs<'_>,
) -> Result<(), Fault> {
    outputs.copy(0, input, input.shape())?;
    if how == "none" {
        return with_type!(all, input.element(), T => {
            let values = updates.values::<T>()?;
            let results = outputs.tensors[0].as_mut().ok_or_else(|| Fault::new("no output"))?.values_mut::<T>()?;
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
        let results = outputs.tensors[0].as_mut().ok_or_else(|| Fault::new("no output"))?.values_mut::<T>()?;
        for (place, offset) in offsets {
            for step in 0..run {
                results[offset + step] = combine(results[offset + step], values[place * run + step]);
            }
        }
        Ok(())
    })
}

/// The offsets of the parts of a tensor that tuples of indices name, and the length of a part.
fn tuple_offsets(data: &[usize], indices: View<'_>, batch: usize) -> Result<(Vec<usize>, usize, usize), Fault> {
    let depth = indices.shape().last().copied().unwrap_or(0);
    if indices.rank() == 0
        || depth + batch > data.len()
        || batch >= indices.rank()
        || data[..batch] != indices.shape()[..batch]
    {
        return Err(Fault::new(format!("indices of shape {:?} do not fit data of shape {data:?}", indices.shape())));
    }
    let own = steps(data);
    let run: usize = data[batch + depth..].iter().product();
    let tuples: usize = indices.shape()[..indices.rank() - 1].iter().product();
    let batches: usize = data[..batch].iter().product();
    let each = tuples.checked_div(batches).unwrap_or(0).max(1);
    let stride: usize = data[batch..].iter().product();
    let numbers = indices.integers()?;
    let mut offsets = Vec::with_capacity(tuples);
    for tuple in 0..tuples {
        let mut offset = tuple / each * stride;
        for step in 0..depth {
            offset += index_of(numbers[tuple * depth + step], data[batch + step])? * own[batch + step] as usize;
        }
        offsets.push(offset);
    }
    Ok((offsets, run, depth))
}

fn gather_nd(spec: &Spec) -> Made {
    let batch = spec.int("batch_dims", 0)?;
    kernel(move |inputs, outputs| {
        let (input, indices) = (inputs.get(0)?, inputs.get(1)?);
        let batch = usize::try_from(batch).ok().filter(|batch| *batch < input.rank());
        let batch = batch.ok_or_else(|| Fault::new("`batch_dims` does not fit"))?;
        let (offsets, run, depth) = tuple_offsets(input.shape(), indices, batch)?;
        let mut shape = indices.shape()[..indices.rank() - 1].to_vec();
        shape.extend(&input.shape()[batch + depth..]);
        with_type!(all, input.element(), T => {
            let values = input.values::<T>()?;
            let results = outputs.allocate::<T>(0, &shape)?;
            if run > 0 {
                for (result, offset) in results.chunks_exact_mut(run).zip(offsets) {
                    result.copy_from_slice(&values[offset..offset + run]);
                }
            }
            Ok(())
        })
    })
}

fn scatter_nd(spec: &Spec) -> Made {
    let how = spec.text("reduction", "none")?;
    kernel(move |inputs, outputs| {
        let (input, indices, updates) = (inputs.get(0)?, inputs.get(1)?, inputs.get(2)?);
        let (offsets, run, _) = tuple_offsets(input.shape(), indices, 0)?;
        if updates.len() != offsets.len() * run {
            return Err(Fault::new(format!("{:?} updates do not fit {:?} indices", updates.shape(), indices.shape())));
        }
        scatter(input, offsets.into_iter().enumerate(), updates, run, &how, outputs)
    })
}

fn one_hot(spec: &Spec) -> Made {
    let axis = spec.int("axis", -1)?;
    kernel(move |inputs, outputs| {
        let (indices, depth, values) = (inputs.get(0)?, inputs.get(1)?, inputs.get(2)?);
        let places: Vec<i64> = with_type!(numbers, indices.element(), T => {
            Ok(indices.values::<T>()?.iter().map(|value| value.to_i64()).collect())
        })?;
        let depth: i64 =
            with_type!(numbers, depth.element(), T => Ok(depth.values::<T>()?.first().map_or(0, |d| d.to_i64())))?;
        let axis = axis_of(axis, indices.rank() + 1)?;
        let mut shape = indices.shape().to_vec();
        shape.insert(axis, usize::try_from(depth).map_err(|_| Fault::new(format!("the depth {depth} is negative")))?);
        let (outer, length, inner) = around(&shape, axis);
        with_type!(all, values.element(), T => {
            let &[off, on] = values.values::<T>()? else { return Err(Fault::new("there must be two values, off and on")) };
            let results = outputs.allocate::<T>(0, &shape)?;
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
    let places: Vec<usize> = with_type!(all, input.element(), T => {
        Ok(input.values::<T>()?.iter().enumerate().filter(|(_, value)| **value != T::default()).map(|(at, _)| at).collect())
    })?;
    let own = steps(input.shape());
    let results = outputs.allocate::<i64>(0, &[input.rank(), places.len()])?;
    for (number, place) in places.iter().enumerate() {
        for axis in 0..input.rank() {
            results[axis * places.len() + number] = (place / own[axis] as usize % input.shape()[axis]) as i64;
        }
    }
    Ok(())
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
        let kept: Vec<usize> = (0..length).filter(|at| truth.get(*at).copied().unwrap_or(false)).collect();
        let mut shape = input.shape().to_vec();
        shape[axis] = kept.len();
        with_type!(all, input.element(), T => {
            let values = input.values::<T>()?;
            let results = outputs.allocate::<T>(0, &shape)?;
            let mut results = results.iter_mut();
            for block in 0..outer {
                for at in &kept {
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
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        let axis = axis_of(axis, input.rank())?;
        let (outer, length, inner) = around(input.shape(), axis);
        let k = match inputs.optional(1) {
            Some(k) => k.only::<i64>()?,
            None => given.ok_or_else(|| Fault::new("`k` is missing"))?,
        };
        let k = usize::try_from(k).ok().filter(|k| *k <= length);
        let k = k.ok_or_else(|| Fault::new(format!("`k` is not within the {length} elements of axis {axis}")))?;
        let mut shape = input.shape().to_vec();
        shape[axis] = k;
        with_type!(numbers, input.element(), T => {
            let values = input.values::<T>()?;
            let mut best = Vec::with_capacity(outer * k * inner);
            for block in 0..outer {
                for place in 0..inner {
                    let at = |index: usize| values[(block * length + index) * inner + place];
                    let mut order: Vec<usize> = (0..length).collect();
                    order.sort_by(|a, b| {
                        let order = total_order(&at(*a), &at(*b));
                        if largest { order.reverse() } else { order }.then(a.cmp(b))
                    });
                    best.extend(order[..k].iter().enumerate().map(|(rank, index)| ((block * k + rank) * inner + place, *index, at(*index))));
                }
            }
            let results = outputs.allocate::<T>(0, &shape)?;
            best.iter().for_each(|(place, _, value)| results[*place] = *value);
            if outputs.wanted(1) {
                let indices = outputs.allocate::<i64>(1, &shape)?;
                best.iter().for_each(|(place, index, _)| indices[*place] = *index as i64);
            }
            Ok(())
        })
    })
}

fn unique(spec: &Spec) -> Made {
    let axis = spec.optional_int("axis")?;
    let sorted = spec.flag("sorted", true)?;
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        let flat = [input.len()];
        let (view, axis) = match axis {
            Some(axis) => (input, axis_of(axis, input.rank())?),
            None => (input.with_shape(&flat)?, 0),
        };
        expect_rank(view, 1, "a list")?;
        let (outer, length, inner) = around(view.shape(), axis);
        with_type!(all, view.element(), T => {
            let values = view.values::<T>()?;
            let slice = |index: usize| (0..outer).flat_map(move |block| values[(block * length + index) * inner..][..inner].iter());
            let compare = |a: usize, b: usize| {
                slice(a).zip(slice(b)).map(|(a, b)| total_order(a, b)).find(|order| *order != Ordering::Equal).unwrap_or(Ordering::Equal)
            };
            let mut order: Vec<usize> = (0..length).collect();
            order.sort_by(|a, b| compare(*a, *b).then(a.cmp(b)));
            // Each group of equal slices by the first of them, in the order of their values.
            let mut groups: Vec<Vec<usize>> = Vec::new();
            for index in order {
                match groups.last_mut() {
                    Some(group) if compare(group[0], index) == Ordering::Equal => group.push(index),
                    _ => groups.push(vec![index]),
                }
            }
            if !sorted {
                groups.sort_by_key(|group| group[0]);
            }
            let mut shape = view.shape().to_vec();
            shape[axis] = groups.len();
            let results = outputs.allocate::<T>(0, &shape)?;
            for (rank, group) in groups.iter().enumerate() {
                for (step, value) in slice(group[0]).enumerate() {
                    results[(step / inner.max(1) * groups.len() + rank) * inner + step % inner.max(1)] = *value;
                }
            }
            if outputs.wanted(1) {
                let first = outputs.allocate::<i64>(1, &[groups.len()])?;
                first.iter_mut().zip(&groups).for_each(|(first, group)| *first = group[0] as i64);
            }
            if outputs.wanted(2) {
                let inverse = outputs.allocate::<i64>(2, &[length])?;
                groups.iter().enumerate().for_each(|(rank, group)| group.iter().for_each(|index| inverse[*index] = rank as i64));
            }
            if outputs.wanted(3) {
                let counts = outputs.allocate::<i64>(3, &[groups.len()])?;
                counts.iter_mut().zip(&groups).for_each(|(count, group)| *count = group.len() as i64);
            }
            Ok(())
        })
    })
}
