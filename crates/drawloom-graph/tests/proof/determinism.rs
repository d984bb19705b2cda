//! Same input, same bytes out.

use crate::support::random::{self, programs, worlds};
use drawloom_graph::{Diagnostic, Graph, IndexSet, Regions, Rule};
use drawloom_lang::json;

/// Everything that is made from a graph, as text.
fn everything(graph: &Graph) -> String {
    let order = graph.order();
    let launches = order.as_ref().map(|o| graph.launches(&o.tasks)).unwrap_or_default();
    let profile = order.as_ref().ok().map(|o| graph.profile(o));
    format!("{:?}\n{order:?}\n{launches:?}\n{profile:?}\n{}", graph.check(), json::write(graph))
}

#[test]
fn a_graph_made_twice_gives_the_same_bytes() {
    for case in 0..1000 {
        // Two tables built anew: nothing may depend on addresses or on the state of a hash.
        let [one, two] = [(); 2].map(|()| random::graph(&mut random::seeded("bytes", case)));
        assert_eq!(one, two, "case {case}: the generator is deterministic");
        assert_eq!(everything(&one), everything(&two), "case {case}");
        assert_eq!(everything(&one), everything(&one), "case {case}, asked twice");
    }
}

#[test]
fn a_program_built_twice_gives_the_same_graph() {
    for case in 0..300 {
        let [one, two] = [(); 2].map(|()| {
            let mut rng = random::seeded("builds", case);
            let world = worlds::world(&mut rng);
            let (builder, refused) = programs::program(&mut rng, &world, 12, 2).build();
            let reasons: Vec<String> = refused.iter().map(|(_, why)| why.message.clone()).collect();
            (builder.finish(), reasons)
        });
        assert_eq!(one, two, "case {case}");
        assert_eq!(everything(&one.0), everything(&two.0), "case {case}");
    }
}

#[test]
fn reading_what_was_written_gives_the_same_violations_and_the_same_bytes() {
    for case in 0..1000 {
        let graph = random::graph(&mut random::seeded("read", case));
        let text = json::write(&graph);
        let again = json::read(text.as_bytes()).unwrap_or_else(|e| panic!("case {case}: {e}\n{text}"));
        assert_eq!(json::write(&again), text, "case {case}");
        if !exceeds_facts(graph.regions()) {
            assert_eq!(violations(&again), violations(&graph), "case {case}\n{text}");
        }
    }
}

/// The violations by name. Warnings are left out: JSON states facts and not indices, so it cannot say that the pieces of a
/// Close are all there are (W3).
fn violations(graph: &Graph) -> Vec<(Rule, Vec<String>)> {
    let names = |d: &Diagnostic| d.nodes.iter().map(|n| graph.name(*n).into_owned()).collect();
    graph.check().violations.iter().map(|d| (d.rule, names(d))).collect()
}

/// Whether facts cannot say what the indices say: two regions with the same indices lie in each other, which as facts would
/// be a cycle, and an empty one lies in regions that are disjoint (both RG2).
fn exceeds_facts(regions: &Regions) -> bool {
    let inside = |a, b| regions.is_subregion(a, b);
    let is_empty = |r| regions.indices(regions.space_of(r)).is_some_and(IndexSet::is_empty);
    regions.ids().any(|a| is_empty(a) || regions.ids().any(|b| a != b && inside(a, b) && inside(b, a)))
}
