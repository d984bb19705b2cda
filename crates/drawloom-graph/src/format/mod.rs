//! Formats: the text language, JSON, Graphviz and SVG drawings, and reports.
//!
//! | file | concept |
//! |---|---|
//! | [`json`] | graphs as JSON |
//! | [`sentence`](mod@sentence) | witnesses and orders as English sentences |

pub mod json;
pub mod sentence;

pub use sentence::{Sentences, Versions, sentence};
