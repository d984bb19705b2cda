//! The event log: everything that happened in a run, to be compared with another run, or followed by one.
//!
//! | file | concept |
//! |---|---|
//! | [`record`] | entries, and how they are recorded |
//! | this one | a [`Log`] |
//! | [`file`](mod@file) | logs as lines of JSON |
//! | [`compare`](mod@compare) | whether two runs did the same, in whatever legal order |
//! | `numbers` | by how much the numbers of two records differ |
//! | [`replay`] | a run that follows a log, and verifies it |

pub mod compare;
pub mod file;
mod numbers;
pub(crate) mod record;
pub(crate) mod replay;

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::graph::Instance;
use crate::handlers::Checkpoint;
use crate::run::Counts;
use record::Entry;

pub use compare::{Comparison, Difference, compare, compare_within};

/// Everything that happened in a run, in an order in which it may have happened: a message is sent before it arrives, and
/// what one device did is in the order in which it did it.
#[derive(Clone)]
pub struct Log {
    pub(crate) instance: Arc<Instance>,
    pub(crate) entries: Vec<Entry>,
    /// The bytes of each message that was sent, by the number of its event. A log that was read may be without them.
    pub(crate) messages: FxHashMap<u64, Box<[u8]>>,
    pub(crate) checkpoints: Vec<Checkpoint>,
    pub(crate) counts: Counts,
    pub(crate) exit: Option<i32>,
    /// Whether entries hold states.
    pub(crate) states: bool,
}

impl Log {
    /// How many events there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The counts of the run.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

impl PartialEq for Log {
    /// Whether two logs say the same in the same order. See [`compare`](fn@compare) for another order.
    fn eq(&self, other: &Self) -> bool {
        (&self.entries, &self.checkpoints, self.counts, self.exit)
            == (&other.entries, &other.checkpoints, other.counts, other.exit)
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("events", &self.entries.len()).field("counts", &self.counts).finish_non_exhaustive()
    }
}
