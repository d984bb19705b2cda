//! How long nodes take, where somebody wants to know.
//!
//! Without that wish nobody looks at the clock. With it there are two looks around each firing, each call of a body, and within
//! the body around the user's code; what a node took besides is overhead.

use std::time::{Duration, Instant};

use super::Machine;
use crate::trace::Firing;

impl Machine<'_> {
    /// What time it is, if somebody wants to know.
    #[inline]
    pub(crate) fn clock(&self) -> Option<Instant> {
        self.outside.timed.then(Instant::now)
    }

    /// A node has fired.
    pub(crate) fn note_firing(&mut self, node: u32, start: Option<Instant>) {
        let Some(from) = start else { return };
        let took = since(start);
        let counts = &mut self.nodes[node as usize].counts;
        counts.fire = counts.fire.wrapping_add(took);
        if self.outside.traced > 0 {
            let start = nanoseconds(from.duration_since(self.outside.began));
            self.firings.add(Firing { node, start, end: start.saturating_add(took) }, self.outside.traced);
        }
    }
}

/// How many nanoseconds have passed.
#[inline]
pub(crate) fn since(start: Option<Instant>) -> u64 {
    start.map_or(0, |start| nanoseconds(start.elapsed()))
}

/// A time in nanoseconds.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
