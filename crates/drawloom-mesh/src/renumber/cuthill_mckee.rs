//! The reverse Cuthill-McKee order: breadth first from a far end, neighbours of few neighbours first, then reversed.
//!
//! The far end is found as A. George and J. Liu do (1979): walk to a farthest element with few neighbours, as long as
//! that makes the longest distance longer.

use crate::raw::Adjacency;

/// Walking to the far end stops after this many steps; nearly always two or three are enough.
const MOST_STEPS: usize = 8;

/// The elements in their new order.
pub(super) fn order(adjacency: &Adjacency) -> Vec<u32> {
    let size = adjacency.len();
    let mut by_degree: Vec<u32> = (0..size as u32).collect();
    by_degree.sort_by_key(|element| adjacency.degree(*element));
    let mut search = Search { adjacency, visit: vec![0; size], round: 0, found: Vec::new() };
    let mut placed = vec![false; size];
    let mut order = Vec::with_capacity(size);
    // Each component is ordered on its own, from an element with few neighbours on.
    for start in by_degree {
        if placed[start as usize] {
            continue;
        }
        let mut next = order.len();
        let start = search.far_end(start);
        order.push(start);
        placed[start as usize] = true;
        while next < order.len() {
            let from = order.len();
            for neighbour in adjacency.of(order[next]) {
                if !std::mem::replace(&mut placed[*neighbour as usize], true) {
                    order.push(*neighbour);
                }
            }
            order[from..].sort_by_key(|element| adjacency.degree(*element));
            next += 1;
        }
    }
    order.reverse();
    order
}

/// Breadth-first searches that share their memory: an element was seen if its number is that of the round.
struct Search<'a> {
    adjacency: &'a Adjacency,
    visit: Vec<u32>,
    round: u32,
    found: Vec<u32>,
}

impl Search<'_> {
    /// An element at a far end of the component of `start`.
    fn far_end(&mut self, start: u32) -> u32 {
        let (mut end, mut far) = (start, 0);
        for _ in 0..MOST_STEPS {
            let (candidate, depth) = self.farthest(end);
            if depth <= far {
                break;
            }
            (end, far) = (candidate, depth);
        }
        end
    }

    /// Of the elements farthest from `start`, the one with the fewest neighbours, and how far away it is.
    fn farthest(&mut self, start: u32) -> (u32, usize) {
        self.round += 1;
        self.found.clear();
        self.found.push(start);
        self.visit[start as usize] = self.round;
        let (mut from, mut depth) = (0, 0);
        loop {
            let to = self.found.len();
            for index in from..to {
                for neighbour in self.adjacency.of(self.found[index]) {
                    if std::mem::replace(&mut self.visit[*neighbour as usize], self.round) != self.round {
                        self.found.push(*neighbour);
                    }
                }
            }
            if self.found.len() == to {
                let last =
                    self.found[from..to].iter().min_by_key(|element| (self.adjacency.degree(**element), **element));
                return (last.copied().unwrap_or(start), depth);
            }
            (from, depth) = (to, depth + 1);
        }
    }
}
