//! Rows through branches and loops inside of nodes.

use drawloom_tensor::Model;
use drawloom_tensor::{Pieces, Placement, Settings, Tensor};
use rten_onnx::onnx::{AttributeProto, AttributeType, DataType, GraphProto, NodeProto, ValueInfoProto};
use std::sync::Arc;

use crate::build::{attribute, int, model, node, stored, tensor, value, with};

fn body(name: &str, graph: GraphProto) -> AttributeProto {
    AttributeProto { g: Some(graph), r#type: Some(AttributeType::GRAPH), ..attribute(name) }
}

fn graph(node: Vec<NodeProto>, input: Vec<ValueInfoProto>, outputs: &[(&str, DataType)]) -> GraphProto {
    let mut output: Vec<ValueInfoProto> = outputs.iter().map(|(name, element)| value(name, *element, &[])).collect();
    for tensor in output.iter_mut().filter_map(|output| output.r#type.as_mut()?.tensor_type.as_mut()) {
        tensor.shape = None;
    }
    GraphProto { node, input, output, ..GraphProto::default() }
}

/// A model of rows `x` and a flag, and constants.
fn of_rows(nodes: Vec<NodeProto>, constants: &[(&str, Tensor)]) -> Model {
    let inputs = vec![value("x", DataType::FLOAT, &[-1, 3]), value("flag", DataType::BOOL, &[])];
    let mut graph = graph(nodes, inputs, &[("y", DataType::FLOAT)]);
    graph.initializer = constants.iter().map(|(name, tensor)| stored(name, tensor)).collect();
    drawloom_onnx::from_bytes(&model(graph), None).unwrap()
}

/// In pieces of two rows and all at once.
fn compare(model: &Model) {
    let x = tensor(&[5, 3], &(0..15).map(|value| value as f32 - 4.0).collect::<Vec<_>>());
    let flag = Tensor::scalar(true);
    let whole = model.run(&[("x", x.view()), ("flag", flag.view())], &Settings::new()).unwrap();
    let inputs: [(&str, Arc<dyn drawloom_tensor::Rows>); 2] = [("x", Arc::new(x)), ("flag", Arc::new(flag))];
    let plan = model.plan(&inputs, &Pieces::new().piece(2)).unwrap();
    let outcome = plan.run(&drawloom_runtime::Loom::serial()).unwrap();
    assert_eq!(outcome.output("y"), whole.output("y"));
    assert!(outcome.peak_bytes() <= plan.predicted_peak_bytes());
}

#[test]
fn a_branch_keeps_rows_where_both_sides_do() {
    let side = |operator: &str| graph(vec![node(operator, &["x"], &["s"])], Vec::new(), &[("s", DataType::FLOAT)]);
    let branch = |yes: GraphProto, no: GraphProto, condition: &str| {
        with(with(node("If", &[condition], &["y"]), body("then_branch", yes)), body("else_branch", no))
    };
    let model = of_rows(vec![branch(side("Relu"), side("Neg"), "flag")], &[]);
    assert_eq!(model.batch(&[]).unwrap().outputs(), [Placement::Rows { axis: 0 }]);
    compare(&model);
    let turned = of_rows(vec![branch(side("Relu"), side("Transpose"), "flag")], &[]);
    let error = turned.batch(&[]).err().unwrap().to_string();
    assert!(error.contains("`If_0` (If): its graphs have rows along different axes"), "{error}");
    let mixing = with(node("ReduceSum", &["x"], &["s"]), int("keepdims", 1));
    let mixing = graph(vec![mixing], Vec::new(), &[("s", DataType::FLOAT)]);
    let error = of_rows(vec![branch(mixing, side("Relu"), "flag")], &[]).batch(&[]).err().unwrap().to_string();
    assert!(error.contains("inside of it") && error.contains("it makes one value of several rows"), "{error}");
    let condition = with(node("Cast", &["x"], &["c"]), int("to", 9));
    let model = of_rows(vec![condition, branch(side("Relu"), side("Neg"), "c")], &[]);
    let error = model.batch(&[]).err().unwrap().to_string();
    assert!(error.contains("its condition depends on rows"), "{error}");
}

/// Which way a branch goes may follow from the shape of what is given: then only that way must keep rows apart.
#[test]
fn a_branch_that_is_decided_by_a_length_is_followed_one_way() {
    let side = |operator: &str| graph(vec![node(operator, &["x"], &["s"])], Vec::new(), &[("s", DataType::FLOAT)]);
    let branch = with(
        with(node("If", &["is_three"], &["y"]), body("then_branch", side("Relu"))),
        body("else_branch", side("Transpose")),
    );
    let nodes = vec![
        node("Shape", &["x"], &["shape"]),
        with(node("Gather", &["shape", "last"], &["length"]), int("axis", 0)),
        node("Equal", &["length", "three"], &["is_three"]),
        branch,
    ];
    let constants = [("last", Tensor::scalar(1i64)), ("three", Tensor::scalar(3i64))];
    let known = of_rows(nodes.clone(), &constants);
    assert_eq!(known.batch(&[]).unwrap().outputs(), [Placement::Rows { axis: 0 }]);
    // The same with a length that the file leaves open.
    let mut open = graph(nodes, vec![value("x", DataType::FLOAT, &[-1, -1])], &[("y", DataType::FLOAT)]);
    open.initializer = constants.iter().map(|(name, tensor)| stored(name, tensor)).collect();
    let open = drawloom_onnx::from_bytes(&model(open), None).unwrap();
    assert!(open.batch(&[]).is_err());
    assert_eq!(open.batch_of(&[], &[("x", &[7, 3])]).unwrap().outputs(), [Placement::Rows { axis: 0 }]);
    assert_eq!(open.batch_of(&[], &[("x", &[7, 4])]).unwrap().outputs(), [Placement::Rows { axis: 1 }]);
    let rows: Arc<dyn drawloom_tensor::Rows> = Arc::new(tensor(&[4, 3], &[1.0f32; 12]));
    assert_eq!(open.plan(&[("x", rows)], &Pieces::new().piece(2)).unwrap().check().unwrap(), 4);
}

#[test]
fn a_loop_carries_rows_along_the_same_axis() {
    let repeat = |step: NodeProto| {
        let inside = graph(
            vec![step, node("Identity", &["goes_on"], &["again"]), node("Neg", &["state"], &["slice"])],
            vec![
                value("i", DataType::INT64, &[]),
                value("goes_on", DataType::BOOL, &[]),
                value("state", DataType::FLOAT, &[-1, 3]),
            ],
            &[("again", DataType::BOOL), ("next", DataType::FLOAT), ("slice", DataType::FLOAT)],
        );
        vec![
            with(node("Loop", &["three", "", "x"], &["last", "slices"]), body("body", inside)),
            with(node("ReduceSum", &["slices", "zero"], &["sum"]), int("keepdims", 0)),
            node("Add", &["last", "sum"], &["y"]),
        ]
    };
    let constants =
        [("three", Tensor::scalar(3i64)), ("zero", tensor(&[1], &[0i64])), ("half", Tensor::scalar(0.5f32))];
    let model = of_rows(repeat(node("Mul", &["state", "half"], &["next"])), &constants);
    assert_eq!(model.batch(&[]).unwrap().outputs(), [Placement::Rows { axis: 0 }]);
    compare(&model);
    let model = of_rows(repeat(with(node("CumSum", &["state", "zero"], &["next"]), int("reverse", 0))), &constants);
    let error = model.batch(&[]).err().unwrap().to_string();
    assert!(error.contains("`Loop_0` (Loop): inside of it") && error.contains("along the axis of the rows"), "{error}");
}

#[test]
fn a_scan_over_rows_is_refused_and_one_beside_them_is_not() {
    let scan = |axis: i64| {
        let inside = graph(
            vec![node("Add", &["state", "slice"], &["next"]), node("Identity", &["next"], &["out"])],
            vec![value("state", DataType::FLOAT, &[-1]), value("slice", DataType::FLOAT, &[-1])],
            &[("next", DataType::FLOAT), ("out", DataType::FLOAT)],
        );
        let axes =
            |name: &str| AttributeProto { ints: vec![axis], r#type: Some(AttributeType::INTS), ..attribute(name) };
        let node = with(node("Scan", &["first", "x"], &["last", "y"]), body("body", inside));
        with(with(with(node, int("num_scan_inputs", 1)), axes("scan_input_axes")), axes("scan_output_axes"))
    };
    let first = with(node("ReduceSum", &["x", "one"], &["first"]), int("keepdims", 0));
    let constants = [("one", tensor(&[1], &[1i64]))];
    let model = of_rows(vec![first.clone(), scan(1)], &constants);
    assert_eq!(model.batch(&[]).unwrap().outputs(), [Placement::Rows { axis: 0 }]);
    compare(&model);
    let error = of_rows(vec![first, scan(0)], &constants).batch(&[]).err().unwrap().to_string();
    assert!(error.contains("axis 0 of its input 1 is time"), "{error}");
}

/// Without an iteration, slices have the type and shape that the graph inside gives them, or says that they have.
#[test]
fn a_loop_without_iterations_has_empty_slices() {
    let untyped = |name: &str| ValueInfoProto { name: Some(name.to_owned()), r#type: None };
    let given = || vec![value("i", DataType::INT64, &[]), value("go", DataType::BOOL, &[]), untyped("state")];
    let run = |step: GraphProto, times: i64| {
        let repeat = with(node("Loop", &["times", "", "x"], &["last", "y"]), body("body", step));
        let mut whole = graph(
            vec![repeat],
            vec![value("x", DataType::FLOAT, &[-1, 3])],
            &[("last", DataType::FLOAT), ("y", DataType::FLOAT)],
        );
        whole.initializer = vec![stored("times", &Tensor::scalar(times))];
        let model = drawloom_onnx::from_bytes(&model(whole), None).unwrap();
        let x = tensor(&[2, 3], &[1.0f32; 6]);
        model.run(&[("x", x.view())], &Settings::new()).map(|outcome| outcome.into_outputs())
    };
    // The shape follows from the nodes.
    let step = |operator: &str| {
        let nodes = vec![
            node("Identity", &["go"], &["goes"]),
            node("Neg", &["state"], &["next"]),
            node(operator, &["next"], &["slice"]),
        ];
        GraphProto { output: vec![untyped("goes"), untyped("next"), untyped("slice")], ..graph(nodes, given(), &[]) }
    };
    for (operator, shape) in [("Exp", [2, 3]), ("Transpose", [3, 2])] {
        let full = run(step(operator), 2).unwrap();
        assert_eq!(full[1].shape(), [&[2], &shape[..]].concat());
        let empty = run(step(operator), 0).unwrap();
        assert_eq!((empty[1].shape(), empty[1].element()), (&[&[0], &shape[..]].concat()[..], full[1].element()));
        assert_eq!(empty[0].values::<f32>().unwrap(), [1.0; 6]);
    }
    // How many elements are not zero is known only when there are some, unless it is declared.
    let mut open = step("NonZero");
    let error = run(open.clone(), 0).unwrap_err().to_string();
    assert!(error.contains("node `Loop_0` (Loop): there was no iteration"), "{error}");
    assert!(error.contains("its output 1"), "{error}");
    open.output[2] = value("slice", DataType::INT64, &[2, 6]);
    let empty = run(open, 0).unwrap();
    assert_eq!((empty[1].shape(), empty[1].element()), (&[0, 2, 6][..], drawloom_tensor::ElementType::I64));
}

#[test]
fn a_scan_over_nothing_has_empty_slices() {
    let given = vec![value("state", DataType::FLOAT, &[3]), value("line", DataType::FLOAT, &[3])];
    let nodes = vec![node("Add", &["state", "line"], &["next"]), node("Neg", &["next"], &["slice"])];
    let step = graph(nodes, given, &[("next", DataType::FLOAT), ("slice", DataType::FLOAT)]);
    let scan = with(node("Scan", &["state", "x"], &["last", "y"]), body("body", step));
    let scan = with(with(scan, int("num_scan_inputs", 1)), crate::build::ints("scan_output_axes", &[1]));
    let inputs = vec![value("state", DataType::FLOAT, &[3]), value("x", DataType::FLOAT, &[-1, 3])];
    let whole = graph(vec![scan], inputs, &[("last", DataType::FLOAT), ("y", DataType::FLOAT)]);
    let model = drawloom_onnx::from_bytes(&model(whole), None).unwrap();
    let state = tensor(&[3], &[1.0f32; 3]);
    for rows in [2, 0] {
        let x = tensor(&[rows, 3], &vec![1.0f32; rows * 3]);
        let outcome = model.run(&[("state", state.view()), ("x", x.view())], &Settings::new()).unwrap();
        assert_eq!(outcome.output("y").unwrap().shape(), [3, rows]);
    }
}
