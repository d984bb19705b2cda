//! Results of several iterations, put together.

use crate::error::{ErrorKind, Fault};
use crate::graph::Placement;
use crate::run::room::Room;
use crate::tensor::element::{Element, ElementType};
use crate::tensor::{Tensor, View, count};
use crate::with_type;

/// Which rows of an output a value is.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// The first of them.
    pub(super) first: u64,
    /// Whether there may be others.
    pub(super) in_loop: bool,
    /// How many rows the output will have, as far as that is known.
    pub(super) expected: u64,
    /// How many it may have.
    pub(super) most: u64,
}

/// One output, as far as it is there.
///
/// Rows are kept along the first axis while they arrive, so that new ones go behind all others; the axis goes to its place
/// when everything is there.
pub(super) struct Gathered {
    placement: Placement,
    /// There may be memory for more rows than there are.
    tensor: Option<Tensor>,
    /// How many rows there are, if they are put together.
    rows: Option<usize>,
    /// Whether rows lie along the first axis, and the result has them along another one.
    turned: bool,
}

impl Gathered {
    pub(super) fn new(placement: Placement) -> Self {
        Self { placement, tensor: None, rows: None, turned: false }
    }

    /// Puts a value where it belongs, and says how many rows it has.
    pub(super) fn add(&mut self, view: View<'_>, place: Rows, room: &Room) -> Result<u64, Fault> {
        let axis = match self.placement {
            Placement::Rows { axis } => axis,
            Placement::Fixed => {
                self.set(view, room)?;
                return Ok(0);
            }
        };
        if axis >= view.rank() {
            if place.in_loop || view.rank() > 0 {
                return Err(wrong(format!(
                    "it has no axis {axis} to count rows along: its shape is {:?}",
                    view.shape()
                )));
            }
            self.set(view, room)?;
            return Ok(1);
        }
        let Rows { first, most, .. } = place;
        let rows = view.shape()[axis] as u64;
        let end = first.checked_add(rows).filter(|end| *end <= most);
        let Some(end) = end.and_then(|end| usize::try_from(end).ok()) else {
            return Err(wrong(format!("rows {first} to {first} + {rows} do not fit into {most} rows")));
        };
        if !place.in_loop {
            self.set(view, room)?;
            return Ok(rows);
        }
        let mut shape = rows_first(view.shape(), axis);
        shape[0] = end;
        self.turned = axis > 0;
        if let Some(tensor) = &self.tensor {
            if tensor.element() != view.element() {
                return Err(wrong(format!("its elements were {} and now are {}", tensor.element(), view.element())));
            }
            if tensor.shape()[1..] != shape[1..] {
                let message = format!(
                    "its rows had the shape {:?} and now have the shape {:?}",
                    &tensor.shape()[1..],
                    &shape[1..]
                );
                return Err(wrong(message));
            }
        }
        let expected = usize::try_from(place.expected).unwrap_or(0);
        self.reserve(&shape, view.element(), expected, room)?;
        if let Some(tensor) = &mut self.tensor
            && !tensor.is_absent()
        {
            with_type!(all, view.element(), T => copy_rows::<T>(tensor, view, axis, first as usize))?;
        }
        self.rows = self.rows.max(Some(end));
        Ok(rows)
    }

    /// Makes memory for a shape, and for more rows if it is not the first: for all that are expected, or else for twice as
    /// many, if there is room. Rows that were there move, and are there twice meanwhile.
    fn reserve(&mut self, shape: &[usize], element: ElementType, expected: usize, room: &Room) -> Result<(), Fault> {
        let end = shape[0];
        let there = self.tensor.as_ref().map(|tensor| tensor.shape()[0]);
        if there.is_some_and(|there| there >= end) {
            return Ok(());
        }
        let row_bytes = count(&shape[1..])?.saturating_mul(element.size());
        let fits = |rows: &usize| *rows > end && room.fits(row_bytes.saturating_mul(*rows));
        let more = there.and_then(|there| [expected, there.saturating_mul(2)].into_iter().find(fits));
        let mut shape = shape.to_vec();
        shape[0] = more.unwrap_or(end);
        let there = room.take(row_bytes.saturating_mul(shape[0]), || format!("what holds its {end} rows"))?;
        let mut tensor = if there { Tensor::zeros(element, &shape)? } else { Tensor::absent(element, &shape)? };
        if let Some(old) = self.tensor.take() {
            if there {
                tensor.fill_front(old.view())?;
            }
            room.release(&old);
        }
        self.tensor = Some(tensor);
        Ok(())
    }

    fn set(&mut self, view: View<'_>, room: &Room) -> Result<(), Fault> {
        if let Some(old) = self.tensor.take() {
            room.release(&old);
        }
        self.tensor = Some(room.copy(view, || "it".to_owned())?);
        Ok(())
    }

    /// The whole result.
    pub(super) fn finish(self, room: &Room) -> Result<Option<Tensor>, Fault> {
        let Some(mut tensor) = self.tensor else { return Ok(None) };
        if let Some(rows) = self.rows {
            tensor.keep_rows(rows)?;
        }
        match self.placement {
            Placement::Rows { axis } if self.turned => {
                let there = room.take(tensor.bytes(), || format!("turning its rows to axis {axis}"))?;
                if !there {
                    tensor = Tensor::absent(tensor.element(), tensor.shape())?;
                }
                turned_back(&tensor, axis).map(Some)
            }
            _ => Ok(Some(tensor)),
        }
    }
}

fn wrong(message: String) -> Fault {
    Fault::of(ErrorKind::Output, message)
}

/// The shape of a tensor with the axis of its rows moved to the front.
pub(super) fn rows_first(shape: &[usize], axis: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    let rows = shape.remove(axis);
    shape.insert(0, rows);
    shape
}

/// Copies a view whose rows lie along `axis` into a tensor that has as many along the first axis.
pub(super) fn copy_rows_first(tensor: &mut Tensor, view: View<'_>, axis: usize) -> Result<(), Fault> {
    with_type!(all, view.element(), T => copy_rows::<T>(tensor, view, axis, 0))
}

/// A tensor whose rows lie along the first axis, with them along another one.
pub(super) fn turned_back(tensor: &Tensor, axis: usize) -> Result<Tensor, Fault> {
    let mut shape = tensor.shape().to_vec();
    let rows = shape.remove(0);
    shape.insert(axis, rows);
    if tensor.is_absent() {
        return Tensor::absent(tensor.element(), &shape);
    }
    let mut turned = Tensor::zeros(tensor.element(), &shape)?;
    with_type!(all, tensor.element(), T => turn_back::<T>(&mut turned, tensor, axis))?;
    Ok(turned)
}

/// Copies a view whose rows lie along `axis` into a tensor whose rows lie along the first axis.
fn copy_rows<T: Element>(tensor: &mut Tensor, view: View<'_>, axis: usize, first: usize) -> Result<(), Fault> {
    let outer: usize = view.shape()[..axis].iter().product();
    let rows = view.shape()[axis];
    let inner: usize = view.shape()[axis + 1..].iter().product();
    let from = view.values::<T>()?;
    let into = tensor.values_mut::<T>()?;
    for row in 0..rows {
        for block in 0..outer {
            let source = (block * rows + row) * inner;
            let target = ((first + row) * outer + block) * inner;
            into[target..target + inner].copy_from_slice(&from[source..source + inner]);
        }
    }
    Ok(())
}

/// The other way round.
fn turn_back<T: Element>(turned: &mut Tensor, tensor: &Tensor, axis: usize) -> Result<(), Fault> {
    let outer: usize = turned.shape()[..axis].iter().product();
    let rows = turned.shape()[axis];
    let inner: usize = turned.shape()[axis + 1..].iter().product();
    let from = tensor.values::<T>()?;
    let into = turned.values_mut::<T>()?;
    for row in 0..rows {
        for block in 0..outer {
            let target = (block * rows + row) * inner;
            let source = (row * outer + block) * inner;
            into[target..target + inner].copy_from_slice(&from[source..source + inner]);
        }
    }
    Ok(())
}
