//! The queue of an edge: items that lie side by side, and the signals among them.
//!
//! Items are pushed at the end of a vector and consumed from its front, so a node always sees a slice. The space of consumed
//! items comes back when a producer needs it: what is left, less than a vector of the consumer as a rule, moves to the front
//! then. The vector never grows: the room is checked before it is used.
//!
//! A source whose items have positions *promises* them: the queue notes which positions wait, behind the items that are there,
//! and makes items of them when the consumer is about to see them, so few at a time that they stay in the nearest cache. Those that
//! lie in a slice are not even made: the consumer reads them there. A promise takes no space, so there may be more of them than
//! there is space for items.

use std::any::Any;
use std::cell::{Ref, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::places::{Maker, Places};
use super::signal::Signals;
use crate::wide;

/// The items of an edge.
pub(crate) struct Buffer<T> {
    items: Vec<T>,
    /// So many items at the front are consumed already.
    consumed: usize,
    /// The positions of all that waits, if it has some. The last of them, so many, are promised: there are no items for them yet.
    places: Places,
    promised: usize,
    /// Who keeps promises.
    maker: Option<Maker<T>>,
    /// How many items there is space for, and how many may wait, with those that are promised.
    capacity: usize,
    most_waiting: usize,
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
        let (places, most_waiting) = (Places::default(), capacity);
        Some(Self { items, consumed: 0, places, promised: 0, maker: None, capacity, most_waiting, high_water: 0 })
    }

    pub(crate) fn len(&self) -> usize {
        self.made() + self.promised
    }

    /// How many of those that wait are there.
    fn made(&self) -> usize {
        self.items.len() - self.consumed
    }

    pub(crate) fn room(&self) -> usize {
        self.most_waiting.saturating_sub(self.len())
    }

    /// The first items that wait, side by side: as many as [`lacking`](Self::lacking) was asked for at least.
    pub(crate) fn waiting(&self) -> &[T] {
        match self.lent() {
            Some((lender, start)) => {
                let range = self.places.first();
                &lender[start..start + (range.end - range.start) as usize]
            }
            None => &self.items[self.consumed..],
        }
    }

    /// The slice that the first items that wait lie in, and the place of the first of them there, where they are read there.
    pub(crate) fn lent(&self) -> Option<(&Arc<[T]>, usize)> {
        match &self.maker {
            Some(Maker::Slice { items, .. }) if self.made() == 0 && self.promised > 0 => {
                Some((items, self.places.first().start as usize))
            }
            _ => None,
        }
    }

    /// Positions of a source wait here from now on, behind what does.
    pub(crate) fn promise(&mut self, maker: &Maker<T>, range: Range<u64>) {
        self.maker.get_or_insert_with(|| maker.clone());
        self.promised += (range.end - range.start) as usize;
        self.places.push(range);
    }

    /// The items that were pushed last are of these positions.
    pub(crate) fn note_places(&mut self, range: Range<u64>) {
        self.places.push(range);
    }

    /// The last positions that wait, so many, go to somebody else.
    pub(crate) fn take_back(&mut self, count: usize, to: impl FnMut(Range<u64>)) {
        self.places.take_last(count, to);
        let promised = count.min(self.promised);
        self.promised -= promised;
        self.items.truncate(self.items.len() - (count - promised));
    }

    /// How many items are to be made before the consumer can see the first `count` of those that wait, which it is about to.
    #[inline]
    fn lacking(&mut self, count: usize) -> usize {
        self.high_water = self.high_water.max(count);
        let made = self.made();
        let can_be_read = || {
            let first = self.places.first();
            first.end - first.start >= count as u64 && self.lent().is_some()
        };
        if count <= made || can_be_read() { 0 } else { count - made }
    }

    /// How many items can be made so that up to `most` are there. None of a slice: they are read where they lie, but for a vector
    /// that would be torn apart.
    fn makeable(&self, most: usize) -> usize {
        match self.maker {
            Some(Maker::Function(_)) => most.min(self.len()).saturating_sub(self.made()),
            _ => 0,
        }
    }

    /// Makes so many items of those that are promised. There is space for them.
    fn make(&mut self, count: usize) {
        // It is the user's code. Should it panic, nobody asks again.
        let Some(maker) = self.maker.take() else { return };
        self.high_water = self.high_water.max(self.made() + count);
        let mut left = count;
        while left > 0 {
            let range = self.places.next(self.made(), left);
            let some = (range.end - range.start) as usize;
            maker.make(range, self.free(some));
            (left, self.promised) = (left - some, self.promised - some);
        }
        self.maker = Some(maker);
    }

    /// The vector to push up to `count` items to, for which there must be room.
    #[inline]
    pub(crate) fn space(&mut self, count: usize) -> &mut Vec<T> {
        debug_assert!(self.promised == 0, "items are pushed behind some that are promised: this is a mistake of ours");
        self.free(count)
    }

    #[inline]
    fn free(&mut self, count: usize) -> &mut Vec<T> {
        let room = self.capacity - self.made();
        assert!(count <= room, "a queue has less room than was reckoned with: this is a mistake of ours");
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
        self.high_water = self.high_water.max(self.made());
    }

    fn consume(&mut self, count: usize) {
        if self.places.len() > 0 {
            self.places.drop_first(count);
            if self.made() == 0 {
                // They were read where they lie.
                self.promised -= count;
                return;
            }
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

    /// The first items that wait, none of which is lacking.
    pub(crate) fn peek(&self, count: usize) -> Ref<'_, [T]> {
        Ref::map(self.buffer.borrow(), |buffer| &buffer.waiting()[..count])
    }
}

/// A pipe whose type of items is not known.
pub(crate) trait AnyPipe {
    fn len(&self) -> usize;
    fn room(&self) -> usize;
    fn high_water(&self) -> usize;
    /// So many items may wait, where some of them are promised, or as many as there is space for.
    fn let_wait(&self, items: usize);
    /// How many of the first `count` items that wait are only promised: they are to be made before the consumer sees them.
    fn lacking(&self, count: usize) -> usize;
    /// How many of those that are promised can be made so that up to `most` items are there; none where it is better to make only
    /// what is lacking.
    fn makeable(&self, most: usize) -> usize;
    /// Makes some of those that are promised.
    fn make(&self, count: usize);
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

    fn let_wait(&self, items: usize) {
        let mut buffer = self.buffer.borrow_mut();
        if buffer.maker.is_some() {
            buffer.most_waiting = buffer.capacity.max(items);
        }
    }

    fn lacking(&self, count: usize) -> usize {
        self.buffer.borrow_mut().lacking(count)
    }

    fn makeable(&self, most: usize) -> usize {
        self.buffer.borrow().makeable(most)
    }

    fn make(&self, count: usize) {
        self.buffer.borrow_mut().make(count);
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

    use super::{AnyPipe, Maker, Pipe};

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

    /// Positions that follow each other or do not, of which some are made, some are read where they lie, some are consumed and some
    /// go back.
    #[test]
    fn what_is_promised_comes_in_order_whatever_follows_what() {
        let from: Arc<[u64]> = (0..1000).collect();
        let function = Maker::Function(Arc::new(|range, to: &mut Vec<u64>| to.extend(range)));
        for (maker, may_be_read) in [(Maker::slice(&from), true), (function, false)] {
            let pipe: Pipe<u64> = Pipe::new(50, 1).unwrap();
            let mut rng = fastrand::Rng::with_seed(2);
            let (mut expected, mut next, mut read, mut back) = (VecDeque::new(), 0, 0, 0);
            pipe.buffer.borrow_mut().promise(&maker, 0..0);
            for _ in 0..5000 {
                pipe.let_wait(rng.usize(..200));
                match rng.usize(..8) {
                    0 => {
                        let count = rng.usize(..=pipe.len());
                        let mut taken = Vec::new();
                        pipe.buffer.borrow_mut().take_back(count, |range| taken.splice(0..0, range).for_each(drop));
                        assert!(expected.drain(expected.len() - count..).eq(taken));
                        back += count;
                    }
                    1..4 => {
                        let count = rng.usize(..=pipe.len().min(50));
                        let lacking = pipe.lacking(count);
                        // Some of them first, as a source does whose items are heavy.
                        let some = rng.usize(..=lacking);
                        pipe.make(some);
                        pipe.make(lacking - some);
                        assert_eq!(pipe.lacking(count), 0);
                        read += usize::from(pipe.buffer.borrow().lent().is_some());
                        let taken = rng.usize(..=count);
                        assert!(pipe.peek(count).iter().eq(expected.iter().take(count)));
                        expected.drain(..taken);
                        pipe.consume(taken);
                    }
                    turn => {
                        next = if turn == 4 { rng.u64(..900) } else { next };
                        let end = (next + rng.u64(..=pipe.room() as u64)).min(1000);
                        pipe.buffer.borrow_mut().promise(&maker, next..end);
                        expected.extend(next..end);
                        next = if end == 1000 { 0 } else { end };
                    }
                }
                assert_eq!(pipe.len(), expected.len());
            }
            assert!(back > 1000, "{back}");
            assert!(if may_be_read { (100..1500).contains(&read) } else { read == 0 }, "{read}");
            assert!(pipe.high_water() <= 50, "promises take no space");
        }
    }
}
