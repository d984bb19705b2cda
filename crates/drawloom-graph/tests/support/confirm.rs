//! Confirms a diagnostic from first principles: searches, edges and facts, and nothing of the check that made it.
use drawloom_graph::{Label::*, *};

/// Whether the finding is true of the graph, or of the one inside the control nodes that the diagnostic names.
pub(crate) fn confirm(graph: &Graph, d: &Diagnostic) -> bool {
    let mut graphs = vec![graph];
    for node in &d.scope {
        graphs = graphs.iter().filter_map(|g| g.body(*node)).flat_map(|b| b.graphs()).collect();
    }
    graphs.iter().any(|g| d.nodes.iter().all(|n| n.index() < g.nodes().len()) && witnessed(g, d))
}

/// For each node, whether dataflow leads from the start to it, or, backwards, from it to the start.
fn search(graph: &Graph, start: NodeId, backwards: bool) -> Vec<bool> {
    let (mut seen, mut stack) = (vec![false; graph.nodes().len()], vec![start]);
    while let Some(n) = stack.pop() {
        if !std::mem::replace(&mut seen[n.index()], true) {
            let ends = graph.edges().iter().filter(|e| e.label != HappensBefore);
            let ends = ends.map(|e| if backwards { (e.to, e.from) } else { (e.from, e.to) });
            stack.extend(ends.filter(|(at, _)| *at == n).map(|(_, next)| next));
        }
    }
    seen
}

fn edge(graph: &Graph, from: NodeId, to: NodeId, labels: &[Label]) -> bool {
    graph.edges().iter().any(|e| e.from == from && e.to == to && labels.contains(&e.label))
}

fn alias(graph: &Graph, a: NodeId, b: NodeId) -> bool {
    graph.region(a).zip(graph.region(b)).is_some_and(|(a, b)| graph.regions().may_alias(a, b))
}

fn witnessed(graph: &Graph, d: &Diagnostic) -> bool {
    let (regions, n) = (graph.regions(), &d.nodes);
    let inside = |a, b| regions.is_subregion(a, b);
    let fact = |fact: Fact| regions.facts().contains(&fact);
    let apart = |a, b| fact(Fact::Disjoint(a, b)) || fact(Fact::Disjoint(b, a));
    let round = |len: usize, step: &dyn Fn(usize, usize) -> bool| len > 0 && (0..len).all(|i| step(i, (i + 1) % len));
    match &d.witness {
        Witness::Cycle(c) => round(c.len(), &|i, j| graph.edge(c[i]).to == graph.edge(c[j]).from),
        Witness::Unordered { first: a, second: b, common_ancestor, .. } => {
            let (above_a, above_b) = (search(graph, *a, true), search(graph, *b, true));
            let both = |c: &NodeId| above_a[c.index()] && above_b[c.index()];
            let later = |c, o: &NodeId| c != *o && both(o) && search(graph, c, false)[o.index()];
            let nearest = |c: NodeId| both(&c) && !graph.node_ids().any(|o| later(c, &o));
            let nearest = common_ancestor.map_or(!graph.node_ids().any(|c| both(&c)), nearest);
            alias(graph, *a, *b) && nearest && !both(a) && !both(b)
        }
        Witness::Overlap { .. } => {
            let label = if d.rule == Rule::W4 { Discard } else { Read };
            alias(graph, n[1], n[2]) && edge(graph, n[1], n[0], &[label]) && edge(graph, n[2], n[0], &[Read])
        }
        Witness::Facts(Inconsistency::Undeclared(r)) => !regions.is_declared(*r),
        Witness::Facts(Inconsistency::Cycle(c)) => round(c.len(), &|i, j| fact(Fact::Subregion(c[i], c[j]))),
        Witness::Facts(Inconsistency::DisjointFromAncestor(r, a)) => apart(*r, *a) && inside(*r, *a),
        Witness::Facts(Inconsistency::DisjointAncestors(r, a, b)) => apart(*a, *b) && inside(*r, *a) && inside(*r, *b),
        Witness::Order(s) => round(s.len(), &|i, j| s[i].after == s[j].before && ordered(graph, &s[i])),
        // Nothing but nodes and edges is claimed: the naive rules of the oracle look at those.
        _ => !d.nodes.is_empty(),
    }
}

/// Whether a path of edges, or rule E, puts one task before the other.
pub(crate) fn ordered(graph: &Graph, step: &OrderStep) -> bool {
    let tasks = step.before != step.after && [step.before, step.after].iter().all(|n| graph.kind(*n) == NodeKind::Task);
    tasks
        && match &step.because {
            Because::Flow(p) => {
                p[0] == step.before
                    && p.ends_with(&[step.after])
                    && p.windows(2).all(|p| edge(graph, p[0], p[1], &Label::ALL))
            }
            Because::Overwrites { reads: d, writes: w } => {
                let ends = edge(graph, *d, step.before, &[Read]) && edge(graph, step.after, *w, &[Write, Reduce]);
                ends && alias(graph, *d, *w) && !search(graph, *w, false)[d.index()]
            }
        }
}
