//! The copies of one region, and which elements are proper where.
//!
//! A set of indices says for each memory which elements are proper there. The sets of different memories overlap where an
//! element was only read in several places. They are exact: two tasks may change two blocks of one region in two memories
//! at the same time, and nothing is copied back before someone needs it.

use std::alloc::Layout;

use drawloom_graph::IndexSet;

use super::node::{Address, CopyToken, Direction, Memory, MemoryId};
use crate::access::Arg;
use crate::data::piece::Piece;
use crate::error::Result;
use crate::sync::{Arc, Mutex, lock};

/// The copies of one region.
#[derive(Default)]
pub(crate) struct Replicates(Mutex<State>);

#[derive(Default)]
struct State {
    /// What is proper in the memory of this process; everything, while there is no other replicate.
    host: IndexSet,
    others: Vec<Replicate>,
    /// Elements that are being copied, and the memory they are copied to.
    moving: Vec<(MemoryId, IndexSet)>,
}

struct Replicate {
    node: MemoryId,
    memory: Arc<dyn Memory>,
    address: Address,
    layout: Layout,
    proper: IndexSet,
}

impl Drop for Replicate {
    fn drop(&mut self) {
        // SAFETY: the address was allocated with this layout, and the region is not used any more.
        unsafe { self.memory.free(self.address, self.layout) };
    }
}

/// A copy that a task waits for.
struct Copying {
    memory: Arc<dyn Memory>,
    token: CopyToken,
}

/// The acquisition of one argument in one memory.
pub(crate) struct Acquiring {
    arg: Arg,
    node: MemoryId,
    copies: Vec<Copying>,
    /// What must still be copied once the copies above are done: what came to this process on its way to another memory.
    then: Vec<IndexSet>,
    moving: IndexSet,
}

/// What became of an attempt.
pub(crate) enum Attempt {
    /// The argument is proper, at this address.
    Done(Address),
    /// Copies are under way.
    Wait(Acquiring),
    /// Some of the elements are being copied for another task. Try again.
    Busy,
}

impl Replicates {
    /// Makes an argument proper in a memory. `memory` is `None` for that of this process.
    pub(crate) fn acquire(&self, arg: Arg, node: MemoryId, memory: Option<&Arc<dyn Memory>>) -> Result<Attempt> {
        let piece = arg.piece();
        let mut state = lock(&self.0);
        state.begin(piece);
        if state.moving.iter().any(|(_, set)| set.first_common(&piece.indices).is_some()) {
            return Ok(Attempt::Busy);
        }
        if let Some(memory) = memory {
            state.replicate(piece, node, memory)?;
        }
        let missing = if arg.mode().reads() { piece.indices.difference(state.proper(node)) } else { IndexSet::empty() };
        let mut acquiring = Acquiring { arg, node, copies: Vec::new(), then: Vec::new(), moving: missing.clone() };
        if missing.is_empty() {
            return Ok(Attempt::Done(state.finish(&acquiring)));
        }
        // Everything goes through the memory of this process.
        let away = missing.difference(&state.host);
        state.start(piece, &away, Direction::ToHost, node, &mut acquiring.copies);
        if memory.is_some() {
            let here = missing.difference(&away);
            state.start(piece, &here, Direction::FromHost, node, &mut acquiring.copies);
            acquiring.then.push(away);
        }
        state.moving.push((node, missing));
        drop(state);
        Ok(self.advance(acquiring))
    }

    /// Looks whether the copies of an acquisition are done, and goes on with it.
    pub(crate) fn advance(&self, mut acquiring: Acquiring) -> Attempt {
        loop {
            acquiring.copies.retain(|copy| !copy.memory.is_done(copy.token));
            if !acquiring.copies.is_empty() {
                return Attempt::Wait(acquiring);
            }
            let mut state = lock(&self.0);
            match acquiring.then.pop() {
                Some(set) if !set.is_empty() => {
                    // What came from elsewhere is proper here now, too.
                    state.host = state.host.union(&set);
                    let piece = acquiring.arg.piece();
                    state.start(piece, &set, Direction::FromHost, acquiring.node, &mut acquiring.copies);
                }
                Some(_) => {}
                None => {
                    let (node, moving) = (acquiring.node, &acquiring.moving);
                    let at = state.moving.iter().position(|(n, set)| *n == node && set == moving);
                    state.moving.swap_remove(at.expect("the elements that move were noted"));
                    return Attempt::Done(state.finish(&acquiring));
                }
            }
        }
    }
}

impl State {
    /// Notes what is proper at first: everything, in the memory of this process.
    fn begin(&mut self, piece: &Piece) {
        if self.others.is_empty() {
            self.host = IndexSet::range(0, piece.tree().len);
        }
    }

    /// Makes sure that there is a replicate in a memory.
    fn replicate(&mut self, piece: &Piece, node: MemoryId, memory: &Arc<dyn Memory>) -> Result<()> {
        if self.others.iter().any(|r| r.node == node) {
            return Ok(());
        }
        let tree = piece.tree();
        let bytes = (tree.len as usize * tree.element.size).max(1);
        let layout = Layout::from_size_align(bytes, 64).expect("the region itself has this size");
        let address = memory.allocate(layout)?;
        let memory = Arc::clone(memory);
        self.others.push(Replicate { node, memory, address, layout, proper: IndexSet::empty() });
        Ok(())
    }

    fn proper(&self, node: MemoryId) -> &IndexSet {
        if node == MemoryId::HOST {
            return &self.host;
        }
        &self.others.iter().find(|r| r.node == node).expect("the replicate was made").proper
    }

    /// Starts the copies of some elements: from wherever they are proper to this process, or from here to a memory.
    fn start(
        &self,
        piece: &Piece,
        elements: &IndexSet,
        direction: Direction,
        node: MemoryId,
        copies: &mut Vec<Copying>,
    ) {
        let (base, size) = (piece.tree().base(), piece.tree().element.size);
        let mut left = elements.clone();
        for replicate in &self.others {
            let part = match direction {
                Direction::ToHost => left.intersection(&replicate.proper),
                Direction::FromHost if replicate.node == node => left.clone(),
                Direction::FromHost => continue,
            };
            for run in part.runs() {
                let (at, bytes) = (run.start as usize * size, (run.end - run.start) as usize * size);
                // SAFETY: both replicates have the whole region, so the run lies in them. The task was granted the piece,
                // so nobody changes its elements, and `moving` keeps other copies of them away.
                let token = unsafe {
                    replicate.memory.start_copy(direction, base.add(at), replicate.address.offset(at), bytes)
                };
                copies.push(Copying { memory: Arc::clone(&replicate.memory), token });
            }
            left = left.difference(&part);
        }
        debug_assert!(left.is_empty(), "every element is proper somewhere");
    }

    /// Notes what is proper where, now that an argument was acquired, and returns the start of the region there.
    fn finish(&mut self, acquired: &Acquiring) -> Address {
        let (piece, node) = (acquired.arg.piece(), acquired.node);
        let exclusive = acquired.arg.mode().mutates();
        let on_host = node == MemoryId::HOST;
        if on_host {
            self.host = self.host.union(&piece.indices);
        } else if exclusive {
            self.host = self.host.difference(&piece.indices);
        }
        let mut address = Address(piece.tree().base() as u64);
        for replicate in &mut self.others {
            if replicate.node == node {
                replicate.proper = replicate.proper.union(&piece.indices);
                address = replicate.address;
            } else if exclusive {
                replicate.proper = replicate.proper.difference(&piece.indices);
            }
        }
        address
    }
}
