//! Messages in flight, as words.
//!
//! A message is queued once, however many edges it goes over: the range of its edges, and then its bytes. How many these
//! are is known where it arrives, from the pin that its edges lead to, so a message without bytes is one word: half of all
//! say only that something has begun or ended, and go from one processor to another. A queue is one vector, which is emptied
//! at once and never shrinks, so no message costs an allocation.

use super::part::{Part, Stop};
use crate::graph::topology::Topology;
use crate::handlers::Sent;

/// Takes messages that were sent.
pub(crate) trait Post {
    /// Queues a message of a pin, with the number of the entry in which it was sent if there is a log. Returns over how many
    /// edges it goes, or nothing if there is no such edge.
    fn post(&mut self, topology: &Topology, pin: u32, sent: Sent, message: &[u64], number: Option<u64>) -> Option<u64>;
}

/// A queue of messages.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    words: Vec<u64>,
    /// The number of each message, if there is a log.
    numbers: Vec<u64>,
}

impl Ring {
    #[inline]
    pub(crate) fn push(&mut self, start: u32, end: u32, message: &[u64], number: Option<u64>) {
        // Grows until the ring is as long as the longest round needs.
        self.words.reserve(1 + message.len());
        self.words.push(u64::from(start) | u64::from(end) << 32);
        // Most messages are a few words, for which a call would be too much.
        self.words.extend(message.iter().copied());
        self.numbers.extend(number);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// All messages arrive, and the queue is empty.
    #[inline]
    pub(crate) fn drain(&mut self, part: &mut Part) -> Result<(), Stop> {
        let (mut at, mut count) = (0, 0);
        while at < self.words.len() {
            let (start, end) = edges_in(self.words[at]);
            let words = part.deliver(start, end, &self.words[at + 1..], self.numbers.get(count).copied())?;
            at += 1 + words;
            count += 1;
        }
        self.clear();
        Ok(())
    }

    /// As [`Ring::drain`], but the newest message comes first, and the last of its edges.
    pub(crate) fn drain_newest(&mut self, part: &mut Part, starts: &mut Vec<usize>) -> Result<(), Stop> {
        starts.clear();
        let mut at = 0;
        while at < self.words.len() {
            starts.push(at);
            at += 1 + part.words_over(edges_in(self.words[at]).0);
        }
        for (count, at) in starts.drain(..).enumerate().rev() {
            let (start, end) = edges_in(self.words[at]);
            let (message, number) = (&self.words[at + 1..], self.numbers.get(count).copied());
            (start..end).rev().try_for_each(|edge| part.deliver_one(edge, message, number))?;
        }
        self.clear();
        Ok(())
    }

    fn clear(&mut self) {
        self.words.clear();
        self.numbers.clear();
    }
}

/// The edges of a message, from its first word.
#[inline]
fn edges_in(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

/// The edges of a message, when the machine is one part.
#[inline]
pub(crate) fn edges_of(topology: &Topology, pin: u32, sent: Sent) -> Option<(u32, u32)> {
    let (start, end) = (topology.first_edge[pin as usize], topology.first_edge[pin as usize + 1]);
    match sent {
        Sent::Edge(index) => (index < end - start).then(|| (start + index, start + index + 1)),
        _ => Some((start, end)),
    }
}

impl Post for Ring {
    #[inline]
    fn post(&mut self, topology: &Topology, pin: u32, sent: Sent, message: &[u64], number: Option<u64>) -> Option<u64> {
        let (start, end) = edges_of(topology, pin, sent)?;
        if start < end {
            self.push(start, end, message, number);
        }
        Some(u64::from(end - start))
    }
}
