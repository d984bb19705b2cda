//! How sets are cut into blocks.

use std::ops::Range;

use crate::mesh::Mesh;
use crate::run::partials::{BLOCK, block_count};

/// The bytes of all dats that one block should hold, so that they stay near a worker from one loop to the next. Smaller
/// blocks have more neighbours that contribute to them.
const BYTES: usize = 3 * 512 * 1024;

/// All sets cut into the same number of blocks, each of whole blocks of reductions.
pub(crate) struct Blocks {
    count: usize,
    /// For each set, where its blocks start, and where the last one ends.
    starts: Vec<Vec<usize>>,
    /// For each set, the block of each run of [`BLOCK`] elements.
    of: Vec<Vec<u32>>,
}

impl Blocks {
    pub(crate) fn new(mesh: &Mesh, workers: usize, wanted: Option<usize>) -> Self {
        let bytes: usize = mesh.dats.iter().map(|dat| dat.values.bytes_each() * dat.values.len()).sum();
        let largest = mesh.sets.iter().map(|set| block_count(set.size)).max().unwrap_or(0).max(1);
        // Enough for every worker to have something while another one is late, and as many for each, if there is enough to
        // do.
        let suitable = || bytes.div_ceil(BYTES).next_multiple_of(workers.max(1)).max(4 * workers);
        let count = wanted.unwrap_or_else(suitable).clamp(1, largest);
        let cut = |size: usize| -> Vec<usize> {
            let runs = block_count(size);
            (0..=count).map(|b| (runs * b / count * BLOCK).min(size)).collect()
        };
        let starts: Vec<Vec<usize>> = mesh.sets.iter().map(|set| cut(set.size)).collect();
        let of = starts
            .iter()
            .map(|starts| {
                let runs_of = |(number, ends): (usize, &[usize])| {
                    std::iter::repeat_n(number as u32, block_count(ends[1] - ends[0]))
                };
                starts.windows(2).enumerate().flat_map(runs_of).collect()
            })
            .collect();
        Self { count, starts, of }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The elements of a block of a set.
    pub(crate) fn range(&self, set: u32, block: usize) -> Range<usize> {
        let starts = &self.starts[set as usize];
        starts[block]..starts[block + 1]
    }

    /// Where the blocks of a set start, the first one left out.
    pub(crate) fn starts(&self, set: u32) -> &[usize] {
        let starts = &self.starts[set as usize];
        &starts[1..starts.len() - 1]
    }

    /// The block of an element.
    #[inline]
    pub(crate) fn of(&self, set: u32, element: usize) -> usize {
        self.of[set as usize][element / BLOCK] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_each_element_once_and_know_their_elements() {
        for (size, wanted) in [(0, 4), (1, 4), (1023, 2), (1024, 2), (1025, 2), (10_000, 3), (10_000, 100)] {
            let mut mesh = Mesh::new();
            let set = mesh.set("set", size).unwrap();
            mesh.set("other", 5000).unwrap();
            let blocks = Blocks::new(&mesh, 2, Some(wanted));
            let mut next = 0;
            for block in 0..blocks.count() {
                let range = blocks.range(set.number, block);
                assert_eq!(range.start, next);
                assert!(range.is_empty() || range.start.is_multiple_of(BLOCK));
                assert!(range.clone().all(|element| blocks.of(set.number, element) == block));
                next = range.end;
            }
            assert_eq!(next, size);
        }
    }
}
