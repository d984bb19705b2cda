//! A buffer of fixed size between a stream and the rest of the program.
//!
//! One side puts items in while there is room, the other takes them out while there are any; each side calls the other when it
//! has something for it. Which of them is a stream does not matter here: a stream never waits inside of this, it is called by
//! its bell, and the rest of the program sleeps.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::bell::{Bell, Callers};

/// The buffer, and who waits at its sides.
pub(crate) struct Exchange<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    capacity: usize,
}

struct State<T> {
    items: VecDeque<T>,
    /// How many runs put items in, and whether nobody does any more.
    putting: usize,
    ended: bool,
    /// How many runs take items out, and whether nobody does any more.
    taking: usize,
    abandoned: bool,
    /// Streams that wait for items, or for room.
    callers: Callers,
}

/// What a stream finds when it takes items.
pub(crate) enum Found {
    /// Some.
    Items,
    /// None now. It will be called.
    NoneNow,
    /// None ever.
    End,
}

impl<T> Exchange<T> {
    pub(crate) fn new(capacity: usize) -> Arc<Self> {
        let (items, callers) = (VecDeque::new(), Callers::default());
        let state = State { items, putting: 0, ended: false, taking: 0, abandoned: false, callers };
        Arc::new(Self { state: Mutex::new(state), changed: Condvar::new(), capacity: capacity.max(1) })
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock()
    }

    /// A stream puts in what there is room for, and says how much. Where that is not all, it will be called.
    pub(crate) fn put_some(&self, items: &[T], bell: &Arc<Bell>) -> Result<usize, String>
    where
        T: Clone,
    {
        let mut state = self.lock();
        if state.abandoned {
            return Err("nobody receives".to_owned());
        }
        let count = items.len().min(self.capacity - state.items.len());
        state.items.extend(items[..count].iter().cloned());
        if count < items.len() {
            state.callers.add(bell);
        }
        if count > 0 {
            self.changed.notify_all();
        }
        Ok(count)
    }

    /// A stream takes up to so many items.
    pub(crate) fn take_some(&self, most: usize, to: &mut Vec<T>, bell: &Arc<Bell>) -> Found {
        let mut state = self.lock();
        let count = most.min(state.items.len());
        if count == 0 {
            if state.ended {
                return Found::End;
            }
            state.callers.add(bell);
            return Found::NoneNow;
        }
        to.extend(state.items.drain(..count));
        self.changed.notify_all();
        Found::Items
    }

    /// The program puts an item in, and waits for room. It comes back when nobody takes any more.
    pub(crate) fn put(&self, item: T) -> Result<(), T> {
        let mut state = self.lock();
        while state.items.len() == self.capacity && !state.abandoned {
            self.changed.wait(&mut state);
        }
        if state.abandoned {
            return Err(item);
        }
        state.items.push_back(item);
        state.callers.call();
        Ok(())
    }

    /// The program takes up to so many items, and waits until there is one. There is none when no more come.
    pub(crate) fn take(&self, most: usize) -> Vec<T> {
        let mut state = self.lock();
        while state.items.is_empty() && !state.ended && most > 0 {
            self.changed.wait(&mut state);
        }
        let count = most.min(state.items.len());
        let items = state.items.drain(..count).collect();
        // Half of the room, so that a stream does not come back for each item.
        if 2 * state.items.len() <= self.capacity {
            state.callers.call();
        }
        items
    }

    /// One more run puts items in.
    pub(crate) fn begin(&self) {
        let mut state = self.lock();
        state.putting += 1;
        state.ended = false;
    }

    /// A run puts no more items in, or whoever could begin one is gone. Items that are there can be taken.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.putting = state.putting.saturating_sub(1);
        state.ended = state.putting == 0;
        state.tell(&self.changed);
    }

    /// One more run takes items.
    pub(crate) fn adopt(&self) {
        let mut state = self.lock();
        state.taking += 1;
        state.abandoned = false;
    }

    /// A run takes no more items, or whoever could begin one is gone.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        state.taking = state.taking.saturating_sub(1);
        state.abandoned = state.taking == 0;
        state.tell(&self.changed);
    }

    /// Nobody puts items in or takes any out from now on. Those that are there come back.
    pub(crate) fn close(&self) -> VecDeque<T> {
        let mut state = self.lock();
        (state.ended, state.abandoned) = (true, true);
        state.tell(&self.changed);
        std::mem::take(&mut state.items)
    }

    /// How many items are there.
    pub(crate) fn len(&self) -> usize {
        self.lock().items.len()
    }
}

impl<T> State<T> {
    /// Calls all who wait.
    fn tell(&mut self, changed: &Condvar) {
        self.callers.call();
        changed.notify_all();
    }
}
