//! Sources without positions, in a stream that is ordered and has several workers: what a worker takes at once is a chunk.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::{Fed, Feed};
use crate::bell::Bell;
use crate::error::Failure;
use crate::machine::pipe::Buffer;

/// How many items were taken from a source, by all copies.
#[derive(Clone, Default)]
pub(crate) struct Taken(Arc<Mutex<u64>>);

/// One copy's side of a source whose items get positions as they are taken.
pub(crate) struct Numbered<T> {
    feed: Box<dyn Feed<T>>,
    taken: Taken,
    chunk: Range<u64>,
}

impl<T> Numbered<T> {
    pub(crate) fn new(feed: Box<dyn Feed<T>>, taken: &Taken) -> Self {
        Self { feed, taken: taken.clone(), chunk: 0..0 }
    }
}

impl<T> Feed<T> for Numbered<T> {
    fn feed(&mut self, most: usize, to: &mut Buffer<T>, bell: &Arc<Bell>) -> Result<Fed, Failure> {
        // Nobody takes items until these have their positions. A source that panics has none that anybody gets.
        let mut taken = self.taken.0.lock();
        let before = to.len();
        let fed = self.feed.feed(most, to, bell)?;
        let count = (to.len() - before) as u64;
        if count == 0 {
            return Ok(fed);
        }
        self.chunk = *taken..*taken + count;
        *taken = self.chunk.end;
        // If there are no more, it says so again when it is asked again.
        Ok(Fed::Whole)
    }

    fn chunk(&self) -> Range<u64> {
        self.chunk.clone()
    }

    fn patience(&self) -> Option<Duration> {
        self.feed.patience()
    }
}
