//! The parents of a region: items whose elements are under way.
//!
//! A parent stays in its place until every node at which its region ends has seen its end. There is a fixed number of places;
//! when all are taken, the node that enumerates waits.

use std::any::Any;
use std::cell::{Ref, RefCell};
use std::rc::Rc;

/// The parents of one region, in one copy of a stream.
pub(crate) struct Parents<P> {
    places: Box<[RefCell<Option<P>>]>,
    count: RefCell<Count>,
}

struct Count {
    free: Vec<u32>,
    /// How many nodes have not seen the end yet, for each place.
    left: Vec<u32>,
    /// At how many nodes the region ends.
    ends: u32,
}

impl<P> Parents<P> {
    pub(crate) fn new(capacity: usize, ends: u32) -> Self {
        let count = Count { free: (0..capacity as u32).rev().collect(), left: vec![0; capacity], ends };
        Self { places: (0..capacity).map(|_| RefCell::new(None)).collect(), count: RefCell::new(count) }
    }

    /// Keeps a parent. None when all places are taken.
    pub(crate) fn keep(&self, parent: impl FnOnce() -> P) -> Option<u32> {
        let mut count = self.count.borrow_mut();
        let place = count.free.pop()?;
        count.left[place as usize] = count.ends;
        *self.places[place as usize].borrow_mut() = Some(parent());
        Some(place)
    }

    /// A parent that is kept.
    pub(crate) fn get(&self, place: u32) -> Option<Ref<'_, P>> {
        Ref::filter_map(self.places[place as usize].borrow(), Option::as_ref).ok()
    }
}

/// Parents whose type is not known.
pub(crate) trait AnyParents {
    /// A node at which the region ends has seen the end of a parent.
    fn release(&self, place: u32);
    fn free(&self) -> usize;
    fn capacity(&self) -> usize;
    fn as_any(&self) -> &dyn Any;
    fn as_any_rc(self: Rc<Self>) -> Rc<dyn Any>;
}

impl<P: 'static> AnyParents for Parents<P> {
    fn release(&self, place: u32) {
        let mut count = self.count.borrow_mut();
        let left = &mut count.left[place as usize];
        assert!(*left > 0, "a parent was released too often: this is a mistake of ours");
        *left -= 1;
        if *left == 0 {
            count.free.push(place);
            *self.places[place as usize].borrow_mut() = None;
        }
    }

    fn free(&self) -> usize {
        self.count.borrow().free.len()
    }

    fn capacity(&self) -> usize {
        self.places.len()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_rc(self: Rc<Self>) -> Rc<dyn Any> {
        self
    }
}
