//! Where the rows of a batch come from.

use crate::error::{ErrorKind, Fault};
use crate::tensor::around;
use crate::tensor::element::ElementType;
use crate::tensor::{Tensor, View};

/// Rows that can be read in pieces: a tensor in memory, or a file of which only the piece in use is there.
pub trait Rows: Send + Sync {
    /// The type of the elements.
    fn element(&self) -> ElementType;

    /// The shape of all rows together.
    fn shape(&self) -> &[usize];

    /// Fills a tensor with some of the rows, which are counted along an axis. Its length along that axis says how many.
    /// A value without axes is read as a whole.
    fn read(&self, axis: usize, first: usize, into: &mut Tensor) -> Result<(), Fault>;

    /// How many bytes reading takes at most, beside the tensor that is filled. It is part of what a plan predicts.
    fn memory(&self) -> usize {
        0
    }
}

/// Where the rows of an output go as they are computed, so that they need not all be in memory.
pub trait RowSink: Send + Sync {
    /// Is told the type and shape of all rows together, before the first of them.
    fn begin(&self, element: ElementType, shape: &[usize]) -> Result<(), Fault>;

    /// Takes the rows of a piece, from a row on. Pieces come in any order, and from several workers.
    fn write(&self, first: usize, rows: View<'_>) -> Result<(), Fault>;
}

impl Rows for Tensor {
    fn element(&self) -> ElementType {
        Tensor::element(self)
    }

    fn shape(&self) -> &[usize] {
        Tensor::shape(self)
    }

    fn read(&self, axis: usize, first: usize, into: &mut Tensor) -> Result<(), Fault> {
        read_view(self.view(), axis, first, into)
    }
}

/// Copies some of the rows of a view.
pub(crate) fn read_view(view: View<'_>, axis: usize, first: usize, into: &mut Tensor) -> Result<(), Fault> {
    if view.rank() == 0 && into.shape().is_empty() {
        return into.fill_from(view);
    }
    let rows = into.shape().get(axis).copied().unwrap_or(0);
    let fits = axis < view.rank()
        && first.checked_add(rows).is_some_and(|end| end <= view.shape()[axis])
        && into.shape().len() == view.rank()
        && (0..view.rank()).all(|other| other == axis || into.shape()[other] == view.shape()[other]);
    if !fits {
        let message = format!(
            "{rows} rows from {first} along axis {axis} of the shape {:?} do not have the shape {:?}",
            view.shape(),
            into.shape()
        );
        return Err(Fault::of(ErrorKind::Input, message));
    }
    let (outer, length, inner) = around(view.shape(), axis);
    let places = |block: usize| ((block * length + first) * inner, block * rows * inner);
    into.copy_runs(view, rows * inner, &mut (0..outer).map(places))
}
