//! What a mesh program runs on, as options.

use clap::{Args, ValueEnum};
use drawloom_mesh::{Backend, Control, Events, Executor, Mode, Threads};
use drawloom_runtime::Loom;

use crate::number::{all_workers, integer, workers};

/// The options of every mesh program.
#[derive(Debug, Args)]
pub(super) struct MeshBackend {
    /// What the loops run on
    #[arg(long, value_enum, default_value_t, value_name = "BACKEND")]
    backend: Kind,
    /// How many workers execute; by default as many as there are cores
    #[arg(long, value_parser = workers, value_name = "K")]
    workers: Option<usize>,
    /// Let increments be applied in an order that depends on the number of workers
    #[arg(long)]
    fast: bool,
    /// Decides the order of iterations of the debug backend, and of messages that arrive at random
    #[arg(long, default_value = "1", value_parser = integer, value_name = "SEED")]
    seed: u64,
    /// Which message of the event backend arrives next; by default the oldest with one worker, and parallel with more
    #[arg(long, value_enum, value_name = "EXECUTOR")]
    executor: Option<Order>,
    /// How devices of the event backend learn that a loop begins, and how its end is known
    #[arg(long, value_enum, default_value_t, value_name = "CONTROL")]
    control: Ways,
}

/// How loops begin and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Ways {
    /// One device tells all others, and hears from all
    #[default]
    Plain,
    /// The same through a tree of devices
    Tree,
}

/// Which message arrives next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Order {
    /// The oldest
    Fifo,
    /// The newest
    Lifo,
    /// Any
    Random,
    /// Each is put off again and again, with a probability of one half
    Delay,
    /// Each worker has a part of the devices
    Parallel,
}

/// What loops run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// One iteration after the other: the reference
    Serial,
    /// Blocks of iterations as tasks, with the same bits as the reference
    #[default]
    Threads,
    /// One iteration after the other in a shuffled order, on copies
    Debug,
    /// A device for each element, and messages between them
    Event,
}

impl MeshBackend {
    pub(super) fn name(&self) -> &'static str {
        match self.backend {
            Kind::Serial => "serial",
            Kind::Threads => "threads",
            Kind::Debug => "debug",
            Kind::Event => "event",
        }
    }

    /// How many workers there will be.
    pub(super) fn count(&self) -> usize {
        match self.backend {
            Kind::Serial | Kind::Debug => 1,
            Kind::Threads => self.workers.unwrap_or_else(all_workers),
            Kind::Event if matches!(self.executor, None | Some(Order::Parallel)) => {
                self.workers.unwrap_or(if self.executor.is_some() { all_workers() } else { 1 })
            }
            Kind::Event => 1,
        }
    }

    /// The backend; that of threads on the workers of a runtime, if one is given.
    pub(super) fn backend(&self, loom: Option<&Loom>) -> Backend {
        match self.backend {
            Kind::Serial => Backend::Serial,
            Kind::Debug => Backend::Debug { seed: self.seed },
            Kind::Event => {
                let workers = self.count();
                let order = self.executor.unwrap_or(if workers > 1 { Order::Parallel } else { Order::Fifo });
                let events = Events::new().control(match self.control {
                    Ways::Plain => Control::Plain,
                    Ways::Tree => Control::Tree,
                });
                Backend::Events(events.executor(match order {
                    Order::Fifo => Executor::Fifo,
                    Order::Lifo => Executor::Lifo,
                    Order::Random => Executor::Random { seed: self.seed },
                    Order::Delay => Executor::Delay { probability: 0.5, seed: self.seed },
                    Order::Parallel => Executor::Parallel { workers },
                }))
            }
            Kind::Threads => {
                let mode = if self.fast { Mode::Fast } else { Mode::Deterministic };
                let threads = Threads::new().mode(mode);
                Backend::Threads(match loom {
                    Some(loom) => threads.on(loom),
                    None => threads.workers(self.count()),
                })
            }
        }
    }
}
