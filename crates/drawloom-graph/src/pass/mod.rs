//! Passes: graph to graph, with the meaning preserved.
//!
//! Every pass takes a valid graph and gives a valid graph: it checks what it gets and what it gives, and refuses with a
//! [`Refusal`] that says why. None changes what a program leaves in the regions that are observed. All are deterministic,
//! and all leave nodes and edges in one canonical order, described at [`renumber`].
//!
//! | file | concept | looks into nested graphs |
//! |---|---|---|
//! | [`outline()`] | a set of nodes becomes one call | no |
//! | [`inline()`] | a call gives its nodes back | no |
//! | [`summary`] | the accesses of a nested graph, as if it were one call | no |
//! | `edit` | a graph that is being changed | |
//! | `accept` | choosing the steps that keep a graph valid | |
//! | `walk` | topological order, superseded versions, nested graphs | |
//! | `coverage` | whether some regions together hold all of another | |

mod accept;
mod coverage;
mod edit;
mod inline;
mod outline;
mod refusal;
pub mod summary;
mod walk;

pub(crate) use coverage::covers as covers_whole;
pub use edit::renumber;
pub use inline::inline;
pub use outline::outline;
pub use refusal::{Refusal, RefusalKind};
pub use summary::{summarise, summarise_body, summarise_body_into};
