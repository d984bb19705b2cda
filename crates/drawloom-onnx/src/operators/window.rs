//! Windows that move over the last axes of a tensor: their sizes, steps and pads, for convolutions and pools.

use crate::operators::spec::Spec;
use drawloom_tensor::Fault;

/// What a node says about its windows.
#[derive(Clone, Debug)]
pub(crate) struct WindowSpec {
    auto_pad: String,
    kernel: Option<Vec<usize>>,
    dilations: Option<Vec<usize>>,
    strides: Option<Vec<usize>>,
    pads: Option<Vec<usize>>,
    pub(crate) ceil: bool,
}

/// Windows over axes of known length.
#[derive(Clone, Debug)]
pub(crate) struct Windows {
    pub(crate) input: Vec<usize>,
    pub(crate) kernel: Vec<usize>,
    pub(crate) dilations: Vec<usize>,
    pub(crate) strides: Vec<usize>,
    pub(crate) before: Vec<usize>,
    pub(crate) after: Vec<usize>,
    pub(crate) output: Vec<usize>,
}

/// Steps and pads as a node says them, for windows that run the other way round.
pub(crate) struct Steps {
    pub(crate) strides: Vec<usize>,
    pub(crate) dilations: Vec<usize>,
    pub(crate) pads: Vec<usize>,
}

/// Larger steps and pads than this are a mistake, and would only make sums overflow.
const LIMIT: i64 = 1 << 16;

fn sizes(values: Option<Vec<i64>>, least: i64, what: &str) -> Result<Option<Vec<usize>>, Fault> {
    let Some(values) = values else { return Ok(None) };
    if values.iter().any(|value| !(least..LIMIT).contains(value)) {
        return Err(Fault::new(format!("{what} {values:?} are out of bounds")));
    }
    Ok(Some(values.into_iter().map(|value| value as usize).collect()))
}

impl WindowSpec {
    pub(crate) fn new(spec: &Spec) -> Result<Self, Fault> {
        Ok(Self {
            auto_pad: spec.text("auto_pad", "NOTSET")?,
            kernel: sizes(spec.ints("kernel_shape")?, 1, "kernel sizes")?,
            dilations: sizes(spec.ints("dilations")?, 1, "dilations")?,
            strides: sizes(spec.ints("strides")?, 1, "strides")?,
            pads: sizes(spec.ints("pads")?, 0, "pads")?,
            ceil: spec.flag("ceil_mode", false)?,
        })
    }

    /// The windows over axes of these lengths, with a kernel of this size if the node does not say.
    pub(crate) fn over(&self, input: &[usize], kernel: Option<&[usize]>) -> Result<Windows, Fault> {
        let rank = input.len();
        let missing = || Fault::new("attribute `kernel_shape` is missing");
        let own = self.kernel.as_deref().or(kernel).ok_or_else(missing)?.to_vec();
        if own.iter().any(|size| !(1..LIMIT as usize).contains(size)) {
            return Err(Fault::new(format!("a kernel cannot have the size {own:?}")));
        }
        if kernel.is_some_and(|kernel| kernel != own) {
            return Err(Fault::new(format!(
                "the kernel has the size {kernel:?}, and attribute `kernel_shape` says {own:?}"
            )));
        }
        let dilations = self.dilations.clone().unwrap_or_else(|| vec![1; rank]);
        let strides = self.strides.clone().unwrap_or_else(|| vec![1; rank]);
        let pads = self.pads.clone().unwrap_or_else(|| vec![0; 2 * rank]);
        if [own.len(), dilations.len(), strides.len()] != [rank; 3] || pads.len() != 2 * rank {
            return Err(Fault::new(format!("kernel, strides, dilations or pads do not fit {rank} axes")));
        }
        let mut windows = Windows {
            input: input.to_vec(),
            kernel: own,
            dilations,
            strides,
            before: pads[..rank].to_vec(),
            after: pads[rank..].to_vec(),
            output: Vec::with_capacity(rank),
        };
        for (axis, length) in input.iter().copied().enumerate() {
            let span = windows.span(axis);
            let stride = windows.strides[axis];
            match self.auto_pad.as_str() {
                "SAME_UPPER" | "SAME_LOWER" => {
                    let windows_along = length.div_ceil(stride);
                    let needed = (windows_along.saturating_sub(1).saturating_mul(stride).saturating_add(span))
                        .saturating_sub(length);
                    let small = needed / 2;
                    let upper = self.auto_pad == "SAME_UPPER";
                    windows.before[axis] = if upper { small } else { needed - small };
                    windows.after[axis] = if upper { needed - small } else { small };
                    windows.output.push(windows_along);
                    continue;
                }
                "VALID" => {
                    windows.before[axis] = 0;
                    windows.after[axis] = 0;
                }
                "NOTSET" | "" => {}
                other => return Err(Fault::new(format!("there is no padding `{other}`"))),
            }
            let padded = length.saturating_add(windows.before[axis] + windows.after[axis]);
            let Some(room) = padded.checked_sub(span) else {
                return Err(Fault::new(format!(
                    "a kernel of {span} elements does not fit into {padded} along axis {axis}"
                )));
            };
            let mut count = room / stride + 1;
            // A window more for the rest, unless it would begin in the pads at the end.
            if self.ceil && room % stride != 0 && count * stride < length + windows.before[axis] {
                count += 1;
            }
            windows.output.push(count);
        }
        Ok(windows)
    }
}

impl Windows {
    /// How many elements a window covers along an axis.
    pub(crate) fn span(&self, axis: usize) -> usize {
        (self.kernel[axis] - 1) * self.dilations[axis] + 1
    }

    /// The windows for which an element of the kernel is not in the pads, and the element that the first of them has there.
    pub(crate) fn inside(&self, axis: usize, kernel: usize) -> (usize, usize, usize) {
        // `before <= output * stride + shift < before + input`
        let (stride, shift, before) = (self.strides[axis], kernel * self.dilations[axis], self.before[axis]);
        let first = before.saturating_sub(shift).div_ceil(stride);
        let end = (before + self.input[axis]).saturating_sub(shift).div_ceil(stride).min(self.output[axis]);
        if first >= end { (0, 0, 0) } else { (first, end, first * stride + shift - before) }
    }

    /// Which element an element of a window is, if it is not in the pads.
    pub(crate) fn source(&self, axis: usize, output: usize, kernel: usize) -> Option<usize> {
        let place = output * self.strides[axis] + kernel * self.dilations[axis];
        place.checked_sub(self.before[axis]).filter(|place| *place < self.input[axis])
    }
}

impl WindowSpec {
    /// Strides, dilations and pads as the node says.
    pub(crate) fn raw(&self, rank: usize) -> Result<Steps, Fault> {
        let strides = self.strides.clone().unwrap_or_else(|| vec![1; rank]);
        let dilations = self.dilations.clone().unwrap_or_else(|| vec![1; rank]);
        let pads = self.pads.clone().unwrap_or_else(|| vec![0; 2 * rank]);
        if strides.len() != rank || dilations.len() != rank || pads.len() != 2 * rank {
            return Err(Fault::new(format!("strides, dilations or pads do not fit {rank} axes")));
        }
        Ok(Steps { strides, dilations, pads })
    }
}

impl WindowSpec {
    /// The sizes of the kernel as the node says.
    pub(crate) fn kernel_sizes(&self, rank: usize) -> Result<Vec<usize>, Fault> {
        let fits = self.kernel.clone().filter(|kernel| kernel.len() == rank);
        fits.ok_or_else(|| Fault::new(format!("attribute `kernel_shape` does not have {rank} axes")))
    }
}
