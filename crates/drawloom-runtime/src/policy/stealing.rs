//! A queue for each worker, and stealing.
//!
//! A worker takes what became ready last on it, as its data is still near; a thief takes what became ready first, as it is
//! the farthest from what the victim does now. Tasks from outside arrive in an inbox, from which workers take several at
//! once.

use crate::sync::Padded;
use crate::sync::atomic::{AtomicU64, Ordering};

use super::queue::Queue;
use super::{Policy, Ready, WorkerId};

/// Work stealing. Thieves try the nearest workers first, or all in turn.
pub struct Stealing {
    inbox: Padded<Queue>,
    queues: Vec<Padded<Queue>>,
    /// For each worker, whom to steal from, in order.
    victims: Vec<Vec<WorkerId>>,
    /// How many tasks each worker has stolen.
    stolen: Vec<Padded<AtomicU64>>,
}

/// How many tasks a worker takes from the inbox at most, besides the one it runs.
const BATCH: usize = 31;

impl Stealing {
    /// A queue for each of `victims.len()` workers, each with the workers to steal from, the first ones first.
    pub fn new(victims: Vec<Vec<WorkerId>>) -> Self {
        let workers = victims.len();
        Self {
            inbox: Padded::default(),
            queues: (0..workers).map(|_| Padded::default()).collect(),
            victims,
            stolen: (0..workers).map(|_| Padded::default()).collect(),
        }
    }

    /// Stealing from everyone in turn, starting with the next worker.
    pub fn round_robin(workers: usize) -> Self {
        let turn = |w: usize| (1..workers).map(|i| WorkerId(((w + i) % workers) as u32)).collect();
        Self::new((0..workers).map(turn).collect())
    }
}

impl Policy for Stealing {
    #[inline]
    fn push(&self, task: Ready, by: Option<WorkerId>) {
        match by {
            Some(worker) => self.queues[worker.index()].push_back(task),
            None => self.inbox.push_back(task),
        }
    }

    #[inline]
    fn pop(&self, worker: WorkerId) -> Option<Ready> {
        let own = &self.queues[worker.index()];
        own.pop_back().or_else(|| self.inbox.take_some(BATCH, own)).or_else(|| {
            let stolen = self.victims[worker.index()].iter().find_map(|v| self.queues[v.index()].pop_front())?;
            // Relaxed: a figure for people.
            self.stolen[worker.index()].fetch_add(1, Ordering::Relaxed);
            Some(stolen)
        })
    }

    fn stolen(&self, worker: WorkerId) -> u64 {
        self.stolen[worker.index()].load(Ordering::Relaxed)
    }

    fn len(&self) -> usize {
        self.inbox.len() + self.queues.iter().map(|q| q.len()).sum::<usize>()
    }

    fn set_workers(&self, workers: &[WorkerId]) {
        for (index, queue) in self.queues.iter().enumerate() {
            if !workers.contains(&WorkerId(index as u32)) && !queue.is_empty() {
                queue.drain_into(&self.inbox);
            }
        }
    }

    fn follows_on(&self) -> bool {
        true
    }
}
