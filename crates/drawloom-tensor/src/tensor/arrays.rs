//! Arrays of the library ndarray as tensors, and the other way round.

use ndarray::{Array, ArrayBase, ArrayViewD, Data, Dimension, IxDyn};

use crate::error::Fault;
use crate::tensor::element::Element;
use crate::tensor::{Tensor, View};

impl<T: Element, S: Data<Elem = T>, D: Dimension> From<&ArrayBase<S, D>> for Tensor {
    /// A copy of the elements, the last axis fastest whatever the array has.
    fn from(array: &ArrayBase<S, D>) -> Self {
        Self { shape: array.shape().to_vec(), data: T::wrap(array.iter().copied().collect()) }
    }
}

impl<T: Element, D: Dimension> From<Array<T, D>> for Tensor {
    /// The elements themselves, where the last axis is the fastest.
    fn from(array: Array<T, D>) -> Self {
        if !array.is_standard_layout() {
            return Self::from(&array);
        }
        let shape = array.shape().to_vec();
        match array.into_raw_vec_and_offset() {
            (values, None | Some(0)) if values.len() == shape.iter().product::<usize>() => {
                Self { shape, data: T::wrap(values) }
            }
            (values, offset) => {
                let first = offset.unwrap_or(0);
                let count: usize = shape.iter().product();
                Self { shape, data: T::wrap(values[first..first + count].to_vec()) }
            }
        }
    }
}

impl<'a> View<'a> {
    /// The same elements as a view of ndarray.
    pub fn to_array<T: Element>(&self) -> Result<ArrayViewD<'a, T>, Fault> {
        ArrayViewD::from_shape(IxDyn(self.shape()), self.values::<T>()?)
            .map_err(|error| Fault::new(format!("the shape {:?}: {error}", self.shape())))
    }
}
