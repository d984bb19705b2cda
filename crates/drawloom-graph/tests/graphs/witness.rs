//! Witnesses: every one is confirmed, and a cycle of S1 is a shortest one.

use crate::support::{confirm::confirm, proof, random};
use drawloom_graph::{Diagnostic, Rule, Witness};

#[test]
fn every_cycle_of_tasks_is_a_shortest_one() {
    let mut compared = 0;
    for case in 0..random::cases(6000) {
        let graph = random::graph(&mut random::seeded("witness", case));
        for d in graph.check().violations.iter().filter(|d| d.rule == Rule::S1) {
            let Witness::Order(steps) = &d.witness else { panic!("case {case}: S1 is witnessed by an order") };
            assert!(proof::uses_exact_rule(steps), "case {case}: dataflow alone makes no cycle");
            assert_eq!(d.nodes, steps.iter().map(|s| s.before).collect::<Vec<_>>(), "case {case}");
            if let Err(why) = proof::is_shortest(&graph, d) {
                let longer =
                    |g: &drawloom_graph::Graph| g.check().violations.iter().any(|d| proof::is_shortest(g, d).is_err());
                let small = random::sketch::Sketch::from_graph(&graph).shrink(longer);
                panic!("case {case}: {why}\nthe smallest graph that fails:\n{}", small.describe());
            }
            compared += 1;
        }
    }
    assert!(compared > 100, "only {compared} witnesses were compared");
}

#[test]
fn the_confirmation_refuses_witnesses_of_other_graphs() {
    let (mut refused, mut asked) = (0, 0);
    let mut strangers: Vec<Diagnostic> = Vec::new();
    for case in 0..400 {
        let graph = random::graph(&mut random::seeded("refuse", case));
        let own = graph.check().violations;
        let could_fit = |d: &&Diagnostic| {
            let structured = matches!(d.witness, Witness::Unordered { .. } | Witness::Order(_) | Witness::Cycle(_));
            structured
                && d.edges.iter().all(|e| e.index() < graph.edges().len())
                && own.iter().all(|o| o.nodes != d.nodes)
        };
        for stranger in strangers.iter().filter(could_fit) {
            asked += 1;
            refused += u64::from(!confirm(&graph, stranger));
        }
        strangers = own;
    }
    assert!(asked > 50, "only {asked} witnesses could have been taken for one of the next graph");
    assert_eq!(refused, asked, "a witness that is none of the graph's own was confirmed");
}
