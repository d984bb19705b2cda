//! The confirmation of witnesses can say no.

mod support;

use drawloom_graph::{Diagnostic, Witness};
use support::{confirm::confirm, random};

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
