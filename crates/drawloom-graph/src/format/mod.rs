//! Formats: the text language, JSON, Graphviz and SVG drawings, and reports.
//!
//! | file | concept |
//! |---|---|
//! | [`dot`] | graphs in the DOT language of Graphviz |
//! | [`drawing`] | what a drawing shows, in DOT and SVG |
//! | [`json`] | graphs as JSON |
//! | [`report`] | results of checks and orders for programs: JSON lines and SARIF |
//! | [`svg`] | graphs as self-contained SVG drawings |
//! | [`sentence`](mod@sentence) | witnesses and orders as English sentences |

pub mod dot;
pub mod drawing;
pub mod json;
pub mod report;
pub mod sentence;
pub mod svg;

pub use drawing::{Drawing, TooLarge};
pub use sentence::{Sentences, Versions, sentence};
