//! Outlining and inlining: together they are the identity, and each keeps the meaning.

mod support;

use drawloom_graph::pass::{Refusal, RefusalKind, inline, outline, renumber};
use drawloom_graph::{Control, Graph, Label, NodeId, NodeKind, RegionId, Regions, Rule};
use support::meaning::assert_same_meaning;
use support::random;

fn show(graph: &Graph) -> String {
    random::sketch::Sketch::from_graph(graph).describe()
}

/// The original, with the nodes that an outlining took moved to the place of the first chosen one.
fn gathered(graph: &Graph, chosen: &[NodeId], outlined: &Graph) -> Graph {
    let left: std::collections::BTreeSet<String> = outlined.node_ids().map(|n| outlined.name(n).into_owned()).collect();
    let moved = |n: &NodeId| chosen.contains(n) || !left.contains(&*graph.name(*n));
    let first = *chosen.iter().min().expect("something was chosen");
    let mut order: Vec<NodeId> = Vec::new();
    for node in graph.node_ids() {
        if node == first {
            order.extend(graph.node_ids().filter(moved));
        } else if !moved(&node) {
            order.push(node);
        }
    }
    renumber(graph, &order).unwrap()
}

#[test]
fn outline_then_inline_is_the_identity_on_random_graphs() {
    let (mut done, mut refused) = (0, 0);
    for case in 0..random::cases(3_000) {
        let mut rng = random::seeded("outline", case);
        let graph = random::valid_graph(&mut rng);
        let compute: Vec<NodeId> = graph.node_ids().filter(|n| graph.kind(*n).is_compute()).collect();
        if compute.is_empty() {
            continue;
        }
        let mut chosen: Vec<NodeId> = compute.iter().copied().filter(|_| rng.u8(..) < 110).collect();
        if chosen.is_empty() {
            chosen.push(compute[rng.usize(..compute.len())]);
        }
        let outlined = match outline(&graph, &chosen, "phase") {
            Ok(outlined) => outlined,
            Err(refusal) => {
                assert!(matches!(refusal.kind(), RefusalKind::NotConvex | RefusalKind::Breaks), "{case}: {refusal}");
                refused += 1;
                continue;
            }
        };
        assert!(outlined.check().is_valid());
        assert_same_meaning(&graph, &outlined);
        let call = outlined.find("phase").expect("the call has the name it was given");
        assert_eq!(outlined.body(call).unwrap().control, Control::Call);
        let back = inline(&outlined, call).unwrap_or_else(|r| panic!("case {case}: {r}"));
        let expected = gathered(&graph, &chosen, &outlined);
        assert!(back == expected, "case {case}: not the identity\n{}\nbut\n{}", show(&expected), show(&back));
        done += 1;
    }
    assert!(done > refused / 4, "the test must not live on refusals: {done} outlined, {refused} refused");
}
