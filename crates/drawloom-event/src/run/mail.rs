//! Messages between parts, and when all of them are quiet.
//!
//! Everything that parts share lies behind one lock, which a worker takes once in a round: it puts down what it has for the
//! others, and takes what they have for it. So the question whether all is quiet has an exact answer: it is, when no worker
//! is active and no mail lies there, both of which only change under the lock. A worker is active from the moment it takes
//! mail until it finds none and has nothing left to do.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::part::{Part, lost};
use super::ring::Ring;

/// How often an empty mailbox is looked at again before the worker goes to sleep, and how long it waits in between. Mail
/// often comes within a microsecond; giving the processor away instead could take milliseconds on a busy machine.
const PATIENCE: u32 = 128;
const PAUSE: u32 = 8;

/// What all parts share.
pub(crate) struct Mail {
    shared: Mutex<Shared>,
    /// One for each worker, to sleep on.
    bells: Vec<Condvar>,
}

struct Shared {
    boxes: Vec<Vec<Ring>>,
    /// Rings that were read, to be used again.
    spare: Vec<Ring>,
    asleep: Vec<bool>,
    active: usize,
    stop: bool,
    /// How often all was quiet.
    quiet: u64,
    over: bool,
    /// What each worker has done so far.
    done: Vec<Done>,
    mark: Option<u64>,
    most_steps: u64,
    /// What went wrong with the mail itself.
    lost: Option<String>,
}

/// What a worker has done so far.
#[derive(Clone, Copy, Default)]
struct Done {
    sent: u64,
    promised: u64,
    deliveries: u64,
    steps: u64,
}

/// What a worker does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// There is mail, or the worker's own devices want to send.
    Work,
    /// All is quiet: the devices are told so.
    Tell,
    /// The run is over, or must end.
    End,
}

impl Mail {
    pub(crate) fn new(workers: usize, most_steps: u64) -> Self {
        let shared = Shared {
            boxes: (0..workers).map(|_| Vec::new()).collect(),
            spare: Vec::new(),
            asleep: vec![false; workers],
            active: workers,
            stop: false,
            quiet: 0,
            over: false,
            done: vec![Done::default(); workers],
            mark: None,
            most_steps,
            lost: None,
        };
        Self { shared: Mutex::new(shared), bells: (0..workers).map(|_| Condvar::new()).collect() }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // Handlers never run under the lock, so nobody leaves it in a bad state.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts down what a worker has for the others, and takes what they have for it. Empty rings come back in place of
    /// those that were full.
    pub(crate) fn exchange(&self, worker: usize, part: &Part, out: &mut [Ring], taken: &mut Vec<Ring>) -> Next {
        let mut shared = self.lock();
        let shared = &mut *shared;
        shared.spare.append(taken);
        for (target, ring) in out.iter_mut().enumerate().filter(|(_, ring)| !ring.is_empty()) {
            let empty = shared.spare.pop().unwrap_or_default();
            shared.boxes[target].push(std::mem::replace(ring, empty));
            if std::mem::replace(&mut shared.asleep[target], false) {
                // The sleeper counts as active from now on, so that nobody takes the machine for quiet before it wakes.
                shared.active += 1;
                self.bells[target].notify_one();
            }
        }
        self.account(shared, worker, part);
        taken.append(&mut shared.boxes[worker]);
        if shared.stop || shared.over { Next::End } else { Next::Work }
    }

    /// A worker has nothing left to do: waits for mail, or until all is quiet.
    pub(crate) fn rest(&self, worker: usize, part: &Part, taken: &mut Vec<Ring>) -> Next {
        for _ in 0..PATIENCE {
            let mut shared = self.lock();
            shared.spare.append(taken);
            if shared.stop {
                return Next::End;
            }
            if !shared.boxes[worker].is_empty() {
                taken.append(&mut shared.boxes[worker]);
                return Next::Work;
            }
            // The last one that is active need not wait for anybody.
            if shared.active == 1 {
                break;
            }
            drop(shared);
            (0..PAUSE).for_each(|_| std::hint::spin_loop());
        }
        let mut shared = self.lock();
        self.account(&mut shared, worker, part);
        if shared.boxes[worker].is_empty() && !shared.stop {
            let before = shared.quiet;
            shared.active -= 1;
            if shared.active == 0 && shared.boxes.iter().all(Vec::is_empty) {
                shared.become_quiet();
                self.ring_all();
            } else {
                shared.asleep[worker] = true;
                while shared.asleep[worker] && shared.quiet == before && !shared.stop {
                    shared = self.bells[worker].wait(shared).unwrap_or_else(PoisonError::into_inner);
                }
            }
            if shared.quiet != before {
                // Even if somebody stops meanwhile: whoever was quiet with the others meets them again.
                return if shared.over { Next::End } else { Next::Tell };
            }
        }
        taken.append(&mut shared.boxes[worker]);
        if shared.stop { Next::End } else { Next::Work }
    }

    /// Makes all workers end.
    pub(crate) fn stop(&self) {
        self.lock().stop = true;
        self.ring_all();
    }

    /// Whether all workers must end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.lock().stop
    }

    /// What went wrong with the mail itself, if anything did.
    pub(crate) fn lost(&self) -> Option<String> {
        self.lock().lost.take()
    }

    /// Whether more steps were made than allowed.
    pub(crate) fn is_over_limit(&self) -> bool {
        self.lock().is_over_limit()
    }

    /// Takes down what a worker has done. When that is too much, everybody ends, those that sleep too.
    fn account(&self, shared: &mut Shared, worker: usize, part: &Part) {
        shared.account(worker, part);
        if shared.is_over_limit() {
            shared.stop = true;
            self.ring_all();
        }
    }

    fn ring_all(&self) {
        self.bells.iter().for_each(Condvar::notify_all);
    }
}

impl Shared {
    fn account(&mut self, worker: usize, part: &Part) {
        self.done[worker] = Done {
            sent: part.counts.sends + part.counts.cancelled,
            promised: part.promised,
            deliveries: part.counts.deliveries,
            steps: part.counts.steps(),
        };
    }

    /// Whether more steps were made than allowed.
    fn is_over_limit(&self) -> bool {
        self.done.iter().map(|done| done.steps).sum::<u64>() > self.most_steps
    }

    /// All is quiet. Everybody becomes active, to tell the devices so; or the run is over, if that changed nothing the last
    /// time.
    fn become_quiet(&mut self) {
        let total = |of: fn(&Done) -> u64| self.done.iter().map(of).sum::<u64>();
        let (sent, promised, deliveries) = (total(|d| d.sent), total(|d| d.promised), total(|d| d.deliveries));
        if promised != deliveries {
            self.lost = Some(lost(promised, deliveries));
        }
        self.over = self.mark == Some(sent) || self.lost.is_some();
        self.mark = Some(sent);
        self.quiet += 1;
        self.active = self.asleep.len();
        self.asleep.fill(false);
    }
}
