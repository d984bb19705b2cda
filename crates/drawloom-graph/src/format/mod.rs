//! Formats: the text language, JSON, Graphviz and SVG drawings, and reports.
//!
//! | file | concept |
//! |---|---|
//! | [`json`] | graphs as JSON |
//! | [`report`] | results of checks and orders for programs: JSON lines and SARIF |
//! | [`sentence`](mod@sentence) | witnesses and orders as English sentences |

pub mod json;
pub mod report;
pub mod sentence;

pub use sentence::{Sentences, Versions, sentence};
