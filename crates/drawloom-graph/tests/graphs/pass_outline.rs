//! Outlining and inlining: together they are the identity, and each keeps the meaning.

use crate::support::meaning::assert_same_meaning;
use crate::support::random;
use drawloom_graph::pass::{RefusalKind, inline, outline, renumber};
use drawloom_graph::{Body, Control, Edge, Graph, Label, NodeId, NodeKind, RegionId, Regions, Rule};

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
        // Where reducers do not agree on what they fold into, the serial orders of one graph differ in what they leave.
        if !graph.check().warnings.iter().any(|w| w.rule == Rule::W5) {
            let same = std::panic::catch_unwind(|| assert_same_meaning(&graph, &outlined));
            assert!(same.is_ok(), "case {case}: another meaning\n{}\nbecame\n{}", show(&graph), show(&outlined));
        }
        let call = outlined.find("phase").expect("the call has the name it was given");
        assert_eq!(outlined.body(call).unwrap().control, Control::Call);
        let back = inline(&outlined, call).unwrap_or_else(|r| panic!("case {case}: {r}"));
        let expected = gathered(&graph, &chosen, &outlined);
        assert!(back == expected, "case {case}: not the identity\n{}\nbut\n{}", show(&expected), show(&back));
        done += 1;
    }
    assert!(done > refused / 4, "the test must not live on refusals: {done} outlined, {refused} refused");
}

/// Disjoint regions, and a graph over them.
fn graph_of(names: &[&str]) -> (Graph, Vec<RegionId>) {
    let mut regions = Regions::new();
    let ids: Vec<RegionId> = names.iter().map(|n| regions.abstract_region(*n).unwrap()).collect();
    for (i, a) in ids.iter().enumerate() {
        ids[..i].iter().for_each(|b| regions.add_disjoint(*a, *b));
    }
    (Graph::new(regions), ids)
}

/// A chain of tasks that each update A: versions and tasks in turn.
fn chain(length: usize) -> (Graph, Vec<NodeId>) {
    let (mut graph, ids) = graph_of(&["A"]);
    let mut version = graph.add_data("A0", ids[0]);
    let mut tasks = Vec::new();
    for i in 1..=length {
        let task = graph.add_compute(&format!("t{i}"), NodeKind::Task);
        let next = graph.add_data(&format!("A{i}"), ids[0]);
        graph.connect(version, task, Label::Read);
        graph.connect(task, next, Label::Write);
        tasks.push(task);
        version = next;
    }
    (graph, tasks)
}

#[test]
fn consecutive_tasks_come_back_exactly_as_they_were() {
    let (graph, tasks) = chain(5);
    let outlined = outline(&graph, &tasks[1..4], "middle").unwrap();
    assert_eq!(outlined.tasks().map(|t| outlined.name(t).into_owned()).collect::<Vec<_>>(), ["t1", "middle", "t5"]);
    let call = outlined.find("middle").unwrap();
    assert_eq!(outlined.cost(call), Some(3.0), "a task without a cost counts as one");
    assert_eq!(outlined.find("A2"), None, "what is replaced inside is hidden");
    assert_eq!(inline(&outlined, call).unwrap(), graph);
}

#[test]
fn a_version_that_is_not_replaced_inside_stays_visible() {
    let (mut graph, ids) = graph_of(&["A", "B"]);
    let [a0, a1] = ["A0", "A1"].map(|n| graph.add_data(n, ids[0]));
    let [b0, b1] = ["B0", "B1"].map(|n| graph.add_data(n, ids[1]));
    let [make, take] = ["make", "take"].map(|n| graph.add_compute(n, NodeKind::Task));
    graph.connect(a0, make, Label::Discard);
    graph.connect(make, a1, Label::Write);
    graph.connect(a1, take, Label::Read);
    graph.connect(b0, take, Label::Discard);
    graph.connect(take, b1, Label::Write);
    let outlined = outline(&graph, &[make, take], "both").unwrap();
    let labels: Vec<(String, Label)> = outlined
        .edges()
        .iter()
        .map(|e| {
            let data = if e.label == Label::Write { e.to } else { e.from };
            (outlined.name(data).into_owned(), e.label)
        })
        .collect();
    let expected = [("A0", Label::Discard), ("B0", Label::Discard), ("A1", Label::Write), ("B1", Label::Write)];
    assert_eq!(labels, expected.map(|(name, label)| (name.to_owned(), label)), "A1 is what A holds in the end");
}

#[test]
fn reductions_stay_reductions_until_their_result_is_read() {
    let (mut graph, ids) = graph_of(&["A", "B"]);
    let [a0, a1] = ["A0", "A1"].map(|n| graph.add_data(n, ids[0]));
    let [b0, b1] = ["B0", "B1"].map(|n| graph.add_data(n, ids[1]));
    let [x, y, look] = ["x", "y", "look"].map(|n| graph.add_compute(n, NodeKind::Task));
    for reducer in [x, y] {
        graph.connect(a0, reducer, Label::Use);
        graph.connect_reduce(reducer, a1, "+");
    }
    graph.connect(a1, look, Label::Read);
    graph.connect(b0, look, Label::Discard);
    graph.connect(look, b1, Label::Write);
    let has = |g: &Graph, from: &str, to: &str, label: Label| {
        g.edges().iter().any(|e| g.name(e.from) == from && g.name(e.to) == to && e.label == label)
    };
    let reduced = outline(&graph, &[x, y], "xy").unwrap();
    assert!(has(&reduced, "A0", "xy", Label::Use) && has(&reduced, "xy", "A1", Label::Reduce));
    let read = outline(&graph, &[x, y, look], "all").unwrap();
    assert!(
        has(&read, "A0", "all", Label::Read) && has(&read, "all", "A1", Label::Write),
        "reduce and read: an update"
    );
}

#[test]
fn a_set_that_a_path_leaves_and_re_enters_is_refused_with_the_path() {
    let (graph, tasks) = chain(3);
    let refusal = outline(&graph, &[tasks[0], tasks[2]], "ends").unwrap_err();
    assert_eq!(refusal.kind(), RefusalKind::NotConvex);
    let names: Vec<_> = refusal.path().iter().map(|n| graph.name(*n).into_owned()).collect();
    assert_eq!(names, ["t1", "A1", "t2", "A2", "t3"]);
    assert_eq!(refusal.to_string(), "the nodes cannot become one: t1 → A1 → t2 → A2 → t3 leaves them and comes back");
}

#[test]
fn a_contraction_that_the_exact_rule_forbids_is_refused_with_its_report() {
    // `first` reads A0, which `between` overwrites, and `last` reads what `between` wrote: no single task can do both.
    let (mut graph, ids) = graph_of(&["A", "B"]);
    let [a0, a1] = ["A0", "A1"].map(|n| graph.add_data(n, ids[0]));
    let [b0, b1] = ["B0", "B1"].map(|n| graph.add_data(n, ids[1]));
    let [first, between, last] = ["first", "between", "last"].map(|n| graph.add_compute(n, NodeKind::Task));
    graph.connect(a0, first, Label::Read);
    graph.connect(b0, first, Label::Discard);
    graph.connect(first, b1, Label::Write);
    graph.connect(a0, between, Label::Discard);
    graph.connect(between, a1, Label::Write);
    graph.connect(a1, last, Label::Read);
    let refusal = outline(&graph, &[first, last], "both").unwrap_err();
    assert_eq!(refusal.kind(), RefusalKind::Breaks);
    assert!(refusal.report().unwrap().violates(Rule::T2), "{refusal}");
}

#[test]
fn stated_orders_find_their_inner_node_again() {
    let (mut graph, tasks) = chain(4);
    let other = graph.add_compute("other", NodeKind::Task);
    graph.connect(other, tasks[2], Label::HappensBefore);
    let outlined = outline(&graph, &tasks[1..3], "middle").unwrap();
    let call = outlined.find("middle").unwrap();
    let other_outside = outlined.find("other").unwrap();
    assert!(outlined.edges().iter().any(|e| e.from == other_outside && e.to == call));
    assert_eq!(inline(&outlined, call).unwrap(), renumber(&graph, &graph.node_ids().collect::<Vec<_>>()).unwrap());

    // Without a port the order is about the whole call: before everything that starts it.
    let mut plain = Graph::new(outlined.shared_regions());
    for node in outlined.node_ids() {
        plain.add_raw(&outlined.name(node), outlined.kind(node), outlined.region(node));
    }
    for edge in outlined.edges() {
        plain.add_edge(Edge::new(edge.from, edge.to, edge.label));
    }
    plain.set_body(call, outlined.body(call).unwrap().clone());
    let inlined = inline(&plain, call).unwrap();
    let [before, t2, t3] = ["other", "t2", "t3"].map(|n| inlined.find(n).unwrap());
    let stated = |to| inlined.edges().contains(&Edge::new(before, to, Label::HappensBefore));
    assert!(stated(t2) && !stated(t3));
}

#[test]
fn bodies_that_touch_pieces_are_opened_from_what_the_call_takes() {
    let mut regions = Regions::new();
    let [whole, left, right] = ["R", "P", "Q"].map(|n| regions.abstract_region(n).unwrap());
    regions.add_subregion(left, whole);
    regions.add_subregion(right, whole);
    regions.add_disjoint(left, right);
    let mut body = Graph::new(regions);
    let [p0, p1] = ["p0", "p1"].map(|n| body.add_data(n, left));
    let work = body.add_compute("work", NodeKind::Task);
    body.connect(p0, work, Label::Read);
    body.connect(work, p1, Label::Write);
    let mut graph = Graph::new(body.shared_regions());
    let [r0, r1] = ["r0", "r1"].map(|n| graph.add_data(n, whole));
    let call = graph.add_compute("call", NodeKind::Task);
    graph.connect(r0, call, Label::Read);
    graph.connect(call, r1, Label::Write);
    graph.set_body(call, Body::new(Control::Call, body));
    let inlined = inline(&graph, call).unwrap();
    assert_same_meaning(&graph, &inlined);
    let kinds = |kind| inlined.nodes().iter().filter(|n| n.kind() == kind).count();
    assert_eq!((kinds(NodeKind::Open), kinds(NodeKind::Close), kinds(NodeKind::Task)), (1, 1, 1));
}

#[test]
fn nodes_that_cannot_be_outlined_or_inlined_are_refused() {
    let (graph, tasks) = chain(2);
    let kind = |refused: Result<Graph, drawloom_graph::pass::Refusal>| refused.unwrap_err().kind();
    assert_eq!(kind(outline(&graph, &[], "nothing")), RefusalKind::WrongNode);
    assert_eq!(kind(outline(&graph, &[NodeId::from_index(0)], "data")), RefusalKind::WrongNode);
    assert_eq!(kind(outline(&graph, &[NodeId::from_index(99)], "nowhere")), RefusalKind::WrongNode);
    assert_eq!(kind(inline(&graph, tasks[0])), RefusalKind::WrongControl);
    assert_eq!(kind(inline(&graph, NodeId::from_index(99))), RefusalKind::WrongNode);
    let mut broken = graph.clone();
    broken.connect(tasks[1], tasks[0], Label::HappensBefore);
    assert_eq!(kind(outline(&broken, &tasks, "cycle")), RefusalKind::Invalid);
    assert_eq!(kind(renumber(&graph, &[tasks[0]])), RefusalKind::WrongNode);
}
