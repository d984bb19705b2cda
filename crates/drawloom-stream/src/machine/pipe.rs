//! The queue of an edge: items that lie side by side, and the signals among them.
//!
//! Items are pushed at the end of a vector and consumed from its front, so a node always sees a slice. The space of consumed
//! items comes back when a producer needs it: what is left, less than a vector of the consumer as a rule, moves to the front
//! then. The vector never grows: the room is checked before it is used.
//!
//! Items of a source that lie in a slice are not copied, but lent: the consumer reads them there.

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
    /// How many items at the front are consumed already.
    consumed: usize,
    /// The slice that items are lent from, and which of them wait. There are no others then.
    lender: Option<Arc<[T]>>,
    lent: Range<usize>,
    /// How many items may wait.
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

    /// How many items wait.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.consumed + self.lent.len()
    }

    #[inline]
    pub(crate) fn room(&self) -> usize {
        self.capacity - self.len()
    }

    /// The items that wait, side by side.
    pub(crate) fn waiting(&self) -> &[T] {
        match &self.lender {
            Some(lender) if !self.lent.is_empty() => &lender[self.lent.clone()],
            _ => &self.items[self.consumed..],
        }
    }

    /// Items of a slice wait from now on, behind those that do: lent if they follow those, and copied otherwise. There must be room.
    pub(crate) fn lend(&mut self, lender: &Arc<[T]>, range: Range<usize>)
    where
        T: Clone,
    {
        assert!(range.len() <= self.room(), "a queue has less room than was reckoned with: this is a mistake of ours");
        if self.len() == 0 {
            (self.lender, self.lent) = (Some(Arc::clone(lender)), range);
        } else if !self.lent.is_empty() && self.lent.end == range.start {
            self.lent.end = range.end;
        } else {
            let before = std::mem::replace(&mut self.lent, 0..0);
            self.space(before.len()).extend_from_slice(&lender[before]);
            self.space(range.len()).extend_from_slice(&lender[range]);
        }
        self.measure();
    }

    /// The last `count` items that wait are gone.
    pub(crate) fn drop_last(&mut self, count: usize) {
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

    /// Ranges that follow each other or do not, some of which are consumed and some go back.
    #[test]
    fn items_that_are_lent_come_in_order() {
        let from: std::sync::Arc<[u64]> = (0..1000).collect();
        let (pipe, mut rng): (Pipe<u64>, _) = (Pipe::new(50, 1).unwrap(), fastrand::Rng::with_seed(2));
        let (mut expected, mut next, mut lent) = (std::collections::VecDeque::new(), 0, 0);
        for _ in 0..5000 {
            let mut buffer = pipe.buffer.borrow_mut();
            match rng.usize(..4) {
                0 => {
                    let count = rng.usize(..=expected.len());
                    buffer.drop_last(count);
                    expected.truncate(expected.len() - count);
                }
                1 => {
                    let count = rng.usize(..=expected.len());
                    buffer.consume(count);
                    expected.drain(..count);
                }
                _ => {
                    next = if rng.usize(..4) == 0 { rng.usize(..900) } else { next };
                    let end = (next + rng.usize(..=buffer.room())).min(1000);
                    buffer.lend(&from, next..end);
                    expected.extend((next..end).map(|n| n as u64));
                    next = if end == 1000 { 0 } else { end };
                }
            }
            lent += usize::from(!buffer.lent.is_empty());
            assert!(buffer.len() == expected.len() && buffer.waiting().iter().eq(&expected));
        }
        assert!((500..4500).contains(&lent), "{lent}: some are lent, and some are not");
    }
}
