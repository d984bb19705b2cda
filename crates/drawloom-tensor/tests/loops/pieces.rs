//! Batches in pieces: how they are cut, that nothing depends on it, and that memory is what the plan says.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use drawloom_runtime::Loom;
use drawloom_tensor::{
    ErrorKind, Fault, Graph, Inputs, Outputs, Pieces, Placement, Rows, Settings, Slicing, Tensor, View,
};

use super::{ROWS, copy};

/// As few pieces as can be, of two sizes at most, multiples where that is possible, and all rows once.
#[test]
fn rows_are_cut_as_documented() {
    for most in 1..=12 {
        for multiple in (1..=most).filter(|multiple| most % multiple == 0) {
            for rows in 0..80 {
                for (equal, small_first) in [(true, true), (true, false), (false, true), (false, false)] {
                    let slicing = Slicing::new(most).multiple(multiple).equal(equal).small_first(small_first);
                    let cut = slicing.cut(rows).unwrap();
                    let pieces: Vec<(u64, u64)> = (0..cut.pieces()).map(|number| cut.piece(number).unwrap()).collect();
                    assert_eq!(cut.piece(cut.pieces()), None);
                    assert_eq!(pieces.len() as u64, rows.div_ceil(most).max(1));
                    let mut next = 0;
                    for (first, size) in &pieces {
                        assert_eq!(*first, next);
                        assert!(*size <= most && (*size > 0 || rows == 0));
                        next += size;
                    }
                    assert_eq!(next, rows);
                    let mut sizes: Vec<u64> = pieces.iter().map(|piece| piece.1).collect();
                    let last_is_largest = sizes.last() == sizes.iter().max();
                    sizes.sort_unstable();
                    assert!(!small_first || last_is_largest, "{slicing:?} {rows}");
                    let odd = sizes.iter().filter(|size| **size % multiple != 0).count();
                    assert!(odd <= 1 && (odd == 0 || rows % multiple != 0), "{slicing:?} {rows} {sizes:?}");
                    sizes.dedup();
                    assert!(sizes.len() <= 2);
                    assert_eq!(cut.most(), *sizes.last().unwrap());
                }
            }
        }
    }
    for (slicing, text) in [(Slicing::new(0), "one row"), (Slicing::new(4).multiple(3), "does not divide")] {
        assert!(slicing.cut(5).unwrap_err().message().contains(text));
    }
}

/// Adds its two inputs, of which the second may have one row only.
fn add(inputs: &Inputs<'_>, outputs: &mut Outputs<'_>) -> Result<(), Fault> {
    let (a, b) = (inputs.get(0)?, inputs.get(1)?);
    let (left, right) = (a.values::<f32>()?, b.values::<f32>()?);
    let sums = outputs.allocate_unset::<f32>(0, a.shape())?;
    for (index, (sum, left)) in sums.iter_mut().zip(left).enumerate() {
        *sum = left + right[index % right.len()];
    }
    Ok(())
}

/// Turns rows into columns.
fn turn(inputs: &Inputs<'_>, outputs: &mut Outputs<'_>) -> Result<(), Fault> {
    let x = inputs.get(0)?;
    let [rows, columns] = x.shape() else { return Err(Fault::new("two axes are needed")) };
    let (rows, columns, from) = (*rows, *columns, x.values::<f32>()?);
    let turned = outputs.allocate::<f32>(0, &[columns, rows])?;
    for row in 0..rows {
        for column in 0..columns {
            turned[column * rows + row] = from[row * columns + column];
        }
    }
    Ok(())
}

/// A random graph of operators that work row by row, over rows of four values, with two inputs of which one has no rows.
fn random_graph(random: &mut fastrand::Rng) -> Graph {
    let mut graph = Graph::new("random");
    graph.input("x").unwrap();
    graph.input("same").unwrap();
    graph.constant("one", Tensor::new(&[1, 4], vec![1.0f32; 4]).unwrap()).unwrap();
    let mut rows = vec!["x".to_owned()];
    let mut same = vec!["same".to_owned(), "one".to_owned()];
    let mut turned = Vec::new();
    for index in 0..random.usize(1..12) {
        let name = format!("t{index}");
        let any = |names: &[String], random: &mut fastrand::Rng| names[random.usize(..names.len())].clone();
        let (a, b) = (any(&rows, random), any(&rows, random));
        match random.u32(..6) {
            0 => {
                let b = any(&same, random);
                graph.kernel(&name, "Add", add, &[&any(&same, random), &b], &[&name]).unwrap();
                same.push(name);
            }
            1 => {
                graph.kernel(&name, "Turn", turn, &[&a], &[&name]).unwrap();
                turned.push(name);
            }
            2 => {
                graph.kernel(&name, "Add", add, &[&a, &any(&same, random)], &[&name]).unwrap();
                rows.push(name);
            }
            3 => {
                graph.kernel(&name, "Copy", copy, &[&a], &[&name]).unwrap();
                rows.push(name);
            }
            _ => {
                graph.kernel(&name, "Add", add, &[&a, &b], &[&name]).unwrap();
                rows.push(name);
            }
        }
    }
    let mut outputs: Vec<(&str, Placement)> = rows.iter().map(|name| (name.as_str(), ROWS)).collect();
    outputs.extend(turned.iter().map(|name| (name.as_str(), Placement::Rows { axis: 1 })));
    outputs.extend(same.iter().map(|name| (name.as_str(), Placement::Fixed)));
    random.shuffle(&mut outputs);
    outputs.truncate(random.usize(1..=outputs.len()));
    outputs.retain(|(name, _)| *name != "x" && *name != "same" && *name != "one");
    // The last of the rows always comes out, so that something depends on them.
    let last = rows.last().unwrap();
    if *last != "x" && !outputs.iter().any(|(name, _)| name == last) {
        outputs.push((last, ROWS));
    }
    if !outputs.iter().any(|(_, placement)| matches!(placement, Placement::Rows { .. })) {
        graph.kernel("end", "Copy", copy, &["x"], &["end"]).unwrap();
        outputs.push(("end", ROWS));
    }
    graph.output("out", &outputs).unwrap();
    graph
}

fn numbers(rows: usize, random: &mut fastrand::Rng) -> Tensor {
    Tensor::new(&[rows, 4], (0..rows * 4).map(|_| random.f32()).collect()).unwrap()
}

/// Whatever the size of pieces and however many are in flight: the results are those of all rows at once, and the run uses
/// no more memory than the plan says.
#[test]
fn pieces_compute_what_the_whole_does() {
    let looms: Vec<Loom> = (1..=3).map(|workers| Loom::builder().workers(workers).build().unwrap()).collect();
    for seed in 0..super::cases(400) {
        let mut random = fastrand::Rng::with_seed(seed);
        let graph = random_graph(&mut random);
        let rows = if random.u32(..10) == 0 { 0 } else { random.usize(1..40) };
        let (x, same) = (numbers(rows, &mut random), numbers(1, &mut random));
        let inputs: [(&str, Option<usize>, Arc<dyn Rows>); 2] =
            [("x", Some(0), Arc::new(x.clone())), ("same", None, Arc::new(same.clone()))];
        let mut pieces = Pieces::new().in_flight(random.usize(1..5));
        if random.bool() {
            pieces = pieces.piece(random.u64(1..12));
        }
        let plan = graph.plan(&inputs, &pieces).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let outcome = plan.run(&looms[random.usize(..3)]).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(outcome.peak_bytes() <= plan.predicted_peak_bytes(), "seed {seed}: {plan}, {}", outcome.peak_bytes());
        plan.check().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        if rows == 0 {
            assert!(outcome.outputs().any(|(_, tensor)| tensor.shape().contains(&0)), "seed {seed}");
            continue;
        }
        let whole = graph.check(1).unwrap().run(&[("x", x.view()), ("same", same.view())], &Settings::new()).unwrap();
        for ((name, found), expected) in outcome.outputs().zip(whole.outputs()) {
            assert_eq!(found, expected, "seed {seed}: output `{name}`");
        }
    }
}

/// A loop over pieces is a loop-control node as any other: it can be put around others.
#[test]
fn slices_compose_with_other_loops() {
    let mut graph = Graph::new("nested");
    graph.input("x").unwrap();
    graph.slice("pieces", Slicing::new(2).small_first(false), &[("x", 0, "piece")]).unwrap();
    // Each row of a piece once more, by itself.
    graph.slice("rows", Slicing::new(1), &[("piece", 0, "row")]).unwrap();
    graph.kernel("copy", "Copy", copy, &["row"], &["y"]).unwrap();
    graph.output("out", &[("y", ROWS)]).unwrap();
    let program = graph.check(4).unwrap();
    let x = Tensor::new(&[5, 1], vec![0.0f32, 1.0, 2.0, 3.0, 4.0]).unwrap();
    let outcome = program.run(&[("x", x.view())], &Settings::new()).unwrap();
    assert_eq!(outcome.output("y"), Some(&x));
    assert_eq!(outcome.runs(program.graph().find_node("pieces").unwrap()), 3);
    assert_eq!(outcome.runs(program.graph().find_node("copy").unwrap()), 5);
}

fn one_node(kernel: impl drawloom_tensor::Kernel + 'static) -> Graph {
    let mut graph = Graph::new("one");
    graph.input("x").unwrap();
    graph.kernel("node", "Mine", kernel, &["x"], &["y"]).unwrap();
    graph.output("out", &[("y", ROWS)]).unwrap();
    graph
}

fn batch(rows: usize) -> [(&'static str, Option<usize>, Arc<dyn Rows>); 1] {
    [("x", Some(0), Arc::new(Tensor::new(&[rows, 1], (0..rows).map(|row| row as f32).collect()).unwrap()))]
}

/// Fails at a row, or panics there.
fn fails_at(row: f32, panics: bool) -> impl Fn(&Inputs<'_>, &mut Outputs<'_>) -> Result<(), Fault> + Send + Sync {
    move |inputs, outputs| {
        if inputs.get(0)?.values::<f32>()?.contains(&row) {
            assert!(!panics, "row {row} is bad");
            return Err(Fault::new(format!("row {row} is bad")));
        }
        copy(inputs, outputs)
    }
}

#[test]
fn an_error_says_where_it_was_and_what_is_finished() {
    let loom = Loom::builder().workers(2).build().unwrap();
    for (panics, in_flight) in [(false, 1), (false, 2), (true, 1), (true, 2)] {
        let graph = one_node(fails_at(13.0, panics));
        let plan = graph.plan(&batch(20), &Pieces::new().piece(4).in_flight(in_flight)).unwrap();
        let error = plan.run(&loom).err().unwrap();
        assert_eq!(error.node(), Some("node"));
        assert_eq!(error.piece(), Some((3, 12..16)));
        let text = error.to_string();
        for part in ["`node` (Mine)", "row 13 is bad", "piece 3, rows 12 to 16", "loop 1: iteration 3", "of 20 rows"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(error.finished_rows().iter().all(|range| !range.contains(&13)));
        // Others in flight may be stopped before they are finished.
        assert!(in_flight > 1 || error.finished_rows().iter().eq(&[0..12]), "{error}");
    }
}

#[test]
fn a_run_can_be_cancelled() {
    let loom = Loom::builder().workers(1).build().unwrap();
    let plan = one_node(copy).plan(&batch(64), &Pieces::new().piece(1)).unwrap();
    let calls = AtomicUsize::new(0);
    let error = plan
        .run_with(&loom, |progress| {
            assert!(progress.rows <= progress.total && progress.peak_bytes <= plan.predicted_peak_bytes());
            if calls.fetch_add(1, Ordering::Relaxed) == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .err()
        .unwrap();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let finished: u64 = error.finished_rows().iter().map(|range| range.end - range.start).sum();
    assert!((3..64).contains(&finished), "{error}");
}

#[test]
fn a_budget_decides_about_pieces_and_is_refused_with_numbers() {
    // Each row of the middle tensor takes 4096 bytes, and each of the others 4.
    let wide = |inputs: &Inputs<'_>, outputs: &mut Outputs<'_>| {
        let rows = inputs.get(0)?.shape()[0];
        outputs.allocate::<f32>(0, &[rows, 1024]).map(|_| ())
    };
    let narrow = |inputs: &Inputs<'_>, outputs: &mut Outputs<'_>| {
        let rows = inputs.get(0)?.shape()[0];
        outputs.allocate::<f32>(0, &[rows, 1]).map(|_| ())
    };
    let mut graph = Graph::new("wide");
    graph.input("x").unwrap();
    graph.kernel("wide", "Wide", wide, &["x"], &["w"]).unwrap();
    graph.kernel("narrow", "Narrow", narrow, &["w"], &["y"]).unwrap();
    graph.output("out", &[("y", ROWS)]).unwrap();
    let plan = |memory: usize| graph.plan(&batch(1000), &Pieces::new().workers(2).memory(memory));
    let large = plan(1 << 20).unwrap();
    assert_eq!((large.in_flight(), large.cut().most()), (2, 64), "{large}");
    let middle = plan(64 << 10).unwrap();
    assert_eq!((middle.in_flight(), middle.cut().most()), (2, 7), "{middle}");
    let small = plan(10 << 10).unwrap();
    assert_eq!((small.in_flight(), small.cut().most()), (1, 1), "{small}");
    for plan in [&large, &middle, &small] {
        let outcome = plan.run(&Loom::builder().workers(2).build().unwrap()).unwrap();
        assert!(outcome.peak_bytes() <= plan.predicted_peak_bytes());
    }
    assert!(large.predicted_peak_bytes() <= 1 << 20);
    let error = plan((8 << 10) - 1).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Memory);
    // A row of each tensor in lines of 64 bytes, and the results.
    assert!(error.to_string().contains(&format!("{} would do", 4096 + 64 + 4032)), "{error}");
}

#[test]
fn batches_that_do_not_fit_are_named() {
    let mut graph = Graph::new("two");
    graph.input("x").unwrap();
    graph.input("z").unwrap();
    graph.kernel("add", "Add", add, &["x", "z"], &["y"]).unwrap();
    graph.output("out", &[("y", ROWS)]).unwrap();
    let tensor = |rows: usize| -> Arc<dyn Rows> { Arc::new(Tensor::new(&[rows], vec![0.0f32; rows]).unwrap()) };
    let plan = |x: Option<usize>, z: Option<usize>, rows: usize| {
        graph.plan(&[("x", x, tensor(3)), ("z", z, tensor(rows))], &Pieces::new()).err().unwrap().to_string()
    };
    assert!(plan(Some(0), Some(0), 4).contains("input `z` has 4 rows, and input `x` has 3"));
    assert!(plan(Some(1), Some(0), 3).contains("input `x` has no axis 1"));
    assert!(plan(None, None, 3).contains("no input has rows"));
    let mut fixed = Graph::new("fixed");
    fixed.input("x").unwrap();
    fixed.constant("one", Tensor::scalar(1.0f32)).unwrap();
    fixed.kernel("copy", "Copy", copy, &["one"], &["y"]).unwrap();
    fixed.output("out", &[("y", Placement::Fixed)]).unwrap();
    let error = fixed.plan(&[("x", Some(0), tensor(3))], &Pieces::new()).err().unwrap();
    assert!(error.to_string().contains("no output of graph `fixed` has rows"), "{error}");
    let missing = graph.plan(&[("x", Some(0), tensor(3))], &Pieces::new()).err().unwrap();
    assert!(missing.to_string().contains("input `z`"), "{missing}");
}

/// A kernel that mixes rows is found out by the check, with the output and the row.
#[test]
fn the_check_finds_rows_that_are_mixed() {
    let mixes = |inputs: &Inputs<'_>, outputs: &mut Outputs<'_>| {
        let x = inputs.get(0)?;
        let sum: f32 = x.values::<f32>()?.iter().sum();
        outputs.allocate::<f32>(0, x.shape())?.fill(sum);
        Ok(())
    };
    let plan = one_node(mixes).plan(&batch(9), &Pieces::new()).unwrap();
    let error = plan.check().unwrap_err();
    assert!(error.to_string().contains("output `y` differs in row"), "{error}");
}

/// Shapes that depend on values cannot be planned, and a kernel that asks for more than it did before is refused.
#[test]
fn sizes_that_change_are_refused() {
    let grows = |inputs: &Inputs<'_>, outputs: &mut Outputs<'_>| {
        let x = inputs.get(0)?;
        let rows = x.shape()[0];
        let wide = if x.values::<f32>()?.iter().any(|value| *value > 4.0) { 9 } else { 1 };
        outputs.allocate::<f32>(0, &[rows, wide]).map(|_| ())
    };
    let plan = one_node(grows).plan(&batch(9), &Pieces::new().piece(2)).unwrap();
    let error = plan.run(&Loom::serial()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Memory);
    assert!(error.to_string().contains("were planned"), "{error}");
    let values = |inputs: &Inputs<'_>, outputs: &mut Outputs<'_>| {
        let rows = inputs.get(0)?.shape()[0];
        outputs.allocate::<f32>(0, if rows == 1 { &[1, 1] } else { &[1] }).map(|_| ())
    };
    let error = one_node(values).plan(&batch(9), &Pieces::new()).err().unwrap();
    assert!(error.to_string().contains("the shape of `y` depends on values"), "{error}");
}

/// A view of rows behaves as rows of a file would: along any axis.
#[test]
fn rows_may_be_along_any_axis() {
    let x = Tensor::new(&[2, 5], (0..10).map(|value| value as f32).collect()).unwrap();
    let mut graph = Graph::new("columns");
    graph.input("x").unwrap();
    graph.kernel("copy", "Copy", copy, &["x"], &["y"]).unwrap();
    graph.output("out", &[("y", Placement::Rows { axis: 1 })]).unwrap();
    let inputs: [(&str, Option<usize>, Arc<dyn Rows>); 1] = [("x", Some(1), Arc::new(x.clone()))];
    let plan = graph.plan(&inputs, &Pieces::new().piece(2)).unwrap();
    assert_eq!(plan.run(&Loom::serial()).unwrap().output("y"), Some(&x));
    let empty: View<'_> = View::new::<f32>(&[0], &[]).unwrap();
    assert_eq!(empty.len(), 0);
}

/// A kernel whose results change their shape or type from piece to piece cannot leave holes.
#[test]
fn results_of_another_shape_or_type_than_planned_are_refused() {
    type Run = fn(&Inputs<'_>, &mut Outputs<'_>) -> Result<(), Fault>;
    let narrow: Run = |inputs, outputs| {
        let x = inputs.get(0)?;
        let late = x.values::<f32>()?.contains(&9.0);
        outputs.allocate::<f32>(0, &[x.shape()[0], if late { 1 } else { 2 }])?.fill(1.0);
        Ok(())
    };
    let typed: Run = |inputs, outputs| {
        let x = inputs.get(0)?;
        if x.values::<f32>()?.contains(&9.0) {
            outputs.allocate::<i32>(0, &[x.shape()[0], 2])?.fill(1);
        } else {
            outputs.allocate::<f32>(0, &[x.shape()[0], 2])?.fill(1.0);
        }
        Ok(())
    };
    for (run, words) in [(narrow, "f32 [2, 1]"), (typed, "i32 [2, 2]")] {
        let mut graph = Graph::new("changing");
        graph.input("x").unwrap();
        graph.kernel("change", "Change", run, &["x"], &["y"]).unwrap();
        graph.output("out", &[("y", ROWS)]).unwrap();
        let x = Tensor::new(&[10], (0..10).map(|value| value as f32).collect::<Vec<_>>()).unwrap();
        let inputs: [(&str, Option<usize>, Arc<dyn Rows>); 1] = [("x", Some(0), Arc::new(x))];
        let plan = graph.plan(&inputs, &Pieces::new().piece(2)).unwrap();
        let error = plan.run(&Loom::serial()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Output);
        assert!(error.to_string().contains(words) && error.to_string().contains("f32 [2, 2] was planned"), "{error}");
        assert_eq!(error.piece(), Some((4, 8..10)));
    }
}

/// The first rows are computed while memory is planned: what is wrong with them is told as it would be in a run.
#[test]
fn an_error_of_the_first_row_names_its_piece() {
    let refuse = |inputs: &Inputs<'_>, _: &mut Outputs<'_>| -> Result<(), Fault> {
        Err(Fault::new(format!("{:?} is refused", inputs.get(0)?.values::<f32>()?[0])))
    };
    let mut graph = Graph::new("refusing");
    graph.input("x").unwrap();
    graph.kernel("refuse", "Refuse", refuse, &["x"], &["y"]).unwrap();
    graph.output("out", &[("y", ROWS)]).unwrap();
    let inputs: [(&str, Option<usize>, Arc<dyn Rows>); 1] =
        [("x", Some(0), Arc::new(Tensor::new(&[3], vec![5.0f32; 3]).unwrap()))];
    let error = graph.plan(&inputs, &Pieces::new()).err().unwrap();
    assert!(error.to_string().contains("node `refuse` (Refuse): 5.0 is refused"), "{error}");
    assert!(error.to_string().contains("0 of 3 rows are finished"), "{error}");
    assert_eq!((error.piece(), error.counts().len()), (Some((0, 0..1)), 1));
}

/// A graph with a loop of its own is planned as a node of another one: what its loop takes is predicted, too.
#[test]
fn a_program_with_loops_runs_in_pieces_as_a_node() {
    let mut inner = Graph::new("inner");
    inner.input("x").unwrap();
    inner.slice("single", Slicing::new(1), &[("x", 0, "one")]).unwrap();
    inner.kernel("twice", "Add", add, &["one", "one"], &["y"]).unwrap();
    inner.output("out", &[("y", ROWS)]).unwrap();
    let x = Tensor::new(&[23, 4], (0..92).map(|value| value as f32).collect::<Vec<_>>()).unwrap();
    let expected: Vec<f32> = (0..92).map(|value| 2.0 * value as f32).collect();
    let inputs: [(&str, Option<usize>, Arc<dyn Rows>); 1] = [("x", Some(0), Arc::new(x))];
    let error = inner.plan(&inputs, &Pieces::new()).err().unwrap();
    assert!(error.to_string().contains("at node `single`: make it a node of another graph"), "{error}");
    let mut outer = Graph::new("outer");
    outer.input("x").unwrap();
    outer.program("inner", inner.check(1).unwrap(), &[("x", "x")], &["y"]).unwrap();
    outer.output("out", &[("y", ROWS)]).unwrap();
    for piece in [1, 4, 23] {
        let plan = outer.plan(&inputs, &Pieces::new().piece(piece)).unwrap();
        let outcome = plan.run(&Loom::serial()).unwrap();
        assert_eq!(outcome.output("y").unwrap().values::<f32>().unwrap(), expected, "pieces of {piece}");
        assert!(outcome.peak_bytes() <= plan.predicted_peak_bytes());
        assert!(plan.bytes_in_flight() > piece as usize * 16, "{plan}");
    }
}
