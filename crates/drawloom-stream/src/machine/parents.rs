//! The parents of a region: items whose elements are under way.
//!
//! A parent stays in its place until every node at which its region ends has seen its end. There is a fixed number of places;
//! when all are taken, the node that enumerates waits.

use std::any::Any;
use std::cell::{Ref, RefCell, RefMut};
use std::mem::needs_drop;
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
    /// How many places are free.
    #[inline]
    pub(crate) fn free(&self) -> usize {
        self.free.len()
    }

    /// Keeps parents, for which there are places, and says where.
    #[inline]
    pub(crate) fn keep(&mut self, parents: &[P], places: &mut [u32])
    where
        P: Clone,
    {
        let left = self.free.len() - parents.len();
        for ((parent, free), place) in parents.iter().zip(self.free[left..].iter().rev()).zip(places) {
            if self.ends != 1 {
                self.left[*free as usize] = self.ends;
            }
            self.places[*free as usize] = Some(parent.clone());
            *place = *free;
        }
        self.free.truncate(left);
    }

    /// Some nodes have seen the ends of parents.
    #[inline]
    fn release(&mut self, ended: impl Iterator<Item = u32>) {
        let done = self.free.len();
        if self.ends == 1 {
            self.free.extend(ended);
        } else {
            for place in ended {
                let left = &mut self.left[place as usize];
                assert!(*left > 0, "a parent was released too often: this is a mistake of ours");
                *left -= 1;
                if *left == 0 {
                    self.free.push(place);
                }
            }
        }
        assert!(self.free.len() <= self.places.len(), "a parent was released too often: this is a mistake of ours");
        // Nobody can ask for a parent that has ended, so only what must be dropped is.
        if needs_drop::<P>() {
            self.free[done..].iter().for_each(|place| self.places[*place as usize] = None);
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
        self.0.borrow_mut().release(std::iter::once(place));
    }

    fn release_all(&self, boundaries: &[Slot]) {
        self.0.borrow_mut().release(boundaries.iter().filter_map(Slot::ends));
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
