//! Where events are kept: pieces of memory that are added as needed, up to a limit.

use drawloom_trace::Event;

/// How many events are added at once.
const CHUNK: usize = 4096;
/// How many events are kept at most; further ones are counted.
const MOST: usize = 1 << 22;

/// The events of one worker, or of all threads that are no workers.
#[derive(Default)]
pub(crate) struct Ring {
    chunks: Vec<Vec<Event>>,
    len: usize,
    lost: u64,
}

impl Ring {
    pub(crate) fn push(&mut self, event: Event) {
        if self.len == MOST {
            self.lost += 1;
            return;
        }
        if self.len.is_multiple_of(CHUNK) {
            // Allocates, once in a few thousand events, and never moves what was recorded.
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        self.len += 1;
        self.chunks.last_mut().expect("one was just added").push(event);
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// All events so far, and how many were lost.
    pub(crate) fn events(&self) -> (impl Iterator<Item = Event>, u64) {
        (self.chunks.iter().flatten().copied(), self.lost)
    }
}
