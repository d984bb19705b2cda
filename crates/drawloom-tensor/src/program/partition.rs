//! Which loops each node is in, and which tensors cross into a loop.

use crate::error::{Error, ErrorKind};
use crate::graph::{Graph, NodeId, Source, TensorId};
use crate::program::is_loop;

pub(super) struct Partitions {
    pub(super) order: Vec<NodeId>,
    pub(super) partitions: Vec<u32>,
    pub(super) crossing: Vec<TensorId>,
    pub(super) depth: usize,
}

/// Walks the nodes in order. A node is in the highest partition that it reads from; a loop-control node must read from the
/// highest one there is, and begins the next. Inputs of the graph are in partition 0, and constants are in none.
pub(super) fn partition(graph: &Graph, listed: &[NodeId], depth: usize) -> Result<Partitions, Error> {
    let mut partitions = vec![0u32; graph.nodes.len()];
    let mut crosses = vec![false; graph.tensors.len()];
    let mut crossing = Vec::new();
    let mut controls: Vec<NodeId> = Vec::new();
    for id in listed {
        let node = &graph.nodes[id.index()];
        let from = |tensor: TensorId| match graph.tensors[tensor.index()].source {
            Source::Node(writer) => Some(partitions[writer.index()]),
            Source::Input => Some(0),
            Source::Constant(_) | Source::Nobody => None,
        };
        let highest = node.inputs.iter().flatten().filter_map(|input| from(*input)).max().unwrap_or(0);
        let own = if is_loop(&node.operator) {
            if highest as usize != controls.len() {
                let previous = &graph.nodes[controls[controls.len() - 1].index()].name;
                let message = format!(
                    "loop-control node `{}` ({}) is not downstream of loop-control node `{previous}`: loops must be nested",
                    node.name, node.operator_name
                );
                return Err(Error::new(ErrorKind::Loop, message).at(&node.name, &[]));
            }
            if controls.len() == depth {
                let message = format!(
                    "loop-control node `{}` ({}) begins loop {}, and {depth} are allowed",
                    node.name,
                    node.operator_name,
                    depth + 1
                );
                return Err(Error::new(ErrorKind::Loop, message).at(&node.name, &[]));
            }
            controls.push(*id);
            highest + 1
        } else {
            highest
        };
        for input in node.inputs.iter().flatten() {
            if from(*input).is_some_and(|partition| partition < own) && !crosses[input.index()] {
                crosses[input.index()] = true;
                crossing.push(*input);
            }
        }
        partitions[id.index()] = own;
    }
    if let Some(output) = graph.output
        && partitions[output.index()] as usize != controls.len()
    {
        let node = &graph.nodes[output.index()];
        let last = &graph.nodes[controls[controls.len() - 1].index()].name;
        let message = format!("output node `{}` is not downstream of the last loop-control node `{last}`", node.name);
        return Err(Error::new(ErrorKind::Loop, message).at(&node.name, &[]));
    }
    let mut order = listed.to_vec();
    order.sort_by_key(|id| partitions[id.index()]);
    // A loop-control node must be the first of its partition, which it is: everything else there is downstream of it.
    Ok(Partitions { order, partitions, crossing, depth: controls.len() })
}
