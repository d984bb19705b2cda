//! Where items come from.
//!
//! All copies of a stream share the position in the source: each takes a chunk after the other. A source is opened anew for
//! each run.
//!
//! | file | concept |
//! |---|---|
//! | this one | what a source is |
//! | [`chunks`] | sources whose items have positions |
//! | [`pulled`] | iterators |
//! | [`live`] | sources whose items arrive while the stream runs |
//! | [`reader`](mod@reader) | iterators that may block, each asked by a thread of its own |
//! | [`returned`] | what copies gave back |
//! | [`order`] | sources without positions, in a stream that is ordered |

mod chunks;
mod live;
pub(crate) mod order;
mod pulled;
mod reader;
mod returned;

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use self::chunks::{indexed, range, slice};
pub use self::live::{Giver, buffer, receiver};
pub use self::pulled::{fallible, iter};
pub use self::reader::reader;
use self::returned::Returned;
use crate::bell::{Around, Bell};
use crate::error::Failure;
use crate::machine::pipe::Buffer;

/// A source of items.
pub struct Source<T> {
    pub(crate) open: Opener<T>,
    /// Whether the position is shared, so that chunks have an order.
    pub(crate) in_chunks: bool,
    /// What is done around each run.
    pub(crate) around: Option<Around>,
}

impl<T: 'static> Source<T> {
    /// Items that have been under way for longer than this are brought to an end, in vectors that are not full, when the source
    /// makes them wait: an iterator whose calls take long, or a live source. [`Duration::MAX`] is for ever. Sources whose items are
    /// there from the beginning make nobody wait.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        let open = self.open;
        self.open = Arc::new(move |opening| open(&Opening { patience: Some(patience), ..*opening }));
        self
    }
}

pub(crate) type Opener<T> = Arc<dyn Fn(&Opening) -> Arc<dyn Shared<T>> + Send + Sync>;

/// How a source is opened for a run.
#[derive(Clone, Copy)]
pub(crate) struct Opening {
    pub(crate) workers: usize,
    /// Whether a copy must be done with a chunk before it takes the next.
    pub(crate) one_by_one: bool,
    /// How long items may be under way, if somebody said it.
    pub(crate) patience: Option<Duration>,
}

/// What all copies share of a source during a run.
pub(crate) trait Shared<T>: Send + Sync {
    /// One copy's side.
    fn feed(self: Arc<Self>) -> Box<dyn Feed<T>>;
}

/// One copy's side of a source.
pub(crate) trait Feed<T> {
    /// Adds up to `most` items, which is not zero. A source that has none now sees to it that the bell is rung when it has.
    fn feed(&mut self, most: usize, to: &mut Buffer<T>, bell: &Arc<Bell>) -> Result<Fed, Failure>;

    /// The chunk that the last items came from, where chunks are taken one by one: what has not been given back of it.
    fn chunk(&self) -> Range<u64> {
        0..0
    }

    /// Up to `count` of the last items that it gave go back, and perhaps more that only this copy could give: others have
    /// nothing to do. Says how many of those items, if anything goes back.
    fn give_back(&mut self, count: usize, from: &mut Buffer<T>) -> Option<usize> {
        self.returned()?.put(from.items(), count)
    }

    /// How many items there are for all copies besides those that it gave, if that is known.
    fn left(&self) -> Option<u64> {
        self.returned()?.left()
    }

    /// Whether something that was given back can be had.
    fn has_returned(&self) -> bool {
        self.left().is_some()
    }

    /// Where the items are that copies gave back, if this source keeps them.
    fn returned(&self) -> Option<&Returned<T>> {
        None
    }

    /// How long what a live source gave may be under way.
    fn patience(&self) -> Option<Duration> {
        None
    }
}

/// Whether there are more items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fed {
    /// There may be more.
    More,
    /// What was given is to be seen to before more is asked for.
    Idle,
    /// There may be more, but of the next chunk: what was given is to be brought to its end before.
    Whole,
    /// There are none now. It is to be asked again when the bell rings, or it is time.
    Wait(Option<Instant>),
    /// There are no more.
    Exhausted,
}
