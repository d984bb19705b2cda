//! Fewer nodes and edges that say the same.

use super::compile::{NodeWork, Pattern};
use super::weave::{Draft, Work};

/// Nodes that wait for more than this are not thinned: looking at all pairs would take too long.
const MANY: usize = 64;

/// Puts nodes into an order in which each comes after those it waits for, otherwise as they were recorded; leaves out edges
/// that others imply, and synchronisation points that save no edges. Nodes keep their numbers in `Draft::work` only.
pub(super) fn thin(mut nodes: Vec<Draft>) -> Vec<Draft> {
    nodes = in_order(nodes);
    nodes = without_needless_points(nodes);
    drop_implied(&mut nodes);
    nodes
}

/// Sorts nodes so that each comes after those it waits for. Of several that could come next, the one recorded first does.
fn in_order(nodes: Vec<Draft>) -> Vec<Draft> {
    let mut left: Vec<usize> = nodes.iter().map(|n| n.waits.len()).collect();
    let later = successors(&nodes);
    let mut ready: std::collections::BinaryHeap<std::cmp::Reverse<u32>> =
        (0..nodes.len() as u32).filter(|&n| left[n as usize] == 0).map(std::cmp::Reverse).collect();
    let mut place = vec![0; nodes.len()];
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(std::cmp::Reverse(node)) = ready.pop() {
        place[node as usize] = order.len() as u32;
        order.push(node);
        for &next in &later[node as usize] {
            left[next as usize] -= 1;
            if left[next as usize] == 0 {
                ready.push(std::cmp::Reverse(next));
            }
        }
    }
    assert_eq!(order.len(), nodes.len(), "tasks wait only for tasks recorded before them");
    let mut nodes: Vec<Option<Draft>> = nodes.into_iter().map(Some).collect();
    let moved = order.iter().map(|&node| {
        let mut draft = nodes[node as usize].take().expect("each node has one place");
        draft.waits.iter_mut().for_each(|w| *w = place[*w as usize]);
        draft
    });
    moved.collect()
}

/// Replaces synchronisation points by direct edges where that takes no more of them.
fn without_needless_points(mut nodes: Vec<Draft>) -> Vec<Draft> {
    let uses: Vec<usize> = successors(&nodes).iter().map(Vec::len).collect();
    let needless: Vec<bool> = nodes
        .iter()
        .zip(&uses)
        .map(|(node, &uses)| node.work == Work::Sync && node.waits.len() * uses <= node.waits.len() + uses)
        .collect();
    for node in 0..nodes.len() {
        // Nodes are in order, so the points that this one waits for wait for no needless points any more.
        if nodes[node].waits.iter().any(|&w| needless[w as usize]) {
            let waits = std::mem::take(&mut nodes[node].waits);
            for wait in waits {
                if needless[wait as usize] {
                    let through = nodes[wait as usize].waits.clone();
                    nodes[node].waits.extend(through);
                } else {
                    nodes[node].waits.push(wait);
                }
            }
        }
        nodes[node].waits.sort_unstable();
        nodes[node].waits.dedup();
    }
    let mut place = vec![0; nodes.len()];
    let mut kept = 0;
    for node in 0..nodes.len() {
        place[node] = kept;
        kept += u32::from(!needless[node]);
    }
    let kept = nodes.into_iter().zip(needless).filter(|(_, needless)| !needless).map(|(mut node, _)| {
        node.waits.iter_mut().for_each(|w| *w = place[*w as usize]);
        node
    });
    kept.collect()
}

/// Drops edges that two others imply.
fn drop_implied(nodes: &mut [Draft]) {
    for node in 0..nodes.len() {
        let waits = std::mem::take(&mut nodes[node].waits);
        if waits.len() < 2 || waits.len() > MANY {
            nodes[node].waits = waits;
            continue;
        }
        let implied = |w: &u32| waits.iter().any(|&other| nodes[other as usize].waits.binary_search(w).is_ok());
        let kept: Vec<u32> = waits.iter().copied().filter(|w| !implied(w)).collect();
        nodes[node].waits = kept;
    }
}

/// The nodes that wait for each node.
pub(super) fn successors(nodes: &[Draft]) -> Vec<Vec<u32>> {
    let mut later = vec![Vec::new(); nodes.len()];
    for (node, draft) in nodes.iter().enumerate() {
        for &wait in &draft.waits {
            later[wait as usize].push(node as u32);
        }
    }
    later
}

/// The number of nodes on the longest path of a plan, points that stand for others left out.
pub(super) fn depth(pattern: &Pattern) -> usize {
    let mut depths = vec![0; pattern.nodes.len()];
    for (number, node) in pattern.nodes.iter().enumerate().rev() {
        let later = node.first_later as usize..(node.first_later + node.later_count) as usize;
        let most = pattern.later[later].iter().map(|&n| depths[n as usize]).max().unwrap_or(0);
        depths[number] = most + usize::from(node.work != NodeWork::Nothing);
    }
    depths.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(work: Work, waits: &[u32]) -> Draft {
        Draft { work, waits: waits.to_vec() }
    }

    #[test]
    fn an_edge_that_two_others_imply_is_dropped() {
        let nodes = thin(vec![draft(Work::Task(0), &[]), draft(Work::Task(1), &[0]), draft(Work::Task(2), &[0, 1])]);
        assert_eq!(nodes[2].waits, [1]);
    }

    #[test]
    fn a_point_stays_only_where_it_saves_edges() {
        let point = |readers: u32, writers: u32| {
            let mut nodes: Vec<Draft> = (0..readers).map(|n| draft(Work::Task(n), &[])).collect();
            nodes.push(draft(Work::Sync, &(0..readers).collect::<Vec<_>>()));
            nodes.extend((0..writers).map(|n| draft(Work::Task(readers + n), &[readers])));
            thin(nodes).iter().any(|n| n.work == Work::Sync)
        };
        assert!(point(10, 10));
        assert!(!point(10, 1));
        assert!(!point(2, 2));
    }

    #[test]
    fn nodes_come_after_what_they_wait_for_and_otherwise_as_recorded() {
        let nodes = in_order(vec![draft(Work::Task(0), &[2]), draft(Work::Task(1), &[]), draft(Work::Sync, &[])]);
        let works: Vec<&Work> = nodes.iter().map(|n| &n.work).collect();
        assert_eq!(works, [&Work::Task(1), &Work::Sync, &Work::Task(0)]);
        assert_eq!(nodes[2].waits, [1]);
    }
}
