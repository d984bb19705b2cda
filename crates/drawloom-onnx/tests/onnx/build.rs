//! Small models, written with the encoder of the library that we read them with.

use std::cell::RefCell;

use drawloom_tensor::{Element, Error, Settings, Slice, Tensor};
use rten_onnx::onnx::{
    AttributeProto, AttributeType, DataType, Dimension, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    TensorProto, TensorShapeProto, TypeProto, TypeProtoTensor, ValueInfoProto,
};

/// A node.
pub(crate) fn node(operator: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    NodeProto {
        op_type: Some(operator.to_owned()),
        input: names(inputs),
        output: names(outputs),
        ..NodeProto::default()
    }
}

/// An attribute.
pub(crate) fn attribute(name: &str) -> AttributeProto {
    AttributeProto { name: Some(name.to_owned()), ..AttributeProto::default() }
}

/// A node with an attribute more.
pub(crate) fn with(mut node: NodeProto, attribute: AttributeProto) -> NodeProto {
    node.attribute.push(attribute);
    node
}

/// A list of integers as an attribute.
pub(crate) fn ints(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto { ints: values.to_vec(), r#type: Some(AttributeType::INTS), ..attribute(name) }
}

/// An integer as an attribute.
pub(crate) fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { i: Some(value), r#type: Some(AttributeType::INT), ..attribute(name) }
}

/// An input or output of a type and shape; a negative length has no value.
pub(crate) fn value(name: &str, element: DataType, shape: &[i64]) -> ValueInfoProto {
    let dim = shape.iter().map(|length| Dimension { dim_value: Some(*length), dim_param: None }).collect();
    let tensor = TypeProtoTensor { elem_type: Some(element), shape: Some(TensorShapeProto { dim }) };
    let kind = TypeProto { tensor_type: Some(tensor), ..TypeProto::default() };
    ValueInfoProto { name: Some(name.to_owned()), r#type: Some(kind) }
}

/// A tensor as it is stored.
pub(crate) fn stored(name: &str, tensor: &Tensor) -> TensorProto {
    macro_rules! raw {
        ($values:expr) => {
            $values.iter().flat_map(|value| value.to_le_bytes()).collect()
        };
    }
    let (data_type, raw): (DataType, Vec<u8>) = match tensor.view().slice() {
        Slice::F32(values) => (DataType::FLOAT, raw!(values)),
        Slice::F64(values) => (DataType::DOUBLE, raw!(values)),
        Slice::I64(values) => (DataType::INT64, raw!(values)),
        Slice::I32(values) => (DataType::INT32, raw!(values)),
        Slice::U8(values) => (DataType::UINT8, values.to_vec()),
        Slice::I8(values) => (DataType::INT8, raw!(values)),
        Slice::Bool(values) => (DataType::BOOL, values.iter().map(|value| u8::from(*value)).collect()),
    };
    TensorProto {
        name: Some(name.to_owned()),
        dims: tensor.shape().iter().map(|length| *length as i64).collect(),
        data_type: Some(data_type),
        raw_data: Some(RefCell::new(raw)),
        ..TensorProto::default()
    }
}

/// The bytes of a model.
pub(crate) fn model(graph: GraphProto) -> Vec<u8> {
    model_of_opset(graph, 21)
}

pub(crate) fn model_of_opset(graph: GraphProto, version: i64) -> Vec<u8> {
    let opset = OperatorSetIdProto { domain: Some(String::new()), version: Some(version) };
    let model =
        ModelProto { ir_version: Some(10), graph: Some(graph), opset_import: vec![opset], ..ModelProto::default() };
    model.write_buf().unwrap()
}

/// A tensor.
pub(crate) fn tensor<T: Element>(shape: &[usize], values: &[T]) -> Tensor {
    Tensor::new(shape, values.to_vec()).unwrap()
}

/// A graph of nodes whose inputs are constants, and whose outputs have no declared shape.
pub(crate) fn constants(nodes: Vec<NodeProto>, inputs: &[(&str, Tensor)], outputs: &[&str]) -> GraphProto {
    let output = |name: &&str| {
        let mut value = value(name, DataType::FLOAT, &[]);
        if let Some(tensor) = value.r#type.as_mut().and_then(|kind| kind.tensor_type.as_mut()) {
            tensor.shape = None;
        }
        value
    };
    GraphProto {
        node: nodes,
        initializer: inputs.iter().map(|(name, tensor)| stored(name, tensor)).collect(),
        output: outputs.iter().map(output).collect(),
        ..GraphProto::default()
    }
}

/// What a node computes from tensors.
pub(crate) fn compute(node: NodeProto, inputs: &[Tensor]) -> Result<Vec<Tensor>, Error> {
    let named: Vec<(&str, Tensor)> = node.input.iter().map(String::as_str).zip(inputs.iter().cloned()).collect();
    let outputs: Vec<&str> = node.output.iter().map(String::as_str).collect();
    let bytes = model(constants(vec![node.clone()], &named, &outputs));
    Ok(drawloom_onnx::from_bytes(&bytes, None)?.run(&[], &Settings::new())?.into_outputs())
}
