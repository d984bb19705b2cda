//! What cannot be told without the memory: sizes that depend on values, and what the kernels of users do.

use std::sync::Arc;

use drawloom_tensor::{
    ErrorKind, Fault, Graph, Inputs, Kernel, Outputs, Pieces, Placement, Rows, Scratch, Slicing, Tensor,
};
use rten_onnx::onnx::{DataType, GraphProto};

use crate::build::{constants, int, model, node, tensor, value, with};
use crate::counting::most_of;
use crate::{ONE_AT_A_TIME, needed};

/// A length that is the largest of many numbers, which do not fit.
#[test]
fn a_size_that_depends_on_values_is_said_with_its_node() {
    let _alone = ONE_AT_A_TIME.lock();
    let nodes = vec![
        node("Abs", &["t"], &["a"]),
        with(node("ReduceMax", &["a"], &["m"]), int("keepdims", 1)),
        with(node("Cast", &["m"], &["n"]), int("to", 7)),
        node("Slice", &["t", "zero", "n"], &["k"]),
        node("ReduceSum", &["k", "zero"], &["s"]),
        node("Add", &["x", "s"], &["y"]),
    ];
    let graph = GraphProto {
        input: vec![value("x", DataType::FLOAT, &[-1, 64]), value("t", DataType::FLOAT, &[16384])],
        ..constants(nodes, &[("zero", tensor(&[1], &[0i64]))], &["y"])
    };
    let model = drawloom_onnx::from_bytes(&model(graph), None).unwrap();
    let rows: [(&str, Arc<dyn Rows>); 2] =
        [("x", Arc::new(tensor(&[5, 64], &[0.5f32; 320]))), ("t", Arc::new(tensor(&[16384], &[9.0f32; 16384])))];
    let pieces = || Pieces::new().axis("t", None).piece(1);
    let need = model.plan(&rows, &pieces()).unwrap().predicted_peak_bytes();
    let error = model.plan(&rows, &pieces().memory(1000)).err().unwrap();
    assert_eq!((error.kind(), error.node()), (ErrorKind::Memory, Some("Slice_3")), "{error}");
    let text = error.to_string();
    assert!(text.contains("one row does not fit into 1000 bytes: at least ") && text.contains("depends on values"));
    assert!(needed(&text).is_some_and(|bytes| bytes > 65536 && bytes <= need), "{need}: {error}");
}

/// A kernel that uses what it is given at once.
struct Eager;

impl Kernel for Eager {
    fn run(&self, inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        let x = inputs.get(0)?;
        let first = x.values::<f32>()?[0];
        let results = outputs.allocate::<f32>(0, x.shape())?;
        results[0] = first;
        let mut buffer = scratch.zeros::<f32>(4096)?;
        buffer[4095] = first;
        Ok(())
    }
}

/// Kernels of users are never given less than what they asked for: they are refused as ever, or not run.
#[test]
fn kernels_of_users_get_all_or_nothing() {
    let _alone = ONE_AT_A_TIME.lock();
    let mut graph = Graph::new("eager");
    graph.input("x").unwrap();
    graph.kernel("first", "Eager", Eager, &["x"], &["a"]).unwrap();
    graph.kernel("second", "Eager", Eager, &["a"], &["b"]).unwrap();
    graph.output("out", &[("b", Placement::Rows { axis: 0 })]).unwrap();
    let rows: Arc<dyn Rows> = Arc::new(Tensor::new(&[5, 1024], vec![0.5f32; 5120]).unwrap());
    let plan = |pieces: Pieces| graph.plan(&[("x", Some(0), Arc::clone(&rows))], &pieces);
    let need = plan(Pieces::new().piece(1)).unwrap().predicted_peak_bytes();
    for memory in [1, 5000, 9000, 20_000] {
        let error = plan(Pieces::new().memory(memory)).err().unwrap();
        assert_eq!((error.kind(), error.node()), (ErrorKind::Memory, Some("first")), "{error}");
        let text = error.to_string();
        assert!(text.contains(&format!("one row does not fit into {memory} bytes: at least ")), "{text}");
        assert!(needed(&text).is_some_and(|bytes| bytes > memory && bytes <= need), "{need}: {text}");
    }
    assert!(plan(Pieces::new().memory(need)).is_ok());
}

/// A program with a loop over pieces inside of a node: it takes no more than the budget, and says no more than it needs.
#[test]
fn a_program_inside_stays_within_the_budget() {
    let _alone = ONE_AT_A_TIME.lock();
    let mut inner = Graph::new("inner");
    inner.input("lines").unwrap();
    inner.slice("cut", Slicing::new(2), &[("lines", 0, "piece")]).unwrap();
    inner.kernel("inside", "Eager", Eager, &["piece"], &["part"]).unwrap();
    inner.output("gather", &[("part", Placement::Rows { axis: 0 })]).unwrap();
    let mut graph = Graph::new("outer");
    graph.input("x").unwrap();
    graph.program("loop", inner.check(1).unwrap(), &[("x", "lines")], &["y"]).unwrap();
    graph.output("out", &[("y", Placement::Rows { axis: 1 })]).unwrap();
    let rows: Arc<dyn Rows> = Arc::new(Tensor::new(&[8, 5, 1024], vec![0.5f32; 40960]).unwrap());
    let plan = |pieces: Pieces| graph.plan(&[("x", Some(1), Arc::clone(&rows))], &pieces);
    let one = plan(Pieces::new().piece(1)).unwrap();
    let (need, allowed) = (one.predicted_peak_bytes(), crate::allowed(&one));
    drop(one);
    for memory in [1, 10_000, 35_000, 40_000, 60_000, 70_000, 90_000, need - 1] {
        let (error, taken) = most_of(|| plan(Pieces::new().memory(memory)).err());
        let error = error.unwrap();
        assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
        assert!(needed(&error.to_string()).is_some_and(|bytes| bytes > memory && bytes <= need), "{need}: {error}");
        assert!(taken <= memory + allowed, "{taken} bytes were taken of {memory}");
    }
}
