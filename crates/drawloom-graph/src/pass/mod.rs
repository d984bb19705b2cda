//! Passes: graph to graph, with the meaning preserved.
//!
//! | file | concept |
//! |---|---|
//! | [`summary`] | the accesses of a nested graph, as if it were one call |
//! | `coverage` | whether some regions together hold all of another |

mod coverage;
pub mod summary;

pub(crate) use coverage::covers as covers_whole;
pub use summary::{summarise, summarise_body, summarise_body_into};
