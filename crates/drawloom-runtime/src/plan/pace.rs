//! Which way a plan is run.
//!
//! There are three. *Together*: nodes are counted down, and whoever is free takes one that is ready. *Abreast*: workers walk
//! along lanes that were laid out before. *Alone*: one worker runs all nodes as they were recorded. Which of them is the
//! fastest depends on how long nodes take, how equal they are, and what a cache line costs between two cores. So it is
//! measured: a plan is run each way that may be the best, then as was fastest, and another way again now and then.

use std::sync::LazyLock;
use std::time::Instant;

use crate::sync::MODELLED;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A plan that takes less than so many nanoseconds for each node may be faster with one worker.
const SHORT: u64 = 400;

/// A plan whose workers take more than so many nanoseconds for each node has little to gain from lanes: they save some hundred,
/// and nodes of which one takes longer than another are shared out better without.
const LONG: u64 = 4_000;

/// How often a way is tried before it is compared: the first time, nothing is in the caches.
const TRIES: u32 = 2;

/// After how many runs another way is tried again.
const AGAIN: u32 = 256;

/// A way to run a plan, for [`Plan::always`](super::Plan::always).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Way {
    /// Whoever is free takes a task that is ready. Every plan can be run so.
    Together,
    /// Each worker walks along a lane of tasks that was laid out when the plan was made, and waits for other lanes where it must.
    Abreast,
    /// One worker runs all tasks as they were recorded.
    Alone,
}

impl Way {
    const ALL: [Way; 3] = [Way::Together, Way::Abreast, Way::Alone];
}

/// How long runs of a plan took. Runs of one plan follow each other, so one thread at a time changes it, and all accesses are
/// relaxed: their order is that of the runs.
#[derive(Default)]
pub(super) struct Pace {
    times: [Times; 3],
    runs: AtomicU32,
    /// The way that the user wants, one more than its number, or zero.
    wanted: AtomicU32,
    /// The present run: which way, and when it began, or zero when it is not to be measured.
    way: AtomicU32,
    began: AtomicU64,
}

/// How long runs of one way took.
#[derive(Default)]
struct Times {
    tries: AtomicU32,
    /// How many nanoseconds the shortest run took lately.
    best: AtomicU64,
}

impl Times {
    fn add(&self, time: u64) {
        let tries = self.tries.load(Ordering::Relaxed);
        self.tries.store(tries.saturating_add(1), Ordering::Relaxed);
        // What was shorter long ago is forgotten little by little.
        let best = self.best() + self.best() / 32;
        self.best.store(if tries == 0 { time } else { best.min(time) }, Ordering::Relaxed);
    }

    fn best(&self) -> u64 {
        self.best.load(Ordering::Relaxed)
    }

    fn is_known(&self) -> bool {
        self.tries.load(Ordering::Relaxed) >= TRIES
    }
}

impl Pace {
    /// The way of the next run, of so many nodes, which may have lanes, by so many workers.
    pub(super) fn choose(&self, nodes: usize, has_lanes: bool, workers: usize) -> Way {
        let runs = self.runs.load(Ordering::Relaxed);
        self.runs.store(runs.wrapping_add(1), Ordering::Relaxed);
        if let Some(way) = self.wanted() {
            return if way == Way::Abreast && !has_lanes { Way::Together } else { way };
        }
        if MODELLED {
            let way = Way::ALL[runs as usize % Way::ALL.len()];
            return if way == Way::Abreast && !has_lanes { Way::Alone } else { way };
        }
        if !self.of(Way::Together).is_known() {
            return Way::Together;
        }
        let each = self.together() / nodes.max(1) as u64;
        let fits = |way: &Way| match way {
            Way::Together => true,
            Way::Abreast => has_lanes && each.saturating_mul(workers as u64) <= LONG,
            Way::Alone => each <= SHORT,
        };
        let ways = || Way::ALL.into_iter().filter(fits);
        if let Some(unknown) = ways().find(|way| !self.of(*way).is_known()) {
            return unknown;
        }
        let best = ways().min_by_key(|way| self.of(*way).best()).unwrap_or(Way::Together);
        if runs.is_multiple_of(AGAIN) {
            // The others in turn.
            let others = ways().filter(|way| *way != best);
            return others.cycle().nth((runs / AGAIN) as usize % Way::ALL.len()).unwrap_or(best);
        }
        best
    }

    /// All runs from now on go one way, or as is fastest.
    pub(super) fn want(&self, way: Option<Way>) {
        self.wanted.store(way.map_or(0, |way| way as u32 + 1), Ordering::Relaxed);
    }

    /// The way that the user wants.
    pub(super) fn wanted(&self) -> Option<Way> {
        let wanted = self.wanted.load(Ordering::Relaxed) as usize;
        wanted.checked_sub(1).map(|way| Way::ALL[way])
    }

    /// For how many nanoseconds a run is given a chance that is not for all workers together.
    pub(super) fn limit(&self) -> u64 {
        if self.wanted().is_some() { u64::MAX } else { 2 * self.together() }
    }

    /// How many nanoseconds the shortest run of all workers together took lately.
    pub(super) fn together(&self) -> u64 {
        self.of(Way::Together).best()
    }

    /// A run begins.
    pub(super) fn begin(&self, way: Way) {
        self.way.store(way as u32, Ordering::Relaxed);
        self.began.store(now(), Ordering::Relaxed);
    }

    /// Since when the present run lasts, in nanoseconds.
    pub(super) fn lasts(&self) -> u64 {
        now().saturating_sub(self.began.load(Ordering::Relaxed))
    }

    /// The present run was disturbed, and says nothing about its way.
    pub(super) fn forget(&self) {
        self.began.store(0, Ordering::Relaxed);
    }

    /// The present run has ended, or has been given another way: this one took so long at least.
    pub(super) fn end(&self) {
        let began = self.began.load(Ordering::Relaxed);
        if began > 0 {
            self.times[self.way.load(Ordering::Relaxed) as usize].add(now() - began);
            self.forget();
        }
    }

    fn of(&self, way: Way) -> &Times {
        &self.times[way as usize]
    }
}

/// Nanoseconds since some moment, and never none.
fn now() -> u64 {
    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    if MODELLED { 1 } else { FIRST.elapsed().as_nanos() as u64 + 1 }
}

#[cfg(all(test, not(any(loom, feature = "shuttle"))))]
mod tests {
    use super::*;

    /// So many runs, each as long as a function says of its way. Returns the ways.
    fn ways(nodes: usize, has_lanes: bool, runs: u32, took: impl Fn(Way) -> u64) -> Vec<Way> {
        let pace = Pace::default();
        let run = |_| {
            let way = pace.choose(nodes, has_lanes, 2);
            pace.times[way as usize].add(took(way));
            way
        };
        (0..runs).map(run).collect()
    }

    #[test]
    fn the_fastest_way_is_found_and_the_others_are_tried_again() {
        for fastest in Way::ALL {
            let chosen = ways(100, true, 2000, |way| if way == fastest { 10_000 } else { 30_000 });
            let others = chosen.iter().skip(6).filter(|way| **way != fastest).count();
            assert!((4..10).contains(&others), "{fastest:?}: {others} runs of 2000 went another way");
            for way in Way::ALL {
                assert!(chosen[6..].contains(&way), "{way:?} is tried again while {fastest:?} is the fastest");
            }
        }
    }

    #[test]
    fn ways_that_can_gain_nothing_are_never_tried() {
        let without_lanes = ways(100, false, 600, |_| 10_000);
        assert!(!without_lanes.contains(&Way::Abreast) && without_lanes.contains(&Way::Alone));
        let middling = ways(100, true, 600, |_| 100_000);
        assert!(middling.contains(&Way::Abreast) && !middling.contains(&Way::Alone));
        assert!(ways(100, true, 600, |_| 300_000).iter().all(|way| *way == Way::Together));
    }

    #[test]
    fn a_way_that_became_slow_is_left() {
        let pace = Pace::default();
        let mut abreast = Vec::new();
        for run in 0..1000 {
            let way = pace.choose(100, true, 2);
            let time = match way {
                Way::Abreast if run < 500 => 10_000,
                Way::Abreast => 60_000,
                _ => 30_000,
            };
            pace.times[way as usize].add(time);
            abreast.push(way == Way::Abreast);
        }
        assert!(abreast[10..500].iter().filter(|is| **is).count() > 480);
        assert!(abreast[600..].iter().filter(|is| **is).count() < 5);
    }
}
