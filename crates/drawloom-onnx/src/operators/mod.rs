//! The operators of ONNX, each a kernel made from the attributes of its node.
//!
//! | module | operators |
//! |---|---|
//! | [`elementwise`], [`binary`] | each element by itself, or with its partner |
//! | [`reduce`], [`normalise`] | many elements to one, and values less their mean |
//! | [`matrix`], [`einsum`], [`convolution`], [`convolve`], [`transposed`], [`pool`] | products of matrices, and windows |
//! | [`shape`], [`movement`], [`index`], [`lookup`] | elements as they are, elsewhere |
//! | [`recurrent`] | states that change in time |
//! | [`resize`], [`sample`], [`signal`], [`detect`] | images, signals, and things in them |
//! | [`loss`] | losses of classifiers |
//! | [`quantise`] | numbers as bytes |
//! | [`control`], [`body`] | graphs inside of nodes |
//! | [`counts`] | how many inputs each of them takes |
//! | [`simd`], [`multiply`] | all `unsafe` code: kernels on sixteen numbers at once, and calls of a library for products of matrices |

pub(crate) mod binary;
pub(crate) mod body;
pub(crate) mod control;
pub(crate) mod convolution;
pub(crate) mod convolve;
pub(crate) mod counts;
pub(crate) mod detect;
pub(crate) mod einsum;
pub(crate) mod elementwise;
pub(crate) mod index;
pub(crate) mod lookup;
pub(crate) mod loss;
pub(crate) mod matrix;
pub(crate) mod movement;
#[allow(unsafe_code)]
pub(crate) mod multiply;
pub(crate) mod normalise;
pub(crate) mod number;
pub(crate) mod pool;
pub(crate) mod quantise;
pub(crate) mod recurrent;
pub(crate) mod reduce;
pub(crate) mod resize;
pub(crate) mod sample;
pub(crate) mod shape;
pub(crate) mod signal;
#[allow(unsafe_code)]
pub(crate) mod simd;
pub(crate) mod spec;
pub(crate) mod support;
pub(crate) mod transposed;
pub(crate) mod window;

use drawloom_tensor::{Fault, Kernel};
use spec::Spec;
use support::Made;

/// Where operators are looked for.
const FAMILIES: &[fn(&Spec) -> Option<Made>] = &[
    elementwise::make,
    binary::make,
    reduce::make,
    shape::make,
    movement::make,
    index::make,
    matrix::make,
    einsum::make,
    convolution::make,
    pool::make,
    normalise::make,
    quantise::make,
    loss::make,
    resize::make,
    recurrent::make,
    signal::make,
    sample::make,
    detect::make,
];

/// The kernel of a node, or nothing when its operator is not known. `declared` counts its inputs, without those that graphs
/// inside of it take from outside.
pub(crate) fn make(spec: &Spec, declared: usize) -> Option<Result<Box<dyn Kernel>, Fault>> {
    let made = FAMILIES.iter().find_map(|family| family(spec)).or_else(|| control::make(spec, declared))?;
    Some(made.and_then(|kernel| spec.check_all_asked().map(|()| kernel)))
}
