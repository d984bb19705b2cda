//! The parents of a region: items whose elements are under way.
//!
//! A parent stays in its place until every node at which its region ends has seen its end. There is a fixed number of places;
//! when all are taken, the node that enumerates waits.

use std::any::Any;
use std::cell::{Ref, RefCell, RefMut};
use std::rc::Rc;

use super::signal::Slot;

/// The parents of one region, in one copy of a stream.
pub(crate) struct Parents<P>(RefCell<Storage<P>>);

/// Places for parents.
pub(crate) struct Storage<P> {
    places: Vec<Option<P>>,
    free: Vec<u32>,
    /// How many nodes have not seen the end yet, for each place.
    left: Vec<u32>,
    /// At how many nodes the region ends.
    ends: u32,
}

impl<P> Storage<P> {
    /// Keeps a parent. None when all places are taken.
    #[inline]
    pub(crate) fn keep(&mut self, parent: impl FnOnce() -> P) -> Option<u32> {
        let place = self.free.pop()?;
        self.left[place as usize] = self.ends;
        self.places[place as usize] = Some(parent());
        Some(place)
    }

    #[inline]
    fn release(&mut self, place: u32) {
        let left = &mut self.left[place as usize];
        assert!(*left > 0, "a parent was released too often: this is a mistake of ours");
        *left -= 1;
        if *left == 0 {
            self.free.push(place);
            self.places[place as usize] = None;
        }
    }
}

impl<P> Parents<P> {
    pub(crate) fn new(capacity: usize, ends: u32) -> Self {
        let places = (0..capacity).map(|_| None).collect();
        let free = (0..capacity as u32).rev().collect();
        Self(RefCell::new(Storage { places, free, left: vec![0; capacity], ends }))
    }

    /// The places, to keep parents in.
    pub(crate) fn storage(&self) -> RefMut<'_, Storage<P>> {
        self.0.borrow_mut()
    }

    /// A parent that is kept.
    pub(crate) fn get(&self, place: u32) -> Option<Ref<'_, P>> {
        Ref::filter_map(self.0.borrow(), |storage| storage.places[place as usize].as_ref()).ok()
    }
}

/// Parents whose type is not known.
pub(crate) trait AnyParents {
    /// A node at which the region ends has seen the end of a parent.
    fn release(&self, place: u32);
    /// As [`AnyParents::release`], for all parents that end at some boundaries.
    fn release_all(&self, boundaries: &[Slot]);
    fn free(&self) -> usize;
    fn capacity(&self) -> usize;
    fn as_any(&self) -> &dyn Any;
    fn as_any_rc(self: Rc<Self>) -> Rc<dyn Any>;
}

impl<P: 'static> AnyParents for Parents<P> {
    fn release(&self, place: u32) {
        self.0.borrow_mut().release(place);
    }

    fn release_all(&self, boundaries: &[Slot]) {
        let mut storage = self.0.borrow_mut();
        boundaries.iter().filter_map(Slot::ends).for_each(|place| storage.release(place));
    }

    fn free(&self) -> usize {
        self.0.borrow().free.len()
    }

    fn capacity(&self) -> usize {
        self.0.borrow().places.len()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_rc(self: Rc<Self>) -> Rc<dyn Any> {
        self
    }
}
