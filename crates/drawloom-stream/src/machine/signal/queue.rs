//! The signals of one edge, beside the queue of its items.

use std::collections::VecDeque;

use super::turns::USER;
use super::{Marks, Signal, Turns, Value};

/// What a place in a queue of signals costs: there is space for twice as many numbers, each may say what it is and have a value, and a
/// run over boundaries notes three numbers for each.
pub(crate) const SIGNAL_BYTES: usize =
    2 * size_of::<u64>() + size_of::<Turns>() + size_of::<(u64, Value)>() + 3 * size_of::<u32>();

/// The signals of one edge, in order.
pub(crate) struct Signals {
    /// How many items of the edge come before each. Those in front are consumed already.
    places: Vec<u64>,
    first: usize,
    /// What those that wait are, if all are boundaries of one region that follow each other.
    turns: Turns,
    /// What each of those that wait is, if they are not. Space that grows once, on edges where that happens.
    mixed: VecDeque<Turns>,
    /// The user's signals among them.
    values: VecDeque<(u64, Value)>,
    /// How many items of the edge are consumed.
    consumed: u64,
    capacity: usize,
    high_water: usize,
}

impl Signals {
    /// None when there is no memory for it.
    pub(crate) fn new(capacity: usize) -> Option<Self> {
        let mut places = Vec::new();
        // Twice the space, so that what waits is moved to the front less often than once for each signal.
        places.try_reserve_exact(capacity.checked_mul(2)?).ok()?;
        Some(Self {
            places,
            first: 0,
            turns: Turns { region: USER, parent: 0, ends: false, begins: false },
            mixed: VecDeque::new(),
            values: VecDeque::new(),
            consumed: 0,
            capacity,
            high_water: 0,
        })
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.first
    }

    #[inline]
    pub(crate) fn room(&self) -> usize {
        self.capacity - self.len()
    }

    pub(crate) fn high_water(&self) -> usize {
        self.high_water
    }

    /// How many items of the edge were consumed.
    pub(crate) fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Adds a signal behind all items there are. False when there is no room.
    #[must_use]
    #[inline]
    pub(crate) fn push(&mut self, items: usize, signal: Signal) -> bool {
        let turns = Turns::of(&signal);
        let has_room = self.room() > 0 || self.completes_last(self.consumed + items as u64, &turns);
        if has_room {
            if let Signal::User { tag, value } = signal {
                // Space that grows once, on edges where that happens.
                self.values.reserve(self.capacity - self.values.len());
                self.values.push_back((tag, value));
            }
            self.follow(turns, items, &[0]);
        }
        has_room
    }

    /// Whether the begin of a parent stands where the last boundary is, and is part of it.
    #[inline]
    fn completes_last(&self, place: u64, next: &Turns) -> bool {
        let is_part = match self.mixed.back() {
            Some(last) => last.is_completed_by(1, next),
            None => self.turns.is_completed_by(self.len(), next),
        };
        is_part && self.waiting().last() == Some(&place)
    }

    /// Adds boundaries that follow each other, or one signal of the user's, each behind so many items. There must be room.
    #[inline(always)]
    pub(crate) fn follow(&mut self, mut next: Turns, before: usize, mut items: &[u32]) {
        let Some(first) = items.first() else { return };
        let base = self.consumed + before as u64;
        let (place, last) = (base + u64::from(*first), self.waiting().last().copied());
        assert!(
            last.is_none_or(|last| last <= place),
            "credits of an edge exceed its items: this is a mistake of ours"
        );
        if self.completes_last(place, &next) {
            self.mixed.back_mut().unwrap_or(&mut self.turns).begins = true;
            (next, items) = (next.skip(1), &items[1..]);
            if items.is_empty() {
                return;
            }
        }
        let waiting = self.len();
        assert!(items.len() <= self.room(), "a boundary has no room: this is a mistake of ours");
        if waiting == 0 && next.region != USER {
            self.turns = next;
        } else if self.mixed.is_empty() && waiting > 0 && self.turns.is_followed_by(waiting, &next) {
            self.turns.begins = next.begins;
        } else {
            self.mix(next, items.len());
        }
        if self.places.len() + items.len() > self.places.capacity() {
            self.places.drain(..self.first);
            self.first = 0;
        }
        self.places.extend(items.iter().map(|items| base + u64::from(*items)));
        self.high_water = self.high_water.max(self.len());
    }

    /// Adds signals that are not one sequence with those that wait.
    #[cold]
    fn mix(&mut self, next: Turns, count: usize) {
        self.mixed.reserve(self.capacity - self.mixed.len());
        if self.mixed.is_empty() {
            self.mixed.extend(self.turns.each(self.len()));
        }
        self.mixed.extend(next.each(count));
    }

    /// How many items may be consumed before it is the first signal's turn.
    #[inline]
    pub(crate) fn credit(&self) -> Option<usize> {
        self.waiting().first().map(|place| (place - self.consumed) as usize)
    }

    /// How many items come before a signal that waits.
    #[inline]
    pub(crate) fn credit_of(&self, at: usize) -> Option<usize> {
        self.waiting().get(at).map(|place| (place - self.consumed) as usize)
    }

    /// A signal that waits.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<Turns> {
        let waiting = self.len();
        (at < waiting)
            .then(|| self.mixed.get(at).copied().unwrap_or_else(|| self.turns.skip(at).front(1, waiting - at)))
    }

    /// Whether the first signal is a boundary.
    #[inline]
    pub(crate) fn is_at_boundary(&self) -> bool {
        self.get(0).is_some_and(|first| first.region().is_some())
    }

    /// The first signal, if it is a boundary: its region and parent, and whether the parent begins.
    pub(crate) fn first_boundary(&self) -> Option<(u32, u32, bool)> {
        let Turns { region, parent, ends, .. } = self.get(0).filter(|first| first.region().is_some())?;
        Some(if ends { (region, parent, false) } else { (region, parent.wrapping_add(1), true) })
    }

    /// The same, if it is its turn: no item is before it.
    pub(crate) fn next_boundary(&self) -> Option<(u32, u32, bool)> {
        self.first_boundary().filter(|_| self.credit() == Some(0))
    }

    /// Some items were consumed: what is left of the first signal's credit stays with it.
    #[inline]
    pub(crate) fn spend(&mut self, items: usize) {
        self.consumed += items as u64;
        let first = self.waiting().first();
        assert!(first.is_none_or(|place| *place >= self.consumed), "items passed a signal: this is a mistake of ours");
    }

    /// The places of all signals that wait, in order.
    #[inline]
    fn waiting(&self) -> &[u64] {
        &self.places[self.first..]
    }

    /// Whether those that wait may be of several regions, or some of the user's.
    pub(crate) fn is_mixed(&self) -> bool {
        !self.mixed.is_empty()
    }

    /// How many of those that wait are among so many items, or right behind them. Places never go back.
    pub(crate) fn within(&self, items: usize) -> usize {
        let end = self.consumed.saturating_add(items as u64);
        self.waiting().partition_point(|place| *place <= end)
    }

    /// The first boundaries as sequences, each with its length.
    pub(crate) fn sequences(&self, boundaries: usize) -> impl Iterator<Item = (Turns, usize)> {
        let (mixed, waiting) = (self.is_mixed(), self.len());
        let whole = (!mixed && boundaries > 0).then(|| (self.turns.front(boundaries, waiting), boundaries));
        let each = self.mixed.iter().take(boundaries).map(|one| (*one, 1));
        whole.into_iter().chain(each)
    }

    /// The first boundaries, for the body of a node whose innermost region is this one. There is some space for their places.
    pub(crate) fn marks<'a>(
        &'a self,
        boundaries: usize,
        own: Option<u32>,
        go_on: bool,
        (places, pushed): (&'a mut Vec<u32>, &'a mut [Vec<u32>; 2]),
    ) -> Marks<'a> {
        // Grow to as many as there may be, and no further.
        for space in pushed.iter_mut().chain([&mut *places]) {
            space.clear();
            space.reserve_exact(self.capacity);
        }
        places.extend(self.waiting()[..boundaries].iter().map(|place| (place - self.consumed) as u32));
        Marks {
            places,
            turns: self.turns,
            mixed: self.is_mixed().then_some(&self.mixed),
            waiting: self.len(),
            calls: None,
            own: own.unwrap_or(USER),
            go_on,
            pushed,
        }
    }

    /// Some items were consumed, and so many boundaries among them.
    pub(crate) fn skip(&mut self, boundaries: usize, items: usize) {
        if let Some(passed) = boundaries.checked_sub(1).and_then(|last| self.credit_of(last)) {
            assert!(passed <= items, "a signal passed items: this is a mistake of ours");
        }
        self.advance(boundaries);
        self.spend(items);
    }

    /// The first signals are consumed.
    #[inline]
    fn advance(&mut self, signals: usize) {
        self.first += signals;
        self.turns = self.turns.skip(signals);
        if self.is_mixed() {
            self.mixed.drain(..signals);
        }
        if self.first == self.places.len() {
            self.places.clear();
            self.first = 0;
        }
    }

    /// Takes the first signal, whose turn it is.
    pub(crate) fn take(&mut self) -> Option<Signal> {
        let Turns { region, parent, ends, begins } = self.get(0)?;
        assert_eq!(self.credit(), Some(0), "a signal passed items: this is a mistake of ours");
        if region == USER {
            self.advance(1);
            return self.values.pop_front().map(|(tag, value)| Signal::User { tag, value });
        }
        if ends && begins {
            // The parent that begins is a signal of its own.
            self.mixed.front_mut().unwrap_or(&mut self.turns).ends = false;
        } else {
            self.advance(1);
        }
        Some(if ends {
            Signal::End { region, parent }
        } else {
            Signal::Begin { region, parent: parent.wrapping_add(1) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Signal, Turns, Values};
    use super::Signals;

    fn end(parent: u32) -> Signal {
        Signal::End { region: 0, parent }
    }

    fn begin(parent: u32) -> Signal {
        Signal::Begin { region: 0, parent }
    }

    fn take(signals: &mut Signals) -> Option<(u32, u32, bool)> {
        signals.take().and_then(|signal| signal.boundary())
    }

    #[test]
    fn each_signal_waits_for_the_items_between_it_and_the_one_before() {
        let mut signals = Signals::new(3).unwrap();
        assert!(signals.push(4, end(0)));
        assert!(signals.push(6, end(1)));
        assert!(signals.push(6, end(2)));
        assert!(!signals.push(6, end(3)), "there is no room");
        assert_eq!(signals.credit(), Some(4));
        signals.spend(3);
        assert_eq!(signals.credit(), Some(1), "what is left stays with the first signal");
        signals.spend(1);
        assert_eq!(take(&mut signals), Some((0, 0, false)));
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
        let mut signals = Signals::new(2).unwrap();
        assert!(signals.push(0, begin(0)));
        assert!(signals.push(3, end(0)));
        assert!(signals.push(3, begin(1)), "it needs no room");
        assert!(!signals.push(3, end(1)), "the parent has no items, and is a boundary of its own");
        let (turns, count) = signals.sequences(2).next().unwrap();
        assert_eq!((signals.is_mixed(), count, turns.count(2)), (false, 2, (1, 3)));
        let mut taken = Vec::new();
        taken.extend(take(&mut signals));
        signals.spend(3);
        taken.extend(take(&mut signals));
        assert!(signals.push(0, end(1)));
        taken.extend(take(&mut signals));
        assert_eq!(taken, [(0, 0, true), (0, 0, false), (0, 1, true)]);
    }

    /// Random signals, pushed one by one or as sequences, are taken in order and at their places, whatever is among them.
    #[test]
    fn what_is_pushed_is_taken_whatever_is_mixed_with_it() {
        let (mut rng, values) = (fastrand::Rng::with_seed(11), Values::new(1 << 20, 1000));
        let mut mixed = 0;
        for _ in 0..300 {
            let mut signals = Signals::new(40).unwrap();
            let (mut expected, mut taken) = (std::collections::VecDeque::new(), 0_u32);
            // The parent that is under way in each of two regions, and what was pushed and consumed of items.
            let (mut parents, mut items) = ([(u32::MAX - 3, false); 2], 0_usize);
            let regions = rng.u32(1..3);
            for _ in 0..60 {
                let region = rng.u32(..regions);
                let (parent, open) = &mut parents[region as usize];
                items += rng.usize(..3);
                match rng.usize(..8) {
                    0 if regions == 2 => {
                        if signals.push(items, Signal::User { tag: 9, value: values.hold(9, ()) }) {
                            expected.push_back((items, None));
                        }
                    }
                    1..4 => {
                        let signal = if *open {
                            Signal::End { region, parent: *parent }
                        } else {
                            Signal::Begin { region, parent: *parent }
                        };
                        if signals.push(items, signal) {
                            expected.push_back((items, Some((region, *parent, !*open))));
                            (*open, *parent) = (!*open, parent.wrapping_add(u32::from(*open)));
                        }
                    }
                    4 | 5 if *open && signals.room() >= 3 => {
                        let turns = Turns::ends_of(region, *parent, true);
                        signals.follow(turns, items, &[0, 0, 2]);
                        for more in [0, 0, 2] {
                            expected.push_back((items + more, Some((region, *parent, false))));
                            *parent = parent.wrapping_add(1);
                            expected.push_back((items + more, Some((region, *parent, true))));
                        }
                        items += 2;
                    }
                    _ => {
                        mixed += usize::from(signals.is_mixed());
                        let count = rng.usize(..=signals.within(items));
                        // A run never reaches over a signal of the user's.
                        if signals.sequences(count).any(|(turns, _)| turns.region().is_none()) {
                            continue;
                        }
                        let all: u64 = signals.sequences(count).map(|(turns, count)| turns.count(count).1).sum();
                        let passed = count.checked_sub(1).and_then(|last| signals.credit_of(last)).unwrap_or(0);
                        signals.skip(count, passed);
                        let all = all as usize;
                        let last = expected.drain(..all).next_back();
                        assert!(last.is_none_or(|(place, _)| place == passed));
                        expected.iter_mut().for_each(|(place, _)| *place -= passed);
                        items -= passed;
                        taken += all as u32;
                    }
                }
                let room = signals.room();
                assert!(room <= 40 && signals.len() <= expected.len());
                if rng.bool()
                    && let Some((place, what)) = expected.pop_front()
                {
                    assert_eq!(signals.credit(), Some(place));
                    signals.spend(place);
                    assert_eq!(signals.first_boundary(), what);
                    assert_eq!(take(&mut signals), what);
                    expected.iter_mut().for_each(|(other, _)| *other -= place);
                    items -= place;
                    taken += 1;
                }
            }
            assert!(taken > 0);
        }
        assert!(mixed > 100, "{mixed}");
    }

    #[test]
    fn all_signals_are_within_as_many_items_as_can_be_counted() {
        let mut signals = Signals::new(2).unwrap();
        signals.spend(7);
        assert!(signals.push(0, begin(0)));
        assert!(signals.push(3, end(0)));
        assert_eq!([0, 2, 3, usize::MAX].map(|items| signals.within(items)), [1, 1, 2, 2]);
    }

    #[test]
    fn places_come_back_and_the_queue_never_grows() {
        let mut signals = Signals::new(5).unwrap();
        let before = signals.places.capacity();
        for parent in 0..100 {
            assert!(signals.push(0, end(parent)));
            if signals.len() == 5 {
                assert_eq!(take(&mut signals), Some((0, parent - 4, false)));
            }
        }
        assert_eq!(signals.places.capacity(), before);
    }

    #[test]
    fn space_for_signals_of_all_kinds_is_made_once() {
        let (mut signals, values) = (Signals::new(50).unwrap(), Values::new(1 << 20, 1000));
        let user = || Signal::User { tag: 1, value: values.hold(1, 7_u64) };
        // One boundary, and one that does not follow it: from now on each place says what stands there.
        assert!(signals.push(0, end(0)) && signals.push(0, end(5)) && signals.push(0, user()));
        let space =
            |signals: &Signals| [signals.places.capacity(), signals.mixed.capacity(), signals.values.capacity()];
        let before = space(&signals);
        assert!(before.iter().all(|space| *space >= 50), "{before:?}");
        for round in 0..20 {
            while signals.room() > 0 {
                assert!(signals.push(0, if signals.len() % (2 + round) == 0 { user() } else { end(9) }));
            }
            assert_eq!(space(&signals), before);
            (0..10 * round % 50 + 1).for_each(|_| drop(signals.take()));
        }
        assert_eq!(space(&signals), before);
    }
}
