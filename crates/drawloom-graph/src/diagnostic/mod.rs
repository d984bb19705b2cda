//! What is wrong with a graph, as values: text, JSON, SARIF and drawings are made from these.

mod error;
mod rule;
mod value;

pub use rule::{Rule, Stage};
pub use value::{Because, Diagnostic, OrderStep, Report, Witness};
