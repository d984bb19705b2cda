//! Which form of an inner loop is the faster: found by trying both.
//!
//! Both give the same bits, so it plays no part when, and by how many threads at once, they are tried.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// A form of an inner loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// One iteration after the other.
    OneByOne,
    /// Some iterations at a time.
    InLanes,
}

/// How often each way is tried. The best of them counts, as anything else may have been disturbed.
const TRIES: u32 = 12;

/// Fewer iterations at a time say little, and gain little.
const ENOUGH: usize = 64;

/// What is known of the two ways.
#[derive(Debug)]
pub(super) struct Ways {
    /// How many tries were begun, of both ways in turn.
    begun: AtomicU32,
    /// How many were ended.
    ended: AtomicU32,
    /// The best time of each, in picoseconds an iteration.
    best: [AtomicU64; 2],
}

impl Default for Ways {
    fn default() -> Self {
        let unknown = || AtomicU64::new(u64::MAX);
        Self { begun: AtomicU32::new(0), ended: AtomicU32::new(0), best: [unknown(), unknown()] }
    }
}

impl Ways {
    /// Runs a number of iterations on the better way, or on the one to be tried.
    #[inline]
    pub(super) fn run<R>(&self, iterations: usize, run: impl FnOnce(Way) -> R) -> R {
        if iterations < ENOUGH {
            return run(Way::OneByOne);
        }
        if self.ended.load(Relaxed) >= 2 * TRIES {
            return run(self.better());
        }
        let number = self.begun.fetch_add(1, Relaxed);
        let way = if number.is_multiple_of(2) { Way::InLanes } else { Way::OneByOne };
        let since = Instant::now();
        let result = run(way);
        let each = since.elapsed().as_nanos() as u64 * 1000 / iterations as u64;
        self.best[way as usize].fetch_min(each, Relaxed);
        self.ended.fetch_add(1, Relaxed);
        result
    }

    fn better(&self) -> Way {
        let [one_by_one, in_lanes] = &self.best;
        if in_lanes.load(Relaxed) < one_by_one.load(Relaxed) { Way::InLanes } else { Way::OneByOne }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_are_tried_before_one_is_kept() {
        let ways = Ways::default();
        let mut taken = [0; 2];
        for _ in 0..2 * TRIES {
            ways.run(ENOUGH, |way| taken[way as usize] += 1);
        }
        assert_eq!(taken, [TRIES; 2]);
        ways.best[Way::InLanes as usize].store(7, Relaxed);
        ways.best[Way::OneByOne as usize].store(8, Relaxed);
        assert_eq!(ways.run(ENOUGH, |way| way), Way::InLanes);
        ways.best[Way::OneByOne as usize].store(6, Relaxed);
        assert_eq!(ways.run(ENOUGH, |way| way), Way::OneByOne);
        assert_eq!(ways.run(ENOUGH - 1, |way| way), Way::OneByOne);
    }
}
