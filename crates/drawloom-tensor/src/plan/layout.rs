//! Where everything goes that a piece computes.

use super::pack::{Item, pack};
use super::results::ResultPort;
use super::sizes::Sizes;
use crate::graph::{Operator, TensorId};
use crate::program::{Program, is_loop};

/// Places of everything that one piece computes.
pub(crate) struct Layout {
    /// Where each tensor is, and how many bytes there are for it. Those that are somewhere else have none.
    pub(crate) tensors: Vec<Option<(usize, usize)>>,
    /// The same for what nodes need while they run.
    pub(crate) scratch: Vec<(usize, usize)>,
    /// How many bytes all of them take together.
    pub(crate) bytes: usize,
    /// What each node takes elsewhere while it runs.
    pub(crate) heap: Vec<usize>,
}

impl Layout {
    /// How many bytes one piece in flight takes: one node runs at a time.
    pub(super) fn total(&self) -> usize {
        self.bytes.saturating_add(self.heap.iter().copied().max().unwrap_or(0))
    }
}

/// How many bytes everything takes that is computed once.
pub(super) fn kept_bytes(program: &Program, sizes: &Sizes) -> usize {
    let once = program.order().iter().filter(|node| program.partition(**node) == 0);
    let mut scratch = 0;
    let mut bytes = 0usize;
    for node in once {
        scratch = scratch.max(sizes.need(&program.graph, *node, 1).total());
        for output in &program.graph.nodes[node.index()].outputs {
            bytes = bytes.saturating_add(sizes.bytes(*output, 1));
        }
    }
    bytes.saturating_add(scratch)
}

/// Finds a place for everything that a piece of so many rows computes; reading them takes some bytes, too.
pub(super) fn layout(
    program: &Program,
    (sizes, reading): (&Sizes, usize),
    results: &[ResultPort],
    rows: usize,
) -> Layout {
    let graph = &program.graph;
    let mut items = Vec::new();
    let mut owners: Vec<Result<TensorId, usize>> = Vec::new();
    let mut heap = vec![0; graph.nodes.len()];
    for (place, node) in program.order().iter().enumerate() {
        if program.partition(*node) == 0 || matches!(graph.nodes[node.index()].operator, Operator::Output) {
            continue;
        }
        for output in &graph.nodes[node.index()].outputs {
            if results.iter().any(|result| result.in_place && result.tensor == *output) {
                continue;
            }
            let last = program.lifetime(*output).map_or(place, |lifetime| lifetime.last);
            items.push(Item { bytes: sizes.bytes(*output, rows), first: place, last });
            owners.push(Ok(*output));
        }
        // The node that cuts is new, and was not there when sizes were learnt.
        if is_loop(&graph.nodes[node.index()].operator) {
            heap[node.index()] = reading;
        } else {
            let need = sizes.need(graph, *node, rows);
            items.push(Item { bytes: need.scratch, first: place, last: place });
            owners.push(Err(node.index()));
            heap[node.index()] = need.heap;
        }
    }
    let (offsets, bytes) = pack(&items);
    let mut layout =
        Layout { tensors: vec![None; graph.tensors.len()], scratch: vec![(0, 0); graph.nodes.len()], bytes, heap };
    for ((item, offset), owner) in items.iter().zip(offsets).zip(owners) {
        match owner {
            Ok(tensor) => layout.tensors[tensor.index()] = Some((offset, item.bytes)),
            Err(node) => layout.scratch[node] = (offset, item.bytes),
        }
    }
    layout
}
