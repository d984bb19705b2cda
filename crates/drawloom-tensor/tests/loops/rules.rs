//! What loops do, one rule at a time. The first five are cases in which the published code of the idea fails.

use std::sync::Arc;

use drawloom_tensor::{Counts, Fault, Graph, Inputs, LoopTurn, Next, Outputs, Placed, Placement, Settings, Tensor};

use crate::{ROWS, copy, pieces};

#[test]
fn a_loop_of_three_inside_a_loop_of_two_runs_six_times() {
    let mut graph = Graph::new("nested");
    graph.input("x").unwrap();
    let outer = graph.loop_control("outer", "Pieces", pieces(1, 2), &["x"], &["o"]).unwrap();
    let inner = graph.loop_control("inner", "Pieces", pieces(1, 3), &["o"], &["i"]).unwrap();
    let leaf = graph.kernel("leaf", "Copy", copy, &["i"], &["y"]).unwrap();
    graph.output("out", &[("y", ROWS)]).unwrap();
    let program = graph.check(4).unwrap();
    let outcome = program.run(&[("x", Tensor::scalar(0i64).view())], &Settings::new()).unwrap();
    assert_eq!([outcome.runs(outer), outcome.runs(inner), outcome.runs(leaf)], [2, 6, 6]);
    assert_eq!(outcome.output("y").unwrap().values::<i64>().unwrap(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_node_before_the_loop_listed_behind_it_runs_once_and_the_loop_is_not_lost() {
    let mut graph = Graph::new("sorted");
    graph.input("x").unwrap();
    let control = graph.loop_control("loop", "Pieces", pieces(1, 3), &["x"], &["p"]).unwrap();
    let early = graph.kernel("early", "Copy", copy, &["x"], &["e"]).unwrap();
    let late = graph
        .kernel(
            "late",
            "First",
            |inputs: &Inputs<'_>, outputs: &mut Outputs<'_>| {
                inputs.get(1)?;
                copy(inputs, outputs)
            },
            &["p", "e"],
            &["y"],
        )
        .unwrap();
    graph.output("out", &[("y", ROWS)]).unwrap();
    let program = graph.check(4).unwrap();
    assert_eq!(program.order()[..3], [early, control, late]);
    assert_eq!(
        program.crossing(),
        [program.graph().find_tensor("x").unwrap(), program.graph().find_tensor("e").unwrap()]
    );
    let outcome = program.run(&[("x", Tensor::scalar(0i64).view())], &Settings::new()).unwrap();
    assert_eq!([outcome.runs(early), outcome.runs(control), outcome.runs(late)], [1, 3, 3]);
}

#[test]
fn rows_of_every_iteration_are_behind_those_before_it() {
    let mut graph = Graph::new("offsets");
    graph.input("x").unwrap();
    graph.loop_control("loop", "Pieces", pieces(10, 40), &["x"], &["y"]).unwrap();
    graph.output("out", &[("y", ROWS)]).unwrap();
    let outcome = graph.check(4).unwrap().run(&[("x", Tensor::scalar(0i64).view())], &Settings::new()).unwrap();
    let places: Vec<Placed> = [0, 10, 20, 30].into_iter().map(|first| Placed { output: 0, first, rows: 10 }).collect();
    assert_eq!(outcome.placed(), places);
    assert_eq!(outcome.output("y").unwrap().values::<i64>().unwrap(), (0..40).collect::<Vec<i64>>());
}

#[test]
fn an_output_that_is_not_in_the_last_loop_is_refused_wherever_it_is_listed() {
    for first in [true, false] {
        let mut graph = Graph::new("early");
        graph.input("x").unwrap();
        if first {
            graph.output("out", &[("x", ROWS)]).unwrap();
        }
        graph.loop_control("loop", "Pieces", pieces(1, 3), &["x"], &["y"]).unwrap();
        if !first {
            graph.output("out", &[("x", ROWS)]).unwrap();
        }
        let error = graph.check(4).err().unwrap();
        assert_eq!(error.to_string(), "output node `out` is not downstream of the last loop-control node `loop`");
    }
}

#[test]
fn a_loop_that_never_advances_is_an_error_with_its_counts() {
    let mut graph = Graph::new("stuck");
    graph.input("x").unwrap();
    let stuck = |_: &Inputs<'_>, outputs: &mut Outputs<'_>, turn: &mut LoopTurn<'_>| -> Result<(), Fault> {
        outputs.allocate::<f32>(0, &[0])?;
        turn.push(0, 5);
        Ok(())
    };
    graph.loop_control("loop", "Stuck", stuck, &["x"], &["y"]).unwrap();
    graph.output("out", &[("y", ROWS)]).unwrap();
    let program = graph.check(4).unwrap();
    let error = program.run(&[("x", Tensor::scalar(0i64).view())], &Settings::new().empty_iterations(7)).err().unwrap();
    assert_eq!(
        error.to_string(),
        "node `loop` (Stuck): it does not advance: 7 iterations one after another made no rows\n  \
         loop 1: iteration 7, rows 0 before, 0 now, 5 in all, 0 in earlier turns"
    );
    assert_eq!(error.node(), Some("loop"));
}

#[test]
fn the_output_node_may_be_listed_before_the_loop_that_it_is_in() {
    let mut graph = Graph::new("listed");
    graph.output("out", &[("y", ROWS)]).unwrap();
    graph.loop_control("loop", "Pieces", pieces(2, 3), &["x"], &["y"]).unwrap();
    graph.input("x").unwrap();
    let outcome = graph.check(4).unwrap().run(&[("x", Tensor::scalar(0i64).view())], &Settings::new()).unwrap();
    assert_eq!(outcome.output("y").unwrap().values::<i64>().unwrap(), [0, 1, 2]);
}

#[test]
fn empty_iterations_are_legal_and_also_the_first() {
    let mut graph = Graph::new("empty");
    graph.input("x").unwrap();
    let gaps = |inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, turn: &mut LoopTurn<'_>| -> Result<(), Fault> {
        let current = [0, 2, 0, 1][inputs.itercount() as usize];
        outputs.allocate::<i64>(0, &[current])?.fill(inputs.prev_batches() as i64);
        turn.push(current as u64, 3);
        Ok(())
    };
    graph.loop_control("loop", "Gaps", gaps, &["x"], &["y"]).unwrap();
    graph.output("out", &[("y", ROWS)]).unwrap();
    let outcome = graph.check(4).unwrap().run(&[("x", Tensor::scalar(0i64).view())], &Settings::new()).unwrap();
    assert_eq!(outcome.output("y").unwrap().values::<i64>().unwrap(), [0, 0, 2]);
}

#[test]
fn a_total_of_zero_gives_outputs_without_rows() {
    let mut graph = Graph::new("none");
    graph.input("x").unwrap();
    graph.loop_control("loop", "Pieces", pieces(4, 0), &["x"], &["y"]).unwrap();
    graph.output("out", &[("y", ROWS)]).unwrap();
    let outcome = graph.check(4).unwrap().run(&[("x", Tensor::scalar(0i64).view())], &Settings::new()).unwrap();
    assert_eq!(outcome.output("y").unwrap().shape(), [0]);
}

#[test]
fn a_function_for_the_end_sees_the_graph_the_node_the_counts_and_what_the_loop_remembers() {
    struct Thrice;
    impl drawloom_tensor::LoopControl for Thrice {
        fn state(&self) -> Box<dyn std::any::Any + Send> {
            Box::new(0u64)
        }

        fn run(&self, _: &Inputs<'_>, outputs: &mut Outputs<'_>, turn: &mut LoopTurn<'_>) -> Result<(), Fault> {
            outputs.allocate::<i64>(0, &[1])?;
            let end = |graph: &Graph, node, counts: &mut Counts, state: &mut (dyn std::any::Any + Send)| {
                assert_eq!(graph.node_name(node), "thrice");
                let turns = state.downcast_mut::<u64>().ok_or_else(|| Fault::new("no state"))?;
                *turns += 1;
                counts.previous = *turns * 2;
                Ok(if *turns < 3 { Next::Again } else { Next::Done })
            };
            turn.push_with(1, 0, Arc::new(end));
            Ok(())
        }
    }
    let mut graph = Graph::new("custom");
    graph.input("x").unwrap();
    graph.loop_control("thrice", "Thrice", Thrice, &["x"], &["y"]).unwrap();
    graph.output("out", &[("y", ROWS)]).unwrap();
    let program = graph.check(4).unwrap();
    // What the loop remembers is made anew for every run.
    for _ in 0..2 {
        let outcome = program.run(&[("x", Tensor::scalar(0i64).view())], &Settings::new()).unwrap();
        let firsts: Vec<u64> = outcome.placed().iter().map(|placed| placed.first).collect();
        assert_eq!(firsts, [0, 2, 4]);
    }
}

#[test]
fn rows_can_lie_along_any_axis_and_a_fixed_output_is_that_of_the_last_iteration() {
    let mut graph = Graph::new("axes");
    graph.input("x").unwrap();
    graph.loop_control("loop", "Pieces", pieces(2, 3), &["x"], &["p"]).unwrap();
    let tall = |inputs: &Inputs<'_>, outputs: &mut Outputs<'_>| -> Result<(), Fault> {
        let rows = inputs.get(0)?.values::<i64>()?;
        let tall = outputs.allocate::<i64>(0, &[2, rows.len()])?;
        for (index, value) in tall.iter_mut().enumerate() {
            *value = rows[index % rows.len()] + 10 * (index / rows.len()) as i64;
        }
        outputs.allocate::<i64>(1, &[])?[0] = rows[0];
        Ok(())
    };
    graph.kernel("tall", "Tall", tall, &["p"], &["y", "last"]).unwrap();
    graph.output("out", &[("y", Placement::Rows { axis: 1 }), ("last", Placement::Fixed)]).unwrap();
    let outcome = graph.check(4).unwrap().run(&[("x", Tensor::scalar(0i64).view())], &Settings::new()).unwrap();
    assert_eq!(*outcome.output("y").unwrap(), Tensor::new(&[2, 3], vec![0i64, 1, 2, 10, 11, 12]).unwrap());
    assert_eq!(*outcome.output("last").unwrap(), Tensor::scalar(2i64));
}

#[test]
fn a_program_prints_its_partitions_and_draws_a_box_for_each_loop() {
    let mut graph = Graph::new("shown");
    graph.input("x").unwrap();
    graph.kernel("before", "Copy", copy, &["x"], &["e"]).unwrap();
    graph.loop_control("loop", "Pieces", pieces(1, 3), &["e"], &["p"]).unwrap();
    graph.output("out", &[("p", ROWS)]).unwrap();
    let program = graph.check(4).unwrap();
    assert_eq!(
        program.to_string(),
        "graph `shown`: 3 nodes, 1 loops\npartition 0\n  Copy `before`(x) -> e\npartition 1\n  \
         loop Pieces `loop`(e) -> p\n  OUTPUT `out`(p)\nkept for later iterations: e\n"
    );
    let dot = program.to_dot();
    assert!(dot.contains("subgraph cluster_1 {"), "{dot}");
    assert!(dot.contains("n0 -> n1 [label=\"e\", style=bold];"), "{dot}");
}
