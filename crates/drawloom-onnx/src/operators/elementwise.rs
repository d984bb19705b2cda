//! Operators on each element by itself.

use crate::operators::number::erf;
use crate::operators::simd::activation::Activation;
use crate::operators::spec::Spec;
use crate::operators::support::{Made, kernel};
use drawloom_tensor::operator::Number;
use drawloom_tensor::{ElementType, Fault, Inputs, Kernel, Outputs, Scratch, Tensor, View, with_type};

/// What is done with the elements of a tensor, whose results have memory already.
type Each = Box<dyn Fn(View<'_>, &mut Tensor) -> Result<(), Fault> + Send + Sync>;

/// A kernel that makes an element of each element, of the same type unless another one is given.
fn each(to: Option<ElementType>, run: Each) -> Made {
    kernel(move |inputs, outputs| {
        let input = inputs.get(0)?;
        run(input, outputs.allocate_unset_of(to.unwrap_or(input.element()), 0, input.shape())?)
    })
}

/// A kernel that maps each element of one group of types.
macro_rules! map {
    ($group:ident, $T:ident, $x:ident => $body:expr) => {
        each(
            None,
            Box::new(move |input, results| {
                with_type!($group, input.element(), $T => {
                    let (results, values) = (results.values_mut::<$T>()?, input.values::<$T>()?);
                    results.iter_mut().zip(values).for_each(|(result, &$x)| *result = $body);
                    Ok(())
                })
            }),
        )
    };
}

/// A kernel that asks something of each element.
macro_rules! ask {
    ($T:ident, $x:ident => $body:expr) => {
        each(
            Some(ElementType::Bool),
            Box::new(move |input, results| {
                with_type!(floats, input.element(), $T => {
                    let (results, values) = (results.values_mut::<bool>()?, input.values::<$T>()?);
                    results.iter_mut().zip(values).for_each(|(result, &$x)| *result = $body);
                    Ok(())
                })
            }),
        )
    };
}

/// A function of elements of `f32`, or a kernel for those of other types.
struct Function {
    activation: Activation,
    other: Option<Box<dyn Kernel>>,
}

impl Kernel for Function {
    fn asks_first(&self) -> bool {
        true
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        let input = inputs.get(0)?;
        match &self.other {
            Some(other) if input.element() != ElementType::F32 => other.run(inputs, outputs, scratch),
            _ => {
                let results = outputs.allocate_unset::<f32>(0, input.shape())?;
                self.activation.map(input.values::<f32>()?, results);
                Ok(())
            }
        }
    }
}

/// A function of each element of `f32`.
pub(crate) fn function(activation: Activation) -> Box<dyn Kernel> {
    Box::new(Function { activation, other: None })
}

/// The function of each element that an operator is for `f32`, if it is one that is fast.
pub(crate) fn activation(spec: &Spec) -> Option<Activation> {
    let float = |name: &'static str, default: f32| spec.float(name, default).ok();
    Some(match spec.operator.as_str() {
        "Relu" => Activation::RELU,
        "HardSwish" => Activation::HARD_SWISH,
        "HardSigmoid" => Activation::hard_sigmoid(float("alpha", 0.2)?, float("beta", 0.5)?),
        "LeakyRelu" => Activation::Leaky(float("alpha", 0.01)?),
        "Sigmoid" => Activation::Sigmoid,
        "Tanh" => Activation::Tanh,
        "Exp" => Activation::Exp,
        "Gelu" if spec.text("approximate", "none").ok()? == "tanh" => Activation::GeluTanh,
        _ => return None,
    })
}

pub(crate) fn make(spec: &Spec) -> Option<Made> {
    let made = of_all_types(spec)?;
    let Some(activation) = activation(spec) else { return Some(made) };
    Some(made.map(|other| Box::new(Function { activation, other: Some(other) }) as Box<dyn Kernel>))
}

#[allow(clippy::unnecessary_cast, clippy::too_many_lines)]
fn of_all_types(spec: &Spec) -> Option<Made> {
    let alpha = |default| spec.float("alpha", default);
    Some(match spec.operator.as_str() {
        "Abs" => map!(numbers, T, x => x.absolute()),
        "Neg" => map!(numbers, T, x => x.negated()),
        "Sign" => {
            map!(numbers, T, x => if x > T::ZERO { T::ONE } else if x.is_below_zero() { T::ZERO.minus(T::ONE) } else { x })
        }
        "Exp" => map!(floats, T, x => x.exp()),
        "Log" => map!(floats, T, x => x.ln()),
        "Sqrt" => map!(floats, T, x => x.sqrt()),
        "Reciprocal" => map!(floats, T, x => 1.0 / x),
        "Floor" => map!(floats, T, x => x.floor()),
        "Ceil" => map!(floats, T, x => x.ceil()),
        "Round" => map!(floats, T, x => x.round_ties_even()),
        "Sin" => map!(floats, T, x => x.sin()),
        "Cos" => map!(floats, T, x => x.cos()),
        "Tan" => map!(floats, T, x => x.tan()),
        "Asin" => map!(floats, T, x => x.asin()),
        "Acos" => map!(floats, T, x => x.acos()),
        "Atan" => map!(floats, T, x => x.atan()),
        "Sinh" => map!(floats, T, x => x.sinh()),
        "Cosh" => map!(floats, T, x => x.cosh()),
        "Tanh" => map!(floats, T, x => x.tanh()),
        "Asinh" => map!(floats, T, x => x.asinh()),
        "Acosh" => map!(floats, T, x => x.acosh()),
        "Atanh" => map!(floats, T, x => x.atanh()),
        "Erf" => map!(floats, T, x => erf(x as f64) as T),
        "Sigmoid" => map!(floats, T, x => 1.0 / (1.0 + (-x).exp())),
        "Softplus" => map!(floats, T, x => x.max(0.0) + (-x.abs()).exp().ln_1p()),
        "Softsign" => map!(floats, T, x => x / (1.0 + x.abs())),
        "Mish" => map!(floats, T, x => x * (x.max(0.0) + (-x.abs()).exp().ln_1p()).tanh()),
        "HardSwish" => map!(floats, T, x => x * (x / 6.0 + 0.5).clamp(0.0, 1.0)),
        "Relu" => map!(numbers, T, x => if x.is_below_zero() { T::ZERO } else { x }),
        "Not" => each(
            Some(ElementType::Bool),
            Box::new(|input, results| {
                results
                    .values_mut::<bool>()?
                    .iter_mut()
                    .zip(input.values::<bool>()?)
                    .for_each(|(result, x)| *result = !x);
                Ok(())
            }),
        ),
        "BitwiseNot" => map!(integers, T, x => !x),
        "IsNaN" => ask!(T, x => x.is_nan()),
        "IsInf" => with(spec.flag("detect_negative", true), |negative| {
            with(
                spec.flag("detect_positive", true),
                move |positive| ask!(T, x => x.is_infinite() && if x > 0.0 { positive } else { negative }),
            )
        }),
        "Elu" => with(alpha(1.0), |a| map!(floats, T, x => if x < 0.0 { a as T * x.exp_m1() } else { x })),
        "Celu" => with(alpha(1.0), |a| map!(floats, T, x => x.max(0.0) + (a as T * (x / a as T).exp_m1()).min(0.0))),
        "LeakyRelu" => with(alpha(0.01), |a| map!(floats, T, x => if x < 0.0 { a as T * x } else { x })),
        "ThresholdedRelu" => with(alpha(1.0), |a| map!(floats, T, x => if x > a as T { x } else { 0.0 })),
        "Selu" => with(alpha(1.673_263_2), |a| {
            with(
                spec.float("gamma", 1.050_701),
                move |g| map!(floats, T, x => g as T * if x > 0.0 { x } else { a as T * x.exp_m1() }),
            )
        }),
        "HardSigmoid" => with(alpha(0.2), |a| {
            with(spec.float("beta", 0.5), move |b| map!(floats, T, x => (a as T * x + b as T).clamp(0.0, 1.0)))
        }),
        "Shrink" => with(spec.float("lambd", 0.5), |edge| {
            with(spec.float("bias", 0.0), move |bias| {
                map!(numbers, T, x => {
                    let wide = x.to_f64();
                    let (edge, bias) = (f64::from(edge), f64::from(bias));
                    T::from_f64(if wide < -edge { wide + bias } else if wide > edge { wide - bias } else { 0.0 })
                })
            })
        }),
        "Gelu" => with(spec.text("approximate", "none"), |approximate| match approximate.as_str() {
            "none" => map!(floats, T, x => (0.5 * x as f64 * (1.0 + erf(x as f64 / std::f64::consts::SQRT_2))) as T),
            "tanh" => map!(floats, T, x => {
                let wide = x as f64;
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (wide + 0.044_715 * wide.powi(3));
                (0.5 * wide * (1.0 + inner.tanh())) as T
            }),
            other => Err(Fault::new(format!("attribute `approximate` must be `none` or `tanh`, and is `{other}`"))),
        }),
        _ => return None,
    })
}

/// Makes a kernel from an attribute.
pub(crate) fn with<A>(attribute: Result<A, Fault>, make: impl FnOnce(A) -> Made) -> Made {
    make(attribute?)
}
