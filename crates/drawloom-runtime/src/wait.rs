//! Waiting for tasks from outside of the workers.
//!
//! A thread that waits first looks again and again for a few microseconds, as many tasks end that soon and waking a thread
//! takes longer. Then it registers, and sleeps until the completing thread wakes it.

use std::task::Waker;
use std::time::{Duration, Instant};

use crate::core::Core;
use crate::error::Result;
use crate::sync::atomic::{AtomicUsize, Ordering, fence};
use crate::sync::{Condvar, Mutex, hint, lock, thread};
use crate::task::record::{TaskId, flag};

/// How long a thread looks before it sleeps.
const LOOK: Duration = Duration::from_micros(20);

/// Who waits for what.
#[derive(Default)]
pub(crate) struct Waiters {
    /// How many entries the list has, so that completing threads need not lock it.
    count: AtomicUsize,
    list: Mutex<Vec<(TaskId, Waiter)>>,
    /// How many threads wait for everything.
    quiet_count: AtomicUsize,
    quiet: Mutex<()>,
    became_quiet: Condvar,
}

enum Waiter {
    Thread(thread::Thread),
    Task(Waker),
}

impl Waiters {
    /// Waits until a condition holds, which becomes true together with a wake-up of `id`.
    pub(crate) fn wait(&self, core: &Core, id: TaskId, done: impl Fn(&Core) -> bool) -> Result<()> {
        if look(|| done(core)) {
            return Ok(());
        }
        while !done(core) {
            self.add(id, Waiter::Thread(thread::current()));
            // SeqCst: in one order with the completing thread's changes. Either it sees the flag, or `done` sees them.
            core.slab.get(id.index()).flags.fetch_or(flag::WAITED, Ordering::SeqCst);
            fence(Ordering::SeqCst);
            if done(core) {
                break;
            }
            thread::park();
        }
        self.remove_thread(id);
        Ok(())
    }

    /// Wakes everyone who waits for a task.
    #[inline]
    pub(crate) fn wake(&self, id: TaskId) {
        fence(Ordering::SeqCst);
        if self.count.load(Ordering::SeqCst) > 0 {
            self.wake_registered(id);
        }
    }

    #[cold]
    fn wake_registered(&self, id: TaskId) {
        let mut list = lock(&self.list);
        let mut kept = Vec::new();
        for (waited, waiter) in list.drain(..) {
            if waited != id {
                kept.push((waited, waiter));
                continue;
            }
            match waiter {
                Waiter::Thread(thread) => thread.unpark(),
                Waiter::Task(waker) => waker.wake(),
            }
        }
        *list = kept;
        self.count.store(list.len(), Ordering::SeqCst);
    }

    pub(crate) fn register(&self, id: TaskId, waker: Waker) {
        self.add(id, Waiter::Task(waker));
    }

    fn add(&self, id: TaskId, waiter: Waiter) {
        let mut list = lock(&self.list);
        list.push((id, waiter));
        self.count.store(list.len(), Ordering::SeqCst);
    }

    fn remove_thread(&self, id: TaskId) {
        let this = thread::current().id();
        let mut list = lock(&self.list);
        list.retain(|(waited, waiter)| !(*waited == id && matches!(waiter, Waiter::Thread(t) if t.id() == this)));
        self.count.store(list.len(), Ordering::SeqCst);
    }

    /// Waits until a condition holds that can become true only when a worker runs out of work.
    pub(crate) fn wait_quiet(&self, core: &Core, done: impl Fn(&Core) -> bool) -> Result<()> {
        if look(|| done(core)) {
            return Ok(());
        }
        self.quiet_count.fetch_add(1, Ordering::SeqCst);
        let mut guard = lock(&self.quiet);
        while !done(core) {
            guard = self.became_quiet.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        drop(guard);
        self.quiet_count.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }

    /// A worker ran out of work.
    #[inline]
    pub(crate) fn note_quiet(&self) {
        // SeqCst: in one order with `wait_quiet`: either it is seen to wait, or it sees what this thread completed.
        fence(Ordering::SeqCst);
        if self.quiet_count.load(Ordering::SeqCst) > 0 {
            drop(lock(&self.quiet));
            self.became_quiet.notify_all();
        }
    }
}

/// Looks for a while.
fn look(done: impl Fn() -> bool) -> bool {
    if done() {
        return true;
    }
    let start = Instant::now();
    loop {
        for _ in 0..64 {
            if done() {
                return true;
            }
            hint::spin_loop();
        }
        if start.elapsed() > LOOK {
            return false;
        }
    }
}
