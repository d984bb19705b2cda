//! Blocks of iterations as tasks of the engine.
//!
//! Every set is cut into the same number of blocks, and every dat with it. A loop becomes a task for each block, which
//! declares the blocks of the dats that its iterations lead to; the engine orders tasks by that, so that loops over
//! different blocks or different dats overlap, and nothing waits for a whole loop to end. Straight parts of a program are
//! recorded once and replayed.
//!
//! | file | what is in it |
//! |---|---|
//! | `blocks` | how sets are cut |
//! | `cut` | how a loop is cut into tasks that do not get into each other's way |
//! | `job` | what one task does |
//! | `lower` | from statements to recorded plans and the control flow around them |
//! | `machine` | running them |
//! | `staged` | contributions that are kept first, and applied later |

mod blocks;
mod cut;
mod job;
mod lower;
mod machine;
mod staged;

pub(super) use cut::traffic_of;
pub(super) use machine::OnThreads;
#[cfg(feature = "messages")]
pub(crate) use machine::Trouble;

use drawloom_runtime::Loom;

/// Whether results may depend on the number of workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The result has the same bits as that of the serial backend, for any number of workers.
    #[default]
    Deterministic,
    /// Increments may be applied in an order that depends on the number of blocks.
    Fast,
}

/// How a program runs on the workers of the engine.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Threads {
    loom: Option<Loom>,
    workers: Option<usize>,
    mode: Mode,
    blocks: Option<usize>,
}

impl Threads {
    /// On every core that this process may use.
    pub fn new() -> Self {
        Self::default()
    }

    /// On a number of workers.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// On the workers of a runtime, beside whatever else it does.
    pub fn on(mut self, loom: &Loom) -> Self {
        self.loom = Some(loom.clone());
        self
    }

    /// Says whether results may depend on the number of workers. They may not, unless said otherwise.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Cuts every set into at most a number of blocks, instead of as many as suit the caches and the workers. Sets are
    /// cut between runs of 1024 elements, so one of no more than that is one block.
    pub fn blocks(mut self, blocks: usize) -> Self {
        self.blocks = Some(blocks);
        self
    }
}
