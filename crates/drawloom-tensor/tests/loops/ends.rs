//! Loops that end before their graph does: results that are used again, loops that follow each other, and states that pieces
//! hand on.

use std::sync::Arc;

use drawloom_runtime::Loom;
use drawloom_tensor::{ErrorKind, Fault, Graph, Inputs, Outputs, Pieces, Placement, Rows, Settings, Slicing, Tensor};

use super::{ROWS, copy, pieces};

fn numbers(values: &[i64]) -> Tensor {
    Tensor::new(&[values.len()], values.to_vec()).unwrap()
}

fn values(tensor: &Tensor) -> &[i64] {
    tensor.values().unwrap()
}

/// The sum of all elements.
fn total(inputs: &Inputs<'_>, outputs: &mut Outputs<'_>) -> Result<(), Fault> {
    let sum = inputs.get(0)?.values::<i64>()?.iter().sum();
    outputs.allocate::<i64>(0, &[1])?.fill(sum);
    Ok(())
}

/// A graph that makes the numbers below `count`, in pieces.
fn counting(name: &str, size: u64, count: u64) -> Graph {
    let mut graph = Graph::new(name);
    graph.loop_control("count", "Count", pieces(size, count), &[], &["n"]).unwrap();
    graph
}

#[test]
fn a_gathered_result_is_used_again_and_a_loop_follows_a_loop() {
    let mut first = counting("first", 2, 5);
    first.output("out", &[("n", ROWS)]).unwrap();
    let mut second = Graph::new("second");
    second.input("all").unwrap();
    second.slice("cut", Slicing::new(3), &[("all", 0, "some")]).unwrap();
    second.kernel("copy", "Copy", copy, &["some"], &["same"]).unwrap();
    second.output("out", &[("same", ROWS)]).unwrap();
    let mut graph = Graph::new("both");
    graph.program("one", first.check(4).unwrap(), &[], &["numbers"]).unwrap();
    graph.kernel("sum", "Sum", total, &["numbers"], &["total"]).unwrap();
    graph.program("two", second.check(4).unwrap(), &[("numbers", "all")], &["again"]).unwrap();
    graph.output("out", &[("total", ROWS), ("again", ROWS)]).unwrap();
    let outcome = graph.check(4).unwrap().run(&[], &Settings::new()).unwrap();
    assert_eq!(values(outcome.output("total").unwrap()), [10]);
    assert_eq!(values(outcome.output("again").unwrap()), [0, 1, 2, 3, 4]);
}

/// A program inside of a loop runs once for each iteration.
#[test]
fn a_program_inside_of_a_loop_runs_to_its_end_each_time() {
    let mut inner = Graph::new("inner");
    inner.input("x").unwrap();
    inner.slice("cut", Slicing::new(1), &[("x", 0, "one")]).unwrap();
    inner.kernel("copy", "Copy", copy, &["one"], &["y"]).unwrap();
    inner.output("out", &[("y", ROWS)]).unwrap();
    let mut graph = counting("outer", 2, 6);
    graph.program("inner", inner.check(1).unwrap(), &[("n", "x")], &["all"]).unwrap();
    graph.kernel("sum", "Sum", total, &["all"], &["sum"]).unwrap();
    graph.output("out", &[("sum", ROWS)]).unwrap();
    let error = graph.clone().check(4).unwrap().run(&[], &Settings::new().memory(24)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory);
    let program = graph.check(4).unwrap();
    let outcome = program.run(&[], &Settings::new()).unwrap();
    // Each sum has one row at the first of its two places, and the last piece leaves one behind it.
    assert_eq!(values(outcome.output("sum").unwrap()), [1, 0, 5, 0, 9]);
    assert_eq!(outcome.runs(program.graph().find_node("inner").unwrap()), 3);
}

/// What depends on a state alone changes from piece to piece, too, and without rows a state stays what it was.
#[test]
fn nodes_that_read_only_a_state_run_for_each_piece() {
    let one_more = |inputs: &Inputs<'_>, outputs: &mut Outputs<'_>| {
        let state = inputs.get(0)?.only::<i64>()?;
        outputs.allocate::<i64>(0, &[1])?.fill(state + 1);
        Ok(())
    };
    let plus = |inputs: &Inputs<'_>, outputs: &mut Outputs<'_>| {
        let (x, state) = (inputs.get(0)?, inputs.get(1)?.only::<i64>()?);
        let sums = outputs.allocate_unset::<i64>(0, x.shape())?;
        sums.iter_mut().zip(x.values::<i64>()?).for_each(|(sum, x)| *sum = x + state);
        Ok(())
    };
    let mut graph = Graph::new("counter");
    graph.input("x").unwrap();
    graph.input("state").unwrap();
    graph.kernel("more", "More", one_more, &["state"], &["next"]).unwrap();
    graph.kernel("plus", "Plus", plus, &["x", "state"], &["y"]).unwrap();
    graph.output("out", &[("y", ROWS), ("next", Placement::Fixed)]).unwrap();
    for (rows, expected, last) in [(4, vec![7, 8, 9, 10], 11), (0, vec![], 7)] {
        let inputs: [(&str, Option<usize>, Arc<dyn Rows>); 2] =
            [("x", Some(0), Arc::new(numbers(&vec![0; rows]))), ("state", None, Arc::new(numbers(&[7])))];
        let plan = graph.plan(&inputs, &Pieces::new().piece(1).carry("state", "next")).unwrap();
        let outcome = plan.run(&Loom::serial()).unwrap();
        assert_eq!(values(outcome.output("y").unwrap()), expected);
        assert_eq!(values(outcome.output("next").unwrap()), [last], "{rows} rows");
    }
}

#[test]
fn mistakes_in_programs_are_named() {
    let mut graph = counting("wrong", 1, 2);
    let mut inner = Graph::new("inner");
    inner.input("x").unwrap();
    inner.kernel("copy", "Copy", copy, &["x"], &["y"]).unwrap();
    inner.output("out", &[("y", ROWS)]).unwrap();
    let inner = inner.check(0).unwrap();
    let mut add = |inputs: &[(&str, &str)], outputs: &[&str]| {
        graph.program("inner", inner.clone(), inputs, outputs).unwrap_err().to_string()
    };
    assert!(add(&[("n", "z")], &["a"]).contains("has no input `z`"));
    assert!(add(&[], &["a"]).contains("input `x` of the program of node `inner` must be given once"));
    assert!(add(&[("n", "x")], &["a", "b"]).contains("has 1 outputs"));
}

/// In pieces on the engine, a state goes from piece to piece in their order, and the last one is an output.
#[test]
fn pieces_hand_a_state_on_in_order() {
    // Running sums within a piece, from the state on.
    let scan = |inputs: &Inputs<'_>, outputs: &mut Outputs<'_>| {
        let (x, state) = (inputs.get(0)?, inputs.get(1)?);
        let mut sum = state.only::<i64>()?;
        let sums = outputs.allocate_unset::<i64>(0, x.shape())?;
        for (into, value) in sums.iter_mut().zip(x.values::<i64>()?) {
            sum += value;
            *into = sum;
        }
        outputs.allocate::<i64>(1, &[1])?.fill(sum);
        Ok(())
    };
    let mut graph = Graph::new("scan");
    graph.input("x").unwrap();
    graph.input("state").unwrap();
    graph.kernel("scan", "Scan", scan, &["x", "state"], &["sums", "last"]).unwrap();
    graph.output("out", &[("sums", ROWS), ("last", Placement::Fixed)]).unwrap();
    let x = numbers(&(1..=20).collect::<Vec<_>>());
    let inputs: [(&str, Option<usize>, Arc<dyn Rows>); 2] =
        [("x", Some(0), Arc::new(x)), ("state", None, Arc::new(numbers(&[100])))];
    let loom = Loom::builder().workers(2).build().unwrap();
    for piece in [1, 3, 20] {
        let settings = Pieces::new().piece(piece).workers(2).carry("state", "last");
        let plan = graph.plan(&inputs, &settings).unwrap();
        assert_eq!(plan.in_flight(), 1);
        let outcome = plan.run(&loom).unwrap();
        let expected: Vec<i64> = (1..=20).map(|n| 100 + n * (n + 1) / 2).collect();
        assert_eq!(values(outcome.output("sums").unwrap()), expected, "pieces of {piece}");
        assert_eq!(values(outcome.output("last").unwrap()), [310]);
        assert!(outcome.peak_bytes() <= plan.predicted_peak_bytes());
        plan.check().unwrap();
    }
    // Without the state the rows depend on each other, and the check says so.
    let error = graph.plan(&inputs, &Pieces::new().piece(3)).unwrap().check().unwrap_err();
    assert!(error.to_string().contains("output `sums` differs in row 1"), "{error}");
    for (input, output) in [("x", "last"), ("state", "x")] {
        let error = graph.plan(&inputs, &Pieces::new().carry(input, output)).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Input, "{error}");
    }
}
