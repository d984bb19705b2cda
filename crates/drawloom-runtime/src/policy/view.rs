//! What a policy may know about the workers.

use crate::sync::Arc;
use crate::topology::CpuId;
use crate::worker::Workers;
use crate::worker::seat::Seat;

use super::{RuntimeNumber, WorkerId};

/// The workers of a runtime, as a policy sees them. Cheap to clone, so that a policy can keep it.
#[derive(Clone)]
pub struct WorkersView {
    runtime: RuntimeNumber,
    seats: Arc<[Seat]>,
    nearest: Arc<[Vec<WorkerId>]>,
}

impl WorkersView {
    pub(crate) fn new(workers: &Workers) -> Self {
        let id = |number: usize| workers.runtime.worker(number as u32);
        let turn = |w: usize| (1..workers.count).map(|i| id((w + i) % workers.count)).collect();
        let nearest = match &workers.topology {
            Some(topology) => {
                let victims = topology.victims(&workers.places());
                victims.into_iter().map(|list| list.into_iter().map(id).collect()).collect()
            }
            None => (0..workers.count).map(turn).collect(),
        };
        Self { runtime: workers.runtime, seats: Arc::clone(&workers.seats), nearest }
    }

    /// How many workers the runtime has. A context may have fewer: see [`Policy::set_workers`](super::Policy::set_workers).
    pub fn len(&self) -> usize {
        self.seats.len()
    }

    /// Whether there are none: in the serial engine.
    pub fn is_empty(&self) -> bool {
        self.seats.is_empty()
    }

    /// All workers.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = WorkerId> + use<> {
        let runtime = self.runtime;
        (0..self.seats.len() as u32).map(move |number| runtime.worker(number))
    }

    /// The other workers, nearest first. None for a worker of another runtime.
    pub fn nearest(&self, worker: WorkerId) -> &[WorkerId] {
        self.own(worker).and_then(|index| self.nearest.get(index)).map_or(&[], Vec::as_slice)
    }

    /// The processor of a worker, where known.
    pub fn cpu(&self, worker: WorkerId) -> Option<CpuId> {
        self.seats.get(self.own(worker)?)?.cpu
    }

    /// Whether a worker is blocked in a team. Once asked, the worker joins and leaves no team until it has completed a
    /// whole scheduling operation without being asked again, so a decision made on the answer stays right that long.
    pub fn is_blocked_in_team(&self, worker: WorkerId) -> bool {
        self.own(worker).and_then(|index| self.seats.get(index)).is_some_and(|seat| seat.state.observe())
    }

    /// The number of a worker of this runtime.
    fn own(&self, worker: WorkerId) -> Option<usize> {
        worker.is_of(self.runtime).then_some(worker.index())
    }
}
