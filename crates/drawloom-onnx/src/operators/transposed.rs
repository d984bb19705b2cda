//! Convolutions the other way round: each element of the input is added to all places that its windows come from.

use crate::operators::convolution::add_bias;
use crate::operators::movement::advance;
use crate::operators::spec::Spec;
use crate::operators::support::{Made, expect_rank, kernel};
use crate::operators::window::{Steps, WindowSpec};
use drawloom_tensor::operator::count;
use drawloom_tensor::{Fault, with_type};

pub(crate) fn transposed(spec: &Spec) -> Made {
    let groups = spec.int("group", 1)?;
    let extra = spec.ints("output_padding")?;
    let wanted = spec.ints("output_shape")?;
    let auto_pad = spec.text("auto_pad", "NOTSET")?;
    let windows = WindowSpec::new(spec)?;
    kernel(move |inputs, outputs| {
        let (input, weight) = (inputs.get(0)?, inputs.get(1)?);
        expect_rank(input, 2, "a convolution")?;
        let (x, w) = (input.shape(), weight.shape());
        let wrong =
            || Fault::new(format!("weights of shape {w:?} in {groups} groups do not fit an input of shape {x:?}"));
        let groups = usize::try_from(groups).ok().filter(|groups| *groups > 0).ok_or_else(wrong)?;
        if w.len() != x.len() || w[0] != x[1] || !x[1].is_multiple_of(groups) {
            return Err(wrong());
        }
        let axes = x.len() - 2;
        let plan = TransposedPlan::new(&windows, &x[2..], &w[2..], extra.as_deref(), wanted.as_deref(), &auto_pad)?;
        let (outs, ins) = (w[1], x[1] / groups);
        let mut shape = vec![x[0], outs.checked_mul(groups).ok_or_else(wrong)?];
        shape.extend(&plan.output);
        count(&shape)?;
        let (from_places, kernel_size): (usize, usize) = (x[2..].iter().product(), w[2..].iter().product());
        let places: usize = plan.output.iter().product();
        with_type!(floats, input.element(), T => {
            let results = outputs.allocate::<T>(0, &shape)?;
            let (values, weights) = (input.values::<T>()?, weight.values::<T>()?);
            for item in 0..x[0] {
                for channel in 0..x[1] {
                    let group = channel / ins;
                    let mut at = vec![0; axes];
                    for place in 0..from_places {
                        let value = values[(item * x[1] + channel) * from_places + place];
                        let mut k = vec![0; axes];
                        for kernel_place in 0..kernel_size {
                            if let Some(target) = plan.target(&at, &k) {
                                for out in 0..outs {
                                    let into = ((item * groups + group) * outs + out) * places + target;
                                    results[into] += value * weights[(channel * outs + out) * kernel_size + kernel_place];
                                }
                            }
                            advance(&mut k, &w[2..]);
                        }
                        advance(&mut at, &x[2..]);
                    }
                }
            }
            if let Some(bias) = inputs.optional(2) {
                add_bias::<T>(results, bias, &shape)?;
            }
            Ok(())
        })
    })
}

/// Where each element goes under each element of the kernel.
struct TransposedPlan {
    strides: Vec<usize>,
    dilations: Vec<usize>,
    before: Vec<usize>,
    output: Vec<usize>,
}

impl TransposedPlan {
    fn new(
        spec: &WindowSpec,
        input: &[usize],
        kernel: &[usize],
        extra: Option<&[i64]>,
        wanted: Option<&[i64]>,
        auto_pad: &str,
    ) -> Result<Self, Fault> {
        let Steps { strides, dilations, pads } = spec.raw(input.len())?;
        let mut plan = Self { strides, dilations, before: Vec::new(), output: Vec::new() };
        let list = |values: Option<&[i64]>, axis: usize| -> Result<Option<usize>, Fault> {
            let Some(values) = values else { return Ok(None) };
            let value =
                values.get(axis).and_then(|value| usize::try_from(*value).ok()).filter(|value| *value < 1 << 24);
            value.map(Some).ok_or_else(|| Fault::new(format!("the lengths {values:?} do not fit {} axes", input.len())))
        };
        for axis in 0..input.len() {
            let more = list(extra, axis)?.unwrap_or(0);
            let stride = plan.strides[axis];
            let full = input[axis]
                .saturating_sub(1)
                .saturating_mul(stride)
                .saturating_add((kernel[axis].max(1) - 1) * plan.dilations[axis] + 1 + more);
            let same = auto_pad.starts_with("SAME").then(|| input[axis].saturating_mul(stride));
            let (before, length) = match list(wanted, axis)?.or(same) {
                Some(length) => {
                    let total = full.saturating_sub(length);
                    // The larger half goes to the end, unless the node says otherwise.
                    (if auto_pad == "SAME_UPPER" { total / 2 } else { total - total / 2 }, length)
                }
                None => {
                    let length = full.checked_sub(pads[axis] + pads[axis + input.len()]);
                    (pads[axis], length.ok_or_else(|| Fault::new("the pads are larger than the result"))?)
                }
            };
            plan.before.push(before);
            plan.output.push(length);
        }
        Ok(plan)
    }

    fn target(&self, at: &[usize], kernel: &[usize]) -> Option<usize> {
        (0..at.len()).try_fold(0usize, |offset, axis| {
            let place =
                (at[axis] * self.strides[axis] + kernel[axis] * self.dilations[axis]).checked_sub(self.before[axis])?;
            (place < self.output[axis]).then(|| offset * self.output[axis] + place)
        })
    }
}
