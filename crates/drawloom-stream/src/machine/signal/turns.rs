//! Boundaries of one region that follow each other: what ends and begins at each follows from the first.

use super::Signal;

/// In place of the number of a region: it is a signal of the user's.
pub(super) const USER: u32 = u32::MAX;

/// Boundaries of one region that follow each other. Alone, one of them, or a signal of the user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turns {
    pub(super) region: u32,
    /// The parent that ends at the first, if one does. The next one begins there, and ends at the next boundary.
    pub(super) parent: u32,
    /// Whether a parent ends at the first, and whether one begins at the last.
    pub(super) ends: bool,
    pub(super) begins: bool,
}

impl Turns {
    /// What a signal is, alone.
    #[inline]
    pub(super) fn of(signal: &Signal) -> Self {
        match *signal {
            Signal::Begin { region, parent } => {
                Self { region, parent: parent.wrapping_sub(1), ends: false, begins: true }
            }
            Signal::End { region, parent } => Self { region, parent, ends: true, begins: false },
            Signal::User { .. } => Self { region: USER, parent: 0, ends: false, begins: false },
        }
    }

    /// The ends of parents that follow each other, from this one; each but the first begins where the one before it ends.
    /// Whether one more begins at the last.
    pub(crate) fn ends_of(region: u32, parent: u32, begins: bool) -> Self {
        Self { region, parent, ends: true, begins }
    }

    /// The region, unless it is a signal of the user's.
    #[inline]
    pub(crate) fn region(&self) -> Option<u32> {
        (self.region != USER).then_some(self.region)
    }

    /// How many parents end at so many of them, and how many signals they are.
    #[inline]
    pub(crate) fn count(&self, boundaries: usize) -> (usize, u64) {
        let ended = boundaries - usize::from(!self.ends);
        (ended, (ended + boundaries - usize::from(!self.begins)) as u64)
    }

    /// The first of them, out of so many.
    #[inline]
    pub(super) fn front(self, count: usize, of: usize) -> Self {
        Self { begins: self.begins || count < of, ..self }
    }

    /// Those behind the first ones.
    #[inline]
    pub(super) fn skip(self, count: usize) -> Self {
        Self { parent: self.parent.wrapping_add(count as u32), ends: self.ends || count > 0, ..self }
    }

    /// Each alone, out of so many.
    pub(super) fn each(self, of: usize) -> impl Iterator<Item = Self> {
        (0..of).map(move |at| self.skip(at).front(1, of - at))
    }

    /// Whether others go on where so many of these end, so that together they are one sequence.
    #[inline]
    pub(super) fn is_followed_by(&self, count: usize, next: &Self) -> bool {
        let parent = self.parent.wrapping_add(count as u32);
        (self.region, self.begins, true, parent) == (next.region, true, next.ends, next.parent)
    }

    /// Whether the parent that begins at the first of others begins where the last of so many of these ends.
    #[inline]
    pub(super) fn is_completed_by(&self, count: usize, next: &Self) -> bool {
        let parent = self.parent.wrapping_add(count as u32).wrapping_sub(1);
        (self.region, self.begins, false, parent) == (next.region, false, next.ends, next.parent) && next.region != USER
    }
}
