//! Bringing memory near before it is needed.
//!
//! Records travel between the caches of the threads that submit and run them. A miss costs as much as everything else that
//! is done for a small task, so a thread that knows which record it will write next asks for it early.

#![allow(unsafe_code)]

/// The size of what caches move, in bytes.
const LINE: usize = 64;

/// Asks for a value that will be written soon.
#[inline(always)]
pub(crate) fn bring_near<T>(value: &T) {
    let start = std::ptr::from_ref(value).cast::<u8>();
    for line in 0..size_of::<T>().div_ceil(LINE) {
        bring_line(start.wrapping_add(line * LINE));
    }
}

/// As [`bring_near`], for the cache line of an address, which may be any.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(crate) fn bring_line(line: *const u8) {
    // SAFETY: a hint, which reads and writes nothing and may name any address. Processors without it take it for nothing.
    unsafe { std::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags)) };
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
pub(crate) fn bring_line(_: *const u8) {}

/// Asks for the cache line of an address, which may be any, and which will be read soon.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(crate) fn bring_line_to_read(line: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint, which reads and writes nothing and may name any address.
    unsafe { _mm_prefetch(line.cast(), _MM_HINT_T0) };
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
pub(crate) fn bring_line_to_read(_: *const u8) {}
