//! How large a text may make a graph: a few words of loop can ask for more than any machine holds.

/// Bounds on what a text may expand to. Beyond them lowering fails with an error that names the loop or partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many rounds of loops, statements in them, and arguments of calls there may be in all.
    pub steps: u64,
    /// How many pieces all partitions may have together.
    pub pieces: u64,
    /// How many facts may be stated; `disjoint` of n regions states n·(n-1)/2.
    pub facts: u64,
    /// How many comparisons of runs of indices one partition may need: its pieces times the runs of what it cuts.
    pub comparisons: u64,
}

impl Default for Limits {
    /// Ten million steps, two million pieces, four million facts, four billion comparisons: some two million calls, a few
    /// gigabytes and a few minutes at the very worst.
    fn default() -> Self {
        Self { steps: 10_000_000, pieces: 2_000_000, facts: 4_000_000, comparisons: 4_000_000_000 }
    }
}
