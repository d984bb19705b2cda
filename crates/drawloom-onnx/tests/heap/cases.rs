//! Operators with rows that are large.

use drawloom_tensor::{Element, Tensor};
use rten_onnx::onnx::{AttributeProto, AttributeType, DataType, GraphProto, NodeProto, ValueInfoProto};

use crate::build::{attribute, constants, int, ints, model, node, tensor, value, with};

/// How many rows a batch has.
const ROWS: usize = 5;

/// A model of one node, and what it is given.
pub(crate) struct Case {
    pub(crate) name: String,
    node: NodeProto,
    /// What has rows, along the first axis.
    pub(crate) inputs: Vec<(&'static str, Tensor)>,
    constants: Vec<(&'static str, Tensor)>,
}

impl Case {
    /// A node with the inputs that are given to it, in this order.
    fn new(operator: &str, names: &[&str]) -> Self {
        let node = node(operator, names, &["y"]);
        Self { name: operator.to_owned(), node, inputs: Vec::new(), constants: Vec::new() }
    }

    fn outputs(mut self, names: &[&str]) -> Self {
        self.node.output = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// An input with rows of a shape.
    fn rows<T: Element>(mut self, name: &'static str, shape: &[usize], make: impl Fn(usize) -> T) -> Self {
        self.inputs.push((name, made(&[&[ROWS], shape].concat(), make)));
        self
    }

    fn constant<T: Element>(mut self, name: &'static str, shape: &[usize], make: impl Fn(usize) -> T) -> Self {
        self.constants.push((name, made(shape, make)));
        self
    }

    fn with(mut self, attribute: AttributeProto) -> Self {
        self.node = with(self.node, attribute);
        self
    }

    pub(crate) fn model(&self) -> Vec<u8> {
        let outputs: Vec<&str> = self.node.output.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
        let graph = constants(vec![self.node.clone()], &self.constants, &outputs);
        let input = self.inputs.iter().map(|(name, tensor)| {
            let mut shape: Vec<i64> = tensor.shape().iter().map(|length| *length as i64).collect();
            shape[0] = -1;
            value(name, kind(tensor), &shape)
        });
        model(GraphProto { input: input.collect(), ..graph })
    }
}

fn made<T: Element>(shape: &[usize], make: impl Fn(usize) -> T) -> Tensor {
    let values: Vec<T> = (0..shape.iter().product()).map(make).collect();
    tensor(shape, &values)
}

fn kind(tensor: &Tensor) -> DataType {
    crate::build::stored("", tensor).data_type.unwrap_or(DataType::FLOAT)
}

fn text(name: &str, value: &str) -> AttributeProto {
    AttributeProto { s: Some(value.to_owned()), r#type: Some(AttributeType::STRING), ..attribute(name) }
}

fn float(index: usize) -> f32 {
    (index * 7 % 23) as f32 / 23.0 - 0.4
}

fn double(index: usize) -> f64 {
    f64::from(float(index))
}

fn byte(index: usize) -> u8 {
    (index * 7 % 251) as u8
}

/// An image of 64 KiB.
const IMAGE: [usize; 3] = [4, 64, 64];
/// A matrix of the same size.
const MATRIX: [usize; 2] = [128, 128];

/// All cases.
pub(crate) fn all() -> Vec<Case> {
    [products(), windows(), rows_of_numbers(), images(), chosen(), sequences(), bodies()]
        .into_iter()
        .flatten()
        .collect()
}

fn products() -> Vec<Case> {
    vec![
        Case::new("MatMul", &["x", "w"]).rows("x", &MATRIX, float).constant("w", &[128, 32], float),
        Case::new("MatMul", &["x", "w"]).rows("x", &MATRIX, double).constant("w", &[128, 32], double),
        Case::new("Gemm", &["x", "w"]).rows("x", &[16384], double).constant("w", &[16384, 3], double),
        Case::new("MatMulInteger", &["x", "w"]).rows("x", &MATRIX, byte).constant("w", &[128, 32], byte),
        Case::new("QLinearMatMul", &["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"])
            .rows("x", &MATRIX, byte)
            .constant("xs", &[], |_| 0.1f32)
            .constant("xz", &[], |_| 3u8)
            .constant("w", &[128, 32], byte)
            .constant("ws", &[], |_| 0.1f32)
            .constant("wz", &[], |_| 3u8)
            .constant("ys", &[], |_| 100.0f32)
            .constant("yz", &[], |_| 3u8),
        Case::new("Einsum", &["x", "w"]).with(text("equation", "bij,jk->bik")).rows("x", &MATRIX, float).constant(
            "w",
            &[128, 4],
            float,
        ),
        Case::new("Det", &["x"]).rows("x", &[96, 96], float),
        Case::new("QuantizeLinear", &["x", "s", "z"])
            .rows("x", &IMAGE, float)
            .constant("s", &[], |_| 0.01f32)
            .constant("z", &[], |_| 5u8),
        Case::new("DequantizeLinear", &["x", "s", "z"])
            .rows("x", &IMAGE, byte)
            .constant("s", &[], |_| 0.01f32)
            .constant("z", &[], |_| 5u8),
    ]
}

fn windows() -> Vec<Case> {
    let weights = |name: &'static str, case: Case| case.constant(name, &[4, 4, 3, 3], float);
    let pads = || ints("pads", &[1, 1, 1, 1]);
    let quantized = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"];
    vec![
        weights("w", Case::new("Conv", &["x", "w"]).with(pads()).rows("x", &IMAGE, float)),
        Case::new("Conv", &["x", "w"]).with(pads()).rows("x", &IMAGE, double).constant("w", &[4, 4, 3, 3], double),
        Case::new("Conv", &["x", "w"]).rows("x", &[2, 16, 32, 16], float).constant("w", &[2, 2, 3, 3, 3], float),
        Case::new("Conv", &["x", "w"]).with(int("group", 4)).rows("x", &IMAGE, double).constant(
            "w",
            &[4, 1, 3, 3],
            double,
        ),
        Case::new("ConvInteger", &["x", "w"]).rows("x", &IMAGE, byte).constant("w", &[4, 4, 3, 3], byte),
        Case::new("QLinearConv", &quantized)
            .rows("x", &IMAGE, byte)
            .constant("xs", &[], |_| 0.1f32)
            .constant("xz", &[], |_| 3u8)
            .constant("w", &[4, 4, 3, 3], byte)
            .constant("ws", &[], |_| 0.1f32)
            .constant("wz", &[], |_| 3u8)
            .constant("ys", &[], |_| 100.0f32)
            .constant("yz", &[], |_| 3u8),
        weights("w", Case::new("ConvTranspose", &["x", "w"]).rows("x", &IMAGE, float)),
        Case::new("MaxPool", &["x"]).with(ints("kernel_shape", &[3, 3])).rows("x", &IMAGE, float),
        Case::new("MaxPool", &["x"]).with(ints("kernel_shape", &[3, 3])).rows("x", &IMAGE, double),
        Case::new("AveragePool", &["x"]).with(ints("kernel_shape", &[3, 3])).rows("x", &IMAGE, double),
        Case::new("LpPool", &["x"]).with(ints("kernel_shape", &[3, 3])).rows("x", &IMAGE, float),
        Case::new("GlobalAveragePool", &["x"]).rows("x", &IMAGE, float),
        Case::new("LRN", &["x"]).with(int("size", 3)).rows("x", &IMAGE, float),
    ]
}

fn rows_of_numbers() -> Vec<Case> {
    let reduce =
        |operator: &str| Case::new(operator, &["x", "a"]).rows("x", &[8192, 2], float).constant("a", &[1], |_| 2i64);
    let mut cases: Vec<Case> = ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"]
        .iter()
        .map(|what| reduce(&format!("Reduce{what}")))
        .collect();
    let lists = |case: Case| case.constant("s", &[4], float).constant("b", &[4], float);
    cases.extend([
        Case::new("ReduceSum", &["x", "a"]).rows("x", &[8192, 2], |at| at as i32).constant("a", &[1], |_| 2i64),
        Case::new("ArgMax", &["x"]).with(int("axis", 2)).rows("x", &[8192, 2], float),
        Case::new("CumSum", &["x", "a"]).rows("x", &MATRIX, float).constant("a", &[], |_| 1i64),
        Case::new("Softmax", &["x"]).rows("x", &MATRIX, float),
        Case::new("LogSoftmax", &["x"]).with(int("axis", 1)).rows("x", &MATRIX, double),
        Case::new("Hardmax", &["x"]).rows("x", &MATRIX, float),
        Case::new("LayerNormalization", &["x", "s"]).rows("x", &[8192, 2], float).constant("s", &[2], float),
        lists(Case::new("InstanceNormalization", &["x", "s", "b"]).rows("x", &IMAGE, float)),
        lists(Case::new("GroupNormalization", &["x", "s", "b"]).with(int("num_groups", 2)).rows("x", &IMAGE, float)),
        lists(Case::new("BatchNormalization", &["x", "s", "b", "m", "v"]).rows("x", &IMAGE, float))
            .constant("m", &[4], float)
            .constant("v", &[4], |_| 1.0f32),
        Case::new("LpNormalization", &["x"]).rows("x", &[8192, 2], float),
        Case::new("MeanVarianceNormalization", &["x"]).with(ints("axes", &[1, 3])).rows("x", &IMAGE, float),
        Case::new("NegativeLogLikelihoodLoss", &["x", "l"])
            .with(text("reduction", "none"))
            .rows("x", &[2, 8192], float)
            .rows("l", &[8192], |at| (at % 2) as i64),
        Case::new("SoftmaxCrossEntropyLoss", &["x", "l"])
            .with(text("reduction", "none"))
            .rows("x", &[2, 8192], float)
            .rows("l", &[8192], |at| (at % 2) as i32),
    ]);
    cases
}

fn images() -> Vec<Case> {
    let resize = |mode: &str| {
        Case::new("Resize", &["x", "", "s"]).with(text("mode", mode)).rows("x", &IMAGE, float).constant(
            "s",
            &[4],
            |axis| if axis < 2 { 1.0f32 } else { 1.5 },
        )
    };
    vec![
        resize("nearest"),
        resize("linear"),
        resize("cubic"),
        Case::new("GridSample", &["x", "g"]).rows("x", &IMAGE, float).rows("g", &[64, 64, 2], float),
        Case::new("Col2Im", &["x", "i", "b"])
            .rows("x", &[4 * 4, 32 * 32], float)
            .constant("i", &[2], |_| 64i64)
            .constant("b", &[2], |_| 2i64)
            .with(ints("strides", &[2, 2])),
        Case::new("DepthToSpace", &["x"]).with(int("blocksize", 2)).rows("x", &IMAGE, float),
        Case::new("SpaceToDepth", &["x"]).with(int("blocksize", 2)).rows("x", &IMAGE, float),
        Case::new("Pad", &["x", "p"]).rows("x", &IMAGE, float).constant("p", &[8], |at| i64::from(at % 4 > 1)),
        Case::new("DFT", &["x"]).with(int("axis", 1)).rows("x", &[16384, 1], float),
        Case::new("STFT", &["x", "h", "w"]).rows("x", &[16384, 1], float).constant("h", &[], |_| 256i64).constant(
            "w",
            &[512],
            float,
        ),
    ]
}

fn chosen() -> Vec<Case> {
    vec![
        Case::new("Gather", &["t", "x"]).rows("x", &[16384], |at| (at % 5) as i64).constant("t", &[5, 2], float),
        Case::new("Gather", &["t", "x"]).rows("x", &[16384], |at| (at % 5) as i32).constant("t", &[5, 2], float),
        Case::new("GatherElements", &["x", "i"]).with(int("axis", 1)).rows("x", &[16384], float).rows(
            "i",
            &[16384],
            |at| (at % 16384) as i64,
        ),
        Case::new("GatherND", &["x", "i"]).with(int("batch_dims", 1)).rows("x", &[16384], float).rows(
            "i",
            &[16384, 1],
            |at| (at % 16384) as i64,
        ),
        Case::new("ScatterElements", &["x", "i", "u"])
            .with(int("axis", 1))
            .rows("x", &[16384], float)
            .rows("i", &[16384], |at| (at % 16384) as i64)
            .rows("u", &[16384], float),
        Case::new("OneHot", &["x", "d", "v"])
            .rows("x", &[16384], |at| (at % 3) as i64)
            .constant("d", &[], |_| 3i64)
            .constant("v", &[2], |at| at as f32),
        Case::new("TopK", &["x", "k"]).outputs(&["y", "i"]).rows("x", &[16384], float).constant("k", &[1], |_| 100i64),
        Case::new("GatherND", &["t", "i"]).rows("i", &[8192, 1], |at| (at % 5) as i64).constant("t", &[5, 2], float),
        Case::new("Trilu", &["x"]).rows("x", &MATRIX, float),
        Case::new("Compress", &["x", "c"]).with(int("axis", 1)).rows("x", &[16384], float).constant(
            "c",
            &[16384],
            |at| at % 3 == 0,
        ),
        Case::new("ReverseSequence", &["x", "l"])
            .with(int("time_axis", 1))
            .with(int("batch_axis", 0))
            .rows("x", &[16384], float)
            .rows("l", &[], |at| at as i64 + 5),
        Case::new("Transpose", &["x"]).with(ints("perm", &[0, 3, 1, 2])).rows("x", &IMAGE, float),
        Case::new("Tile", &["x", "r"]).rows("x", &[16384], float).constant("r", &[2], |axis| axis as i64 + 1),
        Case::new("Concat", &["x", "z"]).with(int("axis", 1)).rows("x", &[16384], float).rows("z", &[16384], float),
        Case::new("Split", &["x"]).with(int("axis", 1)).with(int("num_outputs", 2)).outputs(&["y", "z"]).rows(
            "x",
            &[16384],
            float,
        ),
        Case::new("Where", &["c", "x", "z"]).rows("c", &[16384], |at| at % 3 == 0).rows("x", &[16384], float).rows(
            "z",
            &[16384],
            float,
        ),
        Case::new("Sum", &["x", "z", "w"]).rows("x", &[16384], float).rows("z", &[16384], float).constant(
            "w",
            &[16384],
            float,
        ),
        Case::new("Erf", &["x"]).rows("x", &[16384], double),
        Case::new("Gelu", &["x"]).rows("x", &[16384], float),
    ]
}

fn sequences() -> Vec<Case> {
    let recurrent = |operator: &str, gates: usize, both: bool| {
        let directions = usize::from(both) + 1;
        let case = Case::new(operator, &["x", "w", "r", "b"])
            .with(int("layout", 1))
            .with(int("hidden_size", 16))
            .outputs(&["y", "h"])
            .rows("x", &[512, 32], float)
            .constant("w", &[directions, gates * 16, 32], float)
            .constant("r", &[directions, gates * 16, 16], float)
            .constant("b", &[directions, 2 * gates * 16], float);
        if both { case.with(text("direction", "bidirectional")) } else { case }
    };
    vec![
        recurrent("RNN", 1, false),
        recurrent("GRU", 3, true),
        recurrent("GRU", 3, false).with(int("linear_before_reset", 1)),
        recurrent("LSTM", 4, true),
    ]
}

/// Graphs inside of nodes, which compute in memory of their own.
fn bodies() -> Vec<Case> {
    let body = |name: &str, graph: GraphProto| AttributeProto {
        g: Some(graph),
        r#type: Some(AttributeType::GRAPH),
        ..attribute(name)
    };
    let graph = |nodes: Vec<NodeProto>, inputs: &[(&str, DataType)], outputs: &[&str]| GraphProto {
        input: inputs.iter().map(|(name, element)| value(name, *element, &[])).map(without_shape).collect(),
        ..constants(nodes, &[], outputs)
    };
    let side = |first: &str| {
        let nodes = vec![node(first, &["x"], &["a"]), node("Exp", &["a"], &["b"]), node("Add", &["a", "b"], &["s"])];
        graph(nodes, &[], &["s"])
    };
    let step = vec![
        node("Identity", &["go"], &["goes"]),
        node("Sin", &["state"], &["next"]),
        node("Identity", &["next"], &["slice"]),
    ];
    let step =
        graph(step, &[("i", DataType::INT64), ("go", DataType::BOOL), ("state", DataType::FLOAT)], &["goes", "next"]);
    let scanned = vec![node("Add", &["state", "line"], &["next"]), node("Identity", &["next"], &["kept"])];
    let scanned = graph(scanned, &[("state", DataType::FLOAT), ("line", DataType::FLOAT)], &["next", "kept"]);
    vec![
        Case::new("If", &["c"])
            .with(body("then_branch", side("Relu")))
            .with(body("else_branch", side("Neg")))
            .constant("c", &[], |_| true)
            .rows("x", &IMAGE, float),
        Case::new("Loop", &["m", "", "x"])
            .with(body("body", step))
            .constant("m", &[], |_| 3i64)
            .rows("x", &IMAGE, float),
        Case::new("Scan", &["h", "x"])
            .with(body("body", scanned))
            .with(int("num_scan_inputs", 1))
            .with(ints("scan_input_axes", &[1]))
            .with(ints("scan_output_axes", &[1]))
            .outputs(&["y", "z"])
            .rows("h", &[512], float)
            .rows("x", &[16, 512], float),
    ]
}

fn without_shape(mut value: ValueInfoProto) -> ValueInfoProto {
    if let Some(tensor) = value.r#type.as_mut().and_then(|kind| kind.tensor_type.as_mut()) {
        tensor.shape = None;
    }
    value
}
