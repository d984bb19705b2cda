//! Two halves of some elements, and what it would gain to move each of them.

use crate::raw::Adjacency;

/// Which half each of some elements is in. Gains are kept up to date as elements move, so that asking for one costs
/// nothing, however many neighbours there are.
pub(super) struct Sides<'a> {
    adjacency: &'a Adjacency,
    /// The number of the present elements; others have an older one.
    round: u32,
    inside: Vec<u32>,
    left: Vec<bool>,
    gain: Vec<i64>,
    /// The number of the present pass, and for each element that of the last one in which it moved.
    pass: u32,
    moved: Vec<u32>,
}

impl<'a> Sides<'a> {
    pub(super) fn new(adjacency: &'a Adjacency) -> Self {
        let size = adjacency.len();
        Self {
            adjacency,
            round: 0,
            inside: vec![0; size],
            left: vec![false; size],
            gain: vec![0; size],
            pass: 0,
            moved: vec![0; size],
        }
    }

    /// Starts with some elements, all of them right.
    pub(super) fn start(&mut self, elements: &[u32]) {
        self.round += 1;
        for element in elements {
            self.inside[*element as usize] = self.round;
            self.left[*element as usize] = false;
        }
        for element in elements {
            self.gain[*element as usize] = -(self.neighbours(*element).count() as i64);
        }
    }

    /// The neighbours of an element among the present elements.
    pub(super) fn neighbours(&self, element: u32) -> impl Iterator<Item = u32> + use<'a, '_> {
        self.adjacency.of(element).iter().copied().filter(|neighbour| self.inside[*neighbour as usize] == self.round)
    }

    pub(super) fn is_left(&self, element: u32) -> bool {
        self.left[element as usize]
    }

    /// How many fewer connections are cut if an element changes sides.
    pub(super) fn gain(&self, element: u32) -> i64 {
        self.gain[element as usize]
    }

    /// Whether some neighbour of an element is on the other side.
    pub(super) fn is_at_border(&self, element: u32) -> bool {
        self.neighbours(element).any(|neighbour| self.is_left(neighbour) != self.is_left(element))
    }

    /// Puts an element on the other side.
    pub(super) fn turn(&mut self, element: u32) {
        let left = !self.left[element as usize];
        self.left[element as usize] = left;
        self.gain[element as usize] = -self.gain[element as usize];
        for neighbour in self.adjacency.of(element) {
            // Those that are not present are not looked at before they are started with again.
            let together = self.left[*neighbour as usize] == left;
            self.gain[*neighbour as usize] += if together { -2 } else { 2 };
        }
    }

    /// Starts a pass, in which nothing has moved.
    pub(super) fn start_pass(&mut self) {
        self.pass += 1;
    }

    /// Puts an element on the other side, and remembers that for this pass.
    pub(super) fn move_once(&mut self, element: u32) {
        self.turn(element);
        self.moved[element as usize] = self.pass;
    }

    /// Whether an element has moved in this pass.
    pub(super) fn has_moved(&self, element: u32) -> bool {
        self.moved[element as usize] == self.pass
    }
}

#[cfg(test)]
mod tests {
    use super::Sides;
    use crate::raw::{Adjacency, RawMesh};

    #[test]
    fn gains_stay_what_counting_would_give() {
        let mut random = fastrand::Rng::with_seed(8);
        let mut mesh = RawMesh::new();
        let table = (0..240).map(|_| random.u32(..60)).collect();
        mesh.add_set("n", 60).add_set("e", 120).add_map("m", "e", "n", 2, table);
        let adjacency = Adjacency::of_set(&mesh, "n").expect("a set");
        let mut sides = Sides::new(&adjacency);
        for round in 0..20 {
            let elements: Vec<u32> = (0..60).filter(|_| random.bool()).collect();
            sides.start(&elements);
            for _ in 0..40 {
                let Some(element) = random.choice(&elements) else { continue };
                sides.turn(*element);
                for element in &elements {
                    let same = |other: u32| sides.is_left(other) == sides.is_left(*element);
                    let counted: i64 = sides.neighbours(*element).map(|other| if same(other) { -1 } else { 1 }).sum();
                    assert_eq!(sides.gain(*element), counted, "round {round}");
                }
            }
        }
    }
}
