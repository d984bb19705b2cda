//! One finding of a check, with everything needed to show and to confirm it.

use super::rule::{Rule, Stage};
use crate::graph::{EdgeId, NodeId};
use crate::region::hierarchy::Inconsistency;
use crate::region::{Alias, RegionId};

/// One violation or warning.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// The rule that is violated, or the warning.
    pub rule: Rule,
    /// A sentence with the user's names in it.
    pub message: String,
    /// The nodes involved, most important first.
    pub nodes: Vec<NodeId>,
    /// The edges involved.
    pub edges: Vec<EdgeId>,
    /// The regions involved.
    pub regions: Vec<RegionId>,
    /// What proves the finding.
    pub witness: Witness,
    /// Ways to mend it, as sentences, best first.
    pub repairs: Vec<String>,
    /// The control nodes around the graph that this is about, outermost first; empty for the outer graph itself.
    pub scope: Vec<NodeId>,
}

/// What proves a finding.
#[derive(Clone, Debug, PartialEq)]
pub enum Witness {
    /// The nodes, edges and regions of the diagnostic say it all.
    Listed,
    /// A cycle of edges: each ends where the next starts (WF1).
    Cycle(Vec<EdgeId>),
    /// Two versions that may alias and that no dataflow orders (RF2).
    Unordered {
        /// One version.
        first: NodeId,
        /// The other version.
        second: NodeId,
        /// Why they may alias.
        alias: Alias,
        /// The latest node from which both are reached.
        common_ancestor: Option<NodeId>,
    },
    /// Two versions at one task, or two arguments of one call, that may alias (T2, W4, P1).
    Overlap {
        /// The region of one.
        first: RegionId,
        /// The region of the other.
        second: RegionId,
        /// Why they may alias.
        alias: Alias,
    },
    /// Facts that contradict each other (RG2).
    Facts(Inconsistency),
    /// Tasks that must each run before the next, and the last before the first (S1).
    Order(Vec<OrderStep>),
}

/// One task that must run before another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderStep {
    /// The task that must run first.
    pub before: NodeId,
    /// The task that must run later.
    pub after: NodeId,
    /// Why.
    pub because: Because,
}

/// Why one task must run before another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Because {
    /// Dataflow or stated orders lead from the one to the other, along this path of nodes. Only its ends are tasks.
    Flow(Vec<NodeId>),
    /// The first reads a version of a region that the second overwrites, by making a later version of a region that may
    /// alias it.
    Overwrites {
        /// The version that is read.
        reads: NodeId,
        /// The later version that is made.
        writes: NodeId,
    },
}

/// Everything a check found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Violations, by stage, then by rule, then by node.
    pub violations: Vec<Diagnostic>,
    /// Things that are legal and probably not meant.
    pub warnings: Vec<Diagnostic>,
    /// How many more violations there are of rules whose list was cut short.
    pub unlisted: u64,
}

impl Report {
    /// Whether the graph is a valid program.
    pub fn is_valid(&self) -> bool {
        self.violations.is_empty()
    }

    /// Whether a rule is among the violations.
    pub fn violates(&self, rule: Rule) -> bool {
        self.violations.iter().any(|d| d.rule == rule)
    }
}

impl Diagnostic {
    /// A finding of a rule with its message, and nothing else yet.
    pub fn new(rule: Rule, message: String) -> Self {
        Self {
            rule,
            message,
            nodes: Vec::new(),
            edges: Vec::new(),
            regions: Vec::new(),
            witness: Witness::Listed,
            repairs: Vec::new(),
            scope: Vec::new(),
        }
    }

    pub(crate) fn at(mut self, nodes: impl IntoIterator<Item = NodeId>) -> Self {
        self.nodes.extend(nodes);
        self
    }

    pub(crate) fn with_edges(mut self, edges: impl IntoIterator<Item = EdgeId>) -> Self {
        self.edges.extend(edges);
        self
    }

    pub(crate) fn with_regions(mut self, regions: impl IntoIterator<Item = RegionId>) -> Self {
        self.regions.extend(regions);
        self
    }

    pub(crate) fn because(mut self, witness: Witness) -> Self {
        self.witness = witness;
        self
    }

    /// The same finding with one more way to mend it.
    #[must_use]
    pub fn repair(mut self, repair: impl Into<String>) -> Self {
        self.repairs.push(repair.into());
        self
    }

    /// Whether this is a warning, and not a violation.
    pub fn is_warning(&self) -> bool {
        self.rule.stage() == Stage::Warning
    }
}
