//! Models of several nodes, whose rows take far more than their weights.

use drawloom_onnx::sample::{sample_batch, sample_model};
use rten_onnx::onnx::{AttributeProto, AttributeType, DataType, GraphProto, NodeProto};

use crate::Given;
use crate::build::{attribute, constants, int, ints, model, node, tensor, value, with};

const ROWS: usize = 5;

pub(crate) fn all() -> Vec<Given> {
    vec![sample(), convolutions(), products(), recurrent(), resized(), attention(), loop_inside(), branch(), turned()]
}

fn float(index: usize) -> f32 {
    (index * 7 % 23) as f32 / 23.0 - 0.4
}

fn floats(shape: &[usize]) -> drawloom_tensor::Tensor {
    tensor(shape, &(0..shape.iter().product()).map(float).collect::<Vec<f32>>())
}

/// A model with one input `x` of rows of a shape.
fn given(
    name: &str,
    nodes: Vec<NodeProto>,
    row: &[usize],
    fixed: &[(&str, drawloom_tensor::Tensor)],
    outputs: &[&str],
) -> Given {
    let shape: Vec<i64> = std::iter::once(-1).chain(row.iter().map(|length| *length as i64)).collect();
    let graph = GraphProto { input: vec![value("x", DataType::FLOAT, &shape)], ..constants(nodes, fixed, outputs) };
    Given {
        name: name.to_owned(),
        model: model(graph),
        inputs: vec![("x", floats(&[&[ROWS], row].concat()))],
        few: false,
    }
}

fn sample() -> Given {
    let inputs = vec![("image", sample_batch(ROWS).unwrap())];
    Given { name: "the sample".to_owned(), model: sample_model().unwrap(), inputs, few: false }
}

/// Few channels become many, and few again.
fn convolutions() -> Given {
    let conv =
        |from: &str, weight: &str, to: &str| with(node("Conv", &[from, weight], &[to]), ints("pads", &[1, 1, 1, 1]));
    let nodes = vec![
        conv("x", "w1", "a"),
        node("Relu", &["a"], &["b"]),
        conv("b", "w2", "c"),
        node("Add", &["b", "c"], &["d"]),
        node("Sigmoid", &["d"], &["e"]),
        conv("e", "w3", "f"),
        node("GlobalAveragePool", &["f"], &["y"]),
    ];
    let fixed = [("w1", floats(&[16, 1, 3, 3])), ("w2", floats(&[16, 16, 3, 3])), ("w3", floats(&[2, 16, 3, 3]))];
    given("convolutions", nodes, &[1, 48, 48], &fixed, &["y"])
}

pub(crate) fn products() -> Given {
    let nodes = vec![
        node("MatMul", &["x", "w1"], &["a"]),
        node("Relu", &["a"], &["b"]),
        node("MatMul", &["b", "w2"], &["c"]),
        node("Softmax", &["c"], &["d"]),
        with(node("Transpose", &["d"], &["e"]), ints("perm", &[0, 2, 1])),
        node("MatMul", &["e", "d"], &["y"]),
    ];
    let fixed = [("w1", floats(&[8, 64])), ("w2", floats(&[64, 16]))];
    given("products", nodes, &[512, 8], &fixed, &["y"])
}

fn recurrent() -> Given {
    let lstm = with(with(node("LSTM", &["x", "w", "r"], &["h"]), int("layout", 1)), int("hidden_size", 16));
    let nodes = vec![lstm, node("Tanh", &["h"], &["t"]), node("Mul", &["h", "t"], &["y"])];
    given("recurrent", nodes, &[512, 8], &[("w", floats(&[1, 64, 8])), ("r", floats(&[1, 64, 16]))], &["y"])
}

fn resized() -> Given {
    let text = |name: &str, value: &str| AttributeProto {
        s: Some(value.to_owned()),
        r#type: Some(AttributeType::STRING),
        ..attribute(name)
    };
    let nodes = vec![
        with(node("Resize", &["x", "", "up"], &["a"]), text("mode", "linear")),
        node("Relu", &["a"], &["b"]),
        with(node("Resize", &["b", "", "down"], &["y"]), text("mode", "nearest")),
    ];
    let fixed = [("up", tensor(&[4], &[1.0f32, 1.0, 3.0, 3.0])), ("down", tensor(&[4], &[1.0f32, 1.0, 0.25, 0.25]))];
    given("resized", nodes, &[2, 32, 32], &fixed, &["y"])
}

fn attention() -> Given {
    let turn = |from: &str, to: &str, order: &[i64]| with(node("Transpose", &[from], &[to]), ints("perm", order));
    let nodes = vec![
        node("MatMul", &["x", "q"], &["query"]),
        node("MatMul", &["x", "k"], &["key"]),
        node("MatMul", &["x", "v"], &["value"]),
        turn("key", "turned", &[0, 2, 1]),
        node("MatMul", &["query", "turned"], &["scores"]),
        node("Softmax", &["scores"], &["weights"]),
        node("MatMul", &["weights", "value"], &["mixed"]),
        node("Add", &["mixed", "x"], &["y"]),
    ];
    let fixed = [("q", floats(&[16, 16])), ("k", floats(&[16, 16])), ("v", floats(&[16, 16]))];
    given("attention", nodes, &[160, 16], &fixed, &["y", "weights"])
}

fn body(name: &str, graph: GraphProto) -> AttributeProto {
    AttributeProto { g: Some(graph), r#type: Some(AttributeType::GRAPH), ..attribute(name) }
}

/// A loop between other nodes, whose body takes several times what it is given.
fn loop_inside() -> Given {
    let step = vec![
        node("Identity", &["go"], &["goes"]),
        with(node("Concat", &["state", "state", "state"], &["wide"]), int("axis", 1)),
        node("ReduceMean", &["wide", "ones"], &["mean"]),
        node("Sub", &["state", "mean"], &["next"]),
        node("Exp", &["next"], &["slice"]),
    ];
    let untyped = |name: &str, element| {
        let mut value = value(name, element, &[]);
        if let Some(tensor) = value.r#type.as_mut().and_then(|kind| kind.tensor_type.as_mut()) {
            tensor.shape = None;
        }
        value
    };
    let step = GraphProto {
        input: vec![
            value("i", DataType::INT64, &[]),
            value("go", DataType::BOOL, &[]),
            untyped("state", DataType::FLOAT),
        ],
        ..constants(step, &[("ones", tensor(&[1], &[1i64]))], &["goes", "next", "slice"])
    };
    let nodes = vec![
        node("Relu", &["x"], &["a"]),
        with(node("Loop", &["times", "", "a"], &["b", "all"]), body("body", step)),
        node("ReduceMax", &["all", "zero"], &["c"]),
        node("Squeeze", &["c", "zero"], &["d"]),
        node("Add", &["b", "d"], &["y"]),
    ];
    let fixed = [("times", tensor(&[], &[3i64])), ("zero", tensor(&[1], &[0i64]))];
    given("a loop inside", nodes, &[4096], &fixed, &["y"])
}

fn branch() -> Given {
    let side = |first: &str| {
        let nodes = vec![node(first, &["a"], &["p"]), node("Exp", &["p"], &["q"]), node("Add", &["p", "q"], &["s"])];
        constants(nodes, &[], &["s"])
    };
    let branch = with(node("If", &["yes"], &["b"]), body("then_branch", side("Neg")));
    let nodes = vec![
        node("Sin", &["x"], &["a"]),
        with(branch, body("else_branch", side("Abs"))),
        node("Mul", &["a", "b"], &["y"]),
    ];
    given("a branch", nodes, &[8192], &[("yes", tensor(&[], &[true]))], &["y"])
}

/// Rows that are not along the first axis of the result.
fn turned() -> Given {
    let nodes = vec![node("Sin", &["x"], &["a"]), with(node("Transpose", &["a"], &["y"]), ints("perm", &[1, 0]))];
    given("turned", nodes, &[4096], &[], &["y"])
}

/// Places in a table that is an input, too.
pub(crate) fn table() -> Given {
    let graph = GraphProto {
        input: vec![value("x", DataType::INT64, &[-1, 4]), value("t", DataType::FLOAT, &[1024, 64])],
        ..constants(vec![node("Gather", &["t", "x"], &["y"])], &[], &["y"])
    };
    let places: Vec<i64> = (0..ROWS as i64 * 4).collect();
    let inputs = vec![("x", tensor(&[ROWS, 4], &places)), ("t", floats(&[1024, 64]))];
    Given { name: "a table".to_owned(), model: model(graph), inputs, few: false }
}
