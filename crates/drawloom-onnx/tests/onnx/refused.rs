//! Files that are refused, and the sentence each gets; and files that are damaged at random.

use drawloom_tensor::files::ArrayFile;
use drawloom_tensor::{ElementType, Error, ErrorKind, Settings, Tensor};
use fastrand::Rng;
use rten_onnx::onnx::{
    AttributeProto, AttributeType, DataLocation, DataType, GraphProto, ModelProto, OperatorSetIdProto,
    StringStringEntryProto, TensorProto, TypeProto, TypeProtoSequence, ValueInfoProto,
};

use crate::build::{attribute, compute, constants, int, ints, model, node, stored, tensor, value, with};

fn refused(bytes: &[u8]) -> Error {
    drawloom_onnx::from_bytes(bytes, None).err().unwrap()
}

fn graph_refused(graph: GraphProto) -> String {
    refused(&model(graph)).to_string()
}

fn relu() -> GraphProto {
    GraphProto {
        node: vec![node("Relu", &["x"], &["y"])],
        input: vec![value("x", DataType::FLOAT, &[2])],
        output: vec![value("y", DataType::FLOAT, &[2])],
        ..GraphProto::default()
    }
}

#[test]
fn files_that_are_no_models_say_so() {
    assert_eq!(refused(b"").to_string(), "this is not an ONNX file, or it is damaged: it has no graph");
    assert!(refused(b"PK\x03\x04 something else").to_string().starts_with("this is not an ONNX file"));
    let bytes = model(relu());
    assert!(refused(&bytes[..bytes.len() - 9]).to_string().starts_with("this is not an ONNX file"));
}

#[test]
fn a_claimed_length_is_compared_with_the_file() {
    // Field 7, the graph, of four gigabytes.
    let error = refused(&[0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2]).to_string();
    assert_eq!(
        error,
        "this is not an ONNX file, or it is damaged: at byte 6, a field claims 4294967295 bytes, and 2 are left"
    );
}

#[test]
fn graphs_inside_of_graphs_have_a_limit() {
    let mut graph = relu();
    for _ in 0..60 {
        let body = AttributeProto { g: Some(graph), r#type: Some(AttributeType::GRAPH), ..attribute("then_branch") };
        graph = GraphProto { node: vec![with(node("If", &["x"], &["y"]), body)], ..GraphProto::default() };
    }
    assert!(graph_refused(graph).contains("messages are nested more than 96 deep"));
}

#[test]
fn tensors_that_contradict_themselves_are_named() {
    let with_initializer = |tensor: TensorProto| graph_refused(GraphProto { initializer: vec![tensor], ..relu() });
    let short = TensorProto { dims: vec![3], ..stored("w", &tensor(&[2], &[1.0f32, 2.0])) };
    assert_eq!(
        with_initializer(short),
        "initializer `w`: its shape [3] needs 3 elements of 4 bytes, and 8 bytes are stored"
    );
    let negative = TensorProto { dims: vec![-1], ..stored("w", &tensor(&[2], &[1.0f32, 2.0])) };
    assert_eq!(with_initializer(negative), "initializer `w`: its shape [-1] has a negative length");
    let huge = TensorProto { dims: vec![1 << 40, 1 << 40], ..stored("w", &tensor(&[2], &[1.0f32, 2.0])) };
    assert!(with_initializer(huge).contains("has more elements than memory"));
    let half = TensorProto { data_type: Some(DataType::FLOAT16), ..stored("w", &tensor(&[2], &[1.0f32, 2.0])) };
    assert_eq!(with_initializer(half), "initializer `w`: elements of type float16 are not supported");
    let few = TensorProto {
        dims: vec![3],
        data_type: Some(DataType::FLOAT),
        float_data: vec![1.0],
        name: Some("w".to_owned()),
        ..TensorProto::default()
    };
    assert_eq!(with_initializer(few), "initializer `w`: its shape [3] needs 3 elements, and 1 are stored");
    let twice = GraphProto {
        initializer: vec![stored("w", &Tensor::scalar(1.0f32)), stored("w", &Tensor::scalar(1.0f32))],
        ..relu()
    };
    assert_eq!(graph_refused(twice), "two tensors have the name `w`");
}

/// A model with two values in another file.
fn with_values_in(location: &str) -> Vec<u8> {
    let entry = StringStringEntryProto { key: Some("location".to_owned()), value: Some(location.to_owned()) };
    let tensor = TensorProto {
        dims: vec![2],
        data_type: Some(DataType::FLOAT),
        name: Some("w".to_owned()),
        data_location: Some(DataLocation::EXTERNAL),
        external_data: vec![entry],
        ..TensorProto::default()
    };
    model(GraphProto { initializer: vec![tensor], ..relu() })
}

#[test]
fn values_in_other_files_must_be_inside_of_the_folder() {
    let external = |location: &str, folder: Option<&std::path::Path>| {
        drawloom_onnx::from_bytes(&with_values_in(location), folder).err().unwrap().to_string()
    };
    let folder = std::env::temp_dir();
    for outside in ["../secret", "/etc/passwd", "a/../../b", ""] {
        assert!(external(outside, Some(&folder)).contains("is not inside of the folder of the model"), "{outside}");
    }
    assert!(external("weights.bin", None).contains("there is no folder to look in"));
    assert!(external("drawloom-is-not-there.bin", Some(&folder)).contains("its values cannot be read from"));
}

/// A link may lead to anywhere, but not out of the folder.
#[test]
#[cfg(unix)]
fn links_to_values_outside_of_the_folder_are_refused() {
    let folder = std::env::temp_dir().join(format!("drawloom-links-{}", std::process::id()));
    let (inside, outside) = (folder.join("model"), folder.join("elsewhere"));
    std::fs::create_dir_all(&inside).unwrap();
    std::fs::create_dir_all(&outside).unwrap();
    let bytes: Vec<u8> = [1.0f32, 2.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    std::fs::write(inside.join("weights.bin"), &bytes).unwrap();
    std::fs::write(outside.join("secret.bin"), &bytes).unwrap();
    std::os::unix::fs::symlink("weights.bin", inside.join("near.bin")).unwrap();
    std::os::unix::fs::symlink("../elsewhere/secret.bin", inside.join("far.bin")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", inside.join("folder")).unwrap();
    // The folder itself may be reached by a link.
    std::os::unix::fs::symlink("model", folder.join("link")).unwrap();
    for folder in [&inside, &folder.join("link")] {
        for near in ["weights.bin", "near.bin"] {
            drawloom_onnx::from_bytes(&with_values_in(near), Some(folder)).unwrap();
        }
        for far in ["far.bin", "folder/secret.bin"] {
            let error = drawloom_onnx::from_bytes(&with_values_in(far), Some(folder)).err().unwrap().to_string();
            let parts = [far, "elsewhere/secret.bin", "which is not inside of the folder of the model", "`w`"];
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What never ends is refused before it is opened.
#[test]
#[cfg(unix)]
fn pipes_and_devices_are_no_files() {
    let folder = std::env::temp_dir().join(format!("drawloom-pipes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let pipe = folder.join("pipe.npy");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.as_path(), std::path::Path::new("/dev/zero"), folder.as_path()] {
        let errors = [
            ArrayFile::npy(path).err().unwrap(),
            ArrayFile::raw(path, ElementType::F32, &[None, Some(2)]).err().unwrap(),
            drawloom_onnx::read(path).err().unwrap(),
        ];
        for error in errors {
            assert!(error.to_string().contains("it is no regular file"), "{error}");
        }
    }
    let error = drawloom_onnx::from_bytes(&with_values_in("pipe.npy"), Some(&folder)).err().unwrap();
    assert!(error.to_string().contains("it is no regular file"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn nodes_with_too_many_inputs_or_too_few_are_named() {
    let refused = |operator: &str, inputs: &[&str]| {
        graph_refused(GraphProto { node: vec![node(operator, inputs, &["y"])], ..relu() })
    };
    for (operator, inputs, why) in [
        ("Relu", &["x", "x", "x"][..], "it takes 1 input, and has 3"),
        ("Relu", &[], "it takes 1 input, and has 0"),
        ("Relu", &[""], "it takes 1 input, and has 0"),
        ("Add", &["x"], "it takes 2 inputs, and has 1"),
        ("Add", &["", "x"], "its input 0 is missing"),
        ("Conv", &["x"], "it takes 2 to 3 inputs, and has 1"),
        ("Conv", &["x", "x", "x", "x"], "it takes 2 to 3 inputs, and has 4"),
        ("Concat", &[], "it takes 1 input or more, and has 0"),
        ("Loop", &["x"], "it takes 2 inputs or more, and has 1"),
        ("Constant", &["x"], "it takes 0 inputs, and has 1"),
    ] {
        assert_eq!(refused(operator, inputs), format!("node `{operator}_0` ({operator}): {why}"));
    }
    // Inputs at the end that have no name are not there.
    let padded = GraphProto { node: vec![node("Relu", &["x", "", ""], &["y"])], ..relu() };
    drawloom_onnx::from_bytes(&model(padded), None).unwrap();
}

#[test]
fn what_is_not_a_tensor_or_not_a_known_operator_is_named() {
    let sequence =
        TypeProto { sequence: Some(Box::new(TypeProtoSequence { elem_type: None })), ..TypeProto::default() };
    let input = ValueInfoProto { name: Some("list".to_owned()), r#type: Some(sequence) };
    let error = refused(&model(GraphProto { input: vec![input], ..relu() }));
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::NonTensor, "`list` is not a tensor".to_owned()));
    let unknown = GraphProto {
        node: vec![node("Foo", &["x"], &["z"]), node("Bar", &["z"], &["y"]), node("Foo", &["x"], &["w"])],
        ..relu()
    };
    let error = refused(&model(unknown));
    assert_eq!(error.to_string(), "operators that are not supported: Bar, Foo");
    assert_eq!(error.operator(), Some("Bar"));
    let strange = GraphProto { node: vec![with(node("Relu", &["x"], &["y"]), int("negative_slope", 1))], ..relu() };
    assert_eq!(graph_refused(strange), "node `Relu_0` (Relu): attribute `negative_slope` is not known here");
    let mistyped = GraphProto { node: vec![with(node("Transpose", &["x"], &["y"]), int("perm", 1))], ..relu() };
    assert_eq!(graph_refused(mistyped), "node `Transpose_0` (Transpose): attribute `perm` must be a list of integers");
}

#[test]
fn nodes_may_be_in_any_order_and_initializers_may_be_inputs() {
    let graph = GraphProto {
        node: vec![node("Add", &["r", "w"], &["y"]), node("Relu", &["x"], &["r"])],
        input: vec![value("x", DataType::FLOAT, &[2]), value("w", DataType::FLOAT, &[2])],
        initializer: vec![stored("w", &tensor(&[2], &[1.0f32, 1.0]))],
        output: vec![value("y", DataType::FLOAT, &[2])],
        ..GraphProto::default()
    };
    let model = drawloom_onnx::from_bytes(&model(graph), None).unwrap();
    let outcome = model.run(&[("x", tensor(&[2], &[-1.0f32, 2.0]).view())], &Settings::new()).unwrap();
    assert_eq!(*outcome.output("y").unwrap(), tensor(&[2], &[1.0f32, 3.0]));
}

#[test]
fn inputs_of_another_type_or_shape_are_refused() {
    let model = drawloom_onnx::from_bytes(&model(relu()), None).unwrap();
    let message = |tensor: Tensor| model.run(&[("x", tensor.view())], &Settings::new()).err().unwrap().to_string();
    assert_eq!(message(tensor(&[2], &[1i64, 2])), "input x: f32[2] does not fit a tensor i64[2]");
    assert_eq!(message(tensor(&[3], &[1.0f32; 3])), "input x: f32[2] does not fit a tensor f32[3]");
    assert_eq!(message(Tensor::scalar(1.0f32)), "input x: f32[2] does not fit a tensor f32[]");
}

#[test]
fn a_loop_that_never_ends_is_stopped_and_a_body_must_fit() {
    let graph = GraphProto {
        input: vec![value("i", DataType::INT64, &[]), value("goes_on", DataType::BOOL, &[])],
        output: vec![value("goes_on", DataType::BOOL, &[]), value("i", DataType::INT64, &[])],
        ..GraphProto::default()
    };
    let body = AttributeProto { g: Some(graph), r#type: Some(AttributeType::GRAPH), ..attribute("body") };
    let repeat = with(node("Loop", &["", ""], &[]), body);
    let message = graph_refused(constants(vec![repeat], &[], &[]));
    assert!(message.contains("the body takes 2 inputs and has 2 outputs"), "{message}");
}

#[test]
fn memory_is_asked_for_only_up_to_the_limit() {
    let error =
        compute(node("ConstantOfShape", &["s"], &["y"]), &[tensor(&[2], &[1i64 << 20, 1 << 20])]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Memory);
    let error = compute(node("ConstantOfShape", &["s"], &["y"]), &[tensor(&[2], &[i64::MAX, i64::MAX])]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Memory);
    let error = compute(node("Expand", &["x", "s"], &["y"]), &[Tensor::scalar(1.0f32), tensor(&[1], &[i64::MAX])])
        .err()
        .unwrap();
    assert_eq!(error.kind(), ErrorKind::Memory);
}

#[test]
fn operators_refuse_what_does_not_fit_without_a_panic() {
    let x = || tensor(&[2, 3], &[1.0f32; 6]);
    let refused = |node, inputs: &[Tensor]| compute(node, inputs).err().unwrap().to_string();
    assert!(
        refused(with(node("Transpose", &["x"], &["y"]), ints("perm", &[0, 0])), &[x()])
            .contains("an axis is named twice")
    );
    assert!(
        refused(with(node("Concat", &["x", "z"], &["y"]), int("axis", 5)), &[x(), x()]).contains("there is no axis 5")
    );
    assert!(
        refused(node("Reshape", &["x", "s"], &["y"]), &[x(), tensor(&[1], &[4i64])]).contains("cannot be put into [4]")
    );
    assert!(
        refused(node("Gather", &["x", "i"], &["y"]), &[x(), tensor(&[1], &[7i64])])
            .contains("the index 7 is not within 2")
    );
    let conv = with(node("Conv", &["x", "w"], &["y"]), ints("strides", &[0, 1]));
    assert!(
        refused(conv, &[tensor(&[1, 1, 2, 2], &[0.0f32; 4]), tensor(&[1, 1, 1, 1], &[0.0f32])])
            .contains("strides [0, 1] are out of bounds")
    );
    assert!(refused(node("MatMul", &["a", "b"], &["y"]), &[x(), x()]).contains("cannot be multiplied"));
    assert!(refused(node("Add", &["a"], &["y"]), &[x()]).contains("it takes 2 inputs, and has 1"));
    assert!(refused(node("Relu", &["x"], &["y", "z"]), &[x()]).contains("it did not compute its output 1"));
}

#[test]
fn damaged_files_neither_panic_nor_hang() {
    let cases: u64 = std::env::var("DRAWLOOM_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2000);
    let pool = with(with(node("MaxPool", &["r"], &["p"]), ints("kernel_shape", &[2, 2])), ints("strides", &[2, 2]));
    let graph = GraphProto {
        node: vec![
            node("Conv", &["x", "w"], &["c"]),
            node("Relu", &["c"], &["r"]),
            pool,
            node("Reshape", &["p", "s"], &["y"]),
        ],
        input: vec![value("x", DataType::FLOAT, &[1, 1, 6, 6])],
        initializer: vec![stored("w", &tensor(&[2, 1, 3, 3], &[0.5f32; 18])), stored("s", &tensor(&[2], &[1i64, -1]))],
        output: vec![value("y", DataType::FLOAT, &[1, 8])],
        ..GraphProto::default()
    };
    let bytes = model(graph);
    let input = tensor(&[1, 1, 6, 6], &[1.0f32; 36]);
    let (mut ran, mut refused) = (0u64, 0u64);
    let settings = Settings::new().memory(1 << 24);
    for seed in 0..cases {
        let mut rng = Rng::with_seed(seed);
        let mut damaged = bytes.clone();
        for _ in 0..rng.usize(1..5) {
            let at = rng.usize(..damaged.len());
            match rng.usize(..4) {
                0 => damaged[at] = rng.u8(..),
                1 => damaged[at] ^= 1 << rng.usize(..8),
                2 => drop(damaged.drain(at..(at + rng.usize(..8)).min(damaged.len()))),
                _ => damaged.insert(at, rng.u8(..)),
            }
            if damaged.is_empty() {
                break;
            }
        }
        match drawloom_onnx::from_bytes(&damaged, None).and_then(|model| model.run(&[("x", input.view())], &settings)) {
            Ok(_) => ran += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(ran > 0 && refused > cases / 4, "{ran} ran, {refused} were refused");
}

/// What operators mean in versions that are not known cannot be guessed.
#[test]
fn a_file_of_an_unknown_opset_is_refused() {
    let of = |versions: &[i64]| {
        let set = |version: &i64| OperatorSetIdProto { domain: Some(String::new()), version: Some(*version) };
        let model = ModelProto {
            ir_version: Some(10),
            graph: Some(constants(vec![node("Relu", &["x"], &["y"])], &[("x", tensor(&[1], &[1.0f32]))], &["y"])),
            opset_import: versions.iter().map(set).collect(),
            ..ModelProto::default()
        };
        drawloom_onnx::from_bytes(&model.write_buf().unwrap(), None).err().map(|error| error.to_string())
    };
    assert_eq!(of(&[22]), None);
    assert!(of(&[99]).unwrap().contains("opset 99, and 22 is the newest that is known"));
    assert!(of(&[]).unwrap().contains("it does not say which opset"));
}
