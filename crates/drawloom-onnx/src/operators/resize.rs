//! Images of another size: every element is a weighted sum of its neighbours in the input, one axis after another.

use crate::operators::spec::Spec;
use crate::operators::support::{Made, axis_of, doubles, kernel_with, lengths};
use drawloom_tensor::operator::Number;
use drawloom_tensor::operator::around;
use drawloom_tensor::operator::count;
use drawloom_tensor::{Fault, Inputs, Outputs, Scratch, View, with_type};

pub(crate) fn make(spec: &Spec) -> Option<Made> {
    Some(match spec.operator.as_str() {
        "Resize" | "Upsample" => resize(spec),
        _ => return None,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Nearest,
    Linear,
    Cubic,
}

struct Settings {
    mode: Mode,
    coordinates: String,
    nearest: String,
    cubic: f64,
    antialias: bool,
    exclude_outside: bool,
    extrapolation: f64,
    policy: String,
    axes: Option<Vec<i64>>,
    /// The scales as an attribute, in the oldest form.
    scales: Option<Vec<f32>>,
    /// Whether the second input are scales, and there is no region.
    old: bool,
}

fn resize(spec: &Spec) -> Made {
    let old = spec.operator == "Upsample" || spec.opset < 11;
    let mode = match spec.text("mode", "nearest")?.as_str() {
        "nearest" => Mode::Nearest,
        "linear" | "bilinear" => Mode::Linear,
        "cubic" => Mode::Cubic,
        other => return Err(Fault::unsupported(format!("there is no mode `{other}`"))),
    };
    let settings = Settings {
        mode,
        coordinates: spec.text("coordinate_transformation_mode", if old { "asymmetric" } else { "half_pixel" })?,
        nearest: spec.text("nearest_mode", if old { "floor" } else { "round_prefer_floor" })?,
        cubic: f64::from(spec.float("cubic_coeff_a", -0.75)?),
        antialias: spec.flag("antialias", false)?,
        exclude_outside: spec.flag("exclude_outside", false)?,
        extrapolation: f64::from(spec.float("extrapolation_value", 0.0)?),
        policy: spec.text("keep_aspect_ratio_policy", "stretch")?,
        axes: spec.ints("axes")?,
        scales: if spec.operator == "Upsample" { spec.floats("scales")? } else { None },
        old,
    };
    kernel_with(move |inputs, outputs, scratch| settings.run(inputs, outputs, scratch))
}

/// What happens along one axis.
struct AxisPlan {
    length: usize,
    scale: f64,
    region: (f64, f64),
}

impl Settings {
    fn run(&self, inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        let input = inputs.get(0)?;
        let plans = self.plan(inputs, input)?;
        let shape: Vec<usize> = plans.iter().map(|plan| plan.length).collect();
        count(&shape)?;
        let mut values = doubles(input, scratch)?;
        let mut current = input.shape().to_vec();
        // What is computed along each axis that changes.
        let mut along = Vec::new();
        for (axis, plan) in plans.iter().enumerate() {
            let (bytes, identity) = self.lists(input.shape()[axis], plan);
            scratch.count(bytes)?;
            if !identity {
                current[axis] = plan.length;
                along.push((axis, scratch.zeros::<f64>(count(&current)?)?));
            }
        }
        outputs.announce(input.element(), 0, &shape)?;
        scratch.all_there()?;
        current.copy_from_slice(input.shape());
        let mut outside: Vec<Vec<bool>> = shape.iter().map(|length| vec![false; *length]).collect();
        for (axis, mut next) in along {
            let (plan, from) = (&plans[axis], current[axis]);
            let weights: Vec<_> = (0..plan.length).map(|x| self.weights(x, from, plan)).collect();
            outside[axis].iter_mut().zip(&weights).for_each(|(outside, list)| *outside = list.is_none());
            let (outer, _, inner) = around(&current, axis);
            current[axis] = plan.length;
            for block in 0..outer {
                for (x, list) in weights.iter().enumerate() {
                    let Some(list) = list else { continue };
                    let into = &mut next[(block * plan.length + x) * inner..][..inner];
                    for (source, weight) in list {
                        let line = &values[(block * from + source) * inner..][..inner];
                        into.iter_mut().zip(line).for_each(|(into, value)| *into += weight * value);
                    }
                }
            }
            values = next;
        }
        let any_outside = outside.iter().any(|axis| axis.contains(&true));
        with_type!(numbers, input.element(), T => {
            let results = outputs.allocate::<T>(0, &shape)?;
            let mut index = vec![0; shape.len()];
            for (result, value) in results.iter_mut().zip(values.iter()) {
                let out = any_outside && index.iter().zip(&outside).any(|(at, axis)| axis[*at]);
                *result = T::from_f64(if out { self.extrapolation } else { *value });
                crate::operators::movement::advance(&mut index, &shape);
            }
            Ok(())
        })
    }

    /// How many bytes the weights of all elements along an axis take, and whether they change nothing. They are as many as
    /// the axis is long, so they are not kept while they are counted.
    fn lists(&self, from: usize, plan: &AxisPlan) -> (usize, bool) {
        let mut bytes = plan.length.saturating_mul(size_of::<Option<Vec<(usize, f64)>>>());
        let mut identity = plan.length == from;
        for x in 0..plan.length {
            let list = self.weights(x, from, plan);
            bytes += list.as_ref().map_or(0, |list| list.capacity() * size_of::<(usize, f64)>());
            identity &= list.is_some_and(|list| list[..] == [(x, 1.0)]);
        }
        (bytes, identity)
    }

    fn plan(&self, inputs: &Inputs<'_>, input: View<'_>) -> Result<Vec<AxisPlan>, Fault> {
        let rank = input.rank();
        let axes: Vec<usize> = match &self.axes {
            Some(axes) => axes.iter().map(|axis| axis_of(*axis, rank)).collect::<Result<_, _>>()?,
            None => (0..rank).collect(),
        };
        let floats = |view: View<'_>| -> Result<Vec<f64>, Fault> {
            with_type!(floats, view.element(), T => Ok(view.values::<T>()?.iter().map(|value| value.to_f64()).collect()))
        };
        let wrong = |what: &str| Fault::new(format!("{what} do not fit {} axes", axes.len()));
        let given = |index: usize| inputs.optional(index).filter(|view| !view.is_empty());
        let region = match given(1).filter(|_| !self.old && self.coordinates == "tf_crop_and_resize") {
            Some(region) => floats(region)?,
            None => [vec![0.0; axes.len()], vec![1.0; axes.len()]].concat(),
        };
        if region.len() != 2 * axes.len() {
            return Err(wrong("the numbers of the region"));
        }
        let mut plans: Vec<AxisPlan> =
            input.shape().iter().map(|length| AxisPlan { length: *length, scale: 1.0, region: (0.0, 1.0) }).collect();
        for (place, axis) in axes.iter().enumerate() {
            plans[*axis].region = (region[place], region[place + axes.len()]);
        }
        let scales = match (&self.scales, self.old) {
            (Some(scales), _) => Some(scales.iter().map(|scale| f64::from(*scale)).collect()),
            (None, true) => Some(floats(inputs.get(1)?)?),
            (None, false) => given(2).map(floats).transpose()?,
        };
        if let Some(scales) = scales {
            if scales.len() != axes.len() || scales.iter().any(|scale| !scale.is_finite() || *scale <= 0.0) {
                return Err(wrong("the scales"));
            }
            for (scale, axis) in scales.iter().zip(&axes) {
                plans[*axis].scale = *scale;
                plans[*axis].length = (input.shape()[*axis] as f64 * scale) as usize;
            }
            return Ok(plans);
        }
        let sizes = lengths(&given(3).ok_or_else(|| Fault::new("neither scales nor sizes are there"))?.integers()?)?;
        if sizes.len() != axes.len() || axes.iter().any(|axis| input.shape()[*axis] == 0) {
            return Err(wrong("the sizes"));
        }
        let ratios: Vec<f64> =
            sizes.iter().zip(&axes).map(|(size, axis)| *size as f64 / input.shape()[*axis] as f64).collect();
        let common = match self.policy.as_str() {
            "stretch" => None,
            "not_larger" => ratios.iter().copied().reduce(f64::min),
            "not_smaller" => ratios.iter().copied().reduce(f64::max),
            other => return Err(Fault::new(format!("there is no policy `{other}`"))),
        };
        for ((size, ratio), axis) in sizes.iter().zip(&ratios).zip(&axes) {
            plans[*axis].scale = common.unwrap_or(*ratio);
            plans[*axis].length = common.map_or(*size, |scale| (scale * input.shape()[*axis] as f64 + 0.5) as usize);
        }
        Ok(plans)
    }

    /// The neighbours of an element and their weights; none if it lies outside of what may be sampled.
    fn weights(&self, x: usize, length: usize, plan: &AxisPlan) -> Option<Vec<(usize, f64)>> {
        let (position, from, scale) = (x as f64, length as f64, plan.scale);
        let resized = scale * from;
        let source = match self.coordinates.as_str() {
            "align_corners" if resized == 1.0 => 0.0,
            "align_corners" => position * (from - 1.0) / (resized - 1.0),
            "asymmetric" => position / scale,
            "tf_crop_and_resize" => {
                let (start, end) = plan.region;
                let along = if resized == 1.0 {
                    (end - start) * (from - 1.0) / 2.0
                } else {
                    position * (end - start) * (from - 1.0) / (resized - 1.0)
                };
                let source = along + start * (from - 1.0);
                if source < 0.0 || source > from - 1.0 {
                    return None;
                }
                source
            }
            "pytorch_half_pixel" if resized == 1.0 => -0.5,
            "half_pixel_symmetric" => {
                let adjustment = plan.length as f64 / resized;
                from / 2.0 * (1.0 - adjustment) + (position + 0.5) / scale - 0.5
            }
            _ => (position + 0.5) / scale - 0.5,
        };
        // The neighbour on the left is always further left than the element itself: the ratio is in (0, 1].
        let base = source.ceil() - 1.0;
        let ratio = source - base;
        let (first, mut weights) = self.coefficients(ratio, scale.min(1.0));
        let places: Vec<i64> = (0..weights.len() as i64).map(|step| base as i64 + first + step).collect();
        if self.exclude_outside {
            for (weight, place) in weights.iter_mut().zip(&places) {
                if !(0..length as i64).contains(place) {
                    *weight = 0.0;
                }
            }
            let sum: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|weight| *weight /= sum);
        }
        let clamped = places.iter().map(|place| (*place).clamp(0, length as i64 - 1) as usize);
        Some(clamped.zip(weights).filter(|(_, weight)| *weight != 0.0).collect())
    }

    /// The weights of the neighbours, and the first of them, counted from the one on the left.
    fn coefficients(&self, ratio: f64, scale: f64) -> (i64, Vec<f64>) {
        let a = self.cubic;
        let cubic = |x: f64| {
            let x = x.abs();
            if x <= 1.0 {
                ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
            } else if x < 2.0 {
                ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
            } else {
                0.0
            }
        };
        let spread = |width: f64, weight: &dyn Fn(f64) -> f64| {
            let first = (-width / scale).floor() as i64 + 1;
            // A scale near zero would ask for endless neighbours.
            let first = first.max(-(1 << 20));
            let mut weights: Vec<f64> = (first..2 - first).map(|step| weight(scale * (step as f64 - ratio))).collect();
            let sum: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|weight| *weight /= sum);
            (first, weights)
        };
        match self.mode {
            Mode::Nearest => {
                let right = match self.nearest.as_str() {
                    _ if ratio == 1.0 => true,
                    "round_prefer_ceil" => ratio >= 0.5,
                    "floor" => false,
                    "ceil" => true,
                    _ => ratio > 0.5,
                };
                (i64::from(right), vec![1.0])
            }
            Mode::Linear if self.antialias => spread(1.0, &|x| (1.0 - x.abs()).clamp(0.0, 1.0)),
            Mode::Linear => (0, vec![1.0 - ratio, ratio]),
            Mode::Cubic if self.antialias => spread(2.0, &cubic),
            Mode::Cubic => (-1, (-1..3).map(|step| cubic(f64::from(step) - ratio)).collect()),
        }
    }
}
