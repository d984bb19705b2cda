//! Tasks that became ready, on their way to workers.

use super::{Core, Local};
use crate::policy::{Ready, WorkerId};
use crate::sync::atomic::{Ordering, fence};
use crate::sync::lock;
use crate::task::record::{Kind, TaskId, flag};

impl Core {
    /// Hands a task out that became ready outside of a worker's own loop.
    #[inline]
    pub(super) fn dispatch_one(&self, index: u32) {
        let record = self.slab.get(index);
        // SAFETY: the task is ready, and this thread is the only one that has it.
        let (kind, context, priority, scope) = unsafe {
            let scope = (*record.description.get()).assume_init_ref().scope;
            (*record.kind.get(), *record.context.get(), *record.priority.get(), scope)
        };
        let plain = kind == Kind::Task
            && scope.is_null()
            && record.flags.load(Ordering::Relaxed) & (flag::COMMUTES | flag::DEVICE) == 0;
        if plain && self.serial.is_none() {
            let id = TaskId::new(index, record.generation());
            self.context(context).policy.push(Ready::task(id, priority), None);
            self.workers.notify();
            self.drain_stopped();
            return;
        }
        let mut local = Local::new(self.worker_in(context));
        let mut stack = Vec::new();
        self.make_ready(index, &mut stack, &mut local.ready);
        for index in stack {
            self.complete(&mut local, index);
        }
        self.hand_out(&mut local);
    }

    /// The worker that the calling thread is, if it runs a task of the given context.
    fn worker_in(&self, context: u32) -> Option<WorkerId> {
        let running = self.running()?;
        // SAFETY: the context of a running task does not change; the pointer is that of the thread's own state.
        unsafe { (*running.record.context.get() == context).then(|| (*running.local).worker)? }
    }

    /// Notes that a task is ready: it can run, or is complete already.
    #[inline]
    pub(crate) fn make_ready(&self, index: u32, stack: &mut Vec<u32>, ready: &mut Vec<(u32, Ready)>) {
        let record = self.slab.get(index);
        let flags = record.flags.load(Ordering::Relaxed);
        // SAFETY: whoever finds `pending` at zero is the one thread that has the task now.
        let (kind, context, priority) = unsafe { (*record.kind.get(), *record.context.get(), *record.priority.get()) };
        match kind {
            Kind::Task => {
                let id = TaskId::new(index, record.generation());
                if flags & flag::COMMUTES != 0 && !self.arbiter.acquire(id, self.parts(record).0) {
                    return;
                }
                if flags & flag::DEVICE != 0 && self.serial.is_none() {
                    let device = self.parts(record).1.and_then(|e| e.device);
                    self.devices.push(device.expect("a device task names its device"), id);
                    return;
                }
                // SAFETY: as above.
                let scope = unsafe { (*record.description.get()).assume_init_ref().scope };
                // SAFETY: a scope lives until its parent is complete, which is after this child.
                if let Some(scope) = unsafe { scope.as_ref() } {
                    scope.push(id);
                    self.waiters.wake(scope.parent);
                }
                ready.push((context, Ready::task(id, priority)));
            }
            Kind::Sync => stack.push(index),
            Kind::Held => {
                // In one order with a thread that gave the guard up; see `finish_hold`.
                fence(Ordering::SeqCst);
                let generation = record.generation();
                if record.forgotten.load(Ordering::SeqCst) == generation && record.claim(generation) {
                    stack.push(index);
                    return;
                }
                if record.flags.load(Ordering::SeqCst) & flag::WAITED != 0 {
                    self.waiters.wake(TaskId::new(index, record.generation()));
                }
            }
            Kind::Free | Kind::Extension => unreachable!("only tasks become ready"),
        }
    }

    /// Gives ready tasks to the policies of their contexts.
    pub(crate) fn hand_out(&self, local: &mut Local) {
        if self.serial.is_some() {
            self.run_serially(local);
            return;
        }
        if local.ready.is_empty() {
            return;
        }
        for (context, ready) in local.ready.drain(..) {
            self.context(context).policy.push(ready, local.worker);
            self.workers.notify();
        }
        self.drain_stopped();
    }

    /// The task that a worker goes on with, after others that became ready were handed out.
    #[inline]
    pub(crate) fn follow_on(&self, local: &mut Local) -> Option<Ready> {
        if local.ready.is_empty() {
            return None;
        }
        let (context, next) = local.ready[0];
        let next = self.context(context).follows_on.then(|| {
            local.ready.swap_remove(0);
            next
        });
        self.hand_out(local);
        next
    }

    /// Runs ready tasks right here: the serial engine.
    fn run_serially(&self, local: &mut Local) {
        let Some(turn) = &self.serial else { return };
        // A task that submits runs its children at once; other threads wait for their turn.
        let _turn = self.running().is_none().then(|| lock(turn));
        while let Some((_, ready)) = local.ready.pop() {
            self.run_ready(local, ready);
        }
        // There are no workers to say so to threads that wait for everything.
        self.waiters.note_quiet();
    }
}
