//! Every pass, on random graphs and programs: the result is valid, means the same, and is the same every time.

use crate::support::meaning::{assert_same_meaning, final_values_in};
use crate::support::random;
use drawloom_graph::pass::{
    ImpliedBy, Liveness, RefusalKind, eliminate_dead, fuse, fuse_chains, reduce_orders, simplify,
};
use drawloom_graph::{Graph, Label, NodeId, NodeKind, RegionId, Rule};
use fastrand::Rng;

/// A random valid graph: raw, or built from a program with control nodes.
fn any_graph(family: &str, case: u64) -> (Rng, Graph) {
    let mut rng = random::seeded(family, case);
    // Where reducers do not agree on what they fold into, the serial orders of one graph differ in what they leave behind.
    let agrees = |graph: &Graph| !graph.check().warnings.iter().any(|w| w.rule == Rule::W5);
    if rng.bool() {
        let world = random::worlds::world(&mut rng);
        let steps = rng.usize(1..10);
        let graph = random::programs::program(&mut rng, &world, steps, 2).build().0.finish();
        if graph.check().is_valid() {
            return (rng, graph);
        }
    }
    loop {
        let graph = random::valid_graph(&mut rng);
        if agrees(&graph) {
            return (rng, graph);
        }
    }
}

fn show(graph: &Graph) -> String {
    random::sketch::Sketch::from_graph(graph).describe()
}

fn confirm(pass: &str, case: u64, before: &Graph, after: &Graph) {
    let report = after.check();
    let found: Vec<_> = report.violations.iter().map(|d| format!("{}: {}", d.rule, d.message)).collect();
    assert!(found.is_empty(), "{pass}, case {case}: {found:?}\n{}\nbecame\n{}", show(before), show(after));
    let same = std::panic::catch_unwind(|| assert_same_meaning(before, after));
    assert!(same.is_ok(), "{pass}, case {case}: another meaning\n{}\nbecame\n{}", show(before), show(after));
}

/// Whether the toy memory holds values that cannot exist and that dead-task elimination rightly forgets: it has one where a
/// region meets itself, outside pieces that fill it and outside a region of the same indices, and one in an empty piece.
fn has_impossible_values(graph: &Graph) -> bool {
    let regions = graph.regions();
    let empty = |r: RegionId| regions.indices(regions.space_of(r)).is_some_and(drawloom_graph::IndexSet::is_empty);
    let twins = |r: RegionId| regions.ids().any(|s| r != s && regions.is_subregion(r, s) && regions.is_subregion(s, r));
    regions.ids().any(|r| empty(r) || twins(r)) || has_filled_close(graph)
}

/// Whether some Close reads, beside a version of what it writes, pieces that fill it.
fn has_filled_close(graph: &Graph) -> bool {
    let regions = graph.regions();
    let filled = |close: NodeId| {
        let written = graph.edges().iter().find(|e| e.from == close).and_then(|e| graph.region(e.to)).unwrap();
        let reads = || graph.edges().iter().filter(|e| e.to == close && e.label == Label::Read);
        let parts: Vec<RegionId> = reads().filter_map(|e| graph.region(e.from)).collect();
        let partitions = regions.partitions_of(regions.space_of(written));
        let full = partitions.iter().filter(|p| regions.is_complete(**p)).any(|p| {
            (0..regions.piece_count(*p)).all(|c| parts.iter().any(|r| regions.space_of(*r) == regions.piece(*p, c)))
        });
        let runs = parts.iter().filter(|r| **r != written).filter_map(|r| regions.indices(regions.space_of(*r)));
        let union = drawloom_graph::IndexSet::from_runs(runs.flat_map(|s| s.runs().iter().copied()));
        parts.contains(&written)
            && (full || regions.indices(regions.space_of(written)).is_some_and(|whole| union.contains_set(whole)))
    };
    graph.node_ids().filter(|n| graph.kind(*n) == NodeKind::Close).any(filled)
        || graph.bodies().flat_map(|(_, body)| body.graphs()).any(has_filled_close)
}

/// All tasks, those in nested graphs included.
fn task_count(graph: &Graph) -> usize {
    let nested = graph.bodies().flat_map(|(_, body)| body.graphs()).map(task_count);
    graph.tasks().count() + nested.sum::<usize>()
}

fn count(graph: &Graph, kind: NodeKind) -> usize {
    graph.nodes().iter().filter(|n| n.kind() == kind).count()
}

#[test]
fn dead_task_elimination_keeps_what_is_observed() {
    let mut removed = 0;
    for case in 0..random::cases(2_500) {
        let (mut rng, graph) = any_graph("dead", case);
        if has_impossible_values(&graph) {
            continue;
        }
        let after = eliminate_dead(&graph, &Liveness::all()).unwrap();
        confirm("dead", case, &graph, &after);
        assert!(task_count(&after) <= task_count(&graph));
        assert_eq!(eliminate_dead(&after, &Liveness::all()).unwrap(), after, "case {case}: once is enough");

        let observed: Vec<RegionId> = graph.regions().ids().filter(|_| rng.u8(..) < 80).collect();
        let after = eliminate_dead(&graph, &Liveness::of(&observed)).unwrap();
        assert!(after.check().is_valid());
        let (old, new) = (final_values_in(&graph, &observed), final_values_in(&after, &observed));
        assert!(old == new, "case {case}: {observed:?} differ\n{}\nbecame\n{}", show(&graph), show(&after));
        removed += task_count(&graph) - task_count(&after);
    }
    assert!(removed > 100, "the test must see dead tasks: {removed}");
}

#[test]
fn simplification_keeps_the_meaning_and_only_shrinks() {
    let mut removed = 0;
    for case in 0..random::cases(2_500) {
        let (_, graph) = any_graph("simplify", case);
        let after = simplify(&graph).unwrap();
        confirm("simplify", case, &graph, &after);
        assert_eq!(graph.tasks().count(), after.tasks().count(), "case {case}: tasks stay");
        assert!(after.nodes().len() <= graph.nodes().len());
        removed += graph.nodes().len() - after.nodes().len();
        assert_eq!(simplify(&after).unwrap(), after, "case {case}: once is enough");
    }
    assert!(removed > 100, "the test must see needless Opens and Closes: {removed}");
}

#[test]
fn fusing_two_tasks_keeps_the_meaning_or_is_refused_with_a_witness() {
    let (mut fused, mut refused) = (0, 0);
    for case in 0..random::cases(2_500) {
        let (mut rng, graph) = any_graph("fuse", case);
        let tasks: Vec<NodeId> = graph.tasks().collect();
        if tasks.len() < 2 {
            continue;
        }
        let (a, b) = (tasks[rng.usize(..tasks.len())], tasks[rng.usize(..tasks.len())]);
        match fuse(&graph, a, b) {
            Ok(after) => {
                confirm("fuse", case, &graph, &after);
                assert_eq!(after.tasks().count() + 1, graph.tasks().count());
                let name = format!("{}+{}", graph.name(a), graph.name(b));
                let task = after.find(&name).expect("the fused task is named after both");
                let inside = &after.body(task).expect("a fused task holds both").graph;
                assert_eq!(inside.tasks().count(), 2);
                fused += 1;
            }
            Err(refusal) => {
                refused += 1;
                match refusal.kind() {
                    RefusalKind::NotConvex => confirm_path(&graph, refusal.path(), [a, b]),
                    RefusalKind::Breaks => assert!(!refusal.report().unwrap().is_valid()),
                    RefusalKind::WrongNode => assert_eq!(a, b),
                    kind => panic!("case {case}: {kind:?}: {refusal}"),
                }
            }
        }
    }
    assert!(fused > 100 && refused > 100, "both must happen: {fused} fused, {refused} refused");
}

/// The witness really leads from one of two nodes to one of them, through another compute node.
fn confirm_path(graph: &Graph, path: &[NodeId], ends: [NodeId; 2]) {
    assert!(ends.contains(&path[0]) && ends.contains(&path[path.len() - 1]));
    for step in path.windows(2) {
        assert!(graph.edges().iter().any(|e| e.from == step[0] && e.to == step[1]), "{step:?} is no edge");
    }
    let inner = &path[1..path.len() - 1];
    assert!(inner.iter().any(|n| graph.kind(*n).is_compute()) && inner.iter().all(|n| !ends.contains(n)));
}

#[test]
fn fusing_chains_keeps_the_meaning_and_never_adds_a_task() {
    let mut fused = 0;
    for case in 0..random::cases(2_500) {
        let (_, graph) = any_graph("chains", case);
        let after = fuse_chains(&graph).unwrap();
        confirm("fuse_chains", case, &graph, &after);
        assert!(after.tasks().count() <= graph.tasks().count());
        fused += graph.tasks().count() - after.tasks().count();
        // RDIR iterated over hash tables to its fixpoints, so that every run could fuse something else.
        assert_eq!(fuse_chains(&graph).unwrap(), after, "case {case}: the same every time");
        assert_eq!(fuse_chains(&after).unwrap(), after, "case {case}: a fixpoint");
    }
    assert!(fused > 100, "the test must see fusions: {fused}");
}

#[test]
fn reducing_orders_keeps_the_transitive_closure() {
    let mut removed = 0;
    for case in 0..random::cases(2_500) {
        let (mut rng, graph) = any_graph("orders", case);
        let graph = with_orders(&mut rng, graph);
        let after = reduce_orders(&graph, ImpliedBy::Graph).unwrap();
        assert_eq!(closure(&graph), closure(&after), "case {case}");
        let stated = |g: &Graph| g.edges().iter().filter(|e| e.label == Label::HappensBefore).count();
        removed += stated(&graph) - stated(&after);
        // No stated order that is left can go: each adds to the closure.
        for edge in after.edge_ids().filter(|e| after.edge(*e).label == Label::HappensBefore) {
            let without = without_edge(&after, edge.index());
            assert_ne!(closure(&without), closure(&after), "case {case}: edge {edge:?} is needless");
        }
        let least = reduce_orders(&graph, ImpliedBy::Rule).unwrap();
        confirm("reduce_orders", case, &graph, &least);
        assert!(stated(&least) <= stated(&after));
        assert_eq!(required(&graph), required(&least), "case {case}: the rule gives back what was dropped");
    }
    assert!(removed > 100, "the test must see needless orders: {removed}");
}

/// The graph with a few more stated orders that follow its serial order.
fn with_orders(rng: &mut Rng, mut graph: Graph) -> Graph {
    let order = graph.order().unwrap().tasks;
    for _ in 0..rng.usize(..8) {
        let (i, j) = (rng.usize(..order.len().max(1)), rng.usize(..order.len().max(1)));
        if i < j {
            graph.connect(order[i], order[j], Label::HappensBefore);
        }
    }
    graph
}

fn without_edge(graph: &Graph, dropped: usize) -> Graph {
    let mut copy = Graph::new(graph.shared_regions());
    for node in graph.node_ids() {
        copy.add_raw(&graph.name(node), graph.kind(node), graph.region(node));
    }
    for (_, edge) in graph.edges().iter().enumerate().filter(|(at, _)| *at != dropped) {
        copy.connect(edge.from, edge.to, edge.label);
    }
    copy
}

type Relation = Vec<Vec<bool>>;

fn closure(graph: &Graph) -> Relation {
    close(graph.nodes().len(), graph.edges().iter().map(|e| (e.from.index(), e.to.index())))
}

/// The closure over tasks of everything that orders them.
fn required(graph: &Graph) -> Relation {
    let order = graph.order().unwrap();
    assert_eq!(order.barriers, 0);
    let flow = graph.edges().iter().filter(|e| e.label.is_dataflow()).map(|e| (e.from, e.to));
    let pairs = flow.chain(order.happens_before).map(|(a, b)| (a.index(), b.index()));
    close(graph.nodes().len(), pairs)
}

fn close(nodes: usize, pairs: impl Iterator<Item = (usize, usize)>) -> Relation {
    let mut reach = vec![vec![false; nodes]; nodes];
    pairs.for_each(|(a, b)| reach[a][b] = true);
    for k in 0..nodes {
        for i in 0..nodes {
            if reach[i][k] {
                let row = reach[k].clone();
                reach[i].iter_mut().zip(row).for_each(|(x, y)| *x |= y);
            }
        }
    }
    reach
}

#[test]
fn passes_one_after_the_other_keep_the_meaning() {
    let (mut before_ties, mut after_ties) = (0, 0);
    for case in 0..random::cases(1_000) {
        let (_, graph) = any_graph("all", case);
        if has_impossible_values(&graph) {
            continue;
        }
        let mut after = eliminate_dead(&graph, &Liveness::all()).unwrap();
        after = simplify(&after).unwrap();
        after = reduce_orders(&after, ImpliedBy::Rule).unwrap();
        after = fuse_chains(&after).unwrap();
        confirm("all passes", case, &graph, &after);
        before_ties += count(&graph, NodeKind::Open) + count(&graph, NodeKind::Close);
        after_ties += count(&after, NodeKind::Open) + count(&after, NodeKind::Close);
    }
    assert!(after_ties < before_ties);
}
