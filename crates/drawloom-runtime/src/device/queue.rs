//! Tasks that wait for a kind of device.

use std::collections::VecDeque;
use std::time::Duration;

use super::Device;
use crate::memory::{Memory, MemoryId};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::time::wait_at_most;
use crate::sync::{Arc, Condvar, Mutex, lock};
use crate::task::record::TaskId;

/// The devices of a runtime.
#[derive(Default)]
pub(crate) struct Devices {
    kinds: Vec<KindQueue>,
    /// By number, less one: the memory of this process has no entry.
    memories: Vec<Arc<dyn Memory>>,
}

struct KindQueue {
    kind: String,
    tasks: Mutex<VecDeque<TaskId>>,
    /// Tasks that were pushed and are not complete: in the queue, or on a device.
    unfinished: AtomicUsize,
    arrived: Condvar,
}

impl Devices {
    /// Adds a device, and returns the number of its memory.
    pub(crate) fn add(&mut self, device: &dyn Device) -> MemoryId {
        if self.find(device.kind()).is_none() {
            let kind = device.kind().to_owned();
            self.kinds.push(KindQueue {
                kind,
                tasks: Mutex::default(),
                unfinished: AtomicUsize::new(0),
                arrived: Condvar::new(),
            });
        }
        self.memories.push(device.memory());
        MemoryId(self.memories.len() as u32)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The number of a kind.
    pub(crate) fn find(&self, kind: &str) -> Option<u32> {
        self.kinds.iter().position(|k| k.kind == kind).map(|at| at as u32)
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.kinds.iter().map(|k| k.kind.as_str()).collect()
    }

    pub(crate) fn push(&self, kind: u32, task: TaskId) {
        let queue = &self.kinds[kind as usize];
        queue.unfinished.fetch_add(1, Ordering::SeqCst);
        lock(&queue.tasks).push_back(task);
        queue.arrived.notify_one();
    }

    pub(crate) fn pop(&self, kind: u32) -> Option<TaskId> {
        lock(&self.kinds[kind as usize].tasks).pop_front()
    }

    /// A task that was popped is complete.
    pub(crate) fn finished(&self, kind: u32) {
        self.kinds[kind as usize].unfinished.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether no task waits for a device or is on one.
    pub(crate) fn are_idle(&self) -> bool {
        self.kinds.iter().all(|kind| kind.unfinished.load(Ordering::SeqCst) == 0)
    }

    /// Sleeps until a task of a kind arrives, or for some time.
    pub(crate) fn sleep(&self, kind: u32, most: Duration) {
        let queue = &self.kinds[kind as usize];
        let tasks = lock(&queue.tasks);
        if tasks.is_empty() {
            drop(wait_at_most(&queue.arrived, tasks, most));
        }
    }

    pub(crate) fn wake(&self) {
        for queue in &self.kinds {
            drop(lock(&queue.tasks));
            queue.arrived.notify_all();
        }
    }
}
