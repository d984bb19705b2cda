//! Which nodes a back edge makes a loop of.

use super::Description;

/// A loop: its head, where items enter and come around, and all nodes between the head and itself.
#[derive(Clone)]
pub(crate) struct Loop {
    pub(crate) head: u32,
    pub(crate) nodes: Vec<u32>,
    /// The edges between its nodes, back edges among them.
    pub(crate) edges: Vec<u32>,
    pub(crate) growth: usize,
}

/// All loops, one for each head.
pub(crate) fn loops(of: &Description) -> Vec<Loop> {
    let mut loops: Vec<Loop> = Vec::new();
    for (number, edge) in (0_u32..).zip(&of.edges) {
        let Some(growth) = edge.growth else { continue };
        let nodes = between(of, edge.to, of.from(number));
        match loops.iter_mut().find(|other| other.head == edge.to) {
            Some(known) => {
                known.growth = known.growth.max(growth);
                known.nodes.extend(nodes);
            }
            None => loops.push(Loop { head: edge.to, nodes, edges: Vec::new(), growth }),
        }
    }
    for one in &mut loops {
        one.nodes.sort_unstable();
        one.nodes.dedup();
        let inside = |node: u32| one.nodes.contains(&node);
        let edges = 0..of.edges.len() as u32;
        one.edges = edges.filter(|e| inside(of.from(*e)) && inside(of.edges[*e as usize].to)).collect();
    }
    loops
}

/// The nodes that can be reached from `head` and lead to `tail`, both included; empty when there are none.
pub(super) fn between(of: &Description, head: u32, tail: u32) -> Vec<u32> {
    let count = of.nodes.len();
    let (mut reached, mut leads) = (vec![false; count], vec![false; count]);
    if (head as usize) < count {
        reached[head as usize] = true;
    }
    leads[tail as usize] = true;
    for node in head..count as u32 {
        if reached[node as usize] {
            for edge in of.outputs(node).filter(|e| !of.is_back(*e)) {
                reached[of.edges[edge as usize].to as usize] = true;
            }
        }
    }
    for node in (0..=tail).rev() {
        let mut on = of.outputs(node).filter(|e| !of.is_back(*e));
        if on.any(|e| leads[of.edges[e as usize].to as usize]) {
            leads[node as usize] = true;
        }
    }
    (0..count as u32).filter(|n| reached[*n as usize] && leads[*n as usize]).collect()
}
