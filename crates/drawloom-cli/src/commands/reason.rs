//! Why an order beyond the dataflow is required.

use drawloom_graph::{Because, Graph, Label, NodeId, OrderStep};

/// Pairs of versions looked at before a reason is given up. Tasks have few arguments; a graph made to be slow may not.
const MOST_PAIRS: usize = 100_000;

/// Finds the versions behind derived orders, without a search through the graph for each.
pub(crate) struct Reasons<'g> {
    graph: &'g Graph,
    /// (task, version it reads), sorted.
    reads: Vec<(NodeId, NodeId)>,
    /// (task, version it writes or reduces), sorted.
    makes: Vec<(NodeId, NodeId)>,
}

impl<'g> Reasons<'g> {
    /// Groups the accesses of a graph by task.
    pub(crate) fn new(graph: &'g Graph) -> Self {
        let edges = || graph.edges().iter();
        let mut reads: Vec<_> = edges().filter(|e| e.label == Label::Read).map(|e| (e.to, e.from)).collect();
        let mut makes: Vec<_> = edges().filter(|e| e.label.is_mutation()).map(|e| (e.from, e.to)).collect();
        reads.sort_unstable();
        makes.sort_unstable();
        Self { graph, reads, makes }
    }

    /// Why one task must run before the other: the first version it reads that the other overwrites.
    ///
    /// In a valid graph every such pair of versions is a reason. Were the version that is made the older one, the dataflow
    /// would order the tasks the other way round.
    pub(crate) fn step(&self, before: NodeId, after: NodeId) -> Option<OrderStep> {
        let pairs = of(&self.reads, before).flat_map(|reads| of(&self.makes, after).map(move |writes| (reads, writes)));
        let may_alias = |(reads, writes): &(NodeId, NodeId)| match (self.graph.region(*reads), self.graph.region(*writes)) {
            (Some(r), Some(w)) => reads != writes && self.graph.regions().may_alias(r, w),
            _ => false,
        };
        let (reads, writes) = pairs.take(MOST_PAIRS).find(may_alias)?;
        Some(OrderStep { before, after, because: Because::Overwrites { reads, writes } })
    }
}

fn of(pairs: &[(NodeId, NodeId)], task: NodeId) -> impl Iterator<Item = NodeId> + Clone {
    let start = pairs.partition_point(|(t, _)| *t < task);
    pairs[start..].iter().take_while(move |(t, _)| *t == task).map(|(_, version)| *version)
}
