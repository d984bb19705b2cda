//! Values of regions, joined over the regions that may alias a given one.

use super::{Covers, Group};
use crate::region::RegionId;

/// A value that can be joined with another of its kind. Joining a value twice is joining it once.
pub(crate) trait Join: Copy + PartialEq {
    /// The value that changes nothing.
    const NOTHING: Self;

    /// Joins another value into this one.
    fn join(&mut self, other: Self);
}

/// The larger of two numbers; zero is nothing.
impl Join for u32 {
    const NOTHING: Self = 0;

    fn join(&mut self, other: Self) {
        *self = other.max(*self);
    }
}

/// The join of the values that were entered, by group and by subtree.
pub(crate) struct Joined<'a, T> {
    covers: &'a Covers,
    here: Vec<T>,
    below: Vec<T>,
    todo: Vec<Group>,
}

impl<'a, T: Join> Joined<'a, T> {
    /// Nothing for every region.
    pub(crate) fn new(covers: &'a Covers) -> Self {
        let n = covers.group_count();
        Self { covers, here: vec![T::NOTHING; n], below: vec![T::NOTHING; n], todo: Vec::new() }
    }

    /// Joins a value into that of a region.
    pub(crate) fn enter(&mut self, region: RegionId, value: T) {
        let group = self.covers.group(region);
        self.here[group as usize].join(value);
        self.todo.push(group);
        while let Some(group) = self.todo.pop() {
            let below = &mut self.below[group as usize];
            let before = *below;
            below.join(value);
            // What changes nothing here changes nothing further up.
            if *below != before {
                self.todo.extend_from_slice(self.covers.parents(group));
            }
        }
    }

    /// The join of the values of all regions that may alias a region, itself included.
    pub(crate) fn over(&self, region: RegionId) -> T {
        let mut over = T::NOTHING;
        for part in self.covers.cover(region) {
            over.join(if part.below { self.below[part.group as usize] } else { self.here[part.group as usize] });
        }
        over
    }
}
