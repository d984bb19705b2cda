//! The items of an iterator.
//!
//! Nobody knows how long its next item takes, and nobody can interrupt it. So the clock is looked at between its items: an iterator
//! that is *slow* gives the copy back after each item, which sees then whether it is to stop or to flush; and when it has been slow
//! for longer than the patience of the source, what it gave is flushed. One that is quick is asked for many items at once.
//!
//! One copy asks it at a time. Others wait a moment, and then do what they can do without it: they are called.
//!
//! An iterator that has ended, failed or panicked is forgotten. No code of the user's besides `next` runs while others cannot have
//! it, and what that panics with is caught before they can: they find that there are no more items, and only the copy that asked
//! knows why.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::returned::Returned;
use super::{Fed, Feed, Opening, Shared, Source};
use crate::bell::{Bell, Callers};
use crate::body::quietly;
use crate::error::Failure;
use crate::machine::pipe::Buffer;

/// The clock is looked at after so many items.
const LOOK: usize = 32;
/// An iterator that takes longer for that is slow.
const SLOW: Duration = Duration::from_micros(20);
/// What is flushed after this time, unless it is said.
const PATIENCE: Duration = Duration::from_millis(250);

/// The items of an iterator. The first run consumes it; a later one has no items.
///
/// An iterator may be slow, such as one that computes its items. Those are brought to an end when its calls have taken more than a
/// quarter of a second since the last time, or what [`Source::patience`] says. That, a wish to flush or to cancel is looked at between
/// two calls of `next`, or after up to 32 while they are quick: a call itself cannot be interrupted, and a worker waits for it. An
/// iterator whose calls may block for long, such as one over the lines that somebody types, is for [`reader`](super::reader()).
pub fn iter<T: Send + 'static>(items: impl Iterator<Item = T> + Send + 'static) -> Source<T> {
    fallible(items.map(Ok::<T, String>))
}

/// The items of an iterator that may fail, such as one over the lines of a file. The first error ends the run, and is the source of
/// the error of the run. See [`iter`].
pub fn fallible<T, E>(items: impl Iterator<Item = Result<T, E>> + Send + 'static) -> Source<T>
where
    T: Send + 'static,
    E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    let pulled = Arc::new(Pulled { items: Mutex::new(Some(items)), waiting: Mutex::default() });
    let open = move |opening: &Opening| {
        let (pulled, patience) = (Arc::clone(&pulled), opening.patience.unwrap_or(PATIENCE));
        Arc::new(Opened { pulled, patience, returned: Returned::default() }) as Arc<dyn Shared<T>>
    };
    Source { open: Arc::new(open), in_chunks: false, around: None }
}

/// An iterator that copies take items from in turn.
struct Pulled<I> {
    items: Mutex<Option<I>>,
    /// Those who found it locked.
    waiting: Mutex<Callers>,
}

/// The same in one run. What its copies gave back is of no other run.
struct Opened<I, T> {
    pulled: Arc<Pulled<I>>,
    patience: Duration,
    returned: Returned<T>,
}

/// Who asks the iterator. Others are called afterwards.
struct Asking<'a, I> {
    items: Option<MutexGuard<'a, Option<I>>>,
    waiting: &'a Mutex<Callers>,
}

/// What an iterator that was asked said last.
enum Said<E> {
    /// It gave items.
    Gave(Fed),
    /// It has ended.
    End,
    /// It failed.
    Error(E),
}

impl<I> Pulled<I> {
    /// The iterator, unless another copy asks it for long. The bell is rung then.
    fn ask(&self, bell: &Arc<Bell>) -> Option<Asking<'_, I>> {
        let begun = Instant::now();
        loop {
            if let Some(asking) = self.try_ask() {
                return Some(asking);
            }
            if begun.elapsed() > SLOW {
                break;
            }
            (0..LOOK).for_each(|_| std::hint::spin_loop());
        }
        // Tried once more while no one can be called: whoever locks it now calls later.
        let mut waiting = self.waiting.lock();
        let asking = self.try_ask();
        if asking.is_none() {
            waiting.add(bell);
        }
        asking
    }

    fn try_ask(&self) -> Option<Asking<'_, I>> {
        let items = self.items.try_lock()?;
        Some(Asking { items: Some(items), waiting: &self.waiting })
    }
}

impl<I> Asking<'_, I> {
    /// Forgets the iterator. It is to be dropped when others can be called.
    fn forget(mut self) -> Option<I> {
        self.items.as_mut().and_then(|items| items.take())
    }
}

impl<I> Drop for Asking<'_, I> {
    fn drop(&mut self) {
        drop(self.items.take());
        self.waiting.lock().call();
    }
}

impl<T, E, I> Shared<T> for Opened<I, T>
where
    T: Send + 'static,
    E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    I: Iterator<Item = Result<T, E>> + Send + 'static,
{
    fn feed(self: Arc<Self>) -> Box<dyn Feed<T>> {
        Box::new(PulledFeed { run: self, at_once: 1, under_way: false, waited: Duration::ZERO, since: None })
    }
}

struct PulledFeed<I, T> {
    run: Arc<Opened<I, T>>,
    /// So many items are asked for between two looks at the clock.
    at_once: usize,
    /// Whether it gave items since they were flushed, for how long it waited since then, and since when it waits for another copy.
    under_way: bool,
    waited: Duration,
    since: Option<Instant>,
}

impl<I, T> PulledFeed<I, T> {
    /// It has waited for so long more. Whether there are items that should wait no longer.
    fn is_over(&mut self, more: Duration) -> bool {
        self.waited = self.waited.saturating_add(more);
        let over = self.under_way && self.waited >= self.run.patience;
        if over {
            self.flushed();
        }
        over
    }

    /// All that was given is flushed.
    fn flushed(&mut self) {
        (self.under_way, self.waited) = (false, Duration::ZERO);
    }

    /// Another copy has the iterator.
    fn wait(&mut self) -> Fed {
        let now = Instant::now();
        let since = self.since.replace(now).unwrap_or(now);
        if self.is_over(now.duration_since(since)) {
            return Fed::Idle;
        }
        let until = now.checked_add(self.run.patience.saturating_sub(self.waited));
        Fed::Wait(until.filter(|_| self.under_way))
    }
}

impl<T, E, I: Iterator<Item = Result<T, E>>> PulledFeed<I, T> {
    /// Asks the iterator for up to so many items, as long as it is quick.
    fn pull(&mut self, from: &mut I, most: usize, items: &mut Vec<T>) -> Said<E> {
        let (mut left, mut now) = (most, Instant::now());
        while left > 0 {
            let count = self.at_once.min(left);
            for _ in 0..count {
                match from.next() {
                    Some(Ok(item)) => items.push(item),
                    Some(Err(error)) => return Said::Error(error),
                    None => return Said::End,
                }
            }
            (left, self.under_way) = (left - count, true);
            let before = std::mem::replace(&mut now, Instant::now());
            let took = now.duration_since(before);
            if took > SLOW {
                self.at_once = 1;
                return Said::Gave(if self.is_over(took) { Fed::Idle } else { Fed::More });
            }
            self.at_once = (2 * self.at_once).min(LOOK);
        }
        Said::Gave(Fed::More)
    }
}

impl<T, E: Into<Failure>, I: Iterator<Item = Result<T, E>>> Feed<T> for PulledFeed<I, T> {
    fn feed(&mut self, most: usize, to: &mut Buffer<T>, bell: &Arc<Bell>) -> Result<Fed, Failure> {
        let items = to.space(most);
        let run = Arc::clone(&self.run);
        if run.returned.take(most, items) {
            self.flushed();
            return Ok(Fed::Idle);
        }
        let Some(mut asking) = run.pulled.ask(bell) else { return Ok(self.wait()) };
        self.since = None;
        let Some(from) = asking.items.as_deref_mut().and_then(Option::as_mut) else { return Ok(Fed::Exhausted) };
        let said = catch_unwind(AssertUnwindSafe(|| self.pull(from, most, items)));
        if let Ok(Said::Gave(fed)) = said {
            return Ok(fed);
        }
        let gone = asking.forget();
        match said {
            Ok(Said::Error(error)) => {
                quietly(|| drop(gone));
                Err(error.into())
            }
            Err(panic) => {
                quietly(|| drop(gone));
                resume_unwind(panic)
            }
            Ok(Said::End | Said::Gave(_)) => {
                drop(gone);
                Ok(Fed::Exhausted)
            }
        }
    }

    fn returned(&self) -> Option<&Returned<T>> {
        Some(&self.run.returned)
    }
}
