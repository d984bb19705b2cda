//! `drawloom model` and `drawloom onnx-test`.

use crate::support::onnx::{model, node, with_graph};
use crate::support::{Folder, drawloom};

/// A model that computes `y = Relu(x)` for any number of rows of three elements, as it is stored: fields and their lengths.
fn relu() -> Vec<u8> {
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

/// One tensor, as it is stored.
fn tensor(values: [f32; 3]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    [&[1 << 3, 1, 1 << 3, 3, 2 << 3, 1, 9 << 3 | 2, 12][..], &bytes].concat()
}

#[test]
fn a_model_says_what_is_in_it_and_where_its_rows_go() {
    let folder = Folder::new();
    let path = folder.path("relu.onnx");
    std::fs::write(&path, relu()).unwrap();
    let info = drawloom(&["model", "info", &path, "--json"]).exits(0).json();
    assert_eq!(info["inputs"][0], "x: f32[N, 3]");
    assert_eq!(info["operators"]["Relu"], 1);
    assert_eq!(info["rows"]["y"], 0);
    assert!(drawloom(&["model", "info", &path]).exits(0).out.contains("rows of `y` are along axis 0"));
    assert!(drawloom(&["model", "info", &path, "--dump"]).exits(0).out.contains("Relu `Relu_0`(x) -> y"));
    assert!(drawloom(&["model", "info", &path, "--dot"]).exits(0).out.starts_with("digraph"));
    let refused = drawloom(&["model", "info", &path, "--axis", "x=none"]).exits(1).out;
    assert!(
        refused.contains("a batch cannot be cut into pieces: no input of the model has an axis of any length"),
        "{refused}"
    );
    std::fs::write(&path, &relu()[..20]).unwrap();
    assert!(drawloom(&["model", "info", &path]).exits(2).err.contains("this is not an ONNX file, or it is damaged"));
}

#[test]
fn a_directory_of_tests_ends_with_counts_and_names() {
    let folder = Folder::new();
    for (name, result) in [("test_right", 2.0), ("test_wrong", 3.0)] {
        let set = folder.as_path().join(name).join("test_data_set_0");
        std::fs::create_dir_all(&set).unwrap();
        std::fs::write(folder.as_path().join(name).join("model.onnx"), relu()).unwrap();
        std::fs::write(set.join("input_0.pb"), tensor([-1.0, 0.0, 2.0])).unwrap();
        std::fs::write(set.join("output_0.pb"), tensor([0.0, 0.0, result])).unwrap();
    }
    let all = folder.as_path().display().to_string();
    let ran = drawloom(&["onnx-test", &all]).exits(1);
    assert_eq!(ran.out, "{\"passed\":1,\"skipped\":{},\"failed\":[\"test_wrong\"]}\n");
    assert!(ran.err.contains("test_wrong: output `y`: element 2 is 2, and should be 3"), "{}", ran.err);
    let right = folder.path("test_right");
    assert_eq!(drawloom(&["onnx-test", &right]).exits(0).out, "{\"passed\":1,\"skipped\":{},\"failed\":[]}\n");
    drawloom(&["onnx-test", &folder.path("nothing")]).exits(2);
}

#[test]
fn folders_that_are_no_tests_are_counted() {
    let folder = Folder::new();
    let all = folder.as_path().display().to_string();
    let set = folder.as_path().join("test_right/test_data_set_0");
    std::fs::create_dir_all(&set).unwrap();
    std::fs::write(folder.as_path().join("test_right/model.onnx"), relu()).unwrap();
    std::fs::write(set.join("input_0.pb"), tensor([-1.0, 0.0, 2.0])).unwrap();
    std::fs::write(set.join("output_0.pb"), tensor([0.0, 0.0, 2.0])).unwrap();
    assert_eq!(drawloom(&["onnx-test", &all]).exits(0).err, "");
    for name in ["a", "b"] {
        std::fs::create_dir(folder.path(name)).unwrap();
    }
    let ran = drawloom(&["onnx-test", &all]).exits(0);
    assert_eq!(ran.out, "{\"passed\":1,\"skipped\":{},\"failed\":[]}\n");
    assert!(ran.err.contains("2 folders have no model.onnx"), "{}", ran.err);
    assert_eq!(drawloom(&["onnx-test", &folder.path("test_right")]).exits(0).err, "");
}

#[test]
fn a_model_with_operators_that_are_not_supported_is_listed_with_a_mark_at_those() {
    let folder = Folder::new();
    let branch = with_graph(node("If", "c", "b"), "then_branch", vec![node("my.domain.Relu", "a", "t")], "t");
    let branch = with_graph(branch, "else_branch", vec![node("Relu", "a", "e")], "e");
    let nodes = vec![node("Relu", "x", "a"), node("Neg", "a", "c"), branch, node("StringNormalizer", "b", "y")];
    let path = folder.file("model.onnx", model(nodes, &[("x", "f32 N 2")], &[("y", "f32 N 2")], Vec::new()));
    let ran = drawloom(&["model", "info", &path]).exits(2);
    assert!(ran.err.contains("operators that are not supported: StringNormalizer, my.domain.Relu"), "{}", ran.err);
    let lines: Vec<Vec<&str>> = ran.out.lines().map(|line| line.split_whitespace().collect()).collect();
    for line in [
        &["input", "x:", "f32[N,", "2]"][..],
        &["Relu", "2"],
        &["If", "1"],
        &["Neg", "1"],
        &["my.domain.Relu", "1", "not", "supported"],
        &["StringNormalizer", "1", "not", "supported"],
    ] {
        assert!(lines.contains(&line.to_vec()), "{line:?}: {}", ran.out);
    }
    let json = drawloom(&["model", "info", &path, "--json"]).exits(2).json();
    assert_eq!(json["operators"]["Relu"], 2);
    assert_eq!(json["unsupported"], serde_json::json!(["StringNormalizer", "my.domain.Relu"]));
    let dump = drawloom(&["model", "info", &path, "--dump"]).exits(2).out;
    assert!(
        dump.contains("  Relu ``(x) -> a\n") && dump.contains("my.domain.Relu ``(a) -> t  not supported"),
        "{dump}"
    );
}

#[test]
fn partitions_are_those_of_the_program_that_runs() {
    let folder = Folder::new();
    let nodes = vec![node("Mul", "w w", "square"), node("Add", "x square", "a"), node("Sub", "a square", "y")];
    let inputs = [("x", "f32 N 4"), ("w", "f32 4")];
    let path = folder.file("model.onnx", model(nodes, &inputs, &[("y", "f32 N 4")], Vec::new()));
    let json = drawloom(&["model", "info", &path, "--json"]).exits(0).json();
    assert_eq!(json["partitions"], 2);
    assert_eq!(json["crossing"], serde_json::json!(["square: f32[4]"]));
    let said = drawloom(&["model", "info", &path]).exits(0).out;
    assert!(said.contains("partitions 2, with the loop over pieces"), "{said}");
    assert!(said.contains("kept for all iterations: square: f32[4]"), "{said}");
}

#[test]
fn a_sample_that_no_file_can_hold_is_refused() {
    let folder = Folder::new();
    let path = folder.as_path().display().to_string();
    let said = drawloom(&["model", "sample", "--folder", &path, "--rows", "1e15"]).exits(2).err;
    assert!(said.contains("takes more bytes than a file can have"), "{said}");
}
