//! Products of matrices, of numbers and of bytes, and determinants.

use crate::operators::multiply::{Matrix, multiply_f32};
use crate::operators::number::MatrixNumber;
use crate::operators::simd::product::BUFFER;
use crate::operators::spec::Spec;
use crate::operators::support::{Made, Walk, broadcast, broadcast_steps, expect_rank, kernel_with};
use drawloom_tensor::operator::Number;
use drawloom_tensor::operator::{Buffer, count};
use drawloom_tensor::{ElementType, ErrorKind, Fault, Inputs, Kernel, Outputs, Scratch, View, with_type};

pub(crate) fn make(spec: &Spec) -> Option<Made> {
    Some(match spec.operator.as_str() {
        "MatMul" => Ok(Box::new(Product)),
        "MatMulInteger" => kernel_with(matmul_integer),
        "QLinearMatMul" => kernel_with(matmul_quantized),
        "Gemm" => gemm(spec),
        "Det" => kernel_with(determinant),
        _ => return None,
    })
}

/// The product of matrices.
struct Product;

impl Kernel for Product {
    fn asks_first(&self) -> bool {
        true
    }

    fn scratch(&self, _shapes: &[Option<&[usize]>]) -> usize {
        Scratch::bytes::<f32>(BUFFER)
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        let (a, b) = (inputs.get(0)?, inputs.get(1)?);
        let plan = Batched::new(a.shape(), b.shape())?;
        if a.element() == ElementType::F32 {
            let mut buffer = scratch.unset::<f32>(BUFFER)?;
            let results = outputs.allocate_unset::<f32>(0, &plan.shape)?;
            let (left, right) = (a.values::<f32>()?, b.values::<f32>()?);
            plan.multiply_f32(left, right, &mut buffer, results);
            return Ok(());
        }
        with_type!(numbers, a.element(), T => {
            scratch.count(T::multiply_bytes(plan.size.1, plan.size.2))?;
            let results = outputs.allocate::<T>(0, &plan.shape)?;
            plan.multiply(a.values::<T>()?, b.values::<T>()?, results);
            Ok(())
        })
    }
}

/// A product of two stacks of matrices, which are broadcast to each other.
pub(crate) struct Batched {
    pub(crate) shape: Vec<usize>,
    stack: Vec<usize>,
    a_steps: Vec<isize>,
    b_steps: Vec<isize>,
    size: (usize, usize, usize),
}

impl Batched {
    pub(crate) fn new(a: &[usize], b: &[usize]) -> Result<Self, Fault> {
        let wrong = || Fault::new(format!("matrices of the shapes {a:?} and {b:?} cannot be multiplied"));
        if a.is_empty() || b.is_empty() {
            return Err(wrong());
        }
        // A vector is a row on the left, and a column on the right; the axis goes away again.
        let left = if a.len() == 1 { vec![1, a[0]] } else { a.to_vec() };
        let right = if b.len() == 1 { vec![b[0], 1] } else { b.to_vec() };
        let (a_stack, &[m, k]) = left.split_at(left.len() - 2) else { return Err(wrong()) };
        let (b_stack, &[other, n]) = right.split_at(right.len() - 2) else { return Err(wrong()) };
        if other != k {
            return Err(wrong());
        }
        let stack = broadcast(&[a_stack, b_stack])?;
        let scaled = |steps: Vec<isize>, size: usize| steps.into_iter().map(|step| step * size as isize).collect();
        let a_steps = scaled(broadcast_steps(a_stack, &stack)?, m * k);
        let b_steps = scaled(broadcast_steps(b_stack, &stack)?, k * n);
        let mut shape = stack.clone();
        if a.len() > 1 {
            shape.push(m);
        }
        if b.len() > 1 {
            shape.push(n);
        }
        count(&shape)?;
        Ok(Self { shape, stack, a_steps, b_steps, size: (m, k, n) })
    }

    fn multiply_f32(&self, a: &[f32], b: &[f32], buffer: &mut [f32], c: &mut [f32]) {
        let (m, k, n) = self.size;
        if m * n == 0 {
            return;
        }
        let rows: usize = self.stack.iter().product();
        if self.b_steps.iter().all(|step| *step == 0) && rows > 1 {
            // One matrix on the right: those on the left lie one behind the other, and are one.
            if a.len() == rows * m * k {
                multiply_f32((rows * m, k, n), Matrix::rows(a, k), Matrix::rows(b, n), buffer, c);
                return;
            }
        }
        let walk = Walk::new(&self.stack, [self.a_steps.clone(), self.b_steps.clone()]);
        for (result, [a_at, b_at]) in c.chunks_exact_mut(m * n).zip(walk) {
            let (left, right) = (Matrix::rows(&a[a_at..], k), Matrix::rows(&b[b_at..], n));
            multiply_f32((m, k, n), left, right, buffer, result);
        }
    }

    pub(crate) fn multiply<T: MatrixNumber>(&self, a: &[T], b: &[T], c: &mut [T]) {
        let (m, k, n) = self.size;
        if m * n == 0 {
            return;
        }
        let walk = Walk::new(&self.stack, [self.a_steps.clone(), self.b_steps.clone()]);
        for (result, [a_at, b_at]) in c.chunks_exact_mut(m * n).zip(walk) {
            let left = Matrix::rows(&a[a_at..], k);
            T::multiply(m, k, n, left, Matrix::rows(&b[b_at..], n), result);
        }
    }
}

/// The elements of a tensor of bytes as wide integers, less their zero point, which may be one for each row or column.
pub(crate) fn widened(
    view: View<'_>,
    zero: Option<View<'_>>,
    axis: usize,
    scratch: &mut Scratch,
) -> Result<Buffer<i32>, Fault> {
    let mut bytes = |view: View<'_>| match view.element() {
        ElementType::U8 => scratch.converted(view, |value: u8| i32::from(value)),
        ElementType::I8 => scratch.converted(view, |value: i8| i32::from(value)),
        other => Err(Fault::unsupported(format!("expected bytes, found {other}"))),
    };
    let mut values = bytes(view)?;
    let zeros = zero.map(bytes).transpose()?;
    let along = if view.rank() == 0 { 1 } else { view.shape()[axis] };
    if let Some(count) = zero.map(|zero| zero.len()).filter(|count| *count != 1 && *count != along) {
        return Err(Fault::new(format!("{count} zero points do not fit the shape {:?}", view.shape())));
    }
    if !scratch.is_there() {
        return Ok(values);
    }
    let zeros = zeros.as_deref().unwrap_or(&[0]);
    let inner: usize = view.shape().get(axis + 1..).map_or(1, |rest| rest.iter().product());
    for (index, value) in values.iter_mut().enumerate() {
        *value -= zeros[if zeros.len() == 1 { 0 } else { index / inner.max(1) % along }];
    }
    Ok(values)
}

fn matmul_integer(inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
    let (a, b) = (inputs.get(0)?, inputs.get(1)?);
    let plan = Batched::new(a.shape(), b.shape())?;
    let left = widened(a, inputs.optional(2), a.rank().saturating_sub(2), scratch)?;
    let right = widened(b, inputs.optional(3), b.rank().saturating_sub(1), scratch)?;
    plan.multiply(&left, &right, outputs.allocate::<i32>(0, &plan.shape)?);
    Ok(())
}

fn matmul_quantized(inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
    let (a, b) = (inputs.get(0)?, inputs.get(3)?);
    let plan = Batched::new(a.shape(), b.shape())?;
    let left = widened(a, Some(inputs.get(2)?), a.rank().saturating_sub(2), scratch)?;
    let right = widened(b, Some(inputs.get(5)?), b.rank().saturating_sub(1), scratch)?;
    let mut sums = scratch.zeros::<i32>(count(&plan.shape)?)?;
    outputs.announce(inputs.get(7)?.element(), 0, &plan.shape)?;
    scratch.all_there()?;
    plan.multiply(&left, &right, &mut sums);
    let scale = |index: usize| inputs.get(index)?.only::<f32>().map(f64::from);
    let scale = scale(1)? * scale(4)? / scale(6)?;
    let zero = inputs.get(7)?;
    if zero.element() == ElementType::I8 {
        // The specification says that results are clamped, the published tests of this type that they wrap around.
        return Err(Fault::of(
            ErrorKind::Type,
            "results of type i8 are not supported: it is not settled what becomes of large ones",
        ));
    }
    requantize(&sums, &plan.shape, |_| scale, zero, outputs)
}

/// Rounds sums of products back to bytes of the type of the zero point.
pub(crate) fn requantize(
    sums: &[i32],
    shape: &[usize],
    scale: impl Fn(usize) -> f64,
    zero: View<'_>,
    outputs: &mut Outputs<'_>,
) -> Result<(), Fault> {
    if !matches!(zero.element(), ElementType::U8 | ElementType::I8) {
        return Err(Fault::unsupported(format!("a zero point of type {} is not supported", zero.element())));
    }
    with_type!(integers, zero.element(), T => {
        let zero = zero.only::<T>()?.to_f64();
        let results = outputs.allocate::<T>(0, shape)?;
        for (index, (result, sum)) in results.iter_mut().zip(sums).enumerate() {
            *result = T::from_f64((f64::from(*sum) * scale(index)).round_ties_even() + zero);
        }
        Ok(())
    })
}

fn gemm(spec: &Spec) -> Made {
    let (alpha, beta) = (spec.float("alpha", 1.0)?, spec.float("beta", 1.0)?);
    // Before opset 7 a node had to say that its bias is broadcast.
    spec.ignore(&["broadcast"]);
    let (turn_a, turn_b) = (spec.flag("transA", false)?, spec.flag("transB", false)?);
    kernel_with(move |inputs, outputs, scratch| {
        let (a, b) = (inputs.get(0)?, inputs.get(1)?);
        let (&[a0, a1], &[b0, b1]) = (a.shape(), b.shape()) else {
            return Err(Fault::new(format!("expected matrices, found the shapes {:?} and {:?}", a.shape(), b.shape())));
        };
        let (m, k) = if turn_a { (a1, a0) } else { (a0, a1) };
        let (other, n) = if turn_b { (b1, b0) } else { (b0, b1) };
        if other != k {
            return Err(Fault::new(format!(
                "matrices of the shapes {:?} and {:?} cannot be multiplied",
                a.shape(),
                b.shape()
            )));
        }
        with_type!(numbers, a.element(), T => {
            scratch.count(T::multiply_bytes(k, n))?;
            let results = outputs.allocate::<T>(0, &[m, n])?;
            let (left, right) = (a.values::<T>()?, b.values::<T>()?);
            let left = if turn_a { Matrix::columns(left, m) } else { Matrix::rows(left, k) };
            let right = if turn_b { Matrix::columns(right, k) } else { Matrix::rows(right, n) };
            T::multiply(m, k, n, left, right, results);
            let scale = |factor: f32, value: T| if factor == 1.0 { value } else { T::from_f64(f64::from(factor) * value.to_f64()) };
            if alpha != 1.0 {
                results.iter_mut().for_each(|result| *result = scale(alpha, *result));
            }
            if let Some(c) = inputs.optional(2) {
                let walk = Walk::new(&[m, n], [broadcast_steps(c.shape(), &[m, n])?]);
                let c = c.values::<T>()?;
                results.iter_mut().zip(walk).for_each(|(result, [at])| *result = result.plus(scale(beta, c[at])));
            }
            Ok(())
        })
    })
}

fn determinant(inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
    let input = inputs.get(0)?;
    expect_rank(input, 2, "a determinant")?;
    let (stack, size) = input.shape().split_at(input.rank() - 2);
    let size = if size[0] == size[1] {
        size[0]
    } else {
        return Err(Fault::new(format!("{:?} is not a square", input.shape())));
    };
    with_type!(floats, input.element(), T => {
        let mut rows = scratch.unset::<f64>(size * size)?;
        let results = outputs.allocate::<T>(0, stack)?;
        let values = input.values::<T>()?;
        for (number, result) in results.iter_mut().enumerate() {
            let from = &values[number * size * size..][..size * size];
            rows.iter_mut().zip(from).for_each(|(into, value)| *into = value.to_f64());
            let mut product = 1.0;
            for pivot in 0..size {
                let at = |row: &usize| rows[row * size + pivot].abs();
                let best = (pivot..size).max_by(|a, b| at(a).total_cmp(&at(b))).unwrap_or(pivot);
                if best != pivot {
                    let (above, below) = rows.split_at_mut(best * size);
                    above[pivot * size..][..size].swap_with_slice(&mut below[..size]);
                    product = -product;
                }
                product *= rows[pivot * size + pivot];
                if product == 0.0 {
                    break;
                }
                let (above, below) = rows.split_at_mut((pivot + 1) * size);
                let base = &above[pivot * size..];
                for row in below.chunks_exact_mut(size) {
                    let factor = row[pivot] / base[pivot];
                    row.iter_mut().zip(base).skip(pivot).for_each(|(value, base)| *value -= factor * base);
                }
            }
            *result = T::from_f64(product);
        }
        Ok(())
    })
}
