//! What others may do to a worker now: one atomic word, and a lock to sleep on.
//!
//! The word answers three questions. Is the worker inside of a scheduling operation? Has a change been announced that such
//! an operation must not overlap? Is it asked into a team, or blocked in one? The protocol, with its states and races, is
//! in `README.md` beside this file.
//!
//! The lock guards nothing but the going to sleep. It is taken by a worker that waits for the end of a change, by a thread
//! that waits for the end of an operation, and by those who wake them; never by someone who holds another worker's.

use crate::sync::alone::Alone;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex, lock, wait};

/// The worker is inside of a scheduling operation.
const IN_OP: u64 = 1;
/// Someone sleeps until the operation is over.
const WAITING: u64 = 1 << 1;
/// The worker is blocked in a team: it waits for its members, or works for it.
const BLOCKED: u64 = 1 << 2;
/// Someone asked whether the worker is blocked, and it has completed no operation since.
const OBSERVED: u64 = 1 << 3;
/// One complete team that has taken the worker. There are several when a member of one waits for its children and helps
/// with a team among them.
const CLAIM: u64 = 1 << 4;
const CLAIMS: u64 = 0xfff << 4;
/// One change that was announced and is not done.
const NOTICE: u64 = 1 << 16;
const NOTICES: u64 = 0xffff << 16;
/// One request to join a team that was not taken back.
const JOIN: u64 = 1 << 32;
const JOINS: u64 = 0xffff_ffff << 32;

/// The state of one worker.
#[derive(Default)]
pub(crate) struct State {
    word: AtomicU64,
    lock: Mutex<()>,
    changed: Condvar,
}

impl State {
    /// The worker begins a scheduling operation, once no change is announced. True when a team asks for the worker and it
    /// may join: then the operation should end without taking a task.
    #[inline]
    pub(crate) fn enter(&self) -> bool {
        // Acquire: pairs with `done`, so that the operation sees what the last change changed.
        match self.word.compare_exchange(0, IN_OP, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => false,
            Err(_) => self.enter_slowly(),
        }
    }

    #[cold]
    fn enter_slowly(&self) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            debug_assert_eq!(word & IN_OP, 0, "a worker has one operation at a time");
            if word & NOTICES != 0 {
                word = self.sleep_while(|word| word & NOTICES != 0, 0);
                continue;
            }
            // The taint of an observation goes when an operation begins. If it is back at the end, it was observed again.
            // Acquire: as in `enter`.
            let next = (word | IN_OP) & !OBSERVED;
            match self.word.compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return asks(word) && word & OBSERVED == 0,
                Err(now) => word = now,
            }
        }
    }

    /// The worker ends its scheduling operation, and wakes who waits for that.
    #[inline]
    pub(crate) fn leave(&self) {
        // Release: pairs with `announce`, so that a change sees what the operation did.
        let word = self.word.fetch_and(!(IN_OP | WAITING), Ordering::Release);
        if word & WAITING != 0 {
            self.wake();
        }
    }

    /// Announces a change: from now on no operation begins. Returns once the one that runs, if any, is complete.
    pub(crate) fn announce(&self) {
        // Acquire: pairs with `leave`.
        let word = self.word.fetch_add(NOTICE, Ordering::AcqRel);
        debug_assert_ne!(word & NOTICES, NOTICES, "at most 65535 changes at a time");
        if word & IN_OP != 0 {
            self.sleep_while(|word| word & IN_OP != 0, WAITING);
        }
    }

    /// The announced change is done.
    pub(crate) fn done(&self) {
        // Release: pairs with `enter` and `join`.
        let word = self.word.fetch_sub(NOTICE, Ordering::Release);
        if word & NOTICES == NOTICE {
            self.wake();
        }
    }

    /// Whether the worker may go on with a task of its own choice without an operation: nothing is announced or asked.
    #[inline]
    pub(crate) fn is_calm(&self) -> bool {
        self.word.load(Ordering::Relaxed) == 0
    }

    pub(crate) fn is_in_operation(&self) -> bool {
        self.word.load(Ordering::Relaxed) & IN_OP != 0
    }

    /// Whether the worker is blocked in a team. The worker joins and leaves no team until it has completed a whole
    /// scheduling operation without being asked again.
    pub(crate) fn observe(&self) -> bool {
        // AcqRel: in one order with `join` and `release`.
        self.word.fetch_or(OBSERVED, Ordering::AcqRel) & BLOCKED != 0
    }

    /// Asks the worker into a team. Of several requests, the first one blocks it.
    pub(crate) fn request_join(&self) {
        self.word.fetch_add(JOIN, Ordering::AcqRel);
    }

    /// Takes a request back. Of several, the last one releases the worker.
    pub(crate) fn request_leave(&self) {
        let word = self.word.fetch_sub(JOIN, Ordering::AcqRel);
        debug_assert_ne!(word & JOINS, 0, "only what was requested is taken back");
    }

    /// Whether a team asks for the worker that has not taken it yet.
    pub(crate) fn is_asked(&self) -> bool {
        asks(self.word.load(Ordering::Acquire))
    }

    /// The worker acknowledges a request: it is blocked from now on. False when nobody asks any more, when a change is
    /// announced, and when it was observed since its last operation.
    pub(crate) fn join(&self) -> bool {
        let may = |word: u64| {
            let free = word & (NOTICES | OBSERVED | IN_OP) == 0;
            (free && asks(word)).then_some(word | BLOCKED)
        };
        // Acquire: pairs with `done`; Release: with `observe`.
        self.word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, may).is_ok()
    }

    /// Takes the worker, which is blocked, for a team that is complete. False when a change is announced: then nobody may.
    pub(crate) fn claim(&self) -> bool {
        let may = |word: u64| {
            let free = word & NOTICES == 0 && word & BLOCKED != 0 && word & CLAIMS != CLAIMS;
            free.then(|| word + CLAIM)
        };
        self.word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, may).is_ok()
    }

    /// The team that took the worker is over for it, or was not complete after all.
    pub(crate) fn unclaim(&self) {
        let word = self.word.fetch_sub(CLAIM, Ordering::AcqRel);
        debug_assert_ne!(word & CLAIMS, 0, "only what was claimed is given back");
    }

    /// The worker stops being blocked, unless another team still has it. False when it was observed since its last
    /// operation, or a change is announced: then it must stay as it is.
    pub(crate) fn release(&self) -> bool {
        let may = |word: u64| {
            let blocked = if word & CLAIMS == 0 { 0 } else { BLOCKED };
            (word & (OBSERVED | NOTICES) == 0).then_some(word & !BLOCKED | blocked)
        };
        self.word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, may).is_ok()
    }

    /// Whether the worker is blocked, and how often it is claimed, without leaving a trace.
    #[cfg(all(test, any(loom, feature = "shuttle")))]
    pub(crate) fn part_in_teams(&self) -> (bool, u64) {
        let word = self.word.load(Ordering::Acquire);
        (word & BLOCKED != 0, (word & CLAIMS) / CLAIM)
    }

    /// Sleeps while the word is as described. `mark` is set in it meanwhile, for those who wake.
    fn sleep_while(&self, holds: impl Fn(u64) -> bool, mark: u64) -> u64 {
        let mut guard = lock(&self.lock);
        let _alone = Alone::begin();
        loop {
            let marked = |word: u64| holds(word).then_some(word | mark);
            // Acquire: pairs with `leave` and `done`.
            if let Err(word) = self.word.fetch_update(Ordering::Acquire, Ordering::Acquire, marked) {
                return word;
            }
            guard = wait(&self.changed, guard);
        }
    }

    #[cold]
    fn wake(&self) {
        // Whoever saw the old word under the lock is asleep by now, and hears this.
        drop(lock(&self.lock));
        self.changed.notify_all();
    }
}

/// Whether more teams have asked for the worker than have taken it.
fn asks(word: u64) -> bool {
    word >> 32 > (word & CLAIMS) / CLAIM
}
