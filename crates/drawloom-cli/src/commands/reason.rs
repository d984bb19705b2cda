//! Why one task must run before the next: the versions behind each required order.
//!
//! The library explains any two nodes by a search through the whole graph. A list of orders has a shorter way: the two tasks
//! are next to each other, with at most versions, Opens and Closes between them.

use drawloom_graph::{Because, Graph, Label, NodeId, NodeKind, OrderStep};

/// How much is looked at before a reason is given up. Tasks have few arguments; a graph made to be slow may not.
const PATIENCE: usize = 100_000;

/// Finds the reasons of required orders.
pub(crate) struct Reasons<'g> {
    graph: &'g Graph,
    /// (task, version it reads), sorted.
    reads: Vec<(NodeId, NodeId)>,
    /// (task, version it writes or reduces), sorted.
    makes: Vec<(NodeId, NodeId)>,
    /// (node, next node) along every edge, sorted.
    edges: Vec<(NodeId, NodeId)>,
}

impl<'g> Reasons<'g> {
    /// Groups the edges of a graph by node.
    pub(crate) fn new(graph: &'g Graph) -> Self {
        let sorted = |mut pairs: Vec<(NodeId, NodeId)>| {
            pairs.sort_unstable();
            pairs
        };
        let edges = || graph.edges().iter();
        Self {
            graph,
            reads: sorted(edges().filter(|e| e.label == Label::Read).map(|e| (e.to, e.from)).collect()),
            makes: sorted(edges().filter(|e| e.label.is_mutation()).map(|e| (e.from, e.to)).collect()),
            edges: sorted(edges().map(|e| (e.from, e.to)).collect()),
        }
    }

    /// Why one task must run before the other, when that is so without a third task between them. Two tasks may have both
    /// reasons; that data is overwritten comes first, since it is the one that edges do not show.
    pub(crate) fn step(&self, before: NodeId, after: NodeId) -> Option<OrderStep> {
        let because = self.overwrites(before, after).or_else(|| self.flow(before, after))?;
        Some(OrderStep { before, after, because })
    }

    /// A shortest path along edges with no other task on it.
    fn flow(&self, before: NodeId, after: NodeId) -> Option<Because> {
        // Each entry is a node and the entry it was reached from.
        let mut reached = vec![(before, 0)];
        let mut seen = std::collections::BTreeSet::from([before]);
        let mut at = 0;
        while at < reached.len() && reached.len() < PATIENCE {
            for next in of(&self.edges, reached[at].0) {
                if next == after {
                    let mut path = vec![after];
                    let mut step = at;
                    while step != 0 {
                        path.push(reached[step].0);
                        step = reached[step].1;
                    }
                    path.push(before);
                    path.reverse();
                    return Some(Because::Flow(path));
                }
                if self.graph.kind(next) != NodeKind::Task && seen.insert(next) {
                    reached.push((next, at));
                }
            }
            at += 1;
        }
        None
    }

    /// The first version that one task reads and the other overwrites.
    ///
    /// In a valid graph every such pair of versions is a reason. Were the version that is made the older one, the dataflow
    /// would order the tasks the other way round.
    fn overwrites(&self, before: NodeId, after: NodeId) -> Option<Because> {
        let may_alias = |reads: NodeId, writes: NodeId| match (self.graph.region(reads), self.graph.region(writes)) {
            (Some(r), Some(w)) => reads != writes && self.graph.regions().may_alias(r, w),
            _ => false,
        };
        of(&self.reads, before)
            .flat_map(|reads| of(&self.makes, after).map(move |writes| (reads, writes)))
            .take(PATIENCE)
            .find(|(reads, writes)| may_alias(*reads, *writes))
            .map(|(reads, writes)| Because::Overwrites { reads, writes })
    }
}

fn of(pairs: &[(NodeId, NodeId)], node: NodeId) -> impl Iterator<Item = NodeId> {
    let start = pairs.partition_point(|(n, _)| *n < node);
    pairs[start..].iter().take_while(move |(n, _)| *n == node).map(|(_, other)| *other)
}
