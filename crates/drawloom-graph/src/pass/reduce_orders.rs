//! Transitive reduction of stated orders.
//!
//! A HappensBefore edge is needless when another path leads from its start to its end. In an acyclic graph all needless
//! edges can go at once: the path that makes one needless can be followed without the others. Dataflow edges always stay,
//! and so does a HappensBefore edge with a port, which may say more than its ends do.
//!
//! Whether there is such a path is asked for all edges that end at one node together (see `check::reach`): most paths are
//! short, so a backward search that follows a few hundred edges answers most questions, and sweeps along the topological
//! order, one for each 512 starts, answer the rest.

use rustc_hash::{FxHashMap, FxHashSet};

use super::edit::Edit;
use super::refusal::{Refusal, require_valid};
use super::walk::in_bodies;
use crate::check::flow::{Flow, Topology};
use crate::check::reach::Reach;
use crate::graph::{Edge, EdgeId, Graph, Label, NodeId, NodeKind};

/// What makes a stated order needless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImpliedBy {
    /// Dataflow and other stated orders.
    Graph,
    /// Also the orders that the exact rule derives from the dataflow.
    Rule,
}

/// Drops stated orders that follow from others. Looks into nested graphs.
pub fn reduce_orders(graph: &Graph, implied_by: ImpliedBy) -> Result<Graph, Refusal> {
    require_valid(graph)?;
    reduce(graph, implied_by, 0)
}

fn reduce(graph: &Graph, implied_by: ImpliedBy, depth: usize) -> Result<Graph, Refusal> {
    let mut edit = Edit::new(graph);
    in_bodies(&mut edit, depth, |body, depth| reduce(body, implied_by, depth))?;
    let derived = match implied_by {
        ImpliedBy::Graph => Vec::new(),
        ImpliedBy::Rule => derived(graph),
    };
    needless(graph, &derived).into_iter().for_each(|edge| edit.remove_edge(edge));
    Ok(edit.finish())
}

/// The orders that follow from the dataflow alone.
fn derived(graph: &Graph) -> Vec<(NodeId, NodeId)> {
    let mut edit = Edit::new(graph);
    let stated = graph.edge_ids().filter(|e| graph.edge(*e).label == Label::HappensBefore);
    stated.for_each(|edge| edit.remove_edge(edge));
    // No node is dropped, so ids mean the same.
    edit.finish().order().map(|order| order.happens_before).unwrap_or_default()
}

/// The stated orders that others make needless.
fn needless(graph: &Graph, derived: &[(NodeId, NodeId)]) -> Vec<EdgeId> {
    let implied: FxHashSet<(NodeId, NodeId)> = derived.iter().copied().collect();
    let mut needless = Vec::new();
    let mut questions: FxHashMap<(NodeId, NodeId), EdgeId> = FxHashMap::default();
    for id in graph.edge_ids() {
        let edge = graph.edge(id);
        if edge.label == Label::HappensBefore && edge.port().is_none() {
            // Of equal orders the first stays in question, and the others are needless.
            let ends = (edge.from, edge.to);
            if implied.contains(&ends) || questions.contains_key(&ends) {
                needless.push(id);
            } else {
                questions.insert(ends, id);
            }
        }
    }
    if questions.is_empty() {
        return needless;
    }
    // Derived orders may pass through barriers, which are numbered behind the nodes.
    let beyond = derived.iter().map(|(from, to)| from.index().max(to.index()) + 1).max().unwrap_or(0);
    let mut kinds: Vec<NodeKind> = graph.nodes().iter().map(|node| node.kind()).collect();
    kinds.resize(kinds.len().max(beyond), NodeKind::Task);
    let derived = derived.iter().map(|(from, to)| Edge::new(*from, *to, Label::HappensBefore));
    let edges: Vec<Edge> = graph.edges().iter().copied().chain(derived).collect();
    let flow = Flow::of(kinds, &edges);
    let Ok(topology) = Topology::new(&flow) else { return needless };
    let mut reach = Reach::with_stated(&flow, &topology);
    let mut ends: Vec<(NodeId, NodeId)> = questions.keys().copied().collect();
    ends.sort_unstable_by_key(|(from, to)| (*to, *from));
    for group in ends.chunk_by(|a, b| a.1 == b.1) {
        let mut starts: Vec<u32> = group.iter().map(|(from, _)| from.0).collect();
        reach.retain_unreaching(&mut starts, group[0].1.0);
        for start in starts {
            questions.remove(&(NodeId(start), group[0].1));
        }
    }
    for (from, to) in reach.sweep(|_, _| {}) {
        questions.remove(&(NodeId(from), NodeId(to)));
    }
    needless.extend(questions.into_values());
    needless
}
