//! Lists of pieces.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::sync::Arc;

use super::region::{Handle, Region};
use super::tree::{Partition, Root};

/// The pieces of a region, as an iterator of regions. Cloning it starts over from the same place.
pub struct Parts<R> {
    root: Arc<Root>,
    partition: NonNull<Partition>,
    next: usize,
    end: usize,
    kind: PhantomData<fn(R) -> R>,
}

// SAFETY: partitions are immutable and live as long as their root.
unsafe impl<R> Send for Parts<R> {}
// SAFETY: as above.
unsafe impl<R> Sync for Parts<R> {}

impl<R> Clone for Parts<R> {
    fn clone(&self) -> Self {
        Self { root: Arc::clone(&self.root), kind: PhantomData, ..*self }
    }
}

impl<R: Region> Parts<R> {
    pub(crate) fn new(root: &Arc<Root>, partition: NonNull<Partition>) -> Self {
        // SAFETY: the partition belongs to the root's tree.
        let end = unsafe { partition.as_ref() }.pieces.len();
        Self { root: Arc::clone(root), partition, next: 0, end, kind: PhantomData }
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
        (self.next < self.end).then(|| {
            self.next += 1;
            self.get(self.next - 1).expect("the range is within the list")
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }
}

impl<R: Region> DoubleEndedIterator for Parts<R> {
    fn next_back(&mut self) -> Option<R> {
        (self.next < self.end).then(|| {
            self.end -= 1;
            self.get(self.end).expect("the range is within the list")
        })
    }
}

impl<R: Region> ExactSizeIterator for Parts<R> {}
