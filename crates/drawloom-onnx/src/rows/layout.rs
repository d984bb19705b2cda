//! Where the rows of a result are, one rule for each family of operators.

use super::moves::{concat, expand, flatten, gather, parts, product, reshape, split, squeeze, transpose};
use super::{fixed, picks};
use crate::operators::spec::Spec;
use crate::operators::support::axis_of;
use crate::operators::window::WindowSpec;
use crate::rows::Refusal;
use drawloom_tensor::operator::ShapeNumber;
use drawloom_tensor::{Dimension, Fact};

pub(super) const UNKNOWN_SHAPE: &str = "the shape of its input is not known";

pub(super) fn fact(shape: Option<Vec<Dimension>>, axis: Option<usize>) -> Fact {
    Fact { shape, axis, ..Fact::default() }
}

/// An attribute, which was checked when the operator was made.
pub(super) fn attribute<T>(value: Result<T, drawloom_tensor::Fault>) -> Result<T, Refusal> {
    value.map_err(|fault| fault.to_string())
}

pub(super) fn axis_in(axis: i64, rank: usize) -> Result<usize, Refusal> {
    axis_of(axis, rank).map_err(|fault| fault.to_string())
}

/// Several axes, in the order in which they are named.
pub(super) fn axes_in(axes: &[i64], rank: usize) -> Result<Vec<usize>, Refusal> {
    axes.iter().map(|axis| axis_in(*axis, rank)).collect()
}

/// The axes that a node names: by an input, if it has one, or else by an attribute.
pub(super) fn axes_of(spec: &Spec, input: Option<&Fact>) -> Result<Option<Vec<i64>>, Refusal> {
    match input {
        Some(axes) => Ok(Some(axes.integers().ok_or("its axes are not known")?)),
        None => attribute(spec.ints("axes")),
    }
}

/// The length of an axis that a number of a shape names. That of the rows is not known.
pub(super) fn length_of(number: ShapeNumber) -> Dimension {
    match number {
        ShapeNumber::Known(length) => usize::try_from(length).ok().into(),
        ShapeNumber::Rows | ShapeNumber::Other => Dimension::Unknown,
    }
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
        // Nothing can go wrong with rows where there are none; what is known about shapes helps those that come later.
        _ if !any => Ok(fixed::shapes(spec, inputs).unwrap_or_default()),
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
        | "GlobalLpPool"
        | "ConvInteger"
        | "QLinearConv"
        | "Resize"
        | "Upsample" => images(spec, inputs, x),
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
        _ => picks::apply(spec, inputs, x)
            .unwrap_or_else(|| Err("it is not known that its rows depend on no others".to_owned())),
    }
}

/// Refuses rows in any input but the first.
pub(super) fn only_first(inputs: &[Option<&Fact>], facts: Vec<Fact>) -> Result<Vec<Fact>, Refusal> {
    if inputs.iter().skip(1).flatten().any(|fact| fact.axis.is_some()) {
        return Err("an input that must be the same for all rows has rows".to_owned());
    }
    Ok(facts)
}

pub(super) fn broadcast(inputs: &[Option<&Fact>]) -> Result<Fact, Refusal> {
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

/// A tensor of equal elements: with rows, if its shape names their number once.
pub(super) fn filled(shape: &Fact) -> Fact {
    let twice = |value: &Vec<ShapeNumber>| value.iter().filter(|number| **number == ShapeNumber::Rows).count() > 1;
    let Some(value) = shape.value.as_ref().filter(|value| !twice(value)) else {
        return Fact { counts_rows: shape.counts_rows, ..Fact::default() };
    };
    let lengths = value.iter().map(|number| length_of(*number)).collect();
    fact(Some(lengths), value.iter().position(|number| *number == ShapeNumber::Rows))
}

fn images(spec: &Spec, inputs: &[Option<&Fact>], x: &Fact) -> Result<Vec<Fact>, Refusal> {
    only_first(inputs, Vec::new())?;
    if x.axis != Some(0) {
        return Err(format!("it takes rows along axis 0, and they are along axis {}", x.axis.unwrap_or(0)));
    }
    if spec.operator == "BatchNormalization" && attribute(spec.flag("training_mode", false))? {
        return Err("while it is trained, it mixes all rows".to_owned());
    }
    if spec.operator == "MaxPool" && spec.outputs > 1 {
        return Err("the indices that it puts out count through all rows".to_owned());
    }
    let Some(shape) = &x.shape else { return Ok(vec![fact(None, Some(0)); 2]) };
    let mut result = vec![Dimension::Unknown; shape.len()];
    result[0] = shape[0].clone();
    let get = |index: usize| inputs.get(index).copied().flatten();
    let weight = get(if spec.operator == "QLinearConv" { 3 } else { 1 }).and_then(|weight| weight.shape.as_ref());
    match spec.operator.as_str() {
        "Resize" | "Upsample" => keeps_rows(spec, inputs, shape.len())?,
        "BatchNormalization" | "InstanceNormalization" | "GroupNormalization" | "LRN" => result.clone_from(shape),
        "Conv" | "ConvInteger" | "QLinearConv" => {
            result[1] = weight.map_or(Dimension::Unknown, |weight| weight[0].clone());
            if let Some(kernel) = weight.and_then(|weight| known(&weight[2..])) {
                result.splice(2.., windows(spec, &shape[2..], Some(&kernel)));
            }
        }
        "MaxPool" | "AveragePool" | "LpPool" => {
            result[1] = shape[1].clone();
            result.splice(2.., windows(spec, &shape[2..], None));
        }
        "GlobalAveragePool" | "GlobalMaxPool" | "GlobalLpPool" => {
            result[1] = shape[1].clone();
            result[2..].fill(Dimension::Known(1));
        }
        _ => {}
    }
    Ok(vec![fact(Some(result), Some(0)); 2])
}

fn known(lengths: &[Dimension]) -> Option<Vec<usize>> {
    lengths.iter().map(Dimension::known).collect()
}

/// How many windows there are along each axis.
fn windows(spec: &Spec, lengths: &[Dimension], kernel: Option<&[usize]>) -> Vec<Dimension> {
    let windows = known(lengths).and_then(|input| WindowSpec::new(spec).ok()?.over(&input, kernel).ok());
    let found = windows.map(|windows| windows.output.into_iter().map(Dimension::Known).collect());
    found.unwrap_or_else(|| vec![Dimension::Unknown; lengths.len()])
}

/// Refuses to make images larger or smaller along the axis of the rows, or to take a part of them.
fn keeps_rows(spec: &Spec, inputs: &[Option<&Fact>], rank: usize) -> Result<(), Refusal> {
    let get = |index: usize| inputs.get(index).copied().flatten();
    let given = |index: usize| {
        let empty = |fact: &&Fact| fact.shape.as_ref().is_some_and(|shape| shape[..] == [Dimension::Known(0)]);
        get(index).filter(|fact| !empty(fact))
    };
    let axes = match attribute(spec.ints("axes"))? {
        Some(axes) => axes_in(&axes, rank)?,
        None => (0..rank).collect(),
    };
    let Some(place) = axes.iter().position(|axis| *axis == 0) else { return Ok(()) };
    let old = spec.operator == "Upsample" || spec.opset < 11;
    if !old && attribute(spec.text("coordinate_transformation_mode", "half_pixel"))? == "tf_crop_and_resize" {
        let region = given(1).and_then(Fact::numbers).ok_or("the region that it takes is not known")?;
        if region.get(place) != Some(&0.0) || region.get(place + axes.len()) != Some(&1.0) {
            return Err("it takes a part of the rows".to_owned());
        }
    }
    if let Some(sizes) = given(3).filter(|_| !old) {
        let sizes = sizes.value.as_ref().ok_or("its sizes are not known")?;
        let rows = sizes.get(place) == Some(&ShapeNumber::Rows);
        return if rows { Ok(()) } else { Err("the number of rows is written into its sizes".to_owned()) };
    }
    let attribute_scales = if spec.operator == "Upsample" { attribute(spec.floats("scales"))? } else { None };
    let scales = attribute_scales.or_else(|| given(if old { 1 } else { 2 }).and_then(Fact::numbers));
    match scales.ok_or("its scales are not known")?.get(place) {
        Some(1.0) => Ok(()),
        _ => Err("it changes the number of rows".to_owned()),
    }
}

pub(super) fn products(a: &Fact, b: &Fact) -> Result<Vec<Fact>, Refusal> {
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
    if inputs.iter().skip(5).take(2).flatten().any(|state| state.axis.is_none()) {
        return Err("its first state is written down for a fixed number of rows".to_owned());
    }
    let unknown = |rank: usize| Some(vec![Dimension::Unknown; rank]);
    let directions = if attribute(spec.text("direction", "forward"))? == "bidirectional" { 2 } else { 1 };
    let weights = inputs.get(2).copied().flatten().and_then(|weights| weights.shape.as_ref());
    let hidden = weights.and_then(|shape| shape.last()).cloned().unwrap_or(Dimension::Unknown);
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
    let axes = match axes_of(spec, axes)? {
        Some(axes) if !axes.is_empty() => axes_in(&axes, rank)?,
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
