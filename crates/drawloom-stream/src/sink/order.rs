//! Whose turn it is to deliver, in a stream that is ordered: sinks that take items as they come, and handlers of signals at sinks,
//! see them in the order of the source.
//!
//! Several workers have a chunk of the source each. Whoever has the first one that is not done delivers; the items and signals of
//! the others stay in the queues in front of their sinks, whose copies wait when those are full. So what is held back is bounded by
//! the memory of the stream. The worker that is waited for never waits for a turn itself, so the run goes on.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::bell::{Bell, Callers};

/// Whose turn it is to deliver, in one run.
#[derive(Default)]
pub(crate) struct Turn(Mutex<Deliveries>);

#[derive(Default)]
struct Deliveries {
    /// Everything before this position is delivered.
    at: u64,
    /// Chunks behind it that are done, each with its end.
    done: BTreeMap<u64, u64>,
    /// Those who wait for their turn.
    callers: Callers,
}

impl Turn {
    fn lock(&self) -> MutexGuard<'_, Deliveries> {
        self.0.lock()
    }

    /// Whether all chunks before this one are done. If not, the bell is rung when more of them are.
    pub(crate) fn has_come(&self, chunk: u64, bell: &Arc<Bell>) -> bool {
        let mut deliveries = self.lock();
        let has_come = deliveries.at == chunk;
        if !has_come {
            deliveries.callers.add(bell);
        }
        has_come
    }

    /// All that came of a chunk is where it belongs.
    pub(crate) fn complete(&self, chunk: Range<u64>) {
        let mut deliveries = self.lock();
        deliveries.done.insert(chunk.start, chunk.end);
        let before = deliveries.at;
        while let Some(end) = deliveries.at_end() {
            deliveries.at = end;
        }
        if deliveries.at != before {
            deliveries.callers.call();
        }
    }
}

impl Deliveries {
    /// The end of the chunk that is next, if it is done.
    fn at_end(&mut self) -> Option<u64> {
        let at = self.at;
        self.done.remove(&at)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Turn;

    #[test]
    fn a_turn_comes_when_all_chunks_before_it_are_done() {
        let (turn, bell) = (Turn::default(), Arc::default());
        turn.complete(20..30);
        turn.complete(10..20);
        assert!(turn.has_come(0, &bell) && !turn.has_come(10, &bell) && !turn.has_come(30, &bell));
        let heard = bell.heard();
        turn.complete(0..10);
        assert!(bell.heard() > heard, "whoever waits is called");
        assert!(turn.has_come(30, &bell));
    }
}
