//! Which policy a context gets: one of ours by name, or one that the user makes.

use std::fmt;

use super::central::{Eager, Prio};
use super::guarded::{Guarded, Tickets};
use super::random::Random;
use super::stealing::Stealing;
use super::{Policy, WorkersView};
use crate::error::{Error, ErrorKind, Result};
use crate::panic;
use crate::sync::Arc;

/// The names of the policies that come with the runtime.
pub const NAMES: [&str; 5] = ["lws", "ws", "eager", "prio", "random"];

type Make = dyn Fn(&WorkersView) -> Box<dyn Policy> + Send + Sync;

/// A policy that was made.
pub(crate) struct Made {
    pub(crate) policy: Box<dyn Policy>,
    /// What a policy of the user has; ours are trusted.
    pub(crate) tickets: Option<Arc<Tickets>>,
}

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
    pub(crate) fn make(&self, workers: &WorkersView) -> Result<Made> {
        let name = match self {
            Choice::Named(name) => name.as_str(),
            Choice::Made(make) => {
                let policy = panic::catch(|| make(workers)).map_err(|message| {
                    Error::new(ErrorKind::Setting, format!("the function that makes the policy panicked: {message}"))
                })?;
                let tickets = Arc::new(Tickets::default());
                let policy = Box::new(Guarded::new(policy, Arc::clone(&tickets)));
                return Ok(Made { policy, tickets: Some(tickets) });
            }
        };
        let seed = || name.strip_prefix("random:").and_then(|seed| seed.parse().ok());
        let policy: Box<dyn Policy> = match name {
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
        };
        Ok(Made { policy, tickets: None })
    }
}
