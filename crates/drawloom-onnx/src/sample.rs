//! A small model to try things with: a classifier of images with random weights.

use std::cell::RefCell;

use rten_onnx::onnx::{
    AttributeProto, AttributeType, DataType, Dimension, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    TensorProto, TensorShapeProto, TypeProto, TypeProtoTensor, ValueInfoProto,
};

use drawloom_tensor::{ElementType, Error, RowSink, Tensor};
use fastrand::Rng;

/// The height and width of the images that the sample classifies.
pub const SIZE: usize = 32;

/// How many classes there are.
const CLASSES: usize = 10;

/// Channels after each convolution.
const CHANNELS: usize = 16;

/// How many rows of a batch are made at once.
const ROWS_AT_ONCE: usize = 64;

/// The seed of the batch. That of the weights is another one.
const BATCH_SEED: u64 = 2;

/// Numbers between -1 and 1, times a scale. They mean nothing.
fn numbers(random: &mut Rng, count: usize, scale: f32) -> Vec<f32> {
    (0..count).map(|_| number(random) * scale).collect()
}

fn number(random: &mut Rng) -> f32 {
    2.0 * random.f32() - 1.0
}

fn node(operator: &str, inputs: &[&str], output: &str, attribute: Vec<AttributeProto>) -> NodeProto {
    NodeProto {
        name: Some(format!("{output}_node")),
        op_type: Some(operator.to_owned()),
        input: inputs.iter().map(|name| (*name).to_owned()).collect(),
        output: vec![output.to_owned()],
        attribute,
        ..NodeProto::default()
    }
}

fn ints(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto {
        name: Some(name.to_owned()),
        ints: values.to_vec(),
        r#type: Some(AttributeType::INTS),
        ..AttributeProto::default()
    }
}

fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto {
        name: Some(name.to_owned()),
        i: Some(value),
        r#type: Some(AttributeType::INT),
        ..AttributeProto::default()
    }
}

fn weights(name: &str, dims: &[i64], values: &[f32]) -> TensorProto {
    TensorProto {
        name: Some(name.to_owned()),
        dims: dims.to_vec(),
        data_type: Some(DataType::FLOAT),
        raw_data: Some(RefCell::new(values.iter().flat_map(|value| value.to_le_bytes()).collect())),
        ..TensorProto::default()
    }
}

/// A port whose first axis counts rows.
fn port(name: &str, lengths: &[i64]) -> ValueInfoProto {
    let mut dim = vec![Dimension { dim_value: None, dim_param: Some("rows".to_owned()) }];
    dim.extend(lengths.iter().map(|length| Dimension { dim_value: Some(*length), dim_param: None }));
    let tensor = TypeProtoTensor { elem_type: Some(DataType::FLOAT), shape: Some(TensorShapeProto { dim }) };
    ValueInfoProto {
        name: Some(name.to_owned()),
        r#type: Some(TypeProto { tensor_type: Some(tensor), ..TypeProto::default() }),
    }
}

/// The bytes of the model: a convolution, one of each channel by itself, one across channels, the mean, and a layer of
/// weights for each class. Its input is `image`, its output `class`.
pub fn sample_model() -> Result<Vec<u8>, Error> {
    let mut random = Rng::with_seed(1);
    let channels = CHANNELS as i64;
    let around = || ints("pads", &[1, 1, 1, 1]);
    let initializer = vec![
        weights("w1", &[channels, 3, 3, 3], &numbers(&mut random, CHANNELS * 27, 0.3)),
        weights("b1", &[channels], &numbers(&mut random, CHANNELS, 0.1)),
        weights("w2", &[channels, 1, 3, 3], &numbers(&mut random, CHANNELS * 9, 0.4)),
        weights("w3", &[channels, channels, 1, 1], &numbers(&mut random, CHANNELS * CHANNELS, 0.3)),
        weights("b3", &[channels], &numbers(&mut random, CHANNELS, 0.1)),
        weights("w4", &[CLASSES as i64, channels], &numbers(&mut random, CLASSES * CHANNELS, 0.8)),
        weights("b4", &[CLASSES as i64], &numbers(&mut random, CLASSES, 0.1)),
    ];
    let nodes = vec![
        node("Conv", &["image", "w1", "b1"], "c1", vec![around(), ints("strides", &[2, 2])]),
        node("Relu", &["c1"], "r1", Vec::new()),
        node("Conv", &["r1", "w2"], "c2", vec![around(), int("group", channels)]),
        node("Conv", &["c2", "w3", "b3"], "c3", Vec::new()),
        node("Relu", &["c3"], "r3", Vec::new()),
        node("Add", &["r3", "r1"], "sum", Vec::new()),
        node("GlobalAveragePool", &["sum"], "mean", Vec::new()),
        node("Flatten", &["mean"], "flat", vec![int("axis", 1)]),
        node("Gemm", &["flat", "w4", "b4"], "score", vec![int("transB", 1)]),
        node("Softmax", &["score"], "class", vec![int("axis", -1)]),
    ];
    let graph = GraphProto {
        node: nodes,
        initializer,
        input: vec![port("image", &[3, SIZE as i64, SIZE as i64])],
        output: vec![port("class", &[CLASSES as i64])],
        ..GraphProto::default()
    };
    let model = ModelProto {
        ir_version: Some(10),
        graph: Some(graph),
        opset_import: vec![OperatorSetIdProto { domain: Some(String::new()), version: Some(17) }],
        ..ModelProto::default()
    };
    let cannot =
        |error| Error::new(drawloom_tensor::ErrorKind::Import, format!("the sample cannot be written: {error:?}"));
    model.write_buf().map_err(cannot)
}

/// A batch for it.
pub fn sample_batch(rows: usize) -> Result<Tensor, Error> {
    let mut tensor = Tensor::zeros(ElementType::F32, &shape(rows))?;
    let mut random = Rng::with_seed(BATCH_SEED);
    tensor.values_mut::<f32>()?.iter_mut().for_each(|value| *value = number(&mut random));
    Ok(tensor)
}

/// Gives the same rows away, some at a time: there may be more of them than memory holds.
pub fn give_batch(rows: usize, sink: &dyn RowSink) -> Result<(), Error> {
    sink.begin(ElementType::F32, &shape(rows))?;
    let mut random = Rng::with_seed(BATCH_SEED);
    for first in (0..rows).step_by(ROWS_AT_ONCE) {
        let shape = shape(ROWS_AT_ONCE.min(rows - first));
        let values = numbers(&mut random, shape.iter().product(), 1.0);
        sink.write(first, Tensor::new(&shape, values)?.view())?;
    }
    Ok(())
}

/// The shape of so many rows.
fn shape(rows: usize) -> [usize; 4] {
    [rows, 3, SIZE, SIZE]
}
