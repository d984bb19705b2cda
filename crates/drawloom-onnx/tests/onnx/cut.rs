//! Models in pieces that once went wrong: truth values, memory that does not grow evenly, and numbers of rows in shapes.

use std::sync::Arc;

use drawloom_runtime::Loom;
use drawloom_tensor::Model;
use drawloom_tensor::{ErrorKind, Pieces, Rows, Settings, Tensor};
use rten_onnx::onnx::{AttributeProto, AttributeType, DataType, GraphProto, NodeProto};

use crate::build::{attribute, constants, int, ints, model, node, tensor, value, with};

fn text(name: &str, value: &str) -> AttributeProto {
    AttributeProto { s: Some(value.to_owned()), r#type: Some(AttributeType::STRING), ..attribute(name) }
}

fn body(name: &str, graph: GraphProto) -> AttributeProto {
    AttributeProto { g: Some(graph), r#type: Some(AttributeType::GRAPH), ..attribute(name) }
}

/// A model of inputs with their types and shapes, and constants.
fn of(nodes: Vec<NodeProto>, inputs: &[(&str, DataType, &[i64])], fixed: &[(&str, Tensor)], outputs: &[&str]) -> Model {
    let input = inputs.iter().map(|(name, element, shape)| value(name, *element, shape)).collect();
    drawloom_onnx::from_bytes(&model(GraphProto { input, ..constants(nodes, fixed, outputs) }), None).unwrap()
}

/// Truth values are results like others, along any axis of rows.
#[test]
fn truth_values_come_out_of_pieces_as_they_were_computed() {
    for (shape, axis) in [([-1, 4], 0), ([4, -1], 1)] {
        let model = of(vec![node("Not", &["x"], &["y"])], &[("x", DataType::BOOL, &shape)], &[], &["y"]);
        let rows = if axis == 0 { [7, 4] } else { [4, 7] };
        let x = tensor(&rows, &(0..28).map(|value| value % 3 == 0).collect::<Vec<_>>());
        let whole = model.run(&[("x", x.view())], &Settings::new()).unwrap();
        let inputs: [(&str, Arc<dyn Rows>); 1] = [("x", Arc::new(x))];
        let plan = model.plan(&inputs, &Pieces::new().piece(2).axis("x", Some(axis))).unwrap();
        let outcome = plan.run(&Loom::serial()).unwrap();
        assert_eq!(outcome.output("y"), whole.output("y"));
        assert_eq!(plan.check().unwrap(), 7);
    }
}

/// A loop whose body takes the larger of two things: one that grows with the rows, and one that does not.
#[test]
fn memory_that_does_not_grow_evenly_is_planned_all_the_same() {
    let nodes = vec![
        node("Expand", &["zero", "many"], &["same"]),
        node("ReduceSum", &["same"], &["sum"]),
        node("MatMul", &["state", "wide"], &["grown"]),
        with(node("ReduceSum", &["grown", "one"], &["narrow"]), int("keepdims", 1)),
        node("Add", &["state", "narrow"], &["next"]),
        node("Identity", &["go"], &["goes"]),
    ];
    let mut inside = constants(nodes, &[], &["goes", "next"]);
    let shapes = [("i", DataType::INT64), ("go", DataType::BOOL), ("state", DataType::FLOAT)];
    inside.input = shapes.iter().map(|(name, element)| value(name, *element, &[])).collect();
    for tensor in inside.input.iter_mut().filter_map(|input| input.r#type.as_mut()?.tensor_type.as_mut()) {
        tensor.shape = None;
    }
    let fixed = [
        ("two", Tensor::scalar(2i64)),
        ("zero", tensor(&[1], &[0.0f32])),
        ("many", tensor(&[1], &[40_000i64])),
        ("one", tensor(&[1], &[1i64])),
        ("wide", tensor(&[4, 1000], &[0.5f32; 4000])),
    ];
    let repeat = with(node("Loop", &["two", "", "x"], &["y"]), body("body", inside));
    let model = of(vec![repeat], &[("x", DataType::FLOAT, &[-1, 4])], &fixed, &["y"]);
    let x = tensor(&[256, 4], &[0.25f32; 1024]);
    let whole = model.run(&[("x", x.view())], &Settings::new()).unwrap();
    let rows: Arc<dyn Rows> = Arc::new(x);
    for pieces in
        [Pieces::new(), Pieces::new().piece(100), Pieces::new().memory(1 << 20), Pieces::new().memory(64 << 20)]
    {
        let plan = model.plan(&[("x", Arc::clone(&rows))], &pieces).unwrap();
        let outcome = plan.run(&Loom::serial()).unwrap();
        assert_eq!(outcome.output("y"), whole.output("y"));
        assert!(outcome.peak_bytes() <= plan.predicted_peak_bytes(), "{plan}");
    }
}

/// What a model would take while its memory is planned is bounded by the budget, too.
#[test]
fn a_model_that_needs_far_more_than_its_budget_is_refused_before_it_takes_it() {
    let nodes = vec![node("Expand", &["x", "shape"], &["large"]), node("ReduceMax", &["large", "one"], &["y"])];
    let fixed = [("shape", tensor(&[3], &[1i64, 1 << 28, 1])), ("one", tensor(&[1], &[1i64]))];
    let model = of(nodes, &[("x", DataType::FLOAT, &[-1, 1, 4])], &fixed, &["y"]);
    let rows: Arc<dyn Rows> = Arc::new(tensor(&[3, 1, 4], &[0.0f32; 12]));
    let error = model.plan(&[("x", rows)], &Pieces::new().memory(1 << 20)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Memory);
    assert!(error.to_string().contains("one row does not fit into 1048576 bytes"), "{error}");
    assert!(error.to_string().contains("4294967424 would do"), "{error}");
    assert!(error.to_string().contains("node `Expand_0` (Expand): it needs"), "{error}");
}

/// An empty batch has results of no rows, also where zeros are no good values.
#[test]
fn an_empty_batch_needs_no_good_zeros() {
    let divided = node("Div", &["ten", "x"], &["y"]);
    let fixed = [("ten", tensor(&[1], &[10i64]))];
    let model = of(vec![divided], &[("x", DataType::INT64, &[-1, 4])], &fixed, &["y"]);
    let rows: Arc<dyn Rows> = Arc::new(tensor::<i64>(&[0, 4], &[]));
    let plan = model.plan(&[("x", rows)], &Pieces::new()).unwrap();
    assert_eq!(plan.run(&Loom::serial()).unwrap().output("y").unwrap().shape(), [0, 4]);
}

/// The number of rows as the length of another axis, however it comes there.
#[test]
fn a_number_of_rows_along_another_axis_is_refused() {
    let rows = || vec![node("Shape", &["x"], &["s"]), node("Gather", &["s", "zero"], &["r"])];
    let twice = || [rows(), vec![with(node("Concat", &["r", "r"], &["rr"]), int("axis", 0))]].concat();
    let summed = |from: &str| with(node("ReduceSum", &[from, "one"], &["q"]), int("keepdims", 1));
    let added = || node("Add", &["x", "q"], &["y"]);
    let models = [
        [twice(), vec![node("ConstantOfShape", &["rr"], &["c"]), summed("c"), added()]].concat(),
        [twice(), vec![node("Expand", &["k", "rr"], &["c"]), summed("c"), added()]].concat(),
        [rows(), vec![node("Slice", &["x", "zero", "r", "one"], &["c"]), summed("c"), added()]].concat(),
    ];
    for nodes in models {
        let fixed =
            [("zero", tensor(&[1], &[0i64])), ("one", tensor(&[1], &[1i64])), ("k", tensor(&[1, 1], &[1.0f32]))];
        let name = nodes[nodes.len() - 3].op_type.clone();
        let model = of(nodes, &[("x", DataType::FLOAT, &[-1, 3])], &fixed, &["y"]);
        let error = model.batch(&[]).err().unwrap_or_else(|| panic!("{name:?} was accepted"));
        assert_eq!(error.kind(), ErrorKind::Batch, "{name:?}: {error}");
    }
}

/// Images may be made larger and smaller, but not the batch.
#[test]
fn a_resize_leaves_the_rows_alone_or_is_refused() {
    let shape: &[i64] = &[-1, 1, 4, 4];
    let scaled = |scales: &[f32], attributes: Vec<AttributeProto>| {
        let resize = attributes.into_iter().fold(node("Resize", &["x", "roi", "s"], &["y"]), with);
        let roi = tensor(&[8], &[1.0f32, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
        let fixed = [("roi", roi), ("s", tensor(&[scales.len()], scales))];
        of(vec![resize], &[("x", DataType::FLOAT, shape)], &fixed, &["y"]).batch(&[]).map_err(|error| error.to_string())
    };
    assert!(scaled(&[1.0, 1.0, 2.0, 2.0], vec![]).is_ok());
    assert!(scaled(&[2.0, 2.0], vec![ints("axes", &[2, 3])]).is_ok());
    assert!(scaled(&[1.0], vec![ints("axes", &[-4])]).is_ok());
    let refused = |scales: &[f32], attributes: Vec<AttributeProto>, why: &str| {
        let error = scaled(scales, attributes).err().unwrap();
        assert!(error.contains(why), "{error}");
    };
    refused(&[2.0, 1.0, 1.0, 1.0], vec![], "it changes the number of rows");
    refused(&[0.5], vec![ints("axes", &[-4])], "it changes the number of rows");
    let crop = text("coordinate_transformation_mode", "tf_crop_and_resize");
    refused(&[1.0, 1.0, 1.0, 1.0], vec![crop], "it takes a part of the rows");
    let sized = with(node("Resize", &["x", "", "", "z"], &["y"]), ints("axes", &[2, 3]));
    let fixed = [("z", tensor(&[2], &[8i64, 8]))];
    assert!(of(vec![sized], &[("x", DataType::FLOAT, shape)], &fixed, &["y"]).batch(&[]).is_ok());
}

/// The shapes of what has no rows are known where rows meet it.
#[test]
fn what_has_no_rows_may_be_computed_from_inputs() {
    let nodes = vec![node("MatMul", &["s", "w"], &["p"]), node("Add", &["x", "p"], &["y"])];
    let fixed = [("w", tensor(&[3, 4], &[1.0f32; 12]))];
    let inputs: [(&str, DataType, &[i64]); 2] = [("x", DataType::FLOAT, &[-1, 4]), ("s", DataType::FLOAT, &[1, 3])];
    let model = of(nodes, &inputs, &fixed, &["y"]);
    let given: [(&str, Arc<dyn Rows>); 2] =
        [("x", Arc::new(tensor(&[5, 4], &[1.0f32; 20]))), ("s", Arc::new(tensor(&[1, 3], &[1.0f32; 3])))];
    let plan = model.plan(&given, &Pieces::new().piece(2)).unwrap();
    assert_eq!(plan.run(&Loom::serial()).unwrap().output("y").unwrap().values::<f32>().unwrap(), [4.0; 20]);
}

/// Many more rows than any memory: the numbers stay large, and do not become small again.
#[test]
fn plans_of_absurd_sizes_do_not_wrap_around() {
    struct Endless([usize; 2]);
    impl Rows for Endless {
        fn element(&self) -> drawloom_tensor::ElementType {
            drawloom_tensor::ElementType::F32
        }
        fn shape(&self) -> &[usize] {
            &self.0
        }
        fn read(&self, _: usize, _: usize, into: &mut Tensor) -> Result<(), drawloom_tensor::Fault> {
            into.values_mut::<f32>()?.fill(1.0);
            Ok(())
        }
    }
    let model = of(vec![node("Relu", &["x"], &["y"])], &[("x", DataType::FLOAT, &[-1, 4])], &[], &["y"]);
    let rows: Arc<dyn Rows> = Arc::new(Endless([usize::MAX / 5, 4]));
    let plan = model.plan(&[("x", rows)], &Pieces::new().piece(10)).unwrap();
    assert!(plan.predicted_peak_bytes() > usize::MAX / 2, "{plan}");
}

/// A value that is the same for all rows decides which way a branch goes, so only that way must keep rows apart.
#[test]
fn a_branch_may_be_decided_by_what_is_given() {
    let side = |operator: &str| constants(vec![node(operator, &["x"], &["s"])], &[], &["s"]);
    let branch = with(node("If", &["is_fast"], &["y"]), body("then_branch", side("Relu")));
    let branch = with(branch, body("else_branch", side("Transpose")));
    let nodes = vec![node("Equal", &["rate", "fast"], &["is_fast"]), branch];
    let inputs: [(&str, DataType, &[i64]); 2] = [("x", DataType::FLOAT, &[-1, 3]), ("rate", DataType::INT64, &[])];
    let model = of(nodes, &inputs, &[("fast", Tensor::scalar(16_000i64))], &["y"]);
    let plan = |rate: i64| {
        let x: Arc<dyn Rows> = Arc::new(tensor(&[4, 3], &[-1.0f32; 12]));
        model.plan(&[("x", x), ("rate", Arc::new(Tensor::scalar(rate)))], &Pieces::new().piece(2))
    };
    let outcome = plan(16_000).unwrap().run(&Loom::serial()).unwrap();
    assert_eq!(outcome.output("y").unwrap().values::<f32>().unwrap(), [0.0; 12]);
    assert_eq!(plan(8_000).unwrap().run(&Loom::serial()).unwrap().output("y").unwrap().shape(), [3, 4]);
}

/// Every tensor with its type, and its lengths as far as they are known.
#[test]
fn a_program_is_shown_with_types_and_shapes() {
    let nodes = vec![node("MatMul", &["x", "w"], &["p"]), node("Greater", &["p", "zero"], &["y"])];
    let fixed = [("w", tensor(&[3, 2], &[1.0f32; 6])), ("zero", Tensor::scalar(0.0f32))];
    let model = of(nodes, &[("x", DataType::FLOAT, &[-1, 5, 3])], &fixed, &["y"]);
    let text = model.described().to_string();
    assert!(text.contains("-> p: f32[*?, 5, 2]") && text.contains("-> y: bool[*?, 5, 2]"), "{text}");
}
