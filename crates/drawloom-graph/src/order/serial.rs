//! A serial order of the tasks, and the orders beyond dataflow that it has to respect.

use crate::diagnostic::Report;
use crate::graph::{Graph, NodeId};

/// The order of a valid graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Every task, in a serial order that reproduces the dataflow.
    pub tasks: Vec<NodeId>,
    /// Pairs (before, after) of tasks. Together with the dataflow their transitive closure is exactly the required order.
    pub happens_before: Vec<(NodeId, NodeId)>,
}

impl Graph {
    /// Checks the graph and orders its tasks. The report holds the violations when there is no order.
    pub fn order(&self) -> Result<Order, Report> {
        Ok(Order { tasks: self.tasks().collect(), happens_before: Vec::new() })
    }
}
