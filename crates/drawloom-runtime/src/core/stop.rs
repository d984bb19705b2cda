//! Cancelling tasks, and the end of a runtime.
//!
//! A task that was cancelled keeps its place: it is completed when its turn comes, without having run. So nothing that was
//! submitted is ever lost, and what it captured is dropped. Only what it was told to come after in another family it does not
//! wait for any more, as that may be what waits for its parent. Once there are no workers any more, whoever makes a task ready
//! completes it: the thread that drops a guard, for example.

use std::cell::Cell;

use rustc_hash::FxHashSet;

use super::{Core, Local, peek};
use crate::error::Error;
use crate::policy::{ReadyKind, WorkerId};
use crate::stall::On;
use crate::sync::atomic::Ordering;
use crate::sync::thread_local;
use crate::task::record::{TaskId, flag};

thread_local! {
    /// The runtimes without workers whose tasks this thread completes. Dropping what a task of one of them captured may make
    /// tasks of another ready.
    static DRAINING: Cell<Vec<*const Core>> = const { Cell::new(Vec::new()) };
}

impl Core {
    /// Cancels the tasks of a context, or all tasks, that have not started. Those that run are left alone.
    pub(crate) fn cancel(&self, context: Option<u32>, error: Error) {
        self.failures.cancel(context, error, |spared| self.mark_cancelled(context, spared));
        let _helping = self.stalls.help();
        self.open_gates();
        self.cancel_calls(|of| context.is_none_or(|context| self.belongs_to(of, context)));
        self.complete_stranded(context);
    }

    /// Marks the tasks of a context. Those that are marked by mistake are to be spared: a record whose last task was of the
    /// context may be taken for a task of another one at that moment.
    fn mark_cancelled(&self, context: Option<u32>, spared: &mut FxHashSet<TaskId>) {
        for index in self.slab.all() {
            let record = self.slab.get(index);
            let is_meant = || context.is_none_or(|context| self.belongs_to(record.context(), context));
            if !is_meant() {
                continue;
            }
            // A record that is not a task's ignores the flag, and one that is taken later is described anew.
            // AcqRel: pairs with `describe`. If the flag stays, the context that is read next is that of its task.
            record.flags.fetch_or(flag::CANCELLED, Ordering::AcqRel);
            let task = TaskId::new(index, record.generation());
            if is_meant() {
                spared.remove(&task);
            } else {
                spared.insert(task);
            }
        }
    }

    /// Completes cancelled tasks that wait in contexts where no worker would come to take them.
    fn complete_stranded(&self, context: Option<u32>) {
        let mut local = Local::new(None);
        let waiting = self.stalls.waiting();
        for (index, state) in self.contexts.iter() {
            let meant = context.is_none_or(|context| self.belongs_to(index, context));
            if !meant || state.policy.is_empty() {
                continue;
            }
            if let Some(tickets) = &state.tickets {
                // A policy of the user may keep them to itself.
                for task in tickets.take(|kind| matches!(kind, ReadyKind::Task(id) if self.is_cancelled(*id))) {
                    self.run_ready(&mut local, task);
                }
                continue;
            }
            if self.service(index, &waiting) == peek::Service::Workers {
                continue;
            }
            let all: Vec<WorkerId> = self.workers.ids().collect();
            let mut tasks = Vec::new();
            state.policy.drain(&all, &mut tasks);
            for task in tasks {
                match task.what {
                    ReadyKind::Task(id) if self.is_cancelled(id) => self.run_ready(&mut local, task),
                    _ => self.give(index, task, None),
                }
            }
        }
        self.hand_out(&mut local);
        self.flush(&mut local);
        self.waiters.note_quiet();
    }

    /// Whether a task that has not run was cancelled, and not marked by mistake.
    pub(super) fn is_given_up(&self, id: TaskId) -> bool {
        let context = self.slab.get(id.index()).context();
        self.is_cancelled(id) && self.failures.cancellation(id, |of| self.belongs_to(context, of)).is_some()
    }

    pub(super) fn is_cancelled(&self, id: TaskId) -> bool {
        self.slab.get(id.index()).flags.load(Ordering::Relaxed) & flag::CANCELLED != 0
    }

    /// Ends the runtime: nothing may be submitted, and everything that was submitted is run; what cannot run is cancelled.
    pub(crate) fn drain(&self) {
        self.closed.store(true, Ordering::SeqCst);
        if let Err(stall) = self.waiters.wait_quiet(self, On::Everything, Core::is_everything_complete) {
            let message = format!("the runtime ended, and {}", stall.message());
            self.cancel(None, Error::new(crate::error::ErrorKind::Cancelled, message));
        }
    }

    /// There are no workers any more.
    pub(crate) fn stopped(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        let mut local = Local::new(None);
        self.take_back_from_devices(&mut local.ready);
        self.hand_out(&mut local);
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
        if self.is_running() || !self.begin_draining() {
            return;
        }
        let _helping = self.stalls.help();
        let mut local = Local::new(None);
        let all: Vec<WorkerId> = self.workers.ids().collect();
        loop {
            // Drained, as a policy of the user may hand nothing out.
            let mut tasks = Vec::new();
            self.contexts.iter().for_each(|(_, context)| context.policy.drain(&all, &mut tasks));
            if tasks.is_empty() {
                break;
            }
            for ready in tasks {
                self.run_ready(&mut local, ready);
                self.hand_out(&mut local);
            }
        }
        let mut others = DRAINING.take();
        others.retain(|core| !std::ptr::eq(*core, self));
        DRAINING.set(others);
    }

    /// Notes that this thread completes what is left. False when it does so already, and will come to what is new.
    fn begin_draining(&self) -> bool {
        let mut all = DRAINING.take();
        let is_new = !all.iter().any(|core| std::ptr::eq(*core, self));
        if is_new {
            all.push(self);
        }
        DRAINING.set(all);
        is_new
    }
}
