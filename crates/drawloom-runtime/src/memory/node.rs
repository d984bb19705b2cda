//! A memory that a worker computes in.

use std::alloc::Layout;

use crate::error::Result;

/// The number of a memory in its runtime. Zero is the memory of this process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MemoryId(pub(crate) u32);

impl MemoryId {
    /// The memory of this process.
    pub const HOST: MemoryId = MemoryId(0);

    /// The number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An address in a memory. Only the memory knows what it means.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Address(pub u64);

impl Address {
    /// The address of the byte `bytes` further on.
    #[must_use]
    pub fn offset(self, bytes: usize) -> Self {
        Self(self.0 + bytes as u64)
    }
}

/// A copy that was started and may not be complete.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CopyToken(pub u64);

/// Which way a copy goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the memory of this process.
    FromHost,
    /// To the memory of this process.
    ToHost,
}

/// A memory other than that of this process.
///
/// Elements are plain bytes here. All methods may be called by several threads at once.
///
/// # Safety
/// `allocate` returns memory of the given size, filled with zeros, that nothing else uses until it is freed; a copy that `is_done` reports as
/// done has copied all bytes; and what `host_pointer` returns can be read and written like memory of this process.
pub unsafe trait Memory: Send + Sync {
    /// What it is called in messages and traces.
    fn name(&self) -> &str;

    /// Room for some bytes, which are all zero.
    ///
    /// # Errors
    /// When there is none: see [`Error::device`](crate::Error::device).
    fn allocate(&self, layout: Layout) -> Result<Address>;

    /// Frees room.
    ///
    /// # Safety
    /// The address was returned by `allocate` with the same layout, and nobody uses it any more.
    unsafe fn free(&self, address: Address, layout: Layout);

    /// Starts a copy between the memory of this process and this one.
    ///
    /// # Safety
    /// Both places have `bytes` bytes, and nobody changes the source, or touches the target, until the copy is done.
    unsafe fn start_copy(&self, direction: Direction, host: *mut u8, here: Address, bytes: usize) -> CopyToken;

    /// The address in this process of something in this memory, where there is one.
    fn host_pointer(&self, address: Address) -> Option<*mut u8> {
        let _ = address;
        None
    }

    /// Whether a copy is done. Asked again and again, from the worker's cycle, until it is; never afterwards.
    fn is_done(&self, copy: CopyToken) -> bool;
}
