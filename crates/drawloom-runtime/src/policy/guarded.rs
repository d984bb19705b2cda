//! What keeps a runtime sound whatever a policy of the user does.
//!
//! A policy is trusted with values that stand for tasks. It may lose them, return those of another runtime, or panic when it
//! has already stored one. So a policy of the user gets *tickets*: numbers that no other ticket of the process has. The task
//! stays here, and is exchanged for its ticket when that comes back. A ticket that stands for nothing any more is thrown away; a
//! task whose ticket does not come back is named in the report of a stall. The policies that come with the runtime are trusted
//! with the tasks themselves.

use std::collections::BTreeMap;

use super::queue::Queue;
use super::{Policy, Ready, ReadyKind, WorkerId};
use crate::panic;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex, lock};

/// The number of the next ticket. No part of any protocol: a number only tells tickets apart.
static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// What a policy was given and has not handed out.
#[derive(Default)]
pub(crate) struct Tickets {
    count: AtomicUsize,
    /// In the order in which they became ready.
    outstanding: Mutex<BTreeMap<u64, Ready>>,
}

impl Tickets {
    /// Keeps a task, and returns the number of its ticket.
    fn issue(&self, task: Ready) -> u64 {
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        lock(&self.outstanding).insert(number, task);
        self.count.fetch_add(1, Ordering::SeqCst);
        number
    }

    /// The task of a ticket. None when it is not here, or not any more.
    fn redeem(&self, ticket: &Ready) -> Option<Ready> {
        let ReadyKind::Ticket { number, .. } = ticket.what else { return None };
        let task = lock(&self.outstanding).remove(&number)?;
        self.count.fetch_sub(1, Ordering::SeqCst);
        Some(task)
    }

    /// How many tickets are outstanding.
    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Whether nodes of plans are among what the policy has.
    pub(crate) fn has_nodes(&self) -> bool {
        self.len() > 0 && lock(&self.outstanding).values().any(|task| matches!(task.what, ReadyKind::Node(_)))
    }

    /// Takes tasks out in the order in which they became ready. Their tickets stay with the policy, and are void.
    pub(crate) fn take(&self, which: impl Fn(&ReadyKind) -> bool) -> Vec<Ready> {
        let mut outstanding = lock(&self.outstanding);
        let all = std::mem::take(&mut *outstanding);
        let (taken, kept) = all.into_iter().partition::<BTreeMap<_, _>, _>(|(_, task)| which(&task.what));
        *outstanding = kept;
        self.count.fetch_sub(taken.len(), Ordering::SeqCst);
        taken.into_values().collect()
    }
}

/// A policy of the user, which may do anything.
pub(super) struct Guarded {
    policy: Box<dyn Policy>,
    tickets: Arc<Tickets>,
    /// Tickets that the policy panicked over. It may have stored them before: the one that comes out first is exchanged.
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
        let (priority, ranked) = (task.priority, task.is_ranked());
        let number = self.tickets.issue(task);
        let ticket = || Ready { what: ReadyKind::Ticket { number, ranked }, priority };
        if self.ask(|policy| policy.push(ticket(), by)).is_none() {
            self.stranded.push_back(ticket());
        }
    }

    fn pop(&self, worker: WorkerId) -> Option<Ready> {
        let next = || self.stranded.pop_front().or_else(|| self.ask(|policy| policy.pop(worker)).flatten());
        // Ends, as only a runtime makes such values, and those that stand for nothing are gone.
        std::iter::from_fn(next).find_map(|ticket| self.tickets.redeem(&ticket))
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
        into.extend(drained.iter().filter_map(|ticket| self.tickets.redeem(ticket)));
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
