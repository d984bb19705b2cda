//! What is known about the loops of a run.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a loop is cut into tasks so that no two change the same element at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// All in one go, one iteration after the other.
    Serial,
    /// Every iteration changes its own elements only.
    Direct,
    /// A task for each block of the targets: it runs every iteration that contributes to the block, also those that
    /// contribute to another block too, and applies what falls into its own.
    Owner,
    /// Blocks of iterations that share a block of targets follow each other, by colours.
    Colours,
    /// Blocks of iterations that share a block of targets follow each other, in their order.
    Chain,
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Strategy::Serial => "serial",
            Strategy::Direct => "direct",
            Strategy::Owner => "owner",
            Strategy::Colours => "colours",
            Strategy::Chain => "chain",
        })
    }
}

/// What is known about one loop of a run.
#[derive(Clone, Debug)]
pub struct LoopStats {
    /// Its name.
    pub name: String,
    /// How it is cut into tasks.
    pub strategy: Strategy,
    /// How many tasks it has.
    pub tasks: usize,
    /// How many colours these have: how many must follow each other at least, without counting other loops.
    pub colours: usize,
    /// Iterations that are run more than once, each time counted.
    pub repeated: usize,
    /// How often an element that is reached through maps is used, on average. One when there is none.
    pub reuse: f64,
    /// The bytes that one execution touches at least: each element in use once, and the maps.
    pub bytes: usize,
    /// How often it was executed.
    pub executions: u64,
    /// How long its tasks took, all workers together.
    pub seconds: f64,
}

impl LoopStats {
    /// The bytes per second, in units of 10^9, that it would have moved if no element was fetched twice.
    pub fn gigabytes_per_second(&self) -> f64 {
        if self.seconds > 0.0 { self.bytes as f64 * self.executions as f64 / self.seconds / 1e9 } else { 0.0 }
    }
}

/// How long a loop took.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    nanos: AtomicU64,
    executions: AtomicU64,
}

impl Clock {
    pub(crate) fn add(&self, spent: std::time::Duration, executions: u64) {
        self.nanos.fetch_add(spent.as_nanos() as u64, Ordering::Relaxed);
        self.executions.fetch_add(executions, Ordering::Relaxed);
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.nanos.load(Ordering::Relaxed) as f64 / 1e9
    }

    pub(crate) fn executions(&self) -> u64 {
        self.executions.load(Ordering::Relaxed)
    }
}
