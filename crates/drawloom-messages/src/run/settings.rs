//! Which executor runs a machine, and what is recorded.

use std::sync::Arc;

use drawloom_runtime::Loom;

/// Who decides what happens next. All of them are fair: a message that was sent arrives, and a device that wants to send
/// does so, as long as the run goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Executor {
    /// In rounds: every device that wants to sends, lowest pin first, then messages arrive in the order they were sent.
    #[default]
    Fifo,
    /// In rounds as well, but always the newest first: devices, pins and messages.
    Lifo,
    /// Each step is a delivery over one edge, or a send, chosen at random.
    Random {
        /// Another seed, another order.
        seed: u64,
    },
    /// In rounds in which each delivery and each send is put off to the next with a probability.
    Delay {
        /// At least zero, and below one.
        probability: f64,
        /// Another seed, another order.
        seed: u64,
    },
    /// On the workers of an engine, each of which owns a part of the devices. The order is not the same each time.
    Parallel {
        /// How many parts and workers.
        workers: usize,
    },
}

/// How a machine is run.
#[derive(Clone, Default)]
pub struct Settings {
    pub(crate) executor: Executor,
    pub(crate) log: Option<bool>,
    pub(crate) most_steps: Option<u64>,
    pub(crate) most_events: usize,
    pub(crate) partition: Option<Arc<[u32]>>,
    pub(crate) loom: Option<Loom>,
}

impl Settings {
    /// A run under an executor, without a log.
    #[must_use]
    pub fn new(executor: Executor) -> Self {
        Self { executor, most_events: 100_000_000, ..Self::default() }
    }

    /// Records every event.
    #[must_use]
    pub fn log(mut self) -> Self {
        self.log = Some(false);
        self
    }

    /// Records every event, and what the state of its device was after it.
    #[must_use]
    pub fn log_with_states(mut self) -> Self {
        self.log = Some(true);
        self
    }

    /// A log of more events than this ends the run with an error. The default is 10^8, which takes some gigabytes.
    #[must_use]
    pub fn most_events(mut self, events: usize) -> Self {
        self.most_events = events;
        self
    }

    /// A run of more sends, deliveries and cancelled sends than this, all counted together, ends with an error. By default
    /// a run may take for ever.
    #[must_use]
    pub fn most_steps(mut self, steps: u64) -> Self {
        self.most_steps = Some(steps);
        self
    }

    /// Which part each device belongs to, for the parallel executor. By default each worker owns the same number of
    /// devices, one after the other.
    #[must_use]
    pub fn partition(mut self, parts: impl Into<Arc<[u32]>>) -> Self {
        self.partition = Some(parts.into());
        self
    }

    /// The engine whose workers the parallel executor uses. By default it makes one for the run.
    #[must_use]
    pub fn loom(mut self, loom: &Loom) -> Self {
        self.loom = Some(loom.clone());
        self
    }
}
