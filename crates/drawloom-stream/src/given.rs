//! Slices that are given to one run, and that the stream reads where they lie.
//!
//! The types of a description live as long as the program, so it cannot know a slice that lives only while a task runs. It knows
//! a place for one: [`source::given`](crate::source::given) makes it, and [`Given::slice`] puts a slice there.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// Where a slice is given to each run: see [`source::given`](crate::source::given).
pub struct Place<T> {
    pub(crate) number: u64,
    items: PhantomData<fn(T) -> T>,
}

impl<T> Place<T> {
    pub(crate) fn new(number: u64) -> Self {
        Self { number, items: PhantomData }
    }
}

impl<T> Clone for Place<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Place<T> {}

impl<T> fmt::Debug for Place<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({})", self.number)
    }
}

/// The slices that are given to a run.
#[derive(Default)]
pub struct Given<'g>(Vec<(u64, Box<dyn Lent + 'g>)>);

impl<'g> Given<'g> {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a slice in its place. All members of a team give the same slice.
    #[must_use]
    pub fn slice<T: Clone + 'static>(mut self, place: Place<T>, items: &'g [T]) -> Self {
        self.0.retain(|(number, _)| *number != place.number);
        self.0.push((place.number, Box::new(Slice(items))));
        self
    }

    pub(crate) fn find(&self, place: u64) -> Option<&dyn Lent> {
        self.0.iter().find(|(number, _)| *number == place).map(|(_, lent)| &**lent)
    }
}

impl fmt::Debug for Given<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Given({} slices)", self.0.len())
    }
}

/// A slice whose type of items is not known.
pub(crate) trait Lent {
    fn len(&self) -> u64;

    /// Adds a part of the items to a vector of their type. False when there is no such part.
    fn copy(&self, range: Range<u64>, to: &mut dyn Any) -> bool;
}

struct Slice<'g, T>(&'g [T]);

impl<T: Clone + 'static> Lent for Slice<'_, T> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn copy(&self, range: Range<u64>, to: &mut dyn Any) -> bool {
        let part = self.0.get(range.start as usize..range.end as usize);
        let (Some(part), Some(to)) = (part, to.downcast_mut::<Vec<T>>()) else { return false };
        to.extend_from_slice(part);
        true
    }
}
