//! An order in which every node comes after those it reads from.
//!
//! Kahn's algorithm, always with the node that is listed first: a list that is in order already stays as it is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::error::{Error, ErrorKind};
use crate::graph::{Graph, NodeId, Source};

pub(super) fn topological(graph: &Graph) -> Result<Vec<NodeId>, Error> {
    let count = graph.nodes.len();
    let mut waits = vec![0usize; count];
    let mut readers: Vec<Vec<u32>> = vec![Vec::new(); count];
    for (index, node) in graph.nodes.iter().enumerate() {
        for input in node.inputs.iter().flatten() {
            if let Source::Node(writer) = graph.tensors[input.index()].source {
                waits[index] += 1;
                readers[writer.index()].push(index as u32);
            }
        }
    }
    let mut ready: BinaryHeap<Reverse<u32>> =
        (0..count as u32).filter(|index| waits[*index as usize] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(count);
    while let Some(Reverse(index)) = ready.pop() {
        order.push(NodeId(index));
        for reader in &readers[index as usize] {
            waits[*reader as usize] -= 1;
            if waits[*reader as usize] == 0 {
                ready.push(Reverse(*reader));
            }
        }
    }
    if order.len() < count { Err(cycle(graph, &waits)) } else { Ok(order) }
}

/// Names a cycle: from any node that still waits, follow writers that still wait until one comes twice.
fn cycle(graph: &Graph, waits: &[usize]) -> Error {
    let mut path: Vec<usize> = Vec::new();
    let mut seen = vec![usize::MAX; waits.len()];
    let mut at = waits.iter().position(|waits| *waits > 0).unwrap_or(0);
    while seen[at] == usize::MAX {
        seen[at] = path.len();
        path.push(at);
        let writers =
            graph.nodes[at].inputs.iter().flatten().filter_map(|input| match graph.tensors[input.index()].source {
                Source::Node(writer) => Some(writer.index()),
                _ => None,
            });
        at = writers.into_iter().find(|writer| waits[*writer] > 0).unwrap_or(at);
    }
    let mut names: Vec<String> =
        path[seen[at]..].iter().rev().map(|index| format!("`{}`", graph.nodes[*index].name)).collect();
    names.push(names[0].clone());
    // A long cycle is shown by its ends.
    if names.len() > 12 {
        names.splice(6..names.len() - 5, ["…".to_owned()]);
    }
    Error::new(ErrorKind::Graph, format!("nodes wait for each other: {}", names.join(" → ")))
        .at(&graph.nodes[at].name, &[])
}
