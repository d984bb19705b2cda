//! Why one task must run before another, or why nothing orders them.

use crate::check::serial::Orders;
use crate::check::{Options, cycle};
use crate::diagnostic::{OrderStep, Report};
use crate::graph::{Graph, NodeId};

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
    /// Explains the order between two nodes by a chain with the fewest tasks. The report holds the violations of a graph
    /// that has no order.
    pub fn explain(&self, a: NodeId, b: NodeId) -> Result<Explanation, Report> {
        self.analyse(&Options::default(), |ordered, _| {
            let orders = Orders::new(ordered);
            if let Some(steps) = cycle::shortest_chain(ordered, &orders, a.0, b.0) {
                return Explanation::Before(steps);
            }
            cycle::shortest_chain(ordered, &orders, b.0, a.0).map_or(Explanation::Unordered, Explanation::After)
        })
    }
}
