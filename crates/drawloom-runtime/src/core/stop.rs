//! Cancelling tasks, and the end of a runtime.
//!
//! A task that was cancelled keeps its place: it is completed when its turn comes, without having run. So nothing that was
//! submitted is ever lost, and what it captured is dropped. Once there are no workers any more, whoever makes a task ready
//! completes it: the thread that drops a guard, for example.

use std::cell::Cell;

use super::{Core, Local, peek};
use crate::error::Error;
use crate::policy::WorkerId;
use crate::sync::atomic::Ordering;
use crate::task::record::flag;

thread_local! {
    static DRAINING: Cell<bool> = const { Cell::new(false) };
}

impl Core {
    /// Cancels the tasks of a context, or all tasks, that have not started. Those that run are left alone.
    pub(crate) fn cancel(&self, context: Option<u32>, error: Error) {
        // First the reason, then the flags: who sees the flag finds the reason.
        self.failures.cancel(context, error);
        for index in self.slab.all() {
            let record = self.slab.get(index);
            if context.is_none_or(|context| peek::context_of(record) == context) {
                // A record that is not a task's ignores the flag, and one that is taken meanwhile is described anew.
                record.flags.fetch_or(flag::CANCELLED, Ordering::Relaxed);
            }
        }
    }

    /// Ends the runtime: nothing may be submitted, and everything that was submitted is run; what cannot run is cancelled.
    pub(crate) fn drain(&self) {
        self.closed.store(true, Ordering::SeqCst);
        if let Err(stall) = self.waiters.wait_quiet(self, Core::is_everything_complete) {
            let message = format!("the runtime ended, and {}", stall.message());
            self.cancel(None, Error::new(crate::error::ErrorKind::Cancelled, message));
        }
    }

    /// There are no workers any more.
    pub(crate) fn stopped(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.drain_stopped();
    }

    /// Completes what is ready, when there are no workers any more to do it.
    #[inline]
    pub(super) fn drain_stopped(&self) {
        // SeqCst: in one order with `stopped`; the caller has pushed before, with a fence in between. Either it sees that
        // the workers are gone, or `stopped` sees what was pushed.
        if self.stopped.load(Ordering::SeqCst) {
            self.run_what_is_left();
        }
    }

    #[cold]
    fn run_what_is_left(&self) {
        if self.running().is_some() || DRAINING.replace(true) {
            return;
        }
        let mut local = Local::new(None);
        loop {
            let ready = self.contexts.iter().find_map(|c| self.workers.ids().find_map(|w: WorkerId| c.policy.pop(w)));
            let Some(ready) = ready else { break };
            self.run_ready(&mut local, ready);
            self.hand_out(&mut local);
        }
        DRAINING.set(false);
    }
}
