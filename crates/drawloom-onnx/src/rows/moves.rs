//! Where the rows of a result are, for operators that move elements and compute nothing: they reshape, cut, or put together.

use super::layout::{
    UNKNOWN_SHAPE, attribute, axes_in, axes_of, axis_in, broadcast, fact, filled, length_of, only_first,
};
use crate::operators::spec::Spec;
use crate::rows::Refusal;
use drawloom_tensor::operator::ShapeNumber;
use drawloom_tensor::{Dimension, Fact};

/// An end of a slice that stands for all rows: exporters write a billion, or the largest number there is. No run has as many
/// rows at once.
const ALL_ROWS: i64 = 1_000_000_000;

pub(super) fn flatten(spec: &Spec, x: &Fact) -> Result<Vec<Fact>, Refusal> {
    let axis = attribute(spec.int("axis", 1))?;
    if x.axis != Some(0) || axis != 1 {
        return Err("it puts the axis of the rows together with others".to_owned());
    }
    let rest = x.shape.as_ref().map_or(Dimension::Unknown, |shape| product(&shape[1..]));
    let rows = x.shape.as_ref().and_then(|shape| shape.first()).cloned().unwrap_or(Dimension::Unknown);
    Ok(vec![fact(Some(vec![rows, rest]), Some(0))])
}

pub(super) fn product(lengths: &[Dimension]) -> Dimension {
    lengths.iter().try_fold(1usize, |product, length| product.checked_mul(length.known()?)).into()
}

pub(super) fn transpose(spec: &Spec, x: &Fact) -> Result<Vec<Fact>, Refusal> {
    let rank = x.rank().ok_or(UNKNOWN_SHAPE)?;
    let order = match attribute(spec.ints("perm"))? {
        Some(order) => axes_in(&order, rank)?,
        None => (0..rank).rev().collect(),
    };
    let axis = x.axis.and_then(|own| order.iter().position(|axis| *axis == own));
    let shape = x.shape.as_ref().map(|shape| order.iter().map(|axis| shape[*axis].clone()).collect());
    Ok(vec![fact(shape, axis)])
}

pub(super) fn reshape(spec: &Spec, x: &Fact, wanted: Option<&Fact>) -> Result<Vec<Fact>, Refusal> {
    let wanted = wanted.and_then(|wanted| wanted.value.as_ref()).ok_or("the shape that it makes is not known")?;
    let shape = x.shape.as_ref().ok_or(UNKNOWN_SHAPE)?;
    let own = x.axis.ok_or(UNKNOWN_SHAPE)?;
    let keeps = !attribute(spec.flag("allowzero", false))?;
    let rest = product(&shape[own + 1..]);
    let mut result = Vec::with_capacity(wanted.len());
    for (axis, number) in wanted.iter().enumerate() {
        result.push(match number {
            ShapeNumber::Rows => shape[own].clone(),
            ShapeNumber::Known(0) if keeps => shape.get(axis).cloned().unwrap_or(Dimension::Unknown),
            number => length_of(*number),
        });
    }
    // What is before the rows must stay as it is, so that they are still the same elements.
    let same_before =
        wanted.len() > own && (0..own).all(|axis| result[axis] == shape[axis] && result[axis] != Dimension::Unknown);
    if !same_before {
        return Err("it changes the axes before that of the rows".to_owned());
    }
    let rows = match wanted[own] {
        ShapeNumber::Rows => true,
        ShapeNumber::Known(0) => keeps,
        // What is left over is the number of rows, if all else keeps its size.
        ShapeNumber::Known(-1) => matches!(rest, Dimension::Known(_)) && product(&result[own + 1..]) == rest,
        ShapeNumber::Known(length) => {
            return Err(format!("the number of rows, {length}, is written into the shape that it makes"));
        }
        ShapeNumber::Other => false,
    };
    if !rows {
        return Err("it cannot be shown that it keeps rows apart".to_owned());
    }
    result[own] = shape[own].clone();
    if let Dimension::Known(rest) = rest
        && let Some(open) = (own + 1..wanted.len()).find(|axis| wanted[*axis] == ShapeNumber::Known(-1))
    {
        let others: Vec<Dimension> =
            (own + 1..result.len()).filter(|axis| *axis != open).map(|axis| result[axis].clone()).collect();
        if let Dimension::Known(others) = product(&others) {
            result[open] = rest.checked_div(others).into();
        }
    }
    Ok(vec![fact(Some(result), Some(own))])
}

pub(super) fn squeeze(spec: &Spec, x: &Fact, axes: Option<&Fact>) -> Result<Vec<Fact>, Refusal> {
    let shape = x.shape.as_ref().ok_or(UNKNOWN_SHAPE)?;
    let own = x.axis.unwrap_or(0);
    let given = axes_of(spec, axes)?;
    if spec.operator == "Unsqueeze" {
        let given = given.ok_or("its axes are not known")?;
        let rank = shape.len() + given.len();
        let axes = axes_in(&given, rank)?;
        let mut old = shape.iter().enumerate();
        let mut result = Vec::with_capacity(rank);
        let mut place = 0;
        for axis in 0..rank {
            if axes.contains(&axis) {
                result.push(Dimension::Known(1));
            } else if let Some((before, length)) = old.next() {
                if before == own {
                    place = axis;
                }
                result.push(length.clone());
            }
        }
        return Ok(vec![fact(Some(result), Some(place))]);
    }
    // Without axes, all of length 1 go: with one row, that of the rows too.
    let axes = given.ok_or("it removes the axis of the rows when there is one row")?;
    let axes = axes_in(&axes, shape.len())?;
    if axes.contains(&own) {
        return Err("it removes the axis of the rows".to_owned());
    }
    let result = (0..shape.len()).filter(|axis| !axes.contains(axis)).map(|axis| shape[axis].clone()).collect();
    Ok(vec![fact(Some(result), Some(own - axes.iter().filter(|axis| **axis < own).count()))])
}

pub(super) fn concat(spec: &Spec, inputs: &[Option<&Fact>]) -> Result<Vec<Fact>, Refusal> {
    let facts: Vec<&Fact> = inputs.iter().flatten().copied().collect();
    let own = facts[0].axis;
    if facts.iter().any(|fact| fact.axis != own) {
        return Err("only some of its inputs have rows, or along different axes".to_owned());
    }
    let rank = facts[0].rank().ok_or(UNKNOWN_SHAPE)?;
    let axis = axis_in(attribute(spec.int("axis", 1))?, rank)?;
    if own == Some(axis) {
        return Err("it puts rows behind each other".to_owned());
    }
    let mut shape = facts[0].shape.clone().unwrap_or_default();
    let length = |fact: &&Fact| fact.shape.as_ref()?.get(axis)?.known();
    shape[axis] = facts.iter().map(length).sum::<Option<usize>>().into();
    Ok(vec![fact(Some(shape), own)])
}

pub(super) fn split(spec: &Spec, inputs: &[Option<&Fact>], x: &Fact) -> Result<Vec<Fact>, Refusal> {
    only_first(inputs, Vec::new())?;
    let rank = x.rank().ok_or(UNKNOWN_SHAPE)?;
    let axis = axis_in(attribute(spec.int("axis", 0))?, rank)?;
    if x.axis == Some(axis) {
        return Err("it splits the rows".to_owned());
    }
    let sizes = match inputs.get(1).copied().flatten() {
        Some(sizes) => sizes.integers(),
        None => attribute(spec.ints("split"))?,
    };
    let part = |index: usize| {
        let mut shape = x.shape.clone().unwrap_or_default();
        let length = sizes.as_ref().and_then(|sizes| sizes.get(index)).and_then(|size| usize::try_from(*size).ok());
        shape[axis] = match (length, &shape[axis]) {
            (Some(length), _) => Dimension::Known(length),
            (None, Dimension::Known(length)) if length.is_multiple_of(spec.outputs.max(1)) => {
                Dimension::Known(length / spec.outputs.max(1))
            }
            _ => Dimension::Unknown,
        };
        fact(Some(shape), x.axis)
    };
    Ok((0..spec.outputs).map(part).collect())
}

/// Operators that cut, pad or repeat along axes that other inputs name.
pub(super) fn parts(spec: &Spec, inputs: &[Option<&Fact>], x: &Fact) -> Result<Vec<Fact>, Refusal> {
    only_first(inputs, Vec::new())?;
    let rank = x.rank().ok_or(UNKNOWN_SHAPE)?;
    let own = x.axis.unwrap_or(rank);
    let list = |index: usize, name: &'static str| match inputs.get(index).copied().flatten() {
        Some(fact) => Ok(fact.integers()),
        None => attribute(spec.ints(name)),
    };
    let axes = |index: usize, count: usize| -> Result<Vec<usize>, Refusal> {
        let given = axes_of(spec, inputs.get(index).copied().flatten())?;
        axes_in(&given.unwrap_or_else(|| (0..count as i64).collect()), rank)
    };
    let length = |axis: usize| i64::try_from(x.shape.as_ref()?.get(axis)?.known()?).ok();
    let touched: Vec<(usize, Option<i64>)> = match spec.operator.as_str() {
        "Slice" => slices(spec, inputs, rank, own, &length)?,
        "Pad" => {
            let pads = list(1, "pads")?.ok_or("its pads are not known")?;
            let axes = axes(3, pads.len() / 2)?;
            let around = |place: usize| (pads[place], pads.get(place + axes.len()).copied().unwrap_or(0));
            let padded = axes.iter().enumerate().filter(|(place, _)| around(*place) != (0, 0));
            let more = |(place, axis): (usize, &usize)| {
                let (before, after) = around(place);
                (*axis, length(*axis).and_then(|length| length.checked_add(before)?.checked_add(after)))
            };
            padded.map(more).collect()
        }
        _ => {
            let repeats = list(1, "repeats")?.ok_or("its repeats are not known")?;
            let repeated = (0..repeats.len()).filter(|axis| repeats[*axis] != 1);
            repeated.map(|axis| (axis, length(axis).and_then(|length| length.checked_mul(repeats[axis])))).collect()
        }
    };
    if touched.iter().any(|(axis, _)| *axis == own) {
        return Err("it cuts, pads or repeats rows".to_owned());
    }
    let mut shape = x.shape.clone().unwrap_or_default();
    for (axis, length) in touched.into_iter().filter(|(axis, _)| *axis < rank) {
        shape[axis] = length.and_then(|length| usize::try_from(length).ok()).into();
    }
    Ok(vec![fact(Some(shape), x.axis)])
}

pub(super) fn expand(x: &Fact, wanted: Option<&Fact>) -> Result<Vec<Fact>, Refusal> {
    let wanted = filled(wanted.filter(|wanted| wanted.value.is_some()).ok_or("the shape that it makes is not known")?);
    if wanted.shape.is_none() {
        return Err("the number of rows is the length of several axes".to_owned());
    }
    // The number of rows in the shape is what the input has already, or repeats what is the same for all.
    broadcast(&[Some(x), Some(&wanted)]).map(|fact| vec![fact])
}

pub(super) fn gather(spec: &Spec, x: &Fact, indices: &Fact) -> Result<Vec<Fact>, Refusal> {
    let (shape, places) = (x.shape.as_ref().ok_or(UNKNOWN_SHAPE)?, indices.shape.as_ref().ok_or(UNKNOWN_SHAPE)?);
    let axis = axis_in(attribute(spec.int("axis", 0))?, shape.len())?;
    let mut result = shape[..axis].to_vec();
    result.extend(places.iter().cloned());
    result.extend(shape[axis + 1..].iter().cloned());
    let place = match (x.axis, indices.axis) {
        (Some(_), Some(_)) => return Err("both its data and its indices have rows".to_owned()),
        (Some(own), None) if own == axis => return Err("it picks rows".to_owned()),
        (Some(own), None) if own < axis => Some(own),
        (Some(own), None) => Some(own - 1 + places.len()),
        (None, Some(own)) => Some(axis + own),
        (None, None) => None,
    };
    Ok(vec![fact(Some(result), place)])
}

/// The axes that a slice cuts, and what is left of them. One that takes everything along the axis of the rows leaves it alone.
pub(super) fn slices(
    spec: &Spec,
    inputs: &[Option<&Fact>],
    rank: usize,
    own: usize,
    length: &dyn Fn(usize) -> Option<i64>,
) -> Result<Vec<(usize, Option<i64>)>, Refusal> {
    let list = |index: usize, name: &'static str| -> Result<Option<Vec<ShapeNumber>>, Refusal> {
        match inputs.get(index).copied().flatten() {
            Some(fact) => Ok(fact.value.clone()),
            None => Ok(attribute(spec.ints(name))?.map(|values| values.into_iter().map(ShapeNumber::Known).collect())),
        }
    };
    let axes = axes_of(spec, inputs.get(3).copied().flatten())?;
    let (starts, ends) = (list(1, "starts")?, list(2, "ends")?);
    let count = starts.as_ref().or(ends.as_ref()).map(Vec::len).or(axes.as_ref().map(Vec::len));
    let count = count.ok_or("its bounds are not known")?;
    let axes = axes.unwrap_or_else(|| (0..count as i64).collect());
    let strides = inputs.get(4).copied().flatten().map_or(Some(vec![1; axes.len()]), Fact::integers);
    let mut cut = Vec::new();
    for (place, axis) in axes.iter().enumerate() {
        let axis = axis_in(*axis, rank)?;
        let at = |list: &Option<Vec<ShapeNumber>>| list.as_ref().and_then(|list| list.get(place)).copied();
        let from_the_first = at(&starts) == Some(ShapeNumber::Known(0));
        if axis != own && (at(&starts) == Some(ShapeNumber::Rows) || at(&ends) == Some(ShapeNumber::Rows)) {
            return Err("it computes with the number of rows".to_owned());
        }
        let to_the_last = match at(&ends) {
            Some(ShapeNumber::Rows) => true,
            Some(ShapeNumber::Known(end)) => end >= ALL_ROWS,
            _ => false,
        };
        let each = strides.as_ref().and_then(|strides| strides.get(place)) == Some(&1);
        if !(axis == own && from_the_first && to_the_last && each) {
            let left = match (length(axis), at(&starts), at(&ends)) {
                // Only the usual direction: what goes backwards has other bounds.
                (Some(length), Some(ShapeNumber::Known(start)), Some(ShapeNumber::Known(end))) if each => {
                    let bound = |place: i64| {
                        if place < 0 { place.saturating_add(length).max(0) } else { place.min(length) }
                    };
                    Some((bound(end) - bound(start)).max(0))
                }
                _ => None,
            };
            cut.push((axis, left));
        }
    }
    Ok(cut)
}
