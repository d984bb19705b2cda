//! Tasks that wait for a kind of device.
//!
//! A task that only a device may run is in one queue, that of its kind. One that a processor may run as well is offered in
//! several places at once: here for each kind that it has an implementation for, and to the workers of its context. Whoever
//! claims it first runs it, and the other tickets mean nothing any more.

use std::collections::VecDeque;
use std::time::Duration;

use super::Device;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{Memory, MemoryId};
use crate::panic;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::time::wait_at_most;
use crate::sync::{Arc, Condvar, Mutex, lock, wait};
use crate::task::record::TaskId;

/// The devices of a runtime.
#[derive(Default)]
pub(crate) struct Devices {
    kinds: Vec<KindQueue>,
    places: Vec<Place>,
    /// Tickets that were pushed and are not used up: in a queue, or with a device that runs the task.
    unfinished: AtomicUsize,
    /// Tasks that wait for children of a failed attempt, each with a device that looks now and then whether they are complete.
    resting: Mutex<Vec<TaskId>>,
}

/// Where a device stands in its runtime.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) name: String,
    /// The number of its kind.
    pub(crate) kind: u32,
    pub(crate) node: MemoryId,
    pub(crate) memory: Arc<dyn Memory>,
}

/// A task that is offered to a kind of device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ticket {
    pub(crate) task: TaskId,
    /// Whether nobody but a device of the kind may run it. Then this is the only ticket.
    pub(crate) only: bool,
}

struct KindQueue {
    kind: String,
    tickets: Mutex<Tickets>,
    arrived: Condvar,
    /// How many devices of the kind can be used.
    working: AtomicUsize,
}

#[derive(Default)]
struct Tickets {
    list: VecDeque<Ticket>,
    /// At this length, tickets that mean nothing any more are thrown away: a device that is busy for long must not make the
    /// list grow with everything that others run meanwhile.
    sweep_at: usize,
}

/// The shortest list that is swept.
const SWEEP: usize = 64;

impl Devices {
    /// Adds a device.
    ///
    /// # Errors
    /// When it panics.
    pub(crate) fn add(&mut self, device: &dyn Device) -> Result<()> {
        let asked = panic::catch(|| (device.kind().to_owned(), device.memory()));
        let (name, memory) = asked
            .map_err(|said| Error::new(ErrorKind::Setting, format!("a device cannot be used: it panicked: {said}")))?;
        let kind = self.find(&name).unwrap_or_else(|| {
            let (tickets, arrived, working) = (Mutex::default(), Condvar::new(), AtomicUsize::new(0));
            self.kinds.push(KindQueue { kind: name.clone(), tickets, arrived, working });
            self.kinds.len() as u32 - 1
        });
        self.kinds[kind as usize].working.fetch_add(1, Ordering::Relaxed);
        let node = MemoryId(self.places.len() as u32 + 1);
        self.places.push(Place { name, kind, node, memory });
        Ok(())
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The devices, in the order in which they were added.
    pub(crate) fn places(&self) -> &[Place] {
        &self.places
    }

    /// The number of a kind.
    pub(crate) fn find(&self, kind: &str) -> Option<u32> {
        self.kinds.iter().position(|k| k.kind == kind).map(|at| at as u32)
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.kinds.iter().map(|k| k.kind.as_str()).collect()
    }

    /// Offers a task to the devices of a kind. `is_gone` says which tasks were claimed.
    pub(crate) fn push(&self, kind: u32, ticket: Ticket, is_gone: impl Fn(TaskId) -> bool) {
        let queue = &self.kinds[kind as usize];
        self.unfinished.fetch_add(1, Ordering::SeqCst);
        let mut tickets = lock(&queue.tickets);
        if tickets.list.len() >= tickets.sweep_at.max(SWEEP) {
            let before = tickets.list.len();
            tickets.list.retain(|ticket| ticket.only || !is_gone(ticket.task));
            tickets.sweep_at = 2 * tickets.list.len();
            self.unfinished.fetch_sub(before - tickets.list.len(), Ordering::SeqCst);
        }
        tickets.list.push_back(ticket);
        drop(tickets);
        // All: one of those who sleep may be one that cannot be used.
        queue.arrived.notify_all();
    }

    pub(crate) fn pop(&self, kind: u32) -> Option<Ticket> {
        lock(&self.kinds[kind as usize].tickets).list.pop_front()
    }

    /// A ticket that was popped is used up.
    pub(crate) fn finished(&self) {
        self.unfinished.fetch_sub(1, Ordering::SeqCst);
    }

    /// A task rests. Its ticket is to be used up afterwards, so that it is seen in one place or the other.
    pub(crate) fn rests(&self, task: TaskId) {
        lock(&self.resting).push(task);
    }

    /// A task that rested is on its device again, as if its ticket had been popped once more.
    pub(crate) fn resumed(&self, task: TaskId) {
        self.unfinished.fetch_add(1, Ordering::SeqCst);
        lock(&self.resting).retain(|resting| *resting != task);
    }

    /// The tasks that rest.
    pub(crate) fn resting(&self) -> Vec<TaskId> {
        lock(&self.resting).clone()
    }

    /// Whether no task waits for a device or is on one.
    pub(crate) fn are_idle(&self) -> bool {
        self.unfinished.load(Ordering::SeqCst) == 0
    }

    /// How many tickets wait.
    #[cfg(test)]
    fn waiting(&self) -> usize {
        self.kinds.iter().map(|queue| lock(&queue.tickets).list.len()).sum()
    }

    /// A device of a kind cannot be used. True when there is another one of its kind that can.
    pub(crate) fn give_up(&self, kind: u32) -> bool {
        self.kinds[kind as usize].working.fetch_sub(1, Ordering::SeqCst) > 1
    }

    /// Whether a task of a kind waits.
    pub(crate) fn has_tickets(&self, kind: u32) -> bool {
        !lock(&self.kinds[kind as usize].tickets).list.is_empty()
    }

    /// Sleeps until a task of a kind arrives, unless `retired`, or something is over, which is told by [`Devices::wake`].
    pub(crate) fn sleep(&self, kind: u32, retired: bool, is_over: impl Fn() -> bool) {
        let queue = &self.kinds[kind as usize];
        let mut tickets = lock(&queue.tickets);
        while (retired || tickets.list.is_empty()) && !is_over() {
            tickets = wait(&queue.arrived, tickets);
        }
    }

    /// Sleeps for a moment, unless a task of a kind arrives.
    pub(crate) fn nap(&self, kind: u32, most: Duration) {
        let queue = &self.kinds[kind as usize];
        let tickets = lock(&queue.tickets);
        if tickets.list.is_empty() {
            drop(wait_at_most(&queue.arrived, tickets, most));
        }
    }

    /// Wakes all devices that sleep.
    pub(crate) fn wake(&self) {
        for queue in &self.kinds {
            // Whoever looked under the lock before is asleep by now, and hears this.
            drop(lock(&queue.tickets));
            queue.arrived.notify_all();
        }
    }

    /// Takes out everything that waits.
    pub(crate) fn drain(&self) -> Vec<Ticket> {
        let drained: Vec<Ticket> =
            self.kinds.iter().flat_map(|queue| std::mem::take(&mut lock(&queue.tickets).list)).collect();
        self.unfinished.fetch_sub(drained.len(), Ordering::SeqCst);
        drained
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_of_tasks_that_others_took_do_not_pile_up() {
        let mut devices = Devices::default();
        let (tickets, arrived, working) = (Mutex::default(), Condvar::new(), AtomicUsize::new(1));
        devices.kinds.push(KindQueue { kind: "busy".into(), tickets, arrived, working });
        for number in 0..100_000 {
            devices.push(0, Ticket { task: TaskId::new(number, 1), only: false }, |task| task.index() % 1000 != 0);
        }
        // Those that nobody took, and what came since the list was swept.
        assert!(devices.waiting() <= 2 * 100 + SWEEP, "{} tickets", devices.waiting());
        for number in (0..100_000).step_by(1000) {
            let still = std::iter::from_fn(|| devices.pop(0)).find(|ticket| ticket.task.index() == number);
            assert!(still.is_some(), "the ticket of task {number} is lost");
        }
    }
}
