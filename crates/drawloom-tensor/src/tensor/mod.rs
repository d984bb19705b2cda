//! Tensors: elements of one type in a shape, the last axis fastest.

#[cfg(feature = "ndarray")]
mod arrays;
pub(crate) mod element;
#[allow(unsafe_code)]
pub(crate) mod memory;
pub(crate) mod number;

use std::sync::Arc;

use crate::error::{ErrorKind, Fault};
use crate::with_type;
use element::{Data, Element, ElementType, Slice};
use memory::{Arena, Loan};

/// A tensor that owns its elements.
///
/// While a plan counts what does not fit into memory, there are tensors that are absent: they have a type and a shape, and no
/// elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    shape: Vec<usize>,
    data: Data,
}

/// A tensor that belongs to somebody else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View<'a> {
    shape: &'a [usize],
    data: Slice<'a>,
}

/// A shape as the elements before an axis, along it, and behind it.
pub fn around(shape: &[usize], axis: usize) -> (usize, usize, usize) {
    (shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product())
}

/// How many elements a shape has, unless that is more than a machine can count.
pub fn count(shape: &[usize]) -> Result<usize, Fault> {
    // A zero makes the tensor empty, but kernels also count parts of its axes: those must not overflow either.
    let product = shape.iter().try_fold(1usize, |product, axis| product.checked_mul((*axis).max(1)));
    match product.filter(|count| *count <= isize::MAX as usize / 8) {
        Some(_) if shape.contains(&0) => Ok(0),
        Some(count) => Ok(count),
        None => {
            let message = format!("a tensor of shape {shape:?} has more elements than memory");
            Err(Fault::of(ErrorKind::Memory, message))
        }
    }
}

impl Tensor {
    /// A tensor of a shape, with its elements in order.
    pub fn new<T: Element>(shape: &[usize], values: Vec<T>) -> Result<Self, Fault> {
        if count(shape)? != values.len() {
            return Err(Fault::new(format!("{} elements do not fill the shape {shape:?}", values.len())));
        }
        Ok(Self { shape: shape.to_vec(), data: T::wrap(values) })
    }

    /// A tensor without axes.
    pub fn scalar<T: Element>(value: T) -> Self {
        Self { shape: Vec::new(), data: T::wrap(vec![value]) }
    }

    /// A tensor of zeros.
    pub fn zeros(element: ElementType, shape: &[usize]) -> Result<Self, Fault> {
        Ok(Self { shape: shape.to_vec(), data: Data::zeros(element, count(shape)?)? })
    }

    /// A tensor without its elements.
    pub fn absent(element: ElementType, shape: &[usize]) -> Result<Self, Fault> {
        count(shape)?;
        Ok(Self { shape: shape.to_vec(), data: Data::zeros(element, 0)? })
    }

    /// Whether its elements are not there.
    pub fn is_absent(&self) -> bool {
        self.view().is_absent()
    }

    /// A tensor at a place of an arena, with whatever is in it.
    pub(crate) fn in_arena(
        element: ElementType,
        shape: &[usize],
        arena: &Arc<Arena>,
        offset: usize,
    ) -> Result<Self, Fault> {
        let count = count(shape)?;
        let data = with_type!(all, element, T => Loan::<T>::new(arena, offset, count).map(T::wrap_loan))?;
        Ok(Self { shape: shape.to_vec(), data })
    }

    /// Borrows it.
    pub fn view(&self) -> View<'_> {
        View { shape: &self.shape, data: self.data.slice() }
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The type of its elements.
    pub fn element(&self) -> ElementType {
        self.data.slice().element()
    }

    /// How many bytes its elements take.
    pub fn bytes(&self) -> usize {
        self.view().bytes()
    }

    /// Its elements in order.
    pub fn values<T: Element>(&self) -> Result<&[T], Fault> {
        self.view().values()
    }

    /// Its elements in order, to change.
    pub fn values_mut<T: Element>(&mut self) -> Result<&mut [T], Fault> {
        let found = self.element();
        if self.is_absent() {
            return Err(Fault::absent());
        }
        T::data_mut(&mut self.data).ok_or_else(|| wrong_type(T::TYPE, found))
    }

    /// Copies the elements of a view of the same type and as many elements.
    pub(crate) fn fill_from(&mut self, view: View<'_>) -> Result<(), Fault> {
        let (into, from) = (self.view().len(), view.len());
        if into != from {
            return Err(Fault::new(format!("{from} elements do not fill {into}")));
        }
        self.fill_front(view)
    }

    /// Copies runs of elements of a view of the same type, each from one place to another.
    pub(crate) fn copy_runs(
        &mut self,
        view: View<'_>,
        run: usize,
        places: &mut dyn Iterator<Item = (usize, usize)>,
    ) -> Result<(), Fault> {
        with_type!(all, view.element(), T => {
            let (into, from) = (self.values_mut::<T>()?, view.values::<T>()?);
            places.for_each(|(from_at, at)| into[at..at + run].copy_from_slice(&from[from_at..from_at + run]));
            Ok(())
        })
    }

    /// Makes all elements zero.
    pub(crate) fn clear(&mut self) -> Result<(), Fault> {
        with_type!(all, self.element(), T => {
            self.values_mut::<T>()?.fill(T::default());
            Ok(())
        })
    }

    /// Another shape for the same elements.
    pub fn reshaped(mut self, shape: &[usize]) -> Result<Self, Fault> {
        if count(shape)? != self.view().len() {
            return Err(Fault::new(format!("the elements of shape {:?} do not fill the shape {shape:?}", self.shape)));
        }
        self.shape = shape.to_vec();
        Ok(self)
    }

    /// Copies the elements of a view of the same type to the front.
    pub(crate) fn fill_front(&mut self, view: View<'_>) -> Result<(), Fault> {
        let (count, from) = (self.view().len(), view.len());
        if from > count {
            return Err(Fault::new(format!("{from} elements do not fit into {count}")));
        }
        self.copy_runs(view, from, &mut std::iter::once((0, 0)))
    }

    /// Another length for the first axis, not more than it has: later rows are lost.
    pub(crate) fn keep_rows(&mut self, rows: usize) -> Result<(), Fault> {
        self.shape[0] = self.shape[0].min(rows);
        self.data.truncate(count(&self.shape)?);
        Ok(())
    }
}

impl<'a> View<'a> {
    /// A view of elements in a shape.
    pub fn new<T: Element>(shape: &'a [usize], values: &'a [T]) -> Result<Self, Fault> {
        if count(shape)? != values.len() {
            return Err(Fault::new(format!("{} elements do not fill the shape {shape:?}", values.len())));
        }
        Ok(Self { shape, data: T::wrap_slice(values) })
    }

    /// The length of each axis.
    pub fn shape(&self) -> &'a [usize] {
        self.shape
    }

    /// How many axes there are.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The type of its elements.
    pub fn element(&self) -> ElementType {
        self.data.element()
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes its elements take.
    pub fn bytes(&self) -> usize {
        self.len() * self.element().size()
    }

    /// Whether its elements are not there.
    pub fn is_absent(&self) -> bool {
        self.data.len() != self.len()
    }

    /// Its elements in order.
    pub fn values<T: Element>(&self) -> Result<&'a [T], Fault> {
        if self.is_absent() {
            return Err(Fault::absent());
        }
        T::slice(&self.data).ok_or_else(|| wrong_type(T::TYPE, self.element()))
    }

    /// Its elements in order, of whatever type.
    pub fn slice(&self) -> Slice<'a> {
        self.data
    }

    /// The same elements in another shape.
    pub fn with_shape<'b>(self, shape: &'b [usize]) -> Result<View<'b>, Fault>
    where
        'a: 'b,
    {
        if count(shape)? != self.len() {
            return Err(Fault::new(format!("the elements of shape {:?} do not fill the shape {shape:?}", self.shape)));
        }
        Ok(View { shape, data: self.data })
    }

    /// A copy that owns its elements.
    pub fn to_tensor(&self) -> Tensor {
        Tensor { shape: self.shape.to_vec(), data: self.data.to_data() }
    }

    /// The only element.
    pub fn only<T: Element>(&self) -> Result<T, Fault> {
        match self.values::<T>()? {
            [value] => Ok(*value),
            _ => Err(Fault::new(format!("expected one element, found the shape {:?}", self.shape))),
        }
    }

    /// The elements as integers, from either integer type that shapes and axes are written in.
    pub fn integers(&self) -> Result<Vec<i64>, Fault> {
        match self.data {
            _ if self.is_absent() => Err(Fault::absent()),
            Slice::I64(values) => Ok(values.to_vec()),
            Slice::I32(values) => Ok(values.iter().map(|value| i64::from(*value)).collect()),
            _ => Err(Fault::new(format!("expected integers, found {}", self.element()))),
        }
    }
}

fn wrong_type(expected: ElementType, found: ElementType) -> Fault {
    Fault::new(format!("expected elements of type {expected}, found {found}"))
}
