//! Formats: the text language, JSON, Graphviz and SVG drawings, and reports.
//!
//! | file | concept |
//! |---|---|
//! | [`dot`] | graphs in the DOT language of Graphviz |
//! | [`drawing`] | what a drawing shows, in DOT and SVG |
//! | [`json`] | graphs as JSON |
//! | [`loom`] | the text language: parse, print, lower to a graph, write a graph |
//! | [`load`](mod@load) | a graph from bytes in either format |
//! | [`render`](mod@render) | what was found, as text with excerpts of the source |
//! | [`report`] | results of checks and orders for programs: JSON lines and SARIF |
//! | [`svg`] | graphs as self-contained SVG drawings |
//! | [`sentence`](mod@sentence) | witnesses and orders as English sentences |

pub mod dot;
pub mod drawing;
pub mod json;
pub mod load;
pub mod loom;
pub mod render;
pub mod report;
pub mod sentence;
pub mod svg;

pub use drawing::{Drawing, TooLarge};
pub use sentence::{Sentences, Versions, sentence};
