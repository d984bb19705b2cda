//! `drawloom-bench tensor` and `drawloom-bench onnx-test`.

use crate::support::onnx::relu;
use crate::support::{Folder, drawloom};

/// One tensor, as it is stored.
fn tensor(values: [f32; 3]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    [&[1 << 3, 1, 1 << 3, 3, 2 << 3, 1, 9 << 3 | 2, 12][..], &bytes].concat()
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
fn models_are_measured() {
    let lines = drawloom(&["tensor", "--rows", "8", "--pieces", "8,2", "--repeat", "1", "--no-peers"]);
    let lines = lines.exits(0).out;
    let first = lines.lines().next().unwrap();
    assert!(first.contains("\"model\":\"sample\"") && first.contains("\"cpu_ms_per_row\""), "{lines}");
    assert!(lines.lines().count() >= 3, "{lines}");
}
