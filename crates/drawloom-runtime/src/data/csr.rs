//! Sparse matrices by compressed rows: a fixed pattern, and values that tasks share.

use std::ops::Range;

use drawloom_graph::{IndexSet, Pieces};

use crate::access::frame::Place;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Arc;

use super::partition::Parts;
use super::piece::Shape;
use super::region::{Handle, Region, kind_of_region};
use super::tree::Cut;
use super::vector::refuse_too_many;

/// Which elements of a sparse matrix exist. It never changes, so tasks read it without declaring anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    columns: usize,
    /// Where each row starts in `places`, and the end.
    starts: Vec<usize>,
    places: Vec<usize>,
}

impl Pattern {
    /// A pattern from the start of each row in `places`, one more entry for the end, and the column of each element.
    ///
    /// # Errors
    /// When the starts do not begin with zero, go down, or do not end with the number of places, and when a column does
    /// not exist.
    pub fn new(columns: usize, starts: Vec<usize>, places: Vec<usize>) -> Result<Self> {
        let refuse = |message: String| Err(Error::new(ErrorKind::Shape, message));
        if starts.first() != Some(&0) || starts.last() != Some(&places.len()) {
            return refuse(format!("row starts must begin with 0 and end with the {} elements", places.len()));
        }
        if let Some(row) = starts.windows(2).position(|w| w[0] > w[1]) {
            return refuse(format!("row {row} starts after it ends"));
        }
        if let Some(at) = places.iter().position(|&c| c >= columns) {
            return refuse(format!("element {at} is in column {}, and there are {columns}", places[at]));
        }
        Ok(Self { columns, starts, places })
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// How many elements exist.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether no element exists.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    fn shape(self: &Arc<Self>, rows: Range<usize>) -> Shape {
        let (first, end) = (self.starts[rows.start], self.starts[rows.end]);
        Shape::Rows { first, len: end - first, rows, pattern: Arc::clone(self) }
    }
}

kind_of_region! {
    /// A sparse matrix by compressed rows, or a block of its rows.
    Csr
}

/// Rows of a sparse matrix to read.
#[derive(Clone, Copy, Debug)]
pub struct CsrRef<'v, T> {
    rows: (usize, usize),
    pattern: &'v Pattern,
    values: &'v [T],
}

/// Rows of a sparse matrix whose values may change.
#[derive(Debug)]
pub struct CsrMut<'v, T> {
    rows: (usize, usize),
    pattern: &'v Pattern,
    values: &'v mut [T],
}

impl<'v, T> CsrRef<'v, T> {
    /// The numbers of the rows in the whole matrix.
    pub fn rows(&self) -> Range<usize> {
        self.rows.0..self.rows.1
    }

    /// Columns and values of a row, given by its number in the whole matrix.
    ///
    /// # Panics
    /// When the row is not among [`CsrRef::rows`].
    pub fn row(&self, row: usize) -> (&'v [usize], &'v [T]) {
        let (range, local) = place(self.rows, self.pattern, row);
        (&self.pattern.places[range], &self.values[local])
    }

    /// The values of all rows, one row after the other.
    pub fn values(&self) -> &'v [T] {
        self.values
    }
}

impl<T> CsrMut<'_, T> {
    /// The numbers of the rows in the whole matrix.
    pub fn rows(&self) -> Range<usize> {
        self.rows.0..self.rows.1
    }

    /// Columns and values of a row, given by its number in the whole matrix.
    ///
    /// # Panics
    /// When the row is not among [`CsrMut::rows`].
    pub fn row_mut(&mut self, row: usize) -> (&[usize], &mut [T]) {
        let (range, local) = place(self.rows, self.pattern, row);
        (&self.pattern.places[range], &mut self.values[local])
    }

    /// The values of all rows, one row after the other.
    pub fn values_mut(&mut self) -> &mut [T] {
        self.values
    }
}

impl<'v, T: Send + Sync + 'static> CsrMut<'v, T> {
    /// Some of the rows of a place: `choose` is given how many there are.
    ///
    /// # Safety
    /// As [`Region::view_mut`], for the chosen rows only, which exist.
    pub(crate) unsafe fn part(place: Place<'v>, choose: impl FnOnce(usize) -> Range<usize>) -> Self {
        let ((first, end), pattern, address, _) = parts::<T>(place);
        let chosen = choose(end - first);
        let rows = (first + chosen.start, first + chosen.end);
        let (before, after) = (pattern.starts[rows.0], pattern.starts[rows.1]);
        let address = address.wrapping_add(before - pattern.starts[first]);
        // SAFETY: the values of rows lie one after the other, and the caller has those of the chosen ones for itself.
        CsrMut { rows, pattern, values: unsafe { std::slice::from_raw_parts_mut(address, after - before) } }
    }
}

fn place(rows: (usize, usize), pattern: &Pattern, row: usize) -> (Range<usize>, Range<usize>) {
    assert!((rows.0..rows.1).contains(&row), "row {row} is not among rows {}..{}", rows.0, rows.1);
    let (start, end, first) = (pattern.starts[row], pattern.starts[row + 1], pattern.starts[rows.0]);
    (start..end, start - first..end - first)
}

impl<T: Send + Sync + 'static> Region for Csr<T> {
    type Ref<'v> = CsrRef<'v, T>;
    type Mut<'v> = CsrMut<'v, T>;

    fn handle(&self) -> &Handle {
        &self.handle
    }

    unsafe fn from_handle(handle: Handle) -> Self {
        Self { handle, element: std::marker::PhantomData }
    }

    unsafe fn view<'v>(place: Place<'v>) -> CsrRef<'v, T> {
        let (rows, pattern, address, len) = parts::<T>(place);
        // SAFETY: the values of the rows lie at that address, and the caller may read them.
        CsrRef { rows, pattern, values: unsafe { std::slice::from_raw_parts(address, len) } }
    }

    unsafe fn view_mut<'v>(place: Place<'v>) -> CsrMut<'v, T> {
        let (rows, pattern, address, len) = parts::<T>(place);
        // SAFETY: the values of the rows lie at that address, and the caller has them for itself.
        CsrMut { rows, pattern, values: unsafe { std::slice::from_raw_parts_mut(address, len) } }
    }
}

fn parts<T>(place: Place<'_>) -> ((usize, usize), &Pattern, *mut T, usize) {
    let Shape::Rows { first, len, rows, pattern } = &place.piece.shape else {
        unreachable!("sparse matrices have rows")
    };
    let first = if place.compact { 0 } else { *first };
    ((rows.start, rows.end), pattern, place.base.cast::<T>().wrapping_add(first), *len)
}

/// The shape of a whole sparse matrix, if there is a value for each element.
pub(crate) fn csr_shape(name: &str, pattern: Pattern, len: usize) -> Result<Shape> {
    if pattern.len() != len {
        return Err(Error::new(
            ErrorKind::Shape,
            format!("sparse matrix `{name}`: {} elements exist, and {len} values were given", pattern.len()),
        ));
    }
    let rows = pattern.rows();
    Ok(Arc::new(pattern).shape(0..rows))
}

impl<T: Send + Sync + 'static> Csr<T> {
    /// Which elements exist, in the whole matrix.
    pub fn pattern(&self) -> &Pattern {
        match &self.handle.piece().shape {
            Shape::Rows { pattern, .. } => pattern,
            _ => unreachable!("sparse matrices have rows"),
        }
    }

    /// The numbers of the rows in the whole matrix.
    pub fn rows(&self) -> Range<usize> {
        match &self.handle.piece().shape {
            Shape::Rows { rows, .. } => rows.clone(),
            _ => unreachable!("sparse matrices have rows"),
        }
    }

    /// Cuts the rows into `count` blocks whose numbers of rows differ by at most one.
    ///
    /// # Errors
    /// When `count` is zero.
    pub fn row_blocks(&self, count: usize) -> Result<Parts<Csr<T>>> {
        if count == 0 {
            return Err(Error::new(
                ErrorKind::Partition,
                format!("region `{}` cannot be cut into 0 blocks of rows", self.name()),
            ));
        }
        refuse_too_many(&self.handle, count, self.rows().len())?;
        let piece = self.handle.piece();
        let Shape::Rows { rows, pattern, .. } = &piece.shape else { unreachable!("sparse matrices have rows") };
        let total = rows.len();
        let cut = |i: usize| rows.start + i * (total / count) + i.min(total % count);
        let shapes: Vec<Shape> = (0..count).map(|i| pattern.shape(cut(i)..cut(i + 1))).collect();
        let sets: Vec<IndexSet> = shapes
            .iter()
            .map(|shape| match shape {
                Shape::Rows { first, len, .. } => IndexSet::range(*first as u64, (first + len) as u64),
                _ => unreachable!("sparse matrices have rows"),
            })
            .collect();
        let pieces = |_, _: &_| Ok(Pieces::lists(sets));
        let partition =
            self.handle.tree().partition(piece, Cut::Blocks(count), pieces, true, |c, _| shapes[c].clone())?;
        Ok(Parts::new(&self.handle.root, partition))
    }
}
