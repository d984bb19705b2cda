//! The checks on the examples of the RDIR document, written by hand.

use drawloom_graph::{Because, Graph, Label, NodeKind, Regions, Rule, Witness};

fn disjoint(names: &[&str]) -> (Regions, Vec<drawloom_graph::RegionId>) {
    let mut regions = Regions::new();
    let ids: Vec<_> = names.iter().map(|n| regions.abstract_region(*n).unwrap()).collect();
    for (i, &a) in ids.iter().enumerate() {
        ids[i + 1..].iter().for_each(|&b| regions.add_disjoint(a, b));
    }
    (regions, ids)
}

#[test]
fn the_swap_of_the_rdir_document_is_not_serialisable() {
    let (regions, ids) = disjoint(&["A", "B"]);
    let mut g = Graph::new(regions);
    let [a0, b0, a1, b1] = [("A0", 0), ("B0", 1), ("A1", 0), ("B1", 1)].map(|(n, r)| g.add_data(n, ids[r]));
    let [t1, t2] = ["t1", "t2"].map(|n| g.add_compute(n, NodeKind::Task));
    for t in [t1, t2] {
        g.connect(a0, t, Label::Read);
        g.connect(b0, t, Label::Read);
    }
    g.connect(t1, a1, Label::Write);
    g.connect(t2, b1, Label::Write);
    let report = g.check();
    assert_eq!(report.violations.len(), 1, "{report:?}");
    assert_eq!(report.violations[0].rule, Rule::S1);
    assert_eq!(
        report.violations[0].message,
        "no serial order reproduces the dataflow: t1 must run before t2 because t1 reads B (version 0) and t2 overwrites B; \
         t2 must run before t1 because t2 reads A (version 0) and t1 overwrites A"
    );
    let Witness::Order(steps) = &report.violations[0].witness else { panic!("an S1 has an order as its witness") };
    assert!(steps.iter().all(|s| matches!(s.because, Because::Overwrites { .. })));
}

#[test]
fn a_reader_of_the_old_version_is_ordered_before_the_next_writer() {
    let (regions, ids) = disjoint(&["A", "B"]);
    let mut g = Graph::new(regions);
    let c = g.add_compute("C", NodeKind::Task);
    let x = g.add_compute("X", NodeKind::Task);
    let [a0, a1, b0, b1] = [("A0", 0), ("A1", 0), ("B0", 1), ("B1", 1)].map(|(n, r)| g.add_data(n, ids[r]));
    g.connect(a0, c, Label::Read);
    g.connect(c, a1, Label::Write);
    g.connect(a0, x, Label::Read);
    g.connect(b0, x, Label::Discard);
    g.connect(x, b1, Label::Write);
    let order = g.order().unwrap();
    assert_eq!(order.happens_before, [(x, c)]);
    assert_eq!(order.tasks, [x, c]);
}

#[test]
fn a_builder_over_contradictory_facts_refuses_every_call() {
    let mut regions = Regions::new();
    let [a, b, c] = ["A", "B", "C"].map(|n| regions.abstract_region(n).unwrap());
    regions.add_subregion(a, b);
    regions.add_subregion(b, c);
    regions.add_subregion(c, a);
    let mut builder = drawloom_graph::Builder::new(regions);
    let refused = builder.call("t", &[(a, drawloom_graph::Access::Read)]).unwrap_err();
    assert_eq!(refused.rule, Rule::RG2);
    assert_eq!(refused.message, "A is a subregion of B, which is a subregion of C, which is a subregion of A");
}

#[test]
fn regions_without_facts_all_alias_and_are_not_compared_pair_by_pair() {
    let mut regions = Regions::new();
    let ids: Vec<_> = (0..20_000).map(|i| regions.abstract_region(format!("r{i}")).unwrap()).collect();
    let mut g = Graph::new(regions);
    for &region in &ids {
        let task = g.add_compute("", NodeKind::Task);
        let [old, new] = [(); 2].map(|()| g.add_data("", region));
        g.connect(old, task, Label::Read);
        g.connect(task, new, Label::Write);
    }
    let report = g.check();
    assert!(report.violations.iter().all(|d| d.rule == Rule::RF2));
    assert_eq!(report.violations.len(), 1000, "as many as are listed of one rule");
    assert!(report.unlisted > 10_000, "nearly every version is unordered with the one before it: {}", report.unlisted);
}
