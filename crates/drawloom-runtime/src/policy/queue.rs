//! Reusable pieces of policies: queues with a published length.
//!
//! A queue is a lock around a deque. An uncontended lock costs about as much as the fence that a lock-free deque needs when
//! its owner pops, and allows any order, batches and priorities.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, lock};

use super::Ready;

/// A double-ended queue whose length can be seen without locking.
#[derive(Default)]
pub struct Queue {
    len: AtomicUsize,
    tasks: Mutex<VecDeque<Ready>>,
}

impl Queue {
    /// Adds a task at the back.
    #[inline]
    pub fn push_back(&self, task: Ready) {
        let mut tasks = lock(&self.tasks);
        tasks.push_back(task);
        self.publish(&tasks);
    }

    /// Takes the task at the back: the one that was added last.
    #[inline]
    pub fn pop_back(&self) -> Option<Ready> {
        self.take(VecDeque::pop_back)
    }

    /// Takes the task at the front: the one that was added first.
    #[inline]
    pub fn pop_front(&self) -> Option<Ready> {
        self.take(VecDeque::pop_front)
    }

    #[inline]
    fn take(&self, f: impl FnOnce(&mut VecDeque<Ready>) -> Option<Ready>) -> Option<Ready> {
        if self.is_empty() {
            return None;
        }
        let mut tasks = lock(&self.tasks);
        let task = f(&mut tasks);
        self.publish(&tasks);
        task
    }

    /// Takes one task from the front to run, and moves up to `most` more, at most half of what is left, to another queue,
    /// so that its owner, who takes from the back, finds them in the same order. Both are
    /// locked meanwhile, this one first: at no moment is a task in neither.
    pub fn take_some(&self, most: usize, other: &Queue) -> Option<Ready> {
        if self.is_empty() {
            return None;
        }
        let mut tasks = lock(&self.tasks);
        let first = tasks.pop_front();
        let share = (tasks.len() / 2).min(most);
        if share > 0 {
            let mut others = lock(&other.tasks);
            others.extend(tasks.drain(..share).rev());
            other.publish(&others);
        }
        self.publish(&tasks);
        first
    }

    /// Moves everything to the front of another queue: one from which others [take some](Queue::take_some), so its lock is
    /// the first.
    pub fn drain_into(&self, other: &Queue) {
        let mut others = lock(&other.tasks);
        let mut tasks = lock(&self.tasks);
        for task in tasks.drain(..).rev() {
            others.push_front(task);
        }
        other.publish(&others);
        self.publish(&tasks);
    }

    /// How many tasks there are.
    #[inline]
    pub fn len(&self) -> usize {
        // Acquire: pairs with `publish`; who sees a task will find it, or that someone else took it.
        self.len.load(Ordering::Acquire)
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn publish(&self, tasks: &VecDeque<Ready>) {
        self.len.store(tasks.len(), Ordering::Release);
    }
}

/// A queue that gives out the highest priority first, and equal ones in the order of arrival.
#[derive(Default)]
pub struct PriorityQueue {
    len: AtomicUsize,
    tasks: Mutex<Sorted>,
}

/// Tasks by priority, the highest first, and by the number of their arrival.
#[derive(Default)]
struct Sorted {
    tasks: BTreeMap<(Reverse<i32>, u64), Ready>,
    arrived: u64,
}

impl PriorityQueue {
    /// Adds a task.
    pub fn push(&self, task: Ready) {
        let mut sorted = lock(&self.tasks);
        sorted.arrived += 1;
        let key = (Reverse(task.priority), sorted.arrived);
        sorted.tasks.insert(key, task);
        self.len.store(sorted.tasks.len(), Ordering::Release);
    }

    /// Takes the task with the highest priority.
    pub fn pop(&self) -> Option<Ready> {
        if self.is_empty() {
            return None;
        }
        let mut sorted = lock(&self.tasks);
        let first = sorted.tasks.pop_first();
        self.len.store(sorted.tasks.len(), Ordering::Release);
        first.map(|(_, task)| task)
    }

    /// How many tasks there are.
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
