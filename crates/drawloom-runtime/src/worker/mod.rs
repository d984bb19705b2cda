//! Workers: threads that run tasks.
//!
//! | file | concept |
//! |---|---|
//! | [`state`] | what others may do to a worker now: one atomic word |
//! | [`seat`] | one worker: its state, its contexts, its processor |
//! | [`sleep`] | who looks for work, who sleeps, and whom to wake |
//! | [`cycle`] | what a worker does, again and again |
//! | [`phases`] | the phases of one turn, for those who watch |
//! | [`driver`] | workers that the application drives itself |

pub(crate) mod cycle;
pub(crate) mod driver;
pub(crate) mod phases;
#[allow(unsafe_code)]
pub(crate) mod seat;
pub(crate) mod sleep;
pub(crate) mod state;

use std::cell::Cell;

use crate::policy::{RuntimeNumber, WorkerId};
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Arc, Padded, thread_local};
use crate::topology::{CpuId, Topology};
use seat::Seat;
use sleep::Sleep;

/// All workers of a runtime.
pub(crate) struct Workers {
    pub(crate) runtime: RuntimeNumber,
    pub(crate) count: usize,
    pub(crate) seats: Arc<[Seat]>,
    pub(crate) sleep: Sleep,
    /// The machine, when workers are placed on it.
    pub(crate) topology: Option<Topology>,
    /// Whether threads are bound to their processors.
    pub(crate) bound: bool,
    /// Whether some context has, or had, other workers than all of them.
    pub(crate) confined: AtomicBool,
    /// How many workers have a thread that drives them.
    driven: AtomicUsize,
    stopping: AtomicBool,
    /// How often each worker went to sleep.
    pub(crate) parked: Vec<Padded<AtomicU64>>,
    /// How many tasks of other contexts than the main one each worker completed.
    pub(crate) executed: Vec<Padded<AtomicU64>>,
    /// How many tasks each worker took from others in contexts that have retired.
    pub(crate) stolen: Vec<AtomicU64>,
}

thread_local! {
    /// The number of this thread, once it has driven a worker of any runtime or changed contexts; zero before.
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

/// How many threads have a number. No part of any protocol: a number only tells threads apart, and none is used twice.
static THREADS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// The number of the calling thread.
pub(crate) fn this_thread() -> u64 {
    if THREAD.get() == 0 {
        THREAD.set(THREADS.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1);
    }
    THREAD.get()
}

impl Workers {
    /// Workers with places on a machine.
    pub(crate) fn placed(count: usize, topology: Option<Topology>, bound: bool) -> Self {
        let places = topology.as_ref().map_or_else(|| vec![None; count], |t| t.placement(count));
        Self {
            runtime: RuntimeNumber::next(),
            count,
            seats: places.into_iter().map(Seat::new).collect(),
            sleep: Sleep::new(count),
            topology,
            bound,
            confined: AtomicBool::new(false),
            driven: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            parked: (0..count).map(|_| Padded::default()).collect(),
            executed: (0..count).map(|_| Padded::default()).collect(),
            stolen: (0..count).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// From now on wake-ups look at memberships.
    pub(crate) fn confine(&self) {
        self.confined.store(true, Ordering::SeqCst);
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = WorkerId> + use<> {
        let runtime = self.runtime;
        (0..self.count as u32).map(move |number| runtime.worker(number))
    }

    #[inline]
    pub(crate) fn seat(&self, worker: WorkerId) -> &Seat {
        &self.seats[worker.index()]
    }

    /// The processors of the workers, where known.
    pub(crate) fn places(&self) -> Vec<Option<CpuId>> {
        self.seats.iter().map(|seat| seat.cpu).collect()
    }

    /// A thread sits down to drive a worker.
    pub(crate) fn sit_down(&self, worker: WorkerId) {
        if let (true, Some(cpu), Some(topology)) = (self.bound, self.seat(worker).cpu, &self.topology) {
            // The mask may have changed since the start. A worker that cannot be bound still works.
            let _ = topology.bind_current_thread(cpu);
        }
        self.seat(worker).driver.store(this_thread(), Ordering::SeqCst);
    }

    /// Nobody drives the worker any more. The thread that did so may go where it likes again, if it is the calling one.
    pub(crate) fn get_up(&self, worker: WorkerId) {
        let was = self.seat(worker).driver.swap(0, Ordering::SeqCst);
        if let (true, true, Some(topology)) = (was == this_thread(), self.bound, &self.topology) {
            let _ = topology.unbind_current_thread();
        }
    }

    /// From now on a thread drives the worker without a pause, until the runtime ends. A thread that the runtime launches
    /// counts from before its start: nobody may take a worker that is about to come for one that never will.
    pub(crate) fn begin_driving(&self, worker: WorkerId) {
        if !self.seat(worker).driven.swap(true, Ordering::SeqCst) {
            self.driven.fetch_add(1, Ordering::SeqCst);
        }
    }

    pub(crate) fn end_driving(&self, worker: WorkerId) {
        self.driven.fetch_sub(1, Ordering::SeqCst);
        self.seat(worker).driven.store(false, Ordering::SeqCst);
    }

    /// The worker that the calling thread drives.
    pub(crate) fn current(&self) -> Option<WorkerId> {
        let this = THREAD.get();
        // A thread without a number drives nothing.
        if this == 0 {
            None
        } else {
            self.ids().find(|&worker| self.seat(worker).driver.load(Ordering::SeqCst) == this)
        }
    }

    /// Whether the calling thread drives a worker.
    pub(crate) fn is_driven_here(&self, worker: WorkerId) -> bool {
        self.seat(worker).driver.load(Ordering::SeqCst) == this_thread()
    }

    /// A worker that is driven step by step begins a step.
    pub(crate) fn begin_step(&self) {
        self.driven.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn end_step(&self) {
        self.driven.fetch_sub(1, Ordering::SeqCst);
    }

    /// How many workers are driven without a pause, or are in the middle of a step.
    pub(crate) fn driven(&self) -> usize {
        self.driven.load(Ordering::SeqCst)
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.sleep.wake_all();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}
