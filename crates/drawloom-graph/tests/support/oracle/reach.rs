//! Who reaches whom: a depth-first search from every node.

use drawloom_graph::{Edge, Graph, NodeId};

/// The pairs (from, to) such that a path leads from the one to the other; every node reaches itself.
pub(crate) struct Reach {
    rows: Vec<Vec<bool>>,
    ranks: Vec<usize>,
}

impl Reach {
    /// Reachability along the kept edges, and along the given extra ones.
    pub(crate) fn new(graph: &Graph, keep: impl Fn(&Edge) -> bool, extra: &[(NodeId, NodeId)]) -> Self {
        let nodes = graph.nodes().len();
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); nodes];
        graph.edges().iter().filter(|e| keep(e)).for_each(|e| next[e.from.index()].push(e.to.index()));
        extra.iter().for_each(|(a, b)| next[a.index()].push(b.index()));
        let rows = (0..nodes).map(|start| {
            let mut seen = vec![false; nodes];
            let mut stack = vec![start];
            seen[start] = true;
            while let Some(at) = stack.pop() {
                for &to in &next[at] {
                    if !std::mem::replace(&mut seen[to], true) {
                        stack.push(to);
                    }
                }
            }
            seen
        });
        let rows: Vec<Vec<bool>> = rows.collect();
        let ranks = (0..nodes).map(|n| rows.iter().filter(|row| row[n]).count()).collect();
        Self { rows, ranks }
    }

    /// Reachability along everything but HappensBefore: what rules RF2 and S1 mean by "reaches".
    pub(crate) fn dataflow(graph: &Graph) -> Self {
        Self::new(graph, |e| e.label.is_dataflow(), &[])
    }

    /// Whether a path leads from `a` to `b`. Every node reaches itself.
    pub(crate) fn reaches(&self, a: NodeId, b: NodeId) -> bool {
        self.rows[a.index()][b.index()]
    }

    /// How many nodes reach this one. Along a path of an acyclic graph it grows with every step.
    pub(crate) fn rank(&self, node: NodeId) -> usize {
        self.ranks[node.index()]
    }

    /// Whether two nodes lie on a common cycle, or are one.
    pub(crate) fn mutual(&self, a: NodeId, b: NodeId) -> bool {
        self.reaches(a, b) && self.reaches(b, a)
    }
}
