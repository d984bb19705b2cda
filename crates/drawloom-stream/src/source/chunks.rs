//! Sources whose items have positions: copies take them chunk by chunk.
//!
//! A chunk is a range of positions, of which a copy makes items as its queue has room. A copy that has more than it can do soon gives
//! positions back, and one that has nothing takes those when the source itself has no more; so what travels between copies is
//! never an item.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};

use super::{Fed, Feed, Opening, Shared, Source};
use crate::bell::Bell;
use crate::error::Failure;
use crate::machine::pipe::Buffer;
use crate::wide;

/// The smallest chunk, where items are so light that as many are asked for at once.
const CHUNK: u64 = 1024;
/// Whoever has so many positions for itself need not know how many others have given back.
const MANY: u64 = 1 << 14;
/// The largest chunk where chunks keep an order: what comes of one may have to wait for another, and is to fit into a queue.
const ORDERED_CHUNK: u64 = 1 << 14;

/// The numbers of a range, in order.
pub fn range(range: Range<u64>) -> Source<u64> {
    let start = range.start;
    indexed(range.end.saturating_sub(start), move |index| start + index)
}

/// A function of each index below `len`.
///
/// With several workers the function may be called more than once for an index: items that were made and that another worker can do
/// sooner are made again there. Each of them goes through the stream once.
pub fn indexed<T: 'static>(len: u64, item: impl Fn(u64) -> T + Send + Sync + 'static) -> Source<T> {
    chunked(len, move |range, to: &mut Buffer<T>| {
        let space = to.space((range.end - range.start) as usize);
        wide::call(|| space.extend(range.map(&item)));
    })
}

/// The items of a slice or vector, which is kept: every run begins at the front. They are read where they are, and copied only
/// where vectors would be torn apart otherwise.
pub fn slice<T: Clone + Send + Sync + 'static>(items: impl Into<Arc<[T]>>) -> Source<T> {
    let items: Arc<[T]> = items.into();
    let len = items.len() as u64;
    chunked(len, move |range, to| to.lend(&items, range.start as usize..range.end as usize))
}

/// A source of so many items. `make` appends the items of some positions.
fn chunked<T: 'static>(len: u64, make: impl Fn(Range<u64>, &mut Buffer<T>) + Send + Sync + 'static) -> Source<T> {
    let make: Arc<Make<T>> = Arc::new(make);
    let open = move |opening: &Opening| {
        let cursor = Arc::new(Cursor::new(len, opening));
        Arc::new(Chunks { cursor, make: Arc::clone(&make) }) as Arc<dyn Shared<T>>
    };
    Source { open: Arc::new(open), in_chunks: true, around: None }
}

type Make<T> = dyn Fn(Range<u64>, &mut Buffer<T>) + Send + Sync;

/// The shared position in a source of known length.
struct Cursor {
    next: AtomicU64,
    len: u64,
    /// The largest chunk.
    chunk: u64,
    workers: u64,
    one_by_one: bool,
    /// What copies took and gave back.
    returned: Mutex<Vec<Range<u64>>>,
}

impl Cursor {
    fn new(len: u64, opening: &Opening) -> Self {
        let (workers, one_by_one) = (opening.workers as u64, opening.one_by_one);
        // Without an order a chunk may be as large as one likes: whoever has too much gives half of it back. Small ones cost speed where
        // items lie in memory. A copy that goes on behind the chunk of another finds nothing of it near, and what the processor had
        // fetched ahead came to the wrong core.
        let chunk = if one_by_one { (len / (workers * 64)).clamp(CHUNK, ORDERED_CHUNK) } else { u64::MAX };
        Self { next: AtomicU64::new(0), len, chunk, workers, one_by_one, returned: Mutex::default() }
    }

    fn returned(&self) -> MutexGuard<'_, Vec<Range<u64>>> {
        self.returned.lock()
    }

    /// How many positions nobody has taken yet.
    fn left(&self) -> u64 {
        // Relaxed: the position alone is shared, nothing is published with it.
        self.len.saturating_sub(self.next.load(Ordering::Relaxed))
    }

    /// The next chunk; none when there is none left. Chunks become smaller with what is left, as long as they are what is asked for.
    fn take(&self, most: u64) -> Option<Range<u64>> {
        // Where chunks keep an order, those behind what was given back may wait for it: it comes before anything new.
        if self.one_by_one
            && let Some(range) = self.take_returned()
        {
            return Some(range);
        }
        let left = self.left();
        if left == 0 {
            return self.take_returned();
        }
        // Guided self-scheduling (Polychronopoulos and Kuck, 1987). A copy that has no room now may ask for none, and an empty chunk
        // would tell it that nothing is left.
        let chunk = if self.workers == 1 { left } else { (left / (2 * self.workers)).max(most.clamp(1, CHUNK)) };
        let chunk = chunk.min(self.chunk);
        // Relaxed: as above. It goes beyond the end at most once for each copy.
        let start = self.next.fetch_add(chunk, Ordering::Relaxed).min(self.len);
        let range = start..start.saturating_add(chunk).min(self.len);
        if range.is_empty() { self.take_returned() } else { Some(range) }
    }

    /// Something that was given back. Where chunks keep an order, the first: others may wait for it.
    fn take_returned(&self) -> Option<Range<u64>> {
        let mut returned = self.returned();
        if !self.one_by_one {
            return returned.pop();
        }
        let first = (0..returned.len()).min_by_key(|at| returned[*at].start)?;
        Some(returned.swap_remove(first))
    }
}

/// A copy's position in the source.
struct Position {
    cursor: Arc<Cursor>,
    /// What is left of the chunk.
    mine: Range<u64>,
    /// The positions of the last items that were given, as far as they follow each other.
    given: Range<u64>,
    /// The whole chunk, less what was given back, where chunks are taken one by one.
    chunk: Range<u64>,
}

impl Position {
    fn new(cursor: &Arc<Cursor>) -> Self {
        Self { cursor: Arc::clone(cursor), mine: 0..0, given: 0..0, chunk: 0..0 }
    }

    /// Up to `most` positions of one chunk; none when there are no more.
    fn next(&mut self, most: usize) -> Option<(Range<u64>, Fed)> {
        if self.mine.is_empty() {
            self.mine = self.cursor.take(most as u64)?;
            if self.cursor.one_by_one {
                self.chunk = self.mine.clone();
            }
        }
        let end = self.mine.end.min(self.mine.start.saturating_add(most as u64));
        let range = self.mine.start..end;
        self.mine.start = end;
        self.given = if self.given.end == range.start { self.given.start..end } else { range.clone() };
        let whole = self.mine.is_empty() && self.cursor.one_by_one;
        Some((range, if whole { Fed::Whole } else { Fed::More }))
    }

    /// How many positions there are for all copies, as far as this one can see.
    fn left(&self) -> u64 {
        let (mine, left) = (self.mine.end - self.mine.start, self.cursor.left());
        if left > 0 || mine > MANY {
            return left + mine;
        }
        mine + self.cursor.returned().iter().map(|range| range.end - range.start).sum::<u64>()
    }

    /// Half of what is left of the chunk goes back, and the last `count` of the items that wait, as far as they are of this chunk. Says
    /// how many of the latter, if anything goes back.
    fn give_back<T>(&mut self, count: usize, from: &mut Buffer<T>) -> Option<usize> {
        let rest = (self.mine.end - self.mine.start) / 2;
        self.mine.end -= rest;
        let returned = self.mine.end..self.mine.end + rest;
        // Where chunks keep an order, what goes back must be the end of the chunk.
        let count = if self.cursor.one_by_one && !self.mine.is_empty() { 0 } else { count };
        let count = count.min((self.given.end - self.given.start) as usize);
        self.given.end -= count as u64;
        let items = self.given.end..self.given.end + count as u64;
        for gone in [&returned, &items].into_iter().filter(|gone| !gone.is_empty()) {
            self.chunk.end = gone.start;
        }
        // Nothing is locked while they are dropped: they are the user's.
        from.drop_last(count);
        let any = !returned.is_empty() || count > 0;
        // Another copy takes the items that waited first: they would be run next here.
        self.cursor.returned().extend([returned, items].into_iter().filter(|range| !range.is_empty()));
        any.then_some(count)
    }
}

struct Chunks<T> {
    cursor: Arc<Cursor>,
    make: Arc<Make<T>>,
}

struct ChunkFeed<T> {
    position: Position,
    make: Arc<Make<T>>,
}

impl<T: 'static> Shared<T> for Chunks<T> {
    fn feed(self: Arc<Self>) -> Box<dyn Feed<T>> {
        Box::new(ChunkFeed { position: Position::new(&self.cursor), make: Arc::clone(&self.make) })
    }
}

impl<T> Feed<T> for ChunkFeed<T> {
    fn feed(&mut self, most: usize, to: &mut Buffer<T>, _: &Arc<Bell>) -> Result<Fed, Failure> {
        let Some((range, fed)) = self.position.next(most) else { return Ok(Fed::Exhausted) };
        (self.make)(range, to);
        Ok(fed)
    }

    fn chunk(&self) -> Range<u64> {
        self.position.chunk.clone()
    }

    fn give_back(&mut self, count: usize, from: &mut Buffer<T>) -> Option<usize> {
        self.position.give_back(count, from)
    }

    fn left(&self) -> Option<u64> {
        Some(self.position.left())
    }

    fn has_returned(&self) -> bool {
        !self.position.cursor.returned().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fastrand::Rng;

    use super::{Cursor, Fed, Position};
    use crate::machine::pipe::{AnyPipe, Pipe};
    use crate::source::Opening;

    #[test]
    fn who_has_no_room_now_is_not_told_that_there_is_nothing_left() {
        let opening = Opening { workers: 2, one_by_one: false, patience: None };
        let cursor = Arc::new(Cursor::new(3, &opening));
        let mut copy = Position::new(&cursor);
        assert!(copy.next(0).is_some_and(|(range, _)| range.is_empty()));
        assert_eq!(copy.left(), 3);
    }

    #[test]
    fn nothing_is_locked_while_items_are_dropped_that_go_back() {
        struct Item(Arc<Cursor>);
        impl Drop for Item {
            fn drop(&mut self) {
                assert!(self.0.returned.try_lock().is_some());
            }
        }
        let opening = Opening { workers: 2, one_by_one: false, patience: None };
        let cursor = Arc::new(Cursor::new(100, &opening));
        let (mut copy, queue) = (Position::new(&cursor), Pipe::new(25, 1).unwrap());
        let (range, _) = copy.next(20).unwrap();
        queue.buffer.borrow_mut().space(20).extend(range.map(|_| Item(Arc::clone(&cursor))));
        assert_eq!(copy.give_back(15, &mut queue.buffer.borrow_mut()), Some(15));
        assert_eq!((queue.len(), cursor.returned().last().cloned()), (5, Some(5..20)));
    }

    #[test]
    fn every_position_is_consumed_once_whoever_gives_back() {
        for seed in 0..200 {
            let mut rng = Rng::with_seed(seed);
            let len = rng.u64(0..10_000);
            let opening = Opening { workers: 3, one_by_one: rng.bool(), patience: None };
            let cursor = Arc::new(Cursor::new(len, &opening));
            let copy = |_| (Position::new(&cursor), Pipe::new(20_000, 1).unwrap());
            let mut copies: Vec<(Position, Pipe<u64>)> = (0..3).map(copy).collect();
            let mut consumed = Vec::new();
            let mut consume = |queue: &Pipe<u64>, count: usize| {
                consumed.extend_from_slice(&queue.peek(count));
                queue.consume(count);
            };
            for _ in 0..300 {
                let (position, queue) = &mut copies[rng.usize(..3)];
                match rng.usize(..4) {
                    0 | 1 => {
                        if let Some((range, _)) = position.next(rng.usize(1..600)) {
                            queue.buffer.borrow_mut().space(1000).extend(range);
                        }
                    }
                    2 => consume(queue, rng.usize(..=queue.len())),
                    _ => {
                        let (count, before) = (rng.usize(..=queue.len()), queue.len());
                        let given = position.give_back(count, &mut queue.buffer.borrow_mut()).unwrap_or(0);
                        assert_eq!(queue.len(), before - given);
                    }
                }
            }
            for (position, queue) in &mut copies {
                while let Some((range, _)) = position.next(100) {
                    queue.buffer.borrow_mut().space(1000).extend(range);
                    consume(queue, queue.len());
                }
                consume(queue, queue.len());
            }
            consumed.sort_unstable();
            assert!(consumed.into_iter().eq(0..len), "seed {seed}");
        }
    }

    /// What comes of a chunk may be delivered when all before it is: so nobody may wait for what was given back as if it were of the
    /// chunk that it was taken from.
    #[test]
    fn chunks_that_are_done_lie_side_by_side_whoever_gives_back() {
        for seed in 0..100 {
            let mut rng = Rng::with_seed(seed);
            let len = rng.u64(0..50_000);
            let opening = Opening { workers: 3, one_by_one: true, patience: None };
            let cursor = Arc::new(Cursor::new(len, &opening));
            let copy = |_| (Position::new(&cursor), Pipe::new(20_000, 1).unwrap(), false);
            let mut copies: Vec<(Position, Pipe<u64>, bool)> = (0..3).map(copy).collect();
            let mut done = Vec::new();
            for step in 0.. {
                assert!(step < 100_000, "seed {seed}: it comes to no end");
                let (position, queue, whole) = &mut copies[rng.usize(..3)];
                if !*whole {
                    match position.next(rng.usize(1..1000)) {
                        Some((range, fed)) => {
                            queue.buffer.borrow_mut().space(1000).extend(range);
                            *whole = fed == Fed::Whole;
                        }
                        None if copies.iter().all(|(_, queue, whole)| !*whole && queue.len() == 0) => break,
                        None => continue,
                    }
                }
                let (position, queue, whole) = &mut copies[rng.usize(..3)];
                if rng.bool() {
                    // The machine keeps something.
                    position.give_back(rng.usize(..queue.len().max(1)), &mut queue.buffer.borrow_mut());
                }
                let count = rng.usize(..=queue.len());
                queue.consume(count);
                if queue.len() == 0 && std::mem::take(whole) {
                    done.push(position.chunk.clone());
                }
            }
            done.sort_unstable_by_key(|chunk| (chunk.start, chunk.end));
            let end = done.iter().fold(0, |at, chunk| {
                assert_eq!(at, chunk.start, "seed {seed}: {chunk:?}");
                chunk.end
            });
            assert_eq!(end, len, "seed {seed}");
        }
    }
}
