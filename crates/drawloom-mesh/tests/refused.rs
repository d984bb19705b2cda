//! Programs and meshes that make no sense are refused, with the names and numbers that are needed to mend them.

use drawloom_mesh::kernel::{Acc, Out};
use drawloom_mesh::{Backend, Control, Error, ErrorKind, Events, Executor, Global, Mesh, Mode, Program, Threads};

/// What a program is refused with.
fn refusal(build: impl FnOnce(&mut Program)) -> String {
    refusal_on(pairs().0, build)
}

fn refusal_on(mesh: Mesh, build: impl FnOnce(&mut Program)) -> String {
    let mut program = Program::new(mesh);
    build(&mut program);
    let error = program.start(Backend::Serial).err().expect("refused");
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    error.to_string()
}

/// Three nodes, and two edges between them of which both end at the middle node.
fn pairs() -> (Mesh, Handles) {
    let mut mesh = Mesh::new();
    let nodes = mesh.set("nodes", 3).unwrap();
    let edges = mesh.set("edges", 2).unwrap();
    let ends = mesh.map::<2>("ends", edges, nodes, vec![0, 1, 1, 2]).unwrap();
    let level = mesh.dat_of("level", nodes, [0.0]).unwrap();
    let weight = mesh.dat_of("weight", edges, [1.0]).unwrap();
    let sum = mesh.global("sum", [0.0]).unwrap();
    let one = mesh.constant("one", [1.0]).unwrap();
    (mesh, Handles { nodes, edges, ends, level, weight, sum, one })
}

#[derive(Clone, Copy)]
struct Handles {
    nodes: drawloom_mesh::Set,
    edges: drawloom_mesh::Set,
    ends: drawloom_mesh::Map<2>,
    level: drawloom_mesh::Dat<f64, 1>,
    weight: drawloom_mesh::Dat<f64, 1>,
    sum: Global<f64, 1>,
    one: drawloom_mesh::Constant<f64, 1>,
}

fn of_mesh(declare: impl FnOnce(&mut Mesh, Handles) -> Result<(), Error>) -> String {
    let (mut mesh, handles) = pairs();
    declare(&mut mesh, handles).expect_err("refused").to_string()
}

#[test]
fn tables_of_maps_fit_their_sets() {
    let said = of_mesh(|mesh, h| mesh.map::<2>("short", h.edges, h.nodes, vec![0, 1, 2]).map(drop));
    assert_eq!(said, "map `short` has 3 entries; 2 for each of the 2 elements of `edges` are needed");
    let said = of_mesh(|mesh, h| mesh.map::<2>("wild", h.edges, h.nodes, vec![0, 1, 2, 3]).map(drop));
    assert_eq!(said, "map `wild` leads from element 1 of `edges`, column 1, to element 3 of `nodes`, which has 3");
}

#[test]
fn names_and_sizes_and_types_agree() {
    let said = of_mesh(|mesh, _| mesh.set("level", 1).map(drop));
    assert_eq!(said, "cannot declare a set `level`: there is a dat of that name");
    let said = of_mesh(|mesh, h| mesh.dat("short", h.nodes, vec![[0_i32]; 2]).map(drop));
    assert_eq!(said, "dat `short` has values for 2 elements; `nodes` has 3");
    let said = of_mesh(|mesh, _| mesh.find_dat::<f32, 1>("level").map(drop));
    assert_eq!(said, "dat `level` has 1 of f64 for each element; 1 of f32 were asked for");
    let said = of_mesh(|mesh, _| mesh.find_map::<3>("ends").map(drop));
    assert_eq!(said, "map `ends` has 2 columns; 3 were asked for");
    let said = of_mesh(|mesh, _| mesh.find_set("faces").map(drop));
    assert_eq!(said, "there is no set `faces`; there are: nodes, edges");
}

#[test]
fn arguments_belong_to_the_set_of_the_loop() {
    let (mesh, h) = pairs();
    let said = refusal_on(mesh, |program| program.each(h.edges, "sweep").read(h.level).run(|_| ()));
    assert!(said.contains("loop `sweep`"), "{said}");
    let expected = "argument 0: dat `level` is on `nodes`, and the loop is over `edges`; reach it through a map";
    assert!(said.ends_with(expected), "{said}");
    let (mesh, h) = pairs();
    let said = refusal_on(mesh, |program| program.each(h.nodes, "sweep").read(h.level.at(h.ends, 0)).run(|_| ()));
    assert!(said.ends_with("argument 0: map `ends` leads from `edges`, and the loop is over `nodes`"), "{said}");
    let (mesh, h) = pairs();
    let said = refusal_on(mesh, |program| program.each(h.edges, "sweep").read(h.weight.at(h.ends, 0)).run(|_| ()));
    assert!(said.ends_with("argument 0: map `ends` leads to `nodes`, and dat `weight` is on `edges`"), "{said}");
    let (mesh, h) = pairs();
    let said = refusal_on(mesh, |program| program.each(h.edges, "sweep").read(h.level.at(h.ends, 2)).run(|_| ()));
    assert!(said.ends_with("argument 0: column 2 of map `ends`, which has 2"), "{said}");
    let (_, other) = pairs();
    let said = refusal(|program| program.each(other.edges, "sweep").read(other.weight).run(|_| ()));
    assert!(said.contains("of another mesh"), "{said}");
    let said = refusal(|program| program.scalar("judge").read(other.sum).run(|_| ()));
    assert!(said.ends_with("argument 0: a global of another mesh was given"), "{said}");
}

/// What an argument of another mesh is, and which it is.
#[test]
fn arguments_of_another_mesh_are_named_by_number_and_kind() {
    let (mesh, own) = pairs();
    let (_, other) = pairs();
    let said =
        refusal_on(mesh, |program| program.each(own.edges, "s").read(own.weight).read(other.weight).run(|_, _| ()));
    assert!(said.ends_with("argument 1: a dat of another mesh was given"), "{said}");
    let (mesh, own) = pairs();
    let said = refusal_on(mesh, |program| program.each(own.edges, "s").read(own.level.at(other.ends, 5)).run(|_| ()));
    assert!(said.ends_with("argument 0: a map of another mesh was given"), "{said}");
    let (mesh, own) = pairs();
    let said = refusal_on(mesh, |program| program.each(own.edges, "s").max_with(own.sum, other.sum).run(|_| ()));
    assert!(said.ends_with("argument 0: a global of another mesh was given"), "{said}");
}

#[test]
fn what_is_changed_has_one_access() {
    let (mesh, h) = pairs();
    let said = refusal_on(mesh, |program| {
        let each = program.each(h.edges, "flow").read(h.level.at(h.ends, 0)).inc(h.level.at(h.ends, 1));
        each.run(|_, _: &mut [Acc<f64>; 1]| ());
    });
    assert!(said.contains("dat `level` is argument 0 to read and argument 1 to inc"), "{said}");
    let (mesh, h) = pairs();
    let said =
        refusal_on(mesh, |program| program.each(h.nodes, "twice").update(h.level).update(h.level).run(|_, _| ()));
    assert!(said.contains("dat `level` is argument 0 and argument 1, both to update"), "{said}");
    let (mesh, h) = pairs();
    let said = refusal_on(mesh, |program| program.each(h.nodes, "twice").inc(h.level).inc(h.level).run(|_, _| ()));
    assert!(said.contains("both the same element"), "{said}");
    let (mesh, h) = pairs();
    let said = refusal_on(mesh, |program| program.each(h.edges, "count").read(h.sum).inc(h.sum).run(|_, _| ()));
    assert!(said.contains("global `sum` is argument 0 to read and argument 1 to inc"), "{said}");
    let (mesh, h) = pairs();
    let said = refusal_on(mesh, |program| program.scalar("twice").read(h.sum).update(h.sum).run(|_, _| ()));
    assert!(said.contains("scalar code `twice`"), "{said}");
}

#[test]
fn arguments_that_are_absent_are_no_use() {
    let backends = [
        Backend::Serial,
        Backend::Debug { seed: 3 },
        Backend::Threads(Threads::new().workers(2)),
        Backend::Events(Events::new()),
        Backend::Events(Events::new().control(Control::Tree)),
    ];
    for backend in backends {
        let (mesh, h) = pairs();
        let mut program = Program::new(mesh);
        program.each(h.edges, "flow").read_if(false, h.level.at(h.ends, 0)).inc(h.level.at(h.ends, 1)).run(
            |from, to: &mut [Acc<f64>; 1]| {
                assert!(from.is_none());
                to[0] += 1.0;
            },
        );
        program.each(h.edges, "mark").write_if(false, h.level.through(h.ends)).read_if(false, h.sum).inc(h.sum).run(
            |level, no_sum, sum| {
                assert!(level.is_none() && no_sum.is_none());
                sum[0] += 1.0;
            },
        );
        let mut run = program.start(backend.clone()).unwrap();
        run.run().unwrap();
        assert_eq!(run.dat(h.level).unwrap(), [[0.0], [1.0], [1.0]], "{backend:?}");
        assert_eq!(run.global(h.sum).unwrap(), [2.0], "{backend:?}");
    }
    // Those that are there count as before.
    let (mesh, h) = pairs();
    let said = refusal_on(mesh, |program| {
        let each = program.each(h.edges, "flow").read_if(true, h.level.at(h.ends, 0)).inc(h.level.at(h.ends, 1));
        each.run(|_, _: &mut [Acc<f64>; 1]| ());
    });
    assert!(said.contains("dat `level` is argument 0 to read and argument 1 to inc"), "{said}");
    let (mesh, h) = pairs();
    let said = refusal_on(mesh, |program| {
        program.each(h.edges, "mark").write_if(true, h.level.through(h.ends)).run(|_| ());
    });
    assert!(said.contains("is to write twice"), "{said}");
}

#[test]
fn no_element_is_written_twice() {
    let (mesh, h) = pairs();
    let said = refusal_on(mesh, |program| {
        program.each(h.edges, "mark").write(h.level.through(h.ends)).run(|_: &mut [Out<f64, 1>; 2]| ());
    });
    let expected = "element 1 of dat `level` is to write twice: by iteration 0 through column 1 of `ends`, and by iteration \
                    1 through column 0 of `ends`";
    assert!(said.ends_with(expected), "{said}");
    // Through one column each element is reached once.
    let (mesh, h) = pairs();
    let mut program = Program::new(mesh);
    program.each(h.edges, "mark").write(h.level.at(h.ends, 1)).run(|level| level.set([7.0]));
    let mut run = program.start(Backend::Serial).unwrap();
    run.run().unwrap();
    assert_eq!(run.dat(h.level).unwrap(), [[0.0], [7.0], [7.0]]);
}

#[test]
fn a_kernel_writes_what_it_must_and_a_panic_is_the_loops_failure() {
    let backends = [
        Backend::Serial,
        Backend::Debug { seed: 3 },
        Backend::Threads(Threads::new().workers(2)),
        Backend::Events(Events::new()),
        Backend::Events(Events::new().executor(Executor::Parallel { workers: 2 }).control(Control::Tree)),
    ];
    for backend in backends {
        let (mesh, h) = pairs();
        let mut program = Program::new(mesh);
        program.each(h.edges, "lazy").read(h.one).write(h.weight).index().run(|_, weight, index| {
            if index == 0 {
                weight.set([1.0]);
            }
        });
        let error = program.start(backend.clone()).unwrap().run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        let said = error.to_string();
        let here = concat!("loop `lazy` at ", file!());
        assert!(said.starts_with(here), "{said}");
        let expected = " failed: its kernel returned without having written an argument of iteration 1";
        assert!(said.ends_with(expected), "{said}");

        let (mesh, h) = pairs();
        let mut program = Program::new(mesh);
        program.each(h.edges, "bad").read(h.weight).run(|_| panic!("out of cheese"));
        let error = program.start(backend.clone()).unwrap().run().unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with(concat!("loop `bad` at ", file!())), "{said}");
        assert!(said.ends_with(" failed: out of cheese"), "{said}");

        // Beside another one that runs with it.
        let (mesh, h) = pairs();
        let mut program = Program::new(mesh);
        program.each(h.edges, "good").update(h.weight).run(|weight| weight[0] += 1.0);
        program.each(h.edges, "bad").update(h.weight).run(|_| panic!("out of cheese"));
        let said = program.start(backend.clone()).unwrap().run().unwrap_err().to_string();
        assert!(said.starts_with("loop `bad` at ") && said.ends_with(" failed: out of cheese"), "{said}");

        let (mesh, h) = pairs();
        let mut program = Program::new(mesh);
        program.scalar("worse").read(h.sum).run(|_| panic!("out of bread"));
        let said = program.start(backend.clone()).unwrap().run().unwrap_err().to_string();
        assert!(said.starts_with(concat!("scalar code `worse` at ", file!())), "{said}");
        assert!(said.ends_with(" failed: out of bread"), "{said}");

        let (mesh, h) = pairs();
        let mut program = Program::new(mesh);
        program.scalar("judge").read(h.sum).try_run(|sum| if sum[0] < 1.0 { Err("too little") } else { Ok(()) });
        let error = program.start(backend).unwrap().run().unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with("scalar code `judge` at ") && said.ends_with(" failed: too little"), "{said}");
    }
}

/// What is not a number spreads by one node in every run, from the last towards the first. A loop that has nothing to do with
/// the sum goes on beside it.
fn spreading() -> Program {
    let mut mesh = Mesh::new();
    let nodes = mesh.set("nodes", 3000).unwrap();
    let next = mesh.map::<1>("next", nodes, nodes, (1..3000).chain([2999]).collect()).unwrap();
    let level = mesh.dat_of("level", nodes, [1.0]).unwrap();
    let (before, beside) = (mesh.dat_of("before", nodes, [1.0]).unwrap(), mesh.dat_of("beside", nodes, [1.0]).unwrap());
    let sum = mesh.global("sum", [0.0]).unwrap();
    let mut program = Program::new(mesh);
    program.repeat("time", 100, |program| {
        program.each(nodes, "save").read(level).write(before).run(|level, before| before.set(*level));
        program.each(nodes, "grow").index().read(before.at(next, 0)).update(level).inc(sum).run(
            |index, next, level, sum| {
                level[0] = if index == 2000 { 1e100 * level[0] } else { level[0] + 0.0 * next[0] };
                sum[0] += level[0];
            },
        );
        program.each(nodes, "beside").read(level).update(beside).run(|level, beside| beside[0] += level[0]);
        program.require_finite(sum);
    });
    program
}

#[test]
fn a_number_that_is_not_finite_is_found_with_its_run_and_its_element() {
    let said = |backend: Backend| {
        let error = spreading().start(backend).unwrap().run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFinite);
        error.to_string()
    };
    let expected = "global `sum` is inf in run 4 of `time`; first in dat `level` at element 2000 of `nodes`, \
        component 0; dat `beside` at element 2000 of `nodes`, component 0";
    assert_eq!(said(Backend::Serial), expected);
    assert_eq!(said(Backend::Debug { seed: 5 }), expected);
    for workers in 1..=3 {
        let threads = Threads::new().workers(workers);
        assert_eq!(said(Backend::Threads(threads.clone().blocks(4))), expected, "{workers} workers");
        assert_eq!(said(Backend::Threads(threads.mode(Mode::Fast))), expected, "{workers} workers");
    }
    for executor in [Executor::Fifo, Executor::Lifo, Executor::Parallel { workers: 2 }] {
        let events = Events::new().executor(executor);
        assert_eq!(said(Backend::Events(events)), expected, "{events:?}");
        assert_eq!(said(Backend::Events(events.control(Control::Tree))), expected, "{events:?}");
    }
}

/// A run that failed leaves nothing behind that the next one could take for its own.
#[test]
fn a_program_runs_again_after_a_run_that_failed() {
    let backends = [
        Backend::Serial,
        Backend::Debug { seed: 3 },
        Backend::Events(Events::new()),
        Backend::Events(Events::new().executor(Executor::Lifo).control(Control::Tree)),
        Backend::Events(Events::new().executor(Executor::Random { seed: 4 }).control(Control::Tree)),
        Backend::Events(Events::new().executor(Executor::Parallel { workers: 2 })),
    ];
    for backend in backends {
        let mut mesh = Mesh::new();
        let nodes = mesh.set("nodes", 50).unwrap();
        let next = mesh.map::<1>("next", nodes, nodes, (1..50).chain([0]).collect()).unwrap();
        let level = mesh.dat_of("level", nodes, [0.0]).unwrap();
        let (runs, sum) = (mesh.global("runs", [0_i64]).unwrap(), mesh.global("sum", [0.0]).unwrap());
        let mut program = Program::new(mesh);
        program.scalar("count").update(runs).run(|runs| runs[0] += 1);
        program.each(nodes, "add").inc(level.at(next, 0)).inc(sum).run(|level, sum| {
            level[0] += 1.0;
            sum[0] += 1.0;
        });
        program.scalar("judge").read(runs).try_run(|runs| if runs[0] == 1 { Err("not yet") } else { Ok(()) });
        program.each(nodes, "double").update(level).run(|level| level[0] *= 2.0);
        let mut run = program.start(backend.clone()).unwrap();
        assert!(run.run().unwrap_err().to_string().contains("not yet"), "{backend:?}");
        run.run().unwrap_or_else(|error| panic!("{backend:?}: {error}"));
        assert_eq!((run.global(runs).unwrap(), run.global(sum).unwrap()), ([2], [100.0]), "{backend:?}");
        assert_eq!(run.dat(level).unwrap(), vec![[4.0]; 50], "{backend:?}");
    }
}

/// Stopped in the middle of a loop, with messages on their way.
#[test]
fn messages_of_a_run_that_failed_do_not_reach_the_next() {
    for executor in [Executor::Fifo, Executor::Lifo, Executor::Random { seed: 1 }, Executor::Parallel { workers: 2 }] {
        for control in [Control::Plain, Control::Tree] {
            let events = Events::new().executor(executor).control(control);
            let mut mesh = Mesh::new();
            let nodes = mesh.set("nodes", 40).unwrap();
            let next = mesh.map::<1>("next", nodes, nodes, (1..40).chain([0]).collect()).unwrap();
            let (level, seen) =
                (mesh.dat_of("level", nodes, [1.0]).unwrap(), mesh.dat_of("seen", nodes, [0.0]).unwrap());
            let sum = mesh.global("sum", [0.0]).unwrap();
            let mut program = Program::new(mesh);
            program.each(nodes, "fail").index().read(level.at(next, 0)).inc(seen.at(next, 0)).inc(sum).run(
                |index, level, seen, sum| {
                    assert!(index != 20, "out of cheese");
                    seen[0] += level[0];
                    sum[0] += 1.0;
                },
            );
            let mut run = program.start(Backend::Events(events)).unwrap();
            assert!(run.run().unwrap_err().to_string().contains("out of cheese"), "{events:?}");
            let again = run.run().unwrap_err().to_string();
            assert!(again.contains("failed before"), "{events:?}: {again}");
        }
    }
}

/// Names that are made of those of the user may be those of something else.
#[test]
fn two_things_that_would_have_one_name_among_messages_are_refused_with_both() {
    type Add = Box<dyn Fn(&mut Program)>;
    let said = |build: &dyn Fn(&mut Mesh) -> Add| {
        let mut mesh = Mesh::new();
        let add = build(&mut mesh);
        let mut program = Program::new(mesh);
        add(&mut program);
        program.start(Backend::Serial).unwrap().run().unwrap();
        let error = program.start(Backend::Events(Events::new())).err().expect("refused");
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        error.to_string()
    };
    // What is sent to both ends of an edge, and the other dat.
    let dats = said(&|mesh| {
        let (nodes, edges) = (mesh.set("nodes", 3).unwrap(), mesh.set("edges", 2).unwrap());
        let ends = mesh.map::<2>("ends", edges, nodes, vec![0, 1, 1, 2]).unwrap();
        let (level, other) =
            (mesh.dat_of("level", nodes, [0.0]).unwrap(), mesh.dat_of("level_x2", nodes, [1.0]).unwrap());
        Box::new(move |program| {
            program.each(edges, "send").read(other.at(ends, 0)).inc(level.through(ends)).run(|other, level| {
                level[0][0] += other[0];
                level[1][0] += other[0];
            });
        })
    });
    assert!(
        dats.contains("dat `level_x2` and dat `level`, 2 elements at once would both be called `dat_level_x2`"),
        "{dats}"
    );
    // A pair of globals, and one with the name of both.
    let globals = said(&|mesh| {
        let nodes = mesh.set("nodes", 3).unwrap();
        let [high, at] = ["high", "at"].map(|name| mesh.global(name, [0_i64]).unwrap());
        let both = mesh.global("high_with_at", [0_i64]).unwrap();
        Box::new(move |program| {
            program.each(nodes, "look").index().max_with(high, at).inc(both).run(|index, high, both| {
                high.offer(index as i64, 1);
                both[0] += 1;
            });
        })
    });
    let expected = "global `high` with `at` and global `high_with_at` would both be called `global_high_with_at`";
    assert!(globals.contains(expected), "{globals}");
    // The word that a loop begins, and a dat.
    let loops = said(&|mesh| {
        let nodes = mesh.set("nodes", 3).unwrap();
        let next = mesh.map::<1>("next", nodes, nodes, vec![1, 2, 0]).unwrap();
        let (begin, to) = (mesh.dat_of("a_begin", nodes, [0.0]).unwrap(), mesh.dat_of("to", nodes, [0.0]).unwrap());
        Box::new(move |program| {
            program.each(nodes, "dat_a").read(begin.at(next, 0)).write(to).run(|from, to| to.set(*from));
        })
    });
    assert!(loops.contains("loop `dat_a` and dat `a_begin` would both be called `dat_a_begin`"), "{loops}");
}

/// Names of a loop and of a dat that are, put together, those of another two.
#[test]
fn loops_whose_pins_would_have_one_name_run_as_messages() {
    for events in [Events::new(), Events::new().control(Control::Tree)] {
        let mut mesh = Mesh::new();
        let nodes = mesh.set("nodes", 3).unwrap();
        let next = mesh.map::<1>("next", nodes, nodes, vec![1, 2, 0]).unwrap();
        let long = mesh.dat("b_dat_c", nodes, vec![[1.0], [2.0], [3.0]]).unwrap();
        let short = mesh.dat("c", nodes, vec![[10.0], [20.0], [30.0]]).unwrap();
        let seen = mesh.dat_of("seen", nodes, [0.0]).unwrap();
        let mut program = Program::new(mesh);
        program.each(nodes, "a").read(long.at(next, 0)).inc(seen).run(|from, seen| seen[0] += from[0]);
        program.each(nodes, "a_dat_b").read(short.at(next, 0)).inc(seen).run(|from, seen| seen[0] += from[0]);
        program.each(nodes, "a").inc(long.at(next, 0)).run(|to| to[0] += 1.0);
        program.each(nodes, "a_1_dat_b").inc(short.at(next, 0)).run(|to| to[0] += 1.0);
        let mut run = program.start(Backend::Events(events)).unwrap();
        run.run().unwrap();
        assert_eq!(run.dat(seen).unwrap(), [[22.0], [33.0], [11.0]], "{events:?}");
        assert_eq!(run.dat(long).unwrap(), [[2.0], [3.0], [4.0]], "{events:?}");
        assert_eq!(run.dat(short).unwrap(), [[11.0], [21.0], [31.0]], "{events:?}");
    }
}
