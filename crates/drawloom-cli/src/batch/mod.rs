//! Batches for models: how they are cut, and where their rows come from.
//!
//! | module | concept |
//! |---|---|
//! | [`cutting`] | axes, lengths, states, and the size of pieces |
//! | [`inputs`] | files, folders of images, and what is before the graph |
//! | [`random`] | rows of random numbers |
//! | [`beside`] | files that hold values of a model |
//! | [`paths`] | which format a file has, and whether it can be written |

mod beside;
mod cutting;
mod inputs;
mod paths;
mod random;

pub use cutting::Cutting;
pub use inputs::{Batch, ImageFront, MODEL_HINT, named_files};
pub(crate) use paths::{Format, check_written};
