//! Where items come from.
//!
//! All copies of a stream share the position in the source: each takes a chunk after the other. A source is opened anew for
//! each run.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use crate::wide;

/// A source of items.
pub struct Source<T> {
    pub(crate) open: Opener<T>,
    /// Whether the position is shared, so that chunks have an order.
    pub(crate) in_chunks: bool,
}

pub(crate) type Opener<T> = Arc<dyn Fn(&Opening) -> Arc<dyn Shared<T>> + Send + Sync>;

/// How a source is opened for a run.
pub(crate) struct Opening {
    pub(crate) workers: usize,
    /// Whether a copy must be done with a chunk before it takes the next.
    pub(crate) one_by_one: bool,
}

/// What all copies share of a source during a run.
pub(crate) trait Shared<T>: Send + Sync {
    fn feed(self: Arc<Self>) -> Box<dyn Feed<T>>;
}

/// One copy's side of a source.
pub(crate) trait Feed<T> {
    /// Adds up to `most` items, which is not zero.
    fn feed(&mut self, most: usize, items: &mut Vec<T>) -> Result<Fed, String>;

    /// The number of the chunk that the last items came from, where chunks are taken one by one.
    fn chunk(&self) -> u64 {
        0
    }
}

/// Whether there are more items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fed {
    /// There may be more.
    More,
    /// What was given is to be seen to before more is asked for.
    Idle,
    /// There are no more.
    Exhausted,
}

/// The numbers of a range, in order.
pub fn range(range: Range<u64>) -> Source<u64> {
    let start = range.start;
    indexed(range.end.saturating_sub(start), move |index| start + index)
}

/// A function of each index below `len`.
pub fn indexed<T: 'static>(len: u64, item: impl Fn(u64) -> T + Send + Sync + 'static) -> Source<T> {
    let item = Arc::new(item);
    chunked(len, move |range, items| wide::call(|| items.extend(range.map(|index| item(index)))))
}

/// The items of a slice or vector, which is kept: every run begins at the front.
pub fn slice<T: Clone + Send + Sync + 'static>(items: impl Into<Arc<[T]>>) -> Source<T> {
    let from: Arc<[T]> = items.into();
    chunked(from.len() as u64, move |range, items| {
        items.extend_from_slice(&from[range.start as usize..range.end as usize]);
    })
}

/// The items of an iterator. The first run consumes it; a later one has no items.
pub fn iter<T: Send + 'static>(items: impl Iterator<Item = T> + Send + 'static) -> Source<T> {
    fallible(items.map(Ok::<T, String>))
}

/// The items of an iterator that may fail, such as a reader of lines. The first error ends the run.
pub fn fallible<T, E>(items: impl Iterator<Item = Result<T, E>> + Send + 'static) -> Source<T>
where
    T: Send + 'static,
    E: std::fmt::Display + 'static,
{
    let shared: Arc<Pulled<_>> = Arc::new(Pulled(Mutex::new(Some(items))));
    Source { open: Arc::new(move |_| Arc::clone(&shared) as Arc<dyn Shared<T>>), in_chunks: false }
}

/// The items that arrive at the end of a channel, until all senders are gone. When none arrive for a while, all that are
/// under way are brought to an end: a partly filled vector does not wait for ever.
pub fn receiver<T: Send + 'static>(items: mpsc::Receiver<T>, patience: Duration) -> Source<T> {
    let shared = Arc::new(Live { items: Mutex::new(items), patience });
    Source { open: Arc::new(move |_| Arc::clone(&shared) as Arc<dyn Shared<T>>), in_chunks: false }
}

fn chunked<T: 'static>(len: u64, fill: impl Fn(Range<u64>, &mut Vec<T>) + Send + Sync + 'static) -> Source<T> {
    let fill = Arc::new(fill);
    let open = move |opening: &Opening| {
        let chunk = match opening.workers {
            1 if !opening.one_by_one => len.max(1),
            workers => (len / (workers as u64 * 64)).clamp(1024, 1 << 20),
        };
        let cursor = Cursor { next: AtomicU64::new(0), len, chunk, one_by_one: opening.one_by_one };
        Arc::new(Chunks { cursor, fill: Arc::clone(&fill) }) as Arc<dyn Shared<T>>
    };
    Source { open: Arc::new(open), in_chunks: true }
}

/// The shared position in a source of known length.
struct Cursor {
    next: AtomicU64,
    len: u64,
    chunk: u64,
    one_by_one: bool,
}

impl Cursor {
    /// The next chunk; empty when there is none.
    fn take(&self) -> Range<u64> {
        // Relaxed: the position alone is shared, nothing is published with it.
        if self.next.load(Ordering::Relaxed) >= self.len {
            return self.len..self.len;
        }
        let start = self.next.fetch_add(self.chunk, Ordering::Relaxed).min(self.len);
        start..start.saturating_add(self.chunk).min(self.len)
    }
}

struct Chunks<F> {
    cursor: Cursor,
    fill: Arc<F>,
}

struct ChunkFeed<F> {
    shared: Arc<Chunks<F>>,
    mine: Range<u64>,
    chunk: u64,
}

impl<T: 'static, F: Fn(Range<u64>, &mut Vec<T>) + Send + Sync + 'static> Shared<T> for Chunks<F> {
    fn feed(self: Arc<Self>) -> Box<dyn Feed<T>> {
        Box::new(ChunkFeed { shared: self, mine: 0..0, chunk: 0 })
    }
}

impl<T, F: Fn(Range<u64>, &mut Vec<T>)> Feed<T> for ChunkFeed<F> {
    fn feed(&mut self, most: usize, items: &mut Vec<T>) -> Result<Fed, String> {
        let cursor = &self.shared.cursor;
        if self.mine.is_empty() {
            self.mine = cursor.take();
            if cursor.one_by_one {
                self.chunk = self.mine.start;
            }
            if self.mine.is_empty() {
                return Ok(Fed::Exhausted);
            }
        }
        let end = self.mine.end.min(self.mine.start.saturating_add(most as u64));
        (self.shared.fill)(self.mine.start..end, items);
        self.mine.start = end;
        let whole = self.mine.is_empty();
        Ok(if whole && cursor.one_by_one { Fed::Idle } else { Fed::More })
    }

    fn chunk(&self) -> u64 {
        self.chunk
    }
}

/// An iterator that copies take items from in turn.
struct Pulled<I>(Mutex<Option<I>>);

impl<T, E, I> Shared<T> for Pulled<I>
where
    T: 'static,
    E: std::fmt::Display + 'static,
    I: Iterator<Item = Result<T, E>> + Send + 'static,
{
    fn feed(self: Arc<Self>) -> Box<dyn Feed<T>> {
        Box::new(PulledFeed(self))
    }
}

struct PulledFeed<I>(Arc<Pulled<I>>);

impl<T, E: std::fmt::Display, I: Iterator<Item = Result<T, E>>> Feed<T> for PulledFeed<I> {
    fn feed(&mut self, most: usize, items: &mut Vec<T>) -> Result<Fed, String> {
        // An iterator that panicked is not asked again: the run has failed.
        let mut shared = self.0.0.lock().map_err(|_| "the iterator panicked".to_owned())?;
        for _ in 0..most {
            match shared.as_mut().and_then(Iterator::next) {
                Some(Ok(item)) => items.push(item),
                Some(Err(error)) => {
                    *shared = None;
                    return Err(error.to_string());
                }
                None => {
                    *shared = None;
                    return Ok(Fed::Exhausted);
                }
            }
        }
        Ok(Fed::More)
    }
}

/// The receiving end of a channel.
struct Live<T> {
    items: Mutex<mpsc::Receiver<T>>,
    patience: Duration,
}

impl<T: Send + 'static> Shared<T> for Live<T> {
    fn feed(self: Arc<Self>) -> Box<dyn Feed<T>> {
        Box::new(LiveFeed { shared: self, settled: true })
    }
}

struct LiveFeed<T> {
    shared: Arc<Live<T>>,
    /// Whether nothing is under way, so that it is no harm to wait.
    settled: bool,
}

impl<T> Feed<T> for LiveFeed<T> {
    fn feed(&mut self, most: usize, items: &mut Vec<T>) -> Result<Fed, String> {
        // Nothing panics while it is locked.
        let receiver = self.shared.items.lock().unwrap_or_else(PoisonError::into_inner);
        let first = receiver.recv_timeout(self.shared.patience);
        match first {
            Ok(item) => items.push(item),
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(Fed::Exhausted),
            Err(mpsc::RecvTimeoutError::Timeout) if self.settled => return Ok(Fed::More),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                self.settled = true;
                return Ok(Fed::Idle);
            }
        }
        self.settled = false;
        items.extend(receiver.try_iter().take(most - 1));
        Ok(Fed::More)
    }
}
