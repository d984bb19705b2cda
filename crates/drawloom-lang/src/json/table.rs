//! Nodes by id.
//!
//! A table of a million names fits no cache, so every look-up waits for memory, and a file looks up two names for each
//! edge. This table keeps those waits few: it holds eight bytes for each node, a part of the hash and the number of the
//! node, and compares with the names that the graph holds anyway, packed one after the other.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

use drawloom_graph::graph::{Graph, NodeId};

/// Nodes by id: open addressing with linear probing.
pub(super) struct NodeTable {
    /// Half a hash, and below it the number of a node plus one. Zero is a free place.
    slots: Vec<u64>,
    len: usize,
    /// The slots found lately, by hash. Files mention a node several times within a short distance, and this part of the
    /// table fits the cache of a core.
    recent: Vec<u64>,
    /// The node of an integer, plus one, where that has been found before. Most files with integer ids count their nodes,
    /// and then this answers every look-up but the first.
    integers: Vec<u32>,
}

/// How many slots found lately are kept.
const RECENT: usize = 1 << 14;

/// What a look-up found.
pub(super) enum Entry {
    Old(NodeId),
    /// The id was new, and stands for the given node from now on.
    New,
}

impl NodeTable {
    pub(super) fn new() -> Self {
        Self { slots: vec![0; 16], len: 0, recent: Vec::new(), integers: Vec::new() }
    }

    /// Finds the node of a name, or enters the name as that of `next`.
    pub(super) fn entry(&mut self, graph: &Graph, name: &str, next: NodeId) -> Entry {
        // The lower half of this hash is the better mixed one. It is kept whole, so that growing needs no names.
        let hash = u64::from(FxBuildHasher.hash_one(name) as u32);
        let named = |slot: u64| {
            let node = NodeId::from_index((slot as u32).wrapping_sub(1) as usize);
            (slot >> 32 == hash && slot != 0 && graph.name(node) == name).then_some(node)
        };
        let memory = hash as usize % RECENT;
        if let Some(node) = self.recent.get(memory).and_then(|slot| named(*slot)) {
            return Entry::Old(node);
        }
        let mask = self.slots.len() - 1;
        let mut place = hash as usize & mask;
        while self.slots[place] != 0 {
            let slot = self.slots[place];
            if let Some(node) = named(slot) {
                self.remember(memory, slot);
                return Entry::Old(node);
            }
            place = (place + 1) & mask;
        }
        self.slots[place] = hash << 32 | (next.index() as u64 + 1);
        self.len += 1;
        if self.len * 2 > self.slots.len() {
            self.grow();
        }
        Entry::New
    }

    /// The node of an integer, if it is remembered.
    pub(super) fn integer(&self, integer: i64) -> Option<NodeId> {
        let node = *self.integers.get(usize::try_from(integer).ok()?)?;
        Some(NodeId::from_index(node.checked_sub(1)? as usize))
    }

    /// Remembers the node of an integer, unless the integer is so large that most of the list would be empty.
    pub(super) fn remember_integer(&mut self, integer: i64, node: NodeId) {
        let Ok(at) = usize::try_from(integer) else { return };
        if at >= self.integers.len() {
            if at > 8 * self.len + 1024 {
                return;
            }
            self.integers.resize((at + 1).max(2 * self.integers.len()), 0);
        }
        self.integers[at] = node.index() as u32 + 1;
    }

    fn remember(&mut self, memory: usize, slot: u64) {
        // Small graphs are all in the cache anyway.
        if self.len > RECENT {
            self.recent.resize(RECENT, 0);
            self.recent[memory] = slot;
        }
    }

    fn grow(&mut self) {
        let mut slots = vec![0; self.slots.len() * 4];
        let mask = slots.len() - 1;
        for &slot in self.slots.iter().filter(|slot| **slot != 0) {
            let mut place = (slot >> 32) as usize & mask;
            while slots[place] != 0 {
                place = (place + 1) & mask;
            }
            slots[place] = slot;
        }
        self.slots = slots;
    }
}
