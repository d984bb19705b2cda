//! Walking a valid graph: along it, and inside its nested graphs.

use super::edit::Edit;
use super::refusal::Refusal;
use crate::graph::adjacency::{edges_by, topological as topological_order};
use crate::graph::{Body, Graph, NodeId, NodeKind};

/// How deep passes follow nested graphs. Anything deeper is left as it is, so that no input can exhaust the stack.
pub(crate) const DEEPEST: usize = 64;

/// The nodes in a topological order of all edges, first come first served.
pub(crate) fn topological(graph: &Graph) -> Vec<NodeId> {
    let outgoing = edges_by(graph.nodes().len(), graph.edges(), |_| true, |edge| edge.from.0);
    let order = topological_order(graph.nodes().len(), |node| outgoing.get(node).iter().map(|e| graph.edge(*e).to.0));
    order.into_iter().map(NodeId).collect()
}

/// The place of each node in a topological order.
pub(crate) fn positions(graph: &Graph) -> Vec<u32> {
    let mut positions = vec![0; graph.nodes().len()];
    for (at, node) in topological(graph).into_iter().enumerate() {
        positions[node.index()] = at as u32;
    }
    positions
}

/// Whether a version no longer holds, as a whole, what its region holds when the nodes that `inside` picks have run: a
/// task among them makes a newer version of the region from it, or a Close moves it into a larger region.
pub(crate) fn is_superseded(edit: &Edit<'_>, version: NodeId, inside: impl Fn(NodeId) -> bool) -> bool {
    let region = edit.region(version);
    edit.makes(version).filter(|e| inside(e.to)).any(|taken| match edit.kind(taken.to) {
        NodeKind::Close => true,
        NodeKind::Task => edit.makes(taken.to).any(|e| e.to != version && edit.region(e.to) == region),
        _ => false,
    })
}

/// Runs a pass on every nested graph of a graph and puts the results in place.
pub(crate) fn in_bodies(
    edit: &mut Edit<'_>,
    depth: usize,
    pass: impl Fn(&Graph, usize) -> Result<Graph, Refusal>,
) -> Result<(), Refusal> {
    if depth >= DEEPEST {
        return Ok(());
    }
    let graph = edit.base();
    for (node, body) in graph.bodies().filter(|(n, _)| n.index() < graph.nodes().len()) {
        if edit.is_gone(node) {
            continue;
        }
        let mut changed = Body::new(body.control.clone(), pass(&body.graph, depth + 1)?);
        if let Some(otherwise) = &body.otherwise {
            changed = changed.with_otherwise(pass(otherwise, depth + 1)?);
        }
        edit.set_body(node, changed);
    }
    Ok(())
}
