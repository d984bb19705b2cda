//! Nodes laid out in lanes, one for each worker.
//!
//! A lane is a list of nodes that one worker runs one after the other. Where a node waits for a node of another lane, it says
//! how far that lane must have come: so a lane tells others nothing but how many of its nodes are complete, and only behind
//! nodes for which somebody waits. What a worker has to wait for because of an earlier node of its lane already, it does not
//! wait for again.
//!
//! Nodes are taken by *level*, the length of the longest path that leads to them, and within a level as they were recorded.
//! In each lane they are in that order too, and a node waits only for nodes of lower levels. So of all nodes that are left, the
//! first in this order can run, whatever the lanes are, and no lanes can wait for each other for ever.
//!
//! A node goes to the lane in which most of the nodes lie that it waits for, as long as that has not got more than its share of
//! the level. Where nothing speaks for a lane, neighbours of one level go to the same: what was recorded side by side is likely
//! to be used side by side.

use super::compile::{Node, NodeWork};

/// A lane may have this part more of a level than its share, so that nodes need not leave their neighbours.
const SLACK: usize = 8;

/// The nodes of a plan, in lanes.
pub(super) struct Lanes {
    pub(super) lanes: Vec<Box<[Slot]>>,
    waits: Box<[Wait]>,
}

/// A node in its lane.
pub(super) struct Slot {
    pub(super) node: u32,
    first_wait: u32,
    waits: u32,
    /// Whether another lane waits for it.
    pub(super) is_awaited: bool,
}

/// How many nodes of another lane must be complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Wait {
    pub(super) lane: u32,
    pub(super) done: u32,
}

impl Lanes {
    /// Lays out nodes for so many workers, if several of them can be of use. `later` says which nodes wait for each.
    pub(super) fn lay(nodes: &[Node], later: &[u32], workers: usize) -> Option<Lanes> {
        let later_of = |node: &Node| &later[node.first_later as usize..(node.first_later + node.later_count) as usize];
        let levels = levels(nodes, later_of);
        let tasks = nodes.iter().filter(|node| node.work != NodeWork::Nothing).count();
        // As many lanes as there are nodes side by side, on average.
        let count = workers.min((tasks + levels.len() / 2) / levels.len().max(1));
        if count < 2 {
            return None;
        }
        let lane_of = assign(nodes, later_of, &levels, count);
        let mut place = vec![0; nodes.len()];
        let mut lanes: Vec<Vec<Slot>> = (0..count).map(|_| Vec::new()).collect();
        for &node in levels.iter().flatten() {
            let lane = &mut lanes[lane_of[node as usize] as usize];
            place[node as usize] = lane.len() as u32;
            lane.push(Slot { node, first_wait: 0, waits: 0, is_awaited: false });
        }
        // For each node, how far other lanes must have come before it.
        let mut wanted: Vec<Vec<Wait>> = vec![Vec::new(); nodes.len()];
        for (number, node) in nodes.iter().enumerate() {
            let wait = Wait { lane: lane_of[number], done: place[number] + 1 };
            for &other in later_of(node).iter().filter(|&&other| lane_of[other as usize] != wait.lane) {
                note(&mut wanted[other as usize], wait);
            }
        }
        let mut waits = Vec::new();
        for lane in 0..count {
            // How far this lane knows that others have come.
            let mut known = vec![0; count];
            for at in 0..lanes[lane].len() {
                let first = waits.len();
                for &wait in &wanted[lanes[lane][at].node as usize] {
                    let known = &mut known[wait.lane as usize];
                    if wait.done > *known {
                        *known = wait.done;
                        waits.push(wait);
                        lanes[wait.lane as usize][wait.done as usize - 1].is_awaited = true;
                    }
                }
                let slot = &mut lanes[lane][at];
                (slot.first_wait, slot.waits) = (first as u32, (waits.len() - first) as u32);
            }
        }
        Some(Lanes { lanes: lanes.into_iter().map(Vec::into_boxed_slice).collect(), waits: waits.into() })
    }

    /// How far other lanes must have come before a node.
    #[inline]
    pub(super) fn waits(&self, slot: &Slot) -> &[Wait] {
        &self.waits[slot.first_wait as usize..(slot.first_wait + slot.waits) as usize]
    }
}

/// Adds a wait to those of a node, of which there is one for each lane.
fn note(waits: &mut Vec<Wait>, wait: Wait) {
    match waits.iter_mut().find(|other| other.lane == wait.lane) {
        Some(other) => other.done = other.done.max(wait.done),
        None => waits.push(wait),
    }
}

/// Nodes by the length of the longest path that leads to them. Nodes come after those that they wait for.
fn levels<'a>(nodes: &'a [Node], later_of: impl Fn(&'a Node) -> &'a [u32]) -> Vec<Vec<u32>> {
    let mut level_of = vec![0_usize; nodes.len()];
    let mut levels: Vec<Vec<u32>> = Vec::new();
    for (number, node) in nodes.iter().enumerate() {
        let level = level_of[number];
        if level == levels.len() {
            levels.push(Vec::new());
        }
        levels[level].push(number as u32);
        for &other in later_of(node) {
            level_of[other as usize] = level_of[other as usize].max(level + 1);
        }
    }
    levels
}

/// The lane of each node.
fn assign<'a>(
    nodes: &'a [Node],
    later_of: impl Fn(&'a Node) -> &'a [u32],
    levels: &[Vec<u32>],
    count: usize,
) -> Vec<u32> {
    let mut lane_of = vec![0_u32; nodes.len()];
    // For each node, the lanes of the nodes that it waits for.
    let mut lanes_before: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
    let weight = |node: u32| usize::from(nodes[node as usize].work != NodeWork::Nothing);
    let (mut loads, mut near) = (vec![0; count], vec![0; count]);
    for level in levels {
        let all: usize = level.iter().map(|&node| weight(node)).sum();
        let most = all.div_ceil(count) + all / (SLACK * count);
        loads.fill(0);
        let mut seen = 0;
        for &node in level {
            near.fill(0);
            lanes_before[node as usize].iter().for_each(|&lane| near[lane as usize] += 1);
            // Where neighbours go if nothing speaks against it.
            let side = (seen * count / all.max(1)).min(count - 1);
            let has_room = |lane: &usize| loads[*lane] + weight(node) <= most;
            let lane = (0..count).filter(has_room).max_by_key(|&lane| (near[lane], lane == side, most - loads[lane]));
            let lane = lane.unwrap_or(side);
            lane_of[node as usize] = lane as u32;
            loads[lane] += weight(node);
            seen += weight(node);
            for &other in later_of(&nodes[node as usize]) {
                lanes_before[other as usize].push(lane as u32);
            }
        }
    }
    lane_of
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::super::compile::NO_RARE;
    use super::*;

    /// Nodes from the nodes that each waits for; those marked so do nothing.
    fn plan(waits: &[Vec<u32>], is_nothing: impl Fn(u32) -> bool) -> (Vec<Node>, Vec<u32>) {
        let mut later = Vec::new();
        let nodes = (0..waits.len() as u32).map(|number| {
            let first_later = later.len() as u32;
            later.extend((0..waits.len() as u32).filter(|&other| waits[other as usize].contains(&number)));
            Node {
                work: if is_nothing(number) { NodeWork::Nothing } else { NodeWork::Task(number) },
                first_arg: 0,
                arg_count: 0,
                first_later,
                later_count: later.len() as u32 - first_later,
                waits: waits[number as usize].len() as u32,
                priority: 0,
                rare: NO_RARE,
            }
        });
        let nodes = nodes.collect();
        (nodes, later)
    }

    /// The points of a stencil, step by step.
    fn stencil(width: u32, steps: u32) -> Vec<Vec<u32>> {
        let point = |step: u32, at: u32| match step {
            0 => Vec::new(),
            _ => (at.saturating_sub(1)..=(at + 1).min(width - 1)).map(|from| (step - 1) * width + from).collect(),
        };
        (0..steps).flat_map(|step| (0..width).map(move |at| point(step, at))).collect()
    }

    /// Walks along all lanes in turn, a random one at a time, and runs what may run. Fails when a node would run too early, or
    /// when nobody can go on.
    fn walk(lanes: &Lanes, waits: &[Vec<u32>], rng: &mut Rng) {
        let (mut at, mut told) = (vec![0_usize; lanes.lanes.len()], vec![0_u32; lanes.lanes.len()]);
        let mut done = vec![false; waits.len()];
        let mut idle = 0;
        while at.iter().zip(&lanes.lanes).any(|(at, lane)| *at < lane.len()) {
            let number = rng.usize(..at.len());
            idle += 1;
            assert!(idle < 10_000, "nobody can go on");
            let Some(slot) = lanes.lanes[number].get(at[number]) else { continue };
            if lanes.waits(slot).iter().any(|wait| told[wait.lane as usize] < wait.done) {
                continue;
            }
            for &before in &waits[slot.node as usize] {
                assert!(done[before as usize], "node {} runs before node {before}", slot.node);
            }
            assert!(!std::mem::replace(&mut done[slot.node as usize], true), "a node runs twice");
            at[number] += 1;
            if slot.is_awaited {
                told[number] = at[number] as u32;
            }
            idle = 0;
        }
        assert!(done.iter().all(|done| *done), "a node is in no lane");
    }

    #[test]
    fn random_plans_keep_their_order_in_every_number_of_lanes() {
        let mut rng = Rng::with_seed(11);
        let mut laid = 0;
        for _ in 0..300 {
            let count = rng.u32(1..120);
            let reach = rng.u32(1..40);
            let waits: Vec<Vec<u32>> = (0..count)
                .map(|node| {
                    let mut waits: Vec<u32> =
                        (node.saturating_sub(reach)..node).filter(|_| rng.u32(..reach) < 2).collect();
                    waits.truncate(5);
                    waits
                })
                .collect();
            let (nodes, later) = plan(&waits, |node| node % 7 == 3);
            for workers in [1, 2, 3, 8, 17] {
                if let Some(lanes) = Lanes::lay(&nodes, &later, workers) {
                    laid += 1;
                    assert!((2..=workers).contains(&lanes.lanes.len()));
                    walk(&lanes, &waits, &mut rng);
                }
            }
        }
        assert!(laid > 300, "{laid}");
    }

    #[test]
    fn a_stencil_is_cut_once_for_each_two_neighbours() {
        let (nodes, later) = plan(&stencil(16, 50), |_| false);
        let lanes = Lanes::lay(&nodes, &later, 2).unwrap();
        let lengths: Vec<usize> = lanes.lanes.iter().map(|lane| lane.len()).collect();
        assert_eq!(lengths, [400, 400]);
        for (number, lane) in lanes.lanes.iter().enumerate() {
            assert!(lane.iter().all(|slot| slot.node as usize % 16 / 8 == number), "halves stay together");
            let waiting = lane.iter().filter(|slot| !lanes.waits(slot).is_empty()).count();
            assert_eq!(waiting, 49, "one node of each step waits for the other lane");
        }
    }

    #[test]
    fn chains_stay_in_their_lanes_and_nothing_is_awaited() {
        let waits: Vec<Vec<u32>> = (0..640).map(|node| if node < 64 { vec![] } else { vec![node - 64] }).collect();
        let (nodes, later) = plan(&waits, |_| false);
        let lanes = Lanes::lay(&nodes, &later, 3).unwrap();
        assert!(lanes.waits.is_empty() && lanes.lanes.iter().flatten().all(|slot| !slot.is_awaited));
        assert!(lanes.lanes.iter().all(|lane| (200..230).contains(&lane.len())));
    }

    #[test]
    fn one_chain_has_no_lanes() {
        let waits: Vec<Vec<u32>> = (0..100_u32).map(|node| node.checked_sub(1).into_iter().collect()).collect();
        let (nodes, later) = plan(&waits, |_| false);
        assert!(Lanes::lay(&nodes, &later, 4).is_none());
    }
}
