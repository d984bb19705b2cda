//! Operators of the user's own in ONNX files.

use drawloom_onnx::Operators;
use drawloom_tensor::{Error, ErrorKind, Fact, Inputs, LoopTurn, Model, Outputs, Placement, Settings};
use rten_onnx::onnx::{DataType, GraphProto, NodeProto};

use crate::build::{int, model, node, tensor, value, with};

fn own(mut node: NodeProto) -> NodeProto {
    node.domain = Some("mine".to_owned());
    node
}

fn of(nodes: Vec<NodeProto>, operators: &Operators) -> Result<Model, Error> {
    let graph = GraphProto {
        node: nodes,
        input: vec![value("x", DataType::FLOAT, &[-1, 2])],
        output: vec![value("y", DataType::FLOAT, &[-1, 2])],
        ..GraphProto::default()
    };
    drawloom_onnx::from_bytes_with(&model(graph), None, operators)
}

fn scale() -> Operators {
    Operators::new().kernel("mine", "Scale", |attributes| {
        let factor = attributes.int("factor", 1)? as f32;
        Ok(move |inputs: &Inputs<'_>, outputs: &mut Outputs<'_>| {
            let x = inputs.get(0)?;
            let y = outputs.allocate_unset::<f32>(0, x.shape())?;
            y.iter_mut().zip(x.values::<f32>()?).for_each(|(y, x)| *y = factor * x);
            Ok(())
        })
    })
}

#[test]
fn a_registered_operator_runs_and_an_unknown_one_is_named() {
    let nodes = || vec![with(own(node("Scale", &["x"], &["s"])), int("factor", 3)), node("Neg", &["s"], &["y"])];
    let error = of(nodes(), &Operators::new()).err().unwrap();
    assert_eq!((error.kind(), error.operator()), (ErrorKind::UnknownOperator, Some("Scale")));
    let loaded = of(nodes(), &scale()).unwrap();
    let x = tensor(&[1, 2], &[1.0f32, 2.0]);
    let outcome = loaded.run(&[("x", x.view())], &Settings::new()).unwrap();
    assert_eq!(outcome.output("y"), Some(&tensor(&[1, 2], &[-3.0f32, -6.0])));
    // Nobody knows what it does with rows, until the user says so.
    let error = loaded.batch(&[]).err().unwrap();
    assert!(error.to_string().contains("(Scale)"), "{error}");
    let like_its_input = |facts: &[Option<&Fact>]| Ok(vec![facts[0].cloned().unwrap_or_default()]);
    let loaded = of(nodes(), &scale().rows("mine", "Scale", like_its_input)).unwrap();
    assert_eq!(loaded.batch(&[]).unwrap().outputs(), [Placement::Rows { axis: 0 }]);
    let wrong = vec![with(own(node("Scale", &["x"], &["y"])), int("power", 3))];
    let error = of(wrong, &scale()).err().unwrap();
    assert!(error.to_string().contains("attribute `power` is not known here"), "{error}");
}

#[test]
fn a_registered_operator_may_begin_a_loop() {
    let each_row = |inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, turn: &mut LoopTurn<'_>| {
        let x = inputs.get(0)?;
        let (rows, at) = (x.shape()[0], inputs.prev_batches() as usize);
        let row = outputs.allocate::<f32>(0, &[1, 2])?;
        row.copy_from_slice(&x.values::<f32>()?[2 * at..2 * at + 2]);
        turn.push(1, rows as u64);
        Ok(())
    };
    let operators = Operators::new().loop_control("mine", "EachRow", move |_| Ok(each_row));
    let model = of(vec![own(node("EachRow", &["x"], &["row"])), node("Neg", &["row"], &["y"])], &operators).unwrap();
    let x = tensor(&[3, 2], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let outcome = model.run(&[("x", x.view())], &Settings::new()).unwrap();
    assert_eq!(outcome.output("y"), Some(&tensor(&[3, 2], &[-1.0f32, -2.0, -3.0, -4.0, -5.0, -6.0])));
    assert_eq!(outcome.placed().len(), 3);
}

#[test]
fn a_registered_operator_is_called_whatever_its_name() {
    // A name that is known elsewhere says nothing about what it does.
    let twice = Operators::new().kernel("mine", "Identity", |_| {
        Ok(|inputs: &Inputs<'_>, outputs: &mut Outputs<'_>| {
            let x = inputs.get(0)?;
            let y = outputs.allocate_unset::<f32>(0, x.shape())?;
            y.iter_mut().zip(x.values::<f32>()?).for_each(|(y, x)| *y = 2.0 * x);
            Ok(())
        })
    });
    let nodes = vec![own(node("Identity", &["x"], &["s"])), node("Neg", &["s"], &["y"])];
    let x = tensor(&[1, 2], &[1.0f32, 2.0]);
    let outcome = of(nodes, &twice).unwrap().run(&[("x", x.view())], &Settings::new()).unwrap();
    assert_eq!(outcome.output("y"), Some(&tensor(&[1, 2], &[-2.0f32, -4.0])));
}
