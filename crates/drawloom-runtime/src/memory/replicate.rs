//! The copies of one region, and which elements are proper where.
//!
//! A set of indices says for each memory which elements are proper there. The sets of different memories overlap where an
//! element was only read in several places. They are exact: two tasks may change two blocks of one region in two memories
//! at the same time, and nothing is copied back before someone needs it.
//!
//! Elements that are on their way belong to the region, not to the task that asked for them: whoever needs the region makes
//! them progress, so nobody depends on a task that failed or on a worker that is not driven. Until they have arrived nobody
//! is granted them, for whatever purpose.

use std::alloc::Layout;
use std::sync::OnceLock;

use drawloom_graph::IndexSet;

use super::node::{Address, CopyToken, Direction, Memory, MemoryId};
use super::validity::{clear_invalid, complaint};
use crate::access::Arg;
use crate::data::piece::Piece;
use crate::error::{Error, Result};
use crate::panic;
use crate::sync::{Arc, Mutex, lock, thread};
use crate::trace::transfers::TransferLog;

/// The copies of one region.
#[derive(Default)]
pub(crate) struct Replicates(Mutex<State>);

#[derive(Default)]
struct State {
    /// What is proper in the memory of this process; everything, while there is no other replicate.
    host: IndexSet,
    others: Vec<Replicate>,
    moves: Vec<Move>,
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
        // The memory is the user's. There is no task left that a panic could be told to.
        // SAFETY: the address was allocated with this layout, and the region is not used any more.
        let _ = panic::catch(|| unsafe { self.memory.free(self.address, self.layout) });
    }
}

/// Elements that are on their way to a memory.
struct Move {
    node: MemoryId,
    elements: IndexSet,
    copies: Vec<Copying>,
    /// What must still be copied once the copies above are done: what came to this process on its way to another memory.
    then: IndexSet,
    ticket: Ticket,
}

/// A copy that was started.
struct Copying {
    memory: Arc<dyn Memory>,
    token: CopyToken,
    /// Its number in the recording that goes on, if any.
    number: Option<u32>,
}

/// What became of elements that are on their way, for whoever asked for them: nothing yet, or why they will not arrive.
pub(crate) type Ticket = Arc<OnceLock<Error>>;

impl Replicates {
    /// Makes an argument proper in a memory; `memory` is `None` for that of this process. Returns where the region starts
    /// there, or nothing when elements are on their way: then it is to be tried again, with the same ticket.
    pub(crate) fn acquire(
        &self,
        arg: Arg,
        node: MemoryId,
        memory: Option<&Arc<dyn Memory>>,
        ticket: &mut Option<Ticket>,
        log: &TransferLog<'_>,
    ) -> Result<Option<Address>> {
        let piece = arg.piece();
        let mut state = lock(&self.0);
        state.begin(piece);
        state.progress(piece, log);
        if let Some(error) = ticket.as_ref().and_then(|ticket| ticket.get()) {
            return Err(error.clone());
        }
        if let Some(memory) = memory {
            state.replicate(piece, node, memory)?;
        }
        loop {
            if state.moves.iter().any(|moving| moving.elements.first_common(&piece.indices).is_some()) {
                return Ok(None);
            }
            let missing =
                if arg.mode().reads() { piece.indices.difference(state.proper(node)) } else { IndexSet::empty() };
            if missing.is_empty() {
                return Ok(Some(state.grant(arg, node)));
            }
            let own = ticket.insert(Ticket::default());
            state.bring(piece, missing, node, Arc::clone(own), log);
            // A memory that copies at once is done already.
            state.progress(piece, log);
            if let Some(error) = own.get() {
                return Err(error.clone());
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
        let layout =
            Layout::from_size_align(bytes, tree.element.align.max(64)).expect("the region itself has this size");
        let said = match panic::catch(|| memory.allocate(layout)) {
            Ok(Ok(address)) => Ok(address),
            Ok(Err(error)) => Err(error.message().to_owned()),
            Err(said) => Err(format!("it panicked: {said}")),
        };
        let address =
            said.map_err(|said| Error::device(format!("has no room for region `{}` on a device: {said}", tree.name)))?;
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

    /// Brings elements to a memory. Everything goes through the memory of this process.
    fn bring(&mut self, piece: &Piece, missing: IndexSet, node: MemoryId, ticket: Ticket, log: &TransferLog<'_>) {
        let away = missing.difference(&self.host);
        let mut moving = Move { node, elements: missing, copies: Vec::new(), then: IndexSet::empty(), ticket };
        self.start(piece, &away, Direction::ToHost, &mut moving, log);
        if node != MemoryId::HOST {
            let here = moving.elements.difference(&away);
            self.start(piece, &here, Direction::FromHost, &mut moving, log);
            moving.then = away;
        }
        self.moves.push(moving);
    }

    /// Starts the copies of some elements: from wherever they are proper to this process, or from here to a memory.
    fn start(
        &self,
        piece: &Piece,
        elements: &IndexSet,
        direction: Direction,
        moving: &mut Move,
        log: &TransferLog<'_>,
    ) {
        let (base, size) = (piece.tree().base(), piece.tree().element.size);
        let mut left = elements.clone();
        for replicate in &self.others {
            let part = match direction {
                Direction::ToHost => left.intersection(&replicate.proper),
                Direction::FromHost if replicate.node == moving.node => left.clone(),
                Direction::FromHost => continue,
            };
            for run in part.runs() {
                if moving.ticket.get().is_some() {
                    return;
                }
                let (at, bytes) = (run.start as usize * size, (run.end - run.start) as usize * size);
                // SAFETY: both replicates have the whole region, so the run lies in them. The task that asks was granted
                // the piece, so nobody changes its elements now; and until the move is over nobody else is granted them.
                let started = panic::catch(|| unsafe {
                    replicate.memory.start_copy(direction, base.add(at), replicate.address.offset(at), bytes)
                });
                match started {
                    Ok(token) => {
                        let memory = Arc::clone(&replicate.memory);
                        moving.copies.push(Copying { memory, token, number: log.start() });
                    }
                    Err(said) => fail(&moving.ticket, piece, &said),
                }
            }
            left = left.difference(&part);
        }
        debug_assert!(left.is_empty(), "every element is proper somewhere");
    }

    /// Looks which copies are done, and goes on with their moves.
    fn progress(&mut self, piece: &Piece, log: &TransferLog<'_>) {
        let mut at = 0;
        while at < self.moves.len() {
            let mut moving = self.moves.swap_remove(at);
            if self.advance(&mut moving, piece, log) {
                continue;
            }
            self.moves.push(moving);
            let last = self.moves.len() - 1;
            self.moves.swap(at, last);
            at += 1;
        }
    }

    /// Advances one move. True when it is over.
    fn advance(&mut self, moving: &mut Move, piece: &Piece, log: &TransferLog<'_>) -> bool {
        loop {
            let Move { copies, ticket, .. } = &mut *moving;
            copies.retain(|copy| {
                let done = panic::catch(|| copy.memory.is_done(copy.token)).unwrap_or_else(|said| {
                    // A memory that cannot say so any more has given the copy up.
                    fail(ticket, piece, &said);
                    true
                });
                if done {
                    log.end(copy.number);
                }
                !done
            });
            if !moving.copies.is_empty() {
                return false;
            }
            self.check(moving, piece);
            if moving.ticket.get().is_some() {
                return true;
            }
            let then = std::mem::replace(&mut moving.then, IndexSet::empty());
            if then.is_empty() {
                self.arrived(moving);
                return true;
            }
            // What came from elsewhere is proper here now, too.
            self.host = self.host.union(&then);
            self.start(piece, &then, Direction::FromHost, moving, log);
        }
    }

    /// Fails a move that brought bytes to this process that are no values of their type.
    fn check(&self, moving: &Move, piece: &Piece) {
        let tree = piece.tree();
        let brought = if moving.node == MemoryId::HOST { &moving.elements } else { &moving.then };
        // SAFETY: the elements lie in the region. Until the move is over nobody else is granted them, and its copies are done.
        let invalid = unsafe { clear_invalid(&tree.element, tree.base(), brought) };
        let Some(invalid) = invalid else { return };
        let at = IndexSet::range(invalid.0, invalid.0 + 1);
        let from = self.others.iter().find(|replicate| replicate.proper.first_common(&at).is_some());
        let name = from.and_then(|from| panic::catch(|| from.memory.name().to_owned()).ok()).unwrap_or_default();
        let _ = moving.ticket.set(Error::device(complaint(piece, &invalid, &name)));
    }

    fn arrived(&mut self, moving: &Move) {
        let proper = match self.others.iter_mut().find(|r| r.node == moving.node) {
            Some(replicate) => &mut replicate.proper,
            None => &mut self.host,
        };
        *proper = proper.union(&moving.elements);
    }

    /// Grants an argument in a memory: what the task changes is proper only there from now on. Returns the start of the
    /// region there.
    fn grant(&mut self, arg: Arg, node: MemoryId) -> Address {
        let piece = arg.piece();
        let exclusive = arg.mode().mutates();
        if exclusive && node == MemoryId::HOST {
            self.host = self.host.union(&piece.indices);
        } else if exclusive {
            self.host = self.host.difference(&piece.indices);
        }
        let mut address = Address(piece.tree().base() as u64);
        for replicate in &mut self.others {
            if replicate.node == node {
                address = replicate.address;
                if exclusive {
                    replicate.proper = replicate.proper.union(&piece.indices);
                }
            } else if exclusive {
                replicate.proper = replicate.proper.difference(&piece.indices);
            }
        }
        address
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // Copies that still run write into memory that is about to be freed. What they carry is of no use any more.
        for copy in self.moves.drain(..).flat_map(|moving| moving.copies) {
            while !panic::catch(|| copy.memory.is_done(copy.token)).unwrap_or(true) {
                thread::yield_now();
            }
        }
    }
}

/// Notes why elements will not arrive. The first reason counts.
fn fail(ticket: &Ticket, piece: &Piece, said: &str) {
    let message = format!("cannot copy region `{}`, as the memory panicked: {said}", piece.tree().name);
    let _ = ticket.set(Error::device(message));
}
