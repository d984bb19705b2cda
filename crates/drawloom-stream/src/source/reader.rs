//! An iterator that may block for long, such as one over a socket or a terminal: a thread of its own asks it.
//!
//! The thread reads ahead into a buffer of fixed size, so to the copies of a stream this is a buffer like any other: they wait
//! for it without keeping anybody from running, and are called. Nobody ever waits for the thread.
//!
//! What was read belongs to the first run. When that is over, however it ends, its buffer is *closed*: what is in it is dropped, and
//! the thread finds that nobody takes more as soon as it has something to put there.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

use super::live::{Live, LiveFeed};
use super::returned::Returned;
use super::{Fed, Feed, Opening, Shared, Source};
use crate::bell::Bell;
use crate::body::quietly;
use crate::error::Failure;
use crate::exchange::Exchange;
use crate::machine::pipe::Buffer;

/// So many items are read ahead.
const AHEAD: usize = 1024;

/// The items of an iterator that may block for long, such as one over what arrives at a socket or what somebody types. While it
/// blocks, all else goes on: items that have been under way for longer than `patience` are brought to an end, and a wish to flush
/// or to cancel is seen at once. The first error ends the run, and is the source of the error of the run.
///
/// The first run consumes the iterator; another has no items. That run starts a thread, which asks for items and reads up to 1024
/// ahead of what the stream has taken. When the run is over, what was read ahead is dropped. A call of `next` cannot be interrupted,
/// and nobody waits for it: the thread ends, and drops the iterator, when the call returns.
///
/// An iterator that does not block is better given to [`iter`](super::iter) or [`fallible`](super::fallible), which hand no items
/// from one thread to another.
///
/// ```
/// use std::io::{BufRead, Cursor};
/// use std::time::Duration;
///
/// use drawloom_runtime::Loom;
/// use drawloom_stream::{Stream, source};
///
/// let reader = Cursor::new("one\ntwo\nthree\n"); // or a socket
/// let mut stream = Stream::new("lines").ordered();
/// let lines = stream.source("lines", source::reader(reader.lines(), Duration::from_millis(10)));
/// let lengths = stream.node("length", lines).map(|line: &String| line.len());
/// let lengths = stream.collect("lengths", lengths);
/// stream.run(&Loom::builder().workers(2).build().unwrap())?;
/// assert_eq!(lengths.take(), [3, 3, 5]);
/// # Ok::<(), drawloom_stream::Error>(())
/// ```
pub fn reader<T, E>(items: impl Iterator<Item = Result<T, E>> + Send + 'static, patience: Duration) -> Source<T>
where
    T: Send + 'static,
    E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    let items = Mutex::new(Some(items));
    let open = move |opening: &Opening| {
        // Whoever opens it is not a worker as a rule, so the thread is not bound to a processor as workers may be.
        Arc::new(Reading::begin(items.lock().take(), opening.patience.unwrap_or(patience))) as Arc<dyn Shared<T>>
    };
    Source { open: Arc::new(open), in_chunks: false, around: None }
}

/// What all copies share in one run.
struct Reading<T> {
    ahead: Arc<Exchange<T>>,
    live: Arc<Live<T>>,
    ended: Arc<Mutex<Option<Ended>>>,
}

/// Why there are no more items, if the iterator has not just ended.
enum Ended {
    Failed(Failure),
    Panicked(Box<dyn Any + Send>),
}

impl<T: Send + 'static> Reading<T> {
    /// Starts the thread, if this is the first run.
    fn begin<E, I>(items: Option<I>, patience: Duration) -> Self
    where
        E: Into<Failure> + 'static,
        I: Iterator<Item = Result<T, E>> + Send + 'static,
    {
        let (ahead, ended) = (Exchange::new(AHEAD), Arc::default());
        let this = Self { live: Arc::new(Live::new(ahead.clone(), patience)), ahead, ended };
        let Some(items) = items else {
            this.ahead.end();
            return this;
        };
        let (ahead, ended) = (Arc::clone(&this.ahead), Arc::clone(&this.ended));
        let read = move || {
            *ended.lock() = read(items, &ahead);
            ahead.end();
        };
        if let Err(error) = thread::Builder::new().name("drawloom-reader".to_owned()).spawn(read) {
            let why = format!("no thread could be started to read with: {error}");
            *this.ended.lock() = Some(Ended::Failed(why.into()));
            this.ahead.end();
        }
        this
    }
}

/// Puts items into a buffer until there are no more, or nobody takes them.
fn read<T, E: Into<Failure>>(mut items: impl Iterator<Item = Result<T, E>>, to: &Exchange<T>) -> Option<Ended> {
    let asked = catch_unwind(AssertUnwindSafe(|| {
        for item in items.by_ref() {
            match item {
                Ok(item) => to.put(item).ok()?,
                Err(error) => return Some(Ended::Failed(error.into())),
            }
        }
        None
    }));
    // The iterator is dropped before the end is told, so that whoever waits for the run finds its files closed.
    let asked = asked.unwrap_or_else(|panic| Some(Ended::Panicked(panic)));
    if asked.is_some() {
        quietly(|| drop(items));
        return asked;
    }
    catch_unwind(AssertUnwindSafe(|| drop(items))).err().map(Ended::Panicked)
}

impl<T> Reading<T> {
    /// No copy takes any more items.
    fn close(&self) {
        // Each alone: if two of them panicked while all are dropped, the program would be aborted.
        self.ahead.close().into_iter().for_each(|item| quietly(|| drop(item)));
    }
}

impl<T> Drop for Reading<T> {
    fn drop(&mut self) {
        // The engine may never have run it.
        self.close();
    }
}

impl<T: Send + 'static> Shared<T> for Reading<T> {
    fn feed(self: Arc<Self>) -> Box<dyn Feed<T>> {
        Box::new(ReaderFeed { arrived: LiveFeed::new(Arc::clone(&self.live)), run: self })
    }
}

/// One copy's side.
struct ReaderFeed<T> {
    arrived: LiveFeed<T>,
    run: Arc<Reading<T>>,
}

impl<T> Feed<T> for ReaderFeed<T> {
    fn feed(&mut self, most: usize, to: &mut Buffer<T>, bell: &Arc<Bell>) -> Result<Fed, Failure> {
        let fed = self.arrived.feed(most, to, bell)?;
        if fed != Fed::Exhausted {
            return Ok(fed);
        }
        // One copy says why, and that stops the others.
        let ended = self.run.ended.lock().take();
        match ended {
            None => Ok(fed),
            Some(Ended::Failed(why)) => Err(why),
            Some(Ended::Panicked(panic)) => resume_unwind(panic),
        }
    }

    fn returned(&self) -> Option<&Returned<T>> {
        self.arrived.returned()
    }

    fn patience(&self) -> Option<Duration> {
        self.arrived.patience()
    }
}

impl<T> Drop for ReaderFeed<T> {
    fn drop(&mut self) {
        // A copy ends when all of them have nothing more to do, or when the run is to stop: none needs more items.
        self.run.close();
    }
}
