//! Formats: the text language, JSON, Graphviz and SVG drawings, and reports.
//!
//! | file | concept |
//! |---|---|
//! | [`sentence`](mod@sentence) | witnesses and orders as English sentences |

pub mod sentence;

pub use sentence::{Sentences, Versions, sentence};
