//! Lists of pieces.

use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;

use crate::sync::Arc;

use super::region::{Handle, Region};
use super::tree::{Partition, Root};

/// The pieces of a region, as an iterator of regions. Cloning it starts over from the same place.
pub struct Parts<R> {
    root: Arc<Root>,
    partition: NonNull<Partition>,
    /// The numbers of the pieces that are left.
    numbers: Range<usize>,
    kind: PhantomData<fn(R) -> R>,
}

// SAFETY: partitions are immutable and live as long as their root.
unsafe impl<R> Send for Parts<R> {}
// SAFETY: as above.
unsafe impl<R> Sync for Parts<R> {}

impl<R> Clone for Parts<R> {
    fn clone(&self) -> Self {
        Self { root: Arc::clone(&self.root), numbers: self.numbers.clone(), ..*self }
    }
}

impl<R: Region> Parts<R> {
    pub(crate) fn new(root: &Arc<Root>, partition: NonNull<Partition>) -> Self {
        // SAFETY: the partition belongs to the root's tree.
        let numbers = 0..unsafe { partition.as_ref() }.pieces.len();
        Self { root: Arc::clone(root), partition, numbers, kind: PhantomData }
    }

    fn partition(&self) -> &Partition {
        // SAFETY: partitions live as long as their tree, which the root keeps.
        unsafe { self.partition.as_ref() }
    }

    /// The piece with a number, counted from the first of the whole list.
    pub fn get(&self, index: usize) -> Option<R> {
        let piece = self.partition().pieces.get(index)?;
        let handle = Handle::new(Arc::clone(&self.root), NonNull::from(piece));
        // SAFETY: whoever made the list cut the region into pieces of this kind, of the region's own element type.
        Some(unsafe { R::from_handle(handle) })
    }

    /// How many pieces the whole list has.
    pub fn count_all(&self) -> usize {
        self.partition().pieces.len()
    }

    /// Whether no two pieces share an element.
    pub fn is_disjoint(&self) -> bool {
        self.partition().disjoint
    }
}

impl<R: Region> Iterator for Parts<R> {
    type Item = R;

    fn next(&mut self) -> Option<R> {
        let number = self.numbers.next()?;
        self.get(number)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.numbers.size_hint()
    }
}

impl<R: Region> DoubleEndedIterator for Parts<R> {
    fn next_back(&mut self) -> Option<R> {
        let number = self.numbers.next_back()?;
        self.get(number)
    }
}

impl<R: Region> ExactSizeIterator for Parts<R> {}
