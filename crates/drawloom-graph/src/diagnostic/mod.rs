//! What is wrong with a graph, as values. The plain text of a finding is its `Display`; excerpts of the source, JSON, SARIF
//! and drawings are made from the same values in `drawloom-lang`.

mod error;
mod rule;
mod sentence;
mod value;

pub use rule::{Rule, Stage};
pub use sentence::{Sentences, Versions, sentence};
pub use value::{Because, Diagnostic, OrderStep, Report, Witness};
