//! Room on the stack for tasks that run inside of others.
//!
//! A task that waits for its children runs them on its own stack, and they may wait for theirs. How deep that goes is up to
//! the program, so each level first makes sure that there is as much room as a body may hope for, and goes on on another
//! stack when there is not.

/// How much room there is at least: half of what a thread has by default.
#[cfg(not(any(loom, feature = "shuttle")))]
const ROOM: usize = 1 << 20;
/// How large a further stack is.
#[cfg(not(any(loom, feature = "shuttle")))]
const STACK: usize = 8 << 20;

/// Does something that may use as much of the stack as a body does.
#[cfg(not(any(loom, feature = "shuttle")))]
pub(crate) fn with_room<T>(f: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(ROOM, STACK, f)
}

/// Model checkers run on stacks of their own, and their programs are small.
#[cfg(any(loom, feature = "shuttle"))]
pub(crate) fn with_room<T>(f: impl FnOnce() -> T) -> T {
    f()
}
