//! Models with fewer nodes compute the same, and are cut into pieces by the same rules.

use drawloom_tensor::Model;
use drawloom_tensor::{Settings, Tensor, View};
use fastrand::Rng;
use rten_onnx::onnx::{AttributeProto, AttributeType, DataType, GraphProto, NodeProto};

use crate::build::{attribute, int, ints, model, node, stored, tensor, value, with};

/// Nodes that are written one after another, with their constants.
struct Writer {
    rng: Rng,
    nodes: Vec<NodeProto>,
    constants: Vec<(String, Tensor)>,
}

impl Writer {
    fn new(seed: u64) -> Self {
        Self { rng: Rng::with_seed(seed), nodes: Vec::new(), constants: Vec::new() }
    }

    fn constant(&mut self, value: Tensor) -> String {
        self.constants.push((format!("c{}", self.constants.len()), value));
        self.constants[self.constants.len() - 1].0.clone()
    }

    fn scalar(&mut self, value: f32) -> String {
        self.constant(Tensor::scalar(value))
    }

    fn random(&mut self, shape: &[usize], low: f32, high: f32) -> String {
        let count = shape.iter().product();
        let values: Vec<f32> = (0..count).map(|_| low + self.rng.f32() * (high - low)).collect();
        self.constant(tensor(shape, &values))
    }

    /// Writes a node, and gives the name of its result.
    fn put(&mut self, operator: &str, inputs: &[&str], attributes: Vec<AttributeProto>) -> String {
        let name = format!("t{}", self.nodes.len());
        let plain = node(operator, inputs, &[&name]);
        self.nodes.push(attributes.into_iter().fold(plain, with));
        name
    }

    fn conv(&mut self, input: &str, [outs, ins]: [usize; 2], kernel: usize, attributes: Vec<AttributeProto>) -> String {
        let weights = self.random(&[outs, ins, kernel, kernel], -0.4, 0.4);
        self.put("Conv", &[input, &weights], attributes)
    }

    fn norm(&mut self, input: &str, channels: usize) -> String {
        let list: Vec<String> = (0..4).map(|_| self.random(&[channels], 0.5, 1.5)).collect();
        self.put("BatchNormalization", &[input, &list[0], &list[1], &list[2], &list[3]], Vec::new())
    }

    /// The bytes of the model, with an input of a type and shape.
    fn bytes(self, input: (DataType, &[i64]), outputs: &[&str]) -> Vec<u8> {
        let output = |name: &&str| {
            let mut value = value(name, DataType::FLOAT, &[]);
            if let Some(tensor) = value.r#type.as_mut().and_then(|kind| kind.tensor_type.as_mut()) {
                tensor.shape = None;
            }
            value
        };
        model(GraphProto {
            node: self.nodes,
            initializer: self.constants.iter().map(|(name, tensor)| stored(name, tensor)).collect(),
            input: vec![value("x", input.0, input.1)],
            output: outputs.iter().map(output).collect(),
            ..GraphProto::default()
        })
    }
}

/// The names of the operators of a model, without its output node.
fn operators(model: &Model) -> Vec<String> {
    let graph = model.program().graph();
    let order = model.program().order();
    order.iter().map(|node| graph.operator_name(*node).to_owned()).filter(|name| name != "OUTPUT").collect()
}

/// Compares both forms of a model over a batch, whole and row by row, and gives what its nodes became.
fn compare(bytes: &[u8], input: View<'_>) -> Vec<String> {
    let (plain, fast) =
        (drawloom_onnx::plain_from_bytes(bytes, None).unwrap(), drawloom_onnx::from_bytes(bytes, None).unwrap());
    let settings = Settings::new();
    let expected = plain.run(&[("x", input)], &settings).unwrap();
    let found = fast.run(&[("x", input)], &settings).unwrap();
    for (expected, found) in expected.outputs().iter().zip(found.outputs()) {
        assert_eq!(expected.shape(), found.shape());
        let pairs = expected.values::<f32>().unwrap().iter().zip(found.values::<f32>().unwrap());
        for (expected, found) in pairs {
            assert!((expected - found).abs() <= 1e-5 * expected.abs().max(1.0), "{found} instead of {expected}");
        }
    }
    // The same axis counts rows, or both are refused.
    match (plain.batch(&[]), fast.batch(&[])) {
        (Ok(plain), Ok(fast)) => assert_eq!(plain.outputs(), fast.outputs()),
        (Err(_), Err(_)) => return operators(&fast),
        (plain, fast) => panic!("{:?} {:?}", plain.err(), fast.err()),
    }
    // Rows by themselves have the bits that they have in the batch.
    let rows = input.shape()[0];
    for row in 0..rows {
        let mut shape = input.shape().to_vec();
        shape[0] = 1;
        let part = |count: usize| row * count / rows..(row + 1) * count / rows;
        let view = match input.slice() {
            drawloom_tensor::Slice::F32(values) => View::new(&shape, &values[part(values.len())]),
            drawloom_tensor::Slice::I32(values) => View::new(&shape, &values[part(values.len())]),
            _ => panic!("inputs are numbers"),
        };
        let one = fast.run(&[("x", view.unwrap())], &settings).unwrap();
        for (whole, one) in found.outputs().iter().zip(one.outputs()) {
            let whole = whole.values::<f32>().unwrap();
            let whole = &whole[part(whole.len())];
            let same = one.values::<f32>().unwrap().iter().zip(whole).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "row {row}");
        }
    }
    operators(&fast)
}

fn images(rng: &mut Rng, shape: [usize; 4]) -> Tensor {
    let values: Vec<f32> = (0..shape.iter().product()).map(|_| rng.f32() * 4.0 - 2.0).collect();
    tensor(&shape, &values)
}

const IMAGES: (DataType, &[i64]) = (DataType::FLOAT, &[-1, 4, 9, 11]);

fn compare_images(writer: Writer, outputs: &[&str]) -> Vec<String> {
    let input = images(&mut Rng::with_seed(9), [3, 4, 9, 11]);
    compare(&writer.bytes(IMAGES, outputs), input.view())
}

#[test]
fn a_convolution_takes_the_norm_and_the_activation_that_follow_it() {
    let mut writer = Writer::new(1);
    let y = writer.conv("x", [6, 4], 3, vec![ints("pads", &[1, 1, 1, 1])]);
    let y = writer.norm(&y, 6);
    let y = writer.put("HardSwish", &[&y], Vec::new());
    assert_eq!(compare_images(writer, &[&y]), ["Conv+BatchNormalization+HardSwish"]);
}

#[test]
fn factors_and_sums_of_channels_become_part_of_the_weights() {
    let mut writer = Writer::new(2);
    let mut y = writer.conv("x", [6, 4], 1, Vec::new());
    for operator in ["Add", "Mul", "Sub", "Div"] {
        let constant = writer.random(&[1, 6, 1, 1], 0.5, 2.0);
        y = writer.put(operator, &[&y, &constant], Vec::new());
    }
    let two = writer.scalar(2.0);
    let y = writer.put("Sub", &[&two, &y], Vec::new());
    assert_eq!(compare_images(writer, &[&y]), ["Conv+Add+Mul+Sub+Div+Sub"]);
}

#[test]
fn a_constant_along_another_axis_is_left_alone() {
    let mut writer = Writer::new(3);
    let y = writer.conv("x", [11, 4], 1, Vec::new());
    // Eleven numbers fit the last axis, and are not for the eleven channels.
    let constant = writer.random(&[11], -1.0, 1.0);
    let y = writer.put("Add", &[&y, &constant], Vec::new());
    assert_eq!(compare_images(writer, &[&y]), ["Conv", "Add"]);
}

#[test]
fn an_added_tensor_is_joined_whatever_its_shape() {
    for shape in [&[1i64, 1, 1, 1][..], &[0, 0, 0, 0]] {
        let mut writer = Writer::new(4);
        let other = writer.conv("x", [4, 4], 3, vec![ints("pads", &[1, 1, 1, 1]), int("group", 1)]);
        let other = if shape[0] == 1 { writer.put("GlobalAveragePool", &[&other], Vec::new()) } else { other };
        let y = writer.conv("x", [4, 4], 1, Vec::new());
        let y = writer.put("Add", &[&y, &other], Vec::new());
        let y = writer.put("Relu", &[&y], Vec::new());
        let names = compare_images(writer, &[&y]);
        assert!(names.iter().any(|name| name.ends_with("Conv+Add+Relu")), "{names:?}");
    }
}

#[test]
fn a_sum_with_itself_or_with_a_result_is_not_taken_apart() {
    let mut writer = Writer::new(5);
    let y = writer.conv("x", [4, 4], 1, Vec::new());
    let twice = writer.put("Add", &[&y, &y], Vec::new());
    assert_eq!(compare_images(writer, &[&twice]), ["Conv", "Add"]);
    // A result of the graph is computed, whoever else reads it.
    let mut writer = Writer::new(5);
    let y = writer.conv("x", [4, 4], 1, Vec::new());
    let z = writer.put("Relu", &[&y], Vec::new());
    assert_eq!(compare_images(writer, &[&y, &z]), ["Conv", "Relu"]);
}

/// Nodes that are written behind a tensor.
type Form<'a> = &'a dyn Fn(&mut Writer, &str) -> String;

#[test]
fn activations_are_found_in_the_forms_that_exporters_write() {
    let hard_swish = |writer: &mut Writer, x: &str| {
        let (three, zero, six) = (writer.scalar(3.0), writer.scalar(0.0), writer.scalar(6.0));
        let y = writer.put("Add", &[x, &three], Vec::new());
        let y = writer.put("Clip", &[&y, &zero, &six], Vec::new());
        let y = writer.put("Mul", &[x, &y], Vec::new());
        writer.put("Div", &[&y, &six], Vec::new())
    };
    let gated = |writer: &mut Writer, x: &str| {
        let slope = AttributeProto { f: Some(1.0 / 6.0), r#type: Some(AttributeType::FLOAT), ..attribute("alpha") };
        let y = writer.put("HardSigmoid", &[x], vec![slope]);
        writer.put("Mul", &[x, &y], Vec::new())
    };
    let silu = |writer: &mut Writer, x: &str| {
        let y = writer.put("Sigmoid", &[x], Vec::new());
        writer.put("Mul", &[&y, x], Vec::new())
    };
    let gelu = |writer: &mut Writer, x: &str| {
        let [c, r, one, half] = [0.044_715, 0.797_884_6, 1.0, 0.5].map(|value| writer.scalar(value));
        let y = writer.put("Mul", &[&c, x], Vec::new());
        let y = writer.put("Mul", &[x, &y], Vec::new());
        let y = writer.put("Mul", &[x, &y], Vec::new());
        let y = writer.put("Add", &[x, &y], Vec::new());
        let y = writer.put("Mul", &[&r, &y], Vec::new());
        let y = writer.put("Tanh", &[&y], Vec::new());
        let y = writer.put("Add", &[&one, &y], Vec::new());
        let y = writer.put("Mul", &[&half, &y], Vec::new());
        writer.put("Mul", &[x, &y], Vec::new())
    };
    let forms: [(Form<'_>, &str); 4] = [
        (&hard_swish, "Add+Clip+Mul+Div"),
        (&gated, "HardSigmoid+Mul"),
        (&silu, "Sigmoid+Mul"),
        (&gelu, "Mul+Mul+Mul+Add+Mul+Tanh+Add+Mul+Mul"),
    ];
    for (form, names) in forms {
        // Behind a convolution, and by itself.
        let mut writer = Writer::new(6);
        let y = writer.conv("x", [5, 4], 3, Vec::new());
        let y = form(&mut writer, &y);
        assert_eq!(compare_images(writer, &[&y]), [format!("Conv+{names}")]);
        let mut writer = Writer::new(6);
        let y = form(&mut writer, "x");
        assert_eq!(compare_images(writer, &[&y]), [names]);
    }
}

#[test]
fn what_looks_like_an_activation_but_is_another_function_stays() {
    let mut writer = Writer::new(7);
    let (three, zero, seven) = (writer.scalar(3.0), writer.scalar(0.0), writer.scalar(7.0));
    let y = writer.put("Add", &["x", &three], Vec::new());
    let y = writer.put("Clip", &[&y, &zero, &seven], Vec::new());
    let y = writer.put("Mul", &["x", &y], Vec::new());
    let y = writer.put("Div", &[&y, &seven], Vec::new());
    assert_eq!(compare_images(writer, &[&y]), ["Add", "Clip", "Mul", "Div"]);
}

#[test]
fn constants_that_have_more_axes_than_the_tensor_keep_them() {
    let mut writer = Writer::new(8);
    let one = writer.constant(tensor(&[1, 1, 1, 1, 1], &[0.0f32]));
    let y = writer.put("Max", &["x", &one], Vec::new());
    let y = writer.put("Max", &[&y, &one], Vec::new());
    let names = compare_images(writer, &[&y]);
    assert_eq!(names, ["Max", "Max"]);
}

#[test]
fn nodes_that_do_nothing_go_and_results_keep_their_names() {
    let mut writer = Writer::new(10);
    let y = writer.put("Identity", &["x"], Vec::new());
    let y = writer.put("Dropout", &[&y], Vec::new());
    let starts = writer.constant(tensor(&[2], &[0i64, 0]));
    let ends = writer.constant(tensor(&[2], &[i64::MAX, 9]));
    let axes = writer.constant(tensor(&[2], &[1i64, 2]));
    let y = writer.put("Slice", &[&y, &starts, &ends, &axes], Vec::new());
    let y = writer.put("Relu", &[&y], Vec::new());
    let y = writer.put("Identity", &[&y], Vec::new());
    assert_eq!(compare_images(writer, &[&y]), ["Relu", "Identity"]);
}

#[test]
fn constants_are_computed_once_and_what_cannot_be_is_left_for_the_run() {
    let mut writer = Writer::new(11);
    let (a, b) = (writer.random(&[4, 1], -1.0, 1.0), writer.random(&[11], -1.0, 1.0));
    let sum = writer.put("Add", &[&a, &b], Vec::new());
    let shape = writer.constant(tensor(&[3], &[4i64, 1, 11]));
    let sum = writer.put("Reshape", &[&sum, &shape], Vec::new());
    let y = writer.put("Mul", &["x", &sum], Vec::new());
    assert_eq!(compare_images(writer, &[&y]), ["Mul"]);
    let mut writer = Writer::new(11);
    let (one, zero) = (writer.constant(tensor(&[1], &[1i64])), writer.constant(tensor(&[1], &[0i64])));
    let y = writer.put("Div", &[&one, &zero], Vec::new());
    let model = drawloom_onnx::from_bytes(&writer.bytes(IMAGES, &[&y]), None).unwrap();
    let input = images(&mut Rng::with_seed(9), [1, 4, 9, 11]);
    let error = model.run(&[("x", input.view())], &Settings::new()).err().unwrap();
    assert_eq!(error.to_string(), "node `Div_0` (Div): an integer is divided by zero");
}

/// Numbers, compared with 0, 1, 2 and so on, times a table, and what follows.
fn one_hot(numbers: i64, table: &[f32], list: &[i32]) -> Vec<u8> {
    let mut writer = Writer::new(12);
    let shape = writer.constant(tensor(&[3], &[-1i64, numbers, 1]));
    let x = writer.put("Reshape", &["x", &shape], Vec::new());
    let list = writer.constant(tensor(&[1, 1, list.len()], list));
    let y = writer.put("Equal", &[&x, &list], Vec::new());
    let y = writer.put("Cast", &[&y], vec![int("to", 1)]);
    let table = writer.constant(tensor(&[table.len() / 3, 3], table));
    let y = writer.put("MatMul", &[&y, &table], Vec::new());
    let row = writer.random(&[1, 1, 3], -1.0, 1.0);
    let y = writer.put("Add", &[&y, &row], Vec::new());
    let y = writer.put("Tanh", &[&y], Vec::new());
    writer.bytes((DataType::INT32, &[-1, numbers]), &[&y])
}

#[test]
fn a_product_with_a_one_among_zeros_is_looked_up() {
    let table: Vec<f32> = (0..15).map(|number| number as f32 / 7.0 - 1.0).collect();
    // Numbers below the table and beyond it are none of its rows.
    let numbers: Vec<i32> = (-2..18).map(|number| number % 8).collect();
    let names = compare(&one_hot(10, &table, &[0, 1, 2, 3, 4]), tensor(&[2, 10], &numbers).view());
    assert_eq!(names, ["Reshape", "Equal+Cast+MatMul+Add+Tanh"]);
    // A table that is larger than what is looked up stays as it is.
    let names = compare(&one_hot(2, &table, &[0, 1, 2, 3, 4]), tensor(&[10, 2], &numbers).view());
    assert_eq!(names, ["Reshape", "Equal+Cast+MatMul", "Add", "Tanh"]);
    // Another list is not one of rows, and zero times infinity is not zero.
    let names = compare(&one_hot(10, &table, &[0, 1, 2, 4, 3]), tensor(&[2, 10], &numbers).view());
    assert_eq!(names, ["Reshape", "Equal", "Cast", "MatMul", "Add", "Tanh"]);
    let mut infinite = table;
    infinite[4] = f32::INFINITY;
    let model = drawloom_onnx::from_bytes(&one_hot(10, &infinite, &[0, 1, 2, 3, 4]), None).unwrap();
    assert_eq!(operators(&model), ["Reshape", "Equal", "Cast", "MatMul", "Add", "Tanh"]);
}

#[test]
fn a_squeezed_convolution_is_one_node_and_refuses_what_the_nodes_refuse() {
    let build = |width: i64| {
        let mut writer = Writer::new(13);
        let weights = writer.random(&[6, 4, 3, 1], -0.4, 0.4);
        let y = writer.put("Conv", &["x", &weights], Vec::new());
        let axes = writer.constant(tensor(&[1], &[3i64]));
        let y = writer.put("Squeeze", &[&y, &axes], Vec::new());
        let bias = writer.random(&[1, 6, 1], -1.0, 1.0);
        let y = writer.put("Add", &[&y, &bias], Vec::new());
        let y = writer.put("Relu", &[&y], Vec::new());
        writer.bytes((DataType::FLOAT, &[-1, 4, 9, width]), &[&y])
    };
    let input = images(&mut Rng::with_seed(9), [3, 4, 9, 1]);
    assert_eq!(compare(&build(1), input.view()), ["Conv+Squeeze+Add+Relu"]);
    let model = drawloom_onnx::from_bytes(&build(-1), None).unwrap();
    let wide = images(&mut Rng::with_seed(9), [3, 4, 9, 2]);
    assert!(model.run(&[("x", wide.view())], &Settings::new()).is_err());
}

#[test]
fn rows_that_are_mixed_after_a_convolution_are_refused_in_both_forms() {
    let mut writer = Writer::new(14);
    let y = writer.conv("x", [4, 4], 1, Vec::new());
    // The mean of all rows is added to each of them.
    let mean = writer.put("ReduceMean", &["x"], vec![int("keepdims", 1)]);
    let y = writer.put("Add", &[&y, &mean], Vec::new());
    let bytes = writer.bytes(IMAGES, &[&y]);
    for model in
        [drawloom_onnx::from_bytes(&bytes, None).unwrap(), drawloom_onnx::plain_from_bytes(&bytes, None).unwrap()]
    {
        assert!(model.batch(&[]).is_err());
    }
}

#[test]
fn random_networks_compute_what_their_nodes_compute() {
    for seed in 0..60 {
        let mut writer = Writer::new(100 + seed);
        let mut channels = 4;
        let mut y = "x".to_owned();
        for _ in 0..writer.rng.usize(1..5) {
            let before = y.clone();
            let kernel = [1, 3, 3, 5][writer.rng.usize(0..4)];
            let depthwise = writer.rng.bool();
            let outs = if depthwise { channels } else { writer.rng.usize(1..20) };
            let pad = kernel as i64 / 2;
            let stride = writer.rng.i64(1..3);
            let groups = if depthwise { channels as i64 } else { 1 };
            let attributes = vec![
                ints("pads", &[pad; 4]),
                ints("strides", &[stride, writer.rng.i64(1..=stride)]),
                int("group", groups),
            ];
            let plain = attributes[1].ints == [1, 1];
            y = writer.conv(&y, [outs, if depthwise { 1 } else { channels }], kernel, attributes);
            if writer.rng.bool() {
                y = writer.norm(&y, outs);
            }
            if outs == channels && plain && writer.rng.bool() {
                y = writer.put("Add", &[&before, &y], Vec::new());
            }
            channels = outs;
            match writer.rng.u8(0..5) {
                0 => y = writer.put("Relu", &[&y], Vec::new()),
                1 => y = writer.put("HardSwish", &[&y], Vec::new()),
                2 => y = writer.put("Sigmoid", &[&y], Vec::new()),
                3 => {
                    let factor = writer.random(&[channels, 1, 1], 0.5, 1.0);
                    y = writer.put("Mul", &[&y, &factor], Vec::new());
                }
                _ => {}
            }
        }
        let pool = writer.put("GlobalAveragePool", &[&y], Vec::new());
        let squeezed = writer.conv(&pool, [3, channels], 1, Vec::new());
        let scale = writer.put("HardSigmoid", &[&squeezed], Vec::new());
        compare_images(writer, &[&y, &scale]);
    }
}
