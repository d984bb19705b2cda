//! Vectors: elements one after the other.

use crate::access::frame::Place;
use crate::error::Result;
use crate::sync::Arc;

use super::indexed::Indexed;
use super::partition::Parts;
use super::piece::Shape;
use super::region::{Handle, Region, kind_of_region};

kind_of_region! {
    /// A vector, or a run of elements of one. Tasks see it as a slice.
    Vector
}

impl<T: Send + Sync + 'static> Region for Vector<T> {
    type Ref<'v> = &'v [T];
    type Mut<'v> = &'v mut [T];

    fn handle(&self) -> &Handle {
        &self.handle
    }

    unsafe fn from_handle(handle: Handle) -> Self {
        Self { handle, element: std::marker::PhantomData }
    }

    #[inline]
    unsafe fn view<'v>(place: Place<'v>) -> &'v [T] {
        let (address, len) = line::<T>(place);
        // SAFETY: the piece is a run of `len` elements at that address, which the caller may read.
        unsafe { std::slice::from_raw_parts(address, len) }
    }

    #[inline]
    unsafe fn view_mut<'v>(place: Place<'v>) -> &'v mut [T] {
        let (address, len) = line::<T>(place);
        // SAFETY: the piece is a run of `len` elements at that address, which the caller has for itself.
        unsafe { std::slice::from_raw_parts_mut(address, len) }
    }
}

#[inline]
pub(crate) fn line<T>(place: Place<'_>) -> (*mut T, usize) {
    let Shape::Line { first, len } = place.piece.shape else { unreachable!("a vector is a line") };
    let first = if place.compact { 0 } else { first };
    // Wrapping, as an empty region has no address to add to.
    (place.base.cast::<T>().wrapping_add(first), len)
}

impl<T: Send + Sync + 'static> Vector<T> {
    /// Cuts the vector into `count` runs whose lengths differ by at most one. The same call gives the same pieces again.
    ///
    /// # Errors
    /// When `count` is zero, or more than four billion.
    pub fn blocks(&self, count: usize) -> Result<Parts<Vector<T>>> {
        Ok(self.handle.parts(self.handle.blocks(count)?))
    }

    /// The blocks of [`Vector::blocks`], each with up to `width` more elements on both sides.
    ///
    /// # Errors
    /// As [`Vector::blocks`].
    pub fn halos(&self, count: usize, width: usize) -> Result<Parts<Vector<T>>> {
        Ok(self.handle.parts(self.handle.halos(count, width)?))
    }

    /// Cuts the vector into runs: a new one starts at each of the given elements. The same call gives the same pieces again.
    ///
    /// # Errors
    /// When the elements are not in ascending order, or one does not exist.
    pub fn runs(&self, starts: &[usize]) -> Result<Parts<Vector<T>>> {
        Ok(self.handle.parts(self.handle.runs(starts)?))
    }

    /// Cuts the vector by colour: piece `c` holds the elements whose colour is `c`.
    ///
    /// # Errors
    /// When there is not exactly one colour for each element.
    pub fn by_colour(&self, colours: &[u32]) -> Result<Parts<Indexed<T>>> {
        Ok(self.handle.parts(self.handle.by_colour(colours)?))
    }

    /// Cuts the vector into pieces given by lists of element numbers. Pieces may overlap, and must cover everything. The
    /// same lists give the same pieces again.
    ///
    /// # Errors
    /// When an element does not exist, or is in no piece.
    pub fn pieces(&self, lists: &[Vec<usize>]) -> Result<Parts<Indexed<T>>> {
        Ok(self.handle.parts(self.handle.lists(lists, true)?))
    }

    /// As [`Vector::pieces`], without having to cover everything.
    ///
    /// # Errors
    /// When an element does not exist.
    pub fn subsets(&self, lists: &[Vec<usize>]) -> Result<Parts<Indexed<T>>> {
        Ok(self.handle.parts(self.handle.lists(lists, false)?))
    }

    /// The same region without its element type: tasks find its elements themselves.
    pub fn erased(&self) -> super::erased::Erased {
        super::erased::Erased(self.handle.clone())
    }

    /// Waits for the tasks that were submitted before, and copies the elements out.
    ///
    /// # Errors
    /// As [`Region::read`].
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>>
    where
        T: Clone,
    {
        Ok(self.read()?.to_vec())
    }

    /// Waits for the tasks that were submitted before, and gives the elements back: without a copy when this is the last
    /// handle of the whole vector.
    ///
    /// # Errors
    /// As [`Region::read`].
    #[track_caller]
    pub fn into_vec(self) -> Result<Vec<T>>
    where
        T: Clone,
    {
        if !std::ptr::eq(self.handle.piece(), &*self.handle.tree().root) || Arc::strong_count(&self.handle.root) > 1 {
            return self.to_vec();
        }
        drop(self.write()?);
        // SAFETY: this is the only handle, and every task on the region is complete, so nobody has access to it or can
        // get it. The element type is that of the region.
        let data = unsafe { self.handle.tree().buffer_mut().take::<T>() };
        Ok(data)
    }
}
