//! A list that grows, whose elements never move and are found without a lock.
//!
//! The crate `boxcar` has one, but does not compile with `--cfg loom`, which the models of this crate need.

use std::sync::OnceLock;

use super::{Mutex, lock};

const FIRST: usize = 8;
const CHUNKS: usize = 26;

/// A list that grows, whose elements never move and are found without a lock.
pub(crate) struct Grow<T> {
    chunks: [OnceLock<Box<[OnceLock<T>]>>; CHUNKS],
    len: Mutex<usize>,
}

impl<T> Grow<T> {
    pub(crate) fn new() -> Self {
        Self { chunks: std::array::from_fn(|_| OnceLock::new()), len: Mutex::new(0) }
    }

    /// Adds an element, which may depend on its number.
    pub(crate) fn push(&self, element: impl FnOnce(usize) -> T) -> usize {
        let mut len = lock(&self.len);
        let index = *len;
        let (chunk, offset) = place(index);
        let chunk = self.chunks[chunk].get_or_init(|| (0..FIRST << chunk).map(|_| OnceLock::new()).collect());
        chunk[offset].get_or_init(|| element(index));
        *len += 1;
        index
    }

    /// The element with a number.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        let (chunk, offset) = place(index);
        self.chunks.get(chunk)?.get()?[offset].get()
    }
}

#[inline]
fn place(index: usize) -> (usize, usize) {
    let from_first = index + FIRST;
    let chunk = (from_first.ilog2() - FIRST.ilog2()) as usize;
    (chunk, from_first - (FIRST << chunk))
}
