//! What a mesh program runs on, as options.

use clap::{Args, ValueEnum};
use drawloom_mesh::{Backend, Mode, Threads};

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
    /// Decides the order of iterations of the debug backend
    #[arg(long, default_value = "1", value_parser = integer, value_name = "SEED")]
    seed: u64,
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
}

impl MeshBackend {
    pub(super) fn name(&self) -> &'static str {
        match self.backend {
            Kind::Serial => "serial",
            Kind::Threads => "threads",
            Kind::Debug => "debug",
        }
    }

    /// How many workers there will be.
    pub(super) fn count(&self) -> usize {
        match self.backend {
            Kind::Serial | Kind::Debug => 1,
            Kind::Threads => self.workers.unwrap_or_else(all_workers),
        }
    }

    pub(super) fn backend(&self) -> Backend {
        match self.backend {
            Kind::Serial => Backend::Serial,
            Kind::Debug => Backend::Debug { seed: self.seed },
            Kind::Threads => {
                let mode = if self.fast { Mode::Fast } else { Mode::Deterministic };
                Backend::Threads(Threads::new().workers(self.count()).mode(mode))
            }
        }
    }
}
