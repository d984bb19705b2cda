//! Operators that change or make shapes, types and constants, and leave the elements as they are.

use crate::operators::binary::merged;
use crate::operators::spec::Spec;
use crate::operators::support::{
    Made, Walk, axes_of, axis_of, broadcast, broadcast_steps, kernel, lengths, listed, steps,
};
use drawloom_tensor::operator::Number;
use drawloom_tensor::{Element, ElementType, Fault, Outputs, Tensor, View, with_type};

pub(crate) fn make(spec: &Spec) -> Option<Made> {
    Some(match spec.operator.as_str() {
        "Identity" => kernel(|inputs, outputs| {
            let input = inputs.get(0)?;
            outputs.copy(0, input, input.shape())
        }),
        "Constant" => constant(spec),
        "ConstantOfShape" => filled(spec),
        "Reshape" => reshape(spec),
        "Flatten" => flatten(spec),
        "Squeeze" => squeeze(spec),
        "Unsqueeze" => unsqueeze(spec),
        "Expand" => kernel(|inputs, outputs| {
            let input = inputs.get(0)?;
            let wanted = lengths(&inputs.get(1)?.integers()?)?;
            let shape = broadcast(&[input.shape(), &wanted])?;
            gather_walk(input, outputs, &shape, broadcast_steps(input.shape(), &shape)?)
        }),
        "Shape" => shape_of(spec),
        "Size" => kernel(|inputs, outputs| {
            let count = inputs.get(0)?.len();
            outputs.allocate::<i64>(0, &[])?[0] = count as i64;
            Ok(())
        }),
        "Cast" => spec.int("to", 0).and_then(|to| {
            spec.ignore(&["saturate"]);
            let to = onnx_type(to)?;
            kernel(move |inputs, outputs| cast(inputs.get(0)?, to, outputs))
        }),
        "CastLike" => {
            spec.ignore(&["saturate"]);
            kernel(|inputs, outputs| cast(inputs.get(0)?, inputs.get(1)?.element(), outputs))
        }
        "Range" => kernel(|inputs, outputs| {
            let (start, limit, delta) = (inputs.get(0)?, inputs.get(1)?, inputs.get(2)?);
            with_type!(numbers, start.element(), T => {
                let (start, limit, delta) = (start.only::<T>()?, limit.only::<T>()?, delta.only::<T>()?);
                let count = ((limit.to_f64() - start.to_f64()) / delta.to_f64()).ceil();
                if !count.is_finite() {
                    return Err(Fault::new("a range with a step of zero never ends"));
                }
                let results = outputs.allocate::<T>(0, &[count.max(0.0) as usize])?;
                let mut value = start;
                for (index, result) in results.iter_mut().enumerate() {
                    // A sum of many steps would collect errors; integers have none.
                    *result = if T::TYPE.is_float() { T::from_f64(start.to_f64() + index as f64 * delta.to_f64()) } else { value };
                    value = value.plus(delta);
                }
                Ok(())
            })
        }),
        "EyeLike" => eye(spec),
        _ => return None,
    })
}

/// The type of a number in ONNX files.
pub(crate) fn onnx_type(code: i64) -> Result<ElementType, Fault> {
    Ok(match code {
        1 => ElementType::F32,
        2 => ElementType::U8,
        3 => ElementType::I8,
        6 => ElementType::I32,
        7 => ElementType::I64,
        9 => ElementType::Bool,
        11 => ElementType::F64,
        other => {
            let name = i32::try_from(other).ok().map(rten_onnx::onnx::DataType);
            let name = name.as_ref().and_then(|name| name.name()).map_or_else(|| other.to_string(), str::to_lowercase);
            return Err(Fault::of(
                drawloom_tensor::ErrorKind::Type,
                format!("elements of type {name} are not supported"),
            ));
        }
    })
}

/// Writes the elements that a walk over the result finds in the input.
pub(crate) fn gather_walk(
    input: View<'_>,
    outputs: &mut Outputs<'_>,
    shape: &[usize],
    from: Vec<isize>,
) -> Result<(), Fault> {
    gather_from(input, outputs, (shape, shape), from, 0)
}

/// The same for a walk over another shape than that of the result, and that begins elsewhere.
pub(crate) fn gather_from(
    input: View<'_>,
    outputs: &mut Outputs<'_>,
    (result, shape): (&[usize], &[usize]),
    from: Vec<isize>,
    first: isize,
) -> Result<(), Fault> {
    // Axes that are walked as one become one; two last axes are walked in tiles, as one of them may jump far.
    let (merged, [from]) = merged(shape, [from]);
    with_type!(all, input.element(), T => {
        let results = outputs.allocate_unset::<T>(0, result)?;
        let values = input.values::<T>()?;
        match (&merged[..], &from[..]) {
            (&[ref outer @ .., rows, columns], &[ref head @ .., row, column]) if row >= 0 && column >= 0 => {
                let (row, column) = (row as usize, column as usize);
                let walk = Walk::from(outer, [head.to_vec()], [first]);
                for (plane, [offset]) in results.chunks_exact_mut((rows * columns).max(1)).zip(walk) {
                    if column == 1 {
                        for (number, line) in plane.chunks_exact_mut(columns).enumerate() {
                            line.copy_from_slice(&values[offset + number * row..][..columns]);
                        }
                    } else {
                        in_tiles(plane, columns, |y, x| values[offset + y * row + x * column]);
                    }
                }
            }
            _ => {
                for (result, [offset]) in results.iter_mut().zip(Walk::from(&merged, [from], [first])) {
                    *result = values[offset];
                }
            }
        }
        Ok(())
    })
}

/// Fills a matrix in square tiles, so that what is read and what is written stays in the nearest cache.
fn in_tiles<T>(plane: &mut [T], columns: usize, value: impl Fn(usize, usize) -> T) {
    const TILE: usize = 16;
    for (band, lines) in plane.chunks_mut(columns * TILE).enumerate() {
        for first in (0..columns).step_by(TILE) {
            let end = (first + TILE).min(columns);
            for (number, line) in lines.chunks_exact_mut(columns).enumerate() {
                for (place, result) in line[first..end].iter_mut().enumerate() {
                    *result = value(band * TILE + number, first + place);
                }
            }
        }
    }
}

fn constant(spec: &Spec) -> Made {
    let mut value = spec.tensor("value")?;
    if let Some(values) = spec.ints("value_ints")? {
        value = Some(Tensor::new(&[values.len()], values)?);
    }
    if let Some(values) = spec.floats("value_floats")? {
        value = Some(Tensor::new(&[values.len()], values)?);
    }
    if let Some(number) = spec.optional_int("value_int")? {
        value = Some(Tensor::scalar(number));
    }
    if spec.attributes.contains_key("value_float") {
        value = Some(Tensor::scalar(spec.float("value_float", 0.0)?));
    }
    let value = value.ok_or_else(|| Fault::unsupported("a constant has no value of a type that is supported"))?;
    kernel(move |_, outputs| outputs.copy(0, value.view(), value.shape()))
}

fn filled(spec: &Spec) -> Made {
    let value = spec.tensor("value")?.unwrap_or_else(|| Tensor::scalar(0.0f32));
    if value.view().len() != 1 {
        return Err(Fault::new(format!(
            "attribute `value` must have one element, and has the shape {:?}",
            value.shape()
        )));
    }
    kernel(move |inputs, outputs| {
        let shape = lengths(&inputs.get(0)?.integers()?)?;
        with_type!(all, value.element(), T => {
            outputs.allocate::<T>(0, &shape)?.fill(value.values::<T>()?[0]);
            Ok(())
        })
    })
}

fn reshape(spec: &Spec) -> Made {
    let zeros = spec.flag("allowzero", false)?;
    let given = spec.ints("shape")?;
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        let wanted = match &given {
            Some(shape) => shape.clone(),
            None => inputs.get(1)?.integers()?,
        };
        let shape = resolve(input.shape(), &wanted, zeros)?;
        outputs.copy(0, input, &shape)
    })
}

/// A shape with 0 for "as before" and -1 for "what is left".
pub(crate) fn resolve(input: &[usize], wanted: &[i64], zeros: bool) -> Result<Vec<usize>, Fault> {
    let count = drawloom_tensor::operator::count(input)?;
    let mut shape = Vec::with_capacity(wanted.len());
    let mut open = None;
    for (axis, length) in wanted.iter().enumerate() {
        shape.push(match *length {
            0 if !zeros => {
                *input.get(axis).ok_or_else(|| Fault::new(format!("the shape {input:?} has no axis {axis} to keep")))?
            }
            -1 if open.is_none() => {
                open = Some(axis);
                1
            }
            length => usize::try_from(length).map_err(|_| Fault::new(format!("{wanted:?} is not a shape")))?,
        });
    }
    let others = drawloom_tensor::operator::count(&shape)?;
    if let Some(axis) = open {
        if others == 0 || !count.is_multiple_of(others) {
            return Err(Fault::new(format!("the elements of shape {input:?} cannot be put into {wanted:?}")));
        }
        shape[axis] = count / others;
    } else if others != count {
        return Err(Fault::new(format!("the elements of shape {input:?} cannot be put into {wanted:?}")));
    }
    Ok(shape)
}

fn flatten(spec: &Spec) -> Made {
    let axis = spec.int("axis", 1)?;
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        let axis = if axis == input.rank() as i64 { input.rank() } else { axis_of(axis, input.rank())? };
        let (head, tail) = input.shape().split_at(axis);
        outputs.copy(0, input, &[head.iter().product(), tail.iter().product()])
    })
}

fn squeeze(spec: &Spec) -> Made {
    let given = spec.ints("axes")?;
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        let shape = input.shape();
        let axes = match listed(inputs, 1, given.as_ref())? {
            Some(axes) => axes_of(&axes, input.rank())?,
            None => (0..shape.len()).filter(|axis| shape[*axis] == 1).collect(),
        };
        if let Some(axis) = axes.iter().find(|axis| shape[**axis] != 1) {
            return Err(Fault::new(format!("axis {axis} of the shape {shape:?} cannot be squeezed")));
        }
        let left: Vec<usize> = (0..shape.len()).filter(|axis| !axes.contains(axis)).map(|axis| shape[axis]).collect();
        outputs.copy(0, input, &left)
    })
}

fn unsqueeze(spec: &Spec) -> Made {
    let given = spec.ints("axes")?;
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        let axes = listed(inputs, 1, given.as_ref())?.ok_or_else(|| Fault::new("the axes are missing"))?;
        let rank = input.rank() + axes.len();
        let axes = axes_of(&axes, rank)?;
        let mut old = input.shape().iter();
        let shape: Vec<usize> =
            (0..rank).map(|axis| if axes.contains(&axis) { 1 } else { old.next().copied().unwrap_or(1) }).collect();
        outputs.copy(0, input, &shape)
    })
}

fn shape_of(spec: &Spec) -> Made {
    let start = spec.int("start", 0)?;
    let end = spec.int("end", i64::MAX)?;
    kernel(move |inputs, outputs| {
        let shape = inputs.get(0)?.shape();
        let rank = shape.len() as i64;
        let place = |value: i64| (if value < 0 { value.saturating_add(rank) } else { value }).clamp(0, rank) as usize;
        let (start, end) = (place(start), place(end));
        let part = if start < end { &shape[start..end] } else { &[] };
        let results = outputs.allocate::<i64>(0, &[part.len()])?;
        results.iter_mut().zip(part).for_each(|(result, length)| *result = *length as i64);
        Ok(())
    })
}

/// Converts every element.
pub(crate) fn cast(input: View<'_>, to: ElementType, outputs: &mut Outputs<'_>) -> Result<(), Fault> {
    let shape = input.shape();
    match (input.element(), to) {
        (ElementType::Bool, ElementType::Bool) => outputs.copy(0, input, shape),
        (ElementType::Bool, _) => with_type!(numbers, to, R => {
            let results = outputs.allocate::<R>(0, shape)?;
            let values = input.values::<bool>()?;
            results.iter_mut().zip(values).for_each(|(result, value)| *result = if *value { R::ONE } else { R::ZERO });
            Ok(())
        }),
        (from, ElementType::Bool) => with_type!(numbers, from, T => {
            let results = outputs.allocate::<bool>(0, shape)?;
            let values = input.values::<T>()?;
            results.iter_mut().zip(values).for_each(|(result, value)| *result = *value != T::ZERO);
            Ok(())
        }),
        (from, _) => with_type!(numbers, from, T => with_type!(numbers, to, R => {
            let results = outputs.allocate::<R>(0, shape)?;
            let values = input.values::<T>()?;
            for (result, value) in results.iter_mut().zip(values) {
                // Between integers, and to them, what does not fit wraps around.
                *result = if R::TYPE.is_float() { R::from_f64(value.to_f64()) } else { R::from_i64(value.to_i64()) };
            }
            Ok(())
        })),
    }
}

fn eye(spec: &Spec) -> Made {
    let to = spec.optional_int("dtype")?.map(onnx_type).transpose()?;
    let k = spec.int("k", 0)?;
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        let &[rows, columns] = input.shape() else {
            return Err(Fault::new(format!("expected two axes, found the shape {:?}", input.shape())));
        };
        with_type!(numbers, to.unwrap_or(input.element()), T => {
            let results = outputs.allocate::<T>(0, &[rows, columns])?;
            for row in 0..rows {
                let column = (row as i64).saturating_add(k);
                if (0..columns as i64).contains(&column) {
                    results[row * columns + column as usize] = T::ONE;
                }
            }
            Ok(())
        })
    })
}

/// The steps of a tensor whose axes are taken in another order.
pub(crate) fn permuted_steps(shape: &[usize], order: &[usize]) -> Vec<isize> {
    let own = steps(shape);
    order.iter().map(|axis| own[*axis]).collect()
}
