//! Names of nodes for files, in which no name stands for two nodes.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use drawloom_graph::graph::{Graph, NodeId};

/// The names of all nodes of a graph. A name that an earlier node has gets a number, as in `t#2`.
pub(crate) struct UniqueNames<'g> {
    graph: &'g Graph,
    renamed: FxHashMap<NodeId, String>,
}

impl<'g> UniqueNames<'g> {
    pub(crate) fn new(graph: &'g Graph) -> Self {
        let mut taken: FxHashSet<Cow<'g, str>> = FxHashSet::default();
        let repeated: Vec<NodeId> = graph.node_ids().filter(|node| !taken.insert(graph.name(*node))).collect();
        // Only now are all names known that a number must not collide with.
        let mut numbers: FxHashMap<Cow<'g, str>, u64> = FxHashMap::default();
        let mut renamed = FxHashMap::default();
        for node in repeated {
            let number = numbers.entry(graph.name(node)).or_insert(1);
            let name = loop {
                *number += 1;
                let name = format!("{}#{number}", graph.name(node));
                if taken.insert(Cow::Owned(name.clone())) {
                    break name;
                }
            };
            renamed.insert(node, name);
        }
        Self { graph, renamed }
    }

    /// The new name of a node whose own name is taken.
    pub(crate) fn renamed(&self, node: NodeId) -> Option<&str> {
        self.renamed.get(&node).map(String::as_str)
    }

    /// The name of a node.
    pub(crate) fn of(&self, node: NodeId) -> Cow<'_, str> {
        self.renamed(node).map_or_else(|| self.graph.name(node), Cow::Borrowed)
    }
}
