//! The arguments of one task, on their way to the memory in which it will run.

use super::node::{Address, Memory, MemoryId};
use super::replicate::Ticket;
use crate::access::{Arg, Mode};
use crate::error::{Error, Result};
use crate::sync::{Arc, thread};
use crate::trace::transfers::TransferLog;

/// The arguments of one task, on their way to a memory. Copies for all of them are under way at the same time.
pub(crate) struct Acquisition {
    node: MemoryId,
    /// None for the memory of this process.
    memory: Option<Arc<dyn Memory>>,
    wanted: Vec<Wanted>,
    /// Why an argument cannot be brought.
    failed: Option<Error>,
}

struct Wanted {
    arg: Arg,
    /// Where its region starts in the memory, once it has arrived.
    place: Option<Address>,
    ticket: Option<Ticket>,
}

impl Acquisition {
    /// Nothing moves before `advance`.
    pub(crate) fn new(args: &[Arg], node: MemoryId, memory: Option<Arc<dyn Memory>>) -> Self {
        let wanted = |&arg: &Arg| {
            // Contributions are private; what they are folded into may be anywhere until then. And what is lent is
            // brought to where the children are.
            let has_view = arg.mode() != Mode::Reduce && !arg.mode().lends();
            Wanted { arg, place: (!has_view).then_some(Address(0)), ticket: None }
        };
        Self { node, memory, wanted: args.iter().map(wanted).collect(), failed: None }
    }

    /// Goes on as far as possible without waiting. True when all arguments have arrived.
    ///
    /// # Errors
    /// When one of them cannot be brought. Those that are on their way arrive all the same.
    pub(crate) fn advance(&mut self, log: &TransferLog<'_>) -> Result<bool> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let mut all = true;
        for Wanted { arg, place, ticket } in &mut self.wanted {
            if place.is_none() {
                let replicates = &arg.piece().tree().replicates;
                *place = replicates
                    .acquire(*arg, self.node, self.memory.as_ref(), ticket, log)
                    .inspect_err(|error| self.failed = Some(error.clone()))?;
            }
            all &= place.is_some();
        }
        Ok(all)
    }

    /// Waits until all arguments have arrived. `idle` is called once, if that takes time.
    ///
    /// # Errors
    /// When one of them cannot be brought.
    pub(crate) fn wait(&mut self, log: &TransferLog<'_>, idle: impl FnOnce()) -> Result<()> {
        let mut idle = Some(idle);
        while !self.advance(log)? {
            if let Some(idle) = idle.take() {
                idle();
            }
            thread::yield_now();
        }
        Ok(())
    }

    /// Where the regions of the arguments start, once all of them have arrived.
    pub(crate) fn addresses(&self) -> Vec<Address> {
        self.wanted.iter().map(|wanted| wanted.place.unwrap_or(Address(0))).collect()
    }
}
