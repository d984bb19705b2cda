//! Small models, written with the encoder of the library that they are read with.

use std::cell::RefCell;

use rten_onnx::onnx::{
    AttributeProto, AttributeType, DataLocation, DataType, Dimension, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, StringStringEntryProto, TensorProto, TensorShapeProto, TypeProto, TypeProtoTensor,
    ValueInfoProto,
};

/// A node: its operator, with a domain before the last point, its inputs and its outputs.
pub fn node(operator: &str, inputs: &str, outputs: &str) -> NodeProto {
    let names = |names: &str| names.split(' ').map(str::to_owned).collect();
    let (domain, name) = operator.rsplit_once('.').unwrap_or(("", operator));
    NodeProto {
        domain: Some(domain.to_owned()),
        op_type: Some(name.to_owned()),
        input: names(inputs),
        output: names(outputs),
        ..NodeProto::default()
    }
}

/// A node with a list of integers as an attribute.
pub fn with_ints(mut node: NodeProto, name: &str, values: &[i64]) -> NodeProto {
    node.attribute.push(AttributeProto {
        name: Some(name.to_owned()),
        ints: values.to_vec(),
        r#type: Some(AttributeType::INTS),
        ..AttributeProto::default()
    });
    node
}

/// A node with a graph inside, which has no inputs and one output.
pub fn with_graph(mut node: NodeProto, name: &str, nodes: Vec<NodeProto>, output: &str) -> NodeProto {
    let graph = GraphProto { node: nodes, output: vec![port(output, "")], ..GraphProto::default() };
    node.attribute.push(AttributeProto {
        name: Some(name.to_owned()),
        g: Some(graph),
        r#type: Some(AttributeType::GRAPH),
        ..AttributeProto::default()
    });
    node
}

/// An input or output: the type and the lengths of its axes, such as `f32 N 3`. A length that is no number is a name.
fn port(name: &str, shape: &str) -> ValueInfoProto {
    let mut words = shape.split_whitespace();
    let r#type = words.next().map(|element| {
        let elem_type = Some(if element == "i64" { DataType::INT64 } else { DataType::FLOAT });
        let length = |word: &str| match word.parse() {
            Ok(length) => Dimension { dim_value: Some(length), dim_param: None },
            Err(_) => Dimension { dim_value: None, dim_param: Some(word.to_owned()) },
        };
        let shape = Some(TensorShapeProto { dim: words.map(length).collect() });
        TypeProto { tensor_type: Some(TypeProtoTensor { elem_type, shape }), ..TypeProto::default() }
    });
    ValueInfoProto { name: Some(name.to_owned()), r#type }
}

/// An initializer of integers.
pub fn integers(name: &str, dims: &[i64], values: &[i64]) -> TensorProto {
    stored(name, dims, DataType::INT64, values.iter().flat_map(|value| value.to_le_bytes()).collect())
}

/// An initializer of numbers.
pub fn numbers(name: &str, dims: &[i64], values: &[f32]) -> TensorProto {
    stored(name, dims, DataType::FLOAT, values.iter().flat_map(|value| value.to_le_bytes()).collect())
}

/// An initializer of numbers that are in another file.
pub fn elsewhere(name: &str, dims: &[i64], file: &str) -> TensorProto {
    let location = StringStringEntryProto { key: Some("location".to_owned()), value: Some(file.to_owned()) };
    TensorProto {
        name: Some(name.to_owned()),
        dims: dims.to_vec(),
        data_type: Some(DataType::FLOAT),
        external_data: vec![location],
        data_location: Some(DataLocation::EXTERNAL),
        ..TensorProto::default()
    }
}

fn stored(name: &str, dims: &[i64], data_type: DataType, raw: Vec<u8>) -> TensorProto {
    TensorProto {
        name: Some(name.to_owned()),
        dims: dims.to_vec(),
        data_type: Some(data_type),
        raw_data: Some(RefCell::new(raw)),
        ..TensorProto::default()
    }
}

/// The bytes of a model.
pub fn model(
    nodes: Vec<NodeProto>,
    inputs: &[(&str, &str)],
    outputs: &[(&str, &str)],
    initializer: Vec<TensorProto>,
) -> Vec<u8> {
    let ports = |ports: &[(&str, &str)]| ports.iter().map(|(name, shape)| port(name, shape)).collect();
    let graph =
        GraphProto { node: nodes, initializer, input: ports(inputs), output: ports(outputs), ..GraphProto::default() };
    let model = ModelProto {
        ir_version: Some(10),
        graph: Some(graph),
        opset_import: vec![OperatorSetIdProto { domain: Some(String::new()), version: Some(17) }],
        ..ModelProto::default()
    };
    model.write_buf().expect("a model can be written")
}

/// A model that computes `y = Relu(x)` for any number of rows of three elements, as it is stored: fields and their lengths.
pub fn relu() -> Vec<u8> {
    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, content.len() as u8][..], content].concat()
    }
    let port = |name: &str, dimensions: &[u8]| {
        let tensor = [&[1 << 3, 1][..], &field(2, dimensions)].concat();
        [field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat()
    };
    let shape = [field(1, &field(2, b"N")), field(1, &[1 << 3, 3])].concat();
    let node = [field(1, b"x"), field(2, b"y"), field(4, b"Relu")].concat();
    let graph = [field(1, &node), field(11, &port("x", &shape)), field(12, &port("y", &shape))].concat();
    [&[1 << 3, 10][..], &field(7, &graph), &field(8, &[2 << 3, 21])].concat()
}
