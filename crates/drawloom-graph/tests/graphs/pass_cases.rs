//! Passes, case by case: what each does, what it leaves alone, and that large graphs stay near-linear.

use std::time::{Duration, Instant};

use drawloom_graph::pass::{
    ImpliedBy, Liveness, RefusalKind, eliminate_dead, fuse, fuse_chains, reduce_orders, simplify,
};
use drawloom_graph::{Access, Body, Builder, Control, Graph, Label, NodeId, NodeKind, Pieces, RegionId, Regions, Rule};

fn disjoint(names: &[&str]) -> (Regions, Vec<RegionId>) {
    let mut regions = Regions::new();
    let ids: Vec<RegionId> = names.iter().map(|n| regions.abstract_region(*n).unwrap()).collect();
    for (i, a) in ids.iter().enumerate() {
        ids[..i].iter().for_each(|b| regions.add_disjoint(*a, *b));
    }
    (regions, ids)
}

/// A program of calls, one line each: a name, then regions with `r`, `w`, `u` or an operator.
fn program(regions: Regions, calls: &[(&str, &[(RegionId, Access<'_>)])]) -> Graph {
    let mut builder = Builder::new(regions);
    for (name, arguments) in calls {
        builder.call(name, arguments).unwrap();
    }
    builder.finish()
}

fn tasks(graph: &Graph) -> Vec<String> {
    graph.tasks().map(|t| graph.name(t).into_owned()).collect()
}

fn ties(graph: &Graph) -> usize {
    graph.nodes().iter().filter(|n| matches!(n.kind(), NodeKind::Open | NodeKind::Close)).count()
}

fn stated(graph: &Graph) -> Vec<(String, String)> {
    let orders = graph.edges().iter().filter(|e| e.label == Label::HappensBefore);
    orders.map(|e| (graph.name(e.from).into_owned(), graph.name(e.to).into_owned())).collect()
}

#[test]
fn what_is_overwritten_unread_is_dead_and_a_chain_of_updates_is_not() {
    let (regions, ids) = disjoint(&["A"]);
    let a = ids[0];
    let graph = program(
        regions,
        &[
            ("lost", &[(a, Access::Write)]),
            ("start", &[(a, Access::Write)]),
            ("more", &[(a, Access::Update)]),
            ("fold", &[(a, Access::Reduce("+"))]),
        ],
    );
    let after = eliminate_dead(&graph, &Liveness::all()).unwrap();
    assert_eq!(tasks(&after), ["start", "more", "fold"]);
    assert!(after.check().is_valid(), "start discards what lost discarded");
}

#[test]
fn only_observed_regions_and_kept_tasks_keep_others_alive() {
    let (regions, ids) = disjoint(&["A", "B", "C"]);
    let [a, b, c] = ids[..] else { unreachable!() };
    let graph = program(
        regions,
        &[
            ("make_a", &[(a, Access::Write)]),
            ("a_to_b", &[(a, Access::Read), (b, Access::Write)]),
            ("make_c", &[(c, Access::Write)]),
            ("print", &[(c, Access::Read)]),
        ],
    );
    let print = graph.find("print").unwrap();
    assert_eq!(tasks(&eliminate_dead(&graph, &Liveness::of(&[b])).unwrap()), ["make_a", "a_to_b"]);
    assert_eq!(tasks(&eliminate_dead(&graph, &Liveness::of(&[a])).unwrap()), ["make_a"]);
    let kept = eliminate_dead(&graph, &Liveness::of(&[]).keeping(&[print])).unwrap();
    assert_eq!(tasks(&kept), ["make_c", "print"]);
    let nothing = eliminate_dead(&graph, &Liveness::of(&[])).unwrap();
    assert!(nothing.edges().is_empty() && nothing.nodes().is_empty(), "versions go with their last use");
}

#[test]
fn a_version_whose_pieces_are_all_overwritten_is_dead() {
    let mut regions = Regions::new();
    let cells = regions.space("cells", 10).unwrap();
    let u = regions.field("u", cells).unwrap();
    let whole = regions.whole(u);
    let blocks = regions.partition("blocks", cells, Pieces::equal(2)).unwrap();
    let [left, right] = [0, 1].map(|i| {
        let piece = regions.piece(blocks, i);
        regions.region(u, piece).unwrap()
    });
    let calls: [(&str, &[(RegionId, Access<'_>)]); 4] = [
        ("lost", &[(whole, Access::Write)]),
        ("left", &[(left, Access::Write)]),
        ("right", &[(right, Access::Write)]),
        ("look", &[(whole, Access::Update)]),
    ];
    let graph = program(regions.clone(), &calls);
    assert_eq!(tasks(&eliminate_dead(&graph, &Liveness::all()).unwrap()), ["left", "right", "look"]);
    let half = program(regions, &[calls[0], calls[1], calls[3]]);
    assert_eq!(tasks(&eliminate_dead(&half, &Liveness::all()).unwrap()), ["lost", "left", "look"]);
}

#[test]
fn a_reducer_that_does_not_say_what_it_folds_into_keeps_everything_before_it() {
    let (regions, ids) = disjoint(&["A", "B"]);
    let mut graph = Graph::new(regions);
    let [a0, a1, a2] = ["A0", "A1", "A2"].map(|n| graph.add_data(n, ids[0]));
    let [b0, b1] = ["B0", "B1"].map(|n| graph.add_data(n, ids[1]));
    let [start, link, fold] = ["start", "link", "fold"].map(|n| graph.add_compute(n, NodeKind::Task));
    graph.connect(a0, start, Label::Discard);
    graph.connect(start, a1, Label::Write);
    graph.connect(a1, link, Label::Read);
    graph.connect(b0, link, Label::Discard);
    graph.connect(link, b1, Label::Write);
    graph.connect(b1, fold, Label::Read);
    graph.connect_reduce(fold, a2, "+");
    assert_eq!(tasks(&eliminate_dead(&graph, &Liveness::of(&[ids[0]])).unwrap()), ["start", "link", "fold"]);
}

#[test]
fn dead_tasks_inside_nested_graphs_go_too() {
    let (regions, ids) = disjoint(&["A"]);
    let mut builder = Builder::new(regions);
    let body = |inner: &mut Builder| {
        inner.call("lost", &[(ids[0], Access::Write)])?;
        inner.call("kept", &[(ids[0], Access::Write)])?;
        Ok(())
    };
    builder.control("loop", Control::Repeat(3), body).unwrap();
    let after = eliminate_dead(&builder.finish(), &Liveness::all()).unwrap();
    let (_, body) = after.bodies().next().unwrap();
    assert_eq!(tasks(&body.graph), ["kept"]);
}

#[test]
fn a_chain_becomes_one_task_whose_cost_is_the_sum() {
    let (regions, ids) = disjoint(&["A", "B"]);
    let [a, b] = ids[..] else { unreachable!() };
    let mut builder = Builder::new(regions);
    for (name, cost, arguments) in [
        ("load", 1.0, &[(a, Access::Write)][..]),
        ("scale", 2.0, &[(a, Access::Update)]),
        ("copy", 4.0, &[(a, Access::Read), (b, Access::Write)]),
    ] {
        let task = builder.call(name, arguments).unwrap();
        builder.set_cost(task, cost);
    }
    let graph = builder.finish();
    let fused = fuse_chains(&graph).unwrap();
    assert_eq!(tasks(&fused), ["load+scale+copy"]);
    let task = fused.tasks().next().unwrap();
    assert_eq!(fused.cost(task), Some(7.0));
    let nested = &fused.body(task).unwrap().graph;
    assert_eq!((tasks(nested), nested.bodies().count()), (tasks(&graph), 0), "the chain is one call");
}

#[test]
fn a_shared_intermediate_and_a_detour_stop_fusion() {
    let (regions, ids) = disjoint(&["A", "B", "C"]);
    let [a, b, c] = ids[..] else { unreachable!() };
    let graph = program(
        regions,
        &[
            ("make", &[(a, Access::Write), (c, Access::Write)]),
            ("one", &[(a, Access::Read), (b, Access::Write)]),
            ("two", &[(a, Access::Read), (b, Access::Read), (c, Access::Update)]),
        ],
    );
    let [make, one, two] = ["make", "one", "two"].map(|n| graph.find(n).unwrap());
    let refusal = fuse(&graph, make, two).unwrap_err();
    assert_eq!(refusal.kind(), RefusalKind::NotConvex);
    assert!(refusal.path().contains(&one), "{refusal}");
    // `one` makes B for `two` alone, so those two become one; then nothing stands between that and `make`.
    assert_eq!(tasks(&fuse_chains(&graph).unwrap()), ["make+one+two"]);
}

/// RDIR's loop fusion looked for dependences with the test inverted: it found them where regions cannot alias and where
/// both sides only read, and decided on the first pair of accesses alone.
#[test]
fn the_test_for_overwritten_reads_is_not_inverted() {
    let (regions, ids) = disjoint(&["A", "B", "C"]);
    let [a, b, c] = ids[..] else { unreachable!() };
    // Reads of one region, and accesses to regions that cannot alias, never stop a fusion.
    let harmless = program(
        regions.clone(),
        &[("x", &[(a, Access::Read), (b, Access::Write)]), ("y", &[(a, Access::Read), (c, Access::Write)])],
    );
    let [x, y] = ["x", "y"].map(|n| harmless.find(n).unwrap());
    assert!(fuse(&harmless, x, y).is_ok());
    // The first pair of accesses is harmless, the second is not: y reads the A that z made after x read the old one.
    let harmful = program(
        regions,
        &[
            ("x", &[(c, Access::Read), (a, Access::Read), (b, Access::Write)]),
            ("z", &[(a, Access::Write)]),
            ("y", &[(c, Access::Read), (a, Access::Read), (b, Access::Update)]),
        ],
    );
    let [x, y] = ["x", "y"].map(|n| harmful.find(n).unwrap());
    let refusal = fuse(&harmful, x, y).unwrap_err();
    assert_eq!(refusal.kind(), RefusalKind::Breaks);
    let rules: Vec<Rule> = refusal.report().unwrap().violations.iter().map(|d| d.rule).collect();
    assert!(rules.contains(&Rule::T2) || rules.contains(&Rule::S1), "{rules:?}");
}

#[test]
fn only_two_different_tasks_can_be_fused() {
    let (regions, ids) = disjoint(&["A"]);
    let graph = program(regions, &[("x", &[(ids[0], Access::Update)])]);
    let x = graph.find("x").unwrap();
    let data = graph.node_ids().find(|n| graph.kind(*n) == NodeKind::Data).unwrap();
    for (a, b) in [(x, x), (x, data), (NodeId::from_index(77), x)] {
        assert_eq!(fuse(&graph, a, b).unwrap_err().kind(), RefusalKind::WrongNode);
    }
}

/// R cut into disjoint P and Q: `(table, R, P, Q)`.
fn halves() -> (Regions, RegionId, RegionId, RegionId) {
    let mut regions = Regions::new();
    let [whole, left, right] = ["R", "P", "Q"].map(|n| regions.abstract_region(n).unwrap());
    regions.add_subregion(left, whole);
    regions.add_subregion(right, whole);
    regions.add_disjoint(left, right);
    (regions, whole, left, right)
}

/// A node of a kind that takes and makes versions.
fn node(graph: &mut Graph, name: &str, kind: NodeKind, takes: &[NodeId], makes: &[NodeId]) -> NodeId {
    let node = graph.add_compute(name, kind);
    for data in takes {
        graph.connect(*data, node, Label::Read);
    }
    for data in makes {
        graph.connect(node, *data, Label::Write);
    }
    node
}

#[test]
fn an_open_that_is_closed_untouched_disappears() {
    let (regions, r, p, q) = halves();
    let mut graph = Graph::new(regions);
    let [r0, r1, r2] = ["R0", "R1", "R2"].map(|n| graph.add_data(n, r));
    let [p0, q0] = [("P0", p), ("Q0", q)].map(|(n, region)| graph.add_data(n, region));
    node(&mut graph, "open", NodeKind::Open, &[r0], &[p0, q0]);
    node(&mut graph, "close", NodeKind::Close, &[r0, p0, q0], &[r1]);
    node(&mut graph, "work", NodeKind::Task, &[r1], &[r2]);
    let after = simplify(&graph).unwrap();
    assert_eq!((ties(&after), after.nodes().len()), (0, 3), "R0, work and R2 are left");
}

#[test]
fn a_close_that_orders_readers_of_pieces_before_a_writer_stays() {
    let (regions, r, p, _) = halves();
    let mut graph = Graph::new(regions);
    let [r0, r1, r2] = ["R0", "R1", "R2"].map(|n| graph.add_data(n, r));
    let p0 = graph.add_data("P0", p);
    node(&mut graph, "open", NodeKind::Open, &[r0], &[p0]);
    node(&mut graph, "look", NodeKind::Task, &[p0], &[]);
    node(&mut graph, "close", NodeKind::Close, &[r0, p0], &[r1]);
    let read_again = node(&mut graph, "again", NodeKind::Task, &[r1], &[]);
    assert_eq!(ties(&simplify(&graph).unwrap()), 1, "nothing is written afterwards, so the Close may go");
    graph.connect(read_again, r2, Label::Write);
    let after = simplify(&graph).unwrap();
    assert_eq!(ties(&after), 2, "without the Close nothing would order P0 and R2");
}

#[test]
fn pieces_closed_and_opened_again_are_reconnected() {
    let (regions, r, p, q) = halves();
    let mut graph = Graph::new(regions);
    let [r0, r1, r2] = ["R0", "R1", "R2"].map(|n| graph.add_data(n, r));
    let versions =
        |graph: &mut Graph, n: &str, region| [0, 1, 2, 3].map(|i| graph.add_data(&format!("{n}{i}"), region));
    let [p0, p1, p2, p3] = versions(&mut graph, "P", p);
    let [q0, q1, q2, _] = versions(&mut graph, "Q", q);
    node(&mut graph, "open", NodeKind::Open, &[r0], &[p0, q0]);
    node(&mut graph, "x", NodeKind::Task, &[p0], &[p1]);
    node(&mut graph, "y", NodeKind::Task, &[q0], &[q1]);
    node(&mut graph, "close", NodeKind::Close, &[r0, p1, q1], &[r1]);
    node(&mut graph, "reopen", NodeKind::Open, &[r1], &[p2, q2]);
    node(&mut graph, "z", NodeKind::Task, &[p2], &[p3]);
    node(&mut graph, "last", NodeKind::Close, &[r1, p3, q2], &[r2]);
    let after = simplify(&graph).unwrap();
    assert!(after.check().is_valid());
    assert_eq!(ties(&after), 2, "the first Open and the last Close are left");
    let last = after.find("last").unwrap();
    let mut reads: Vec<_> =
        after.edges().iter().filter(|e| e.to == last).map(|e| after.name(e.from).into_owned()).collect();
    reads.sort();
    assert_eq!(reads, ["P3", "Q1", "R0"], "it reads what the dropped Close read, with the newer P");
}

#[test]
fn needless_stated_orders_go_and_needed_ones_stay() {
    let (regions, ids) = disjoint(&["A", "B", "C"]);
    let [a, b, c] = ids[..] else { unreachable!() };
    let mut graph = program(
        regions,
        &[
            ("x", &[(a, Access::Update)]),
            ("y", &[(a, Access::Update)]),
            ("z", &[(b, Access::Update)]),
            ("look", &[(c, Access::Read)]),
            ("set", &[(c, Access::Update)]),
        ],
    );
    let [x, y, z, look, set] = ["x", "y", "z", "look", "set"].map(|n| graph.find(n).unwrap());
    for (from, to) in [(x, y), (y, z), (x, z), (y, z), (look, set)] {
        graph.connect(from, to, Label::HappensBefore);
    }
    let order = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let least = reduce_orders(&graph, ImpliedBy::Graph).unwrap();
    assert_eq!(stated(&least), [order("y", "z"), order("look", "set")]);
    let with_rule = reduce_orders(&graph, ImpliedBy::Rule).unwrap();
    assert_eq!(stated(&with_rule), [order("y", "z")], "set overwrites what look reads");
}

#[test]
fn a_graph_that_is_not_valid_is_refused_by_every_pass() {
    let (regions, ids) = disjoint(&["A"]);
    let mut graph = Graph::new(regions);
    let a0 = graph.add_data("A0", ids[0]);
    let task = graph.add_compute("t", NodeKind::Task);
    graph.connect(a0, task, Label::Write);
    graph.set_body(task, Body::new(Control::Repeat(2), Graph::new(graph.shared_regions())));
    let refused = [
        eliminate_dead(&graph, &Liveness::all()),
        fuse_chains(&graph),
        simplify(&graph),
        reduce_orders(&graph, ImpliedBy::Graph),
    ];
    for refusal in refused.map(Result::unwrap_err) {
        assert_eq!(refusal.kind(), RefusalKind::Invalid);
        assert!(refusal.report().unwrap().violates(Rule::WF3) && refusal.to_string().contains("WF3"), "{refusal}");
    }
}

/// Runs a pass and says how long it took.
fn timed(pass: impl FnOnce() -> Graph) -> (Graph, Duration) {
    let start = Instant::now();
    (pass(), start.elapsed())
}

/// A generous bound that a quadratic pass over a hundred thousand nodes misses by far.
const LONG: Duration = Duration::from_secs(30);

#[test]
fn long_chains_and_wide_graphs_stay_near_linear() {
    let (regions, ids) = disjoint(&["A", "B"]);
    let mut builder = Builder::new(regions);
    for i in 0..40_000 {
        let access = if i % 2 == 0 { Access::Write } else { Access::Update };
        builder.call("a", &[(ids[0], access)]).unwrap();
        builder.call("b", &[(ids[1], Access::Update)]).unwrap();
    }
    let chain = builder.finish();
    let (alive, took) = timed(|| eliminate_dead(&chain, &Liveness::all()).unwrap());
    assert_eq!(alive.tasks().count(), 40_002, "of every two a, the next pair overwrites both");
    assert!(took < LONG, "dead-task elimination took {took:?}");
    let (fused, took) = timed(|| fuse_chains(&alive).unwrap());
    assert_eq!(fused.tasks().count(), 2);
    assert!(took < LONG, "fusion took {took:?}");

    let mut ordered = alive;
    let mut before = None;
    for task in ordered.tasks().collect::<Vec<_>>() {
        if let Some(before) = before.replace(task) {
            ordered.connect(before, task, Label::HappensBefore);
        }
    }
    let (reduced, took) = timed(|| reduce_orders(&ordered, ImpliedBy::Graph).unwrap());
    assert!(stated(&reduced).len() < 40_002);
    assert!(took < LONG, "reducing orders took {took:?}");
}

#[test]
fn many_rounds_of_close_and_open_stay_near_linear() {
    let mut regions = Regions::new();
    let cells = regions.space("cells", 1 << 20).unwrap();
    let u = regions.field("u", cells).unwrap();
    let whole = regions.whole(u);
    let blocks = regions.partition("blocks", cells, Pieces::equal(100)).unwrap();
    let pieces: Vec<RegionId> = (0..100)
        .map(|i| {
            let piece = regions.piece(blocks, i);
            regions.region(u, piece).unwrap()
        })
        .collect();
    let mut graph = Graph::new(regions);
    let mut current = graph.add_data("", whole);
    for _ in 0..200 {
        let opened: Vec<NodeId> = pieces.iter().map(|r| graph.add_data("", *r)).collect();
        node(&mut graph, "", NodeKind::Open, &[current], &opened);
        let mut closed = vec![current];
        for (region, version) in pieces.iter().zip(opened) {
            let next = graph.add_data("", *region);
            node(&mut graph, "", NodeKind::Task, &[version], &[next]);
            closed.push(next);
        }
        current = graph.add_data("", whole);
        node(&mut graph, "", NodeKind::Close, &closed, &[current]);
    }
    let (simple, took) = timed(|| simplify(&graph).unwrap());
    assert_eq!((ties(&simple), simple.tasks().count()), (2, 20_000));
    assert!(took < LONG, "simplification took {took:?}");
}
