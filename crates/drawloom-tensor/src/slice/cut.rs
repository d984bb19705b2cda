//! How many rows each piece has.
//!
//! There are as few pieces as can be, of at most two sizes. All of them are multiples of a preferred number where the total
//! allows it, and as equal as that allows.

use crate::error::{ErrorKind, Fault};

/// How rows are cut into pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slicing {
    most: u64,
    multiple: u64,
    equal: bool,
    small_first: bool,
}

impl Slicing {
    /// Pieces of so many rows at most.
    pub fn new(most: u64) -> Self {
        Self { most, multiple: 1, equal: true, small_first: true }
    }

    /// The number of rows of a piece should be a multiple of this one, which must divide the most rows of a piece.
    #[must_use]
    pub fn multiple(mut self, multiple: u64) -> Self {
        self.multiple = multiple;
        self
    }

    /// Whether all pieces may be made smaller so that they are equal. They may, unless this says otherwise.
    #[must_use]
    pub fn equal(mut self, equal: bool) -> Self {
        self.equal = equal;
        self
    }

    /// Whether smaller pieces come first, as they do unless this says otherwise, so that the last one has the usual size.
    #[must_use]
    pub fn small_first(mut self, small_first: bool) -> Self {
        self.small_first = small_first;
        self
    }

    /// The pieces of so many rows. No rows are one piece without any.
    pub fn cut(&self, rows: u64) -> Result<Cut, Fault> {
        let Self { most, multiple, .. } = *self;
        let wrong = |message: String| Err(Fault::of(ErrorKind::Batch, message));
        if most == 0 {
            return wrong("a piece must have one row at least".to_owned());
        }
        if multiple == 0 || most % multiple != 0 {
            return wrong(format!("the preferred multiple {multiple} does not divide the {most} rows of a piece"));
        }
        let pieces = rows.div_ceil(most).max(1);
        let whole = |size: u64| Cut { groups: [(pieces, size), (0, 0)] };
        if pieces == 1 {
            return Ok(whole(rows));
        }
        if rows.is_multiple_of(most) {
            return Ok(whole(most));
        }
        let equal = pieces.checked_mul(multiple).is_some_and(|together| rows.is_multiple_of(together));
        if self.equal && equal {
            return Ok(whole(rows / pieces));
        }
        // All but the last two are whole, and what is left is more than one piece and less than two.
        let rest = rows - (pieces - 2) * most;
        let halves = multiple.checked_mul(2).is_some_and(|two| rest.is_multiple_of(two));
        let (large, small) =
            if halves { ((pieces - 2, most), (2, rest / 2)) } else { ((pieces - 1, most), (1, rest - most)) };
        Ok(Cut { groups: if self.small_first { [small, large] } else { [large, small] } })
    }
}

/// Pieces: so many of one size, and then so many of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    groups: [(u64, u64); 2],
}

impl Cut {
    /// How many pieces there are.
    pub fn pieces(&self) -> u64 {
        self.groups[0].0 + self.groups[1].0
    }

    /// The first row of a piece, and how many rows it has.
    pub fn piece(&self, number: u64) -> Option<(u64, u64)> {
        let [(count, size), (others, other)] = self.groups;
        match number.checked_sub(count) {
            None => Some((number * size, size)),
            Some(after) if after < others => Some((count * size + after * other, other)),
            Some(_) => None,
        }
    }

    /// How many rows the largest piece has.
    pub fn most(&self) -> u64 {
        self.groups.iter().filter(|group| group.0 > 0).map(|group| group.1).max().unwrap_or(0)
    }
}
