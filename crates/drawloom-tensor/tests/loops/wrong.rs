//! Graphs and runs that are refused, and the sentence each gets.

use std::sync::Arc;

use drawloom_tensor::{Error, ErrorKind, Fault, Graph, Inputs, LoopTurn, Next, Outputs, Placement, Settings, Tensor};

use crate::{ROWS, copy, pieces};

fn refused(build: impl FnOnce(&mut Graph) -> Result<(), Error>) -> String {
    let mut graph = Graph::new("g");
    match build(&mut graph) {
        Ok(()) => graph.check(2).err().unwrap().to_string(),
        Err(error) => error.to_string(),
    }
}

fn failed(
    control: impl Fn(&Inputs<'_>, &mut Outputs<'_>, &mut LoopTurn<'_>) -> Result<(), Fault> + Send + Sync + 'static,
    settings: &Settings,
) -> Error {
    let mut graph = Graph::new("g");
    graph.input("x").unwrap();
    graph.loop_control("loop", "Control", control, &["x"], &["y"]).unwrap();
    graph.output("out", &[("y", ROWS)]).unwrap();
    graph.check(4).unwrap().run(&[("x", Tensor::scalar(1i64).view())], settings).err().unwrap()
}

#[test]
fn mistakes_in_a_graph_are_named() {
    let message = refused(|graph| {
        graph.kernel("a", "Copy", copy, &["x"], &["y"]).and_then(|_| graph.output("o", &[("y", ROWS)])).map(|_| ())
    });
    assert_eq!(message, "node `a` (Copy) reads `x`, which nobody writes");
    let message = refused(|graph| {
        graph.input("x")?;
        graph.input("x").map(|_| ())
    });
    assert_eq!(message, "two tensors have the name `x`");
    let message = refused(|graph| {
        graph.input("x")?;
        graph.kernel("a", "Copy", copy, &["x"], &["y"])?;
        graph.kernel("a", "Copy", copy, &["x"], &["z"]).map(|_| ())
    });
    assert_eq!(message, "two nodes have the name `a`");
    let message = refused(|graph| {
        graph.kernel("a", "Copy", copy, &["z"], &["y"])?;
        graph.kernel("b", "Copy", copy, &["y"], &["z"])?;
        graph.output("o", &[("z", ROWS)]).map(|_| ())
    });
    assert_eq!(message, "nodes wait for each other: `b` → `a` → `b`");
    let message = refused(|graph| {
        graph.input("x")?;
        graph.output("o", &[("x", ROWS)])?;
        graph.output("p", &[("x", ROWS)]).map(|_| ())
    });
    assert_eq!(message, "`p` is a second output node: `o` is the output of the graph");
    assert_eq!(refused(|graph| graph.input("x").map(|_| ())), "graph `g` has no output node");
}

#[test]
fn loops_that_are_not_nested_or_too_deep_are_refused() {
    let message = refused(|graph| {
        graph.input("x")?;
        graph.loop_control("a", "Pieces", pieces(1, 2), &["x"], &["p"])?;
        graph.loop_control("b", "Pieces", pieces(1, 2), &["x"], &["q"])?;
        graph.output("o", &[("p", ROWS), ("q", ROWS)]).map(|_| ())
    });
    assert_eq!(
        message,
        "loop-control node `b` (Pieces) is not downstream of loop-control node `a`: loops must be nested"
    );
    let message = refused(|graph| {
        graph.input("x")?;
        graph.loop_control("a", "Pieces", pieces(1, 2), &["x"], &["p"])?;
        graph.loop_control("b", "Pieces", pieces(1, 2), &["p"], &["q"])?;
        graph.loop_control("c", "Pieces", pieces(1, 2), &["q"], &["r"])?;
        graph.output("o", &[("r", ROWS)]).map(|_| ())
    });
    assert_eq!(message, "loop-control node `c` (Pieces) begins loop 3, and 2 are allowed");
}

#[test]
fn a_loop_control_node_must_push_once() {
    let error = failed(|_, outputs, _| outputs.allocate::<i64>(0, &[1]).map(|_| ()), &Settings::new());
    assert!(error.to_string().contains("must push its loop once, and this one did 0 times"), "{error}");
    let twice = |_: &Inputs<'_>, outputs: &mut Outputs<'_>, turn: &mut LoopTurn<'_>| -> Result<(), Fault> {
        outputs.allocate::<i64>(0, &[1])?;
        turn.push(1, 1);
        turn.push(1, 1);
        Ok(())
    };
    let error = failed(twice, &Settings::new());
    assert!(error.to_string().contains("this one did 2 times"), "{error}");
}

#[test]
fn counts_that_overflow_and_ends_that_fail_are_errors_with_counts() {
    let huge = |inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, turn: &mut LoopTurn<'_>| -> Result<(), Fault> {
        outputs.allocate::<i64>(0, &[0])?;
        turn.push(if inputs.itercount() == 0 { 1 } else { u64::MAX }, u64::MAX);
        Ok(())
    };
    let error = failed(huge, &Settings::new());
    assert_eq!(error.kind(), ErrorKind::Iteration);
    assert!(error.to_string().contains("its rows cannot be counted"), "{error}");
    let fails = |_: &Inputs<'_>, outputs: &mut Outputs<'_>, turn: &mut LoopTurn<'_>| -> Result<(), Fault> {
        outputs.allocate::<i64>(0, &[1])?;
        turn.push_with(
            1,
            9,
            Arc::new(|_, _, counts, _| {
                if counts.iteration == 2 {
                    return Err(Fault::new("no more"));
                }
                counts.iteration += 1;
                counts.previous += counts.current;
                Ok(Next::Again)
            }),
        );
        Ok(())
    };
    let error = failed(fails, &Settings::new());
    assert_eq!(error.counts()[0].iteration, 2);
    assert!(error.to_string().starts_with("node `loop` (Control): no more\n  loop 1: iteration 2"), "{error}");
}

#[test]
fn rows_that_do_not_fit_together_or_into_the_output_are_errors() {
    let error = failed(pieces(2, 10), &Settings::new().rows(5));
    assert!(
        error.to_string().contains("node `out` (OUTPUT): output `y`: rows 4 to 4 + 2 do not fit into 5 rows"),
        "{error}"
    );
    let error = failed(pieces(2, 10), &Settings::new().memory(50));
    assert_eq!(error.kind(), ErrorKind::Memory);
    let changes = |inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, turn: &mut LoopTurn<'_>| -> Result<(), Fault> {
        outputs.allocate::<i64>(0, &[1, inputs.itercount() as usize + 1])?;
        turn.push(1, 3);
        Ok(())
    };
    let error = failed(changes, &Settings::new());
    assert!(error.to_string().contains("its rows had the shape [1] and now have the shape [2]"), "{error}");
    let retyped = |inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, turn: &mut LoopTurn<'_>| -> Result<(), Fault> {
        if inputs.itercount() == 0 {
            outputs.allocate::<i64>(0, &[1]).map(|_| ())
        } else {
            outputs.allocate::<f32>(0, &[1]).map(|_| ())
        }?;
        turn.push(1, 3);
        Ok(())
    };
    let error = failed(retyped, &Settings::new());
    assert!(error.to_string().contains("its elements were i64 and now are f32"), "{error}");
}

#[test]
fn an_output_in_a_loop_needs_rows_or_is_declared_fixed() {
    let scalar = |_: &Inputs<'_>, outputs: &mut Outputs<'_>, turn: &mut LoopTurn<'_>| -> Result<(), Fault> {
        outputs.allocate::<i64>(0, &[])?;
        turn.push(1, 1);
        Ok(())
    };
    let error = failed(scalar, &Settings::new());
    assert!(error.to_string().contains("output `y`: it has no axis 0 to count rows along"), "{error}");
    let mut graph = Graph::new("g");
    graph.input("x").unwrap();
    graph.loop_control("loop", "Control", scalar, &["x"], &["y"]).unwrap();
    graph.output("out", &[("y", Placement::Fixed)]).unwrap();
    assert!(graph.check(4).unwrap().run(&[("x", Tensor::scalar(1i64).view())], &Settings::new()).is_ok());
}

#[test]
fn inputs_that_are_missing_unknown_or_given_twice_are_named() {
    let mut graph = Graph::new("g");
    graph.input("x").unwrap();
    graph.output("o", &[("x", ROWS)]).unwrap();
    let program = graph.check(4).unwrap();
    let one = Tensor::scalar(1i64);
    let message =
        |inputs: &[(&str, drawloom_tensor::View<'_>)]| program.run(inputs, &Settings::new()).err().unwrap().to_string();
    assert_eq!(message(&[]), "input `x` of graph `g` is missing");
    assert_eq!(message(&[("z", one.view())]), "graph `g` has no input `z`");
    assert_eq!(message(&[("x", one.view()), ("x", one.view())]), "input `x` is given twice");
}
