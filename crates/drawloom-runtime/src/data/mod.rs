//! The data that tasks share: regions that the runtime stores, the pieces they are cut into, and views of them.
//!
//! | file | concept |
//! |---|---|
//! | [`element`] | which element types may move between memories |
//! | [`tree`] | one region with its storage and all its partitions |
//! | [`piece`] | a part of a region: where it is, and what overlaps it |
//! | [`region`] | what every kind of region has in common, and how views are made |
//! | [`vector`], [`matrix`], [`mod@array`], [`value`], [`indexed`] | the kinds of regions |
//! | [`erased`] | regions whose tasks find their elements themselves |
//! | [`strided`] | views of matrices and arrays: elements at fixed distances |
//! | [`partition`] | lists of pieces |
//! | [`guard`] | access from outside of tasks |

#![allow(unsafe_code)]

pub mod array;
mod cuts;
pub mod element;
pub mod erased;
pub mod guard;
pub mod indexed;
pub mod matrix;
pub mod partition;
pub(crate) mod piece;
pub mod region;
pub mod strided;
pub(crate) mod tree;
pub mod value;
pub mod vector;
