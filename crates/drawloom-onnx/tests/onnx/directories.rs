//! Directories of tests: written here, and run as those of the ONNX project are. And files that rows are written to.

use std::path::Path;

use drawloom_onnx::sample::{give_batch, sample_batch};
use drawloom_tensor::files::{ArrayFile, NpyWriter, RawWriter, write_raw};
use drawloom_tensor::{ElementType, RowSink, Rows, Tensor};
use rten_onnx::onnx::{DataType, GraphProto, NodeProto, TensorProto};
use rten_onnx::protobuf::{EncodeMessage, ValueWriter};

use crate::Directory;
use crate::build::{model, node, stored, tensor, value};
use crate::node_tests;

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

#[test]
fn tests_of_the_onnx_project_pass() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/onnx");
    let folders = std::fs::read_dir(&directory).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_dir());
    let report = node_tests::run(&directory).unwrap();
    assert_eq!((report.failed.as_slice(), &report.skipped), (&[][..], &std::collections::BTreeMap::new()));
    assert_eq!(report.passed, folders.count());
    assert!(report.passed >= 12, "{report:?}");
}

#[test]
fn rows_must_be_of_the_type_and_shape_that_a_file_was_begun_with() {
    let directory = Directory::new("misfit");
    let file = directory.0.join("rows.bin");
    let writers: [Box<dyn RowSink>; 2] = [Box::new(NpyWriter::new(&file)), Box::new(RawWriter::new(&file))];
    for writer in writers {
        let rows = tensor(&[2, 2], &[1.0f32, 2.0, 3.0, 4.0]);
        assert!(writer.write(0, rows.view()).unwrap_err().message().ends_with("it was not begun"));
        writer.begin(ElementType::F32, &[3, 2]).unwrap();
        writer.write(1, rows.view()).unwrap();
        let refused = |first: usize, rows: &Tensor| writer.write(first, rows.view()).unwrap_err().to_string();
        let message = refused(2, &rows);
        assert!(message.ends_with("rows f32[2, 2] from row 2 do not fit into f32[3, 2]"), "{message}");
        refused(usize::MAX, &rows);
        refused(0, &tensor(&[1, 3], &[0.0f32; 3]));
        refused(0, &tensor(&[2], &[0.0f32; 2]));
        refused(0, &Tensor::scalar(0.0f32));
        let message = refused(0, &tensor(&[1, 2], &[0.0f64; 2]));
        assert!(message.contains("rows f64[1, 2] from row 0"), "{message}");
    }
    let written = ArrayFile::raw(&file, ElementType::F32, &[None, Some(2)]).unwrap();
    let mut found = Tensor::zeros(ElementType::F32, &[3, 2]).unwrap();
    written.read(0, 0, &mut found).unwrap();
    assert_eq!(found.values::<f32>().unwrap(), [0.0, 0.0, 1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn elements_without_a_header_are_little_endian() {
    let directory = Directory::new("raw");
    let file = directory.0.join("elements.raw");
    write_raw(&file, tensor(&[2], &[1i32, -2]).view()).unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), [1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff]);
    write_raw(&file, Tensor::scalar(true).view()).unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), [1]);
}

#[test]
fn what_no_file_can_hold_is_refused_before_it_is_made() {
    let directory = Directory::new("never");
    let file = directory.0.join("never.raw");
    let message = RawWriter::new(&file).begin(ElementType::F32, &[1 << 62, 3]).unwrap_err().to_string();
    assert!(message.contains("takes more bytes than a file can have"), "{message}");
    assert!(!file.exists());
}

#[test]
fn rows_of_the_sample_that_are_given_away_are_those_of_its_batch() {
    let directory = Directory::new("sample-rows");
    let file = directory.0.join("rows.npy");
    give_batch(131, &NpyWriter::new(&file)).unwrap();
    let mut found = Tensor::zeros(ElementType::F32, &[131, 3, 32, 32]).unwrap();
    ArrayFile::npy(&file).unwrap().read(0, 0, &mut found).unwrap();
    assert_eq!(found, sample_batch(131).unwrap());
    let message = sample_batch(1_000_000_000_000_000).unwrap_err().to_string();
    assert!(message.contains("has more elements than memory"), "{message}");
}
