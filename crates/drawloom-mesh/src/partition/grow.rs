//! Halves by the graph of neighbours.
//!
//! One half grows from a far end, always taking the element that adds the fewest connections to cut. Then elements along
//! the border change sides as long as that helps.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::recursion::divide;
use super::refine::refine;
use super::sides::Sides;
use crate::raw::Adjacency;

/// Divides a set by its graph.
pub(super) fn by_graph(adjacency: &Adjacency, parts: usize) -> Vec<u32> {
    let size = adjacency.len();
    let mut sides = Sides::new(adjacency);
    let mut seen = vec![0u32; size];
    let mut round = 0;
    divide(size, parts, |elements, wanted| {
        if wanted == 0 || wanted >= elements.len() {
            return wanted;
        }
        sides.start(elements);
        let mut search = Search { sides: &mut sides, seen: &mut seen, round: &mut round };
        let start = search.far_end(elements);
        search.grow(elements, start, wanted);
        refine(&mut sides, elements, wanted);
        // Left before right, each in growing order.
        elements.sort_unstable_by_key(|element| (!sides.is_left(*element), *element));
        elements.partition_point(|element| sides.is_left(*element))
    })
}

/// Searches inside some elements. An element was seen if its mark is that of the round.
struct Search<'a, 'b> {
    sides: &'a mut Sides<'b>,
    seen: &'a mut [u32],
    round: &'a mut u32,
}

impl Search<'_, '_> {
    /// An element that is far from others: the last one that a search from the last one of another search finds.
    fn far_end(&mut self, elements: &[u32]) -> u32 {
        let once = self.last_found(elements[0]);
        self.last_found(once)
    }

    fn last_found(&mut self, start: u32) -> u32 {
        *self.round += 1;
        let mut waiting = VecDeque::from([start]);
        self.seen[start as usize] = *self.round;
        let mut last = start;
        while let Some(element) = waiting.pop_front() {
            last = element;
            for neighbour in self.sides.neighbours(element) {
                if std::mem::replace(&mut self.seen[neighbour as usize], *self.round) != *self.round {
                    waiting.push_back(neighbour);
                }
            }
        }
        last
    }

    /// Puts `wanted` elements to the left.
    fn grow(&mut self, elements: &[u32], start: u32, wanted: usize) {
        // Fewest new cuts first, and of those the one that was reached first.
        let mut border = BinaryHeap::from([Reverse((0i64, 0u64, start))]);
        let (mut reached, mut taken) = (0, 0);
        let mut others = elements.iter();
        while taken < wanted {
            let element = match border.pop() {
                Some(Reverse((_, _, element))) => element,
                // This component is complete; go on with another one.
                None => match others.next() {
                    Some(element) => *element,
                    None => break,
                },
            };
            if self.sides.is_left(element) {
                continue;
            }
            self.sides.turn(element);
            taken += 1;
            for neighbour in self.sides.neighbours(element).filter(|neighbour| !self.sides.is_left(*neighbour)) {
                reached += 1;
                border.push(Reverse((-self.sides.gain(neighbour), reached, neighbour)));
            }
        }
    }
}
