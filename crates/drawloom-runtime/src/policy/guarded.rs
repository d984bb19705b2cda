//! What keeps a runtime sound whatever a policy of the user does.
//!
//! A policy is trusted with values that stand for tasks. It may lose them, return those of another runtime, or panic when it
//! has already stored one. So the runtime keeps a *ticket* for each task that it has given to a policy of the user, and runs
//! what comes out only in exchange for the ticket. Who has no ticket is thrown away; a ticket that nobody asks for is named
//! in the report of a stall. The policies that come with the runtime need none of this, and have none.

use rustc_hash::FxHashMap;

use super::queue::Queue;
use super::{Policy, Ready, ReadyKey, ReadyKind, WorkerId};
use crate::panic;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex, lock};

/// What a policy was given and has not handed out.
#[derive(Default)]
pub(crate) struct Tickets {
    count: AtomicUsize,
    /// How often each is outstanding, which is more than once for shares of a plan, and its priority.
    outstanding: Mutex<FxHashMap<ReadyKey, (u32, i32)>>,
}

impl Tickets {
    fn issue(&self, task: &Ready) {
        let mut outstanding = lock(&self.outstanding);
        outstanding.entry(task.key()).or_insert((0, task.priority)).0 += 1;
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    /// Takes the ticket of a task. False when it has none.
    fn redeem(&self, task: &Ready) -> bool {
        let mut outstanding = lock(&self.outstanding);
        let Some((times, _)) = outstanding.get_mut(&task.key()) else { return false };
        *times -= 1;
        if *times == 0 {
            outstanding.remove(&task.key());
        }
        self.count.fetch_sub(1, Ordering::SeqCst);
        true
    }

    /// How many tickets are outstanding.
    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Gives the memory back that tickets took.
    pub(crate) fn forget(&self) {
        lock(&self.outstanding).shrink_to_fit();
    }

    /// Whether nodes of plans are among what the policy has.
    pub(crate) fn has_nodes(&self) -> bool {
        let is_node = |key: &ReadyKey| !matches!(Ready::from_key(*key, 0).kind(), ReadyKind::Task(_));
        self.len() > 0 && lock(&self.outstanding).keys().any(is_node)
    }

    /// Takes tickets whatever the policy does with what they are for, and returns the tasks in a fixed order.
    pub(crate) fn take(&self, which: impl Fn(&ReadyKind) -> bool) -> Vec<Ready> {
        let mut outstanding = lock(&self.outstanding);
        let meant = |key: &ReadyKey| which(&Ready::from_key(*key, 0).kind());
        let mut keys: Vec<ReadyKey> = outstanding.keys().copied().filter(meant).collect();
        keys.sort_unstable();
        let mut taken = Vec::new();
        for key in keys {
            let (times, priority) = outstanding.remove(&key).expect("it was there under the same lock");
            taken.extend((0..times).map(|_| Ready::from_key(key, priority)));
        }
        self.count.fetch_sub(taken.len(), Ordering::SeqCst);
        taken
    }
}

/// A policy of the user, which may do anything.
pub(super) struct Guarded {
    policy: Box<dyn Policy>,
    tickets: Arc<Tickets>,
    /// Tasks that the policy panicked over. It may have stored them before: whichever comes out first has the ticket.
    stranded: Queue,
}

impl Guarded {
    pub(super) fn new(policy: Box<dyn Policy>, tickets: Arc<Tickets>) -> Self {
        Self { policy, tickets, stranded: Queue::default() }
    }

    /// Does something of the user's. None when it panicked.
    fn ask<T>(&self, f: impl FnOnce(&dyn Policy) -> T) -> Option<T> {
        panic::catch(|| f(&*self.policy)).ok()
    }
}

impl Policy for Guarded {
    fn push(&self, task: Ready, by: Option<WorkerId>) {
        // First, so that whoever pops the task meanwhile finds its ticket.
        self.tickets.issue(&task);
        let again = task.duplicate();
        if self.ask(|policy| policy.push(task, by)).is_none() {
            self.stranded.push_back(again);
        }
    }

    fn pop(&self, worker: WorkerId) -> Option<Ready> {
        let next = || self.stranded.pop_front().or_else(|| self.ask(|policy| policy.pop(worker)).flatten());
        // Ends, as nobody but a runtime makes such values, and those without a ticket are gone.
        std::iter::from_fn(next).find(|task| self.tickets.redeem(task))
    }

    fn len(&self) -> usize {
        self.tickets.len()
    }

    fn set_workers(&self, workers: &[WorkerId]) {
        self.ask(|policy| policy.set_workers(workers));
    }

    fn drain(&self, workers: &[WorkerId], into: &mut Vec<Ready>) {
        let mut drained: Vec<Ready> = std::iter::from_fn(|| self.stranded.pop_front()).collect();
        self.ask(|policy| policy.drain(workers, &mut drained));
        into.extend(drained.into_iter().filter(|task| self.tickets.redeem(task)));
        // What the policy has lost, or keeps for itself.
        into.extend(self.tickets.take(|_| true));
    }

    fn stolen(&self, worker: WorkerId) -> u64 {
        self.ask(|policy| policy.stolen(worker)).unwrap_or(0)
    }

    fn follows_on(&self) -> bool {
        self.ask(|policy| policy.follows_on()).unwrap_or(false)
    }

    fn suits_all(&self) -> bool {
        self.ask(|policy| policy.suits_all()).unwrap_or(false)
    }

    fn team_size(&self, least: u32, most: u32, free: u32) -> u32 {
        self.ask(|policy| policy.team_size(least, most, free)).unwrap_or(least)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // Fields that are dropped after this one may panic no more: the policy is replaced by one of ours.
        let policy = std::mem::replace(&mut self.policy, Box::new(super::central::Eager::default()));
        let _ = panic::catch(|| drop(policy));
    }
}
