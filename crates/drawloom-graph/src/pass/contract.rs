//! Contraction: a set of nodes becomes one task, a call that holds them.
//!
//! The chosen Tasks, Opens and Closes move into the body of a call, with every version they touch. A version that is made
//! and used up inside, and that is only opened from another or replaced by a newer one made inside, is hidden there. All
//! others stay outside as well: the call takes them and makes them. How, follows from what the nodes inside do with them:
//!
//! * a version from outside is Read when anything inside reads it, opens it, closes it, or reads what was folded into it;
//!   it is Discarded when it only is discarded, and Used when it only is the base of reductions;
//! * a version made inside is Written, or Reduced when it is only reduced inside, from a base outside, and not read there.
//!
//! The set must be convex: no path leaves it and comes back, or the call would have to run before itself. Whether the
//! orders of the exact rule allow it is left to the check, and so is everything else about the contracted graph.
//!
//! HappensBefore edges between a node inside and one outside go to the call.
//!
//! Linear in the graph. Works on one level: the nodes are those of the graph itself, and their own nested
//! graphs move with them untouched.

use rustc_hash::FxHashSet;

use super::edit::{Edit, between, sort_edges};
use super::refusal::{Refusal, RefusalKind};
use super::walk::is_superseded;
use crate::graph::{Body, Control, Edge, Graph, Label, NodeId, NodeKind};

/// Refuses a set of compute nodes that a path leaves and re-enters, with that path.
pub(crate) fn require_convex(graph: &Graph, nodes: &[NodeId]) -> Result<(), Refusal> {
    let edit = Edit::new(graph);
    let inside: FxHashSet<NodeId> = nodes.iter().copied().collect();
    let mut sorted: Vec<NodeId> = inside.iter().copied().collect();
    sorted.sort_unstable();
    // Breadth first from the whole set. A step back into the set counts only after a compute node outside: a version made
    // inside and taken inside is no detour.
    let mut came_from: Vec<Option<NodeId>> = vec![None; graph.nodes().len()];
    let mut left = vec![false; graph.nodes().len()];
    let mut queue: std::collections::VecDeque<NodeId> = sorted.into();
    while let Some(node) = queue.pop_front() {
        for edge in edit.edges_out(node) {
            let next = edge.to;
            if inside.contains(&next) {
                if left[node.index()] {
                    let mut path = vec![next, node];
                    while let Some(before) = came_from[path[path.len() - 1].index()] {
                        path.push(before);
                    }
                    path.reverse();
                    let names: Vec<_> = path.iter().map(|n| graph.name(*n)).collect();
                    let message =
                        format!("the nodes cannot become one: {} leaves them and comes back", names.join(" → "));
                    return Err(Refusal::new(RefusalKind::NotConvex, message).along(path));
                }
                continue;
            }
            let outside = left[node.index()] || graph.kind(next).is_compute();
            let seen = came_from[next.index()].is_some();
            // A version reached directly may be reached again from outside, which then counts.
            if !seen || outside && !left[next.index()] {
                came_from[next.index()] = Some(node);
                left[next.index()] = outside;
                queue.push_back(next);
            }
        }
    }
    Ok(())
}

/// Moves compute nodes into the body of a new task. The caller answers for validity.
pub(crate) fn contract(edit: &mut Edit<'_>, nodes: &[NodeId], name: &str) {
    let inside: FxHashSet<NodeId> = nodes.iter().copied().collect();
    let mut members: Vec<NodeId> = inside.iter().copied().collect();
    let touched: FxHashSet<NodeId> =
        members.iter().flat_map(|m| edit.takes(*m).map(|e| e.from).chain(edit.makes(*m).map(|e| e.to))).collect();
    members.extend(touched);
    members.sort_by_key(|n| (edit.place(*n), *n));
    let boundary = Boundary::new(edit, &inside, &members);
    let body = body_of(edit, &inside, &members);
    let stated = crossing_orders(edit, &inside);
    let place = members.iter().filter(|n| inside.contains(n)).map(|n| edit.place(*n)).min().unwrap_or(NodeId(0));
    let cost = members.iter().filter(|n| edit.kind(**n) == NodeKind::Task).map(|n| edit.cost(*n).unwrap_or(1.0)).sum();

    for node in members.iter().filter(|n| inside.contains(n)).chain(&boundary.hidden) {
        edit.remove_node(*node);
    }
    let call = edit.add_node(name, NodeKind::Task, None, place);
    edit.set_body(call, Body::new(Control::Call, body));
    edit.set_cost(call, cost);
    for edge in boundary.edges {
        let outward = edge.label.is_mutation();
        edit.connect(if outward { between(edge, call, edge.to) } else { between(edge, edge.from, call) });
    }
    for (edge, from_inside) in stated {
        edit.connect(if from_inside { between(edge, call, edge.to) } else { between(edge, edge.from, call) });
    }
}

/// The versions at the edge of a set of compute nodes.
struct Boundary {
    hidden: Vec<NodeId>,
    /// What the call takes and makes; the end that will be the call is not set yet.
    edges: Vec<Edge>,
}

impl Boundary {
    fn new(edit: &Edit<'_>, inside: &FxHashSet<NodeId>, members: &[NodeId]) -> Self {
        let mut hidden = FxHashSet::default();
        let mut labels: Vec<(NodeId, Edge)> = Vec::new();
        let versions = || members.iter().copied().filter(|n| edit.kind(*n) == NodeKind::Data);
        let made_inside = |version: NodeId| edit.takes(version).any(|e| inside.contains(&e.from));
        for version in versions().filter(|v| made_inside(*v)) {
            let private = edit.takes(version).all(|e| inside.contains(&e.from))
                && edit.makes(version).all(|e| inside.contains(&e.to));
            // What an Open makes holds what its source holds, so leaving it out leaves no change out.
            let opened = edit.takes(version).all(|e| edit.kind(e.from) == NodeKind::Open);
            if private && (opened || is_superseded(edit, version, |n| inside.contains(&n))) {
                hidden.insert(version);
                continue;
            }
            let first = edit.takes(version).find(|e| inside.contains(&e.from)).expect("the version is made inside");
            let folds = edit
                .takes(version)
                .filter(|e| inside.contains(&e.from))
                .all(|e| e.label == Label::Reduce && folds_into_outside(edit, e, &made_inside));
            let read_inside = edit.makes(version).any(|e| e.label == Label::Read && inside.contains(&e.to));
            let edge = match first.operator() {
                Some(operator) if folds && !read_inside => {
                    Edge::new(version, version, Label::Reduce).with_operator(operator)
                }
                _ => Edge::new(version, version, Label::Write),
            };
            labels.push((version, edge));
        }
        let reduced: FxHashSet<NodeId> =
            labels.iter().filter(|(_, e)| e.label == Label::Reduce).map(|(v, _)| *v).collect();
        let mut edges = Vec::new();
        for version in versions() {
            let taken: Vec<Edge> = edit.makes(version).filter(|e| inside.contains(&e.to)).collect();
            let from_inside = made_inside(version) && edit.takes(version).all(|e| inside.contains(&e.from));
            if taken.is_empty() || from_inside {
                continue;
            }
            let all = |label: Label| taken.iter().all(|e| e.label == label);
            // A base stays a base as long as what was folded into it stays a reduction of the call.
            let base = |task: NodeId| {
                edit.makes(task).any(|e| reduced.contains(&e.to) && edit.region(e.to) == edit.region(version))
            };
            let label = match () {
                () if all(Label::Discard) => Label::Discard,
                () if all(Label::Use) && taken.iter().all(|e| base(e.to)) => Label::Use,
                () => Label::Read,
            };
            edges.push(Edge::new(version, version, label));
        }
        edges.extend(labels.into_iter().map(|(_, edge)| edge));
        let mut hidden: Vec<NodeId> = hidden.into_iter().collect();
        hidden.sort_unstable();
        Self { hidden, edges }
    }
}

/// Whether a reducer folds into a version that comes from outside the set, as far as its edges say.
fn folds_into_outside(edit: &Edit<'_>, reduce: Edge, made_inside: &impl Fn(NodeId) -> bool) -> bool {
    let region = edit.region(reduce.to);
    let mut bases = edit.takes(reduce.from).map(|e| e.from).filter(|v| edit.region(*v) == region).peekable();
    match bases.peek() {
        Some(_) => bases.all(|v| !made_inside(v)),
        // The reducer does not say what it folds into; it may be anything older, and what it takes is older.
        None => edit.takes(reduce.from).all(|e| !made_inside(e.from)),
    }
}

/// The nested graph: the members, in their order, and every edge of a compute node inside.
fn body_of(edit: &Edit<'_>, inside: &FxHashSet<NodeId>, members: &[NodeId]) -> Graph {
    let mut body = edit.base().empty_like();
    let mut ids = rustc_hash::FxHashMap::default();
    for &node in members {
        ids.insert(node, edit.copy_node(node, &edit.name(node), &mut body));
    }
    let mut edges: Vec<Edge> = Vec::new();
    for &node in members.iter().filter(|n| inside.contains(n)) {
        // An order between two nodes inside belongs to the later one, so that it is taken once.
        let belongs = |e: &Edge| e.label.is_dataflow() || e.to == node && inside.contains(&e.from);
        edges.extend(edit.edges_at(node).filter(belongs).map(|e| between(e, ids[&e.from], ids[&e.to])));
    }
    sort_edges(&body, &mut edges);
    for edge in edges {
        body.add_edge(edge);
    }
    body
}

/// The HappensBefore edges between the set and the rest, each once for its two ends, and whether they start inside.
fn crossing_orders(edit: &Edit<'_>, inside: &FxHashSet<NodeId>) -> Vec<(Edge, bool)> {
    let crosses = |e: &Edge| e.label == Label::HappensBefore && inside.contains(&e.from) != inside.contains(&e.to);
    let mut seen = FxHashSet::default();
    let mut crossing: Vec<(Edge, bool)> = edit.edges().filter(crosses).map(|e| (e, inside.contains(&e.from))).collect();
    crossing.retain(|(e, starts)| seen.insert((*starts, if *starts { e.to } else { e.from })));
    crossing
}
