//! Making regions.

use super::Loom;
use crate::data::array::{Array, array_shape};
use crate::data::element::{self, Element};
use crate::data::matrix::{Matrix, matrix_shape};
use crate::data::piece::Shape;
use crate::data::region::{Handle, Region};
use crate::data::tree::{Buffer, ElementType};
use crate::data::value::Value;
use crate::data::vector::Vector;
use crate::error::{Error, ErrorKind, Result};

impl Loom {
    fn region<R: Region, T: 'static>(
        &self,
        name: impl Into<String>,
        data: Vec<T>,
        shape: Shape,
        element: ElementType,
        initialised: bool,
    ) -> R {
        let root = self.core().make_tree(name.into(), element, Buffer::new(data), shape, initialised);
        // SAFETY: callers, all of them below, ask for the kind that goes with the shape and the elements they give.
        unsafe { R::from_handle(Handle::whole(root)) }
    }

    /// Stores a vector of plain elements.
    pub fn vector<T: Element>(&self, name: impl Into<String>, data: Vec<T>) -> Vector<T> {
        let shape = Shape::Line { first: 0, len: data.len() };
        self.region(name, data, shape, ElementType::portable::<T>(), true)
    }

    /// A vector of plain elements without contents. Reading an element before it is written is an error.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn vector_without_contents<T: Element>(&self, name: impl Into<String>, len: usize) -> Result<Vector<T>> {
        let name = name.into();
        let room = zeros::<T>(&name, Some(len))?;
        Ok(self.region(name, room, Shape::Line { first: 0, len }, ElementType::portable::<T>(), false))
    }

    /// Stores a vector of elements of any type, which only workers of this process can use.
    pub fn host_vector<T: Send + Sync + 'static>(&self, name: impl Into<String>, data: Vec<T>) -> Vector<T> {
        let shape = Shape::Line { first: 0, len: data.len() };
        self.region(name, data, shape, ElementType::host::<T>(), true)
    }

    /// Stores one plain value.
    pub fn value<T: Element>(&self, name: impl Into<String>, value: T) -> Value<T> {
        self.region(name, vec![value], Shape::Line { first: 0, len: 1 }, ElementType::portable::<T>(), true)
    }

    /// One plain value without contents. Reading it before it is written is an error.
    pub fn value_without_contents<T: Element>(&self, name: impl Into<String>) -> Value<T> {
        // SAFETY: a value of zero bytes is valid for portable types.
        let room = vec![unsafe { std::mem::zeroed::<T>() }];
        self.region(name, room, Shape::Line { first: 0, len: 1 }, ElementType::portable::<T>(), false)
    }

    /// Stores one value of any type, which only workers of this process can use.
    pub fn host_value<T: Send + Sync + 'static>(&self, name: impl Into<String>, value: T) -> Value<T> {
        self.region(name, vec![value], Shape::Line { first: 0, len: 1 }, ElementType::host::<T>(), true)
    }

    /// Stores a matrix by columns, without gaps between them.
    ///
    /// # Errors
    /// When the data does not fit.
    pub fn matrix<T: Element>(
        &self,
        name: impl Into<String>,
        rows: usize,
        columns: usize,
        data: Vec<T>,
    ) -> Result<Matrix<T>> {
        self.matrix_with_leading(name, rows, columns, rows, data)
    }

    /// A matrix without contents, by columns without gaps between them. Reading an element before it is written is an error.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn matrix_without_contents<T: Element>(
        &self,
        name: impl Into<String>,
        rows: usize,
        columns: usize,
    ) -> Result<Matrix<T>> {
        let name = name.into();
        let room = zeros::<T>(&name, rows.checked_mul(columns))?;
        let shape = matrix_shape(&name, rows, columns, rows, room.len())?;
        Ok(self.region(name, room, shape, ElementType::portable::<T>(), false))
    }

    /// Stores a matrix by columns, each of which takes `leading` elements, of which the first `rows` are used.
    ///
    /// # Errors
    /// When the data does not fit.
    pub fn matrix_with_leading<T: Element>(
        &self,
        name: impl Into<String>,
        rows: usize,
        columns: usize,
        leading: usize,
        data: Vec<T>,
    ) -> Result<Matrix<T>> {
        let name = name.into();
        let shape = matrix_shape(&name, rows, columns, leading, data.len())?;
        Ok(self.region(name, data, shape, ElementType::portable::<T>(), true))
    }

    /// Stores an array of any number of dimensions, the last one fastest.
    ///
    /// # Errors
    /// When the data does not fit.
    pub fn array<T: Element, const N: usize>(
        &self,
        name: impl Into<String>,
        extents: [usize; N],
        data: Vec<T>,
    ) -> Result<Array<T, N>> {
        let name = name.into();
        let shape = array_shape(&name, extents, data.len())?;
        Ok(self.region(name, data, shape, ElementType::portable::<T>(), true))
    }

    /// An array without contents, the last dimension fastest. Reading an element before it is written is an error.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn array_without_contents<T: Element, const N: usize>(
        &self,
        name: impl Into<String>,
        extents: [usize; N],
    ) -> Result<Array<T, N>> {
        let name = name.into();
        let room = zeros::<T>(&name, extents.iter().try_fold(1_usize, |len, &extent| len.checked_mul(extent)))?;
        let shape = array_shape(&name, extents, room.len())?;
        Ok(self.region(name, room, shape, ElementType::portable::<T>(), false))
    }
}

/// Elements that are all zero, as many as a number that fits. The system gives such memory out untouched.
fn zeros<T: Element>(name: &str, len: Option<usize>) -> Result<Vec<T>> {
    let refuse = |what: String| Error::new(ErrorKind::Shape, format!("region `{name}`: there is no memory for {what}"));
    let len = len.ok_or_else(|| refuse(format!("more than {} elements", usize::MAX)))?;
    element::zeros(len).ok_or_else(|| refuse(format!("{len} elements of {} bytes", size_of::<T>())))
}
