//! Tasks: what a user builds, and what the engine keeps of it.
//!
//! | file | concept |
//! |---|---|
//! | [`record`] | a task from submission to completion, in three cache lines |
//! | [`slab`] | where records live, and how many may be in flight |
//! | [`name`] | names of tasks |
//! | [`body`] | closures of any type, stored in place |
//! | [`extras`] | what only some tasks need |
//! | [`spec`] | a task that is being described |
//! | [`builder`] | the typed builder: accesses become parameters of the body |
//! | [`arity`] | how many accesses a task can have |
//! | [`future`] | the result of a task, and waiting for it |

#![allow(unsafe_code)]

pub(crate) mod arity;
pub(crate) mod body;
pub mod builder;
pub(crate) mod extras;
pub mod future;
pub(crate) mod name;
pub(crate) mod record;
pub(crate) mod slab;
pub(crate) mod spec;
pub(crate) mod title;
