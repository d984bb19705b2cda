//! Graphs of tasks as text: the language `.loom`, JSON, reports with excerpts of the source, and drawings.
//!
//! ```
//! let loaded = drawloom_lang::load::load("twice.loom", b"region A\ntask f(write A)\ntask g(read A)\n").unwrap();
//! assert!(loaded.graph.check().is_valid());
//! assert!(drawloom_lang::json::write(&loaded.graph).contains("\"region\":\"A\""));
//! ```
//!
//! | module | what is in it |
//! |---|---|
//! | [`dot`] | graphs in the DOT language of Graphviz |
//! | [`drawing`] | what a drawing shows, in DOT and SVG |
//! | [`json`] | graphs as JSON |
//! | [`loom`] | the text language: parse, print, lower to a graph, write a graph |
//! | [`load`](mod@load) | a graph from bytes in either format |
//! | [`render`](mod@render) | what was found, as text with excerpts of the source |
//! | [`report`] | results of checks and orders for programs: JSON lines and SARIF |
//! | [`svg`] | graphs as self-contained SVG drawings |
#![forbid(unsafe_code)]

pub mod dot;
pub mod drawing;
pub mod json;
pub mod load;
pub mod loom;
mod names;
pub mod render;
pub mod report;
mod scope;
pub mod svg;

pub use drawing::{Drawing, TooLarge};
