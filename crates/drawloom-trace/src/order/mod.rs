//! Which tasks conflict, from nothing but what they declared.
//!
//! | file | what is in it |
//! |---|---|
//! | [`family`] | which task spawned which; what a task and its children touch together |
//! | [`history`] | the latest access to every index of a region, in logarithmic time |
//! | [`scope`] | the histories of all regions that the tasks of one scope touch |
//! | [`path`] | the longest chain of tasks that must follow each other |
//! | [`edges`] | the orders as edges, few enough to be drawn |
//!
//! Two accesses conflict when they have an index of one region in common and not both read it, nor both reduce it with one
//! operator, nor both commute on it. Conflicting tasks of one scope, which is what the
//! application or one task submitted, run in the order of their numbers.

pub(crate) mod edges;
pub(crate) mod family;
pub(crate) mod history;
pub(crate) mod path;
pub(crate) mod scope;
