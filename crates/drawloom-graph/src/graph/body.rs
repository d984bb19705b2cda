//! Nested graphs: a task that holds other tasks.

use super::table::Graph;
use crate::region::RegionId;

/// How often, and when, a nested graph runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// Once: a subgraph outlined into one task.
    Call,
    /// The given number of times, one after the other.
    Repeat(u64),
    /// As long as the scalar region holds a true value before an iteration.
    While(RegionId),
    /// Once, when the scalar region holds a true value; otherwise the `otherwise` body, if there is one.
    If(RegionId),
}

/// The graph inside a control node. It shares the region table of the outer graph: region ids mean the same in both.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// When the body runs.
    pub control: Control,
    /// What runs.
    pub graph: Box<Graph>,
    /// What runs instead, when the condition of an `If` does not hold.
    pub otherwise: Option<Box<Graph>>,
}

impl Body {
    /// A body that runs under the given control.
    pub fn new(control: Control, graph: Graph) -> Self {
        Self { control, graph: Box::new(graph), otherwise: None }
    }

    /// The same body with an alternative for a condition that does not hold.
    #[must_use]
    pub fn with_otherwise(mut self, graph: Graph) -> Self {
        self.otherwise = Some(Box::new(graph));
        self
    }

    /// Every graph in the body: one, or two for an `if` with an alternative.
    pub fn graphs(&self) -> impl Iterator<Item = &Graph> {
        std::iter::once(&*self.graph).chain(self.otherwise.as_deref())
    }
}
