//! Tasks are placed on workers by lot.

use crate::sync::{Mutex, Padded, lock};

use super::queue::Queue;
use super::{Policy, Ready, WorkerId};

/// Each task goes to a worker of the context drawn at random; a worker without tasks takes from the others in turn.
///
/// The numbers come from a seed, so the same sequence of tasks is placed in the same way.
pub struct Random {
    lots: Mutex<Lots>,
    queues: Vec<Padded<Queue>>,
}

struct Lots {
    numbers: fastrand::Rng,
    members: Vec<WorkerId>,
}

impl Random {
    /// A queue for each worker of the runtime.
    pub fn new(workers: usize, seed: u64) -> Self {
        Self {
            lots: Mutex::new(Lots { numbers: fastrand::Rng::with_seed(seed), members: Vec::new() }),
            queues: (0..workers).map(|_| Padded::default()).collect(),
        }
    }

    fn place(&self, lots: &mut Lots, task: Ready) {
        let drawn = lots.numbers.usize(..lots.members.len().max(1));
        // Without members the task waits at any place: those who come later look everywhere.
        let place = lots.members.get(drawn).map_or(0, |worker| worker.index());
        self.queues[place].push_back(task);
    }
}

impl Policy for Random {
    fn push(&self, task: Ready, _: Option<WorkerId>) {
        self.place(&mut lock(&self.lots), task);
    }

    fn pop(&self, worker: WorkerId) -> Option<Ready> {
        let count = self.queues.len();
        (0..count).find_map(|i| self.queues[(worker.index() + i) % count].pop_front())
    }

    fn len(&self) -> usize {
        self.queues.iter().map(|q| q.len()).sum()
    }

    fn set_workers(&self, workers: &[WorkerId]) {
        let mut lots = lock(&self.lots);
        lots.members = workers.to_vec();
        // Tasks that wait where nobody is at home are placed again.
        for (index, queue) in self.queues.iter().enumerate() {
            if !workers.is_empty() && workers.iter().all(|w| w.index() != index) {
                while let Some(task) = queue.pop_front() {
                    self.place(&mut lots, task);
                }
            }
        }
    }

    fn drain(&self, _: &[WorkerId], into: &mut Vec<Ready>) {
        for queue in &self.queues {
            into.extend(std::iter::from_fn(|| queue.pop_front()));
        }
    }
}
