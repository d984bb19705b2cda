//! Which of many runs of indices overlap a given one.

use super::index_set::Run;

/// Finds the runs that overlap a given one: an interval tree over runs sorted by start, each with a tag.
#[derive(Clone, Debug)]
pub struct RunIndex<T> {
    runs: Vec<(u64, u64, T)>,
    /// The greatest end in the implicit subtree whose root is the run at the same place.
    furthest: Vec<u64>,
}

impl<T: Copy + Ord> RunIndex<T> {
    /// An index of runs, each with a tag.
    pub fn new(runs: impl Iterator<Item = (Run, T)>) -> Self {
        let mut runs: Vec<_> = runs.map(|(run, tag)| (run.start, run.end, tag)).collect();
        runs.sort_unstable();
        let mut furthest = vec![0; runs.len()];
        fill(&runs, &mut furthest);
        Self { runs, furthest }
    }

    /// Calls `found` with every run that shares an index with `wanted`, and its tag, by ascending start.
    pub fn overlaps(&self, wanted: Run, mut found: impl FnMut(Run, T)) {
        visit(&self.runs, &self.furthest, wanted, &mut found);
    }
}

/// Computes the greatest ends in a subtree, and returns that of its root.
fn fill<T>(runs: &[(u64, u64, T)], furthest: &mut [u64]) -> u64 {
    if runs.is_empty() {
        return 0;
    }
    let mid = runs.len() / 2;
    let before = fill(&runs[..mid], &mut furthest[..mid]);
    let after = fill(&runs[mid + 1..], &mut furthest[mid + 1..]);
    furthest[mid] = before.max(after).max(runs[mid].1);
    furthest[mid]
}

fn visit<T: Copy>(runs: &[(u64, u64, T)], furthest: &[u64], wanted: Run, found: &mut impl FnMut(Run, T)) {
    let mid = runs.len() / 2;
    if runs.is_empty() || furthest[mid] <= wanted.start {
        return;
    }
    visit(&runs[..mid], &furthest[..mid], wanted, found);
    let (start, end, tag) = runs[mid];
    if start < wanted.end {
        if wanted.start < end {
            found(Run { start, end }, tag);
        }
        visit(&runs[mid + 1..], &furthest[mid + 1..], wanted, found);
    }
}
