//! Messages between parts, and when all of them are quiet.
//!
//! Everything that parts share lies behind one lock, which a worker takes once in a round: it puts down what it has for the
//! others, and takes what they have for it. So the question whether all is quiet has an exact answer: it is, when no worker
//! is active and no mail lies there, both of which only change under the lock. A worker is active from the moment it takes
//! mail until it finds none and has nothing left to do.
//!
//! A worker that has nothing for others need not take the lock to learn that they have nothing for it: beside the lock there
//! is a flag for each worker, which is up while mail lies there for it, or all must end.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex};

use super::part::{Part, lost};
use super::ring::Ring;

/// How often an empty mailbox is looked at again before the worker goes to sleep. Mail often comes within a microsecond;
/// giving the processor away instead could take milliseconds on a busy machine.
const PATIENCE: u32 = 1024;

/// What all parts share.
pub(crate) struct Mail {
    shared: Mutex<Shared>,
    workers: Vec<Place>,
    /// How many workers are active. Changed under the lock only.
    active: AtomicUsize,
    /// How many workers have nothing to do, awake or not.
    idle: AtomicUsize,
}

/// What concerns one worker, on a cache line of its own.
#[repr(align(128))]
#[derive(Default)]
struct Place {
    /// Whether there is mail for it, or all must end. Changed under the lock only.
    news: AtomicBool,
    /// To sleep on.
    bell: Condvar,
}

struct Shared {
    boxes: Vec<Vec<Ring>>,
    /// Rings that were read, to be used again.
    spare: Vec<Ring>,
    asleep: Vec<bool>,
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
            stop: false,
            quiet: 0,
            over: false,
            done: vec![Done::default(); workers],
            mark: None,
            most_steps,
            lost: None,
        };
        let places = (0..workers).map(|_| Place::default()).collect();
        Self {
            shared: Mutex::new(shared),
            workers: places,
            active: AtomicUsize::new(workers),
            idle: AtomicUsize::new(0),
        }
    }

    /// Whether a worker should exchange mail before it is done with its round: there is some for it, or somebody waits for what
    /// it has.
    #[inline]
    pub(crate) fn is_wanted(&self, worker: usize) -> bool {
        // Relaxed: it is only a hint, and the next round ends soon.
        self.workers[worker].news.load(Ordering::Relaxed) || self.idle.load(Ordering::Relaxed) > 0
    }

    /// Puts down what a worker has for the others, and takes what they have for it. Empty rings come back in place of
    /// those that were full.
    pub(crate) fn exchange(&self, worker: usize, part: &Part, out: &mut [Ring], taken: &mut Vec<Ring>) -> Next {
        // Relaxed: the lock orders what was put down. What is not seen yet is seen the next time.
        if out.iter().all(Ring::is_empty) && !self.workers[worker].news.load(Ordering::Relaxed) {
            return Next::Work;
        }
        let mut shared = self.shared.lock();
        let shared = &mut *shared;
        shared.spare.append(taken);
        for (target, ring) in out.iter_mut().enumerate().filter(|(_, ring)| !ring.is_empty()) {
            let empty = shared.spare.pop().unwrap_or_default();
            shared.boxes[target].push(std::mem::replace(ring, empty));
            self.workers[target].news.store(true, Ordering::Relaxed);
            if std::mem::replace(&mut shared.asleep[target], false) {
                // The sleeper counts as active from now on, so that nobody takes the machine for quiet before it wakes.
                self.active.fetch_add(1, Ordering::Relaxed);
                self.workers[target].bell.notify_one();
            }
        }
        self.account(shared, worker, part);
        self.take(shared, worker, taken);
        if shared.stop || shared.over { Next::End } else { Next::Work }
    }

    /// A worker has nothing left to do: waits for mail, or until all is quiet.
    pub(crate) fn rest(&self, worker: usize, part: &Part, taken: &mut Vec<Ring>) -> Next {
        // Relaxed: as in `is_wanted`.
        self.idle.fetch_add(1, Ordering::Relaxed);
        let next = self.wait(worker, part, taken);
        self.idle.fetch_sub(1, Ordering::Relaxed);
        next
    }

    fn wait(&self, worker: usize, part: &Part, taken: &mut Vec<Ring>) -> Next {
        for _ in 0..PATIENCE {
            // Relaxed: as in `exchange`. The last one that is active need not wait for anybody.
            if self.workers[worker].news.load(Ordering::Relaxed) || self.active.load(Ordering::Relaxed) == 1 {
                break;
            }
            std::hint::spin_loop();
        }
        let mut shared = self.shared.lock();
        shared.spare.append(taken);
        self.account(&mut shared, worker, part);
        if shared.boxes[worker].is_empty() && !shared.stop {
            let before = shared.quiet;
            if self.active.fetch_sub(1, Ordering::Relaxed) == 1 && shared.boxes.iter().all(Vec::is_empty) {
                shared.become_quiet();
                self.active.store(self.workers.len(), Ordering::Relaxed);
                self.ring_all();
            } else {
                shared.asleep[worker] = true;
                while shared.asleep[worker] && shared.quiet == before && !shared.stop {
                    self.workers[worker].bell.wait(&mut shared);
                }
            }
            if shared.quiet != before {
                // Even if somebody stops meanwhile: whoever was quiet with the others meets them again.
                return if shared.over { Next::End } else { Next::Tell };
            }
        }
        self.take(&mut shared, worker, taken);
        if shared.stop { Next::End } else { Next::Work }
    }

    /// A worker takes its mail.
    fn take(&self, shared: &mut Shared, worker: usize, taken: &mut Vec<Ring>) {
        taken.append(&mut shared.boxes[worker]);
        self.workers[worker].news.store(shared.stop, Ordering::Relaxed);
    }

    /// Makes all workers end.
    pub(crate) fn stop(&self) {
        self.end_all(&mut self.shared.lock());
    }

    fn end_all(&self, shared: &mut Shared) {
        shared.stop = true;
        self.workers.iter().for_each(|place| place.news.store(true, Ordering::Relaxed));
        self.ring_all();
    }

    /// Whether all workers must end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.shared.lock().stop
    }

    /// What went wrong with the mail itself, if anything did.
    pub(crate) fn lost(&self) -> Option<String> {
        self.shared.lock().lost.take()
    }

    /// Whether more steps were made than allowed.
    pub(crate) fn is_over_limit(&self) -> bool {
        self.shared.lock().is_over_limit()
    }

    /// Takes down what a worker has done. When that is too much, everybody ends, those that sleep too.
    fn account(&self, shared: &mut Shared, worker: usize, part: &Part) {
        shared.account(worker, part);
        if shared.is_over_limit() {
            self.end_all(shared);
        }
    }

    fn ring_all(&self) {
        for place in &self.workers {
            place.bell.notify_all();
        }
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
        self.asleep.fill(false);
    }
}
