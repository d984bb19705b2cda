//! What most operators need: axes, shapes that are broadcast, and walks over elements.

use std::ops::Range;

use drawloom_tensor::operator::Buffer;
use drawloom_tensor::operator::Number;
use drawloom_tensor::{ElementType, Fault, Inputs, Kernel, Outputs, Scratch, View, with_type};

/// What making an operator gives.
pub(crate) type Made = Result<Box<dyn Kernel>, Fault>;

/// A kernel from a function.
pub(crate) fn kernel<F>(run: F) -> Made
where
    F: Fn(&Inputs<'_>, &mut Outputs<'_>) -> Result<(), Fault> + Send + Sync + 'static,
{
    kernel_with(move |inputs, outputs, _| run(inputs, outputs))
}

/// A kernel from a function that needs memory while it runs.
pub(crate) fn kernel_with<F>(run: F) -> Made
where
    F: Fn(&Inputs<'_>, &mut Outputs<'_>, &mut Scratch) -> Result<(), Fault> + Send + Sync + 'static,
{
    Ok(Box::new(WithScratch(run)))
}

/// A built-in kernel: it asks for all its memory first.
pub(crate) struct WithScratch<F>(pub(crate) F);

impl<F> Kernel for WithScratch<F>
where
    F: Fn(&Inputs<'_>, &mut Outputs<'_>, &mut Scratch) -> Result<(), Fault> + Send + Sync,
{
    fn run(&self, inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        self.0(inputs, outputs, scratch)
    }

    fn asks_first(&self) -> bool {
        true
    }
}

/// The elements of a tensor of numbers in double precision.
pub(crate) fn doubles(view: View<'_>, scratch: &mut Scratch) -> Result<Buffer<f64>, Fault> {
    with_type!(numbers, view.element(), T => scratch.converted(view, |value: T| value.to_f64()))
}

/// The elements of a tensor of indices.
pub(crate) fn indices(view: View<'_>, scratch: &mut Scratch) -> Result<Buffer<i64>, Fault> {
    match view.element() {
        ElementType::I64 => scratch.converted(view, |value: i64| value),
        ElementType::I32 => scratch.converted(view, |value: i32| i64::from(value)),
        other => Err(Fault::new(format!("expected integers, found {other}"))),
    }
}

/// Integers that an input says, or an attribute where there is no such input.
pub(crate) fn listed(inputs: &Inputs<'_>, index: usize, given: Option<&Vec<i64>>) -> Result<Option<Vec<i64>>, Fault> {
    match inputs.optional(index) {
        Some(view) => view.integers().map(Some),
        None => Ok(given.cloned()),
    }
}

/// A number within bounds, or a fault about it.
pub(crate) fn within(value: i64, bounds: Range<usize>, wrong: impl FnOnce() -> String) -> Result<usize, Fault> {
    let value = usize::try_from(value).ok().filter(|value| bounds.contains(value));
    value.ok_or_else(|| Fault::new(wrong()))
}

/// An axis that may be counted from the end.
pub(crate) fn axis_of(axis: i64, rank: usize) -> Result<usize, Fault> {
    let counted = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    within(counted, 0..rank, || format!("there is no axis {axis} in a tensor of {rank} axes"))
}

/// Several axes, each once, in order.
pub(crate) fn axes_of(axes: &[i64], rank: usize) -> Result<Vec<usize>, Fault> {
    let mut found = axes.iter().map(|axis| axis_of(*axis, rank)).collect::<Result<Vec<_>, _>>()?;
    found.sort_unstable();
    if found.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Fault::new(format!("an axis is named twice in {axes:?}")));
    }
    Ok(found)
}

/// Lengths that must not be negative.
pub(crate) fn lengths(values: &[i64]) -> Result<Vec<usize>, Fault> {
    let negative = || Fault::new(format!("a shape has a negative length: {values:?}"));
    values.iter().map(|value| usize::try_from(*value).map_err(|_| negative())).collect()
}

/// The steps between neighbours along each axis.
pub(crate) fn steps(shape: &[usize]) -> Vec<isize> {
    let mut steps = vec![1isize; shape.len()];
    for axis in (1..shape.len()).rev() {
        steps[axis - 1] = steps[axis] * shape[axis].max(1) as isize;
    }
    steps
}

/// The shape that all of these are broadcast to.
pub(crate) fn broadcast(shapes: &[&[usize]]) -> Result<Vec<usize>, Fault> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut result = vec![1usize; rank];
    for shape in shapes {
        for (into, length) in result[rank - shape.len()..].iter_mut().zip(*shape) {
            if *into == 1 {
                *into = *length;
            } else if *length != 1 && *length != *into {
                return Err(Fault::new(format!("the shapes {shapes:?} cannot be broadcast to each other")));
            }
        }
    }
    Ok(result)
}

/// The steps of a tensor that is walked in a larger shape: 0 where it is repeated.
pub(crate) fn broadcast_steps(shape: &[usize], into: &[usize]) -> Result<Vec<isize>, Fault> {
    if shape.len() > into.len() {
        return Err(Fault::new(format!("the shape {shape:?} cannot be broadcast to {into:?}")));
    }
    let own = steps(shape);
    let missing = into.len() - shape.len();
    let mut result = vec![0; into.len()];
    for (axis, length) in shape.iter().enumerate() {
        if *length == into[missing + axis] {
            result[missing + axis] = own[axis];
        } else if *length != 1 {
            return Err(Fault::new(format!("the shape {shape:?} cannot be broadcast to {into:?}")));
        }
    }
    Ok(result)
}

/// A walk over a shape, the last axis fastest, with the offsets of its elements in several tensors.
pub(crate) struct Walk<const N: usize> {
    shape: Vec<usize>,
    steps: [Vec<isize>; N],
    index: Vec<usize>,
    offsets: [isize; N],
    left: usize,
}

impl<const N: usize> Walk<N> {
    pub(crate) fn new(shape: &[usize], steps: [Vec<isize>; N]) -> Self {
        Self::from(shape, steps, [0; N])
    }

    /// A walk that begins elsewhere.
    pub(crate) fn from(shape: &[usize], steps: [Vec<isize>; N], offsets: [isize; N]) -> Self {
        Self { shape: shape.to_vec(), steps, index: vec![0; shape.len()], offsets, left: shape.iter().product() }
    }
}

impl<const N: usize> Iterator for Walk<N> {
    type Item = [usize; N];

    fn next(&mut self) -> Option<[usize; N]> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let result = self.offsets.map(|offset| offset as usize);
        for axis in (0..self.shape.len()).rev() {
            self.index[axis] += 1;
            if self.index[axis] < self.shape[axis] {
                for (offset, steps) in self.offsets.iter_mut().zip(&self.steps) {
                    *offset += steps[axis];
                }
                break;
            }
            self.index[axis] = 0;
            for (offset, steps) in self.offsets.iter_mut().zip(&self.steps) {
                *offset -= steps[axis] * (self.shape[axis] as isize - 1);
            }
        }
        Some(result)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

/// The index of an element that may be counted from the end.
pub(crate) fn index_of(index: i64, length: usize) -> Result<usize, Fault> {
    let counted = if index < 0 { index.saturating_add(length as i64) } else { index };
    within(counted, 0..length, || format!("the index {index} is not within {length} elements"))
}

/// Refuses a tensor with another number of axes.
pub(crate) fn expect_rank(view: View<'_>, at_least: usize, what: &str) -> Result<(), Fault> {
    if view.rank() < at_least {
        return Err(Fault::new(format!("{what} needs {at_least} axes or more, and has the shape {:?}", view.shape())));
    }
    Ok(())
}
