//! Where the rows of a result are, one rule for each family of operators.

use crate::batch::rules::Refusal;
use crate::batch::{Fact, Number};
use crate::onnx::Dimension;
use crate::operators::spec::Spec;
use crate::operators::support::axis_of;

/// An end of a slice that stands for all rows: exporters write a billion, or the largest number there is. No run has as many
/// rows at once.
const ALL_ROWS: i64 = 1_000_000_000;

const UNKNOWN_SHAPE: &str = "the shape of its input is not known";

fn fact(shape: Option<Vec<Dimension>>, axis: Option<usize>) -> Fact {
    Fact { shape, axis, ..Fact::default() }
}

/// An attribute, which was checked when the operator was made.
fn attribute<T>(value: Result<T, crate::error::Fault>) -> Result<T, Refusal> {
    value.map_err(|fault| fault.to_string())
}

fn axis_in(axis: i64, rank: usize) -> Result<usize, Refusal> {
    axis_of(axis, rank).map_err(|fault| fault.to_string())
}

/// The facts of the outputs of a node whose operator has a rule; results that depend on no rows need none.
pub(super) fn layout(spec: &Spec, inputs: &[Option<&Fact>]) -> Result<Vec<Fact>, Refusal> {
    let get = |index: usize| inputs.get(index).copied().flatten();
    let any = inputs.iter().flatten().any(|fact| fact.axis.is_some());
    let none = Fact::default();
    let x = get(0).unwrap_or(&none);
    let operator = spec.operator.as_str();
    match operator {
        "Relu" | "LeakyRelu" | "Elu" | "Celu" | "Selu" | "Sigmoid" | "HardSigmoid" | "HardSwish" | "Tanh" | "Exp"
        | "Log" | "Sqrt" | "Abs" | "Neg" | "Sign" | "Floor" | "Ceil" | "Round" | "Reciprocal" | "Erf" | "Gelu"
        | "Mish" | "Softplus" | "Softsign" | "Sin" | "Cos" | "Tan" | "Asin" | "Acos" | "Atan" | "Sinh" | "Cosh"
        | "Asinh" | "Acosh" | "Atanh" | "Not" | "IsNaN" | "IsInf" | "Identity" | "Cast" | "ThresholdedRelu"
        | "Shrink" | "BitwiseNot" => Ok(vec![fact(x.shape.clone(), x.axis)]),
        "Clip" | "CastLike" => only_first(inputs, vec![fact(x.shape.clone(), x.axis)]),
        "Dropout" => only_first(inputs, vec![fact(x.shape.clone(), x.axis); 2]),
        "Add" | "Sub" | "Mul" | "Div" | "Pow" | "Mod" | "Max" | "Min" | "Sum" | "Mean" | "Where" | "Equal" | "Less"
        | "LessOrEqual" | "Greater" | "GreaterOrEqual" | "And" | "Or" | "Xor" | "PRelu" | "BitwiseAnd"
        | "BitwiseOr" | "BitwiseXor" | "BitShift" => broadcast(inputs).map(|fact| vec![fact]),
        "ConstantOfShape" => Ok(vec![filled(x)]),
        _ if !any => Ok(Vec::new()),
        "Conv"
        | "ConvTranspose"
        | "MaxPool"
        | "AveragePool"
        | "LpPool"
        | "GlobalAveragePool"
        | "GlobalMaxPool"
        | "LRN"
        | "BatchNormalization"
        | "InstanceNormalization"
        | "GroupNormalization"
        | "DepthToSpace"
        | "SpaceToDepth"
        | "ConvInteger" => images(spec, inputs, x),
        "Resize" | "Upsample" => images(spec, inputs, x),
        "MatMul" | "MatMulInteger" => products(x, get(1).unwrap_or(&none)),
        "Gemm" => gemm(spec, x, get(1), get(2)),
        "Softmax" | "LogSoftmax" | "Hardmax" | "CumSum" | "LpNormalization" | "LayerNormalization" => {
            along(spec, inputs, x)
        }
        "TopK" => along(spec, inputs, x).map(|facts| vec![fact(None, facts[0].axis); 2]),
        "Flatten" => flatten(spec, x),
        "Transpose" => transpose(spec, x),
        "Reshape" => reshape(spec, x, get(1)),
        "Squeeze" | "Unsqueeze" => squeeze(spec, x, get(1)),
        "Concat" => concat(spec, inputs),
        "Split" => split(spec, inputs, x),
        "Slice" | "Pad" | "Tile" => parts(spec, inputs, x),
        "Expand" => expand(x, get(1)),
        "Gather" => gather(spec, x, get(1).unwrap_or(&none)),
        "LSTM" | "GRU" | "RNN" => recurrent(spec, inputs, x),
        "QuantizeLinear" | "DequantizeLinear" => quantized(spec, inputs, x),
        "ArgMax" | "ArgMin" => {
            let axis = axis_in(attribute(spec.int("axis", 0))?, x.rank().ok_or(UNKNOWN_SHAPE)?)?;
            reduced(x, &[axis], attribute(spec.flag("keepdims", true))?)
        }
        _ if operator.starts_with("Reduce") => reduce(spec, x, get(1)),
        _ => Err("it is not known that its rows depend on no others".to_owned()),
    }
}

/// Refuses rows in any input but the first.
fn only_first(inputs: &[Option<&Fact>], facts: Vec<Fact>) -> Result<Vec<Fact>, Refusal> {
    if inputs.iter().skip(1).flatten().any(|fact| fact.axis.is_some()) {
        return Err("an input that must be the same for all rows has rows".to_owned());
    }
    Ok(facts)
}

fn broadcast(inputs: &[Option<&Fact>]) -> Result<Fact, Refusal> {
    let shapes: Option<Vec<&Vec<Dimension>>> = inputs.iter().flatten().map(|fact| fact.shape.as_ref()).collect();
    let rows = inputs.iter().flatten().any(|fact| fact.axis.is_some());
    let Some(shapes) = shapes else {
        return if rows { Err(UNKNOWN_SHAPE.to_owned()) } else { Ok(Fact::default()) };
    };
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut axis = None;
    for fact in inputs.iter().flatten() {
        let Some(own) = fact.axis else { continue };
        let place = own + rank - fact.rank().unwrap_or(0);
        if axis.is_some_and(|axis| axis != place) {
            return Err("its inputs have rows along different axes".to_owned());
        }
        axis = Some(place);
    }
    let mut result = vec![Dimension::Known(1); rank];
    for (fact, shape) in inputs.iter().flatten().zip(&shapes) {
        let missing = rank - shape.len();
        for (place, length) in shape.iter().enumerate() {
            let into = &mut result[missing + place];
            if axis == Some(missing + place) && fact.axis.is_none() && *length != Dimension::Known(1) {
                return Err(format!("an input that is the same for all rows has {length} values along their axis"));
            }
            // A length that is not known is what the others say, if they say more than 1.
            if *into == Dimension::Known(1) || (*length != Dimension::Known(1) && matches!(length, Dimension::Known(_)))
            {
                *into = length.clone();
            }
        }
    }
    Ok(fact(Some(result), axis))
}

/// A tensor of equal elements: with rows, if its shape names their number.
fn filled(shape: &Fact) -> Fact {
    let Some(value) = &shape.value else { return Fact { counts_rows: shape.counts_rows, ..Fact::default() } };
    let length = |number: &Number| match number {
        Number::Known(length) => usize::try_from(*length).map_or(Dimension::Unknown, Dimension::Known),
        Number::Rows | Number::Other => Dimension::Unknown,
    };
    fact(Some(value.iter().map(length).collect()), value.iter().position(|number| *number == Number::Rows))
}

fn images(spec: &Spec, inputs: &[Option<&Fact>], x: &Fact) -> Result<Vec<Fact>, Refusal> {
    only_first(inputs, Vec::new())?;
    if x.axis != Some(0) {
        return Err(format!("it takes rows along axis 0, and they are along axis {}", x.axis.unwrap_or(0)));
    }
    if spec.operator == "BatchNormalization" && attribute(spec.flag("training_mode", false))? {
        return Err("while it is trained, it mixes all rows".to_owned());
    }
    let Some(shape) = &x.shape else { return Ok(vec![fact(None, Some(0)); 2]) };
    let mut result = vec![Dimension::Unknown; shape.len()];
    result[0] = shape[0].clone();
    let get = |index: usize| inputs.get(index).copied().flatten();
    let weight = get(1).and_then(|weight| weight.shape.as_ref());
    match spec.operator.as_str() {
        "Resize" | "Upsample" => {
            // The first of the scales or sizes must leave the rows alone.
            let axes = attribute(spec.ints("axes"))?;
            if axes.is_some_and(|axes| axes.contains(&0)) {
                return Err("it changes the number of rows".to_owned());
            }
            let sizes = get(3).and_then(|sizes| sizes.value.as_ref());
            if sizes.is_some_and(|sizes| !sizes.is_empty() && sizes[0] != Number::Rows) {
                return Err("the number of rows is written into its sizes".to_owned());
            }
        }
        "BatchNormalization" | "InstanceNormalization" | "GroupNormalization" | "LRN" => result.clone_from(shape),
        "Conv" | "ConvInteger" => {
            result[1] = weight.map_or(Dimension::Unknown, |weight| weight[0].clone());
            let known = |lengths: &[Dimension]| {
                lengths
                    .iter()
                    .map(|length| if let Dimension::Known(length) = length { Some(*length) } else { None })
                    .collect::<Option<Vec<_>>>()
            };
            if let (Some(input), Some(kernel)) = (known(&shape[2..]), weight.and_then(|weight| known(&weight[2..])))
                && let Ok(windows) = crate::operators::window::WindowSpec::new(spec)
                    .and_then(|windows| windows.over(&input, Some(&kernel)))
            {
                result.splice(2.., windows.output.into_iter().map(Dimension::Known));
            }
        }
        "MaxPool" | "AveragePool" | "LpPool" => {
            result[1] = shape[1].clone();
            let input: Option<Vec<usize>> = shape[2..]
                .iter()
                .map(|length| if let Dimension::Known(length) = length { Some(*length) } else { None })
                .collect();
            if let Some(input) = input
                && let Ok(windows) =
                    crate::operators::window::WindowSpec::new(spec).and_then(|windows| windows.over(&input, None))
            {
                result.splice(2.., windows.output.into_iter().map(Dimension::Known));
            }
        }
        "GlobalAveragePool" | "GlobalMaxPool" => {
            result[1] = shape[1].clone();
            result[2..].fill(Dimension::Known(1));
        }
        _ => {}
    }
    Ok(vec![fact(Some(result), Some(0)); 2])
}

fn products(a: &Fact, b: &Fact) -> Result<Vec<Fact>, Refusal> {
    let (Some(left), Some(right)) = (&a.shape, &b.shape) else { return Err(UNKNOWN_SHAPE.to_owned()) };
    if left.len() < 2 || right.len() < 2 {
        return match (a.axis, b.axis, left.len(), right.len()) {
            // Rows times a vector.
            (Some(axis), None, rank @ 2.., 1) if axis + 1 < rank => {
                Ok(vec![fact(Some(left[..rank - 1].to_vec()), Some(axis))])
            }
            _ => Err("it adds up over rows".to_owned()),
        };
    }
    let rank = left.len().max(right.len());
    let place = |fact: &Fact, shape: &[Dimension]| fact.axis.map(|axis| axis + rank - shape.len());
    let (a_place, b_place) = (place(a, left), place(b, right));
    if a_place == Some(rank - 1) || b_place == Some(rank - 2) {
        return Err("it adds up over rows".to_owned());
    }
    let axis = match (a_place, b_place) {
        (Some(a), Some(b)) if a == b && a < rank - 2 => Some(a),
        (Some(_), Some(_)) => return Err("both of its inputs have rows, along different axes".to_owned()),
        (one, other) => one.or(other),
    };
    let stack = broadcast(&[
        Some(&fact(Some(left[..left.len() - 2].to_vec()), a.axis.filter(|axis| *axis + 2 < left.len()))),
        Some(&fact(Some(right[..right.len() - 2].to_vec()), b.axis.filter(|axis| *axis + 2 < right.len()))),
    ])?;
    let mut shape = stack.shape.unwrap_or_default();
    shape.extend([left[left.len() - 2].clone(), right[right.len() - 1].clone()]);
    Ok(vec![fact(Some(shape), axis)])
}

fn gemm(spec: &Spec, a: &Fact, b: Option<&Fact>, c: Option<&Fact>) -> Result<Vec<Fact>, Refusal> {
    let turned = attribute(spec.flag("transA", false))?;
    if a.axis != Some(usize::from(turned)) || b.is_some_and(|b| b.axis.is_some()) {
        return Err("it adds up over rows".to_owned());
    }
    if let Some(c) = c {
        let shape = c.shape.as_ref().ok_or(UNKNOWN_SHAPE)?;
        if c.axis.is_none() && shape.len() == 2 && shape[0] != Dimension::Known(1) {
            return Err("a bias that is the same for all rows has several values along their axis".to_owned());
        }
        if c.axis.is_some_and(|axis| axis != 0 || shape.len() != 2) {
            return Err("its bias has rows along another axis".to_owned());
        }
    }
    let columns = b
        .and_then(|b| b.shape.as_ref())
        .and_then(|shape| shape.get(usize::from(!attribute(spec.flag("transB", false)).unwrap_or(false))));
    let rows = a.shape.as_ref().and_then(|shape| shape.get(usize::from(turned)));
    let shape = vec![rows.cloned().unwrap_or(Dimension::Unknown), columns.cloned().unwrap_or(Dimension::Unknown)];
    Ok(vec![fact(Some(shape), Some(0))])
}

/// Operators that work along one axis, or from it to the last one.
fn along(spec: &Spec, inputs: &[Option<&Fact>], x: &Fact) -> Result<Vec<Fact>, Refusal> {
    only_first(inputs, Vec::new())?;
    let rank = x.rank().ok_or(UNKNOWN_SHAPE)?;
    let own = x.axis.unwrap_or(rank);
    let joined = matches!(spec.operator.as_str(), "Softmax" | "LogSoftmax" | "Hardmax") && spec.opset < 13;
    let default = if joined { 1 } else { -1 };
    let axis = match spec.operator.as_str() {
        "CumSum" => match inputs.get(1).copied().flatten().and_then(Fact::integers).as_deref() {
            Some([axis]) => *axis,
            _ => return Err("the axis along which it adds up is not known".to_owned()),
        },
        _ => attribute(spec.int("axis", default))?,
    };
    let axis = axis_in(axis, rank)?;
    let to_the_last = joined || spec.operator == "LayerNormalization";
    if own == axis || (to_the_last && own > axis) {
        return Err("it works along the axis of the rows".to_owned());
    }
    Ok(vec![fact(x.shape.clone(), x.axis); 3])
}

fn flatten(spec: &Spec, x: &Fact) -> Result<Vec<Fact>, Refusal> {
    let axis = attribute(spec.int("axis", 1))?;
    if x.axis != Some(0) || axis != 1 {
        return Err("it puts the axis of the rows together with others".to_owned());
    }
    let rest = x.shape.as_ref().map_or(Dimension::Unknown, |shape| product(&shape[1..]));
    let rows = x.shape.as_ref().and_then(|shape| shape.first()).cloned().unwrap_or(Dimension::Unknown);
    Ok(vec![fact(Some(vec![rows, rest]), Some(0))])
}

fn product(lengths: &[Dimension]) -> Dimension {
    let known = lengths.iter().try_fold(1usize, |product, length| match length {
        Dimension::Known(length) => product.checked_mul(*length),
        _ => None,
    });
    known.map_or(Dimension::Unknown, Dimension::Known)
}

fn transpose(spec: &Spec, x: &Fact) -> Result<Vec<Fact>, Refusal> {
    let rank = x.rank().ok_or(UNKNOWN_SHAPE)?;
    let order = match attribute(spec.ints("perm"))? {
        Some(order) => order.iter().map(|axis| axis_in(*axis, rank)).collect::<Result<Vec<_>, _>>()?,
        None => (0..rank).rev().collect(),
    };
    let axis = x.axis.and_then(|own| order.iter().position(|axis| *axis == own));
    let shape = x.shape.as_ref().map(|shape| order.iter().map(|axis| shape[*axis].clone()).collect());
    Ok(vec![fact(shape, axis)])
}

fn reshape(spec: &Spec, x: &Fact, wanted: Option<&Fact>) -> Result<Vec<Fact>, Refusal> {
    let wanted = wanted.and_then(|wanted| wanted.value.as_ref()).ok_or("the shape that it makes is not known")?;
    let shape = x.shape.as_ref().ok_or(UNKNOWN_SHAPE)?;
    let own = x.axis.ok_or(UNKNOWN_SHAPE)?;
    let keeps = !attribute(spec.flag("allowzero", false))?;
    let rest = product(&shape[own + 1..]);
    let mut result = Vec::with_capacity(wanted.len());
    for (axis, number) in wanted.iter().enumerate() {
        result.push(match number {
            Number::Rows => shape[own].clone(),
            Number::Known(0) if keeps => shape.get(axis).cloned().unwrap_or(Dimension::Unknown),
            Number::Known(length) => usize::try_from(*length).map_or(Dimension::Unknown, Dimension::Known),
            Number::Other => Dimension::Unknown,
        });
    }
    // What is before the rows must stay as it is, so that they are still the same elements.
    let same_before =
        wanted.len() > own && (0..own).all(|axis| result[axis] == shape[axis] && result[axis] != Dimension::Unknown);
    if !same_before {
        return Err("it changes the axes before that of the rows".to_owned());
    }
    let rows = match wanted[own] {
        Number::Rows => true,
        Number::Known(0) => keeps,
        // What is left over is the number of rows, if all else keeps its size.
        Number::Known(-1) => matches!(rest, Dimension::Known(_)) && product(&result[own + 1..]) == rest,
        Number::Known(length) => {
            return Err(format!("the number of rows, {length}, is written into the shape that it makes"));
        }
        Number::Other => false,
    };
    if !rows {
        return Err("it cannot be shown that it keeps rows apart".to_owned());
    }
    result[own] = shape[own].clone();
    if let Dimension::Known(rest) = rest
        && let Some(open) = (own + 1..wanted.len()).find(|axis| wanted[*axis] == Number::Known(-1))
    {
        let others: Vec<Dimension> =
            (own + 1..result.len()).filter(|axis| *axis != open).map(|axis| result[axis].clone()).collect();
        if let Dimension::Known(others) = product(&others) {
            result[open] = rest.checked_div(others).map_or(Dimension::Unknown, Dimension::Known);
        }
    }
    Ok(vec![fact(Some(result), Some(own))])
}

fn squeeze(spec: &Spec, x: &Fact, axes: Option<&Fact>) -> Result<Vec<Fact>, Refusal> {
    let shape = x.shape.as_ref().ok_or(UNKNOWN_SHAPE)?;
    let own = x.axis.unwrap_or(0);
    let given = match axes {
        Some(axes) => Some(axes.integers().ok_or("its axes are not known")?),
        None => attribute(spec.ints("axes"))?,
    };
    if spec.operator == "Unsqueeze" {
        let given = given.ok_or("its axes are not known")?;
        let rank = shape.len() + given.len();
        let axes = given.iter().map(|axis| axis_in(*axis, rank)).collect::<Result<Vec<_>, _>>()?;
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
    let axes = axes.iter().map(|axis| axis_in(*axis, shape.len())).collect::<Result<Vec<_>, _>>()?;
    if axes.contains(&own) {
        return Err("it removes the axis of the rows".to_owned());
    }
    let result = (0..shape.len()).filter(|axis| !axes.contains(axis)).map(|axis| shape[axis].clone()).collect();
    Ok(vec![fact(Some(result), Some(own - axes.iter().filter(|axis| **axis < own).count()))])
}

fn concat(spec: &Spec, inputs: &[Option<&Fact>]) -> Result<Vec<Fact>, Refusal> {
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
    let lengths = facts.iter().map(|fact| match fact.shape.as_ref().and_then(|shape| shape.get(axis)) {
        Some(Dimension::Known(length)) => Some(*length),
        _ => None,
    });
    shape[axis] = lengths.sum::<Option<usize>>().map_or(Dimension::Unknown, Dimension::Known);
    Ok(vec![fact(Some(shape), own)])
}

fn split(spec: &Spec, inputs: &[Option<&Fact>], x: &Fact) -> Result<Vec<Fact>, Refusal> {
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
fn parts(spec: &Spec, inputs: &[Option<&Fact>], x: &Fact) -> Result<Vec<Fact>, Refusal> {
    only_first(inputs, Vec::new())?;
    let rank = x.rank().ok_or(UNKNOWN_SHAPE)?;
    let own = x.axis.unwrap_or(rank);
    let list = |index: usize, name: &'static str| match inputs.get(index).copied().flatten() {
        Some(fact) => Ok(fact.integers()),
        None => attribute(spec.ints(name)),
    };
    let axes = |index: usize, count: usize| -> Result<Vec<usize>, Refusal> {
        let given = inputs.get(index).copied().flatten();
        let axes = match given {
            Some(given) => given.integers().ok_or("its axes are not known")?,
            None => attribute(spec.ints("axes"))?.unwrap_or_else(|| (0..count as i64).collect()),
        };
        axes.iter().map(|axis| axis_in(*axis, rank)).collect()
    };
    let touched = match spec.operator.as_str() {
        "Slice" => slices(spec, inputs, rank, own)?,
        "Pad" => {
            let pads = list(1, "pads")?.ok_or("its pads are not known")?;
            let axes = axes(3, pads.len() / 2)?;
            let padded = axes
                .iter()
                .enumerate()
                .filter(|(place, _)| pads[*place] != 0 || pads.get(place + axes.len()).is_some_and(|pad| *pad != 0));
            padded.map(|(_, axis)| *axis).collect()
        }
        _ => {
            let repeats = list(1, "repeats")?.ok_or("its repeats are not known")?;
            (0..repeats.len()).filter(|axis| repeats[*axis] != 1).collect()
        }
    };
    if touched.contains(&own) {
        return Err("it cuts, pads or repeats rows".to_owned());
    }
    let mut shape = x.shape.clone().unwrap_or_default();
    touched.into_iter().filter(|axis| *axis < rank).for_each(|axis| shape[axis] = Dimension::Unknown);
    Ok(vec![fact(Some(shape), x.axis)])
}

fn expand(x: &Fact, wanted: Option<&Fact>) -> Result<Vec<Fact>, Refusal> {
    let wanted = filled(wanted.filter(|wanted| wanted.value.is_some()).ok_or("the shape that it makes is not known")?);
    // The number of rows in the shape is what the input has already, or repeats what is the same for all.
    broadcast(&[Some(x), Some(&wanted)]).map(|fact| vec![fact])
}

fn gather(spec: &Spec, x: &Fact, indices: &Fact) -> Result<Vec<Fact>, Refusal> {
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

fn recurrent(spec: &Spec, inputs: &[Option<&Fact>], x: &Fact) -> Result<Vec<Fact>, Refusal> {
    let batch_first = attribute(spec.flag("layout", false))?;
    let expected = usize::from(!batch_first);
    if x.axis.is_some_and(|axis| axis != expected) {
        return Err(format!("axis {} of its input is time: every step depends on those before it", 1 - expected));
    }
    for (index, input) in inputs.iter().enumerate().skip(1) {
        let Some(axis) = input.and_then(|input| input.axis) else { continue };
        let state = matches!(index, 5 | 6) && axis == expected;
        let lengths = index == 4 && axis == 0;
        if !state && !lengths {
            return Err("an input that must be the same for all rows has rows".to_owned());
        }
    }
    if x.axis.is_none() {
        return Err("its states have rows, and its input has none".to_owned());
    }
    // A state that is given and the same for all rows would have one value for each of them.
    if inputs
        .iter()
        .enumerate()
        .any(|(index, input)| matches!(index, 5 | 6) && input.is_some_and(|input| input.axis.is_none()))
    {
        return Err("its first state is written down for a fixed number of rows".to_owned());
    }
    let unknown = |rank: usize| Some(vec![Dimension::Unknown; rank]);
    let directions = if attribute(spec.text("direction", "forward"))? == "bidirectional" { 2 } else { 1 };
    let hidden = inputs
        .get(2)
        .copied()
        .flatten()
        .and_then(|weights| weights.shape.as_ref())
        .and_then(|shape| shape.last())
        .cloned();
    let hidden = hidden.unwrap_or(Dimension::Unknown);
    let mut all = fact(unknown(4), Some(if batch_first { 0 } else { 2 }));
    let mut last = fact(unknown(3), Some(expected));
    if let (Some(all), Some(last)) = (&mut all.shape, &mut last.shape) {
        (all[3], last[2]) = (hidden.clone(), hidden);
        (all[if batch_first { 2 } else { 1 }], last[if batch_first { 1 } else { 0 }]) =
            (Dimension::Known(directions), Dimension::Known(directions));
        if let Some(shape) = &x.shape {
            all[if batch_first { 1 } else { 0 }] = shape[1 - expected].clone();
        }
    }
    Ok(vec![all, last.clone(), last])
}

fn quantized(spec: &Spec, inputs: &[Option<&Fact>], x: &Fact) -> Result<Vec<Fact>, Refusal> {
    let scales = inputs.get(1).copied().flatten().and_then(|scale| scale.shape.as_ref());
    let several = scales.is_none_or(|shape| product(shape) != Dimension::Known(1));
    let axis = axis_in(attribute(spec.int("axis", 1))?, x.rank().ok_or(UNKNOWN_SHAPE)?);
    if several && axis.is_ok_and(|axis| x.axis == Some(axis)) {
        return Err("it has a scale for each row".to_owned());
    }
    only_first(inputs, vec![fact(x.shape.clone(), x.axis)])
}

fn reduce(spec: &Spec, x: &Fact, axes: Option<&Fact>) -> Result<Vec<Fact>, Refusal> {
    let rank = x.rank().ok_or(UNKNOWN_SHAPE)?;
    let given = match axes {
        Some(axes) => Some(axes.integers().ok_or("its axes are not known")?),
        None => attribute(spec.ints("axes"))?,
    };
    let axes = match given {
        Some(axes) if !axes.is_empty() => {
            axes.iter().map(|axis| axis_in(*axis, rank)).collect::<Result<Vec<_>, _>>()?
        }
        _ if attribute(spec.flag("noop_with_empty_axes", false))? => Vec::new(),
        _ => (0..rank).collect(),
    };
    reduced(x, &axes, attribute(spec.flag("keepdims", true))?)
}

fn reduced(x: &Fact, axes: &[usize], keep: bool) -> Result<Vec<Fact>, Refusal> {
    let shape = x.shape.as_ref().ok_or(UNKNOWN_SHAPE)?;
    let own = x.axis.ok_or(UNKNOWN_SHAPE)?;
    if axes.contains(&own) {
        return Err("it makes one value of several rows".to_owned());
    }
    let kept = |axis: &usize| keep || !axes.contains(axis);
    let length = |axis: usize| if axes.contains(&axis) { Dimension::Known(1) } else { shape[axis].clone() };
    let result = (0..shape.len()).filter(kept).map(length).collect();
    let place = if keep { own } else { own - axes.iter().filter(|axis| **axis < own).count() };
    Ok(vec![fact(Some(result), Some(place))])
}

/// The axes that a slice cuts. One that takes everything along the axis of the rows leaves it alone.
fn slices(spec: &Spec, inputs: &[Option<&Fact>], rank: usize, own: usize) -> Result<Vec<usize>, Refusal> {
    let list = |index: usize, name: &'static str| -> Result<Option<Vec<Number>>, Refusal> {
        match inputs.get(index).copied().flatten() {
            Some(fact) => Ok(fact.value.clone()),
            None => Ok(attribute(spec.ints(name))?.map(|values| values.into_iter().map(Number::Known).collect())),
        }
    };
    let axes = match inputs.get(3).copied().flatten() {
        Some(axes) => Some(axes.integers().ok_or("its axes are not known")?),
        None => attribute(spec.ints("axes"))?,
    };
    let (starts, ends) = (list(1, "starts")?, list(2, "ends")?);
    let count = starts.as_ref().or(ends.as_ref()).map(Vec::len).or(axes.as_ref().map(Vec::len));
    let count = count.ok_or("its bounds are not known")?;
    let axes = axes.unwrap_or_else(|| (0..count as i64).collect());
    let strides = inputs.get(4).copied().flatten().map_or(Some(vec![1; axes.len()]), Fact::integers);
    let mut cut = Vec::new();
    for (place, axis) in axes.iter().enumerate() {
        let axis = axis_in(*axis, rank)?;
        let at = |list: &Option<Vec<Number>>| list.as_ref().and_then(|list| list.get(place)).copied();
        let from_the_first = at(&starts) == Some(Number::Known(0));
        let to_the_last = match at(&ends) {
            Some(Number::Rows) => true,
            Some(Number::Known(end)) => end >= ALL_ROWS,
            _ => false,
        };
        let each = strides.as_ref().and_then(|strides| strides.get(place)) == Some(&1);
        if !(axis == own && from_the_first && to_the_last && each) {
            cut.push(axis);
        }
    }
    Ok(cut)
}
