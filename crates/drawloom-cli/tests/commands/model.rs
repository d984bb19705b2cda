//! `drawloom model`.

use crate::support::onnx::{model, node, relu, with_graph};
use crate::support::{Folder, drawloom};

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
