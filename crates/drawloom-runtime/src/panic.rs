//! Panics of user code, as text.
//!
//! User code (task bodies, operators, devices, policies, destructors) may panic, and a panic's payload is a value of the
//! user's, whose destructor may panic too. Everything that turns such a panic into an error goes through this module.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `f`, and returns the message of its panic if it panics. A payload whose destructor panics is harmless.
///
/// ```
/// use drawloom_runtime::panic;
///
/// assert_eq!(panic::catch(|| 2 + 2), Ok(4));
/// assert_eq!(panic::catch(|| panic!("row {} is empty", 7)), Err::<(), _>("row 7 is empty".to_owned()));
/// ```
///
/// The caller answers for what `f` leaves behind: a value that a panic may have left half changed must not be used as if
/// it were whole.
pub fn catch<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(message)
}

/// The message of a panic from its payload, which is dropped. A payload whose destructor panics is harmless.
///
/// A payload that is neither a `&'static str` nor a `String`, as from [`std::panic::panic_any`], has no message: the text
/// says so.
pub fn message(payload: Box<dyn Any + Send>) -> String {
    let payload = match payload.downcast::<String>() {
        Ok(text) => return *text,
        Err(payload) => payload,
    };
    let text = payload.downcast_ref::<&'static str>().map(|text| (*text).to_owned());
    discard(payload);
    text.unwrap_or_else(|| "something that is not text".to_owned())
}

/// Drops a payload. If its destructor panics, the payload of that panic is leaked: its own destructor may panic again, and
/// so on without end.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
}
