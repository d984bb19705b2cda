//! Column-major views with a stride between columns: element (i, j) lies at `i + j * stride`.
//!
//! The microkernel works on raw pointers. A view knows how many elements are behind it, so that one check per panel
//! proves every address the microkernel will form.

/// A matrix that is read.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    data: &'a [f64],
    stride: usize,
}

impl<'a> View<'a> {
    pub(super) fn new(data: &'a [f64], stride: usize) -> Self {
        View { data, stride }
    }

    /// What is left below row `row` and right of column `column`.
    pub(super) fn from(self, row: usize, column: usize) -> View<'a> {
        View { data: tail(self.data, row + column * self.stride), stride: self.stride }
    }

    pub(super) fn stride(self) -> usize {
        self.stride
    }

    pub(super) fn at(self, row: usize, column: usize) -> f64 {
        self.data[row + column * self.stride]
    }

    /// Rows `0..rows` of a column.
    pub(super) fn column(self, column: usize, rows: usize) -> &'a [f64] {
        &self.data[column * self.stride..][..rows]
    }

    /// Whether `rows` by `columns` elements lie within the view, and no column runs into the next.
    pub(super) fn holds(self, rows: usize, columns: usize) -> bool {
        holds(self.data.len(), self.stride, rows, columns)
    }

    pub(super) fn as_ptr(self) -> *const f64 {
        self.data.as_ptr()
    }
}

/// A matrix that is written.
pub(super) struct ViewMut<'a> {
    data: &'a mut [f64],
    stride: usize,
}

impl<'a> ViewMut<'a> {
    pub(super) fn new(data: &'a mut [f64], stride: usize) -> Self {
        ViewMut { data, stride }
    }

    /// What is left below row `row` and right of column `column`, borrowed again.
    pub(super) fn from(&mut self, row: usize, column: usize) -> ViewMut<'_> {
        let start = (row + column * self.stride).min(self.data.len());
        ViewMut { data: &mut self.data[start..], stride: self.stride }
    }

    /// The columns before `column`, and those from it on: the way to read one part of a matrix and write another.
    pub(super) fn split_columns(&mut self, column: usize) -> (View<'_>, ViewMut<'_>) {
        let (left, right) = self.data.split_at_mut((column * self.stride).min(self.data.len()));
        (View { data: left, stride: self.stride }, ViewMut { data: right, stride: self.stride })
    }

    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    pub(super) fn column(&mut self, column: usize, rows: usize) -> &mut [f64] {
        &mut self.data[column * self.stride..][..rows]
    }

    pub(super) fn holds(&self, rows: usize, columns: usize) -> bool {
        holds(self.data.len(), self.stride, rows, columns)
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut f64 {
        self.data.as_mut_ptr()
    }
}

/// An offset past the end gives the empty slice: the panel after the last one has no rows and is never read.
fn tail(data: &[f64], start: usize) -> &[f64] {
    &data[start.min(data.len())..]
}

fn holds(len: usize, stride: usize, rows: usize, columns: usize) -> bool {
    if rows == 0 || columns == 0 {
        return true;
    }
    let end = (columns - 1).checked_mul(stride).and_then(|start| start.checked_add(rows));
    rows <= stride && end.is_some_and(|end| end <= len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_holds_what_its_last_column_still_has() {
        let data = [0.0; 11];
        let view = View::new(&data, 4);
        assert!(view.holds(3, 3));
        assert!(!view.holds(4, 3), "the last column has three elements");
        assert!(view.holds(4, 2));
        assert!(!view.holds(5, 1), "a column runs into the next");
        assert!(view.holds(100, 0) && view.holds(0, 100));
        assert!(!view.holds(1, usize::MAX), "no overflow");
    }

    #[test]
    fn a_view_past_the_end_is_empty() {
        let data = [0.0; 4];
        assert!(!View::new(&data, 2).from(2, 3).holds(1, 1));
    }
}
