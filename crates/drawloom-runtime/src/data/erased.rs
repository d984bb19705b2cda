//! Regions whose tasks find their elements themselves: what front ends with data structures of their own build upon.
//!
//! The views of other regions are made of references, so a task sees a piece of a region and nothing beside it. A loop over
//! a mesh goes through a table of element numbers instead, from many pieces of one region to wherever the table leads. It
//! declares the pieces, as every task does, and is ordered by them, but needs the address of the whole region to count from.

use std::marker::PhantomData;
use std::ops::Range;

use crate::access::frame::Place;

use super::piece::Shape;
use super::region::{Handle, Region, sealed};

/// A vector, or a run of elements of one, of any element type. Tasks that declare it are ordered as for the vector itself,
/// and receive the address of the first element of the whole region, which only `unsafe` code can follow.
///
/// Made by [`Vector::erased`](crate::Vector::erased).
#[derive(Clone, Debug)]
pub struct Erased(pub(crate) Handle);

/// Where the elements of an [`Erased`] region are that a task may read.
#[derive(Clone, Debug)]
pub struct ErasedRef<'v> {
    base: *const u8,
    elements: Range<usize>,
    task: PhantomData<&'v u8>,
}

/// Where the elements of an [`Erased`] region are that a task may change.
#[derive(Debug)]
pub struct ErasedMut<'v> {
    base: *mut u8,
    elements: Range<usize>,
    task: PhantomData<&'v mut u8>,
}

impl ErasedRef<'_> {
    /// The address of the first element of the whole region. Until the task ends, the elements that
    /// [`elements`](Self::elements) names may be read, and no others.
    pub fn base(&self) -> *const u8 {
        self.base
    }

    /// The elements that the task declared, counted from the first of the whole region.
    pub fn elements(&self) -> Range<usize> {
        self.elements.clone()
    }
}

impl ErasedMut<'_> {
    /// The address of the first element of the whole region. Until the task ends, the elements that
    /// [`elements`](Self::elements) names may be read and changed by it alone, and no others.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// The elements that the task declared, counted from the first of the whole region.
    pub fn elements(&self) -> Range<usize> {
        self.elements.clone()
    }
}

impl sealed::Sealed for Erased {}

impl Region for Erased {
    type Ref<'v> = ErasedRef<'v>;
    type Mut<'v> = ErasedMut<'v>;

    fn handle(&self) -> &Handle {
        &self.0
    }

    unsafe fn from_handle(handle: Handle) -> Self {
        Self(handle)
    }

    unsafe fn view<'v>(place: Place<'v>) -> ErasedRef<'v> {
        ErasedRef { base: place.base, elements: elements(place), task: PhantomData }
    }

    unsafe fn view_mut<'v>(place: Place<'v>) -> ErasedMut<'v> {
        ErasedMut { base: place.base, elements: elements(place), task: PhantomData }
    }
}

fn elements(place: Place<'_>) -> Range<usize> {
    // Only vectors are erased, and never reduced into, so the address is that of the whole region.
    let Shape::Line { first, len } = place.piece.shape else { unreachable!("a vector is a line") };
    first..first + len
}
