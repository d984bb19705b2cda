//! Entries of a log, and how they are recorded.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum What {
    Init,
    Send,
    Receive,
    Cancel,
    Idle,
    /// Never recorded: it changes nothing.
    Ready,
}

impl What {
    pub(crate) fn name(self) -> &'static str {
        match self {
            What::Init => "init",
            What::Send => "send",
            What::Receive => "receive",
            What::Cancel => "cancel",
            What::Idle => "idle",
            What::Ready => "ready",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [What::Init, What::Send, What::Receive, What::Cancel, What::Idle].into_iter().find(|what| what.name() == name)
    }

    /// Whether it happens at a pin.
    pub(crate) fn has_pin(self) -> bool {
        matches!(self, What::Send | What::Receive | What::Cancel)
    }
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) what: What,
    pub(crate) device: u32,
    pub(crate) pin: u32,
    /// The edge that a message came over; or the index of the edge it was sent over, `u32::MAX` for all.
    pub(crate) edge: u32,
    /// The number of the entry in which the message that came was sent.
    pub(crate) message: u64,
    /// The hash of the message.
    pub(crate) hash: u64,
    /// The hash of the state afterwards, if states are recorded.
    pub(crate) state: u64,
}

impl Entry {
    pub(crate) fn new(what: What, device: u32) -> Self {
        Self { number: 0, what, device, pin: 0, edge: u32::MAX, message: 0, hash: 0, state: 0 }
    }
}

/// Records entries.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) entries: Vec<Entry>,
    /// The bytes of each message that was sent, by the number of its entry.
    pub(crate) messages: Vec<(u64, Box<[u8]>)>,
    states: bool,
    most: usize,
    pub(crate) next: u64,
    /// Numbers for several recorders at once.
    numbers: Option<Arc<AtomicU64>>,
}

impl Recorder {
    pub(crate) fn new(states: bool, most: usize) -> Self {
        Self { entries: Vec::new(), messages: Vec::new(), states, most, next: 0, numbers: None }
    }

    /// Takes numbers from a counter that other recorders use too.
    pub(crate) fn share(&mut self, numbers: &Arc<AtomicU64>) {
        self.numbers = Some(Arc::clone(numbers));
    }

    /// Records an entry, and returns its number.
    pub(crate) fn record(&mut self, entry: Entry, message: &[u8], state: &[u8]) -> u64 {
        let number = match &self.numbers {
            // Relaxed: all recorders add to one counter, so numbers are distinct; and a message's way through the mail,
            // which is locked, orders the number of its send before those of its arrivals.
            Some(numbers) => numbers.fetch_add(1, Ordering::Relaxed),
            None => self.next,
        };
        self.next = number + 1;
        let hash = if entry.what.has_pin() { hash(message) } else { 0 };
        let state = if self.states { self::hash(state) } else { 0 };
        if entry.what == What::Send && !message.is_empty() {
            self.messages.push((number, message.into()));
        }
        self.entries.push(Entry { number, hash, state, ..entry });
        number
    }

    /// Whether there are more entries than allowed.
    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() > self.most
    }

    pub(crate) fn has_states(&self) -> bool {
        self.states
    }
}

/// The hash of some bytes: FNV-1a of 64 bits.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
