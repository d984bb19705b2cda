//! Where the rows of a result are, for operators that pick elements by index or label, and for signals and losses.

use super::layout::{UNKNOWN_SHAPE, attribute, axes_in, axis_in, fact, length_of, only_first, products};
use crate::operators::einsum::Equation;
use crate::operators::spec::Spec;
use crate::rows::Refusal;
use drawloom_tensor::operator::ShapeNumber;
use drawloom_tensor::{Dimension, Fact};

type Facts = Result<Vec<Fact>, Refusal>;

const FIXED: &str = "an input that is the same for all rows is made for a fixed number of them";
const OTHER_AXES: &str = "its inputs have rows along different axes";

/// The rule of an operator, if it is one of these.
pub(super) fn apply(spec: &Spec, inputs: &[Option<&Fact>], x: &Fact) -> Option<Facts> {
    let get = |index: usize| inputs.get(index).copied().flatten();
    Some(match spec.operator.as_str() {
        "GatherElements" | "ScatterElements" | "Scatter" => by_element(spec, inputs, x),
        "GatherND" => gather_nd(spec, x, get(1)),
        "ScatterND" => scatter_nd(x, get(1), get(2)),
        "OneHot" => one_hot(spec, inputs, x),
        "Compress" => compress(spec, inputs, x),
        "ReverseSequence" => reverse(spec, x, get(1)),
        "Trilu" | "Det" => matrices(spec, inputs, x),
        "CenterCropPad" => center(spec, x, get(1)),
        "Einsum" => einsum(spec, inputs),
        "QLinearMatMul" => quantized_product(inputs, x),
        "MeanVarianceNormalization" => over_axes(spec, x),
        "NegativeLogLikelihoodLoss" | "SoftmaxCrossEntropyLoss" => loss(spec, inputs, x),
        "GridSample" => grid_sample(x, get(1)),
        "AffineGrid" => affine_grid(x, get(1)),
        "RoiAlign" => regions(inputs, x),
        "Col2Im" => fold(inputs, x),
        "DFT" => spectrum(spec, inputs, x),
        "STFT" => frames(inputs, x),
        "MaxUnpool" => Err("its indices count through all rows".to_owned()),
        "DynamicQuantizeLinear" => Err("it has one scale for all rows".to_owned()),
        "Unique" | "NonZero" => Err("how much it puts out depends on the values of all rows".to_owned()),
        _ => return None,
    })
}

fn shape_of(fact: &Fact) -> Result<&Vec<Dimension>, Refusal> {
    fact.shape.as_ref().ok_or_else(|| UNKNOWN_SHAPE.to_owned())
}

/// Indices and updates that lie beside the elements: all have rows along the same axis, and none of them is picked.
fn by_element(spec: &Spec, inputs: &[Option<&Fact>], x: &Fact) -> Facts {
    if inputs.iter().flatten().any(|fact| fact.axis.is_none()) {
        return Err(FIXED.to_owned());
    }
    if inputs.iter().flatten().any(|fact| fact.axis != x.axis) {
        return Err(OTHER_AXES.to_owned());
    }
    let axis = axis_in(attribute(spec.int("axis", 0))?, x.rank().ok_or(UNKNOWN_SHAPE)?)?;
    if x.axis == Some(axis) {
        return Err("it picks rows".to_owned());
    }
    let like = if spec.operator == "GatherElements" { inputs.get(1).copied().flatten() } else { Some(x) };
    Ok(vec![fact(like.and_then(|like| like.shape.clone()), x.axis)])
}

fn gather_nd(spec: &Spec, x: &Fact, indices: Option<&Fact>) -> Facts {
    let indices = indices.ok_or(UNKNOWN_SHAPE)?;
    let (data, places) = (shape_of(x)?, shape_of(indices)?);
    let batch = usize::try_from(attribute(spec.int("batch_dims", 0))?).unwrap_or(usize::MAX);
    let Some(Dimension::Known(depth)) = places.last() else { return Err(UNKNOWN_SHAPE.to_owned()) };
    if batch.saturating_add(*depth) > data.len() || batch >= places.len() {
        return Err("its indices do not fit".to_owned());
    }
    let mut shape = places[..places.len() - 1].to_vec();
    shape.extend(data[batch + depth..].iter().cloned());
    let axis = match (x.axis, indices.axis) {
        (Some(own), Some(other)) if own == other && own < batch => own,
        (Some(_), Some(_)) => return Err("both its data and its indices have rows".to_owned()),
        (Some(own), None) if own >= batch + depth => own - batch - depth + places.len() - 1,
        (Some(own), None) if own < batch => return Err(FIXED.to_owned()),
        (Some(_), None) => return Err("it picks rows".to_owned()),
        (None, Some(own)) if own >= batch && own + 1 < places.len() => own,
        (None, _) => return Err(FIXED.to_owned()),
    };
    Ok(vec![fact(Some(shape), Some(axis))])
}

fn scatter_nd(x: &Fact, indices: Option<&Fact>, updates: Option<&Fact>) -> Facts {
    let (indices, updates) = (indices.ok_or(UNKNOWN_SHAPE)?, updates.ok_or(UNKNOWN_SHAPE)?);
    let places = shape_of(indices)?;
    let Some(Dimension::Known(depth)) = places.last() else { return Err(UNKNOWN_SHAPE.to_owned()) };
    let own = x.axis.ok_or(FIXED)?;
    if indices.axis.is_some() || own < *depth {
        return Err("it picks rows".to_owned());
    }
    if updates.axis != Some(places.len() - 1 + own - depth) {
        return Err(if updates.axis.is_none() { FIXED } else { OTHER_AXES }.to_owned());
    }
    Ok(vec![fact(x.shape.clone(), x.axis)])
}

fn one_hot(spec: &Spec, inputs: &[Option<&Fact>], x: &Fact) -> Facts {
    only_first(inputs, Vec::new())?;
    let mut shape = shape_of(x)?.clone();
    let axis = axis_in(attribute(spec.int("axis", -1))?, shape.len() + 1)?;
    let depth = inputs.get(1).copied().flatten().and_then(Fact::integers);
    let depth = depth.and_then(|depth| usize::try_from(*depth.first()?).ok());
    shape.insert(axis, depth.into());
    Ok(vec![fact(Some(shape), x.axis.map(|own| own + usize::from(axis <= own)))])
}

fn compress(spec: &Spec, inputs: &[Option<&Fact>], x: &Fact) -> Facts {
    only_first(inputs, Vec::new())?;
    let mut shape = shape_of(x)?.clone();
    let axis = attribute(spec.optional_int("axis"))?.ok_or("it puts all rows behind each other")?;
    let axis = axis_in(axis, shape.len())?;
    if x.axis == Some(axis) {
        return Err("it picks rows".to_owned());
    }
    shape[axis] = Dimension::Unknown;
    Ok(vec![fact(Some(shape), x.axis)])
}

fn reverse(spec: &Spec, x: &Fact, lengths: Option<&Fact>) -> Facts {
    let rank = x.rank().ok_or(UNKNOWN_SHAPE)?;
    let time = axis_in(attribute(spec.int("time_axis", 0))?, rank)?;
    let batch = axis_in(attribute(spec.int("batch_axis", 1))?, rank)?;
    let has_lengths = lengths.is_some_and(|lengths| lengths.axis.is_some());
    match x.axis {
        Some(own) if own == time => Err("it turns the rows round".to_owned()),
        Some(own) if (own == batch) == has_lengths => Ok(vec![fact(x.shape.clone(), x.axis)]),
        _ => Err(FIXED.to_owned()),
    }
}

/// Operators on matrices, of which there may be a stack.
fn matrices(spec: &Spec, inputs: &[Option<&Fact>], x: &Fact) -> Facts {
    only_first(inputs, Vec::new())?;
    let shape = shape_of(x)?;
    if x.axis.is_some_and(|own| own + 2 >= shape.len()) {
        return Err("the rows are those of its matrix".to_owned());
    }
    let kept = if spec.operator == "Det" { &shape[..shape.len() - 2] } else { &shape[..] };
    Ok(vec![fact(Some(kept.to_vec()), x.axis)])
}

fn center(spec: &Spec, x: &Fact, wanted: Option<&Fact>) -> Facts {
    let mut shape = shape_of(x)?.clone();
    let axes = match attribute(spec.ints("axes"))? {
        Some(axes) => axes_in(&axes, shape.len())?,
        None => (0..shape.len()).collect(),
    };
    let lengths = wanted.and_then(|wanted| wanted.value.as_ref()).ok_or("the shape that it makes is not known")?;
    for (axis, length) in axes.into_iter().zip(lengths) {
        if x.axis == Some(axis) {
            if *length != ShapeNumber::Rows {
                return Err("it cuts or pads rows".to_owned());
            }
            continue;
        }
        if *length == ShapeNumber::Rows {
            return Err("it computes with the number of rows".to_owned());
        }
        shape[axis] = length_of(*length);
    }
    Ok(vec![fact(Some(shape), x.axis)])
}

/// Sums over named axes: the label of the rows must be one of the result, and stand for rows wherever it is.
fn einsum(spec: &Spec, inputs: &[Option<&Fact>]) -> Facts {
    let facts: Vec<&Fact> = inputs.iter().flatten().copied().collect();
    let ranks = facts.iter().map(|fact| fact.rank()).collect::<Option<Vec<_>>>().ok_or(UNKNOWN_SHAPE)?;
    let equation = attribute(spec.text("equation", ""))?;
    let Equation { terms, kept } = Equation::new(&equation, &ranks).ok_or("its equation does not fit")?;
    let mut rows = None;
    for (fact, labels) in facts.iter().zip(&terms) {
        let Some(label) = fact.axis.map(|axis| labels[axis]) else { continue };
        if rows.is_some_and(|rows| rows != label) {
            return Err(OTHER_AXES.to_owned());
        }
        rows = Some(label);
    }
    let rows = rows.ok_or(UNKNOWN_SHAPE)?;
    for (fact, labels) in facts.iter().zip(&terms) {
        for (axis, _) in labels.iter().enumerate().filter(|(axis, label)| **label == rows && fact.axis != Some(*axis)) {
            if fact.shape.as_ref().is_none_or(|shape| shape[axis] != Dimension::Known(1)) {
                return Err(FIXED.to_owned());
            }
        }
    }
    let place = kept.iter().position(|label| *label == rows).ok_or("it adds up over rows")?;
    let length = |label: &char| {
        let found = facts.iter().zip(&terms).find_map(|(fact, labels)| {
            let axis = labels.iter().position(|other| other == label)?;
            fact.shape.as_ref().map(|shape| shape[axis].clone()).filter(|length| *length != Dimension::Known(1))
        });
        found.unwrap_or(Dimension::Known(1))
    };
    Ok(vec![fact(Some(kept.iter().map(length).collect()), Some(place))])
}

fn quantized_product(inputs: &[Option<&Fact>], x: &Fact) -> Facts {
    let scales = inputs.iter().enumerate().filter(|(index, _)| !matches!(index, 0 | 3));
    if scales.filter_map(|(_, fact)| *fact).any(|fact| fact.axis.is_some()) {
        return Err("it has a scale for each row".to_owned());
    }
    products(x, inputs.get(3).copied().flatten().ok_or(UNKNOWN_SHAPE)?)
}

fn over_axes(spec: &Spec, x: &Fact) -> Facts {
    let rank = x.rank().ok_or(UNKNOWN_SHAPE)?;
    let axes = attribute(spec.ints("axes"))?.unwrap_or_else(|| vec![0, 2, 3]);
    let axes = axes_in(&axes, rank)?;
    if x.axis.is_some_and(|own| axes.contains(&own)) {
        return Err("it normalises over all rows".to_owned());
    }
    Ok(vec![fact(x.shape.clone(), x.axis)])
}

fn loss(spec: &Spec, inputs: &[Option<&Fact>], x: &Fact) -> Facts {
    if attribute(spec.text("reduction", "mean"))? != "none" {
        return Err("it makes one value of several rows".to_owned());
    }
    let labels = inputs.get(1).copied().flatten().ok_or(UNKNOWN_SHAPE)?;
    if inputs.get(2).copied().flatten().is_some_and(|weights| weights.axis.is_some()) {
        return Err("its weights have rows".to_owned());
    }
    if x.axis != Some(0) || labels.axis != Some(0) {
        return Err(if labels.axis.is_none() || x.axis.is_none() { FIXED } else { OTHER_AXES }.to_owned());
    }
    Ok(vec![fact(labels.shape.clone(), Some(0)), fact(x.shape.clone(), Some(0))])
}

fn grid_sample(x: &Fact, grid: Option<&Fact>) -> Facts {
    let grid = grid.ok_or(UNKNOWN_SHAPE)?;
    let (image, points) = (shape_of(x)?, shape_of(grid)?);
    if x.axis != Some(0) || grid.axis != Some(0) {
        return Err(if x.axis.is_none() || grid.axis.is_none() { FIXED } else { OTHER_AXES }.to_owned());
    }
    let mut shape = vec![image[0].clone(), image.get(1).cloned().unwrap_or(Dimension::Unknown)];
    shape.extend(points[1..points.len() - 1].iter().cloned());
    Ok(vec![fact(Some(shape), Some(0))])
}

fn affine_grid(theta: &Fact, size: Option<&Fact>) -> Facts {
    let size = size.and_then(|size| size.value.as_ref()).ok_or("the size that it makes is not known")?;
    if theta.axis != Some(0) || size.first() != Some(&ShapeNumber::Rows) {
        return Err("the number of rows is written into its size".to_owned());
    }
    let mut shape = vec![Dimension::Unknown];
    shape.extend(size.iter().skip(2).map(|number| length_of(*number)));
    shape.push(Dimension::Known(size.len().saturating_sub(2)));
    Ok(vec![fact(Some(shape), Some(0))])
}

fn regions(inputs: &[Option<&Fact>], x: &Fact) -> Facts {
    if x.axis.is_some() {
        return Err("its regions name rows by their number".to_owned());
    }
    if inputs.iter().skip(1).flatten().any(|fact| fact.axis != Some(0)) {
        return Err(FIXED.to_owned());
    }
    Ok(vec![fact(Some(vec![Dimension::Unknown; 4]), Some(0))])
}

fn fold(inputs: &[Option<&Fact>], x: &Fact) -> Facts {
    only_first(inputs, Vec::new())?;
    if x.axis != Some(0) {
        return Err(format!("it takes rows along axis 0, and they are along axis {}", x.axis.unwrap_or(0)));
    }
    let image = inputs.get(1).copied().flatten().and_then(|image| image.shape.as_ref());
    let Some([Dimension::Known(axes)]) = image.map(Vec::as_slice) else { return Err(UNKNOWN_SHAPE.to_owned()) };
    Ok(vec![fact(Some(vec![Dimension::Unknown; axes + 2]), Some(0))])
}

fn spectrum(spec: &Spec, inputs: &[Option<&Fact>], x: &Fact) -> Facts {
    only_first(inputs, Vec::new())?;
    let mut shape = shape_of(x)?.clone();
    let axis = match inputs.get(2).copied().flatten() {
        Some(axis) => {
            *axis.integers().and_then(|axis| axis.first().copied()).as_ref().ok_or("its axis is not known")?
        }
        None => attribute(spec.int("axis", if spec.opset < 20 { 1 } else { -2 }))?,
    };
    let axis = axis_in(axis, shape.len())?;
    let last = shape.len() - 1;
    if x.axis == Some(axis) || x.axis == Some(last) {
        return Err("it works along the axis of the rows".to_owned());
    }
    (shape[axis], shape[last]) = (Dimension::Unknown, Dimension::Known(2));
    Ok(vec![fact(Some(shape), x.axis)])
}

fn frames(inputs: &[Option<&Fact>], x: &Fact) -> Facts {
    only_first(inputs, Vec::new())?;
    if x.axis != Some(0) {
        return Err("it works along the axis of the rows".to_owned());
    }
    let mut shape = vec![Dimension::Unknown; 4];
    (shape[0], shape[3]) = (shape_of(x)?[0].clone(), Dimension::Known(2));
    Ok(vec![fact(Some(shape), Some(0))])
}
