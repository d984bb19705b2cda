//! Where items go.
//!
//! | file | concept |
//! |---|---|
//! | this one | sinks that take everything, or fail |
//! | [`buffer`](self::buffer()) | a sink of fixed size, which waits for room |
//! | `order` | whose turn it is to deliver, in a stream that is ordered |
//!
//! What a sink has taken stays taken, however a run ends: collections and folds hand it in and lines are flushed also when the run
//! fails or is cancelled. What is still in the queues of the stream then is lost. If handing in or flushing fails too, the error of
//! the run is the first one.

mod buffer;
pub(crate) mod order;

use std::fmt::Write as _;
use std::io::Write;
use std::sync::{Arc, mpsc};
use std::time::Instant;

use parking_lot::Mutex;

pub use self::buffer::{Drain, buffer};
use crate::bell::{Around, Asking, Bell};
use crate::error::{Failure, Outcome};
use crate::wide;

/// A sink of items.
pub struct Sink<T> {
    pub(crate) open: Opener<T>,
    /// Puts together what copies did, when all are done; sinks that can do so keep the order.
    pub(crate) settle: Option<Settle>,
    /// What is done around each run.
    pub(crate) around: Option<Around>,
    /// Whether it takes all there is at any time, and does not mind how many items it gets at once.
    pub(crate) seamless: bool,
}

/// A run is known by its bell.
pub(crate) type Settle = Arc<dyn Fn(&Arc<Bell>) + Send + Sync>;

type Opener<T> = Arc<dyn Fn(&Chunk) -> Box<dyn Take<T>> + Send + Sync>;

/// The number of the chunk that a copy of the stream works on.
pub(crate) type Chunk = std::rc::Rc<std::cell::Cell<u64>>;

/// One copy's side of a sink.
pub(crate) trait Take<T> {
    /// Takes items. A sink that has no room for all of them now sees to it that the bell is rung when it has.
    fn take(&mut self, items: &[T], bell: &Arc<Bell>) -> Result<Taken, Failure>;

    /// Whether it may take less than all.
    fn may_wait(&self) -> bool {
        false
    }

    /// There are no more.
    fn finish(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// How many items a sink took.
pub(crate) enum Taken {
    All,
    /// Not all: it is to be asked again when the bell rings, or it is time.
    Some {
        taken: usize,
        until: Option<Instant>,
    },
}

/// What a sink has collected, over all runs that are over. What a run has collected comes all at once, when it is over, and also when
/// it has failed or was cancelled; runs at the same time follow each other here in the order of their ends.
pub struct Collected<T>(Arc<Mutex<Collection<T>>>);

struct Collection<T> {
    /// What is in its place already.
    items: Vec<T>,
    /// What copies did for each chunk, in the order in which they were done, with the bells of their runs, which are under way.
    chunks: Vec<(Arc<Bell>, u64, Vec<T>)>,
}

impl<T> Collection<T> {
    /// How many items there are, also of runs that are under way.
    fn all(&self) -> usize {
        self.items.len() + self.chunks.iter().map(|(.., items)| items.len()).sum::<usize>()
    }

    /// A run is over: its chunks take their places, and those of others stay.
    fn settle(&mut self, run: &Arc<Bell>) {
        let mut chunks: Vec<_> = self.chunks.extract_if(.., |(of, ..)| Arc::ptr_eq(of, run)).collect();
        chunks.sort_by_key(|(_, chunk, _)| *chunk);
        for (.., mut chunk) in chunks {
            self.items.append(&mut chunk);
        }
    }
}

impl<T> Collected<T> {
    /// Takes everything that was collected. With one worker, or in a stream that is ordered, that of each run is in order. Nothing of
    /// a run that is under way is among it.
    pub fn take(&self) -> Vec<T> {
        std::mem::take(&mut self.0.lock().items)
    }

    /// Moves everything that was collected to the front of a slice, and says how many items that were. When the slice is too
    /// short, the rest stays collected, in order.
    pub fn move_into(&self, to: &mut [T]) -> usize {
        let mut collection = self.0.lock();
        let count = to.len().min(collection.items.len());
        for (place, item) in to.iter_mut().zip(collection.items.drain(..count)) {
            *place = item;
        }
        count
    }

    /// How many items were collected, by runs that are over.
    pub fn len(&self) -> usize {
        self.0.lock().items.len()
    }

    /// Whether nothing was collected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Clone for Collected<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// A sink that keeps everything in memory, and where to find it. What it has taken stays, also when the run fails or is cancelled;
/// of a stream that is ordered, what other workers had not brought to the sink is missing in between then.
pub fn collect<T: Clone + Send + 'static>() -> (Sink<T>, Collected<T>) {
    collection(usize::MAX)
}

/// A sink that keeps up to so many items; one more makes the run fail.
pub fn at_most<T: Clone + Send + 'static>(capacity: usize) -> (Sink<T>, Collected<T>) {
    collection(capacity)
}

fn collection<T: Clone + Send + 'static>(capacity: usize) -> (Sink<T>, Collected<T>) {
    let collected = Collected(Arc::new(Mutex::new(Collection { items: Vec::new(), chunks: Vec::new() })));
    let (theirs, settled) = (collected.clone(), collected.clone());
    let open = move |chunk: &Chunk| {
        let collected = theirs.clone();
        let (chunk, items) = (chunk.clone(), Vec::new());
        Box::new(Collector { collected, capacity, chunk, run: None, of: 0, items }) as Box<dyn Take<T>>
    };
    let settle: Settle = Arc::new(move |run| settled.0.lock().settle(run));
    (Sink { open: Arc::new(open), settle: Some(settle), around: None, seamless: true }, collected)
}

/// Calls a function with up to a vector of items at a time, from any worker; in a stream that is ordered, from one at a time. The
/// function returns nothing, or a [`Result`] whose error ends the run with an error that names the sink.
pub fn callback<T: 'static, R: Outcome<()>>(call: impl Fn(&[T]) -> R + Send + Sync + 'static) -> Sink<T> {
    let call = Arc::new(call);
    let open = move |_: &Chunk| Box::new(Function(Arc::clone(&call))) as Box<dyn Take<T>>;
    Sink { open: Arc::new(open), settle: None, around: None, seamless: false }
}

struct Function<F>(Arc<F>);

impl<T, R: Outcome<()>, F: Fn(&[T]) -> R> Take<T> for Function<F> {
    fn take(&mut self, items: &[T], _: &Arc<Bell>) -> Result<Taken, Failure> {
        (self.0)(items).outcome().map(|()| Taken::All)
    }
}

/// Folds the items of each worker's copy, and hands the result in at the end of the run, also of one that fails or is cancelled.
/// A copy in which `fold` itself panics hands nothing in.
pub fn fold<T: 'static, A: 'static>(
    first: impl Fn() -> A + Send + Sync + 'static,
    fold: impl Fn(&mut A, &[T]) + Send + Sync + 'static,
    done: impl Fn(A) + Send + Sync + 'static,
) -> Sink<T> {
    let code = Arc::new((fold, done));
    let open = move |_: &Chunk| {
        Box::new(Folded { value: Some(first()), whole: true, code: Arc::clone(&code) }) as Box<dyn Take<T>>
    };
    // There is no order in what is folded.
    Sink { open: Arc::new(open), settle: Some(Arc::new(|_| ())), around: None, seamless: true }
}

struct Folded<A, F, D> {
    value: Option<A>,
    /// Whether no call of the user's function on it has panicked.
    whole: bool,
    code: Arc<(F, D)>,
}

impl<T, A, F: Fn(&mut A, &[T]), D: Fn(A)> Take<T> for Folded<A, F, D> {
    fn take(&mut self, items: &[T], _: &Arc<Bell>) -> Result<Taken, Failure> {
        if let Some(value) = &mut self.value {
            self.whole = false;
            wide::call(|| (self.code.0)(value, items));
            self.whole = true;
        }
        Ok(Taken::All)
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.value.take().into_iter().filter(|_| self.whole).for_each(&self.code.1);
        Ok(())
    }
}

/// Sends items into a channel, and waits while it is full. The run fails when nobody receives.
///
/// A channel of the standard library cannot call back when it has room, so it is asked again after a moment; [`buffer`] is
/// called.
pub fn sender<T: Clone + Send + 'static>(to: mpsc::SyncSender<T>) -> Sink<T> {
    let open = move |_: &Chunk| Box::new(Sending { to: to.clone(), asking: Asking::default() }) as Box<dyn Take<T>>;
    Sink { open: Arc::new(open), settle: None, around: None, seamless: false }
}

struct Sending<T> {
    to: mpsc::SyncSender<T>,
    asking: Asking,
}

impl<T: Clone> Take<T> for Sending<T> {
    fn take(&mut self, items: &[T], _: &Arc<Bell>) -> Result<Taken, Failure> {
        for (taken, item) in items.iter().enumerate() {
            match self.to.try_send(item.clone()) {
                Ok(()) => self.asking.answered(),
                Err(mpsc::TrySendError::Full(_)) => {
                    return Ok(Taken::Some { taken, until: Some(self.asking.again()) });
                }
                Err(mpsc::TrySendError::Disconnected(_)) => return Err("nobody receives".into()),
            }
        }
        Ok(Taken::All)
    }

    fn may_wait(&self) -> bool {
        true
    }
}

/// Writes each item as a line of text. The writer is flushed at the end of each run, also of one that fails or is cancelled. An item
/// that cannot be formatted makes the run fail; the lines of those before it are written.
pub fn lines<T: std::fmt::Display + 'static>(to: impl Write + Send + 'static) -> Sink<T> {
    let to = Arc::new(Mutex::new(to));
    let open = move |_: &Chunk| Box::new(Lines { to: Arc::clone(&to), text: String::new() }) as Box<dyn Take<T>>;
    Sink { open: Arc::new(open), settle: None, around: None, seamless: false }
}

struct Lines<W> {
    to: Arc<Mutex<W>>,
    /// Space for the lines of some items, which are written at once.
    text: String,
}

impl<T: std::fmt::Display, W: Write> Take<T> for Lines<W> {
    fn take(&mut self, items: &[T], _: &Arc<Bell>) -> Result<Taken, Failure> {
        self.text.clear();
        // To write to a string cannot fail, so whatever does is the item's.
        let mut whole = 0;
        let lines = items.iter().try_for_each(|item| {
            whole = self.text.len();
            writeln!(self.text, "{item}")
        });
        if lines.is_err() {
            self.text.truncate(whole);
        }
        self.to.lock().write_all(self.text.as_bytes())?;
        match lines {
            Ok(()) => Ok(Taken::All),
            Err(_) => Err("an item cannot be formatted: its `Display` returned an error".into()),
        }
    }

    fn finish(&mut self) -> Result<(), Failure> {
        // Each copy does it, so whoever is the last one has nothing left behind.
        Ok(self.to.lock().flush()?)
    }
}

/// A copy's part of a collection.
struct Collector<T> {
    collected: Collected<T>,
    capacity: usize,
    chunk: Chunk,
    /// The run, and the chunk, that the items are of.
    run: Option<Arc<Bell>>,
    of: u64,
    items: Vec<T>,
}

impl<T> Collector<T> {
    fn hand_in(&mut self) -> Result<(), Failure> {
        let mut collection = self.collected.0.lock();
        if self.items.len() > self.capacity.saturating_sub(collection.all()) {
            // They are not taken, and must not come back later.
            self.items.clear();
            return Err(format!("it has room for {} items, and there are more", self.capacity).into());
        }
        if let Some(run) = self.run.as_ref().filter(|_| !self.items.is_empty()) {
            collection.chunks.push((Arc::clone(run), self.of, std::mem::take(&mut self.items)));
        }
        Ok(())
    }
}

impl<T: Clone> Take<T> for Collector<T> {
    fn take(&mut self, items: &[T], bell: &Arc<Bell>) -> Result<Taken, Failure> {
        self.run.get_or_insert_with(|| Arc::clone(bell));
        if self.chunk.get() != self.of {
            self.hand_in()?;
            self.of = self.chunk.get();
        }
        self.items.try_reserve(items.len()).map_err(|_| "there is no memory for more items")?;
        self.items.extend_from_slice(items);
        // Others must know how much room is left.
        if self.capacity < usize::MAX {
            self.hand_in()?;
        }
        Ok(Taken::All)
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.hand_in()
    }
}

/// A sink that keeps nothing.
pub(crate) fn nowhere<T: 'static>() -> Sink<T> {
    Sink { settle: Some(Arc::new(|_| ())), seamless: true, ..callback(|_: &[T]| ()) }
}
