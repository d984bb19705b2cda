//! Formats: the text language, JSON, Graphviz and SVG drawings, and reports.
//!
//! | file | concept |
//! |---|---|
//! | [`loom`] | the text language: parse, print, lower to a graph, write a graph |
//! | [`sentence`](mod@sentence) | witnesses and orders as English sentences |

pub mod loom;
pub mod sentence;

pub use sentence::{Sentences, Versions, sentence};
