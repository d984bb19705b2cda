//! Confirms a diagnostic from first principles: searches, edges and facts, and nothing of the check that made it.
use drawloom_graph::{Because, Diagnostic, Fact, Graph, Inconsistency, NodeId, NodeKind, OrderStep, Rule, Witness};
use drawloom_graph::{Label, Label::*};

/// Whether the finding is true of the graph, or of the one inside the control nodes that the diagnostic names.
pub(crate) fn confirm(graph: &Graph, d: &Diagnostic) -> bool {
    let mut graphs = vec![graph];
    for node in &d.scope {
        graphs = graphs.iter().filter_map(|g| g.body(*node)).flat_map(|b| b.graphs()).collect();
    }
    graphs.iter().any(|g| d.nodes.iter().all(|n| n.index() < g.nodes().len()) && witnessed(g, d))
}

fn reaches(graph: &Graph, from: NodeId, to: NodeId) -> bool {
    let mut seen = vec![from];
    while let Some(e) =
        graph.edges().iter().find(|e| e.label != HappensBefore && seen.contains(&e.from) && !seen.contains(&e.to))
    {
        seen.push(e.to);
    }
    seen.contains(&to)
}

fn edge(graph: &Graph, from: NodeId, to: NodeId, labels: &[Label]) -> bool {
    graph.edges().iter().any(|e| e.from == from && e.to == to && labels.contains(&e.label))
}

fn alias(graph: &Graph, a: NodeId, b: NodeId) -> bool {
    graph.regions().may_alias(graph.region(a).unwrap(), graph.region(b).unwrap())
}

fn witnessed(graph: &Graph, d: &Diagnostic) -> bool {
    let (regions, n) = (graph.regions(), &d.nodes);
    let inside = |a, b| regions.is_subregion(a, b);
    let apart = |a, b| regions.facts().iter().any(|f| [Fact::Disjoint(a, b), Fact::Disjoint(b, a)].contains(f));
    let round = |len: usize, joined: &dyn Fn(usize, usize) -> bool| (0..len).all(|i| joined(i, (i + 1) % len));
    match &d.witness {
        Witness::Cycle(c) => !c.is_empty() && round(c.len(), &|i, j| graph.edge(c[i]).to == graph.edge(c[j]).from),
        Witness::Unordered { first: a, second: b, common_ancestor, .. } => {
            let both = |c: NodeId| reaches(graph, c, *a) && reaches(graph, c, *b);
            let later = |c: NodeId| graph.node_ids().any(|o| o != c && both(o) && reaches(graph, c, o));
            let nearest = common_ancestor.map_or(!graph.node_ids().any(both), |c| both(c) && !later(c));
            alias(graph, *a, *b) && nearest && !both(*a) && !both(*b)
        }
        Witness::Overlap { .. } => {
            let label = if d.rule == Rule::W4 { Discard } else { Read };
            alias(graph, n[1], n[2]) && edge(graph, n[1], n[0], &[label]) && edge(graph, n[2], n[0], &[Read])
        }
        Witness::Facts(Inconsistency::Undeclared(r)) => !regions.is_declared(*r),
        Witness::Facts(Inconsistency::Cycle(c)) => {
            round(c.len(), &|i, j| regions.facts().contains(&Fact::Subregion(c[i], c[j])))
        }
        Witness::Facts(Inconsistency::DisjointFromAncestor(r, a)) => apart(*r, *a) && inside(*r, *a),
        Witness::Facts(Inconsistency::DisjointAncestors(r, a, b)) => apart(*a, *b) && inside(*r, *a) && inside(*r, *b),
        Witness::Order(s) => {
            !s.is_empty() && round(s.len(), &|i, j| s[i].after == s[j].before && ordered(graph, &s[i]))
        }
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
                ends && alias(graph, *d, *w) && !reaches(graph, *w, *d)
            }
            _ => false,
        }
}
