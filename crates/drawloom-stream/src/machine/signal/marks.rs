//! The boundaries among the items of a run, as the body of a node sees them.

use std::collections::VecDeque;

use super::Turns;

/// The boundaries among the items of a run, which are no more than [`MOST_ITEMS`](crate::wide::MOST_ITEMS).
pub(crate) struct Marks<'a> {
    /// For each, how many items of the run are before it.
    pub(super) places: &'a [u32],
    pub(super) turns: Turns,
    pub(super) mixed: Option<&'a VecDeque<Turns>>,
    /// How many signals wait, those behind the run among them.
    pub(super) waiting: usize,
    pub(super) own: u32,
    /// How often the user's code was called, and how often with a full vector, if not once for each vector.
    pub(crate) calls: Option<(usize, usize)>,
    /// Whether somebody wants to know the following.
    pub(crate) go_on: bool,
    /// For each, how many items were pushed before it, to each channel.
    pub(crate) pushed: &'a mut [Vec<u32>; 2],
}

impl<'a> Marks<'a> {
    /// For each, how many items of the run are before it, and whether a parent of the node's innermost region ends there.
    #[inline(always)]
    pub(crate) fn places(&self) -> impl ExactSizeIterator<Item = (usize, bool)> + use<'a> {
        let (turns, mixed, own) = (self.turns, self.mixed, self.own);
        self.places.iter().enumerate().map(move |(at, place)| {
            let turns = mixed.map_or(turns, |mixed| mixed[at]);
            let ends = turns.region == own && (turns.ends || (at > 0 && mixed.is_none()));
            (*place as usize, ends)
        })
    }

    /// Begins to note how many items were pushed before each: what was noted in a run before is still there.
    pub(crate) fn clear(&mut self) {
        self.pushed.iter_mut().for_each(Vec::clear);
    }

    /// How many items of the run are before each, and where to note how many were pushed before it.
    #[inline(always)]
    pub(crate) fn noted(&mut self) -> (&'a [u32], &mut [Vec<u32>; 2]) {
        (self.places, &mut *self.pushed)
    }

    /// For each, how many items of the run are before it, its region, and the parent of it that is under way after it.
    pub(crate) fn parents(&self) -> impl Iterator<Item = (usize, u32, Option<u32>)> + use<'a> {
        let (turns, mixed, waiting) = (self.turns, self.mixed, self.waiting);
        self.places.iter().enumerate().map(move |(at, place)| {
            let one = mixed.map_or_else(|| turns.skip(at).front(1, waiting - at), |mixed| mixed[at]);
            (*place as usize, one.region, one.begins.then(|| one.parent.wrapping_add(1)))
        })
    }

    /// At how many of them a parent of the node's innermost region ends.
    pub(crate) fn ended(&self) -> usize {
        self.ends().map_or_else(|| self.places().filter(|(_, ends)| *ends).count(), <[u32]>::len)
    }

    /// The same boundaries among other items, those that a node makes of the run: so many are before each. What is pushed before
    /// each is noted in the same place.
    pub(crate) fn among<'b>(&'b mut self, places: &'b [u32]) -> Marks<'b> {
        let Self { turns, mixed, waiting, own, go_on, .. } = *self;
        Marks { places, turns, mixed, waiting, own, calls: None, go_on, pushed: &mut *self.pushed }
    }

    /// The same boundaries, to note elsewhere how many items are pushed before each.
    pub(crate) fn noting<'b>(&'b self, pushed: &'b mut [Vec<u32>; 2]) -> Marks<'b> {
        let Self { places, turns, mixed, waiting, own, .. } = *self;
        Marks { places, turns, mixed, waiting, own, calls: None, go_on: true, pushed }
    }

    /// The ends of parents that follow each other, of a region that is the innermost one: so many items of the run are before each.
    pub(crate) fn of_ends(region: u32, places: &'a [u32], pushed: &'a mut [Vec<u32>; 2]) -> Self {
        let turns = Turns::ends_of(region, 0, false);
        let (waiting, own) = (places.len(), region);
        Self { places, turns, mixed: None, waiting, own, calls: None, go_on: false, pushed }
    }

    /// How many items of the run are before each end of a parent, if there are only boundaries of the node's innermost region.
    #[inline(always)]
    pub(crate) fn ends(&self) -> Option<&'a [u32]> {
        let all = self.mixed.is_none() && self.turns.region == self.own;
        all.then(|| &self.places[usize::from(!self.turns.ends).min(self.places.len())..])
    }
}
