//! Arrays of any number of dimensions, stored with the last dimension fastest.

use std::marker::PhantomData;

use crate::access::frame::Place;
use crate::error::{Error, ErrorKind, Result};

use super::matrix::cut_into_tiles;
use super::partition::Parts;
use super::piece::Shape;
use super::region::{Handle, Region, Unordered, sealed};
use super::strided::{StridedMut, StridedRef};
use super::tree::Cut;

/// An array of `N` dimensions, or a tile of one.
pub struct Array<T, const N: usize> {
    handle: Handle,
    element: PhantomData<fn(T) -> T>,
}

impl<T, const N: usize> Clone for Array<T, N> {
    fn clone(&self) -> Self {
        Self { handle: self.handle.clone(), element: PhantomData }
    }
}

impl<T, const N: usize> std::fmt::Debug for Array<T, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Array({:?})", self.handle)
    }
}

impl<T, const N: usize> sealed::Sealed for Array<T, N> {}

impl<T: Send + Sync + 'static, const N: usize> Region for Array<T, N> {
    type Ref<'v> = StridedRef<'v, T, N>;
    type Mut<'v> = StridedMut<'v, T, N>;

    fn handle(&self) -> &Handle {
        &self.handle
    }

    unsafe fn from_handle(handle: Handle) -> Self {
        Self { handle, element: PhantomData }
    }

    #[inline]
    unsafe fn view<'v>(place: Place<'v>) -> StridedRef<'v, T, N> {
        // SAFETY: promised by the caller.
        unsafe { StridedRef::new(place, N.saturating_sub(1)) }
    }

    #[inline]
    unsafe fn view_mut<'v>(place: Place<'v>) -> StridedMut<'v, T, N> {
        // SAFETY: promised by the caller.
        unsafe { StridedMut::new(place, N.saturating_sub(1)) }
    }
}

/// The shape of a whole array, if the data fits it.
pub(crate) fn array_shape<const N: usize>(name: &str, extents: [usize; N], len: usize) -> Result<Shape> {
    let product = extents.iter().try_fold(1usize, |product, &e| product.checked_mul(e));
    if product != Some(len) {
        return Err(Error::new(
            ErrorKind::Shape,
            format!("array `{name}`: extents {extents:?} do not make {len} elements"),
        ));
    }
    let mut strides = [1_usize; N];
    for i in (1..N).rev() {
        // Wraps only where another extent is zero, and then there is no element to find.
        strides[i - 1] = strides[i].wrapping_mul(extents[i]);
    }
    Ok(Shape::Strided { first: 0, extents: Box::new(extents), strides: Box::new(strides) })
}

impl<T: Send + Sync + 'static, const N: usize> Array<T, N> {
    /// How many elements each dimension has.
    pub fn extents(&self) -> [usize; N] {
        match &self.handle.piece().shape {
            Shape::Strided { extents, .. } => std::array::from_fn(|i| extents[i]),
            _ => unreachable!("arrays are strided"),
        }
    }

    /// Cuts the array into tiles of the given extents, those at the end possibly smaller; the first dimension fastest. The
    /// same call gives the same tiles again.
    ///
    /// # Errors
    /// When an extent is zero, or there would be so many tiles that they would take all memory.
    pub fn tiles(&self, extents: [usize; N]) -> Result<Parts<Array<T, N>>> {
        Ok(self.handle.parts(cut_into_tiles(&self.handle, &extents, &[0; N], Cut::tiles("grid", &extents))?))
    }

    /// The tiles of [`Array::tiles`], each with up to so many more elements on both sides of each dimension.
    ///
    /// # Errors
    /// As [`Array::tiles`].
    pub fn halo_tiles(&self, extents: [usize; N], width: [usize; N]) -> Result<Parts<Array<T, N>>> {
        Ok(self.handle.parts(cut_into_tiles(&self.handle, &extents, &width, Cut::halos(&extents, &width))?))
    }

    /// The same region, left out of the order of tasks.
    ///
    /// # Safety
    /// As [`Vector::unordered`](super::vector::Vector::unordered).
    pub unsafe fn unordered(&self) -> Unordered<Self> {
        Unordered(self.clone())
    }
}
