//! One queue for all workers.

use super::queue::{PriorityQueue, Queue};
use super::{Policy, Ready, WorkerId};

/// Tasks run in the order in which they became ready.
#[derive(Default)]
pub struct Eager(Queue);

impl Policy for Eager {
    fn push(&self, task: Ready, _: Option<WorkerId>) {
        self.0.push_back(task);
    }

    fn pop(&self, _: WorkerId) -> Option<Ready> {
        self.0.pop_front()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn set_workers(&self, _: &[WorkerId]) {}

    fn drain(&self, _: &[WorkerId], into: &mut Vec<Ready>) {
        into.extend(std::iter::from_fn(|| self.0.pop_front()));
    }
}

/// Tasks with a higher priority run first, and equal ones in the order in which they became ready.
#[derive(Default)]
pub struct Prio(PriorityQueue);

impl Policy for Prio {
    fn push(&self, task: Ready, _: Option<WorkerId>) {
        self.0.push(task);
    }

    fn pop(&self, _: WorkerId) -> Option<Ready> {
        self.0.pop()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn set_workers(&self, _: &[WorkerId]) {}

    fn drain(&self, _: &[WorkerId], into: &mut Vec<Ready>) {
        into.extend(std::iter::from_fn(|| self.0.pop()));
    }
}
