//! Sources whose items arrive while the stream runs.
//!
//! Nobody knows when the next item comes, so a vector may wait for it in vain. What a live source gives therefore has a *patience*:
//! when an item has been under way for longer, the source flushes, and the vectors that are not full are run as they are. What
//! others could do as well is given back before that, and is flushed by whoever takes it.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::returned::Returned;
use super::{Fed, Feed, Opening, Shared, Source};
use crate::bell::{Around, Asking, Bell, sooner};
use crate::error::Failure;
use crate::exchange::{Exchange, Found};
use crate::machine::pipe::Buffer;

/// The items that arrive at the end of a channel, until all senders are gone. Those that have been under way for longer than
/// `patience` are brought to an end: a partly filled vector does not wait for ever.
///
/// A channel of the standard library cannot call back when it has items, so it is asked again after a moment; [`buffer`] is
/// called.
pub fn receiver<T: Send + 'static>(items: mpsc::Receiver<T>, patience: Duration) -> Source<T> {
    live(Arc::new(Mutex::new(items)), patience, None)
}

/// A buffer of fixed size that the program gives items to while the stream runs, and the source of those items. The source
/// ends when all givers are gone. Items that have been under way for longer than `patience` are brought to an end. A capacity
/// of zero counts as one.
///
/// While there are no items the source does not keep other nodes from running; when nobody can run, the worker's thread sleeps
/// until an item comes, or the run is cancelled.
pub fn buffer<T: Send + 'static>(capacity: usize, patience: Duration) -> (Giver<T>, Source<T>) {
    let exchange = Exchange::new(capacity);
    let (begun, ended) = (Arc::clone(&exchange), Arc::clone(&exchange));
    let around = Around { begin: Arc::new(move || begun.adopt()), end: Arc::new(move || ended.abandon()) };
    let giver = Giver(Arc::new(Gone(Arc::clone(&exchange))));
    (giver, live(exchange, patience, Some(around)))
}

/// A source of items that arrive, with a patience unless the opening says another.
fn live<T: Send + 'static>(arrivals: Arc<dyn Arrivals<T>>, patience: Duration, around: Option<Around>) -> Source<T> {
    let open = move |opening: &Opening| {
        let patience = opening.patience.unwrap_or(patience);
        Arc::new(Live::new(Arc::clone(&arrivals), patience)) as Arc<dyn Shared<T>>
    };
    Source { open: Arc::new(open), in_chunks: false, around }
}

/// A place where items arrive.
pub(super) trait Arrivals<T>: Send + Sync {
    /// Takes up to `most` items.
    fn take_some(&self, most: usize, to: &mut Vec<T>, bell: &Arc<Bell>) -> Found;

    /// Whether the bell is rung when items arrive after there was none. If not, it is asked again after a moment.
    fn calls(&self) -> bool;
}

impl<T: Send> Arrivals<T> for Exchange<T> {
    fn take_some(&self, most: usize, to: &mut Vec<T>, bell: &Arc<Bell>) -> Found {
        Exchange::take_some(self, most, to, bell)
    }

    fn calls(&self) -> bool {
        true
    }
}

impl<T: Send> Arrivals<T> for Mutex<mpsc::Receiver<T>> {
    fn take_some(&self, most: usize, to: &mut Vec<T>, _: &Arc<Bell>) -> Found {
        // Nothing panics while it is locked.
        let receiver = self.lock();
        match receiver.try_recv() {
            Ok(item) => {
                to.push(item);
                to.extend(receiver.try_iter().take(most - 1));
                Found::Items
            }
            Err(mpsc::TryRecvError::Disconnected) => Found::End,
            Err(mpsc::TryRecvError::Empty) => Found::NoneNow,
        }
    }

    fn calls(&self) -> bool {
        false
    }
}

/// Where items arrive, in one run. What its copies gave back is of no other run.
pub(super) struct Live<T> {
    arrivals: Arc<dyn Arrivals<T>>,
    patience: Duration,
    returned: Returned<T>,
}

impl<T> Live<T> {
    pub(super) fn new(arrivals: Arc<dyn Arrivals<T>>, patience: Duration) -> Self {
        Self { arrivals, patience, returned: Returned::default() }
    }
}

/// Gives items to a stream that runs: see [`buffer`].
pub struct Giver<T>(Arc<Gone<T>>);

/// All givers of one buffer: when they are gone, no more items come.
struct Gone<T>(Arc<Exchange<T>>);

impl<T> Giver<T> {
    /// Gives an item, and waits while there is no room.
    ///
    /// # Errors
    /// When the run has ended, or the source, its stream and its plan are gone: the item comes back.
    pub fn give(&self, item: T) -> Result<(), T> {
        self.0.0.put(item)
    }
}

impl<T> Clone for Giver<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> std::fmt::Debug for Giver<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Giver({} items)", self.0.0.len())
    }
}

impl<T> Drop for Gone<T> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// When the items that are under way are to be brought to an end.
struct Patience {
    patience: Duration,
    /// Since when an item is under way.
    since: Option<Instant>,
}

impl Patience {
    fn new(patience: Duration) -> Self {
        Self { patience, since: None }
    }

    /// When those that are under way have waited long enough.
    fn until(&self) -> Option<Instant> {
        self.since.and_then(|since| since.checked_add(self.patience))
    }

    /// Items were given.
    fn gave(&mut self) -> Fed {
        let now = Instant::now();
        self.since.get_or_insert(now);
        if self.is_over(now) { Fed::Idle } else { Fed::More }
    }

    /// There was nothing to give. `until` is when to ask again, besides what the patience says.
    fn none(&mut self, until: Option<Instant>) -> Fed {
        if self.is_over(Instant::now()) { Fed::Idle } else { Fed::Wait(sooner(self.until(), until)) }
    }

    /// Whether it is over. It begins anew then.
    fn is_over(&mut self, now: Instant) -> bool {
        let over = self.until().is_some_and(|until| until <= now);
        if over {
            self.since = None;
        }
        over
    }
}

/// One copy's side of a place where items arrive.
pub(super) struct LiveFeed<T> {
    run: Arc<Live<T>>,
    patience: Patience,
    asking: Asking,
}

impl<T> LiveFeed<T> {
    pub(super) fn new(run: Arc<Live<T>>) -> Self {
        let patience = Patience::new(run.patience);
        Self { run, patience, asking: Asking::default() }
    }
}

impl<T: Send + 'static> Shared<T> for Live<T> {
    fn feed(self: Arc<Self>) -> Box<dyn Feed<T>> {
        Box::new(LiveFeed::new(self))
    }
}

impl<T> Feed<T> for LiveFeed<T> {
    fn feed(&mut self, most: usize, to: &mut Buffer<T>, bell: &Arc<Bell>) -> Result<Fed, Failure> {
        let items = to.space(most);
        if self.run.returned.take(most, items) {
            return Ok(Fed::Idle);
        }
        Ok(match self.run.arrivals.take_some(most, items, bell) {
            Found::Items => {
                self.asking.answered();
                self.patience.gave()
            }
            Found::NoneNow => {
                let again = (!self.run.arrivals.calls()).then(|| self.asking.again());
                self.patience.none(again)
            }
            Found::End => Fed::Exhausted,
        })
    }

    fn returned(&self) -> Option<&Returned<T>> {
        Some(&self.run.returned)
    }

    fn patience(&self) -> Option<Duration> {
        Some(self.patience.patience)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    use super::{buffer, receiver};
    use crate::bell::Bell;
    use crate::machine::pipe::Pipe;
    use crate::source::{Opening, Source};

    #[test]
    fn what_was_given_back_in_a_run_is_of_no_other_run() {
        let (sender, received) = mpsc::channel();
        let (giver, buffered) = buffer(10, Duration::MAX);
        for n in 0..4 {
            sender.send(n).unwrap();
            giver.give(n).unwrap();
        }
        for source in [receiver(received, Duration::MAX), buffered] {
            let bell = Arc::new(Bell::default());
            let pipe = Pipe::new(10, 1).unwrap();
            let opening = Opening { workers: 2, one_by_one: false, patience: None };
            let feed = |source: &Source<u32>| (source.open)(&opening).feed();
            let (mut first, mut second) = (feed(&source), feed(&source));
            first.feed(4, &mut pipe.buffer.borrow_mut(), &bell).unwrap();
            assert_eq!(first.give_back(3, &mut pipe.buffer.borrow_mut()), Some(3));
            assert_eq!((first.left(), second.left()), (Some(3), None));
            second.feed(4, &mut pipe.buffer.borrow_mut(), &bell).unwrap();
            assert_eq!(pipe.buffer.borrow().waiting(), [0]);
        }
    }
}
