//! Closures of any type, stored in place.
//!
//! A body is a closure that takes a [`Frame`]. Small ones are written right into the record; large ones go to the heap, and
//! the record holds their address. Either way a body is words plus a table of two functions.

use std::mem::MaybeUninit;

use super::record::PAYLOAD;
use crate::access::Frame;

/// What a body reports when it returns an error.
pub(crate) type BodyError = Box<dyn std::error::Error + Send + Sync>;
/// What a body returns.
pub(crate) type BodyResult = Result<(), BodyError>;
/// The words of a body.
pub(crate) type Payload = [MaybeUninit<u64>; PAYLOAD];

/// How to run and drop a body whose type was forgotten.
pub(crate) struct BodyTable {
    /// Runs the body. A body that can run only once is gone afterwards, also when it panics.
    pub(crate) call: unsafe fn(*mut Payload, &mut Frame<'_>) -> BodyResult,
    /// Drops a body that did not run, or that can run again.
    pub(crate) drop: unsafe fn(*mut Payload),
    /// Whether the body can run again.
    pub(crate) again: bool,
}

/// A body as words and a table.
pub(crate) struct Body {
    pub(crate) payload: Payload,
    pub(crate) table: &'static BodyTable,
}

/// Stores a body that runs once.
#[inline]
pub(crate) fn once<F>(body: F) -> Body
where
    F: FnOnce(&mut Frame<'_>) -> BodyResult + Send + 'static,
{
    let mut payload: Payload = [MaybeUninit::uninit(); PAYLOAD];
    if fits::<F>() {
        // SAFETY: it fits, in size and alignment.
        unsafe { payload.as_mut_ptr().cast::<F>().write(body) };
        Body { payload, table: const { &BodyTable { call: call_once::<F>, drop: drop_in_place::<F>, again: false } } }
    } else {
        // Allocates: the closure is larger than a record's room for it.
        // SAFETY: an address fits.
        unsafe { payload.as_mut_ptr().cast::<*mut F>().write(Box::into_raw(Box::new(body))) };
        Body { payload, table: const { &BodyTable { call: call_boxed::<F>, drop: drop_boxed::<F>, again: false } } }
    }
}

/// Stores a body that can run again.
pub(crate) fn again<F>(body: F) -> Body
where
    F: Fn(&mut Frame<'_>) -> BodyResult + Send + Sync + 'static,
{
    let mut payload: Payload = [MaybeUninit::uninit(); PAYLOAD];
    // SAFETY: an address fits.
    unsafe { payload.as_mut_ptr().cast::<*mut F>().write(Box::into_raw(Box::new(body))) };
    Body { payload, table: const { &BodyTable { call: call_again::<F>, drop: drop_boxed::<F>, again: true } } }
}

/// The body of a task that does nothing.
pub(crate) const NOTHING: Body = Body {
    payload: [MaybeUninit::uninit(); PAYLOAD],
    table: &BodyTable { call: |_, _| Ok(()), drop: |_| {}, again: false },
};

const fn fits<F>() -> bool {
    size_of::<F>() <= size_of::<Payload>() && align_of::<F>() <= align_of::<Payload>()
}

/// # Safety
/// The payload holds an `F`, which is moved out.
unsafe fn call_once<F: FnOnce(&mut Frame<'_>) -> BodyResult>(
    payload: *mut Payload,
    frame: &mut Frame<'_>,
) -> BodyResult {
    // SAFETY: promised by the caller.
    let body = unsafe { payload.cast::<F>().read() };
    body(frame)
}

/// # Safety
/// The payload holds an `F`, which nobody uses afterwards.
unsafe fn drop_in_place<F>(payload: *mut Payload) {
    // SAFETY: promised by the caller.
    unsafe { payload.cast::<F>().drop_in_place() }
}

/// # Safety
/// The payload holds the address of a boxed `F`, which is moved out.
unsafe fn call_boxed<F: FnOnce(&mut Frame<'_>) -> BodyResult>(
    payload: *mut Payload,
    frame: &mut Frame<'_>,
) -> BodyResult {
    // SAFETY: promised by the caller.
    let body = unsafe { Box::from_raw(payload.cast::<*mut F>().read()) };
    body(frame)
}

/// # Safety
/// The payload holds the address of a boxed `F`, which nobody uses afterwards.
unsafe fn drop_boxed<F>(payload: *mut Payload) {
    // SAFETY: promised by the caller.
    drop(unsafe { Box::from_raw(payload.cast::<*mut F>().read()) });
}

/// # Safety
/// The payload holds the address of a boxed `F`.
unsafe fn call_again<F: Fn(&mut Frame<'_>) -> BodyResult>(payload: *mut Payload, frame: &mut Frame<'_>) -> BodyResult {
    // SAFETY: promised by the caller; the body is `Sync`, so a shared reference will do.
    let body = unsafe { &**payload.cast::<*mut F>() };
    body(frame)
}
