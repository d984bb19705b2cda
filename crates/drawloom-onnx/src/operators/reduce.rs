//! Operators that make one element of many: sums, products, extremes and where they are, running sums.

use crate::operators::elementwise::with;
use crate::operators::simd::wide;
use crate::operators::spec::Spec;
use crate::operators::support::{Made, Walk, axes_of, axis_of, kernel, kernel_with, listed, steps};
use drawloom_tensor::operator::Number;
use drawloom_tensor::operator::around;
use drawloom_tensor::{Element, ElementType, Fault, Outputs, Scratch, View, with_type};

/// What is reduced to what: the shape of the result, and the steps of a walk over the input in the result.
pub(crate) struct Reduction {
    pub(crate) shape: Vec<usize>,
    into: Vec<isize>,
    /// How many elements become one.
    pub(crate) count: usize,
    /// The elements before, along and behind axes that are neighbours, if they are.
    block: Option<(usize, usize, usize)>,
}

impl Reduction {
    pub(crate) fn new(shape: &[usize], axes: &[usize], keep: bool) -> Self {
        let kept: Vec<usize> =
            shape.iter().enumerate().map(|(axis, length)| if axes.contains(&axis) { 1 } else { *length }).collect();
        let mut into = steps(&kept);
        axes.iter().for_each(|axis| into[*axis] = 0);
        let count = axes.iter().map(|axis| shape[*axis]).product();
        let result =
            kept.into_iter().enumerate().filter(|(axis, _)| keep || !axes.contains(axis)).map(|(_, length)| length);
        let neighbours = axes.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let block = match (axes.first(), axes.last()) {
            (Some(first), Some(last)) if neighbours => {
                Some((shape[..*first].iter().product(), count, shape[last + 1..].iter().product()))
            }
            _ => None,
        };
        Self { shape: result.collect(), into, count, block }
    }

    /// How many elements there are in the end.
    pub(crate) fn places(&self) -> usize {
        self.shape.iter().product()
    }

    /// Folds every element into its place.
    pub(crate) fn fold<T: Element, A: Element>(
        &self,
        input: View<'_>,
        first: A,
        results: &mut [A],
        mut fold: impl FnMut(A, T) -> A,
    ) -> Result<(), Fault> {
        let values = input.values::<T>()?;
        results.fill(first);
        if let Some((outer, along, inner)) = self.block.filter(|(_, along, inner)| along * inner > 0) {
            // The same order for each place, without a walk.
            for block in 0..outer {
                let results = &mut results[block * inner..][..inner];
                for row in values[block * along * inner..][..along * inner].chunks_exact(inner) {
                    results.iter_mut().zip(row).for_each(|(result, value)| *result = fold(*result, *value));
                }
            }
            return Ok(());
        }
        for (value, [place]) in values.iter().zip(Walk::new(input.shape(), [self.into.clone()])) {
            results[place] = fold(results[place], *value);
        }
        Ok(())
    }

    /// The same, with something known for each place already.
    pub(crate) fn fold_with<T: Element>(
        &self,
        input: View<'_>,
        known: &[f64],
        results: &mut [f64],
        mut fold: impl FnMut(f64, T, f64) -> f64,
    ) -> Result<(), Fault> {
        let values = input.values::<T>()?;
        results.fill(0.0);
        for (value, [place]) in values.iter().zip(Walk::new(input.shape(), [self.into.clone()])) {
            results[place] = fold(results[place], *value, known[place]);
        }
        Ok(())
    }
}

pub(crate) fn make(spec: &Spec) -> Option<Made> {
    Some(match spec.operator.as_str() {
        "ReduceSum" | "ReduceMean" | "ReduceProd" | "ReduceMax" | "ReduceMin" | "ReduceL1" | "ReduceL2"
        | "ReduceSumSquare" | "ReduceLogSum" | "ReduceLogSumExp" => reduce(spec),
        "ArgMax" | "ArgMin" => extreme(spec),
        "CumSum" => running(spec),
        _ => return None,
    })
}

fn reduce(spec: &Spec) -> Made {
    let given = spec.ints("axes")?;
    let keep = spec.flag("keepdims", true)?;
    let nothing = spec.flag("noop_with_empty_axes", false)?;
    let operator = spec.operator.clone();
    kernel_with(move |inputs, outputs, scratch| {
        let input = inputs.get(0)?;
        let axes = match listed(inputs, 1, given.as_ref())? {
            Some(axes) if !axes.is_empty() => axes_of(&axes, input.rank())?,
            _ if nothing => Vec::new(),
            _ => (0..input.rank()).collect(),
        };
        let reduction = Reduction::new(input.shape(), &axes, keep);
        if input.element() == ElementType::Bool {
            let all = operator == "ReduceMin";
            if !all && operator != "ReduceMax" {
                return Err(Fault::unsupported("truth values cannot be added"));
            }
            let results = outputs.allocate_unset::<bool>(0, &reduction.shape)?;
            return reduction.fold::<bool, bool>(input, all, results, |a, b| if all { a && b } else { a || b });
        }
        with_type!(numbers, input.element(), T => reduce_numbers::<T>(&operator, &reduction, input, outputs, scratch))
    })
}

fn reduce_numbers<T: Number>(
    operator: &str,
    reduction: &Reduction,
    input: View<'_>,
    outputs: &mut Outputs<'_>,
    scratch: &mut Scratch,
) -> Result<(), Fault> {
    let (shape, places) = (&reduction.shape, reduction.places());
    // Integers are added as such; numbers with a point in double precision.
    if !T::TYPE.is_float() {
        type Whole = fn(i64, i64) -> i64;
        let whole: Option<(i64, Whole)> = match operator {
            "ReduceSum" => Some((0, i64::wrapping_add)),
            "ReduceProd" => Some((1, i64::wrapping_mul)),
            "ReduceL1" => Some((0, |a, b| a.wrapping_add(b.wrapping_abs()))),
            "ReduceSumSquare" => Some((0, |a, b| a.wrapping_add(b.wrapping_mul(b)))),
            _ => None,
        };
        if let Some((first, fold)) = whole {
            let mut sums = scratch.unset::<i64>(places)?;
            let results = outputs.allocate_unset::<T>(0, shape)?;
            reduction.fold::<T, i64>(input, first, &mut sums, |a, b| fold(a, b.to_i64()))?;
            results.iter_mut().zip(sums.iter()).for_each(|(result, sum)| *result = T::from_i64(*sum));
            return Ok(());
        }
    }
    let mut sum = |first: f64, fold: Fold, finish: &dyn Fn(f64) -> f64| -> Result<(), Fault> {
        let mut sums = scratch.unset::<f64>(places)?;
        let results = outputs.allocate_unset::<T>(0, shape)?;
        let into = &mut sums[..];
        match fold {
            Fold::Sum => wide(|| reduction.fold::<T, f64>(input, first, into, |a, b| a + b.to_f64())),
            Fold::Sizes => wide(|| reduction.fold::<T, f64>(input, first, into, |a, b| a + b.to_f64().abs())),
            Fold::Squares => wide(|| reduction.fold::<T, f64>(input, first, into, |a, b| a + b.to_f64() * b.to_f64())),
            Fold::Product => wide(|| reduction.fold::<T, f64>(input, first, into, |a, b| a * b.to_f64())),
        }?;
        results.iter_mut().zip(sums.iter()).for_each(|(result, sum)| *result = T::from_f64(finish(*sum)));
        Ok(())
    };
    match operator {
        "ReduceSum" => sum(0.0, Fold::Sum, &|value| value),
        "ReduceMean" => sum(0.0, Fold::Sum, &|value| value / reduction.count as f64),
        "ReduceL1" => sum(0.0, Fold::Sizes, &|value| value),
        "ReduceL2" => sum(0.0, Fold::Squares, &f64::sqrt),
        "ReduceSumSquare" => sum(0.0, Fold::Squares, &|value| value),
        "ReduceLogSum" => sum(0.0, Fold::Sum, &f64::ln),
        "ReduceProd" => sum(1.0, Fold::Product, &|value| value),
        "ReduceMax" => {
            let results = outputs.allocate_unset::<T>(0, shape)?;
            reduction.fold::<T, T>(input, T::LOWEST, results, |a, b| a.larger(b))
        }
        "ReduceMin" => {
            let results = outputs.allocate_unset::<T>(0, shape)?;
            reduction.fold::<T, T>(input, T::HIGHEST, results, |a, b| a.smaller(b))
        }
        _ => {
            let (mut base, mut sums) = (scratch.unset::<f64>(places)?, scratch.unset::<f64>(places)?);
            let results = outputs.allocate_unset::<T>(0, shape)?;
            let largest = |a: f64, b: T| a.larger(b.to_f64());
            reduction.fold::<T, f64>(input, f64::NEG_INFINITY, &mut base, largest)?;
            // An infinite largest value would make a difference that is not a number.
            base.iter_mut().for_each(|value| *value = if value.is_finite() { *value } else { 0.0 });
            reduction.fold_with::<T>(input, &base, &mut sums, |a, b, base| a + (b.to_f64() - base).exp())?;
            for (result, (sum, base)) in results.iter_mut().zip(sums.iter().zip(base.iter())) {
                *result = T::from_f64(sum.ln() + base);
            }
            Ok(())
        }
    }
}

/// What is done with all elements in double precision.
#[derive(Clone, Copy)]
enum Fold {
    Sum,
    Sizes,
    Squares,
    Product,
}

fn extreme(spec: &Spec) -> Made {
    let axis = spec.int("axis", 0)?;
    let keep = spec.flag("keepdims", true)?;
    let last = spec.flag("select_last_index", false)?;
    let largest = spec.operator == "ArgMax";
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        let axis = axis_of(axis, input.rank())?;
        let (outer, length, inner) = around(input.shape(), axis);
        if length == 0 {
            return Err(Fault::new(format!(
                "axis {axis} of the shape {:?} has no elements to choose from",
                input.shape()
            )));
        }
        let shape = Reduction::new(input.shape(), &[axis], keep).shape;
        with_type!(numbers, input.element(), T => {
            let results = outputs.allocate::<i64>(0, &shape)?;
            let values = input.values::<T>()?;
            for block in 0..outer {
                for place in 0..inner {
                    let at = |index: usize| values[(block * length + index) * inner + place];
                    let mut best = 0;
                    for index in 1..length {
                        let better = if largest { at(index) > at(best) } else { at(index) < at(best) };
                        if better || (last && at(index) == at(best)) {
                            best = index;
                        }
                    }
                    results[block * inner + place] = best as i64;
                }
            }
            Ok(())
        })
    })
}

fn running(spec: &Spec) -> Made {
    with(spec.flag("exclusive", false), |exclusive| {
        with(spec.flag("reverse", false), move |reverse| {
            kernel(move |inputs, outputs| {
                let input = inputs.get(0)?;
                outputs.announce(input.element(), 0, input.shape())?;
                let [axis] = inputs.get(1)?.integers()?[..] else {
                    return Err(Fault::new("the axis must be one number"));
                };
                let (outer, length, inner) = around(input.shape(), axis_of(axis, input.rank())?);
                with_type!(numbers, input.element(), T => {
                    let results = outputs.allocate::<T>(0, input.shape())?;
                    let values = input.values::<T>()?;
                    for block in 0..outer {
                        for place in 0..inner {
                            let mut sum = T::ZERO;
                            for step in 0..length {
                                let index = if reverse { length - 1 - step } else { step };
                                let at = (block * length + index) * inner + place;
                                let after = sum.plus(values[at]);
                                results[at] = if exclusive { sum } else { after };
                                sum = after;
                            }
                        }
                    }
                    Ok(())
                })
            })
        })
    })
}
