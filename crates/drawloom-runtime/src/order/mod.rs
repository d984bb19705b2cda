//! Which tasks must wait for which: inferred from what they declare, as they arrive.
//!
//! The rule is sequential consistency: two tasks of one scope that touch common elements, not both only reading, run in the
//! order in which they were submitted. Everything else may run in any order and at the same time.
//!
//! | file | concept |
//! |---|---|
//! | [`slot`] | what the last tasks did with one piece |
//! | [`history`] | the slots of a scope, and the tasks that a new one must wait for |
//! | [`scope`] | where tasks are submitted: outside of all tasks, or in one |

#![allow(unsafe_code)]

pub(crate) mod history;
pub(crate) mod scope;
pub(crate) mod slot;
#[cfg(test)]
mod tests;
