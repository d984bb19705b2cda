//! The parents of a region: items whose elements are under way.
//!
//! A parent is kept until every node at which its region ends has seen its end. There is a fixed number of places; when all
//! are taken, the node that enumerates waits. Parents begin one after the other, and every node sees them in that order. So
//! they are numbered as they come, those that are kept are a queue, and a node that is done with some of them is done with the
//! oldest that it has not seen: it says how many they are, and not which.

use std::any::Any;
use std::cell::{Ref, RefCell, RefMut};
use std::collections::VecDeque;
use std::rc::Rc;

/// The parents of one region, in one copy of a stream.
pub(crate) struct Parents<P>(RefCell<Storage<P>>);

/// Places for parents.
pub(crate) struct Storage<P> {
    /// Those that are kept, the oldest first.
    kept: VecDeque<P>,
    capacity: usize,
    /// The number of the oldest that is kept. Numbers wrap around.
    oldest: u32,
    /// How many of those that are kept have ended, for each node at which the region ends.
    ended: Vec<usize>,
}

impl<P> Storage<P> {
    /// How many places are free.
    #[inline]
    pub(crate) fn free(&self) -> usize {
        self.capacity - self.kept.len()
    }

    /// Keeps parents, for which there are places. They get numbers that follow each other; this is the first.
    #[inline]
    pub(crate) fn keep(&mut self, parents: &[P]) -> u32
    where
        P: Clone,
    {
        assert!(parents.len() <= self.free(), "there is no place for a parent: this is a mistake of ours");
        let first = self.oldest.wrapping_add(self.kept.len() as u32);
        self.kept.extend(parents.iter().cloned());
        first
    }

    /// One of the nodes where the region ends has seen the ends of so many more parents.
    #[inline]
    fn release(&mut self, end: usize, parents: usize) {
        self.ended[end] += parents;
        assert!(self.ended[end] <= self.kept.len(), "a parent was released too often: this is a mistake of ours");
        let done = self.ended.iter().copied().min().unwrap_or(0);
        if done > 0 {
            self.ended.iter_mut().for_each(|ended| *ended -= done);
            self.kept.drain(..done);
            self.oldest = self.oldest.wrapping_add(done as u32);
        }
    }
}

impl<P> Parents<P> {
    /// Places for so many parents, of a region that ends at so many nodes. None when there is no memory for them.
    pub(crate) fn new(capacity: usize, ends: u32) -> Option<Self> {
        let (mut kept, ended) = (VecDeque::new(), vec![0; ends as usize]);
        kept.try_reserve_exact(capacity).ok()?;
        Some(Self(RefCell::new(Storage { kept, capacity, oldest: 0, ended })))
    }

    /// The places, to keep parents in.
    pub(crate) fn storage(&self) -> RefMut<'_, Storage<P>> {
        self.0.borrow_mut()
    }

    /// A parent that is kept.
    pub(crate) fn get(&self, parent: u32) -> Option<Ref<'_, P>> {
        let find = |storage: &'_ Storage<P>| parent.wrapping_sub(storage.oldest) as usize;
        Ref::filter_map(self.0.borrow(), |storage| storage.kept.get(find(storage))).ok()
    }
}

/// Parents whose type is not known.
pub(crate) trait AnyParents {
    /// One of the nodes at which the region ends, by its number among them, has seen the ends of so many more parents.
    fn release(&self, end: u32, parents: usize);
    fn free(&self) -> usize;
    fn kept(&self) -> usize;
    fn capacity(&self) -> usize;
    fn as_any(&self) -> &dyn Any;
    fn as_any_rc(self: Rc<Self>) -> Rc<dyn Any>;
}

impl<P: 'static> AnyParents for Parents<P> {
    fn release(&self, end: u32, parents: usize) {
        self.0.borrow_mut().release(end as usize, parents);
    }

    fn free(&self) -> usize {
        self.0.borrow().free()
    }

    fn kept(&self) -> usize {
        self.0.borrow().kept.len()
    }

    fn capacity(&self) -> usize {
        self.0.borrow().capacity
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_rc(self: Rc<Self>) -> Rc<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{AnyParents, Parents};

    #[test]
    fn a_parent_is_kept_until_all_nodes_have_seen_its_end() {
        let parents = Parents::new(4, 2).unwrap();
        let first = parents.storage().keep(&["a", "b", "c"]);
        let get = |number: u32| parents.get(first.wrapping_add(number)).map(|parent| *parent);
        parents.release(0, 2);
        assert_eq!((get(0), parents.free()), (Some("a"), 1));
        parents.release(1, 1);
        assert_eq!((get(0), get(1), get(2), parents.free()), (None, Some("b"), Some("c"), 2));
        assert_eq!(parents.storage().keep(&["d", "e"]), first + 3);
        assert_eq!((get(3), get(4), get(5), parents.free()), (Some("d"), Some("e"), None, 0));
    }

    #[test]
    fn numbers_wrap_around() {
        let parents = Parents::new(1, 1).unwrap();
        parents.storage().oldest = u32::MAX;
        for parent in 7..10 {
            let number = parents.storage().keep(&[parent]);
            assert_eq!(parents.get(number).map(|kept| *kept), Some(parent));
            parents.release(0, 1);
        }
        assert_eq!(parents.storage().oldest, 2);
    }
}
