//! The accesses of a nested graph, as if it were one call.

use drawloom_graph::pass::{summarise, summarise_body};
use drawloom_graph::{Access, Body, Control, Graph, IndexSet, Label, NodeId, NodeKind, Pieces, RegionId, Regions};

fn disjoint(names: &[&str]) -> (Regions, Vec<RegionId>) {
    let mut regions = Regions::new();
    let ids: Vec<RegionId> = names.iter().map(|n| regions.abstract_region(*n).unwrap()).collect();
    for (i, a) in ids.iter().enumerate() {
        ids[..i].iter().for_each(|b| regions.add_disjoint(*a, *b));
    }
    (regions, ids)
}

/// A field `u` over ten cells in two blocks, and an overlapping middle part: regions `[u, b0, b1, middle]`.
fn blocks() -> (Regions, [RegionId; 4]) {
    let mut regions = Regions::new();
    let cells = regions.space("cells", 10).unwrap();
    let u = regions.field("u", cells).unwrap();
    let blocks = regions.partition("blocks", cells, Pieces::equal(2)).unwrap();
    let parts = regions.partition("parts", cells, Pieces::lists([IndexSet::range(3, 7)])).unwrap();
    let whole = regions.whole(u);
    let [b0, b1, middle] = [(blocks, 0), (blocks, 1), (parts, 0)].map(|(p, i)| {
        let piece = regions.piece(p, i);
        regions.region(u, piece).unwrap()
    });
    (regions, [whole, b0, b1, middle])
}

/// A task that takes and makes the given versions.
fn task(graph: &mut Graph, kind: NodeKind, takes: &[(NodeId, Label)], makes: &[NodeId]) {
    let node = graph.add_compute("", kind);
    for (data, label) in takes {
        graph.connect(*data, node, *label);
    }
    for data in makes {
        graph.connect(node, *data, Label::Write);
    }
}

fn reduce(graph: &mut Graph, base: NodeId, op: &str, into: NodeId) {
    let node = graph.add_compute("", NodeKind::Task);
    graph.connect(base, node, Label::Use);
    graph.connect_reduce(node, into, op);
}

#[test]
fn an_overwritten_region_is_written_and_its_later_reads_do_not_count() {
    let (regions, ids) = disjoint(&["A"]);
    let mut g = Graph::new(regions);
    let v: Vec<NodeId> = (0..3).map(|_| g.add_data("", ids[0])).collect();
    task(&mut g, NodeKind::Task, &[(v[0], Label::Discard)], &[v[1]]);
    task(&mut g, NodeKind::Task, &[(v[1], Label::Read)], &[v[2]]);
    assert_eq!(summarise(&g), [(ids[0], Access::Write)]);
}

#[test]
fn a_region_read_before_it_is_overwritten_is_updated() {
    let (regions, ids) = disjoint(&["A", "B"]);
    let mut g = Graph::new(regions);
    let [a0, a1] = [0, 0].map(|i: usize| g.add_data("", ids[i]));
    let [b0, b1] = [1, 1].map(|i: usize| g.add_data("", ids[i]));
    task(&mut g, NodeKind::Task, &[(a0, Label::Read), (b0, Label::Discard)], &[b1]);
    task(&mut g, NodeKind::Task, &[(a0, Label::Discard)], &[a1]);
    assert_eq!(summarise(&g), [(ids[0], Access::Update), (ids[1], Access::Write)]);
}

/// RDIR's summary looks a privilege up by edge label, has no entry for Discard, and so drops the whole access.
#[test]
fn a_discard_is_never_dropped() {
    let (regions, ids) = disjoint(&["A", "B"]);
    let mut g = Graph::new(regions);
    let [a0, a1, b0] = [0, 0, 1].map(|i: usize| g.add_data("", ids[i]));
    task(&mut g, NodeKind::Task, &[(a0, Label::Discard), (b0, Label::Discard)], &[a1]);
    assert_eq!(summarise(&g), [(ids[0], Access::Write), (ids[1], Access::Update)]);
}

#[test]
fn a_reduction_stays_one_unless_it_meets_another_operator_or_a_read() {
    let (regions, ids) = disjoint(&["A", "B", "C", "D"]);
    let mut g = Graph::new(regions);
    let versions: Vec<Vec<NodeId>> = ids.iter().map(|r| (0..3).map(|_| g.add_data("", *r)).collect()).collect();
    for (v, ops) in versions.iter().zip([["+", "+"], ["+", "*"], ["+", ""], ["", "+"]]) {
        for (i, op) in ops.into_iter().enumerate() {
            match op {
                "" => task(&mut g, NodeKind::Task, &[(v[i], Label::Discard)], &[v[i + 1]]),
                op => reduce(&mut g, v[i], op, v[i + 1]),
            }
        }
    }
    let expected = [Access::Reduce("+"), Access::Update, Access::Update, Access::Write];
    assert_eq!(summarise(&g), ids.into_iter().zip(expected).collect::<Vec<_>>(), "D is overwritten, then folded into");
}

#[test]
fn pieces_that_fill_the_container_write_it() {
    let (regions, [u, b0, b1, _]) = blocks();
    let mut g = Graph::new(regions);
    let [u0, x0, y0, x1, y1, u1] = [u, b0, b1, b0, b1, u].map(|r| g.add_data("", r));
    task(&mut g, NodeKind::Open, &[(u0, Label::Read)], &[x0, y0]);
    task(&mut g, NodeKind::Task, &[(x0, Label::Discard)], &[x1]);
    task(&mut g, NodeKind::Task, &[(y0, Label::Discard)], &[y1]);
    task(&mut g, NodeKind::Close, &[(u0, Label::Read), (x1, Label::Read), (y1, Label::Read)], &[u1]);
    assert_eq!(summarise(&g), [(b0, Access::Write), (b1, Access::Write)], "disjoint pieces need no merging");
    let out = g.add_data("", u);
    task(&mut g, NodeKind::Task, &[(u1, Label::Read)], &[out]);
    assert_eq!(summarise(&g), [(u, Access::Write)], "the Close holds nothing from outside, and the pieces fill u");
}

#[test]
fn a_piece_written_and_its_container_read_update_the_container() {
    let (regions, [u, b0, _, _]) = blocks();
    let mut g = Graph::new(regions);
    let [u0, x0, x1, u1] = [u, b0, b0, u].map(|r| g.add_data("", r));
    task(&mut g, NodeKind::Open, &[(u0, Label::Read)], &[x0]);
    task(&mut g, NodeKind::Task, &[(x0, Label::Discard)], &[x1]);
    task(&mut g, NodeKind::Close, &[(u0, Label::Read), (x1, Label::Read)], &[u1]);
    task(&mut g, NodeKind::Task, &[(u1, Label::Read)], &[]);
    assert_eq!(summarise(&g), [(u, Access::Update)]);
}

#[test]
fn overlapping_reads_stay_apart_and_overlapping_writes_meet_in_the_container() {
    let (regions, [u, b0, b1, middle]) = blocks();
    let mut g = Graph::new(regions);
    let [x0, m0] = [b0, middle].map(|r| g.add_data("", r));
    task(&mut g, NodeKind::Task, &[(x0, Label::Read)], &[]);
    task(&mut g, NodeKind::Task, &[(m0, Label::Read)], &[]);
    assert_eq!(summarise(&g), [(b0, Access::Read), (middle, Access::Read)]);

    let [x1, m1, y0] = [b0, middle, b1].map(|r| g.add_data("", r));
    task(&mut g, NodeKind::Task, &[(x0, Label::Discard)], &[x1]);
    task(&mut g, NodeKind::Task, &[(m0, Label::Discard)], &[m1]);
    task(&mut g, NodeKind::Task, &[(y0, Label::Read)], &[]);
    assert_eq!(summarise(&g), [(u, Access::Update)], "the middle ties both blocks together");
}

#[test]
fn overlapping_reductions_with_one_operator_reduce_the_container() {
    let (regions, [u, b0, _, middle]) = blocks();
    let mut g = Graph::new(regions);
    let [x0, x1, m0, m1] = [b0, b0, middle, middle].map(|r| g.add_data("", r));
    reduce(&mut g, x0, "+", x1);
    reduce(&mut g, m0, "+", m1);
    assert_eq!(summarise(&g), [(u, Access::Reduce("+"))]);
}

#[test]
fn without_a_common_container_the_parts_are_updated() {
    let mut regions = Regions::new();
    let cells = regions.space("cells", 10).unwrap();
    let u = regions.field("u", cells).unwrap();
    let parts =
        regions.partition("parts", cells, Pieces::lists([IndexSet::range(0, 6), IndexSet::range(4, 10)])).unwrap();
    let [a, b] = [0, 1].map(|i| {
        let piece = regions.piece(parts, i);
        regions.region(u, piece).unwrap()
    });
    let mut g = Graph::new(regions);
    let [a0, a1, b0, b1] = [a, a, b, b].map(|r| g.add_data("", r));
    task(&mut g, NodeKind::Task, &[(a0, Label::Discard)], &[a1]);
    task(&mut g, NodeKind::Task, &[(b0, Label::Discard)], &[b1]);
    let body = Body::new(Control::Call, g.clone());
    assert_eq!(summarise_body(&body), [(a, Access::Update), (b, Access::Update)]);
}

#[test]
fn what_may_not_run_does_not_surely_write() {
    let (regions, ids) = disjoint(&["A", "flag"]);
    let mut g = Graph::new(regions);
    let [a0, a1] = [0, 0].map(|i: usize| g.add_data("", ids[i]));
    task(&mut g, NodeKind::Task, &[(a0, Label::Discard)], &[a1]);
    let empty = Graph::new(g.shared_regions());
    let summary = |control: Control| {
        summarise_body(&Body::new(control, g.clone())).into_iter().map(|(_, a)| format!("{a:?}")).collect::<Vec<_>>()
    };
    assert_eq!(summary(Control::Call), ["Write"]);
    assert_eq!(summary(Control::Repeat(2)), ["Write"]);
    assert_eq!(summary(Control::Repeat(0)), ["Update"]);
    assert_eq!(summary(Control::While(ids[1])), ["Update", "Read"]);
    assert_eq!(summary(Control::If(ids[1])), ["Update", "Read"]);
    let both = Body::new(Control::If(ids[1]), g.clone()).with_otherwise(g.clone());
    assert_eq!(summarise_body(&both), [(ids[0], Access::Write), (ids[1], Access::Read)]);
    let one = Body::new(Control::If(ids[1]), empty).with_otherwise(g);
    assert_eq!(summarise_body(&one), [(ids[0], Access::Update), (ids[1], Access::Read)]);
}

#[test]
fn a_hundred_thousand_pieces_meet_in_near_linear_time() {
    let mut regions = Regions::new();
    let cells = regions.space("cells", 200_000).unwrap();
    let u = regions.field("u", cells).unwrap();
    let whole = regions.whole(u);
    let pieces = 100_000;
    let blocks = regions.partition("blocks", cells, Pieces::equal(pieces)).unwrap();
    let ids: Vec<RegionId> = (0..pieces)
        .map(|i| {
            let piece = regions.piece(blocks, i);
            regions.region(u, piece).unwrap()
        })
        .collect();
    let mut g = Graph::new(regions);
    let u0 = g.add_data("", whole);
    task(&mut g, NodeKind::Task, &[(u0, Label::Read)], &[]);
    for r in ids {
        let [v0, v1] = [0, 1].map(|_| g.add_data("", r));
        task(&mut g, NodeKind::Task, &[(v0, Label::Discard)], &[v1]);
    }
    assert_eq!(summarise(&g), [(whole, Access::Update)]);
}
