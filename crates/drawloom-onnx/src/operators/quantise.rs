//! Numbers as bytes with a scale and a zero point.

use crate::operators::shape::onnx_type;
use crate::operators::spec::Spec;
use crate::operators::support::{Made, axis_of, doubles, kernel, kernel_with, steps};
use drawloom_tensor::operator::Buffer;
use drawloom_tensor::operator::Number;
use drawloom_tensor::{ElementType, Fault, Inputs, Outputs, Scratch, View, with_type};

pub(crate) fn make(spec: &Spec) -> Option<Made> {
    Some(match spec.operator.as_str() {
        "QuantizeLinear" => quantize(spec),
        "DequantizeLinear" => dequantize(spec),
        "DynamicQuantizeLinear" => kernel(dynamic),
        _ => return None,
    })
}

/// Which scale belongs to each element: one for all, one for each slice along an axis, or one for each block of it.
fn scale_index(input: &[usize], scale: &[usize], axis: i64, block: i64) -> Result<Box<dyn Fn(usize) -> usize>, Fault> {
    let wrong = || Fault::new(format!("scales of shape {scale:?} do not fit an input of shape {input:?}"));
    let size: usize = scale.iter().product();
    if size == 1 && block == 0 {
        return Ok(Box::new(|_| 0));
    }
    let axis = axis_of(axis, input.len())?;
    let own = steps(input);
    if block == 0 {
        if scale != [input[axis]] {
            return Err(wrong());
        }
        let (step, length) = (own[axis] as usize, input[axis]);
        return Ok(Box::new(move |index| index / step % length));
    }
    let block = usize::try_from(block).map_err(|_| wrong())?;
    let fits = scale.len() == input.len()
        && (0..input.len()).all(|other| {
            if other == axis { scale[other] == input[other].div_ceil(block) } else { scale[other] == input[other] }
        });
    if !fits {
        return Err(wrong());
    }
    let (input, into) = (input.to_vec(), steps(scale));
    Ok(Box::new(move |index| {
        (0..input.len())
            .map(|other| {
                let at = index / own[other] as usize % input[other];
                (if other == axis { at / block } else { at }) * into[other] as usize
            })
            .sum()
    }))
}

fn floats(view: View<'_>, scratch: &mut Scratch) -> Result<Buffer<f64>, Fault> {
    with_type!(floats, view.element(), T => scratch.converted(view, |value: T| value.to_f64()))
}

fn whole(view: View<'_>, scratch: &mut Scratch) -> Result<Buffer<f64>, Fault> {
    with_type!(integers, view.element(), T => scratch.converted(view, |value: T| value.to_f64()))
}

/// The scales, and a zero point for each of them.
fn scales(inputs: &Inputs<'_>, scratch: &mut Scratch) -> Result<(Buffer<f64>, Buffer<f64>), Fault> {
    let (scales, zeros) = (inputs.get(1)?, inputs.optional(2));
    if let Some(zeros) = zeros.filter(|zeros| zeros.len() != scales.len()) {
        return Err(Fault::new(format!("{} zero points do not fit {} scales", zeros.len(), scales.len())));
    }
    let values = floats(scales, scratch)?;
    let zeros = match zeros {
        Some(zeros) => whole(zeros, scratch)?,
        None => scratch.zeros(scales.len())?,
    };
    Ok((values, zeros))
}

fn quantize(spec: &Spec) -> Made {
    let axis = spec.int("axis", 1)?;
    let block = spec.int("block_size", 0)?;
    let to = spec.int("output_dtype", 0)?;
    let to = if to == 0 { None } else { Some(onnx_type(to)?) };
    spec.ignore(&["saturate"]);
    kernel_with(move |inputs, outputs, scratch| {
        let (input, scale) = (inputs.get(0)?, inputs.get(1)?);
        let which = scale_index(input.shape(), scale.shape(), axis, block)?;
        let (scales, zeros) = scales(inputs, scratch)?;
        let element = inputs.optional(2).map(|zero| zero.element()).or(to).unwrap_or(ElementType::U8);
        let values = doubles(input, scratch)?;
        with_type!(integers, element, R => {
            let results = outputs.allocate::<R>(0, input.shape())?;
            for (index, (result, value)) in results.iter_mut().zip(values.iter()).enumerate() {
                let at = which(index);
                // The quotient is rounded in the precision of the scale.
                let quotient = f64::from((value / scales[at]) as f32);
                *result = R::from_f64(quotient.round_ties_even() + zeros[at]);
            }
            Ok(())
        })
    })
}

fn dequantize(spec: &Spec) -> Made {
    let axis = spec.int("axis", 1)?;
    let block = spec.int("block_size", 0)?;
    kernel_with(move |inputs, outputs, scratch| {
        let (input, scale) = (inputs.get(0)?, inputs.get(1)?);
        let which = scale_index(input.shape(), scale.shape(), axis, block)?;
        let (scales, zeros) = scales(inputs, scratch)?;
        let values = whole(input, scratch)?;
        with_type!(floats, scale.element(), R => {
            let results = outputs.allocate::<R>(0, input.shape())?;
            for (index, (result, value)) in results.iter_mut().zip(values.iter()).enumerate() {
                let at = which(index);
                *result = R::from_f64((value - zeros[at]) * scales[at]);
            }
            Ok(())
        })
    })
}

fn dynamic(inputs: &Inputs<'_>, outputs: &mut Outputs<'_>) -> Result<(), Fault> {
    let input = inputs.get(0)?;
    outputs.announce(ElementType::U8, 0, input.shape())?;
    outputs.announce(ElementType::F32, 1, &[])?;
    outputs.announce(ElementType::U8, 2, &[])?;
    let values = input.values::<f32>()?;
    let (low, high) = values.iter().fold((0.0f32, 0.0f32), |(low, high), value| (low.min(*value), high.max(*value)));
    let scale = if high == low { 1.0 } else { (high - low) / 255.0 };
    let zero = (-low / scale).round_ties_even().clamp(0.0, 255.0);
    let results = outputs.allocate::<u8>(0, input.shape())?;
    for (result, value) in results.iter_mut().zip(values) {
        *result = ((value / scale).round_ties_even() + zero) as u8;
    }
    outputs.allocate::<f32>(1, &[])?[0] = scale;
    outputs.allocate::<u8>(2, &[])?[0] = zero as u8;
    Ok(())
}
