//! Which nodes a back edge makes a loop of.
//!
//! Regions may lie inside of a loop: parents go around, and their elements do not. What comes of a parent has left the loop, or is
//! on its way around, when all nodes of its region are done with it; so all of these belong to the loop, also those that nothing leads
//! around from.

use super::Description;
use super::regions::Places;

/// A loop: its head, where items enter and come around, all nodes between the head and itself, and those of the regions that begin
/// there.
#[derive(Clone)]
pub(crate) struct Loop {
    pub(crate) head: u32,
    pub(crate) nodes: Vec<u32>,
    /// Those of its nodes that lead back to the head.
    pub(crate) around: Vec<u32>,
    /// The edges between its nodes that are in none of its regions, back edges among them.
    pub(crate) edges: Vec<u32>,
    /// The regions in it that are in no other one of them.
    pub(crate) regions: Vec<u32>,
    pub(crate) growth: usize,
}

/// All loops, one for each head.
pub(crate) fn loops(of: &Description, places: &Places) -> Vec<Loop> {
    let mut loops: Vec<Loop> = Vec::new();
    for (number, edge) in (0_u32..).zip(&of.edges) {
        let Some(growth) = edge.growth else { continue };
        let around = between(of, edge.to, of.from(number));
        match loops.iter_mut().find(|other| other.head == edge.to) {
            Some(known) => {
                known.growth = known.growth.max(growth);
                known.around.extend(around);
            }
            None => {
                let (nodes, edges, regions) = Default::default();
                loops.push(Loop { head: edge.to, nodes, around, edges, regions, growth });
            }
        }
    }
    loops.sort_by_key(|one| one.head);
    for one in &mut loops {
        one.around.sort_unstable();
        one.around.dedup();
        let depth = places.of_node[one.head as usize].len();
        let heads = (0_u32..).zip(&of.regions).map(|(region, head)| (region, head.node));
        let begins =
            |(_, head): &(u32, u32)| one.around.contains(head) && places.of_node[*head as usize].len() == depth;
        one.regions = heads.filter(begins).map(|(region, _)| region).collect();
        let within = |node: &u32| places.of_node[*node as usize].iter().any(|region| one.regions.contains(region));
        one.nodes = (0..of.nodes.len() as u32).filter(|node| one.around.contains(node) || within(node)).collect();
        let inside = |node: u32| one.nodes.contains(&node);
        let between = |edge: &u32| inside(of.from(*edge)) && inside(of.edges[*edge as usize].to);
        let in_none = |edge: &u32| places.of_edge[*edge as usize].len() <= depth;
        one.edges = (0..of.edges.len() as u32).filter(|edge| between(edge) && in_none(edge)).collect();
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
