//! The types of elements that operators compute.

use crate::operators::shape::onnx_type;
use crate::operators::spec::{Attribute, Spec};
use drawloom_tensor::{ElementType, Fact};

/// The type of the first output of a node.
pub(super) fn element(spec: &Spec, inputs: &[Option<&Fact>]) -> Option<ElementType> {
    let of = |index: usize| inputs.get(index).copied().flatten().and_then(|fact| fact.element);
    match spec.operator.as_str() {
        "Equal" | "Less" | "LessOrEqual" | "Greater" | "GreaterOrEqual" | "And" | "Or" | "Xor" | "Not" | "IsNaN"
        | "IsInf" => Some(ElementType::Bool),
        "Shape" | "Size" | "ArgMax" | "ArgMin" | "NonZero" | "NonMaxSuppression" => Some(ElementType::I64),
        "MatMulInteger" | "ConvInteger" => Some(ElementType::I32),
        "DynamicQuantizeLinear" => Some(ElementType::U8),
        "Cast" => spec.int("to", 0).and_then(onnx_type).ok(),
        "CastLike" | "Where" | "DequantizeLinear" => of(1),
        "OneHot" => of(2),
        "QuantizeLinear" => of(2).or(Some(ElementType::U8)),
        "QLinearConv" | "QLinearMatMul" => of(7),
        "ConstantOfShape" => match spec.attributes.get("value") {
            Some(Attribute::Tensor(value)) => Some(value.element()),
            _ => Some(ElementType::F32),
        },
        "If" | "Loop" | "Scan" => None,
        _ => of(0),
    }
}
