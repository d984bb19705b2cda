//! Signals that travel with the items of an edge, and the credits that keep them in their place.
//!
//! A signal stands between two items. It is kept beside the queue of items, with its place: how many items of the edge come
//! before it, counted from the beginning of the run. The *credit* of the first signal is how many items must be consumed until
//! it is its turn: what is between its place and the items consumed so far. Places never go back, so the credits of an edge
//! never exceed its items.
//!
//! Parents come one after the other, so where one ends the next begins as a rule. Such a pair is kept as one *boundary*, and
//! boundaries are plain numbers side by side: a node that does not look at parents passes many of them on at once.

use std::any::Any;
use std::collections::VecDeque;
use std::rc::Rc;

/// What a signal says.
#[derive(Clone)]
pub(crate) enum Signal {
    /// The items after it belong to a parent of a region, which lies in this place of the region's storage.
    Begin { region: u32, parent: u32 },
    /// No more items belong to that parent.
    End { region: u32, parent: u32 },
    /// A signal of the user's, with a value.
    User { tag: u64, value: Rc<dyn Any> },
}

impl Signal {
    /// The region and parent of a boundary, and whether the parent begins.
    pub(crate) fn boundary(&self) -> Option<(u32, u32, bool)> {
        match *self {
            Signal::Begin { region, parent } => Some((region, parent, true)),
            Signal::End { region, parent } => Some((region, parent, false)),
            Signal::User { .. } => None,
        }
    }
}

/// What a place in a queue of signals costs: there are twice as many slots as places, and each may have a value.
pub(crate) const SIGNAL_BYTES: usize = 2 * size_of::<Slot>() + size_of::<(u64, Rc<dyn Any>)>();

/// In place of the number of a parent or of a region: there is none.
const NONE: u32 = u32::MAX;

/// A signal in a queue: a boundary, or the place of one of the user's.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    /// How many items of the edge come before it.
    at: u64,
    /// The region of a boundary; none for the user's signals.
    region: u32,
    /// The parent that ends, and the one that begins after that.
    ends: u32,
    begins: u32,
}

impl Slot {
    /// The region, if it is a boundary.
    #[inline]
    pub(crate) fn region(&self) -> Option<u32> {
        (self.region != NONE).then_some(self.region)
    }

    /// The parent that ends.
    #[inline]
    pub(crate) fn ends(&self) -> Option<u32> {
        (self.ends != NONE).then_some(self.ends)
    }

    /// How many signals some boundaries stand for.
    pub(crate) fn signals(slots: &[Slot], mixed: bool) -> u64 {
        let absent = |slot: &Slot| u64::from(slot.ends == NONE) + u64::from(slot.begins == NONE);
        // On an edge of one region nothing comes between the end of a parent and the begin of the next, so that only at the
        // first boundary may no parent end, and only at the last may none begin.
        let (all, ends) = (2 * slots.len() as u64, [slots.first(), slots.last().filter(|_| slots.len() > 1)]);
        let absent: u64 =
            if mixed { slots.iter().map(absent).sum() } else { ends.into_iter().flatten().map(absent).sum() };
        all - absent
    }
}

/// The boundaries among the items of a run.
pub(crate) struct Marks<'a> {
    slots: &'a [Slot],
    consumed: u64,
    own: u32,
    /// Whether somebody wants to know the following.
    pub(crate) go_on: bool,
    /// For each, how many items were pushed before it.
    pub(crate) pushed: &'a mut Vec<usize>,
}

impl<'a> Marks<'a> {
    /// For each, how many items of the run are before it, and whether a parent of the node's innermost region ends there.
    #[inline(always)]
    pub(crate) fn places(&self) -> impl ExactSizeIterator<Item = (usize, bool)> + use<'a> {
        let (slots, consumed, own) = (self.slots, self.consumed, self.own);
        slots.iter().map(move |slot| ((slot.at - consumed) as usize, slot.region == own && slot.ends != NONE))
    }
}

/// The signals of one edge, in order.
pub(crate) struct Signals {
    /// Those in front are consumed already.
    slots: Vec<Slot>,
    first: usize,
    /// Whether they may be of several regions, or some are the user's.
    mixed: bool,
    /// The user's signals among them.
    values: VecDeque<(u64, Rc<dyn Any>)>,
    /// How many items of the edge are consumed.
    consumed: u64,
    capacity: usize,
    high_water: usize,
}

impl Signals {
    pub(crate) fn new(capacity: usize) -> Self {
        // Twice the space, so that what waits is moved to the front less often than once for each signal.
        let slots = Vec::with_capacity(capacity.saturating_mul(2));
        Self { slots, first: 0, mixed: false, values: VecDeque::new(), consumed: 0, capacity, high_water: 0 }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.first
    }

    #[inline]
    pub(crate) fn room(&self) -> usize {
        self.capacity - self.len()
    }

    pub(crate) fn high_water(&self) -> usize {
        self.high_water
    }

    /// Adds a signal behind all items there are. False when there is no room.
    #[must_use]
    #[inline]
    pub(crate) fn push(&mut self, items: usize, signal: Signal) -> bool {
        let at = self.consumed + items as u64;
        let slot = match signal {
            Signal::Begin { region, parent } => {
                if let Some(last) = self.slots[self.first..].last_mut()
                    && (last.at, last.region, last.begins) == (at, region, NONE)
                {
                    last.begins = parent;
                    return true;
                }
                Slot { at, region, ends: NONE, begins: parent }
            }
            Signal::End { region, parent } => Slot { at, region, ends: parent, begins: NONE },
            Signal::User { tag, value } => {
                if self.room() > 0 {
                    self.values.push_back((tag, value));
                }
                Slot { at, region: NONE, ends: NONE, begins: NONE }
            }
        };
        let has_room = self.room() > 0;
        if has_room {
            self.append(slot);
        }
        has_room
    }

    /// The place and region of the last signal that waits.
    #[inline(always)]
    fn last(&self) -> Option<(u64, u32)> {
        self.slots[self.first..].last().map(|last| (last.at, last.region))
    }

    /// Adds a slot, for which there is room.
    #[inline(always)]
    fn append(&mut self, slot: Slot) {
        let (at, region) = self.last().unwrap_or((self.consumed, slot.region));
        assert!(at <= slot.at, "credits of an edge exceed its items: this is a mistake of ours");
        self.mixed |= region != slot.region;
        if self.slots.len() == self.slots.capacity() {
            self.make_space(1);
        }
        self.slots.push(slot);
        self.high_water = self.high_water.max(self.len());
    }

    /// Adds boundaries that come from another edge, behind so many items each. There must be room for all.
    #[inline(always)]
    pub(crate) fn follow(&mut self, mixed: bool, boundaries: impl Iterator<Item = (usize, Slot)>) {
        let (new, consumed) = (self.slots.len(), self.consumed);
        let last = self.last();
        self.slots.extend(boundaries.map(|(items, slot)| Slot { at: consumed + items as u64, ..slot }));
        if let (Some((at, region)), Some(slot)) = (last, self.slots.get(new)) {
            assert!(at <= slot.at, "credits of an edge exceed its items: this is a mistake of ours");
            self.mixed |= region != slot.region;
        }
        assert!(self.len() <= self.capacity, "a boundary has no room: this is a mistake of ours");
        self.mixed |= mixed;
        self.high_water = self.high_water.max(self.len());
    }

    /// Makes space for so many signals, for which there is room.
    pub(crate) fn make_space(&mut self, signals: usize) {
        if self.slots.len() + signals > self.slots.capacity() {
            self.slots.drain(..self.first);
            self.first = 0;
        }
    }

    /// Adds a boundary for each two parents that follow each other, behind so many items. There must be room.
    #[inline(always)]
    pub(crate) fn turns(&mut self, region: u32, items: &[usize], parents: &[u32]) {
        let both = parents.iter().zip(parents.iter().skip(1)).zip(items);
        self.make_space(parents.len());
        let slots = both.map(|((&ends, &begins), items)| (*items, Slot { at: 0, region, ends, begins }));
        self.follow(false, slots);
    }

    /// How many items may be consumed before it is the first signal's turn.
    #[inline]
    pub(crate) fn credit(&self) -> Option<usize> {
        self.slots.get(self.first).map(|slot| self.credit_of(slot))
    }

    /// How many items come before a signal.
    #[inline]
    pub(crate) fn credit_of(&self, slot: &Slot) -> usize {
        (slot.at - self.consumed) as usize
    }

    /// Whether the first signal is a boundary.
    #[inline]
    pub(crate) fn is_at_boundary(&self) -> bool {
        self.slots.get(self.first).is_some_and(|slot| slot.region().is_some())
    }

    /// The first signal, if it is a boundary: its region and parent, and whether the parent begins.
    pub(crate) fn first_boundary(&self) -> Option<(u32, u32, bool)> {
        let slot = self.slots.get(self.first)?;
        slot.region().map(|region| slot.ends().map_or((region, slot.begins, true), |parent| (region, parent, false)))
    }

    /// Some items were consumed: what is left of the first signal's credit stays with it.
    #[inline]
    pub(crate) fn spend(&mut self, items: usize) {
        self.consumed += items as u64;
        let first = self.slots.get(self.first);
        assert!(first.is_none_or(|slot| slot.at >= self.consumed), "items passed a signal: this is a mistake of ours");
    }

    /// All signals that wait, in order.
    #[inline]
    pub(crate) fn waiting(&self) -> &[Slot] {
        &self.slots[self.first..]
    }

    /// Whether those that wait may be of several regions, or some of the user's.
    pub(crate) fn is_mixed(&self) -> bool {
        self.mixed
    }

    /// How many of those that wait are among so many items, or right behind them. Places never go back.
    pub(crate) fn within(&self, items: usize) -> usize {
        let end = self.consumed.saturating_add(items as u64);
        self.waiting().partition_point(|slot| slot.at <= end)
    }

    /// The first boundaries, for the body of a node whose innermost region is this one.
    pub(crate) fn marks<'a>(
        &'a self,
        boundaries: usize,
        own: Option<u32>,
        go_on: bool,
        pushed: &'a mut Vec<usize>,
    ) -> Marks<'a> {
        pushed.clear();
        let own = own.unwrap_or(NONE);
        Marks { slots: &self.waiting()[..boundaries], consumed: self.consumed, own, go_on, pushed }
    }

    /// Some items were consumed, and so many boundaries among them.
    pub(crate) fn skip(&mut self, boundaries: usize, items: usize) {
        if let Some(last) = boundaries.checked_sub(1) {
            let passed = self.credit_of(&self.waiting()[last]);
            assert!(passed <= items, "a signal passed items: this is a mistake of ours");
        }
        self.advance(boundaries);
        self.spend(items);
    }

    /// The first signals are consumed.
    #[inline]
    fn advance(&mut self, signals: usize) {
        self.first += signals;
        if self.first == self.slots.len() {
            self.slots.clear();
            self.first = 0;
            self.mixed = false;
        }
    }

    /// Takes the first signal, whose turn it is.
    pub(crate) fn take(&mut self) -> Option<Signal> {
        let slot = self.slots.get_mut(self.first)?;
        assert_eq!(slot.at, self.consumed, "a signal passed items: this is a mistake of ours");
        let signal = match (slot.region(), slot.ends()) {
            (None, _) => self.values.pop_front().map(|(tag, value)| Signal::User { tag, value }),
            (Some(region), None) => Some(Signal::Begin { region, parent: slot.begins }),
            (Some(region), Some(parent)) => {
                let signal = Some(Signal::End { region, parent });
                if slot.begins != NONE {
                    // The parent that begins is a signal of its own.
                    slot.ends = NONE;
                    return signal;
                }
                signal
            }
        };
        self.advance(1);
        signal
    }
}

#[cfg(test)]
mod tests {
    use super::{Signal, Signals, Slot};

    fn end(parent: u32) -> Signal {
        Signal::End { region: 0, parent }
    }

    fn begin(parent: u32) -> Signal {
        Signal::Begin { region: 0, parent }
    }

    #[test]
    fn each_signal_waits_for_the_items_between_it_and_the_one_before() {
        let mut signals = Signals::new(3);
        assert!(signals.push(4, end(0)));
        assert!(signals.push(6, end(1)));
        assert!(signals.push(6, end(2)));
        assert!(!signals.push(6, end(3)), "there is no room");
        assert_eq!(signals.credit(), Some(4));
        signals.spend(3);
        assert_eq!(signals.credit(), Some(1), "what is left stays with the first signal");
        signals.spend(1);
        assert_eq!(signals.take().and_then(|s| s.boundary()), Some((0, 0, false)));
        assert_eq!(signals.credit(), Some(2));
        signals.spend(2);
        assert!(signals.take().is_some());
        assert_eq!((signals.credit(), signals.len(), signals.high_water()), (Some(0), 1, 3));
        assert!(signals.take().is_some());
        signals.spend(5);
        assert!(signals.push(2, end(4)));
        assert_eq!(signals.credit(), Some(2), "items without a signal are in no credit");
    }

    #[test]
    fn where_one_parent_ends_and_the_next_begins_there_is_one_boundary_and_two_signals() {
        let mut signals = Signals::new(2);
        assert!(signals.push(0, begin(0)));
        assert!(signals.push(3, end(0)));
        assert!(signals.push(3, begin(1)), "it needs no room");
        assert!(!signals.push(3, end(1)), "the parent has no items, and is a boundary of its own");
        assert_eq!((signals.len(), Slot::signals(signals.waiting(), false)), (2, 3));
        let mut taken = Vec::new();
        taken.extend(signals.take().and_then(|signal| signal.boundary()));
        signals.spend(3);
        taken.extend(signals.take().and_then(|signal| signal.boundary()));
        assert!(signals.push(0, end(1)));
        taken.extend(signals.take().and_then(|signal| signal.boundary()));
        assert_eq!(taken, [(0, 0, true), (0, 0, false), (0, 1, true)]);
    }

    #[test]
    fn all_signals_are_within_as_many_items_as_can_be_counted() {
        let mut signals = Signals::new(2);
        signals.spend(7);
        assert!(signals.push(0, begin(0)));
        assert!(signals.push(3, end(0)));
        assert_eq!([0, 2, 3, usize::MAX].map(|items| signals.within(items)), [1, 1, 2, 2]);
    }

    #[test]
    fn places_come_back_and_the_queue_never_grows() {
        let mut signals = Signals::new(5);
        let before = signals.slots.capacity();
        for parent in 0..100 {
            assert!(signals.push(0, end(parent)));
            if signals.len() == 5 {
                let expected = Some((0, parent - 4, false));
                assert_eq!(signals.take().and_then(|signal| signal.boundary()), expected);
            }
        }
        assert_eq!(signals.slots.capacity(), before);
    }
}
