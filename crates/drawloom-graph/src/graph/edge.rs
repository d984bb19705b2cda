//! Edges: how compute nodes and region versions are connected.

use std::fmt;

use super::node::NodeId;
use crate::region::regions::id;

id! {
    /// An edge of a graph. Ids are dense, in the order of insertion.
    EdgeId
}
id! {
    /// A reduction operator, known by its name.
    OperatorId
}

/// What an edge means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Label {
    /// Data to compute: the values are read.
    Read,
    /// Data to compute: the version is replaced without being read.
    Discard,
    /// Compute to data: the version is written.
    Write,
    /// Compute to data: contributions are folded into the version with an operator.
    Reduce,
    /// Compute to compute: order without data.
    HappensBefore,
    /// Data to a task that reduces: the reduction starts from this version. Order without reading.
    Use,
}

impl Label {
    /// Every label, in the order of the documentation.
    pub const ALL: [Label; 6] =
        [Label::Read, Label::Discard, Label::Write, Label::Reduce, Label::HappensBefore, Label::Use];

    /// The name used in files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Label::Read => "Read",
            Label::Discard => "Discard",
            Label::Write => "Write",
            Label::Reduce => "Reduce",
            Label::HappensBefore => "HappensBefore",
            Label::Use => "Use",
        }
    }

    /// Whether the edge carries or orders data: everything but HappensBefore.
    pub fn is_dataflow(self) -> bool {
        self != Label::HappensBefore
    }

    /// Whether the edge changes its target version: Write and Reduce.
    pub fn is_mutation(self) -> bool {
        matches!(self, Label::Write | Label::Reduce)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An edge, 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where the edge starts.
    pub from: NodeId,
    /// Where the edge ends.
    pub to: NodeId,
    port: u32,
    operator: u16,
    /// What the edge means.
    pub label: Label,
    reorderable: bool,
}

const NO_PORT: u32 = u32::MAX;
const NO_OPERATOR: u16 = u16::MAX;

/// The largest number of different operators in one graph.
pub(crate) const MOST_OPERATORS: usize = NO_OPERATOR as usize;

impl Edge {
    /// An edge without port and operator.
    pub fn new(from: NodeId, to: NodeId, label: Label) -> Self {
        Self { from, to, port: NO_PORT, operator: NO_OPERATOR, label, reorderable: false }
    }

    /// The same edge at an argument position of its compute node. The largest port is `u32::MAX - 1`.
    #[must_use]
    pub fn at_port(mut self, port: u32) -> Self {
        self.port = port;
        self
    }

    /// The same edge with a reduction operator.
    #[must_use]
    pub fn with_operator(mut self, operator: OperatorId) -> Self {
        self.operator = operator.0 as u16;
        self
    }

    /// The same edge, marked as one of a chain of updates whose order is free. See [`Edge::is_reorderable`].
    #[must_use]
    pub fn reorderable(mut self) -> Self {
        self.reorderable = true;
        self
    }

    /// Whether the edge is a Write of a task that commutes: the updates of a chain of such tasks may follow each other in
    /// any order, one at a time. The graph holds one of these orders, and the check is about that one.
    pub fn is_reorderable(&self) -> bool {
        self.reorderable
    }

    /// The argument position of the edge at its compute node.
    pub fn port(&self) -> Option<u32> {
        (self.port != NO_PORT).then_some(self.port)
    }

    /// The operator of a Reduce edge, unless it is missing (rule WF4).
    pub fn operator(&self) -> Option<OperatorId> {
        (self.operator != NO_OPERATOR).then_some(OperatorId(u32::from(self.operator)))
    }
}
