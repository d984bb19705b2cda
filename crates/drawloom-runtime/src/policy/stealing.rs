//! A queue for each worker, and stealing.
//!
//! A worker takes what became ready last on it, as its data is still near; a thief takes what became ready first, as it is
//! the farthest from what the victim does now. Tasks from outside arrive in an inbox, from which workers take several at
//! once.
//!
//! Tasks with a priority are kept apart, in two queues for all workers: positive ones come before everything else, negative
//! ones after. Both queues are empty in most programs, and looking at an empty queue costs one load.
//!
//! Every worker has a queue here, whether or not it is in the context, and thieves look at all of them. So a task that was
//! pushed by a worker that is just leaving is found like any other.

use crate::sync::Padded;
use crate::sync::atomic::{AtomicU64, Ordering};

use super::queue::{PriorityQueue, Queue};
use super::{Policy, Ready, WorkerId, WorkersView};

/// Work stealing. Thieves try the nearest workers first, or all in turn.
pub struct Stealing {
    urgent: Padded<PriorityQueue>,
    patient: Padded<PriorityQueue>,
    inbox: Padded<Queue>,
    queues: Vec<Padded<Queue>>,
    /// For each worker, whom to steal from, in order.
    victims: Vec<Vec<u32>>,
    /// How many tasks each worker has stolen.
    stolen: Vec<Padded<AtomicU64>>,
}

/// How many tasks a worker takes from the inbox at most, besides the one it runs.
const BATCH: usize = 31;

impl Stealing {
    /// A queue for each of `victims.len()` workers, each with the workers to steal from, the first ones first.
    pub fn new(victims: Vec<Vec<WorkerId>>) -> Self {
        Self::of_numbers(victims.into_iter().map(|list| list.into_iter().map(WorkerId::number).collect()).collect())
    }

    fn of_numbers(victims: Vec<Vec<u32>>) -> Self {
        Self {
            urgent: Padded::default(),
            patient: Padded::default(),
            inbox: Padded::default(),
            queues: (0..victims.len()).map(|_| Padded::default()).collect(),
            stolen: (0..victims.len()).map(|_| Padded::default()).collect(),
            victims,
        }
    }

    /// Stealing from the nearest workers first.
    pub fn nearest_first(workers: &WorkersView) -> Self {
        Self::new(workers.ids().map(|w| workers.nearest(w).to_vec()).collect())
    }

    /// Stealing from everyone in turn, starting with the next worker.
    pub fn round_robin(workers: usize) -> Self {
        let turn = |w: usize| (1..workers).map(|i| ((w + i) % workers) as u32).collect();
        Self::of_numbers((0..workers).map(turn).collect())
    }
}

impl Stealing {
    fn steal(&self, thief: WorkerId) -> Option<Ready> {
        let stolen = self.victims[thief.index()].iter().find_map(|v| self.queues[*v as usize].pop_front())?;
        // Relaxed: a figure for people.
        self.stolen[thief.index()].fetch_add(1, Ordering::Relaxed);
        Some(stolen)
    }

    #[cold]
    fn push_ranked(&self, task: Ready) {
        if task.priority > 0 {
            self.urgent.push(task);
        } else {
            self.patient.push(task);
        }
    }
}

impl Policy for Stealing {
    #[inline]
    fn push(&self, task: Ready, by: Option<WorkerId>) {
        if task.is_ranked() {
            return self.push_ranked(task);
        }
        match by {
            Some(worker) => self.queues[worker.index()].push_back(task),
            None => self.inbox.push_back(task),
        }
    }

    #[inline]
    fn pop(&self, worker: WorkerId) -> Option<Ready> {
        if !self.urgent.is_empty()
            && let Some(task) = self.urgent.pop()
        {
            return Some(task);
        }
        let own = &self.queues[worker.index()];
        own.pop_back()
            .or_else(|| self.inbox.take_some(BATCH, own))
            .or_else(|| self.steal(worker))
            .or_else(|| self.patient.pop())
    }

    fn stolen(&self, worker: WorkerId) -> u64 {
        self.stolen[worker.index()].load(Ordering::Relaxed)
    }

    fn len(&self) -> usize {
        let ranked = self.urgent.len() + self.patient.len();
        ranked + self.inbox.len() + self.queues.iter().map(|q| q.len()).sum::<usize>()
    }

    fn set_workers(&self, workers: &[WorkerId]) {
        for (index, queue) in self.queues.iter().enumerate() {
            if workers.iter().all(|w| w.index() != index) && !queue.is_empty() {
                queue.drain_into(&self.inbox);
            }
        }
    }

    fn drain(&self, _: &[WorkerId], into: &mut Vec<Ready>) {
        let queues = std::iter::once(&self.inbox).chain(&self.queues);
        into.extend(std::iter::from_fn(|| self.urgent.pop()));
        for queue in queues {
            into.extend(std::iter::from_fn(|| queue.pop_front()));
        }
        into.extend(std::iter::from_fn(|| self.patient.pop()));
    }

    fn follows_on(&self) -> bool {
        true
    }
}
