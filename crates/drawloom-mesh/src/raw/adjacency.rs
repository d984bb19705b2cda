//! Which elements of a set are neighbours: the graph that orders and partitions are made from.

use super::{RawMap, RawMesh};
use crate::error::Error;

/// Rows and shared targets of more elements than this connect each element to the next one only, so that the number of
/// neighbours stays linear in the size of the mesh whatever its arities are. A node of tetrahedra has about 24.
const CLIQUE: usize = 32;

/// For each element of a set, its neighbours in growing order. The relation is symmetric, and nothing is its own neighbour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adjacency {
    starts: Vec<usize>,
    neighbours: Vec<u32>,
}

impl Adjacency {
    /// The neighbours in a set. Elements that some element of another set leads to together are neighbours, such as the
    /// two cells of an edge. If no map leads to the set that way, those that share targets are, such as cells with common
    /// nodes: two of them, which is a side of a cell, or if nobody shares two, one.
    pub fn of_set(mesh: &RawMesh, set: &str) -> Result<Self, Error> {
        mesh.check()?;
        let size = mesh.size(set)?;
        let mut pairs = Pairs { size, pairs: Vec::new() };
        for map in mesh.maps.iter().filter(|map| map.to == set && map.arity > 1) {
            map.rows().for_each(|row| pairs.connect(row));
        }
        if !pairs.pairs.is_empty() {
            return Ok(pairs.finish(1));
        }
        for shared in [2, 1] {
            for map in mesh.maps.iter().filter(|map| map.from == set && map.arity >= shared) {
                let inverse = Inverse::of(map, mesh.size(&map.to)?);
                (0..inverse.len()).for_each(|target| pairs.connect(inverse.sources(target)));
            }
            let found = Pairs { size, pairs: std::mem::take(&mut pairs.pairs) }.finish(shared);
            if found.pairs() > 0 || shared == 1 {
                return Ok(found);
            }
        }
        Ok(pairs.finish(1))
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The neighbours of an element.
    ///
    /// # Panics
    ///
    /// If there is no such element.
    pub fn of(&self, element: u32) -> &[u32] {
        &self.neighbours[self.starts[element as usize]..self.starts[element as usize + 1]]
    }

    /// How many neighbours an element has.
    pub fn degree(&self, element: u32) -> usize {
        self.of(element).len()
    }

    /// How many pairs of neighbours there are.
    pub fn pairs(&self) -> usize {
        self.neighbours.len() / 2
    }

    /// Where the neighbours of each element start, and all neighbours: the form that METIS wants.
    #[cfg(feature = "metis")]
    pub(crate) fn lists(&self) -> (&[usize], &[u32]) {
        (&self.starts, &self.neighbours)
    }
}

/// For each element of the target set of a map, the elements that lead to it.
pub(crate) struct Inverse {
    starts: Vec<usize>,
    sources: Vec<u32>,
}

impl Inverse {
    pub(crate) fn of(map: &RawMap, size: usize) -> Self {
        let mut starts = vec![0usize; size + 1];
        for target in &map.table {
            starts[*target as usize + 1] += 1;
        }
        accumulate(&mut starts);
        let mut next = starts.clone();
        let mut sources = vec![0; map.table.len()];
        for (index, target) in map.table.iter().enumerate() {
            let place = &mut next[*target as usize];
            sources[*place] = (index / map.arity.max(1)) as u32;
            *place += 1;
        }
        Self { starts, sources }
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The elements that lead to a target, in growing order.
    pub(crate) fn sources(&self, target: usize) -> &[u32] {
        &self.sources[self.starts[target]..self.starts[target + 1]]
    }
}

/// Pairs of neighbours, some of them several times.
struct Pairs {
    size: usize,
    pairs: Vec<[u32; 2]>,
}

impl Pairs {
    fn connect(&mut self, together: &[u32]) {
        for (index, a) in together.iter().enumerate() {
            let last = if together.len() <= CLIQUE { together.len() } else { together.len().min(index + 2) };
            self.pairs.extend(together[index + 1..last].iter().filter(|b| a != *b).map(|b| [*a, *b]));
        }
    }

    /// The neighbours: pairs that are there at least so many times.
    fn finish(self, times: usize) -> Adjacency {
        let mut starts = vec![0usize; self.size + 1];
        for element in self.pairs.as_flattened() {
            starts[*element as usize + 1] += 1;
        }
        accumulate(&mut starts);
        let mut next = starts.clone();
        let mut all = vec![0; 2 * self.pairs.len()];
        for [a, b] in &self.pairs {
            for (from, to) in [(a, b), (b, a)] {
                let place = &mut next[*from as usize];
                all[*place] = *to;
                *place += 1;
            }
        }
        // Each element's neighbours are sorted, and moved to the left over those that were there twice.
        let mut kept = 0;
        for element in 0..self.size {
            let (start, end) = (starts[element], starts[element + 1]);
            all[start..end].sort_unstable();
            starts[element] = kept;
            let mut index = start;
            while index < end {
                let neighbour = all[index];
                let same = all[index..end].iter().take_while(|other| **other == neighbour).count();
                index += same;
                if same >= times {
                    // At most as many were kept as were looked at, so nothing that is still needed is overwritten.
                    all[kept] = neighbour;
                    kept += 1;
                }
            }
        }
        starts[self.size] = kept;
        all.truncate(kept);
        Adjacency { starts, neighbours: all }
    }
}

fn accumulate(counts: &mut [usize]) {
    let mut sum = 0;
    for count in counts {
        sum += *count;
        *count = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::Adjacency;
    use crate::raw::RawMesh;

    #[test]
    fn cells_of_an_edge_are_neighbours_once() {
        let mut mesh = RawMesh::new();
        mesh.add_set("cells", 4).add_set("edges", 4);
        mesh.add_map("pecell", "edges", "cells", 2, vec![0, 1, 1, 0, 2, 1, 3, 3]);
        let adjacency = Adjacency::of_set(&mesh, "cells").expect("a set");
        let all: Vec<&[u32]> = (0..4).map(|cell| adjacency.of(cell)).collect();
        assert_eq!(all, [&[1][..], &[0, 2], &[1], &[]]);
        assert_eq!((adjacency.pairs(), adjacency.degree(1), adjacency.is_empty()), (2, 2, false));
    }

    #[test]
    fn without_a_map_to_the_set_a_shared_target_makes_neighbours() {
        let mut mesh = RawMesh::new();
        mesh.add_set("cells", 3).add_set("nodes", 5);
        mesh.add_map("pcell", "cells", "nodes", 2, vec![0, 1, 1, 2, 3, 4]);
        let adjacency = Adjacency::of_set(&mesh, "cells").expect("a set");
        assert_eq!((adjacency.of(0), adjacency.of(1), adjacency.of(2)), (&[1][..], &[0][..], &[][..]));
    }

    #[test]
    fn cells_that_share_a_side_are_neighbours_and_those_that_share_a_corner_are_not() {
        let mut mesh = RawMesh::new();
        mesh.add_set("triangles", 3).add_set("nodes", 6);
        mesh.add_map("corners", "triangles", "nodes", 3, vec![0, 1, 2, 2, 1, 3, 3, 4, 5]);
        let adjacency = Adjacency::of_set(&mesh, "triangles").expect("a set");
        assert_eq!((adjacency.of(0), adjacency.of(1), adjacency.of(2)), (&[1][..], &[0][..], &[][..]));
    }

    #[test]
    fn a_mesh_that_is_wrong_is_refused() {
        let mut mesh = RawMesh::new();
        mesh.add_set("cells", 1).add_set("edges", 1).add_map("pecell", "edges", "cells", 2, vec![0, 7]);
        assert!(Adjacency::of_set(&mesh, "cells").is_err());
    }

    #[test]
    fn a_long_row_connects_only_what_follows_one_another() {
        let mut mesh = RawMesh::new();
        mesh.add_set("all", 1).add_set("nodes", 1000).add_map("every", "all", "nodes", 1000, (0..1000).collect());
        assert_eq!(Adjacency::of_set(&mesh, "nodes").expect("a set").pairs(), 999);
    }

    #[test]
    fn every_inner_edge_of_a_mesh_is_a_pair() {
        // A ring of 20 cells, 9 rings around each other.
        let (across, up) = (20, 9);
        let mut table = Vec::new();
        for cell in 0..across * up {
            table.extend([cell, cell / across * across + (cell + 1) % across]);
            if cell + across < across * up {
                table.extend([cell, cell + across]);
            }
        }
        let mut mesh = RawMesh::new();
        mesh.add_set("cells", 180).add_set("edges", 340).add_map("pecell", "edges", "cells", 2, table);
        assert_eq!(Adjacency::of_set(&mesh, "cells").expect("a set").pairs(), 340);
        assert!(Adjacency::of_set(&mesh, "edges").expect("a set").pairs() > 340);
    }
}
