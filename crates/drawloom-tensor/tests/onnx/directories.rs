//! Directories of tests: written here, and run as those of the ONNX project are.

use std::path::Path;

use drawloom_tensor::Tensor;
use drawloom_tensor::onnx::node_tests;
use rten_onnx::onnx::{DataType, GraphProto, NodeProto, TensorProto};
use rten_onnx::protobuf::{EncodeMessage, ValueWriter};

use crate::Directory;
use crate::build::{model, node, stored, tensor, value};

fn write_tensor(path: &Path, tensor: &TensorProto) {
    let mut bytes = Vec::new();
    tensor.encode(ValueWriter::new(&mut bytes)).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// Writes a test of a node of one input and one output.
fn write(directory: &Path, name: &str, node: NodeProto, kind: DataType, input: &Tensor, output: &TensorProto) {
    let set = directory.join(name).join("test_data_set_0");
    std::fs::create_dir_all(&set).unwrap();
    let shape = |dims: &[usize]| dims.iter().map(|length| *length as i64).collect::<Vec<_>>();
    let graph = GraphProto {
        node: vec![node],
        input: vec![value("x", DataType::FLOAT, &shape(input.shape()))],
        output: vec![value("y", kind, &output.dims)],
        ..GraphProto::default()
    };
    std::fs::write(directory.join(name).join("model.onnx"), model(graph)).unwrap();
    write_tensor(&set.join("input_0.pb"), &stored("x", input));
    write_tensor(&set.join("output_0.pb"), output);
}

#[test]
fn tests_pass_fail_or_are_skipped_for_a_reason() {
    let directory = Directory::new("node-tests");
    let path = &directory.0;
    let x = tensor(&[2], &[-1.0f32, 2.0]);
    let right = stored("y", &tensor(&[2], &[0.0f32, 2.0]));
    let relu = || node("Relu", &["x"], &["y"]);
    write(path, "test_relu", relu(), DataType::FLOAT, &x, &right);
    write(
        path,
        "test_abs",
        node("Abs", &["x"], &["y"]),
        DataType::FLOAT,
        &x,
        &stored("y", &tensor(&[2], &[1.0f32, 2.0])),
    );
    write(path, "test_near", relu(), DataType::FLOAT, &x, &stored("y", &tensor(&[2], &[5e-8f32, 2.001])));
    write(path, "test_wrong", relu(), DataType::FLOAT, &x, &stored("y", &tensor(&[2], &[0.0f32, 2.1])));
    write(path, "test_shape", relu(), DataType::FLOAT, &x, &stored("y", &tensor(&[2, 1], &[0.0f32, 2.0])));
    write(path, "test_unknown", node("Frobnicate", &["x"], &["y"]), DataType::FLOAT, &x, &right);
    write(path, "test_random", node("Bernoulli", &["x"], &["y"]), DataType::FLOAT, &x, &right);
    write(path, "test_half", relu(), DataType::FLOAT16, &x, &right);
    let report = node_tests::run(path).unwrap();
    assert_eq!(report.passed, 3);
    let skipped: Vec<(&str, usize)> =
        report.skipped.iter().map(|(reason, names)| (reason.as_str(), names.len())).collect();
    assert_eq!(skipped, [("dtype", 1), ("operator:Frobnicate", 1), ("random", 1)]);
    let failed: Vec<(&str, &str)> = report.failed.iter().map(|(name, why)| (name.as_str(), why.as_str())).collect();
    assert_eq!(
        failed,
        [
            ("test_shape", "output `y`: expected f32[2, 1], found f32[2]"),
            ("test_wrong", "output `y`: element 1 is 2, and should be 2.0999999046325684"),
        ]
    );
    assert_eq!(node_tests::run(&path.join("test_relu")).unwrap().passed, 1);
}
