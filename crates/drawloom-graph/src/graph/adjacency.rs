//! Edges grouped by source and by target: compressed sparse rows.

use super::edge::{Edge, EdgeId};

/// For each node, the ids of the edges at one of its ends.
pub(crate) struct Rows {
    starts: Vec<u32>,
    edges: Vec<EdgeId>,
}

impl Rows {
    /// Groups the kept edges by the node that `end` picks; inside a row, by edge id.
    pub(crate) fn new(nodes: usize, edges: &[Edge], keep: impl Fn(&Edge) -> bool, end: impl Fn(&Edge) -> u32) -> Self {
        let mut starts = vec![0u32; nodes + 2];
        for edge in edges.iter().filter(|e| keep(e)) {
            starts[end(edge) as usize + 2] += 1;
        }
        for i in 2..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut ids = vec![EdgeId(0); starts[nodes + 1] as usize];
        for (id, edge) in edges.iter().enumerate().filter(|(_, e)| keep(e)) {
            let at = &mut starts[end(edge) as usize + 1];
            ids[*at as usize] = EdgeId(id as u32);
            *at += 1;
        }
        starts.pop();
        Self { starts, edges: ids }
    }

    /// The edges of one node.
    pub(crate) fn row(&self, node: u32) -> &[EdgeId] {
        &self.edges[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    /// How many edges a node has.
    pub(crate) fn count(&self, node: u32) -> usize {
        (self.starts[node as usize + 1] - self.starts[node as usize]) as usize
    }
}
