//! Views of matrices and arrays: elements at fixed distances.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use crate::access::frame::Place;

use super::piece::Shape;

/// Extents, strides and start of a view.
struct Grid<T, const N: usize> {
    start: *mut T,
    extents: [usize; N],
    strides: [usize; N],
    /// The dimension along which neighbours lie next to each other in storage.
    along: usize,
}

impl<T, const N: usize> Clone for Grid<T, N> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, const N: usize> Copy for Grid<T, N> {}

impl<T, const N: usize> Grid<T, N> {
    #[inline]
    fn new(place: Place<'_>, along: usize) -> Self {
        let Shape::Strided { first, extents, strides } = &place.piece.shape else {
            unreachable!("matrices and arrays are strided")
        };
        let extents: [usize; N] = std::array::from_fn(|i| extents[i]);
        let mut strides: [usize; N] = std::array::from_fn(|i| strides[i]);
        let first = if place.compact {
            // Accumulators hold the elements in the order of the region's storage, without gaps: the dimensions keep
            // their order from the smallest stride to the greatest.
            let mut order: [usize; N] = std::array::from_fn(|i| i);
            order.sort_by_key(|&i| strides[i]);
            let mut stride = 1;
            for i in order {
                strides[i] = stride;
                // Wraps only where another extent is zero, and then there is no element to find.
                stride = stride.wrapping_mul(extents[i]);
            }
            0
        } else {
            *first
        };
        Self { start: place.base.cast::<T>().wrapping_add(first), extents, strides, along }
    }

    #[inline]
    fn find(&self, at: [usize; N]) -> Option<*mut T> {
        let mut offset = 0;
        for ((at, extent), stride) in at.iter().zip(&self.extents).zip(&self.strides) {
            if at >= extent {
                return None;
            }
            offset += at * stride;
        }
        Some(self.start.wrapping_add(offset))
    }

    #[cold]
    fn outside(&self, at: [usize; N]) -> ! {
        panic!("element {at:?} is outside of a view of extents {:?}", self.extents)
    }

    /// The address and length of all elements when they lie one after the other.
    fn slice(&self) -> Option<(*mut T, usize)> {
        if self.extents.contains(&0) {
            return Some((self.start, 0));
        }
        let mut order: [usize; N] = std::array::from_fn(|i| i);
        order.sort_by_key(|&i| (self.strides[i], self.extents[i]));
        let mut expected = 1;
        for i in order {
            if self.extents[i] > 1 && self.strides[i] != expected {
                return None;
            }
            // As above.
            expected = expected.wrapping_mul(self.extents[i]);
        }
        Some((self.start, self.extents.iter().product()))
    }

    /// The address and length of the run of neighbours through a place, whose number along the run is of no matter.
    fn run(&self, at: [usize; N]) -> Option<(*mut T, usize)> {
        let Self { along, extents, .. } = *self;
        debug_assert!(along == N || extents[along] <= 1 || self.strides[along] == 1);
        let mut from = at;
        *from.get_mut(along)? = 0;
        let others = (0..N).filter(|&i| i != along).all(|i| at[i] < extents[i]);
        if extents[along] == 0 && others {
            return Some((self.start, 0));
        }
        Some((self.find(from)?, extents[along]))
    }
}

/// A matrix or array to read, or a tile of one.
pub struct StridedRef<'v, T, const N: usize>(Grid<T, N>, PhantomData<&'v [T]>);
/// A matrix or array to change, or a tile of one.
pub struct StridedMut<'v, T, const N: usize>(Grid<T, N>, PhantomData<&'v mut [T]>);
/// A matrix to read, or a tile of one.
pub type MatrixRef<'v, T> = StridedRef<'v, T, 2>;
/// A matrix to change, or a tile of one.
pub type MatrixMut<'v, T> = StridedMut<'v, T, 2>;

// SAFETY: it is a shared reference to elements.
unsafe impl<T: Sync, const N: usize> Send for StridedRef<'_, T, N> {}
// SAFETY: as above.
unsafe impl<T: Sync, const N: usize> Sync for StridedRef<'_, T, N> {}
// SAFETY: it is a mutable reference to elements.
unsafe impl<T: Send, const N: usize> Send for StridedMut<'_, T, N> {}
// SAFETY: as above; sharing it gives only shared references.
unsafe impl<T: Sync, const N: usize> Sync for StridedMut<'_, T, N> {}

impl<T, const N: usize> Clone for StridedRef<'_, T, N> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, const N: usize> Copy for StridedRef<'_, T, N> {}

impl<'v, T, const N: usize> StridedRef<'v, T, N> {
    /// # Safety
    /// As `Region::view`.
    pub(crate) unsafe fn new(place: Place<'v>, along: usize) -> Self {
        Self(Grid::new(place, along), PhantomData)
    }

    /// How many elements each dimension has.
    pub fn extents(&self) -> [usize; N] {
        self.0.extents
    }

    /// The distance between neighbours in each dimension, in elements.
    pub fn strides(&self) -> [usize; N] {
        self.0.strides
    }

    /// One element, if it exists.
    #[inline]
    pub fn get(&self, at: [usize; N]) -> Option<&'v T> {
        // SAFETY: addresses found are those of elements of the view.
        self.0.find(at).map(|address| unsafe { &*address })
    }

    /// All elements as one slice, when they lie one after the other in storage.
    pub fn as_slice(&self) -> Option<&'v [T]> {
        // SAFETY: the elements from the start on are exactly those of the view.
        self.0.slice().map(|(address, len)| unsafe { std::slice::from_raw_parts(address, len) })
    }

    /// The run of neighbouring elements through a place: a column of a matrix, or a row of an array. The place's number
    /// along the run is of no matter.
    pub fn run(&self, at: [usize; N]) -> Option<&'v [T]> {
        // SAFETY: the run consists of elements of the view.
        self.0.run(at).map(|(address, len)| unsafe { std::slice::from_raw_parts(address, len) })
    }

    /// The address of the first element, for kernels that take addresses and strides.
    pub fn as_ptr(&self) -> *const T {
        self.0.start
    }
}

impl<'v, T, const N: usize> StridedMut<'v, T, N> {
    /// # Safety
    /// As `Region::view_mut`.
    pub(crate) unsafe fn new(place: Place<'v>, along: usize) -> Self {
        Self(Grid::new(place, along), PhantomData)
    }

    /// A range of the elements along one dimension. Neighbours in storage lie `along` another one, or the same.
    ///
    /// # Safety
    /// As `Region::view_mut`, for the elements in the range.
    pub(crate) unsafe fn part(
        place: Place<'v>,
        along: usize,
        dimension: usize,
        range: impl FnOnce(usize) -> std::ops::Range<usize>,
    ) -> Self {
        let mut grid = Grid::<T, N>::new(place, along);
        let range = range(grid.extents[dimension]);
        grid.start = grid.start.wrapping_add(range.start * grid.strides[dimension]);
        grid.extents[dimension] = range.len();
        Self(grid, PhantomData)
    }

    /// The same elements, to read.
    pub fn as_ref(&self) -> StridedRef<'_, T, N> {
        StridedRef(self.0, PhantomData)
    }

    /// How many elements each dimension has.
    pub fn extents(&self) -> [usize; N] {
        self.0.extents
    }

    /// The distance between neighbours in each dimension, in elements.
    pub fn strides(&self) -> [usize; N] {
        self.0.strides
    }

    /// One element, if it exists.
    #[inline]
    pub fn get_mut(&mut self, at: [usize; N]) -> Option<&mut T> {
        // SAFETY: addresses found are those of elements of the view, and the view is borrowed mutably.
        self.0.find(at).map(|address| unsafe { &mut *address })
    }

    /// All elements as one slice, when they lie one after the other in storage.
    pub fn as_slice_mut(&mut self) -> Option<&mut [T]> {
        // SAFETY: the elements from the start on are exactly those of the view, which is borrowed mutably.
        self.0.slice().map(|(address, len)| unsafe { std::slice::from_raw_parts_mut(address, len) })
    }

    /// The run of neighbouring elements through a place: a column of a matrix, or a row of an array. The place's number
    /// along the run is of no matter.
    pub fn run_mut(&mut self, at: [usize; N]) -> Option<&mut [T]> {
        // SAFETY: the run consists of elements of the view, which is borrowed mutably.
        self.0.run(at).map(|(address, len)| unsafe { std::slice::from_raw_parts_mut(address, len) })
    }

    /// The address of the first element, for kernels that take addresses and strides.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.0.start
    }
}

impl<T> StridedRef<'_, T, 2> {
    /// How many rows the matrix has.
    pub fn rows(&self) -> usize {
        self.0.extents[0]
    }

    /// How many columns the matrix has.
    pub fn columns(&self) -> usize {
        self.0.extents[1]
    }

    /// The distance between the starts of two columns, in elements.
    pub fn leading(&self) -> usize {
        self.0.strides[1]
    }
}

impl<T> StridedMut<'_, T, 2> {
    /// How many rows the matrix has.
    pub fn rows(&self) -> usize {
        self.0.extents[0]
    }

    /// How many columns the matrix has.
    pub fn columns(&self) -> usize {
        self.0.extents[1]
    }

    /// The distance between the starts of two columns, in elements.
    pub fn leading(&self) -> usize {
        self.0.strides[1]
    }
}

impl<T, const N: usize> Index<[usize; N]> for StridedRef<'_, T, N> {
    type Output = T;
    #[inline]
    fn index(&self, at: [usize; N]) -> &T {
        self.get(at).unwrap_or_else(|| self.0.outside(at))
    }
}

impl<T, const N: usize> Index<[usize; N]> for StridedMut<'_, T, N> {
    type Output = T;
    #[inline]
    fn index(&self, at: [usize; N]) -> &T {
        self.as_ref().get(at).unwrap_or_else(|| self.0.outside(at))
    }
}

impl<T, const N: usize> IndexMut<[usize; N]> for StridedMut<'_, T, N> {
    #[inline]
    fn index_mut(&mut self, at: [usize; N]) -> &mut T {
        match self.0.find(at) {
            // SAFETY: addresses found are those of elements of the view, which is borrowed mutably.
            Some(address) => unsafe { &mut *address },
            None => self.0.outside(at),
        }
    }
}
