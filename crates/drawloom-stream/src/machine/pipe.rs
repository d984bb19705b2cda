//! The queue of an edge: items that lie side by side, and the signals among them.
//!
//! Items are pushed at the end of a vector and consumed from its front, so a node always sees a slice. The space of consumed
//! items comes back when a producer needs it: what is left, less than a vector of the consumer as a rule, moves to the front
//! then. The vector never grows: the room is checked before it is used.
//!
//! A source whose items lie in memory already copies nothing. It *lends* them: the queue notes which part of the source's slice
//! waits, and the consumer reads it there.

use std::any::Any;
use std::cell::{Ref, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::signal::Signals;
use crate::wide;

/// The items of an edge.
pub(crate) struct Buffer<T> {
    items: Vec<T>,
    /// So many items at the front are consumed already.
    consumed: usize,
    /// The slice of a source that lends its items, and the part of it that waits. Nothing else waits then.
    lender: Option<Arc<[T]>>,
    lent: Range<usize>,
    capacity: usize,
    high_water: usize,
}

impl<T> Buffer<T> {
    fn new(capacity: usize) -> Option<Self>
    where
        T: 'static,
    {
        let mut items = Vec::new();
        // What writes whole registers writes beyond what it pushes.
        items.try_reserve_exact(capacity.checked_add(wide::slack::<T>())?).ok()?;
        Some(Self { items, consumed: 0, lender: None, lent: 0..0, capacity, high_water: 0 })
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.consumed + self.lent.len()
    }

    pub(crate) fn room(&self) -> usize {
        self.capacity - self.len()
    }

    /// The items that wait, first come first.
    pub(crate) fn waiting(&self) -> &[T] {
        match &self.lender {
            Some(lender) if !self.lent.is_empty() => &lender[self.lent.clone()],
            _ => &self.items[self.consumed..],
        }
    }

    /// The slice that the items that wait lie in, and the place of the first of them there, where they are lent.
    pub(crate) fn lent(&self) -> Option<(&Arc<[T]>, usize)> {
        self.lender.as_ref().filter(|_| !self.lent.is_empty()).map(|lender| (lender, self.lent.start))
    }

    /// Items of a source's slice wait here from now on, behind those that do, without a copy where that can be.
    pub(crate) fn lend(&mut self, from: &Arc<[T]>, range: Range<usize>)
    where
        T: Clone,
    {
        if self.lender.is_some() && !self.lent.is_empty() && self.lent.end == range.start {
            self.lent.end = range.end;
        } else if self.len() == 0 {
            self.lender.get_or_insert_with(|| Arc::clone(from));
            self.lent = range;
        } else {
            // What waits is of another part of the slice: both are to be side by side.
            let lent = std::mem::replace(&mut self.lent, 0..0);
            let space = self.space(lent.len() + range.len());
            space.extend_from_slice(&from[lent]);
            space.extend_from_slice(&from[range]);
        }
    }

    /// The last items that wait go back to where they came from.
    pub(crate) fn take_back(&mut self, count: usize) {
        if self.lent.is_empty() {
            self.items.truncate(self.items.len() - count);
        } else {
            self.lent.end -= count;
        }
    }

    /// The vector to push up to `count` items to, for which there must be room.
    #[inline]
    pub(crate) fn space(&mut self, count: usize) -> &mut Vec<T> {
        assert!(count <= self.room(), "a queue has less room than was reckoned with: this is a mistake of ours");
        debug_assert!(self.lent.is_empty(), "items are pushed behind some that are lent: this is a mistake of ours");
        if self.items.len() + count > self.capacity {
            self.items.drain(..self.consumed);
            self.consumed = 0;
        }
        &mut self.items
    }

    /// The vector that was given out last: pushed to, and not more than was asked for.
    #[inline]
    pub(crate) fn items(&mut self) -> &mut Vec<T> {
        &mut self.items
    }

    /// Notes how full the queue is, after something was pushed.
    pub(crate) fn measure(&mut self) {
        self.high_water = self.high_water.max(self.len());
    }

    fn consume(&mut self, count: usize) {
        if !self.lent.is_empty() {
            self.lent.start += count;
            return;
        }
        self.consumed += count;
        if self.consumed == self.items.len() {
            self.items.clear();
            self.consumed = 0;
        }
    }
}

/// The queue of an edge.
pub(crate) struct Pipe<T> {
    pub(crate) buffer: RefCell<Buffer<T>>,
    pub(crate) signals: RefCell<Signals>,
}

impl<T> Pipe<T> {
    /// How many items there may be.
    pub(crate) fn capacity(&self) -> usize {
        self.buffer.borrow().capacity
    }

    /// None when there is no memory for it.
    pub(crate) fn new(capacity: usize, signals: usize) -> Option<Self>
    where
        T: 'static,
    {
        let (buffer, signals) = (Buffer::new(capacity)?, Signals::new(signals)?);
        Some(Self { buffer: RefCell::new(buffer), signals: RefCell::new(signals) })
    }

    /// The first items that wait.
    pub(crate) fn peek(&self, count: usize) -> Ref<'_, [T]> {
        Ref::map(self.buffer.borrow(), |buffer| &buffer.waiting()[..count])
    }
}

/// A pipe whose type of items is not known.
pub(crate) trait AnyPipe {
    fn len(&self) -> usize;
    fn room(&self) -> usize;
    fn high_water(&self) -> usize;
    fn consume(&self, count: usize);
    /// Consumes items with the signals among them.
    fn consume_with(&self, count: usize, signals: usize);
    fn signals(&self) -> &RefCell<Signals>;
    fn as_any(self: Rc<Self>) -> Rc<dyn Any>;
}

impl<T: 'static> AnyPipe for Pipe<T> {
    fn len(&self) -> usize {
        self.buffer.borrow().len()
    }

    fn room(&self) -> usize {
        self.buffer.borrow().room()
    }

    fn high_water(&self) -> usize {
        self.buffer.borrow().high_water
    }

    fn consume(&self, count: usize) {
        self.signals.borrow_mut().spend(count);
        self.buffer.borrow_mut().consume(count);
    }

    fn consume_with(&self, count: usize, signals: usize) {
        self.signals.borrow_mut().skip(signals, count);
        self.buffer.borrow_mut().consume(count);
    }

    fn signals(&self) -> &RefCell<Signals> {
        &self.signals
    }

    fn as_any(self: Rc<Self>) -> Rc<dyn Any> {
        self
    }
}

/// The pipe with its type. The description of a stream connects only channels and nodes of one type.
pub(crate) fn typed<T: 'static>(pipe: &Rc<dyn AnyPipe>) -> Rc<Pipe<T>> {
    Rc::clone(pipe).as_any().downcast().expect("an edge has one type of items at both ends")
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Arc;

    use super::{AnyPipe, Pipe};

    #[test]
    fn items_stay_side_by_side_and_the_queue_never_grows() {
        let pipe: Pipe<u32> = Pipe::new(10, 1).unwrap();
        let mut rng = fastrand::Rng::with_seed(1);
        let mut next = 0;
        let mut expected = 0;
        for _ in 0..1000 {
            let count = rng.usize(..=pipe.room());
            let mut buffer = pipe.buffer.borrow_mut();
            let before = buffer.space(count).capacity();
            buffer.items().extend(next..next + count as u32);
            next += count as u32;
            assert_eq!(buffer.items().capacity(), before);
            drop(buffer);
            let taken = rng.usize(..=pipe.len());
            assert!(pipe.peek(taken).iter().copied().eq(expected..expected + taken as u32));
            pipe.consume(taken);
            expected += taken as u32;
        }
        assert!(next > 1000, "{next}");
    }

    /// Parts of a slice that follow each other or do not, of which some are consumed and some go back.
    #[test]
    fn what_is_lent_waits_in_order_whatever_follows_what() {
        let from: Arc<[u32]> = (0..1000).collect();
        let pipe: Pipe<u32> = Pipe::new(50, 1).unwrap();
        let mut rng = fastrand::Rng::with_seed(2);
        let (mut expected, mut next, mut copied) = (VecDeque::new(), 0, 0);
        for _ in 0..5000 {
            match rng.usize(..8) {
                0 => {
                    let count = rng.usize(..=pipe.len());
                    pipe.buffer.borrow_mut().take_back(count);
                    expected.truncate(expected.len() - count);
                    // What went back is lent again later, or to another copy.
                }
                1..4 => {
                    let taken = rng.usize(..=pipe.len());
                    assert!(pipe.peek(taken).iter().eq(expected.drain(..taken).collect::<Vec<u32>>().iter()));
                    pipe.consume(taken);
                }
                turn => {
                    next = if turn == 4 { rng.usize(..900) } else { next };
                    let end = (next + rng.usize(..=pipe.room())).min(from.len());
                    let mut buffer = pipe.buffer.borrow_mut();
                    buffer.lend(&from, next..end);
                    copied += usize::from(!buffer.items.is_empty());
                    expected.extend(&from[next..end]);
                    next = if end == from.len() { 0 } else { end };
                }
            }
            assert!(pipe.peek(pipe.len()).iter().eq(&expected));
        }
        assert!((100..4000).contains(&copied), "{copied}: some are copied, and most are not");
    }
}
