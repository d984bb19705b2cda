//! Where items come from.
//!
//! All copies of a stream share the position in the source: each takes a chunk after the other. A source is opened anew for
//! each run.
//!
//! | file | concept |
//! |---|---|
//! | this one | what a source is, and those that are iterators |
//! | [`chunks`] | sources whose items have positions |
//! | [`live`] | sources whose items arrive while the stream runs |
//! | [`returned`] | what copies gave back |

mod chunks;
mod live;
mod returned;

use std::sync::{Arc, Mutex};
use std::time::Instant;

pub use self::chunks::{given, indexed, range, slice};
pub use self::live::{Giver, buffer, receiver};
use self::returned::Returned;
use crate::bell::{Around, Bell};
use crate::given::Given;
use crate::machine::pipe::Buffer;

/// A source of items.
pub struct Source<T> {
    pub(crate) open: Opener<T>,
    /// Whether the position is shared, so that chunks have an order.
    pub(crate) in_chunks: bool,
    /// What is done around each run.
    pub(crate) around: Option<Around>,
}

pub(crate) type Opener<T> = Arc<dyn Fn(&Opening<'_>) -> Arc<dyn Shared<T>> + Send + Sync>;

/// How a source is opened for a run.
pub(crate) struct Opening<'a> {
    pub(crate) workers: usize,
    /// Whether a copy must be done with a chunk before it takes the next.
    pub(crate) one_by_one: bool,
    /// What was given to this run.
    pub(crate) given: &'a Given<'a>,
}

/// What all copies share of a source during a run.
pub(crate) trait Shared<T>: Send + Sync {
    /// One copy's side. What was given to this run lives as long as the copy.
    fn feed<'g>(self: Arc<Self>, given: &'g Given<'g>) -> Box<dyn Feed<T> + 'g>;
}

/// One copy's side of a source.
pub(crate) trait Feed<T> {
    /// Adds up to `most` items, which is not zero. A source that has none now sees to it that the bell is rung when it has.
    fn feed(&mut self, most: usize, to: &mut Buffer<T>, bell: &Arc<Bell>) -> Result<Fed, String>;

    /// The number of the chunk that the last items came from, where chunks are taken one by one.
    fn chunk(&self) -> u64 {
        0
    }

    /// Only so many of the items that it gave are not consumed yet.
    fn forget(&mut self, waiting: usize) {
        let _ = waiting;
    }

    /// Up to `count` of the last items that it gave go back, and perhaps more that only this copy could give: others have
    /// nothing to do. Says how many of those items, if anything goes back.
    fn give_back(&mut self, count: usize, from: &mut Buffer<T>) -> Option<usize> {
        let _ = (count, from);
        None
    }

    /// How many items there are for all copies besides those that it gave, if that is known.
    fn left(&self) -> Option<u64> {
        None
    }

    /// Whether something that was given back can be had.
    fn has_returned(&self) -> bool {
        false
    }
}

/// Whether there are more items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fed {
    /// There may be more.
    More,
    /// What was given is to be seen to before more is asked for.
    Idle,
    /// There are none now. It is to be asked again when the bell rings, or it is time.
    Wait(Option<Instant>),
    /// There are no more.
    Exhausted,
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
    let shared = Arc::new(Pulled { items: Mutex::new(Some(items)), returned: Returned::default() });
    Source { open: Arc::new(move |_| Arc::clone(&shared) as Arc<dyn Shared<T>>), in_chunks: false, around: None }
}

/// An iterator that copies take items from in turn.
struct Pulled<I, T> {
    items: Mutex<Option<I>>,
    returned: Returned<T>,
}

impl<T, E, I> Shared<T> for Pulled<I, T>
where
    T: Send + 'static,
    E: std::fmt::Display + 'static,
    I: Iterator<Item = Result<T, E>> + Send + 'static,
{
    fn feed<'g>(self: Arc<Self>, _: &'g Given<'g>) -> Box<dyn Feed<T> + 'g> {
        Box::new(PulledFeed(self))
    }
}

struct PulledFeed<I, T>(Arc<Pulled<I, T>>);

impl<T, E: std::fmt::Display, I: Iterator<Item = Result<T, E>>> Feed<T> for PulledFeed<I, T> {
    fn feed(&mut self, most: usize, to: &mut Buffer<T>, _: &Arc<Bell>) -> Result<Fed, String> {
        let items = to.space(most);
        if self.0.returned.take(most, items) {
            return Ok(Fed::Idle);
        }
        // An iterator that panicked is not asked again: the run has failed.
        let mut shared = self.0.items.lock().map_err(|_| "the iterator panicked".to_owned())?;
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

    fn give_back(&mut self, count: usize, from: &mut Buffer<T>) -> Option<usize> {
        self.0.returned.put(from.items(), count)
    }

    fn left(&self) -> Option<u64> {
        self.0.returned.left()
    }

    fn has_returned(&self) -> bool {
        self.left().is_some()
    }
}
