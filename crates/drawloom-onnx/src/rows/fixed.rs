//! Shapes of what depends on no rows. They need no rules, but what comes later may need them.

use super::layout::{axes_in, axes_of, axis_in, fact, products};
use super::moves::{concat, expand, gather, parts, product, split, transpose};
use crate::operators::spec::Spec;
use drawloom_tensor::{Dimension, Fact};

/// The shapes of results that depend on no rows, as far as that is easily said.
pub(super) fn shapes(spec: &Spec, inputs: &[Option<&Fact>]) -> Option<Vec<Fact>> {
    let get = |index: usize| inputs.get(index).copied().flatten();
    match spec.operator.as_str() {
        "MatMul" | "MatMulInteger" => products(get(0)?, get(1)?).ok(),
        "Gemm" => {
            let (a, b) = (get(0)?.shape.as_ref()?, get(1)?.shape.as_ref()?);
            let turned = |name: &'static str| spec.flag(name, false).ok().map(usize::from);
            let shape = vec![a.get(turned("transA")?)?.clone(), b.get(1 - turned("transB")?)?.clone()];
            Some(vec![fact(Some(shape), None)])
        }
        "Softmax" | "LogSoftmax" | "Hardmax" | "CumSum" | "LpNormalization" | "LayerNormalization" => {
            Some(vec![fact(get(0)?.shape.clone(), None)])
        }
        "Transpose" => transpose(spec, get(0)?).ok(),
        "Concat" => concat(spec, inputs).ok(),
        "Split" => split(spec, inputs, get(0)?).ok(),
        "Slice" | "Pad" | "Tile" => parts(spec, inputs, get(0)?).ok(),
        "Expand" => expand(get(0)?, get(1)).ok(),
        "Gather" => gather(spec, get(0)?, get(1)?).ok(),
        "Unsqueeze" | "Squeeze" | "Reshape" | "Flatten" => reshaped(spec, get(0)?, get(1)),
        operator if operator.starts_with("Reduce") || operator.starts_with("Arg") => {
            let x = get(0)?;
            let axes = match get(1) {
                Some(axes) => Some(axes.integers()?),
                None if operator.starts_with("Arg") => Some(vec![spec.int("axis", 0).ok()?]),
                None => spec.ints("axes").ok()?,
            };
            let rank = x.rank()?;
            let axes = match axes.filter(|axes| !axes.is_empty()) {
                Some(axes) => axes_in(&axes, rank).ok()?,
                None => (0..rank).collect(),
            };
            let keep = spec.flag("keepdims", true).ok()?;
            let shape = x.shape.as_ref()?.iter().enumerate();
            let length = |(axis, length): (usize, &Dimension)| match axes.contains(&axis) {
                true => keep.then_some(Dimension::Known(1)),
                false => Some(length.clone()),
            };
            Some(vec![fact(Some(shape.filter_map(length).collect()), None)])
        }
        _ => None,
    }
}

/// The shape of a tensor without rows in another shape.
fn reshaped(spec: &Spec, x: &Fact, wanted: Option<&Fact>) -> Option<Vec<Fact>> {
    let shape = x.shape.as_ref()?;
    let result = match spec.operator.as_str() {
        "Reshape" => {
            let wanted = wanted?.integers()?;
            let keeps = !spec.flag("allowzero", false).ok()?;
            let length = |(axis, length): (usize, &i64)| match length {
                0 if keeps => shape.get(axis).cloned().unwrap_or(Dimension::Unknown),
                length => usize::try_from(*length).ok().into(),
            };
            let mut result: Vec<Dimension> = wanted.iter().enumerate().map(length).collect();
            if let Some(open) = wanted.iter().position(|length| *length == -1)
                && let Dimension::Known(all) = product(shape)
            {
                result[open] = Dimension::Known(1);
                let Dimension::Known(others) = product(&result) else { return None };
                result[open] = all.checked_div(others).into();
            }
            result
        }
        "Flatten" => {
            let axis = spec.int("axis", 1).ok()?;
            let axis = if axis == shape.len() as i64 { shape.len() } else { axis_in(axis, shape.len()).ok()? };
            vec![product(&shape[..axis]), product(&shape[axis..])]
        }
        operator => {
            let axes = axes_of(spec, wanted).ok()?;
            let added = if operator == "Unsqueeze" { axes.as_ref()?.len() } else { 0 };
            let rank = shape.len() + added;
            let axes = axes_in(&axes?, rank).ok()?;
            if operator == "Unsqueeze" {
                let mut old = shape.iter().cloned();
                (0..rank)
                    .map(|axis| if axes.contains(&axis) { Some(Dimension::Known(1)) } else { old.next() })
                    .collect::<Option<_>>()?
            } else {
                (0..rank).filter(|axis| !axes.contains(axis)).map(|axis| shape[axis].clone()).collect()
            }
        }
    };
    Some(vec![fact(Some(result), None)])
}
