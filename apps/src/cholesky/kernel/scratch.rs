//! Memory to pack into: one buffer for each thread, kept from call to call.
//!
//! Large tiles are packed. A thread that runs kernels on them allocates once and never again; a thread that does not
//! has no buffer.

use std::cell::RefCell;

/// Bytes to which the memory is aligned, so that no vector straddles two cache lines.
const ALIGNMENT: usize = 64;

thread_local! {
    static BUFFER: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

/// Calls a function with `len` elements of unspecified contents.
pub(super) fn with<R>(len: usize, work: impl FnOnce(&mut [f64]) -> R) -> R {
    BUFFER.with_borrow_mut(|buffer| {
        let padding = ALIGNMENT / size_of::<f64>();
        if buffer.len() < len + padding {
            buffer.resize(len + padding, 0.0);
        }
        let start = buffer.as_ptr().align_offset(ALIGNMENT).min(padding);
        work(&mut buffer[start..start + len])
    })
}
