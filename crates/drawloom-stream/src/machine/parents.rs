//! The parents of a region: items whose elements are under way.
//!
//! A parent is kept until every node at which its region ends has seen its end. There is a fixed number of places; when all
//! are taken, the node that enumerates waits. Parents begin one after the other, and every node sees them in that order. So
//! they are numbered as they come, those that are kept are a queue, and a node that is done with some of them is done with the
//! oldest that it has not seen: it says how many they are, and not which.
//!
//! Parents that lie in a slice of the source already stay there: it is noted which part of the slice they are.

use std::any::Any;
use std::cell::{Ref, RefCell, RefMut};
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// The parents of one region, in one copy of a stream.
pub(crate) struct Parents<P>(RefCell<Storage<P>>);

/// Places for parents.
pub(crate) struct Storage<P> {
    /// Those that are kept, the oldest first.
    kept: VecDeque<P>,
    /// The slice of a source that lends its items, and the part of it that is kept. Nothing else is kept then.
    lender: Option<Arc<[P]>>,
    lent: Range<usize>,
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
        self.capacity - self.count()
    }

    /// How many are kept.
    #[inline]
    fn count(&self) -> usize {
        self.kept.len() + self.lent.len()
    }

    /// Keeps parents, for which there are places, and which may lie at a place of a source's slice. They get numbers that follow each
    /// other; this is the first.
    #[inline]
    pub(crate) fn keep(&mut self, parents: &[P], lent: Option<(&Arc<[P]>, usize)>) -> u32
    where
        P: Clone,
    {
        assert!(parents.len() <= self.free(), "there is no place for a parent: this is a mistake of ours");
        let first = self.oldest.wrapping_add(self.count() as u32);
        match lent.filter(|(lender, at)| self.may_lend(lender, *at)) {
            Some((lender, at)) => {
                self.lender.get_or_insert_with(|| Arc::clone(lender));
                let start = if self.lent.is_empty() { at } else { self.lent.start };
                self.lent = start..at + parents.len();
            }
            None => {
                let lent = std::mem::replace(&mut self.lent, 0..0);
                let before = self.lender.iter().flat_map(|lender| &lender[lent.clone()]);
                self.kept.extend(before.chain(parents).cloned());
            }
        }
        first
    }

    /// Whether parents at a place of a slice can stay there: they follow those that are kept.
    fn may_lend(&self, lender: &Arc<[P]>, at: usize) -> bool {
        self.kept.is_empty()
            && (self.lent.is_empty() || self.lent.end == at)
            && self.lender.as_ref().is_none_or(|own| Arc::ptr_eq(own, lender))
    }

    fn get(&self, at: usize) -> Option<&P> {
        match &self.lender {
            Some(lender) if !self.lent.is_empty() => lender[self.lent.clone()].get(at),
            _ => self.kept.get(at),
        }
    }

    /// One of the nodes where the region ends has seen the ends of so many more parents.
    #[inline]
    fn release(&mut self, end: usize, parents: usize) {
        self.ended[end] += parents;
        assert!(self.ended[end] <= self.count(), "a parent was released too often: this is a mistake of ours");
        let done = self.ended.iter().copied().min().unwrap_or(0);
        if done > 0 {
            self.ended.iter_mut().for_each(|ended| *ended -= done);
            if self.lent.is_empty() {
                self.kept.drain(..done);
            } else {
                self.lent.start += done;
            }
            self.oldest = self.oldest.wrapping_add(done as u32);
        }
    }
}

impl<P> Parents<P> {
    /// Places for so many parents, of a region that ends at so many nodes. None when there is no memory for them.
    pub(crate) fn new(capacity: usize, ends: u32) -> Option<Self> {
        let (mut kept, ended) = (VecDeque::new(), vec![0; ends as usize]);
        kept.try_reserve_exact(capacity).ok()?;
        Some(Self(RefCell::new(Storage { kept, lender: None, lent: 0..0, capacity, oldest: 0, ended })))
    }

    /// The places, to keep parents in.
    pub(crate) fn storage(&self) -> RefMut<'_, Storage<P>> {
        self.0.borrow_mut()
    }

    /// A parent that is kept.
    pub(crate) fn get(&self, parent: u32) -> Option<Ref<'_, P>> {
        let find = |storage: &'_ Storage<P>| parent.wrapping_sub(storage.oldest) as usize;
        Ref::filter_map(self.0.borrow(), |storage| storage.get(find(storage))).ok()
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
        self.0.borrow().count()
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
        let first = parents.storage().keep(&["a", "b", "c"], None);
        let get = |number: u32| parents.get(first.wrapping_add(number)).map(|parent| *parent);
        parents.release(0, 2);
        assert_eq!((get(0), parents.free()), (Some("a"), 1));
        parents.release(1, 1);
        assert_eq!((get(0), get(1), get(2), parents.free()), (None, Some("b"), Some("c"), 2));
        assert_eq!(parents.storage().keep(&["d", "e"], None), first + 3);
        assert_eq!((get(3), get(4), get(5), parents.free()), (Some("d"), Some("e"), None, 0));
    }

    #[test]
    fn numbers_wrap_around() {
        let parents = Parents::new(1, 1).unwrap();
        parents.storage().oldest = u32::MAX;
        for parent in 7..10 {
            let number = parents.storage().keep(&[parent], None);
            assert_eq!(parents.get(number).map(|kept| *kept), Some(parent));
            parents.release(0, 1);
        }
        assert_eq!(parents.storage().oldest, 2);
    }

    /// Parts of two slices that follow each other or do not, and parents that lie nowhere.
    #[test]
    fn parents_that_are_lent_are_the_same_as_those_that_are_not() {
        let slices: [std::sync::Arc<[u32]>; 2] = [(0..1000).collect(), (1000..2000).collect()];
        let (parents, mut rng) = (Parents::new(40, 1).unwrap(), fastrand::Rng::with_seed(5));
        let (mut expected, mut next, mut lent) = (std::collections::VecDeque::new(), 0_usize, 0);
        for _ in 0..5000 {
            if rng.bool() {
                let done = rng.usize(..=expected.len());
                expected.drain(..done);
                parents.release(0, done);
            } else {
                next = if rng.usize(..8) == 0 { rng.usize(..960) } else { next };
                let (slice, end) = (&slices[usize::from(rng.usize(..8) == 0)], next + rng.usize(..=parents.free()));
                let end = end.min(1000);
                let place = (rng.usize(..8) > 0).then_some((slice, next));
                let first = parents.storage().keep(&slice[next..end], place);
                expected.extend(slice[next..end].iter().enumerate().map(|(at, parent)| (first + at as u32, *parent)));
                next = if end == 1000 { 0 } else { end };
            }
            lent += usize::from(!parents.storage().lent.is_empty());
            assert_eq!(parents.free(), 40 - expected.len());
            assert!(expected.iter().all(|(number, parent)| parents.get(*number).as_deref() == Some(parent)));
        }
        assert!((500..4500).contains(&lent), "{lent}: some are lent, and some are not");
    }
}
