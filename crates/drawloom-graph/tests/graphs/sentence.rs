//! The sentences that reports are made of.

use drawloom_graph::{Because, Graph, Inconsistency, Label, NodeId, NodeKind, OrderStep, Pieces, Regions, Witness};
use drawloom_graph::{Diagnostic, Report, Rule, Sentences, Versions};

/// RDIR's own example: t1 updates A reading B, t2 updates B reading A.
fn swap() -> Graph {
    let mut regions = Regions::new();
    let (a, b) = (regions.abstract_region("A").unwrap(), regions.abstract_region("B").unwrap());
    regions.add_disjoint(a, b);
    let mut graph = Graph::new(regions);
    let (a0, b0) = (graph.add_data("A0", a), graph.add_data("B0", b));
    let (t1, t2) = (graph.add_compute("t1", NodeKind::Task), graph.add_compute("t2", NodeKind::Task));
    let (a1, b1) = (graph.add_data("A1", a), graph.add_data("B1", b));
    for (data, task) in [(a0, t1), (b0, t1), (a0, t2), (b0, t2)] {
        graph.connect(data, task, Label::Read);
    }
    graph.connect(t1, a1, Label::Write);
    graph.connect(t2, b1, Label::Write);
    graph
}

fn node(graph: &Graph, name: &str) -> NodeId {
    graph.find(name).unwrap()
}

#[test]
fn a_cycle_of_orders_reads_as_two_sentences() {
    let graph = swap();
    let step = |before, after, reads, writes| OrderStep {
        before: node(&graph, before),
        after: node(&graph, after),
        because: Because::Overwrites { reads: node(&graph, reads), writes: node(&graph, writes) },
    };
    let steps = [step("t2", "t1", "A0", "A1"), step("t1", "t2", "B0", "B1")];
    assert_eq!(
        Sentences::new(&graph).steps(&steps),
        "t2 must run before t1 because t2 reads A (version 0) and t1 overwrites A; \
         t1 must run before t2 because t1 reads B (version 0) and t2 overwrites B"
    );
}

#[test]
fn dataflow_reads_backwards_from_what_the_later_task_takes() {
    let mut graph = swap();
    let t3 = graph.add_compute("t3", NodeKind::Task);
    let b1 = node(&graph, "B1");
    graph.connect(b1, t3, Label::Read);
    let t2 = node(&graph, "t2");
    let step = OrderStep { before: t2, after: t3, because: Because::Flow(vec![t2, b1, t3]) };
    assert_eq!(
        Sentences::new(&graph).step(&step),
        "t2 must run before t3 because t3 reads B (version 1), which t2 writes"
    );
}

#[test]
fn flow_through_a_close_names_the_close() {
    let mut regions = Regions::new();
    let (r, c) = (regions.abstract_region("R").unwrap(), regions.abstract_region("C").unwrap());
    regions.add_subregion(c, r);
    let mut graph = Graph::new(regions);
    let write = graph.add_compute("write", NodeKind::Task);
    let c1 = graph.add_data("C1", c);
    let close = graph.add_compute("gather", NodeKind::Close);
    let r1 = graph.add_data("R1", r);
    let show = graph.add_compute("show", NodeKind::Task);
    graph.connect_reduce(write, c1, "+");
    graph.connect(c1, close, Label::Read);
    graph.connect(close, r1, Label::Write);
    graph.connect(r1, show, Label::Discard);
    let step = OrderStep { before: write, after: show, because: Because::Flow(vec![write, c1, close, r1, show]) };
    assert_eq!(
        Sentences::new(&graph).step(&step),
        "write must run before show because show discards R (version 0), which gather makes from C (version 0), \
         which write reduces into"
    );
}

#[test]
fn a_stated_order_says_so() {
    let mut graph = swap();
    let (t1, t2) = (node(&graph, "t1"), node(&graph, "t2"));
    graph.connect(t1, t2, Label::HappensBefore);
    let step = OrderStep { before: t1, after: t2, because: Because::Flow(vec![t1, t2]) };
    assert_eq!(Sentences::new(&graph).step(&step), "t1 must run before t2 because a HappensBefore edge says so");
}

#[test]
fn unordered_versions_name_the_path_in_the_region_tree_and_the_common_ancestor() {
    let mut regions = Regions::new();
    let cells = regions.space("cells", 8).unwrap();
    let u = regions.field("u", cells).unwrap();
    let blocks = regions.partition("blocks", cells, Pieces::equal(2)).unwrap();
    let tiles = regions.partition("tiles", regions.piece(blocks, 1), Pieces::equal(2)).unwrap();
    let whole = regions.whole(u);
    let tile = regions.region(u, regions.piece(tiles, 0)).unwrap();
    let alias = regions.alias(whole, tile);
    let mut graph = Graph::new(regions);
    let (first, second) = (graph.add_data("u1", whole), graph.add_data("t1", tile));
    let start = graph.add_compute("start", NodeKind::Task);
    let witness = Witness::Unordered { first, second, alias, common_ancestor: Some(start) };
    assert_eq!(
        Sentences::new(&graph).witness(&witness),
        [
            "u1 and t1 may alias because u.blocks[1].tiles[0] lies in cells.blocks[1], which lies in u",
            "no path of dataflow leads from u1 to t1, and none leads back",
            "the last node that leads to both is start",
        ]
    );
}

#[test]
fn contradictory_facts_are_told_with_their_regions() {
    let mut regions = Regions::new();
    let [a, b, c] = ["A", "B", "C"].map(|n| regions.abstract_region(n).unwrap());
    let graph = Graph::new(regions);
    let sentences = Sentences::new(&graph);
    let tell = |i: Inconsistency| sentences.inconsistency(&i);
    assert_eq!(
        tell(Inconsistency::Cycle(vec![a, b, c])),
        "A is a subregion of B, which is a subregion of C, which is a subregion of A"
    );
    assert_eq!(tell(Inconsistency::DisjointFromAncestor(a, b)), "A is stated to be disjoint from B, which contains it");
    assert_eq!(tell(Inconsistency::DisjointFromAncestor(a, a)), "A is stated to be disjoint from itself");
    assert_eq!(
        tell(Inconsistency::DisjointAncestors(a, b, c)),
        "A lies in both B and C, which are stated to be disjoint"
    );
    assert_eq!(tell(Inconsistency::Undeclared(c)), "a fact names the region C, which is not declared");
}

#[test]
fn versions_count_along_the_dataflow_and_not_along_the_file() {
    let mut regions = Regions::new();
    let a = regions.abstract_region("A").unwrap();
    let mut graph = Graph::new(regions);
    let later = graph.add_data("later", a);
    let earlier = graph.add_data("earlier", a);
    let task = graph.add_compute("t", NodeKind::Task);
    graph.connect(earlier, task, Label::Read);
    graph.connect(task, later, Label::Write);
    let versions = Versions::new(&graph);
    assert_eq!((versions.of(earlier), versions.of(later), versions.of(task)), (Some(0), Some(1), None));

    graph.connect(later, task, Label::Read);
    let cyclic = Versions::new(&graph);
    assert_eq!((cyclic.of(later), cyclic.of(earlier)), (Some(0), Some(1)), "a cycle leaves the order of the file");
}

#[test]
fn a_report_shows_its_first_violation_and_counts_the_rest() {
    let mut report = Report::default();
    assert_eq!(report.to_string(), "no violations");
    report.violations.push(Diagnostic::new(Rule::T1, "t writes A".to_owned()));
    assert_eq!(report.to_string(), "T1: t writes A");
    report.violations.push(Diagnostic::new(Rule::RF2, "a race".to_owned()));
    report.unlisted = 3;
    assert_eq!(report.to_string(), "T1: t writes A (and 4 more)");
}
