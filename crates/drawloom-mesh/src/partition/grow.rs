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

#[cfg(test)]
mod tests {
    use super::by_graph;
    use crate::raw::{Adjacency, RawMesh};

    fn grid(across: u32, up: u32) -> Adjacency {
        let mut mesh = RawMesh::new();
        let mut table = Vec::new();
        for n in 0..across * up {
            if n % across + 1 < across {
                table.extend([n, n + 1]);
            }
            if n / across + 1 < up {
                table.extend([n, n + across]);
            }
        }
        mesh.add_set("cells", (across * up) as usize).add_set("edges", table.len() / 2);
        mesh.add_map("pecell", "edges", "cells", 2, table);
        Adjacency::of_set(&mesh, "cells").expect("a set")
    }

    fn cut(adjacency: &Adjacency, owners: &[u32]) -> usize {
        let all = (0..owners.len() as u32).flat_map(|a| adjacency.of(a).iter().map(move |b| (a, *b)));
        all.filter(|(a, b)| a < b && owners[*a as usize] != owners[*b as usize]).count()
    }

    #[test]
    fn a_strip_is_cut_at_its_narrowest() {
        let strip = grid(30, 3);
        assert_eq!(cut(&strip, &by_graph(&strip, 2)), 3);
        assert_eq!(cut(&strip, &by_graph(&strip, 3)), 6);
    }

    #[test]
    fn a_square_in_quarters_is_cut_not_much_worse_than_by_a_cross() {
        let square = grid(40, 40);
        let found = cut(&square, &by_graph(&square, 4));
        assert!(found <= 110, "{found} cut, and a cross cuts 80");
    }

    #[test]
    fn elements_without_neighbours_are_divided_evenly() {
        let mut mesh = RawMesh::new();
        mesh.add_set("cells", 10);
        let owners = by_graph(&Adjacency::of_set(&mesh, "cells").expect("a set"), 5);
        assert!((0..5).all(|part| owners.iter().filter(|owner| **owner == part).count() == 2), "{owners:?}");
    }

    #[test]
    fn one_element_that_is_next_to_all_others_is_no_trouble() {
        let mut mesh = RawMesh::new();
        let count = 300_000;
        mesh.add_set("cells", count + 1).add_set("edges", count);
        mesh.add_map("pecell", "edges", "cells", 2, (1..=count as u32).flat_map(|cell| [0, cell]).collect());
        let star = Adjacency::of_set(&mesh, "cells").expect("a set");
        let owners = by_graph(&star, 4);
        let first = owners.iter().filter(|owner| **owner == owners[0]).count();
        assert_eq!(cut(&star, &owners), count + 1 - first, "whoever is not with the one in the middle is cut off");
    }

    #[test]
    fn parts_of_a_mesh_are_of_nearly_equal_size() {
        let owners = by_graph(&grid(150, 75), 7);
        for part in 0..7 {
            let count = owners.iter().filter(|owner| **owner == part).count();
            assert!((1575..=1640).contains(&count), "part {part} has {count} of 11250");
        }
    }
}
