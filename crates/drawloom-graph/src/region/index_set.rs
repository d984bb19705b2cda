//! Sets of indices, kept as sorted runs.
//!
//! A space of a billion cells cut into blocks is a handful of runs, and a random colouring is one run per change of
//! colour, so runs serve both. All operations are linear merges of two run lists.
//!
//! ```
//! use drawloom_graph::IndexSet;
//! let a = IndexSet::range(0, 10);
//! let b: IndexSet = [8, 9, 10, 30].into_iter().collect();
//! assert_eq!(a.first_common(&b), Some(8));
//! assert_eq!(a.union(&b).len(), 12);
//! assert_eq!(a.difference(&b).to_string(), "0..8");
//! ```

use std::fmt;

/// A half-open run of consecutive indices, never empty inside an [`IndexSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Run {
    /// The first index of the run.
    pub start: u64,
    /// One past the last index of the run.
    pub end: u64,
}

/// A set of indices as sorted runs that neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct IndexSet {
    runs: Vec<Run>,
}

impl IndexSet {
    /// The set with no index.
    pub fn empty() -> Self {
        Self::default()
    }

    /// The set `start..end`; empty when `end <= start`.
    pub fn range(start: u64, end: u64) -> Self {
        Self::from_runs([Run { start, end }])
    }

    /// The union of any runs, in any order; empty runs are dropped.
    pub fn from_runs(runs: impl IntoIterator<Item = Run>) -> Self {
        let mut runs: Vec<Run> = runs.into_iter().filter(|r| r.start < r.end).collect();
        if !runs.is_sorted() {
            runs.sort_unstable();
        }
        let mut merged: Vec<Run> = Vec::with_capacity(runs.len());
        for run in runs {
            match merged.last_mut() {
                Some(last) if run.start <= last.end => last.end = last.end.max(run.end),
                _ => merged.push(run),
            }
        }
        Self { runs: merged }
    }

    /// The runs, in increasing order.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// How many indices the set holds.
    pub fn len(&self) -> u64 {
        self.runs.iter().map(|r| r.end - r.start).sum()
    }

    /// Whether the set holds no index.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The smallest index, if any.
    pub fn first(&self) -> Option<u64> {
        self.runs.first().map(|r| r.start)
    }

    /// The largest index, if any.
    pub fn last(&self) -> Option<u64> {
        self.runs.last().map(|r| r.end - 1)
    }

    /// Whether `index` is in the set.
    pub fn contains(&self, index: u64) -> bool {
        let after = self.runs.partition_point(|r| r.start <= index);
        after > 0 && index < self.runs[after - 1].end
    }

    /// The smallest index of `other` that this set lacks, or `None` when it contains them all.
    pub fn first_missing(&self, other: &Self) -> Option<u64> {
        other.difference(self).first()
    }

    /// Whether every index of `other` is in this set.
    pub fn contains_set(&self, other: &Self) -> bool {
        other.runs.iter().all(|run| {
            let after = self.runs.partition_point(|r| r.start <= run.start);
            after > 0 && run.end <= self.runs[after - 1].end
        })
    }

    /// The smallest index in both sets: the witness that they overlap.
    pub fn first_common(&self, other: &Self) -> Option<u64> {
        let (mut small, mut large) = (self, other);
        if small.runs.len() > large.runs.len() {
            std::mem::swap(&mut small, &mut large);
        }
        // A few runs against many: look each one up. Otherwise merge.
        if small.runs.len() * 16 < large.runs.len() {
            return small.runs.iter().find_map(|run| {
                let first = large.runs.partition_point(|r| r.end <= run.start);
                let hit = large.runs.get(first)?;
                (hit.start < run.end).then(|| hit.start.max(run.start))
            });
        }
        let (mut i, mut j) = (0, 0);
        while i < small.runs.len() && j < large.runs.len() {
            let (a, b) = (small.runs[i], large.runs[j]);
            if a.end <= b.start {
                i += 1;
            } else if b.end <= a.start {
                j += 1;
            } else {
                return Some(a.start.max(b.start));
            }
        }
        None
    }

    /// The indices in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self::from_runs(self.runs.iter().chain(&other.runs).copied())
    }

    /// The indices in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut runs = Vec::new();
        let (mut i, mut j) = (0, 0);
        while i < self.runs.len() && j < other.runs.len() {
            let (a, b) = (self.runs[i], other.runs[j]);
            let (start, end) = (a.start.max(b.start), a.end.min(b.end));
            if start < end {
                runs.push(Run { start, end });
            }
            if a.end < b.end {
                i += 1;
            } else {
                j += 1;
            }
        }
        Self { runs }
    }

    /// The indices in this set and not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut runs = Vec::new();
        let mut j = 0;
        for run in &self.runs {
            let mut start = run.start;
            while j < other.runs.len() && other.runs[j].end <= start {
                j += 1;
            }
            let mut k = j;
            while k < other.runs.len() && other.runs[k].start < run.end {
                if start < other.runs[k].start {
                    runs.push(Run { start, end: other.runs[k].start });
                }
                start = start.max(other.runs[k].end);
                k += 1;
            }
            if start < run.end {
                runs.push(Run { start, end: run.end });
            }
        }
        Self { runs }
    }

    /// Every index, in increasing order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.runs.iter().flat_map(|r| r.start..r.end)
    }
}

impl FromIterator<u64> for IndexSet {
    fn from_iter<I: IntoIterator<Item = u64>>(indices: I) -> Self {
        // No space reaches `u64::MAX`: a space is `0..len`, so its last index is at most `u64::MAX - 1`.
        Self::from_runs(indices.into_iter().map(|i| Run { start: i, end: i.saturating_add(1) }))
    }
}

impl fmt::Display for IndexSet {
    /// Runs separated by commas, a single index without dots, at most eight runs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.runs.is_empty() {
            return f.write_str("nothing");
        }
        for (i, run) in self.runs.iter().take(8).enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            if run.end - run.start == 1 {
                write!(f, "{}", run.start)?;
            } else {
                write!(f, "{}..{}", run.start, run.end)?;
            }
        }
        if self.runs.len() > 8 {
            write!(f, ", … ({} runs)", self.runs.len())?;
        }
        Ok(())
    }
}
