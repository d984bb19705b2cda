//! Messages in flight, as words.
//!
//! A message is queued once, however many edges it goes over: the range of its edges, its length and number, and then its
//! bytes. A queue is one vector, which is emptied at once and never shrinks, so no message costs an allocation.

use super::part::Stop;
use crate::graph::topology::Topology;
use crate::handlers::Sent;

/// Takes messages that were sent.
pub(crate) trait Post {
    /// Queues a message of a pin. Returns over how many edges it goes, or nothing if there is no such edge.
    fn post(&mut self, topology: &Topology, pin: u32, sent: Sent, message: &[u64], number: u64) -> Option<u64>;
}

/// A queue of messages.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    words: Vec<u64>,
}

/// Edges, length in words, and number of the message.
const HEADER: usize = 3;

impl Ring {
    #[inline]
    pub(crate) fn push(&mut self, start: u32, end: u32, message: &[u64], number: u64) {
        // Grows until the ring is as long as the longest round needs.
        self.words.reserve(HEADER + message.len());
        self.words.extend([u64::from(start) | u64::from(end) << 32, message.len() as u64, number]);
        // Most messages are a few words, for which a call would be too much.
        self.words.extend(message.iter().copied());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Calls a function with the edges, the bytes and the number of each message, and empties the queue.
    #[inline]
    pub(crate) fn drain(
        &mut self,
        mut deliver: impl FnMut(u32, u32, &[u64], u64) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut at = 0;
        while at < self.words.len() {
            let (edges, length, number) = (self.words[at], self.words[at + 1] as usize, self.words[at + 2]);
            let message = &self.words[at + HEADER..at + HEADER + length];
            deliver(edges as u32, (edges >> 32) as u32, message, number)?;
            at += HEADER + length;
        }
        self.words.clear();
        Ok(())
    }
}

impl Ring {
    /// As [`Ring::drain`], but the newest message comes first.
    pub(crate) fn drain_newest(
        &mut self,
        starts: &mut Vec<usize>,
        mut deliver: impl FnMut(u32, u32, &[u64], u64) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        starts.clear();
        let mut at = 0;
        while at < self.words.len() {
            starts.push(at);
            at += HEADER + self.words[at + 1] as usize;
        }
        for at in starts.drain(..).rev() {
            let (edges, length, number) = (self.words[at], self.words[at + 1] as usize, self.words[at + 2]);
            deliver(edges as u32, (edges >> 32) as u32, &self.words[at + HEADER..at + HEADER + length], number)?;
        }
        self.words.clear();
        Ok(())
    }
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
    fn post(&mut self, topology: &Topology, pin: u32, sent: Sent, message: &[u64], number: u64) -> Option<u64> {
        let (start, end) = edges_of(topology, pin, sent)?;
        if start < end {
            self.push(start, end, message, number);
        }
        Some(u64::from(end - start))
    }
}
