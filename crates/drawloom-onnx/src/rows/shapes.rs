//! Small integer tensors that models compute shapes with: which numbers they hold, and which of them is the number of rows.

use crate::operators::spec::Spec;
use drawloom_tensor::operator::{MOST_VALUES, ShapeNumber};
use drawloom_tensor::{Dimension, Fact};

/// What a node computes with shapes, if that is all it does.
pub(super) fn numbers(spec: &Spec, inputs: &[Option<&Fact>]) -> Option<Fact> {
    let first = inputs.first().copied().flatten();
    if spec.operator == "Shape" {
        return shape_of(spec, first?);
    }
    if spec.operator == "Size" {
        return size_of(first?);
    }
    // Everything else needs values.
    let first = first.filter(|fact| fact.axis.is_none())?;
    let value = first.value.as_ref()?;
    let rank = first.rank()?;
    match spec.operator.as_str() {
        "Identity" => Some(first.clone()),
        "Cast" if matches!(spec.int("to", 0), Ok(6 | 7)) => Some(first.clone()),
        // Truth values are 0 and 1. Others become one of them.
        "Cast" if spec.int("to", 0) == Ok(9) => truths(value, rank, |number| number != 0),
        "Not" => truths(value, rank, |number| number == 0),
        "Equal" => {
            let second = inputs.get(1).copied().flatten().filter(|fact| fact.axis.is_none())?;
            let (&[ShapeNumber::Known(a)], [b]) = (&value[..], &second.integers()?[..]) else { return None };
            Some(fact(vec![ShapeNumber::Known(i64::from(a == *b))], rank.max(second.rank()?)))
        }
        "Unsqueeze" if rank == 0 => Some(fact(value.clone(), 1)),
        "Squeeze" if rank == 1 && value.len() == 1 => Some(fact(value.clone(), 0)),
        "Gather" if rank == 1 && spec.int("axis", 0) == Ok(0) => {
            let indices = inputs.get(1).copied().flatten()?;
            let pick = |index: i64| {
                let place = if index < 0 { index + value.len() as i64 } else { index };
                usize::try_from(place).ok().and_then(|place| value.get(place)).copied()
            };
            let picked = indices.integers()?.into_iter().map(pick).collect::<Option<Vec<_>>>()?;
            (indices.rank()? <= 1).then(|| fact(picked, indices.rank().unwrap_or(0)))
        }
        "Slice" if rank == 1 => {
            let list = |index: usize| inputs.get(index).copied().flatten().and_then(Fact::integers);
            let length = value.len() as i64;
            let (&[start], &[end]) = (&list(1)?[..], &list(2)?[..]) else { return None };
            let step = inputs.get(4).copied().flatten().map_or(Some(vec![1]), Fact::integers)?;
            let place =
                |value: i64| (if value < 0 { value.saturating_add(length) } else { value }).clamp(0, length) as usize;
            let (start, end) = (place(start), place(end));
            (step == [1]).then(|| fact(value.get(start..end).unwrap_or(&[]).to_vec(), 1))
        }
        "Concat" if rank == 1 => {
            let mut joined = Vec::new();
            for input in inputs {
                joined.extend(input.filter(|input| input.axis.is_none())?.value.as_ref()?);
            }
            (joined.len() <= MOST_VALUES).then(|| fact(joined, 1))
        }
        "Add" | "Sub" | "Mul" | "Div" if !first.counts_rows => {
            let second = inputs.get(1).copied().flatten()?;
            let (&[ShapeNumber::Known(a)], [b]) = (&value[..], &second.integers()?[..]) else { return None };
            let result = match spec.operator.as_str() {
                "Add" => a.checked_add(*b),
                "Sub" => a.checked_sub(*b),
                "Mul" => a.checked_mul(*b),
                _ => a.checked_div(*b),
            };
            Some(fact(vec![ShapeNumber::Known(result?)], rank.max(second.rank()?)))
        }
        _ => None,
    }
}

/// Truth values of numbers that are all known.
fn truths(value: &[ShapeNumber], rank: usize, is_true: impl Fn(i64) -> bool) -> Option<Fact> {
    let truth = |number: &ShapeNumber| match number {
        ShapeNumber::Known(number) => Some(ShapeNumber::Known(i64::from(is_true(*number)))),
        ShapeNumber::Rows | ShapeNumber::Other => None,
    };
    (rank <= 1).then_some(())?;
    Some(fact(value.iter().map(truth).collect::<Option<Vec<_>>>()?, rank))
}

/// How many elements there are, of what is the same for all rows: the length of a shape, as a rule.
fn size_of(input: &Fact) -> Option<Fact> {
    let mut lengths = input.shape.as_ref().filter(|_| input.axis.is_none())?.iter().map(Dimension::known);
    let product = lengths.try_fold(1usize, |product, length| product.checked_mul(length?))?;
    Some(fact(vec![ShapeNumber::Known(i64::try_from(product).ok()?)], 0))
}

fn shape_of(spec: &Spec, input: &Fact) -> Option<Fact> {
    let Some(shape) = &input.shape else {
        // The shape of a tensor with rows holds their number somewhere.
        return input.axis.map(|_| Fact { counts_rows: true, ..Fact::default() });
    };
    let number = |(axis, length): (usize, &Dimension)| match length {
        _ if input.axis == Some(axis) => ShapeNumber::Rows,
        Dimension::Known(length) => ShapeNumber::Known(*length as i64),
        Dimension::Symbol(_) | Dimension::Unknown => ShapeNumber::Other,
    };
    let all: Vec<ShapeNumber> = shape.iter().enumerate().map(number).collect();
    let rank = all.len() as i64;
    let place = |value: i64| (if value < 0 { value.saturating_add(rank) } else { value }).clamp(0, rank) as usize;
    let (start, end) = (place(spec.int("start", 0).ok()?), place(spec.int("end", i64::MAX).ok()?));
    Some(fact(all.get(start..end).unwrap_or(&[]).to_vec(), 1))
}

fn fact(value: Vec<ShapeNumber>, rank: usize) -> Fact {
    let shape = if rank == 0 { Vec::new() } else { vec![Dimension::Known(value.len())] };
    let counts_rows = value.contains(&ShapeNumber::Rows);
    Fact { element: None, shape: Some(shape), value: Some(value), counts_rows, ..Fact::default() }
}
