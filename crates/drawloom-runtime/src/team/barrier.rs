//! A barrier that breaks instead of hanging.
//!
//! All members must arrive before one goes on. When a member has left for good, or arrives for another purpose than the
//! others, nobody can ever go on: the barrier is broken, for those who wait and for those who come.

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Condvar, MODELLED, Mutex, hint, lock, wait};

/// How often a member looks whether the others have come before it sleeps.
const LOOKS: usize = if MODELLED { 1 } else { 300 };

/// Where members meet.
pub(crate) struct Barrier {
    size: u32,
    /// How often all have met. Written under the lock, and read without it by those who look.
    round: AtomicU64,
    state: Mutex<Meeting>,
    changed: Condvar,
}

#[derive(Default)]
struct Meeting {
    arrived: u32,
    purpose: usize,
    gone: u32,
    broken: bool,
}

/// The barrier cannot be passed any more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken;

impl Barrier {
    pub(crate) fn new(size: u32) -> Self {
        Self { size, round: AtomicU64::new(0), state: Mutex::default(), changed: Condvar::new() }
    }

    /// Waits until all members have arrived for the same purpose.
    pub(crate) fn meet(&self, purpose: usize) -> Result<(), Broken> {
        self.arrive(purpose)?.map_or(Ok(()), |round| self.sleep(round))
    }

    /// Arrives, and looks for a while whether the others do. Returns the round whose end is left to be waited for, if it is.
    pub(crate) fn arrive(&self, purpose: usize) -> Result<Option<u64>, Broken> {
        let mut meeting = lock(&self.state);
        // Relaxed: written under the lock.
        let round = self.round.load(Ordering::Relaxed);
        if meeting.arrived == 0 {
            meeting.purpose = purpose;
        }
        if meeting.purpose != purpose || meeting.gone > 0 {
            meeting.broken = true;
            self.changed.notify_all();
        }
        if meeting.broken {
            return Err(Broken);
        }
        meeting.arrived += 1;
        if meeting.arrived == self.size {
            meeting.arrived = 0;
            // Release: pairs with the looking below; what was done before the barrier is seen after it.
            self.round.store(round + 1, Ordering::Release);
            self.changed.notify_all();
            return Ok(None);
        }
        drop(meeting);
        for _ in 0..LOOKS {
            // Acquire: pairs with the store above.
            if self.round.load(Ordering::Acquire) != round {
                return Ok(None);
            }
            hint::spin_loop();
        }
        Ok(Some(round))
    }

    /// Sleeps until a round is over.
    pub(crate) fn sleep(&self, round: u64) -> Result<(), Broken> {
        let mut meeting = lock(&self.state);
        loop {
            if self.round.load(Ordering::Acquire) != round {
                return Ok(());
            }
            if meeting.broken {
                return Err(Broken);
            }
            meeting = wait(&self.changed, meeting);
        }
    }

    /// Whether a member that waits for the end of a round would go on if it looked now.
    pub(crate) fn is_over(&self, round: u64) -> bool {
        lock(&self.state).broken || self.round.load(Ordering::Acquire) != round
    }

    /// A member leaves for good.
    pub(crate) fn leave(&self) {
        let mut meeting = lock(&self.state);
        meeting.gone += 1;
        if meeting.arrived > 0 {
            meeting.broken = true;
            self.changed.notify_all();
        }
    }
}
