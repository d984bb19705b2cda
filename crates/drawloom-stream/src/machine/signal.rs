//! Signals that travel with the items of an edge, and the credits that keep them in their place.
//!
//! A signal stands between two items. It is kept beside the queue of items, with a *credit*: how many items must be consumed
//! after the signal before it, or after the head of the queue, until it is its turn. Items that were pushed after the last
//! signal are in no credit. So the credits of an edge never exceed its items, and a new signal's credit is the difference.

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

/// The signals of one edge, in order.
pub(crate) struct Signals {
    slots: VecDeque<(usize, Signal)>,
    /// The sum of all credits.
    credits: usize,
    capacity: usize,
    high_water: usize,
}

impl Signals {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { slots: VecDeque::with_capacity(capacity), credits: 0, capacity, high_water: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn room(&self) -> usize {
        self.capacity - self.slots.len()
    }

    pub(crate) fn high_water(&self) -> usize {
        self.high_water
    }

    /// Adds a signal behind all items there are. False when there is no room.
    #[must_use]
    pub(crate) fn push(&mut self, items: usize, signal: Signal) -> bool {
        if self.room() == 0 {
            return false;
        }
        assert!(self.credits <= items, "credits of an edge exceed its items: this is a mistake of ours");
        self.slots.push_back((items - self.credits, signal));
        self.credits = items;
        self.high_water = self.high_water.max(self.slots.len());
        true
    }

    /// How many items may be consumed before it is the first signal's turn.
    pub(crate) fn credit(&self) -> Option<usize> {
        self.slots.front().map(|(credit, _)| *credit)
    }

    /// The first signal.
    pub(crate) fn first(&self) -> Option<&Signal> {
        self.slots.front().map(|(_, signal)| signal)
    }

    /// Some items were consumed: what is left of the first signal's credit stays with it.
    pub(crate) fn spend(&mut self, items: usize) {
        if let Some((credit, _)) = self.slots.front_mut() {
            assert!(*credit >= items, "items passed a signal: this is a mistake of ours");
            *credit -= items;
            self.credits -= items;
        }
    }

    /// All signals with their credits, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Signal)> {
        self.slots.iter().map(|(credit, signal)| (*credit, signal))
    }

    /// Some items were consumed, and so many signals among them.
    pub(crate) fn skip(&mut self, signals: usize, items: usize) {
        let skipped: usize = self.slots.drain(..signals).map(|(credit, _)| credit).sum();
        assert!(skipped <= items, "a signal passed items: this is a mistake of ours");
        self.credits -= skipped;
        self.spend(items - skipped);
    }

    /// Takes the first signal, whose turn it is.
    pub(crate) fn take(&mut self) -> Option<Signal> {
        let (credit, signal) = self.slots.pop_front()?;
        assert_eq!(credit, 0, "a signal passed items: this is a mistake of ours");
        Some(signal)
    }
}

#[cfg(test)]
mod tests {
    use super::{Signal, Signals};

    fn end(parent: u32) -> Signal {
        Signal::End { region: 0, parent }
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
}
