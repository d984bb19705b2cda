//! The bytes of many values of one type, one after the other.

use super::layout::Layout;
use crate::error::{Error, ErrorKind, Result};

/// Rows of equal length. Each begins at a multiple of eight bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    words: Vec<u64>,
    stride: usize,
    size: usize,
}

impl Rows {
    pub(crate) fn new(layout: &Layout) -> Self {
        Self { words: Vec::new(), stride: layout.words(), size: layout.size() }
    }

    /// Whether rows have no bytes, so that none need to be kept.
    pub(crate) fn is_hollow(&self) -> bool {
        self.stride == 0
    }

    /// How many rows there are. Rows without bytes are not counted.
    pub(crate) fn len(&self) -> usize {
        self.words.len().checked_div(self.stride).unwrap_or(0)
    }

    /// Adds a row of exactly the right length, and returns its number.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<u32> {
        let number = self.len();
        let Ok(row) = u32::try_from(number) else {
            return Err(Error::new(ErrorKind::Instance, "there are more than 2^32 records of one type"));
        };
        let too_many = |_| Error::new(ErrorKind::Instance, "the records of the instance do not fit into memory");
        if self.words.len() + self.stride > self.words.capacity() {
            self.words.try_reserve(self.stride.max(self.words.len())).map_err(too_many)?;
        }
        let start = self.words.len();
        self.words.resize(start + self.stride, 0);
        bytemuck::cast_slice_mut::<u64, u8>(&mut self.words[start..])[..self.size].copy_from_slice(bytes);
        Ok(row)
    }

    /// A row.
    #[inline]
    pub(crate) fn row(&self, row: u32) -> &[u8] {
        let start = row as usize * self.stride * 8;
        &bytemuck::cast_slice(&self.words)[start..start + self.size]
    }

    /// A row, to be changed.
    #[inline]
    pub(crate) fn row_mut(&mut self, row: u32) -> &mut [u8] {
        let start = row as usize * self.stride * 8;
        &mut bytemuck::cast_slice_mut(&mut self.words)[start..start + self.size]
    }
}
