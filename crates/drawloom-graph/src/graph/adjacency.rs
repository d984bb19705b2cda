//! Lists by key in one allocation (compressed sparse rows), such as edges by source, and orders along such lists.

use super::edge::{Edge, EdgeId};

/// For each key from zero, a list of items.
#[derive(Debug)]
pub(crate) struct Lists<T> {
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T> Lists<T> {
    /// No lists. They are made one after the other, by [`extend`](Self::extend) and [`close`](Self::close).
    pub(crate) fn new() -> Self {
        Self { starts: vec![0], items: Vec::new() }
    }

    /// The items of the list that is being made.
    pub(crate) fn open(&mut self) -> &mut Vec<T> {
        &mut self.items
    }

    /// Ends the list that is being made.
    pub(crate) fn close(&mut self) {
        self.starts.push(u32::try_from(self.items.len()).expect("lists of less than 2^32 items"));
    }

    /// How many lists there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The items of one key.
    pub(crate) fn get(&self, key: u32) -> &[T] {
        &self.items[self.starts[key as usize] as usize..self.starts[key as usize + 1] as usize]
    }

    /// The places of one list among all items.
    pub(crate) fn places(&self, key: u32) -> std::ops::Range<u32> {
        self.starts[key as usize]..self.starts[key as usize + 1]
    }

    /// How many items there are in all.
    pub(crate) fn item_count(&self) -> usize {
        self.items.len()
    }
}

impl<T: Copy> Lists<T> {
    /// Groups items by key; inside a list, in the order of the pairs. The pairs are walked twice.
    pub(crate) fn grouped(keys: usize, pairs: impl Iterator<Item = (u32, T)> + Clone) -> Self {
        // Offsets are filled one place late, so that the scatter below leaves each at the start of its list.
        let mut starts = vec![0u32; keys + 2];
        pairs.clone().for_each(|(key, _)| starts[key as usize + 2] += 1);
        for i in 2..starts.len() {
            starts[i] += starts[i - 1];
        }
        // Every place is written below.
        let mut items: Vec<T> =
            pairs.clone().next().map_or_else(Vec::new, |(_, any)| vec![any; starts[keys + 1] as usize]);
        for (key, item) in pairs {
            let at = &mut starts[key as usize + 1];
            items[*at as usize] = item;
            *at += 1;
        }
        starts.pop();
        Self { starts, items }
    }
}

/// The ids of the kept edges by the node that `end` picks.
pub(crate) fn edges_by(
    nodes: usize,
    edges: &[Edge],
    keep: impl Fn(&Edge) -> bool,
    end: impl Fn(&Edge) -> u32,
) -> Lists<EdgeId> {
    let kept = edges.iter().enumerate().filter(|(_, edge)| keep(edge));
    Lists::grouped(nodes, kept.map(|(id, edge)| (end(edge), EdgeId(id as u32))))
}

/// The nodes in a topological order, first come first served. Nodes on a cycle, or behind one, are missing.
pub(crate) fn topological<I: Iterator<Item = u32>>(nodes: usize, successors: impl Fn(u32) -> I) -> Vec<u32> {
    let mut waiting = vec![0u32; nodes];
    (0..nodes as u32).for_each(|node| successors(node).for_each(|to| waiting[to as usize] += 1));
    let mut order: Vec<u32> = Vec::with_capacity(nodes);
    order.extend((0..nodes as u32).filter(|node| waiting[*node as usize] == 0));
    let mut at = 0;
    while at < order.len() {
        for to in successors(order[at]) {
            waiting[to as usize] -= 1;
            if waiting[to as usize] == 0 {
                order.push(to);
            }
        }
        at += 1;
    }
    order
}

/// The nodes that an order leaves out, by number.
pub(crate) fn left_out(nodes: usize, order: &[u32]) -> Vec<u32> {
    let mut missing = vec![true; nodes];
    order.iter().for_each(|node| missing[*node as usize] = false);
    (0..nodes as u32).filter(|node| missing[*node as usize]).collect()
}
