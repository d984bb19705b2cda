//! What a run did.

use crate::handlers::{Checkpoint, Export};
use crate::log::Log;

/// How often things happened in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages that were sent, each counted once, however many edges it went over.
    pub sends: u64,
    /// Messages that arrived, each counted for each edge it came over.
    pub deliveries: u64,
    /// Sends that their handlers cancelled.
    pub cancelled: u64,
    /// How often all was quiet and the devices were told so.
    pub idle_rounds: u64,
}

impl Counts {
    /// Everything that the limit of a run counts.
    pub(crate) fn steps(&self) -> u64 {
        self.sends + self.deliveries + self.cancelled
    }
}

/// What a run did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How often things happened.
    pub counts: Counts,
    /// The exit code that a handler asked for. Without one, the run ended because all was quiet.
    pub exit: Option<i32>,
    /// States that handlers remembered.
    pub checkpoints: Vec<Checkpoint>,
    /// Values that handlers gave to the outside.
    pub exports: Vec<Export>,
    /// Everything that happened, if that was asked for.
    pub log: Option<Log>,
}
