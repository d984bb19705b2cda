//! Which policy a context gets: one of ours by name, or one that the user makes.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::central::{Eager, Prio};
use super::queue::Queue;
use super::random::Random;
use super::stealing::Stealing;
use super::{Policy, Ready, WorkerId, WorkersView};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Arc;

/// The names of the policies that come with the runtime.
pub const NAMES: [&str; 5] = ["lws", "ws", "eager", "prio", "random"];

type Make = dyn Fn(&WorkersView) -> Box<dyn Policy> + Send + Sync;

/// A policy that is not made yet.
#[derive(Clone)]
pub(crate) enum Choice {
    Named(String),
    Made(Arc<Make>),
}

impl Default for Choice {
    fn default() -> Self {
        Choice::Named("lws".to_owned())
    }
}

impl fmt::Debug for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Named(name) => f.write_str(name),
            Choice::Made(_) => f.write_str("a policy of the user"),
        }
    }
}

impl Choice {
    pub(crate) fn made(make: impl Fn(&WorkersView) -> Box<dyn Policy> + Send + Sync + 'static) -> Self {
        Choice::Made(Arc::new(make))
    }

    /// Makes the policy.
    pub(crate) fn make(&self, workers: &WorkersView) -> Result<Box<dyn Policy>> {
        let name = match self {
            Choice::Named(name) => name.as_str(),
            Choice::Made(make) => {
                let policy = catch_unwind(AssertUnwindSafe(|| make(workers)))
                    .map_err(|_| Error::new(ErrorKind::Setting, "the function that makes the policy panicked"))?;
                return Ok(Box::new(Guarded { policy, stranded: Queue::default() }));
            }
        };
        let seed = || name.strip_prefix("random:").and_then(|seed| seed.parse().ok());
        Ok(match name {
            "lws" => Box::new(Stealing::nearest_first(workers)),
            "ws" => Box::new(Stealing::round_robin(workers.len())),
            "eager" => Box::new(Eager::default()),
            "prio" => Box::new(Prio::default()),
            "random" => Box::new(Random::new(workers.len(), 0)),
            _ => match seed() {
                Some(seed) => Box::new(Random::new(workers.len(), seed)),
                None => {
                    let message =
                        format!("there is no policy `{name}`; there are {}, and random:SEED", NAMES.join(", "));
                    return Err(Error::new(ErrorKind::Setting, message));
                }
            },
        })
    }
}

/// Keeps a panic in a user's policy from killing a worker or losing a task.
struct Guarded {
    policy: Box<dyn Policy>,
    /// Tasks that the policy panicked over.
    stranded: Queue,
}

impl Policy for Guarded {
    fn push(&self, task: Ready, by: Option<WorkerId>) {
        if catch_unwind(AssertUnwindSafe(|| self.policy.push(task, by))).is_err() {
            // The policy may have taken it before it panicked. A task that comes out twice runs once.
            self.stranded.push_back(task);
        }
    }

    fn pop(&self, worker: WorkerId) -> Option<Ready> {
        let stranded = self.stranded.pop_front();
        stranded.or_else(|| catch_unwind(AssertUnwindSafe(|| self.policy.pop(worker))).ok().flatten())
    }

    fn len(&self) -> usize {
        self.stranded.len() + catch_unwind(AssertUnwindSafe(|| self.policy.len())).unwrap_or(0)
    }

    fn set_workers(&self, workers: &[WorkerId]) {
        let _ = catch_unwind(AssertUnwindSafe(|| self.policy.set_workers(workers)));
    }

    fn drain(&self, workers: &[WorkerId], into: &mut Vec<Ready>) {
        while let Some(task) = self.stranded.pop_front() {
            into.push(task);
        }
        let _ = catch_unwind(AssertUnwindSafe(|| self.policy.drain(workers, into)));
    }

    fn follows_on(&self) -> bool {
        catch_unwind(AssertUnwindSafe(|| self.policy.follows_on())).unwrap_or(false)
    }

    fn suits_all(&self) -> bool {
        catch_unwind(AssertUnwindSafe(|| self.policy.suits_all())).unwrap_or(false)
    }

    fn team_size(&self, least: u32, most: u32, free: u32) -> u32 {
        catch_unwind(AssertUnwindSafe(|| self.policy.team_size(least, most, free))).unwrap_or(least)
    }
}
