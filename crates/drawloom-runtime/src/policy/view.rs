//! What a policy may know about the workers.

use crate::sync::Arc;
use crate::topology::CpuId;
use crate::worker::Workers;
use crate::worker::seat::Seat;

use super::WorkerId;

/// The workers of a runtime, as a policy sees them. Cheap to clone, so that a policy can keep it.
#[derive(Clone)]
pub struct WorkersView {
    seats: Arc<[Seat]>,
    nearest: Arc<[Vec<WorkerId>]>,
}

impl WorkersView {
    pub(crate) fn new(workers: &Workers) -> Self {
        let turn = |w: usize| (1..workers.count).map(|i| WorkerId(((w + i) % workers.count) as u32)).collect();
        let nearest = match &workers.topology {
            Some(topology) => topology
                .victims(&workers.places())
                .into_iter()
                .map(|list| list.into_iter().map(|w| WorkerId(w as u32)).collect())
                .collect(),
            None => (0..workers.count).map(turn).collect(),
        };
        Self { seats: Arc::clone(&workers.seats), nearest }
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
        (0..self.seats.len() as u32).map(WorkerId)
    }

    /// The other workers, nearest first.
    pub fn nearest(&self, worker: WorkerId) -> &[WorkerId] {
        self.nearest.get(worker.index()).map_or(&[], Vec::as_slice)
    }

    /// The processor of a worker, where known.
    pub fn cpu(&self, worker: WorkerId) -> Option<CpuId> {
        self.seats.get(worker.index())?.cpu
    }

    /// Whether a worker is blocked in a team. Once asked, the worker joins and leaves no team until it has completed a
    /// whole scheduling operation without being asked again, so a decision made on the answer stays right that long.
    pub fn is_blocked_in_team(&self, worker: WorkerId) -> bool {
        self.seats.get(worker.index()).is_some_and(|seat| seat.state.observe())
    }
}
