//! Programs and meshes that make no sense are refused, with the names and numbers that are needed to mend them.

use drawloom_mesh::kernel::{Acc, Out};
use drawloom_mesh::{Backend, Error, ErrorKind, Global, Mesh, Program, Threads};

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
    let said = of_mesh(|mesh, h| mesh.compose::<2, 2, 4>("twice", h.ends, h.ends).map(drop));
    assert!(said.contains("the first leads to `nodes`, the second starts at `edges`"), "{said}");
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
    assert!(said.ends_with("argument 0: column 2 of a map that has 2"), "{said}");
    let (_, other) = pairs();
    let said = refusal(|program| program.each(other.edges, "sweep").read(other.weight).run(|_| ()));
    assert!(said.contains("of another mesh"), "{said}");
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
    for backend in [Backend::Serial, Backend::Debug { seed: 3 }, Backend::Threads(Threads::new().workers(2))] {
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
        assert!(said.contains("loop `lazy` failed: its kernel returned without having written"), "{said}");
        assert!(said.contains("iteration 1"), "{said}");

        let (mesh, h) = pairs();
        let mut program = Program::new(mesh);
        program.each(h.edges, "bad").read(h.weight).run(|_| panic!("out of cheese"));
        let error = program.start(backend.clone()).unwrap().run().unwrap_err();
        let said = error.to_string();
        assert!(said.contains("bad") && said.contains("out of cheese"), "{said}");

        let (mesh, h) = pairs();
        let mut program = Program::new(mesh);
        program.scalar("judge").read(h.sum).try_run(|sum| if sum[0] < 1.0 { Err("too little") } else { Ok(()) });
        let error = program.start(backend).unwrap().run().unwrap_err();
        assert!(error.to_string().contains("scalar code `judge` failed: too little"), "{error}");
    }
}

#[test]
fn a_number_that_is_not_finite_is_found_with_its_run_and_its_element() {
    for backend in [Backend::Serial, Backend::Threads(Threads::new().workers(2))] {
        let (mesh, h) = pairs();
        let mut program = Program::new(mesh);
        program.repeat("time", 100, |program| {
            program.each(h.edges, "grow").index().update(h.weight).inc(h.sum).run(|index, weight, sum| {
                weight[0] *= if index == 1 { 1e100 } else { 1.0 };
                sum[0] += weight[0];
            });
            program.require_finite(h.sum);
        });
        let error = program.start(backend).unwrap().run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFinite);
        let said = error.to_string();
        assert!(said.starts_with("global `sum` is inf in run 3 of `time`"), "{said}");
        assert!(said.contains("dat `weight` at element 1 of `edges`, component 0"), "{said}");
    }
}
