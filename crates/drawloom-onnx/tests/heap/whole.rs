//! Runs of whole programs: the heap has no more than a run says that it had, and no more than it may have.

use std::sync::Arc;

use drawloom_tensor::{
    Error, ErrorKind, Fault, Graph, Inputs, LoopEnd, LoopTurn, Next, Outcome, Outputs, Placement, Settings, Slicing,
    Tensor,
};
use rten_onnx::onnx::{AttributeProto, AttributeType, DataType, GraphProto};

use crate::build::{attribute, constants, int, model_of_opset, node, tensor, value, with};
use crate::counting::most_of;
use crate::{ALLOWED, one_at_a_time};

/// Runs it with as much memory as it likes, and with less and less: it never takes more.
fn check(name: &str, run: impl Fn(&Settings) -> Result<Outcome, Error>) {
    let (outcome, taken) = most_of(|| run(&Settings::new()));
    let need = outcome.unwrap().peak_bytes();
    assert!(taken <= need + ALLOWED, "{name}: {taken} bytes were taken, and it said {need}");
    for limit in [need, need - 1, need * 3 / 4, need / 2, need / 4, 0] {
        let (outcome, taken) = most_of(|| run(&Settings::new().memory(limit)));
        assert!(taken <= limit + ALLOWED, "{name}: {taken} bytes were taken of {limit}");
        match outcome {
            Ok(outcome) => assert!(outcome.peak_bytes() <= limit, "{name}: {limit}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Memory, "{name}: {error}"),
        }
    }
    // What it needed is enough.
    run(&Settings::new().memory(need)).unwrap();
}

fn floats(shape: &[usize]) -> Tensor {
    tensor(shape, &(0..shape.iter().product()).map(|index: usize| index as f32).collect::<Vec<f32>>())
}

/// The first form of a scan goes through its batches one after another.
#[test]
fn slices_of_a_scan_over_batches_are_counted() {
    let _alone = one_at_a_time();
    let nodes = vec![node("Add", &["state", "line"], &["next"]), node("Neg", &["next"], &["slice"])];
    let step = GraphProto {
        input: vec![value("state", DataType::FLOAT, &[1024]), value("line", DataType::FLOAT, &[1024])],
        ..constants(nodes, &[], &["next", "slice"])
    };
    let step = AttributeProto { g: Some(step), r#type: Some(AttributeType::GRAPH), ..attribute("body") };
    let scan = with(with(node("Scan", &["", "state", "x"], &["last", "y"]), step), int("num_scan_inputs", 1));
    let graph = GraphProto {
        input: vec![value("state", DataType::FLOAT, &[6, 1024]), value("x", DataType::FLOAT, &[6, 4, 1024])],
        ..constants(vec![scan], &[], &["last", "y"])
    };
    let model = drawloom_onnx::from_bytes(&model_of_opset(graph, 8), None).unwrap();
    let (state, x) = (floats(&[6, 1024]), floats(&[6, 4, 1024]));
    check("scan", |settings| model.run(&[("state", state.view()), ("x", x.view())], settings));
}

/// A copy whose rows are along the second axis.
fn turn(inputs: &Inputs<'_>, outputs: &mut Outputs<'_>) -> Result<(), Fault> {
    let x = inputs.get(0)?;
    let (rows, length) = (x.shape()[0], x.shape()[1]);
    let from = x.values::<f32>()?;
    let into = outputs.allocate::<f32>(0, &[length, rows])?;
    for row in 0..rows {
        for place in 0..length {
            into[place * rows + row] = from[row * length + place];
        }
    }
    Ok(())
}

/// Rows of pieces are put together, along the axis where they were cut and along another one, and one piece stays.
#[test]
fn rows_that_are_gathered_are_counted() {
    let _alone = one_at_a_time();
    let x = floats(&[64, 512]);
    let mut graph = Graph::new("cut");
    graph.input("x").unwrap();
    graph.slice("pieces", Slicing::new(3), &[("x", 0, "piece")]).unwrap();
    graph.kernel("turn", "Turn", turn, &["piece"], &["turned"]).unwrap();
    let rows = |axis| Placement::Rows { axis };
    let placed = [("piece", rows(0)), ("turned", rows(1))];
    for placed in [&placed[..1], &placed[1..], &placed[..]] {
        let mut graph = graph.clone();
        graph.output("out", placed).unwrap();
        let program = graph.check(1).unwrap();
        check(&format!("{placed:?}"), |settings| program.run(&[("x", x.view())], settings));
        let outcome = program.run(&[("x", x.view())], &Settings::new()).unwrap();
        for (name, placement) in placed {
            let shape = if *placement == rows(0) { [64, 512] } else { [512, 64] };
            assert_eq!(outcome.output(name).unwrap().shape(), shape);
        }
    }
}

/// A loop that only its own end knows the rows of.
#[test]
fn rows_whose_number_is_not_known_are_counted() {
    let _alone = one_at_a_time();
    let mut graph = Graph::new("open");
    let end: LoopEnd = Arc::new(|_, _, counts, _| {
        counts.iteration += 1;
        counts.previous += counts.current;
        Ok(if counts.iteration < 37 { Next::Again } else { Next::Done })
    });
    let control = move |_: &Inputs<'_>, outputs: &mut Outputs<'_>, turn: &mut LoopTurn<'_>| {
        outputs.allocate::<f32>(0, &[1, 1024])?.fill(1.0);
        turn.push_with(1, 1, Arc::clone(&end));
        Ok(())
    };
    graph.loop_control("open", "Open", control, &[], &["row"]).unwrap();
    graph.output("out", &[("row", Placement::Rows { axis: 0 })]).unwrap();
    let program = graph.check(1).unwrap();
    assert_eq!(program.run(&[], &Settings::new()).unwrap().outputs()[0].shape(), [37, 1024]);
    check("open", |settings| program.run(&[], settings));
}
