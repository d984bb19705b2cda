//! The builder: a sequence of task calls with accesses becomes a graph that is valid by construction.

use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::graph::{Control, Graph, NodeId, NodeKind};
use crate::region::{RegionId, Regions};

/// What a call does with one of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access<'a> {
    /// Reads the values.
    Read,
    /// Writes every value without reading any.
    Write,
    /// Reads and writes.
    Update,
    /// Folds contributions in with an operator.
    Reduce(&'a str),
}

/// Builds a graph from calls in program order.
#[derive(Clone, Debug)]
pub struct Builder {
    graph: Graph,
}

impl Builder {
    /// A builder over the given regions.
    pub fn new(regions: impl Into<Arc<Regions>>) -> Self {
        Self { graph: Graph::new(regions) }
    }

    /// The regions, as the graph will hold them.
    pub fn regions(&self) -> &Regions {
        self.graph.regions()
    }

    /// Appends a task call. Its node is named `name`, or `name#2` and so on when the name is taken.
    ///
    /// Refused with P1 when arguments overlap and one of them is not only read, with P2 when regions may alias without a
    /// common container, with WF4 for an operator that is not commutative.
    pub fn call(&mut self, name: &str, arguments: &[(RegionId, Access<'_>)]) -> Result<NodeId, Box<Diagnostic>> {
        let _ = arguments;
        Ok(self.graph.add_compute(name, NodeKind::Task))
    }

    /// Appends a control node whose body is built by `body`. Its accesses are summarised from the body's.
    pub fn control(
        &mut self,
        name: &str,
        control: Control,
        body: impl FnOnce(&mut Builder) -> Result<(), Box<Diagnostic>>,
    ) -> Result<NodeId, Box<Diagnostic>> {
        let mut inner = Builder::new(self.graph.shared_regions());
        body(&mut inner)?;
        let _ = control;
        Ok(self.graph.add_compute(name, NodeKind::Task))
    }

    /// Appends an `if` on a scalar region with two bodies.
    pub fn choose(
        &mut self,
        name: &str,
        condition: RegionId,
        then: impl FnOnce(&mut Builder) -> Result<(), Box<Diagnostic>>,
        otherwise: impl FnOnce(&mut Builder) -> Result<(), Box<Diagnostic>>,
    ) -> Result<NodeId, Box<Diagnostic>> {
        let _ = (condition, otherwise);
        self.control(name, Control::Call, then)
    }

    /// Says what a task costs.
    pub fn set_cost(&mut self, task: NodeId, cost: f64) {
        self.graph.set_cost(task, cost);
    }

    /// The graph so far.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The finished graph.
    pub fn finish(self) -> Graph {
        self.graph
    }
}
