//! Which of many runs of indices overlap a given one.

use super::Group;

/// Finds the runs that overlap a given one: sorted by start, with the furthest end of every implicit subtree.
pub(super) struct RunIndex {
    runs: Vec<(u64, u64, Group)>,
    furthest: Vec<u64>,
}

impl RunIndex {
    pub(super) fn new(runs: impl Iterator<Item = (u64, u64, Group)>) -> Self {
        let mut runs: Vec<_> = runs.collect();
        runs.sort_unstable();
        let mut furthest = vec![0; runs.len()];
        fill(&runs, &mut furthest, 0, runs.len());
        return RunIndex { runs, furthest };

        fn fill(runs: &[(u64, u64, Group)], furthest: &mut [u64], lo: usize, hi: usize) -> u64 {
            if lo >= hi {
                return 0;
            }
            let mid = lo + (hi - lo) / 2;
            let ends = fill(runs, furthest, lo, mid).max(fill(runs, furthest, mid + 1, hi));
            furthest[mid] = ends.max(runs[mid].1);
            furthest[mid]
        }
    }

    pub(super) fn overlaps(&self, start: u64, end: u64, out: &mut Vec<Group>) {
        let mut todo = vec![(0, self.runs.len())];
        while let Some((lo, hi)) = todo.pop() {
            if lo >= hi {
                continue;
            }
            let mid = lo + (hi - lo) / 2;
            if self.furthest[mid] <= start {
                continue;
            }
            let (s, e, group) = self.runs[mid];
            todo.push((lo, mid));
            if s < end {
                if start < e {
                    out.push(group);
                }
                todo.push((mid + 1, hi));
            }
        }
    }
}
