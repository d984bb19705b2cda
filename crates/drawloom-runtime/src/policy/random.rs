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
    state: u64,
    members: Vec<WorkerId>,
}

impl Random {
    /// A queue for each worker of the runtime.
    pub fn new(workers: usize, seed: u64) -> Self {
        Self {
            lots: Mutex::new(Lots { state: seed, members: Vec::new() }),
            queues: (0..workers).map(|_| Padded::default()).collect(),
        }
    }

    fn place(&self, lots: &mut Lots, task: Ready) {
        let count = lots.members.len().max(1) as u64;
        let drawn = ((u128::from(lots.draw()) * u128::from(count)) >> 64) as usize;
        // Without members the task waits at any place: those who come later look everywhere.
        let place = lots.members.get(drawn).map_or(0, |worker| worker.index());
        self.queues[place].push_back(task);
    }
}

impl Lots {
    /// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
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
