//! Scattered elements of a vector: pieces by colour, by list, and halos of unstructured data.

use std::marker::PhantomData;

use drawloom_graph::IndexSet;

use crate::access::frame::Place;

use super::region::{Handle, Region, kind_of_region};

kind_of_region! {
    /// Elements of a vector at given places. Tasks see them by their numbers in the whole vector.
    Indexed
}

impl<T: Send + Sync + 'static> Region for Indexed<T> {
    type Ref<'v> = IndexedRef<'v, T>;
    type Mut<'v> = IndexedMut<'v, T>;

    fn handle(&self) -> &Handle {
        &self.handle
    }

    unsafe fn from_handle(handle: Handle) -> Self {
        Self { handle, element: PhantomData }
    }

    unsafe fn view<'v>(place: Place<'v>) -> IndexedRef<'v, T> {
        IndexedRef(Elements::new(place), PhantomData)
    }

    unsafe fn view_mut<'v>(place: Place<'v>) -> IndexedMut<'v, T> {
        IndexedMut(Elements::new(place), PhantomData)
    }
}

impl<T: Send + Sync + 'static> Indexed<T> {
    /// The numbers of the elements in the whole vector.
    pub fn indices(&self) -> &IndexSet {
        &self.handle.piece().indices
    }
}

/// Where the elements of a view are.
struct Elements<'v, T> {
    base: *mut T,
    indices: &'v IndexSet,
    compact: bool,
}

impl<T> Clone for Elements<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Elements<'_, T> {}

impl<'v, T> Elements<'v, T> {
    fn new(place: Place<'v>) -> Self {
        Self { base: place.base.cast(), indices: &place.piece.indices, compact: place.compact }
    }

    /// The address of the element with a number in the whole vector.
    fn find(&self, index: usize) -> Option<*mut T> {
        let runs = self.indices.runs();
        if !self.compact {
            return self.indices.contains(index as u64).then(|| self.base.wrapping_add(index));
        }
        let mut before = 0;
        for run in runs {
            if (run.start..run.end).contains(&(index as u64)) {
                return Some(self.base.wrapping_add(before + (index as u64 - run.start) as usize));
            }
            before += (run.end - run.start) as usize;
        }
        None
    }

    /// First number, address and length of each run.
    fn runs(self) -> impl Iterator<Item = (usize, *mut T, usize)> + use<'v, T> {
        let mut before = 0;
        self.indices.runs().iter().map(move |run| {
            let len = (run.end - run.start) as usize;
            let at = if self.compact { before } else { run.start as usize };
            before += len;
            (run.start as usize, self.base.wrapping_add(at), len)
        })
    }
}

/// Scattered elements to read.
pub struct IndexedRef<'v, T>(Elements<'v, T>, PhantomData<&'v [T]>);

// SAFETY: it is a shared reference to elements.
unsafe impl<T: Sync> Send for IndexedRef<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for IndexedRef<'_, T> {}

impl<T> Clone for IndexedRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for IndexedRef<'_, T> {}

impl<'v, T> IndexedRef<'v, T> {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.0.indices.len() as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element with a number in the whole vector, if it is in this piece.
    pub fn get(&self, index: usize) -> Option<&'v T> {
        // SAFETY: addresses found are those of elements of the piece, which this view may read.
        self.0.find(index).map(|address| unsafe { &*address })
    }

    /// The runs of neighbouring elements, each with the number of its first.
    pub fn runs(&self) -> impl Iterator<Item = (usize, &'v [T])> + use<'v, T> {
        // SAFETY: as in `get`.
        self.0.runs().map(|(first, address, len)| (first, unsafe { std::slice::from_raw_parts(address, len) }))
    }

    /// All elements with their numbers, by number.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &'v T)> + use<'v, T> {
        self.runs().flat_map(|(first, run)| run.iter().enumerate().map(move |(i, element)| (first + i, element)))
    }
}

impl<T> std::ops::Index<usize> for IndexedRef<'_, T> {
    type Output = T;
    fn index(&self, index: usize) -> &T {
        self.get(index).unwrap_or_else(|| panic!("element {index} is not in this piece"))
    }
}

/// Scattered elements to change.
pub struct IndexedMut<'v, T>(Elements<'v, T>, PhantomData<&'v mut [T]>);

// SAFETY: it is a mutable reference to elements.
unsafe impl<T: Send> Send for IndexedMut<'_, T> {}
// SAFETY: as above; sharing it gives only shared references.
unsafe impl<T: Sync> Sync for IndexedMut<'_, T> {}

impl<'v, T> IndexedMut<'v, T> {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.0.indices.len() as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same elements, to read.
    pub fn as_ref(&self) -> IndexedRef<'_, T> {
        IndexedRef(self.0, PhantomData)
    }

    /// The element with a number in the whole vector, if it is in this piece.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        // SAFETY: addresses found are those of elements of the piece, which this view has for itself.
        self.0.find(index).map(|address| unsafe { &mut *address })
    }

    /// The runs of neighbouring elements, each with the number of its first.
    pub fn runs_mut(&mut self) -> impl Iterator<Item = (usize, &mut [T])> {
        // SAFETY: as in `get_mut`; runs do not overlap.
        self.0.runs().map(|(first, address, len)| (first, unsafe { std::slice::from_raw_parts_mut(address, len) }))
    }

    /// All elements with their numbers, by number.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut T)> {
        self.runs_mut()
            .flat_map(|(first, run)| run.iter_mut().enumerate().map(move |(i, element)| (first + i, element)))
    }
}

impl<T> std::ops::Index<usize> for IndexedMut<'_, T> {
    type Output = T;
    fn index(&self, index: usize) -> &T {
        self.as_ref().get(index).unwrap_or_else(|| panic!("element {index} is not in this piece"))
    }
}

impl<T> std::ops::IndexMut<usize> for IndexedMut<'_, T> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        self.get_mut(index).unwrap_or_else(|| panic!("element {index} is not in this piece"))
    }
}
