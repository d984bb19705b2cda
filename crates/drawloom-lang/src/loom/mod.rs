//! The text language: regions, partitions, tasks in program order, and raw graphs.
//!
//! ```text
//! space cells 100
//! field u, v on cells
//! partition blocks of cells = equal 4
//! partition halos of cells = halo blocks 1
//! for i in 0..4 {
//!     task smooth[i](read u.blocks[i], read u.halos[i], write v.blocks[i]) cost 3
//! }
//! ```
//!
//! | file | concept |
//! |---|---|
//! | [`span`] | places in a text |
//! | `token` | words |
//! | [`syntax`] | the syntax tree |
//! | [`parse`](mod@parse) | from text to tree |
//! | `print` | from tree to text: the formatter |
//! | [`lower`](mod@lower) | from tree to graph |
//! | [`spans`] | where in the text the parts of a graph were written |
//! | [`write`](mod@write) | any graph as a text |
//! | [`error`] | what can be wrong with a text |

pub mod error;
pub mod lower;
pub mod parse;
pub(crate) mod print;
pub mod span;
pub mod spans;
pub mod syntax;
pub(crate) mod token;
pub mod write;

pub use error::{Code, Edit, Suggestion, SyntaxError};
pub use lower::{Finding, Limits, Lowered, lower, lower_within};
pub use parse::{DEEPEST_NESTING, parse};
pub use span::{Span, Spanned};
pub use spans::Spans;
pub use syntax::File;
pub use write::write_graph;
