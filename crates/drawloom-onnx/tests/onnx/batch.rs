//! Rows that are followed through a model, and models whose rows cannot be computed apart from each other.

use drawloom_tensor::Model;
use drawloom_tensor::{ErrorKind, Placement, Settings, Tensor};
use rten_onnx::onnx::{AttributeProto, AttributeType, DataType, GraphProto, NodeProto};

use crate::build::{attribute, int, ints, model, node, stored, tensor, value, with};

/// A model of an input `x` of any number of rows, with constants.
fn rows(nodes: Vec<NodeProto>, shape: &[i64], constants: &[(&str, Tensor)]) -> Model {
    let mut output = value("y", DataType::FLOAT, &[]);
    if let Some(tensor) = output.r#type.as_mut().and_then(|kind| kind.tensor_type.as_mut()) {
        tensor.shape = None;
    }
    let graph = GraphProto {
        node: nodes,
        input: vec![value("x", DataType::FLOAT, shape)],
        initializer: constants.iter().map(|(name, tensor)| stored(name, tensor)).collect(),
        output: vec![output],
        ..GraphProto::default()
    };
    drawloom_onnx::from_bytes(&model(graph), None).unwrap()
}

fn placement(nodes: Vec<NodeProto>, shape: &[i64], constants: &[(&str, Tensor)]) -> Placement {
    rows(nodes, shape, constants).batch(&[]).unwrap().outputs()[0]
}

fn refusal(nodes: Vec<NodeProto>, shape: &[i64], constants: &[(&str, Tensor)]) -> String {
    let error = rows(nodes, shape, constants).batch(&[]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Batch);
    error.to_string().replace("rows cannot be computed apart from each other: ", "")
}

#[test]
fn rows_are_followed_through_images_matrices_and_shapes() {
    let weights = ("w", tensor(&[4, 3, 3, 3], &[0.1f32; 108]));
    let nodes = vec![
        node("Conv", &["x", "w"], &["c"]),
        node("Relu", &["c"], &["r"]),
        node("GlobalAveragePool", &["r"], &["g"]),
        node("Shape", &["g"], &["s"]),
        with(node("Gather", &["s", "zero"], &["n"]), int("axis", 0)),
        node("Unsqueeze", &["n", "zeros"], &["u"]),
        with(node("Concat", &["u", "rest"], &["shape"]), int("axis", 0)),
        node("Reshape", &["g", "shape"], &["f"]),
        node("MatMul", &["f", "m"], &["p"]),
        node("Add", &["p", "b"], &["q"]),
        with(node("Softmax", &["q"], &["t"]), int("axis", -1)),
        with(node("Transpose", &["t"], &["y"]), ints("perm", &[1, 0])),
    ];
    let constants = [
        weights,
        ("zero", Tensor::scalar(0i64)),
        ("zeros", tensor(&[1], &[0i64])),
        ("rest", tensor(&[1], &[4i64])),
        ("m", tensor(&[4, 2], &[0.5f32; 8])),
        ("b", tensor(&[2], &[0.5f32, 1.0])),
    ];
    assert_eq!(placement(nodes, &[-1, 3, 8, 8], &constants), Placement::Rows { axis: 1 });
}

#[test]
fn nodes_that_mix_rows_are_named() {
    let sum = with(node("ReduceSum", &["x", "axes"], &["y"]), int("keepdims", 0));
    assert_eq!(
        refusal(vec![sum], &[-1, 3], &[("axes", tensor(&[1], &[0i64]))]),
        "node `ReduceSum_0` (ReduceSum): it makes one value of several rows"
    );
    let softmax = with(node("Softmax", &["x"], &["y"]), int("axis", 0));
    assert_eq!(
        refusal(vec![softmax], &[-1, 3], &[]),
        "node `Softmax_0` (Softmax): it works along the axis of the rows"
    );
    let product = node("MatMul", &["w", "x"], &["y"]);
    assert_eq!(
        refusal(vec![product], &[-1, 3], &[("w", tensor(&[2, 4], &[0.0f32; 8]))]),
        "node `MatMul_0` (MatMul): it adds up over rows"
    );
    let picked = with(node("Gather", &["x", "i"], &["y"]), int("axis", 0));
    assert_eq!(
        refusal(vec![picked], &[-1, 3], &[("i", tensor(&[1], &[0i64]))]),
        "node `Gather_0` (Gather): it picks rows"
    );
    let literal = node("Reshape", &["x", "s"], &["y"]);
    assert_eq!(
        refusal(vec![literal], &[-1, 6], &[("s", tensor(&[3], &[4i64, 2, 3]))]),
        "node `Reshape_0` (Reshape): the number of rows, 4, is written into the shape that it makes"
    );
    let turned = node("Reshape", &["x", "s"], &["y"]);
    assert!(
        refusal(vec![turned], &[-1, 6], &[("s", tensor(&[2], &[-1i64, 3]))])
            .contains("it cannot be shown that it keeps rows apart")
    );
    let counted = vec![node("Shape", &["x"], &["s"]), node("Cast", &["s"], &["f"]), node("Mul", &["x", "f"], &["y"])];
    let counted = counted
        .into_iter()
        .map(|node| if node.op_type.as_deref() == Some("Cast") { with(node, int("to", 1)) } else { node });
    assert!(refusal(counted.collect(), &[-1, 2], &[]).contains("it computes with the number of rows"));
    let constant = node("Add", &["x", "b"], &["y"]);
    assert!(
        refusal(vec![constant], &[-1, 2], &[("b", tensor(&[4, 2], &[0.0f32; 8]))])
            .contains("has 4 values along their axis")
    );
}

/// Operators that pick by index or label, one for each reason.
#[test]
fn nodes_that_pick_or_count_through_rows_are_named() {
    let indices = || ("i", tensor(&[1, 1], &[0i64]));
    let refused = |node: NodeProto, shape: &[i64], constants: &[(&str, Tensor)], why: &str| {
        let message = refusal(vec![node], shape, constants);
        assert!(message.contains(why), "{message}");
    };
    let picked = with(node("GatherElements", &["x", "i"], &["y"]), int("axis", 0));
    refused(picked, &[-1, 3], &[indices()], "is made for a fixed number of them");
    refused(node("GatherND", &["x", "i"], &["y"]), &[-1, 3], &[indices()], "it picks rows");
    let updates = ("u", tensor(&[1, 3], &[0.0f32; 3]));
    refused(node("ScatterND", &["x", "i", "u"], &["y"]), &[-1, 3], &[indices(), updates], "it picks rows");
    let pool = with(node("MaxPool", &["x"], &["y", "at"]), ints("kernel_shape", &[2, 2]));
    refused(pool, &[-1, 3, 8, 8], &[], "the indices that it puts out count through all rows");
    let equation = |text: &str| AttributeProto {
        s: Some(text.to_owned()),
        r#type: Some(AttributeType::STRING),
        ..attribute("equation")
    };
    let weights = ("w", tensor(&[3, 2], &[0.0f32; 6]));
    let summed = with(node("Einsum", &["x", "w"], &["y"]), equation("bi,ij->j"));
    refused(summed, &[-1, 3], std::slice::from_ref(&weights), "it adds up over rows");
    let fixed = with(node("Einsum", &["x", "w"], &["y"]), equation("bi,bj->bij"));
    refused(fixed, &[-1, 3], &[weights], "is made for a fixed number of them");
    refused(node("Det", &["x"], &["y"]), &[-1, 3], &[], "the rows are those of its matrix");
    refused(node("MeanVarianceNormalization", &["x"], &["y"]), &[-1, 3, 8, 8], &[], "it normalises over all rows");
    refused(node("DynamicQuantizeLinear", &["x"], &["y", "s", "z"]), &[-1, 3], &[], "it has one scale for all rows");
    refused(node("NonZero", &["x"], &["y"]), &[-1, 3], &[], "depends on the values of all rows");
    let turned = with(node("ReverseSequence", &["x", "l"], &["y"]), int("time_axis", 0));
    refused(turned, &[-1, 3], &[("l", tensor(&[3], &[1i64; 3]))], "it turns the rows round");
    let along = with(node("DFT", &["x"], &["y"]), int("axis", 0));
    refused(along, &[-1, 8, 1], &[], "it works along the axis of the rows");
}

#[test]
fn an_axis_of_time_that_looks_like_one_of_rows_is_refused() {
    let hidden = AttributeProto { i: Some(2), r#type: Some(AttributeType::INT), ..attribute("hidden_size") };
    let nodes = vec![node("Unsqueeze", &["x", "one"], &["t"]), with(node("LSTM", &["t", "w", "r"], &["y"]), hidden)];
    let constants = [
        ("one", tensor(&[1], &[1i64])),
        ("w", tensor(&[1, 8, 3], &[0.1f32; 24])),
        ("r", tensor(&[1, 8, 2], &[0.1f32; 16])),
    ];
    assert_eq!(
        refusal(nodes, &[-1, 3], &constants),
        "node `LSTM_1` (LSTM): axis 0 of its input is time: every step depends on those before it"
    );
}

#[test]
fn inputs_say_which_axis_counts_rows() {
    let relu = |shape: &[i64]| rows(vec![node("Relu", &["x"], &["y"])], shape, &[]);
    let message = |model: &Model, axes: &[(&str, Option<usize>)]| model.batch(axes).err().unwrap().to_string();
    assert_eq!(relu(&[3, -1]).batch(&[("x", Some(1))]).unwrap().outputs(), [Placement::Rows { axis: 1 }]);
    assert_eq!(
        message(&relu(&[3, 2]), &[]),
        "no input of the model has an axis of any length: it is made for a fixed number of rows"
    );
    assert_eq!(
        message(&relu(&[3, 2]), &[("x", Some(0))]),
        "axis 0 of input x: f32[3, 2] has the fixed length 3: the model is made for that many rows"
    );
    assert_eq!(message(&relu(&[-1, 2]), &[("x", Some(4))]), "input x: f32[?, 2] has no axis 4 that could count rows");
    assert_eq!(message(&relu(&[-1, 2]), &[("z", Some(0))]), "the model has no input `z`");
}

#[test]
fn a_slice_of_all_rows_leaves_them_alone() {
    let all = || node("Slice", &["x", "s", "e", "a", "t"], &["y"]);
    let constants = |end: i64| {
        let list = |values: [i64; 2]| tensor(&[2], &values);
        [("s", list([0, 1])), ("e", list([end, 2])), ("a", list([0, 1])), ("t", list([1, 1]))]
    };
    assert_eq!(placement(vec![all()], &[-1, 3], &constants(i64::MAX)), Placement::Rows { axis: 0 });
    assert!(refusal(vec![all()], &[-1, 3], &constants(2)).contains("it cuts, pads or repeats rows"));
}

#[test]
fn rows_that_are_followed_are_the_same_whole_and_in_pieces() {
    let nodes = vec![
        node("MatMul", &["x", "m"], &["p"]),
        with(node("Softmax", &["p"], &["t"]), int("axis", 1)),
        with(node("Transpose", &["t"], &["y"]), ints("perm", &[1, 0])),
    ];
    let weights: Vec<f32> = (0..12).map(|i| (i * i % 7) as f32 - 3.0).collect();
    let model = rows(nodes, &[-1, 4], &[("m", tensor(&[4, 3], &weights))]);
    assert_eq!(model.batch(&[]).unwrap().outputs(), [Placement::Rows { axis: 1 }]);
    let values: Vec<f32> = (0..20).map(|i| (i % 9) as f32 * 0.3).collect();
    let run = |rows: &[f32]| {
        let input = tensor(&[rows.len() / 4, 4], rows);
        model.run(&[("x", input.view())], &Settings::new()).unwrap().into_outputs().remove(0)
    };
    let whole = run(&values);
    for (row, part) in values.chunks(4).enumerate() {
        let part = run(part);
        for class in 0..3 {
            let bits = |tensor: &Tensor, index: usize| tensor.values::<f32>().unwrap()[index].to_bits();
            assert_eq!(bits(&part, class), bits(&whole, class * 5 + row));
        }
    }
}
