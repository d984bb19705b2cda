//! Memory that tensors are put into at planned places.
//!
//! The one idea: an arena lends ranges of its bytes, and knows which are lent. A range that overlaps one of them is refused,
//! so a mistake in a plan is an error, and never two tensors in one place. This is the one module of `tensor` with `unsafe`
//! code.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::error::{ErrorKind, Fault};
use crate::tensor::element::Element;

/// Where tensors begin: a line of the cache, and the widest vector.
pub const ALIGNMENT: usize = 64;

/// Bytes that are lent in ranges.
pub(crate) struct Arena {
    base: NonNull<u8>,
    bytes: usize,
    lent: Mutex<Lent>,
}

#[derive(Default)]
struct Lent {
    /// Where each range that is lent begins and ends.
    ranges: BTreeMap<usize, usize>,
    /// The highest end there ever was.
    high: usize,
}

// SAFETY: the memory belongs to the arena alone, and is reached only through loans, of which no two overlap.
unsafe impl Send for Arena {}
// SAFETY: as above; the list of loans has a lock.
unsafe impl Sync for Arena {}

impl Arena {
    /// An arena of so many bytes, all zero.
    pub(crate) fn new(bytes: usize) -> Result<Arc<Self>, Fault> {
        let no_memory = || Fault::of(ErrorKind::Memory, format!("there is no memory for {bytes} bytes"));
        let layout = Layout::from_size_align(bytes.max(1), ALIGNMENT).map_err(|_| no_memory())?;
        // SAFETY: the layout has a size of one byte at least.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(no_memory)?;
        Ok(Arc::new(Self { base, bytes, lent: Mutex::default() }))
    }

    /// The highest end of all ranges that were lent so far.
    pub(crate) fn high(&self) -> usize {
        self.lent().high
    }

    fn lent(&self) -> MutexGuard<'_, Lent> {
        self.lent.lock()
    }

    fn take(&self, begin: usize, end: usize) -> Result<(), Fault> {
        let wrong = |what: &str| Fault::of(ErrorKind::Memory, format!("the bytes {begin} to {end} of an arena {what}"));
        if end > self.bytes {
            return Err(wrong(&format!("are not within its {}", self.bytes)));
        }
        let mut lent = self.lent();
        // Ranges do not overlap, so the one that begins last before our end also ends last.
        if lent.ranges.range(..end).next_back().is_some_and(|(_, other)| *other > begin) {
            return Err(wrong("are in use already"));
        }
        lent.ranges.insert(begin, end);
        lent.high = lent.high.max(end);
        Ok(())
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // The same layout was valid when the memory was taken.
        if let Ok(layout) = Layout::from_size_align(self.bytes.max(1), ALIGNMENT) {
            // SAFETY: the memory came from `alloc_zeroed` with this layout, and loans keep the arena alive.
            unsafe { dealloc(self.base.as_ptr(), layout) };
        }
    }
}

/// A range of an arena, as elements of one type. It goes back when it is dropped.
pub(crate) struct Loan<T> {
    arena: Arc<Arena>,
    offset: usize,
    count: usize,
    kind: PhantomData<T>,
}

impl<T: Element> Loan<T> {
    /// Lends the bytes from an offset on. What is in them is left from others; bytes that are no truth values become true
    /// where truth values are lent.
    pub(crate) fn new(arena: &Arc<Arena>, offset: usize, count: usize) -> Result<Self, Fault> {
        let bytes = count.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_add(offset));
        let Some(end) = bytes.filter(|_| offset.is_multiple_of(align_of::<T>())) else {
            let message = format!("{count} elements of type {} cannot be at {offset} of an arena", T::TYPE);
            return Err(Fault::of(ErrorKind::Memory, message));
        };
        if count > 0 {
            arena.take(offset, end)?;
        }
        let loan = Self { arena: Arc::clone(arena), offset, count, kind: PhantomData };
        if count > 0 && T::TYPE == crate::tensor::element::ElementType::Bool {
            // Only two values of a byte are truth values.
            // SAFETY: the range lies in the arena, all of its bytes were set when that was made, and nobody else has it.
            let bytes = unsafe { std::slice::from_raw_parts_mut(loan.arena.base.as_ptr().add(offset), count) };
            bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
        Ok(loan)
    }

    fn pointer(&self) -> *mut T {
        if self.count == 0 {
            return NonNull::dangling().as_ptr();
        }
        // SAFETY: the offset lies within the arena.
        unsafe { self.arena.base.as_ptr().add(self.offset).cast() }
    }
}

impl<T> Drop for Loan<T> {
    fn drop(&mut self) {
        if self.count > 0 {
            self.arena.lent().ranges.remove(&self.offset);
        }
    }
}

impl<T: Element> Deref for Loan<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the range is aligned, lies within the arena, and belongs to this loan alone. Its bytes were set when the
        // arena was made, and all of them are elements: those of truth values were made so when they were lent.
        unsafe { std::slice::from_raw_parts(self.pointer(), self.count) }
    }
}

impl<T: Element> DerefMut for Loan<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the loan is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(), self.count) }
    }
}

/// The elements of a tensor: in memory of its own, or at a planned place.
pub enum Buffer<T> {
    #[doc(hidden)]
    Own(Vec<T>),
    #[doc(hidden)]
    #[allow(private_interfaces)]
    Lent(Loan<T>),
}

impl<T: Element> Buffer<T> {
    pub(crate) fn into_vec(self) -> Vec<T> {
        match self {
            Self::Own(values) => values,
            Self::Lent(loan) => loan.to_vec(),
        }
    }
}

impl<T: Element> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Own(values) => values,
            Self::Lent(loan) => loan,
        }
    }
}

impl<T: Element> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Own(values) => values,
            Self::Lent(loan) => loan,
        }
    }
}

/// A copy has memory of its own.
impl<T: Element> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Self::Own(self.to_vec())
    }
}

impl<T: Element> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}

impl<T: Element> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        self.deref() == other.deref()
    }
}
