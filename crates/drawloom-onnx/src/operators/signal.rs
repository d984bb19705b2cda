//! Spectra of signals, and the windows and weights that belong to them.

use std::f64::consts::PI;

use crate::operators::shape::onnx_type;
use crate::operators::spec::Spec;
use crate::operators::support::{Made, axis_of, doubles, kernel, kernel_with};
use drawloom_tensor::operator::Buffer;
use drawloom_tensor::operator::Number;
use drawloom_tensor::operator::around;
use drawloom_tensor::{Fault, Inputs, Outputs, Scratch, View, with_type};

pub(crate) fn make(spec: &Spec) -> Option<Made> {
    Some(match spec.operator.as_str() {
        "HannWindow" => window(spec, |angle| 0.5 - 0.5 * angle.cos()),
        "HammingWindow" => window(spec, |angle| 25.0 / 46.0 - 21.0 / 46.0 * angle.cos()),
        "BlackmanWindow" => window(spec, |angle| 0.42 - 0.5 * angle.cos() + 0.08 * (2.0 * angle).cos()),
        "MelWeightMatrix" => mel(spec),
        "DFT" => transform(spec),
        "STFT" => frames(spec),
        _ => return None,
    })
}

/// One number of any type.
fn number(view: View<'_>) -> Result<f64, Fault> {
    with_type!(numbers, view.element(), T => Ok(view.only::<T>()?.to_f64()))
}

/// A size that tables are made for.
fn size(view: View<'_>) -> Result<usize, Fault> {
    let size = number(view)?;
    if (0.0..16_777_216.0).contains(&size) {
        Ok(size as usize)
    } else {
        Err(Fault::new(format!("the size {size} is out of bounds")))
    }
}

fn window(spec: &Spec, value: fn(f64) -> f64) -> Made {
    let element = onnx_type(spec.int("output_datatype", 1)?)?;
    let periodic = spec.flag("periodic", true)?;
    kernel(move |inputs, outputs| {
        let size = size(inputs.get(0)?)?;
        let period = if periodic { size } else { size.saturating_sub(1) } as f64;
        with_type!(numbers, element, T => {
            let results = outputs.allocate::<T>(0, &[size])?;
            for (index, result) in results.iter_mut().enumerate() {
                *result = T::from_f64(value(2.0 * PI * index as f64 / period));
            }
            Ok(())
        })
    })
}

fn mel(spec: &Spec) -> Made {
    let element = onnx_type(spec.int("output_datatype", 1)?)?;
    kernel(move |inputs, outputs| {
        let (bins, length) = (size(inputs.get(0)?)?, size(inputs.get(1)?)?);
        let (rate, low, high) = (number(inputs.get(2)?)?, number(inputs.get(3)?)?, number(inputs.get(4)?)?);
        let mel = |hertz: f64| 2595.0 * (1.0 + hertz / 700.0).log10();
        let step = (mel(high) - mel(low)) / (bins + 2) as f64;
        let lines = length / 2 + 1;
        let point = |number: usize| {
            let hertz = 700.0 * (10f64.powf((number as f64 * step + mel(low)) / 2595.0) - 1.0);
            let point = ((length + 1) as f64 * hertz / rate).floor();
            if (0.0..lines as f64).contains(&point) {
                Ok(point as usize)
            } else {
                Err(Fault::new("the edges do not fit the sample rate"))
            }
        };
        let points = (0..bins + 2).map(point).collect::<Result<Vec<_>, _>>()?;
        with_type!(numbers, element, T => {
            let results = outputs.allocate::<T>(0, &[lines, bins])?;
            for bin in 0..bins {
                let (left, center, right) = (points[bin], points[bin + 1], points[bin + 2]);
                if left == center {
                    results[center * bins + bin] = T::ONE;
                }
                for line in left..=center {
                    if center > left {
                        results[line * bins + bin] = T::from_f64((line - left) as f64 / (center - left) as f64);
                    }
                }
                for line in center..right {
                    results[line * bins + bin] = T::from_f64((right - line) as f64 / (right - center) as f64);
                }
            }
            Ok(())
        })
    })
}

/// The spectrum of a list of complex numbers, padded with zeros or cut to a length.
fn spectrum<T: Number>(values: &[(f64, f64)], length: usize, inverse: bool) -> Vec<(T, T)> {
    let narrow = |value: f64| T::from_f64(value);
    let mut line: Vec<(T, T)> = values.iter().take(length).map(|value| (narrow(value.0), narrow(value.1))).collect();
    line.resize(length, (T::ZERO, T::ZERO));
    let sign = if inverse { 2.0 } else { -2.0 };
    let roots: Vec<(T, T)> = (0..length)
        .map(|step| {
            let angle = sign * PI * step as f64 / length as f64;
            (narrow(angle.cos()), narrow(angle.sin()))
        })
        .collect();
    let mut result = line.clone();
    transform_part(&mut line, &mut result, &roots, 1);
    if inverse {
        let factor = narrow(1.0 / length as f64);
        result.iter_mut().for_each(|value| *value = (value.0.times(factor), value.1.times(factor)));
    }
    result
}

/// The same, computed in double precision.
fn wide<T: Number>(values: &[(f64, f64)], length: usize, inverse: bool) -> Vec<(T, T)> {
    let lines = spectrum::<f64>(values, length, inverse);
    lines.into_iter().map(|(real, imaginary)| (T::from_f64(real), T::from_f64(imaginary))).collect()
}

fn smallest_factor(number: usize) -> usize {
    (2..).take_while(|factor| factor * factor <= number).find(|factor| number.is_multiple_of(*factor)).unwrap_or(number)
}

/// The mixed-radix algorithm, decimated in frequency: the sums over the smallest factor first, then the parts by themselves.
/// The sums pair what is as far from the beginning as from the end, which saves half of the products.
fn transform_part<T: Number>(line: &mut [(T, T)], result: &mut [(T, T)], roots: &[(T, T)], stride: usize) {
    let length = line.len();
    if length <= 1 {
        result.copy_from_slice(line);
        return;
    }
    let radix = smallest_factor(length);
    let part = length / radix;
    let multiply = |a: (T, T), b: (T, T)| (a.0.times(b.0).minus(a.1.times(b.1)), a.0.times(b.1).plus(a.1.times(b.0)));
    let mut column = vec![(T::ZERO, T::ZERO); radix];
    for place in 0..part {
        for (step, value) in column.iter_mut().enumerate() {
            *value = line[place + step * part];
        }
        let sums = small_transform(&column, roots, stride * part);
        for (step, sum) in sums.into_iter().enumerate() {
            let root = roots[(place * step * stride) % roots.len()];
            line[place + step * part] = if place * step == 0 { sum } else { multiply(sum, root) };
        }
    }
    let mut lines = vec![(T::ZERO, T::ZERO); part];
    for (step, own) in line.chunks_exact_mut(part).enumerate() {
        transform_part(own, &mut lines, roots, stride * radix);
        for (place, value) in lines.iter().enumerate() {
            result[place * radix + step] = *value;
        }
    }
}

/// The transform of a few numbers, by the sums that define it.
fn small_transform<T: Number>(values: &[(T, T)], roots: &[(T, T)], stride: usize) -> Vec<(T, T)> {
    let radix = values.len();
    let plus = |a: (T, T), b: (T, T)| (a.0.plus(b.0), a.1.plus(b.1));
    let minus = |a: (T, T), b: (T, T)| (a.0.minus(b.0), a.1.minus(b.1));
    if radix == 2 {
        return vec![plus(values[0], values[1]), minus(values[0], values[1])];
    }
    let half = radix / 2;
    let pairs: Vec<_> = (1..=half)
        .map(|step| (plus(values[step], values[radix - step]), minus(values[step], values[radix - step])))
        .collect();
    let mut result = vec![pairs.iter().fold(values[0], |sum, pair| plus(sum, pair.0)); radix];
    for line in 1..=half {
        let mut even = values[0];
        let mut odd = (T::ZERO, T::ZERO);
        for (step, (sum, difference)) in pairs.iter().enumerate() {
            let root = roots[((step + 1) * line % radix) * stride];
            even = plus(even, (root.0.times(sum.0), root.0.times(sum.1)));
            odd = plus(odd, (root.1.times(difference.0), root.1.times(difference.1)));
        }
        // Multiplied with the imaginary unit.
        let turned = (T::ZERO.minus(odd.1), odd.0);
        result[line] = plus(even, turned);
        result[radix - line] = minus(even, turned);
    }
    result
}

/// Complex numbers in a shape.
struct Signal<'a> {
    /// Real and imaginary parts, or real parts only.
    values: Buffer<f64>,
    parts: usize,
    shape: &'a [usize],
}

impl Signal<'_> {
    fn at(&self, index: usize) -> (f64, f64) {
        (self.values[index * self.parts], if self.parts == 2 { self.values[index * 2 + 1] } else { 0.0 })
    }
}

/// The elements of a signal whose last axis has the real part, and maybe the imaginary one.
fn complex<'a>(view: View<'a>, scratch: &mut Scratch) -> Result<Signal<'a>, Fault> {
    let Some((parts @ 1..=2, shape)) = view.shape().split_last() else {
        return Err(Fault::new(format!("a signal has one or two parts in its last axis, not {:?}", view.shape())));
    };
    Ok(Signal { values: doubles(view, scratch)?, parts: *parts, shape })
}

/// What a spectrum of so many elements takes at most while it is computed: its line, roots, results and sums, and the same
/// of its parts.
fn spectrum_bytes(length: usize) -> usize {
    length.saturating_mul(12 * size_of::<(f64, f64)>())
}

fn transform(spec: &Spec) -> Made {
    let inverse = spec.flag("inverse", false)?;
    let onesided = spec.flag("onesided", false)?;
    let given = spec.int("axis", if spec.opset < 20 { 1 } else { -2 })?;
    kernel_with(move |inputs, outputs, scratch| {
        let input = inputs.get(0)?;
        let signal = complex(input, scratch)?;
        let shape = signal.shape;
        // As in the reference: real signals are transformed in double precision, complex ones in their own.
        let is_real = input.shape().last() == Some(&1);
        let axis = inputs.optional(2).map_or(Ok(given), |axis| Ok::<_, Fault>(number(axis)? as i64))?;
        let axis = axis_of(axis, input.rank())?;
        if axis == shape.len() {
            return Err(Fault::new("the axis is that of the real and imaginary parts"));
        }
        let (outer, length, inner) = around(shape, axis);
        let wanted = inputs.optional(1).map_or(Ok(length), size)?;
        if wanted == 0 {
            return Err(Fault::new("a spectrum needs a length"));
        }
        let kept = if onesided { wanted / 2 + 1 } else { wanted };
        let mut result_shape = shape.to_vec();
        result_shape[axis] = kept;
        result_shape.push(2);
        scratch.count(spectrum_bytes(wanted.max(length)))?;
        with_type!(floats, input.element(), T => {
            let results = outputs.allocate::<T>(0, &result_shape)?;
            for block in 0..outer {
                for place in 0..inner {
                    let line: Vec<(f64, f64)> = (0..length).map(|step| signal.at((block * length + step) * inner + place)).collect();
                    let lines = if is_real { wide(&line, wanted, inverse) } else { spectrum::<T>(&line, wanted, inverse) };
                    for (step, (real, imaginary)) in lines.into_iter().take(kept).enumerate() {
                        let at = 2 * ((block * kept + step) * inner + place);
                        (results[at], results[at + 1]) = (real, imaginary);
                    }
                }
            }
            Ok(())
        })
    })
}

fn frames(spec: &Spec) -> Made {
    let onesided = spec.flag("onesided", true)?;
    kernel_with(move |inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, scratch: &mut Scratch| {
        let input = inputs.get(0)?;
        let flat = [input.shape(), &[1]].concat();
        let input = if input.rank() == 2 { input.with_shape(&flat)? } else { input };
        let signal = complex(input, scratch)?;
        let shape = signal.shape;
        let &[batch, length] = shape else {
            return Err(Fault::new(format!("a signal has three axes, not {:?}", input.shape())));
        };
        let hop = size(inputs.get(1)?)?;
        let window = inputs.optional(2);
        let weights = window.map(|window| doubles(window, scratch)).transpose()?;
        let frame = match (inputs.optional(3), window) {
            (Some(frame), _) => size(frame)?,
            (None, Some(window)) => window.len(),
            (None, None) => return Err(Fault::new("neither a window nor a frame length is there")),
        };
        if hop == 0 || frame == 0 || frame > length || window.is_some_and(|window| window.len() != frame) {
            return Err(Fault::new(format!(
                "frames of {frame} elements, {hop} apart, do not fit a signal of {length}"
            )));
        }
        let count = (length - frame) / hop + 1;
        let kept = if onesided { frame / 2 + 1 } else { frame };
        scratch.count(spectrum_bytes(frame))?;
        with_type!(floats, input.element(), T => {
            let results = outputs.allocate::<T>(0, &[batch, count, kept, 2])?;
            for item in 0..batch {
                for number in 0..count {
                    let first = item * length + number * hop;
                    let weight = |step: usize| weights.as_ref().map_or(1.0, |weights| weights[step]);
                    let line: Vec<(f64, f64)> = (0..frame).map(|step| (signal.at(first + step).0 * weight(step), signal.at(first + step).1 * weight(step))).collect();
                    for (step, (real, imaginary)) in wide::<T>(&line, frame, false).into_iter().take(kept).enumerate() {
                        let at = 2 * ((item * count + number) * kept + step);
                        (results[at], results[at + 1]) = (real, imaginary);
                    }
                }
            }
            Ok(())
        })
    })
}
