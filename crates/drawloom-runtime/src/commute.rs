//! Exclusion among tasks that commute.
//!
//! Such tasks wait for no particular other one, but must not have the same data at the same time. A task acquires
//! everything it commutes on at once, or waits; so no two tasks can each hold what the other one needs. Tasks that wait are
//! served in the order in which they came: what an earlier one wants is not given to a later one, so none starves.

#![allow(unsafe_code)]

use rustc_hash::FxHashSet;

use crate::access::{Arg, Mode};
use crate::data::piece::Piece;
use crate::sync::{Mutex, lock};
use crate::task::record::TaskId;

/// Grants data to tasks that commute.
#[derive(Default)]
pub(crate) struct Arbiter(Mutex<State>);

#[derive(Default)]
struct State {
    held: Vec<*const Piece>,
    waiting: Vec<Waiting>,
}

struct Waiting {
    task: TaskId,
    wants: Vec<*const Piece>,
}

// SAFETY: the pointers are to pieces, which are `Sync` and outlive the tasks that hold or want them.
unsafe impl Send for State {}

impl Arbiter {
    /// Gives a task everything it commutes on, or puts it to wait.
    pub(crate) fn acquire(&self, task: TaskId, args: &[Arg]) -> bool {
        let wants: Vec<*const Piece> = wanted(args).collect();
        let mut state = lock(&self.0);
        let free = wants.iter().all(|&p| state.is_free(p, state.waiting.len()));
        if free {
            state.held.extend(wants);
        } else {
            state.waiting.push(Waiting { task, wants });
        }
        free
    }

    /// The tasks that wait.
    pub(crate) fn waiting(&self) -> FxHashSet<TaskId> {
        lock(&self.0).waiting.iter().map(|w| w.task).collect()
    }

    /// Takes data back, and returns the tasks that have theirs now.
    pub(crate) fn release(&self, args: &[Arg]) -> Vec<TaskId> {
        let mut state = lock(&self.0);
        for piece in wanted(args) {
            let at = state.held.iter().position(|&h| h == piece).expect("a task releases what it acquired");
            state.held.swap_remove(at);
        }
        let mut granted = Vec::new();
        let mut next = 0;
        while next < state.waiting.len() {
            if state.waiting[next].wants.iter().all(|&p| state.is_free(p, next)) {
                let waiting = state.waiting.remove(next);
                state.held.extend(&waiting.wants);
                granted.push(waiting.task);
            } else {
                next += 1;
            }
        }
        granted
    }
}

impl State {
    /// Whether nobody holds something that overlaps a piece, and none of the first `earlier` waiting tasks wants it.
    fn is_free(&self, piece: *const Piece, earlier: usize) -> bool {
        // SAFETY: the piece belongs to a task that is in flight.
        let piece = unsafe { &*piece };
        let overlaps = |&other: &*const Piece| {
            std::ptr::eq(other, piece) || piece.aliases().any(|alias| std::ptr::eq(alias.piece(), other))
        };
        !self.held.iter().any(overlaps) && !self.waiting[..earlier].iter().any(|w| w.wants.iter().any(overlaps))
    }
}

/// What a task commutes on. Pieces without elements overlap nothing, also not what a child of the task has.
fn wanted(args: &[Arg]) -> impl Iterator<Item = *const Piece> {
    let commutes = |arg: &&Arg| arg.mode() == Mode::Commute && !arg.piece().indices.is_empty();
    args.iter().filter(commutes).map(|a| std::ptr::from_ref(a.piece()))
}
