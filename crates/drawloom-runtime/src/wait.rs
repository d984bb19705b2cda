//! Waiting for tasks from outside of the workers.
//!
//! A thread that waits first looks again and again for a few microseconds, as many tasks end that soon and waking a thread
//! takes longer. Then it registers, and sleeps until the completing thread wakes it.

use std::task::Waker;
use std::time::Duration;

use crate::core::Core;
use crate::error::Result;
use crate::panic;
use crate::stall::On;
use crate::sync::atomic::{AtomicUsize, Ordering, fence};
use crate::sync::time::{look_for, park_at_most, wait_at_most};
use crate::sync::{Condvar, Mutex, lock, thread};
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
    ///
    /// # Errors
    /// When that can never be.
    pub(crate) fn wait(&self, core: &Core, id: TaskId, on: On, done: impl Fn(&Core) -> bool + Sync) -> Result<()> {
        if look_for(LOOK, || done(core)) {
            return Ok(());
        }
        let ready = || {
            self.add(id, thread::current());
            // SeqCst: in one order with the completing thread's changes. Either it sees the flag, or `done` sees them.
            core.slab.get(id.index()).flags.fetch_or(flag::WAITED, Ordering::SeqCst);
            fence(Ordering::SeqCst);
            done(core)
        };
        let result = core.stalls.block(core, on, &|| done(core), ready, park_at_most);
        self.remove_thread(id);
        result
    }

    /// Wakes everyone who waits for a task.
    #[inline]
    pub(crate) fn wake(&self, id: TaskId) {
        fence(Ordering::SeqCst);
        if self.count.load(Ordering::SeqCst) > 0 {
            self.wake_registered(id);
        }
    }

    /// Wakes the threads that wait for a task, or for something that concerns its children: they look again. Whoever awaits the
    /// task has nothing to see yet.
    pub(crate) fn wake_threads(&self, id: TaskId) {
        fence(Ordering::SeqCst);
        if self.count.load(Ordering::SeqCst) > 0 {
            for (waited, waiter) in &*lock(&self.list) {
                if let Waiter::Thread(thread) = waiter
                    && *waited == id
                {
                    thread.unpark();
                }
            }
        }
    }

    #[cold]
    fn wake_registered(&self, id: TaskId) {
        let mut wakers = Vec::new();
        {
            let mut list = lock(&self.list);
            for (_, waiter) in list.extract_if(.., |(waited, _)| *waited == id) {
                match waiter {
                    Waiter::Thread(thread) => thread.unpark(),
                    Waiter::Task(waker) => wakers.push(waker),
                }
            }
            self.count.store(list.len(), Ordering::SeqCst);
        }
        // Outside of the lock: a waker is the application's, and may do anything, also panic.
        for waker in wakers {
            let _ = panic::catch(|| waker.wake());
        }
    }

    /// Wakes a waker when a task is complete, and no other one of that task: a future has one owner, who polled it last.
    pub(crate) fn register(&self, id: TaskId, waker: &Waker) {
        let known = |(waited, waiter): &(TaskId, Waiter)| match waiter {
            Waiter::Task(known) => *waited == id && known.will_wake(waker),
            Waiter::Thread(_) => false,
        };
        if lock(&self.list).iter().any(known) {
            return;
        }
        // Wakers are the application's: they are cloned and dropped outside of the lock.
        let new = Waiter::Task(waker.clone());
        let mut old = Vec::new();
        {
            let mut list = lock(&self.list);
            old.extend(list.extract_if(.., |(waited, waiter)| *waited == id && matches!(waiter, Waiter::Task(_))));
            list.push((id, new));
            self.count.store(list.len(), Ordering::SeqCst);
        }
        let _ = panic::catch(|| drop(old));
    }

    fn add(&self, id: TaskId, thread: thread::Thread) {
        let mut list = lock(&self.list);
        // A thread that woke up without a reason is still there.
        let same = |other: &Waiter| matches!(other, Waiter::Thread(old) if old.id() == thread.id());
        if list.iter().any(|(waited, other)| *waited == id && same(other)) {
            return;
        }
        list.push((id, Waiter::Thread(thread)));
        self.count.store(list.len(), Ordering::SeqCst);
    }

    fn remove_thread(&self, id: TaskId) {
        let this = thread::current().id();
        let mut list = lock(&self.list);
        list.retain(|(waited, waiter)| !(*waited == id && matches!(waiter, Waiter::Thread(t) if t.id() == this)));
        self.count.store(list.len(), Ordering::SeqCst);
    }

    /// Waits until a condition holds that can become true only when a worker runs out of work.
    ///
    /// # Errors
    /// When that can never be.
    pub(crate) fn wait_quiet(&self, core: &Core, on: On, done: impl Fn(&Core) -> bool + Sync) -> Result<()> {
        if look_for(LOOK, || done(core)) {
            return Ok(());
        }
        self.quiet_count.fetch_add(1, Ordering::SeqCst);
        let sleep = |most| {
            let guard = lock(&self.quiet);
            if !done(core) {
                drop(wait_at_most(&self.became_quiet, guard, most));
            }
        };
        let result = core.stalls.block(core, on, &|| done(core), || done(core), sleep);
        self.quiet_count.fetch_sub(1, Ordering::SeqCst);
        result
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
