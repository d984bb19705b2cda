//! Which nodes run as one.
//!
//! A node that makes at most one item of each, and is not asked where vectors end, needs no queue before it: whatever comes
//! from a node of the same kind can go through both at once, while it is near. So a chain of such nodes is one node to the
//! machine, its *head*. Inside of regions queues hold boundaries, and in loops what comes around, so there nodes stay apart.

use super::Description;
use super::loops::Loop;
use super::regions::Places;

/// For each node that runs together with others and is not the first of them: that first one.
pub(crate) fn heads(of: &Description, places: &Places, loops: &[Loop]) -> Vec<Option<u32>> {
    let mut heads: Vec<Option<u32>> = vec![None; of.nodes.len()];
    let is_free = |node: u32| {
        let known = &of.nodes[node as usize];
        known.picks && places.of_node[node as usize].is_empty() && !loops.iter().any(|one| one.nodes.contains(&node))
    };
    // Inputs come from nodes before, so the head of a chain is known when its next node is looked at.
    for node in 0..of.nodes.len() as u32 {
        let [edge] = of.nodes[node as usize].inputs[..] else { continue };
        let from = of.from(edge);
        let before = &of.nodes[from as usize];
        if is_free(node) && is_free(from) && before.channels.len() == 1 && before.width == of.nodes[node as usize].width
        {
            heads[node as usize] = Some(heads[from as usize].unwrap_or(from));
        }
    }
    heads
}
