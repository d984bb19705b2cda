//! Operators on several tensors that are broadcast to each other, element by element.

use crate::operators::elementwise::with;
use crate::operators::simd::wide;
use crate::operators::spec::Spec;
use crate::operators::support::{Made, Walk, axis_of, broadcast, broadcast_steps, kernel};
use drawloom_tensor::operator::Number;
use drawloom_tensor::{Element, ElementType, Fault, Inputs, Kernel, Outputs, Scratch, View, with_type};

/// Applies a function to the elements of two tensors.
pub(crate) fn zip<A: Element, B: Element, R: Element>(
    a: View<'_>,
    b: View<'_>,
    outputs: &mut Outputs<'_>,
    mut apply: impl FnMut(A, B) -> R,
) -> Result<(), Fault> {
    let (shape, steps) = paired(a, b)?;
    let results = outputs.allocate_unset::<R>(0, &shape)?;
    let (left, right) = (a.values::<A>()?, b.values::<B>()?);
    each_line(&shape, steps, &mut |line| {
        let row = &mut results[line.first..][..line.length];
        if (line.a_step, line.b_step) == (1, 1) {
            let pairs = left[line.a..][..line.length].iter().zip(&right[line.b..][..line.length]);
            row.iter_mut().zip(pairs).for_each(|(result, (a, b))| *result = apply(*a, *b));
            return;
        }
        for (place, result) in row.iter_mut().enumerate() {
            *result = apply(left[line.a + place * line.a_step], right[line.b + place * line.b_step]);
        }
    });
    Ok(())
}

/// The shape that two tensors are broadcast to, and their steps in it.
fn paired(a: View<'_>, b: View<'_>) -> Result<(Vec<usize>, [Vec<isize>; 2]), Fault> {
    let shape = broadcast(&[a.shape(), b.shape()])?;
    let steps = [broadcast_steps(a.shape(), &shape)?, broadcast_steps(b.shape(), &shape)?];
    Ok((shape, steps))
}

/// Results along the last axis: where they begin, where the elements of both tensors do, and how far these are apart.
struct Line {
    first: usize,
    length: usize,
    a: usize,
    b: usize,
    a_step: usize,
    b_step: usize,
}

/// Visits all lines of results. It is compiled once, and not for every operator and type of elements.
fn each_line(shape: &[usize], steps: [Vec<isize>; 2], visit: &mut dyn FnMut(Line)) {
    let (shape, [a_steps, b_steps]) = merged(shape, steps);
    let (Some((length, outer)), Some((a_step, a_head)), Some((b_step, b_head))) =
        (shape.split_last(), a_steps.split_last(), b_steps.split_last())
    else {
        return visit(Line { first: 0, length: 1, a: 0, b: 0, a_step: 0, b_step: 0 });
    };
    let (length, a_step, b_step) = (*length, *a_step as usize, *b_step as usize);
    if length > 0 {
        for (row, [a, b]) in Walk::new(outer, [a_head.to_vec(), b_head.to_vec()]).enumerate() {
            visit(Line { first: row * length, length, a, b, a_step, b_step });
        }
    }
}

/// The same for `f32`, with the registers that the machine has.
pub(crate) fn zip_f32(
    a: View<'_>,
    b: View<'_>,
    outputs: &mut Outputs<'_>,
    apply: impl Fn(f32, f32) -> f32,
) -> Result<(), Fault> {
    let (shape, steps) = paired(a, b)?;
    let results = outputs.allocate_unset::<f32>(0, &shape)?;
    let (left, right) = (a.values::<f32>()?, b.values::<f32>()?);
    wide(|| lines(&shape, steps, (left, right), results, apply));
    Ok(())
}

/// Axes that both tensors walk as if they were one become one: the last one is walked by itself, which is most of the work.
#[inline(always)]
fn lines(
    shape: &[usize],
    steps: [Vec<isize>; 2],
    (left, right): (&[f32], &[f32]),
    results: &mut [f32],
    apply: impl Fn(f32, f32) -> f32,
) {
    let (shape, [a_steps, b_steps]) = merged(shape, steps);
    let (Some((inner, outer)), Some((a_step, a_head)), Some((b_step, b_head))) =
        (shape.split_last(), a_steps.split_last(), b_steps.split_last())
    else {
        if let ([result], [a], [b]) = (results, left, right) {
            *result = apply(*a, *b);
        }
        return;
    };
    if *inner == 0 {
        return;
    }
    let walk = Walk::new(outer, [a_head.to_vec(), b_head.to_vec()]);
    for (row, [a, b]) in results.chunks_exact_mut(*inner).zip(walk) {
        match (*a_step, *b_step) {
            (1, 1) => {
                let pairs = left[a..][..*inner].iter().zip(&right[b..][..*inner]);
                row.iter_mut().zip(pairs).for_each(|(result, (a, b))| *result = apply(*a, *b));
            }
            (1, 0) => {
                let b = right[b];
                row.iter_mut().zip(&left[a..][..*inner]).for_each(|(result, a)| *result = apply(*a, b));
            }
            (0, 1) => {
                let a = left[a];
                row.iter_mut().zip(&right[b..][..*inner]).for_each(|(result, b)| *result = apply(a, *b));
            }
            // The last axis of both has the length 1, or they have no elements.
            (a_step, b_step) => {
                for (place, result) in row.iter_mut().enumerate() {
                    *result = apply(left[a + place * a_step as usize], right[b + place * b_step as usize]);
                }
            }
        }
    }
}

/// The same walk with fewer axes: none of length 1, and one for neighbours that all tensors walk as one.
pub(crate) fn merged<const N: usize>(shape: &[usize], steps: [Vec<isize>; N]) -> (Vec<usize>, [Vec<isize>; N]) {
    let mut lengths: Vec<usize> = Vec::with_capacity(shape.len());
    let mut kept: [Vec<isize>; N] = std::array::from_fn(|_| Vec::with_capacity(shape.len()));
    for (axis, length) in shape.iter().enumerate() {
        if *length == 1 {
            continue;
        }
        let joins =
            lengths.last().is_some() && (0..N).all(|n| kept[n].last() == Some(&(steps[n][axis] * *length as isize)));
        if joins {
            let last = lengths.len() - 1;
            lengths[last] *= length;
            (0..N).for_each(|n| kept[n][last] = steps[n][axis]);
        } else {
            lengths.push(*length);
            (0..N).for_each(|n| kept[n].push(steps[n][axis]));
        }
    }
    (lengths, kept)
}

macro_rules! two {
    ($group:ident, $T:ident, |$a:ident, $b:ident| $body:expr) => {
        kernel(move |inputs, outputs| {
            let (left, right) = (inputs.get(0)?, inputs.get(1)?);
            same_type(left, right)?;
            with_type!($group, left.element(), $T => zip::<$T, $T, $T>(left, right, outputs, |$a, $b| $body))
        })
    };
    (f32 $f32:expr; $group:ident, $T:ident, |$a:ident, $b:ident| $body:expr) => {
        kernel(move |inputs, outputs| {
            let (left, right) = (inputs.get(0)?, inputs.get(1)?);
            same_type(left, right)?;
            if left.element() == ElementType::F32 {
                return zip_f32(left, right, outputs, $f32);
            }
            with_type!($group, left.element(), $T => zip::<$T, $T, $T>(left, right, outputs, |$a, $b| $body))
        })
    };
}

macro_rules! compare {
    ($group:ident, |$a:ident, $b:ident| $body:expr) => {
        kernel(move |inputs, outputs| {
            let (left, right) = (inputs.get(0)?, inputs.get(1)?);
            same_type(left, right)?;
            with_type!($group, left.element(), T => zip::<T, T, bool>(left, right, outputs, |$a, $b| $body))
        })
    };
}

/// What is done with all inputs.
#[derive(Clone, Copy)]
enum Fold {
    Max,
    Min,
    Sum,
    Mean,
}

/// Sums and the like over any number of inputs.
fn fold(fold: Fold) -> Made {
    kernel(move |inputs, outputs| {
        let first = inputs.get(0)?;
        let views = (0..inputs.len()).map(|index| inputs.get(index)).collect::<Result<Vec<_>, Fault>>()?;
        let shapes: Vec<&[usize]> = views.iter().map(|view| view.shape()).collect();
        let shape = broadcast(&shapes)?;
        with_type!(numbers, first.element(), T => {
            let combine: fn(T, T) -> T = match fold {
                Fold::Max => T::larger,
                Fold::Min => T::smaller,
                Fold::Sum | Fold::Mean => T::plus,
            };
            let results = outputs.allocate::<T>(0, &shape)?;
            for (number, view) in views.iter().enumerate() {
                let values = view.values::<T>()?;
                let walk = Walk::new(&shape, [broadcast_steps(view.shape(), &shape)?]);
                for (result, [offset]) in results.iter_mut().zip(walk) {
                    *result = if number == 0 { values[offset] } else { combine(*result, values[offset]) };
                }
            }
            if let Fold::Mean = fold {
                results.iter_mut().for_each(|result| *result = T::from_f64(result.to_f64() / views.len() as f64));
            }
            Ok(())
        })
    })
}

pub(crate) fn same_type(left: View<'_>, right: View<'_>) -> Result<(), Fault> {
    if left.element() == right.element() {
        return Ok(());
    }
    Err(Fault::new(format!("its inputs have different types: {} and {}", left.element(), right.element())))
}

/// The form before opset 7: the second input is aligned with an axis of the first one, and only if the node says so.
struct Aligned {
    kernel: Box<dyn Kernel>,
    broadcast: bool,
    axis: Option<i64>,
}

impl Kernel for Aligned {
    fn asks_first(&self) -> bool {
        true
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        let (left, right) = (inputs.get(0)?, inputs.get(1)?);
        if !self.broadcast && left.shape() != right.shape() {
            return Err(Fault::new(format!("the shapes {:?} and {:?} differ", left.shape(), right.shape())));
        }
        let mut shape = right.shape().to_vec();
        if let Some(axis) = self.axis {
            let axis = axis_of(axis, left.rank())?;
            let behind = (left.rank() - axis).checked_sub(shape.len()).ok_or_else(|| {
                Fault::new(format!("the shape {shape:?} does not fit the axes of {:?} from {axis} on", left.shape()))
            })?;
            shape.extend(std::iter::repeat_n(1, behind));
        }
        let views = [Some(left), Some(right.with_shape(&shape)?)];
        self.kernel.run(&Inputs::new(&views), outputs, scratch)
    }
}

pub(crate) fn make(spec: &Spec) -> Option<Made> {
    let old = spec.opset < 7;
    match spec.operator.as_str() {
        "Add" | "Sub" | "Mul" | "Div" | "And" | "Or" | "Xor" | "Less" | "Greater" | "Equal" | "Pow" if old => {
            spec.ignore(&["consumed_inputs"]);
            let (broadcast, axis) = (spec.flag("broadcast", false), spec.optional_int("axis"));
            let made = pairwise(spec)?;
            Some(made.and_then(|kernel| {
                Ok(Box::new(Aligned { kernel, broadcast: broadcast?, axis: axis? }) as Box<dyn Kernel>)
            }))
        }
        "PRelu" if old => {
            let made = pairwise(spec)?;
            Some(made.map(|kernel| Box::new(Slopes { kernel }) as Box<dyn Kernel>))
        }
        _ => pairwise(spec),
    }
}

/// The form of PRelu before opset 7: one slope, or one for each channel.
struct Slopes {
    kernel: Box<dyn Kernel>,
}

impl Kernel for Slopes {
    fn asks_first(&self) -> bool {
        true
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        let (input, slope) = (inputs.get(0)?, inputs.get(1)?);
        let mut shape = slope.shape().to_vec();
        if slope.len() > 1 {
            shape.extend(std::iter::repeat_n(1, input.rank().saturating_sub(1 + shape.len())));
        }
        let views = [Some(input), Some(slope.with_shape(&shape)?)];
        self.kernel.run(&Inputs::new(&views), outputs, scratch)
    }
}

fn pairwise(spec: &Spec) -> Option<Made> {
    Some(match spec.operator.as_str() {
        "Add" => two!(f32 |a, b| a + b; numbers, T, |a, b| a.plus(b)),
        "Sub" => two!(f32 |a, b| a - b; numbers, T, |a, b| a.minus(b)),
        "Mul" => two!(f32 |a, b| a * b; numbers, T, |a, b| a.times(b)),
        "Div" => kernel(divide),
        "Mod" => with(spec.flag("fmod", false), |like_dividend| {
            kernel(move |inputs, outputs| {
                let (left, right) = (inputs.get(0)?, inputs.get(1)?);
                let mut zero = false;
                with_type!(numbers, left.element(), T => zip::<T, T, T>(left, right, outputs, |a, b| {
                    a.modulo(b, like_dividend).unwrap_or_else(|| {
                        zero = true;
                        T::ZERO
                    })
                }))?;
                if zero { Err(Fault::new("an integer is divided by zero")) } else { Ok(()) }
            })
        }),
        "Pow" => kernel(|inputs, outputs| power(inputs.get(0)?, inputs.get(1)?, outputs)),
        "And" => kernel(|i, o| zip::<bool, bool, bool>(i.get(0)?, i.get(1)?, o, |a, b| a && b)),
        "Or" => kernel(|i, o| zip::<bool, bool, bool>(i.get(0)?, i.get(1)?, o, |a, b| a || b)),
        "Xor" => kernel(|i, o| zip::<bool, bool, bool>(i.get(0)?, i.get(1)?, o, |a, b| a != b)),
        "Equal" => compare!(all, |a, b| a == b),
        "Less" => compare!(numbers, |a, b| a < b),
        "LessOrEqual" => compare!(numbers, |a, b| a <= b),
        "Greater" => compare!(numbers, |a, b| a > b),
        "GreaterOrEqual" => compare!(numbers, |a, b| a >= b),
        "BitwiseAnd" => two!(integers, T, |a, b| a & b),
        "BitwiseOr" => two!(integers, T, |a, b| a | b),
        "BitwiseXor" => two!(integers, T, |a, b| a ^ b),
        "BitShift" => with(spec.text("direction", ""), |direction| {
            let left = direction == "LEFT";
            if !left && direction != "RIGHT" {
                return Err(Fault::new(format!("attribute `direction` must be LEFT or RIGHT, and is `{direction}`")));
            }
            kernel(move |inputs, outputs| {
                let shift = move |a: u8, b: u8| {
                    let by = u32::from(b);
                    if left { a.checked_shl(by).unwrap_or(0) } else { a.checked_shr(by).unwrap_or(0) }
                };
                zip::<u8, u8, u8>(inputs.get(0)?, inputs.get(1)?, outputs, shift)
            })
        }),
        "PRelu" => two!(numbers, T, |x, slope| if x.is_below_zero() { x.times(slope) } else { x }),
        "Max" => fold(Fold::Max),
        "Min" => fold(Fold::Min),
        "Sum" => fold(Fold::Sum),
        "Mean" => fold(Fold::Mean),
        "Where" => kernel(select),
        "Clip" => with(spec.float("min", f32::NEG_INFINITY), |low| {
            with(spec.float("max", f32::INFINITY), move |high| {
                kernel(move |inputs, outputs| {
                    let input = inputs.get(0)?;
                    with_type!(numbers, input.element(), T => {
                        let bound = |index: usize, given: f32, none: T| match inputs.optional(index) {
                            Some(bound) => bound.only::<T>(),
                            None if given.is_finite() => Ok(T::from_f64(f64::from(given))),
                            None => Ok(none),
                        };
                        let results = outputs.allocate_unset::<T>(0, input.shape())?;
                        let (low, high) = (bound(1, low, T::LOWEST)?, bound(2, high, T::HIGHEST)?);
                        for (result, x) in results.iter_mut().zip(input.values::<T>()?) {
                            *result = x.larger(low).smaller(high);
                        }
                        Ok(())
                    })
                })
            })
        }),
        _ => return None,
    })
}

/// Powers, with exponents of any type.
fn power(base: View<'_>, exponent: View<'_>, outputs: &mut Outputs<'_>) -> Result<(), Fault> {
    let (shape, steps) = paired(base, exponent)?;
    with_type!(numbers, base.element(), T => {
        let results = outputs.allocate_unset::<T>(0, &shape)?;
        let (bases, exponent) = (base.values::<T>()?, doubled(exponent)?);
        each_line(&shape, steps, &mut |line| {
            for (place, result) in results[line.first..][..line.length].iter_mut().enumerate() {
                *result = bases[line.a + place * line.a_step].power(exponent(line.b + place * line.b_step));
            }
        });
        Ok(())
    })
}

/// The elements of a tensor in double precision, by their places.
fn doubled<'a>(view: View<'a>) -> Result<Box<dyn Fn(usize) -> f64 + 'a>, Fault> {
    with_type!(numbers, view.element(), T => {
        let values = view.values::<T>()?;
        Ok(Box::new(move |place| values[place].to_f64()))
    })
}

fn divide(inputs: &Inputs<'_>, outputs: &mut Outputs<'_>) -> Result<(), Fault> {
    let (left, right) = (inputs.get(0)?, inputs.get(1)?);
    same_type(left, right)?;
    if left.element() == ElementType::F32 {
        return zip_f32(left, right, outputs, |a, b| a / b);
    }
    let mut zero = false;
    with_type!(numbers, left.element(), T => zip::<T, T, T>(left, right, outputs, |a, b| {
        a.over(b).unwrap_or_else(|| {
            zero = true;
            T::ZERO
        })
    }))?;
    if zero { Err(Fault::new("an integer is divided by zero")) } else { Ok(()) }
}

fn select(inputs: &Inputs<'_>, outputs: &mut Outputs<'_>) -> Result<(), Fault> {
    let (condition, yes, no) = (inputs.get(0)?, inputs.get(1)?, inputs.get(2)?);
    same_type(yes, no)?;
    let shape = broadcast(&[condition.shape(), yes.shape(), no.shape()])?;
    let steps = [
        broadcast_steps(condition.shape(), &shape)?,
        broadcast_steps(yes.shape(), &shape)?,
        broadcast_steps(no.shape(), &shape)?,
    ];
    with_type!(all, yes.element(), T => {
        let results = outputs.allocate::<T>(0, &shape)?;
        let (truth, yes, no) = (condition.values::<bool>()?, yes.values::<T>()?, no.values::<T>()?);
        for (result, [c, y, n]) in results.iter_mut().zip(Walk::new(&shape, steps)) {
            *result = if truth[c] { yes[y] } else { no[n] };
        }
        Ok(())
    })
}
