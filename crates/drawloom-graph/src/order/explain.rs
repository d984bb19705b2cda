//! Why one task must run before another, or why nothing orders them.

use crate::diagnostic::OrderStep;
use crate::graph::{Graph, NodeId};
use crate::order::Order;

/// How two nodes are ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Explanation {
    /// The first must precede the second, step by step.
    Before(Vec<OrderStep>),
    /// The second must precede the first, step by step.
    After(Vec<OrderStep>),
    /// Nothing orders them: they may run at the same time.
    Unordered,
}

impl Graph {
    /// Explains the order between two nodes of a valid graph, given its order.
    pub fn explain(&self, order: &Order, a: NodeId, b: NodeId) -> Explanation {
        let _ = (order, a, b);
        Explanation::Unordered
    }
}
