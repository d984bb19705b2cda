//! The evaluator of meanings tells graphs apart, and only those that compute something else.

use crate::support::meaning::{assert_same_meaning, final_values};
use drawloom_graph::{Body, Control, Graph, Label, NodeId, NodeKind, RegionId, Regions};

fn two() -> (Regions, RegionId, RegionId) {
    let mut regions = Regions::new();
    let a = regions.abstract_region("A").expect("a fresh name");
    let b = regions.abstract_region("B").expect("a fresh name");
    regions.add_disjoint(a, b);
    (regions, a, b)
}

/// Adds a task that updates a region, and returns the new version.
fn update(graph: &mut Graph, name: &str, from: NodeId) -> NodeId {
    let region = graph.region(from).expect("a version of a region");
    let task = graph.add_compute(name, NodeKind::Task);
    let to = graph.add_data("", region);
    graph.connect(from, task, Label::Read);
    graph.connect(task, to, Label::Write);
    to
}

#[test]
fn independent_tasks_in_another_order_mean_the_same() {
    let (regions, a, b) = two();
    let mut one = Graph::new(regions.clone());
    let (a0, b0) = (one.add_data("", a), one.add_data("", b));
    update(&mut one, "f", a0);
    update(&mut one, "g", b0);
    let mut other = Graph::new(regions);
    let (b0, a0) = (other.add_data("", b), other.add_data("", a));
    update(&mut other, "g", b0);
    update(&mut other, "f", a0);
    assert_same_meaning(&one, &other);
}

#[test]
fn dependent_tasks_in_another_order_mean_something_else() {
    let (regions, a, _) = two();
    let chain = |names: [&str; 2]| {
        let mut graph = Graph::new(regions.clone());
        let mut at = graph.add_data("", a);
        for name in names {
            at = update(&mut graph, name, at);
        }
        final_values(&graph)
    };
    assert_ne!(chain(["f", "g"]), chain(["g", "f"]));
    assert_eq!(chain(["f", "g"]), chain(["f#2", "g"]), "a suffix only tells two calls of one task apart");
}

#[test]
fn a_repeat_means_its_unrolled_copies() {
    let (regions, a, _) = two();
    let mut unrolled = Graph::new(regions);
    let mut at = unrolled.add_data("", a);
    for _ in 0..3 {
        at = update(&mut unrolled, "f", at);
    }
    let mut body = Graph::new(unrolled.shared_regions());
    let start = body.add_data("", a);
    update(&mut body, "f", start);
    let mut rolled = Graph::new(unrolled.shared_regions());
    let start = rolled.add_data("", a);
    update(&mut rolled, "loop", start);
    let node = rolled.find("loop").expect("the task just added");
    rolled.set_body(node, Body::new(Control::Repeat(3), body.clone()));
    assert_same_meaning(&unrolled, &rolled);
    rolled.set_body(node, Body::new(Control::Repeat(2), body));
    assert_ne!(final_values(&unrolled), final_values(&rolled));
}

#[test]
fn reductions_with_one_operator_commute_and_with_two_do_not() {
    use crate::support::meaning::fold;
    assert_eq!(fold(fold(5, 6, "+"), 7, "+"), fold(fold(5, 7, "+"), 6, "+"));
    assert_ne!(fold(fold(5, 6, "+"), 7, "*"), fold(fold(5, 7, "*"), 6, "+"));
    assert_eq!(fold(5, 0, "+"), 5, "the permutation is undone");
}
