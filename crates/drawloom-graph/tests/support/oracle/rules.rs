//! Every rule of a check, straight from its sentence: all edges, all pairs, a search from every node.
//!
//! A finding is a rule and the nodes that tell it from other findings of the rule; see [`key`]. Nested graphs are left out.

use std::collections::BTreeSet;

use drawloom_graph::{
    Diagnostic, Edge, Fact, Graph, IndexSet, Label, NodeId, NodeKind, RegionId, Regions, Rule, Stage,
};

use super::reach::Reach;

/// A rule and the nodes it is about.
pub(crate) type Finding = (Rule, Vec<NodeId>);

/// Everything that is wrong with the graph, stage by stage like the check: a stage runs when those before it are clean.
/// Warnings belong to the second stage, and are found only when nothing is wrong in the first two.
pub(crate) fn findings(graph: &Graph) -> BTreeSet<Finding> {
    let naive = Naive::new(graph);
    let mut found = BTreeSet::new();
    naive.well_formed(&mut found);
    if found.is_empty() {
        naive.facts(&mut found);
        naive.versions(&mut found);
        naive.tasks(&mut found);
        naive.opens_and_closes(&mut found);
        if found.is_empty() {
            naive.serial(&mut found);
            naive.warnings(&mut found);
        }
    }
    found
}

/// The finding that a diagnostic of the library states.
pub(crate) fn key(graph: &Graph, diagnostic: &Diagnostic) -> Finding {
    let nodes = &diagnostic.nodes;
    let keep = match diagnostic.rule {
        Rule::WF0 | Rule::WF2 | Rule::WF3 | Rule::WF4 | Rule::WF5 => 2,
        Rule::T1 | Rule::O2 | Rule::O3 | Rule::C2 | Rule::C3 | Rule::W4 => 2,
        Rule::RF2 => 2,
        Rule::T2 => 3,
        _ => 1,
    };
    let mut kept: Vec<NodeId> = nodes.iter().copied().take(keep).collect();
    match diagnostic.rule {
        Rule::RG2 => kept.clear(),
        Rule::WF1 | Rule::S1 => {
            // A cycle stands for everything that is tangled up with it; its smallest node names that.
            let extra = if diagnostic.rule == Rule::S1 { exact_orders(graph) } else { Vec::new() };
            let reach = Reach::new(graph, |_| true, &extra);
            kept = vec![tangle(graph, &reach, nodes[0])];
        }
        Rule::RF2 => kept.sort_unstable(),
        Rule::T2 => kept[1..].sort_unstable(),
        _ => {}
    }
    (diagnostic.rule, kept)
}

/// Rule E over all pairs: a Task X that reads D precedes a Task C that writes or reduces W when their regions may alias, W
/// does not reach D, and C is not X.
pub(crate) fn exact_orders(graph: &Graph) -> Vec<(NodeId, NodeId)> {
    let reach = Reach::dataflow(graph);
    let is_task = |n: NodeId| graph.kind(n) == NodeKind::Task;
    let mut orders = Vec::new();
    for read in graph.edges().iter().filter(|e| e.label == Label::Read && is_task(e.to)) {
        for made in graph.edges().iter().filter(|e| e.label.is_mutation() && is_task(e.from)) {
            let (Some(d), Some(w)) = (graph.region(read.from), graph.region(made.to)) else { continue };
            if read.to != made.from && graph.regions().may_alias(d, w) && !reach.reaches(made.to, read.from) {
                orders.push((read.to, made.from));
            }
        }
    }
    orders
}

fn tangle(graph: &Graph, reach: &Reach, node: NodeId) -> NodeId {
    graph.node_ids().find(|n| reach.mutual(*n, node)).expect("every node is tangled up with itself")
}

struct Naive<'a> {
    graph: &'a Graph,
    regions: &'a Regions,
}

impl<'a> Naive<'a> {
    fn new(graph: &'a Graph) -> Self {
        Self { graph, regions: graph.regions() }
    }

    fn edges(&self, keep: impl Fn(&Edge) -> bool) -> Vec<&'a Edge> {
        self.graph.edges().iter().filter(|e| keep(e)).collect()
    }

    fn nodes(&self, kind: NodeKind) -> impl Iterator<Item = NodeId> + '_ {
        self.graph.node_ids().filter(move |n| self.graph.kind(*n) == kind)
    }

    /// The declared region of a version.
    fn region(&self, version: NodeId) -> Option<RegionId> {
        self.graph.region(version).filter(|r| self.regions.is_declared(*r))
    }

    fn may_alias(&self, a: NodeId, b: NodeId) -> bool {
        matches!((self.region(a), self.region(b)), (Some(a), Some(b)) if self.regions.may_alias(a, b))
    }

    /// The different versions at the other end of a node's edges with a label.
    fn taken(&self, node: NodeId, label: Label) -> BTreeSet<NodeId> {
        self.edges(|e| e.to == node && e.label == label).iter().map(|e| e.from).collect()
    }

    fn made(&self, node: NodeId, label: Label) -> BTreeSet<NodeId> {
        self.edges(|e| e.from == node && e.label == label).iter().map(|e| e.to).collect()
    }

    fn well_formed(&self, found: &mut BTreeSet<Finding>) {
        for edge in self.graph.edges() {
            let (from, to) = (self.graph.kind(edge.from), self.graph.kind(edge.to));
            let mut report = |rule| _ = found.insert((rule, vec![edge.from, edge.to]));
            let known = from != NodeKind::Undeclared && to != NodeKind::Undeclared;
            if !known {
                report(Rule::WF0);
            }
            let data_to_compute = from == NodeKind::Data && to.is_compute();
            let compute_to_data = from.is_compute() && to == NodeKind::Data;
            match edge.label {
                Label::Read | Label::Discard if known && !data_to_compute => report(Rule::WF2),
                Label::Write | Label::Reduce if known && !compute_to_data => report(Rule::WF3),
                Label::HappensBefore if known && !(from.is_compute() && to.is_compute()) => report(Rule::WF5),
                Label::Use if known => {
                    let reduces = !self.made(edge.to, Label::Reduce).is_empty();
                    if !(from == NodeKind::Data && to == NodeKind::Task && reduces) {
                        report(Rule::WF5);
                    }
                }
                _ => {}
            }
            let operator = edge.operator().map(|o| self.graph.operator_name(o));
            if edge.label == Label::Reduce && operator.is_none_or(|o| o == "-" || o == "/") {
                report(Rule::WF4);
            }
        }
        let all = Reach::new(self.graph, |_| true, &[]);
        for edge in self.graph.edges() {
            if all.reaches(edge.to, edge.from) {
                found.insert((Rule::WF1, vec![tangle(self.graph, &all, edge.from)]));
            }
        }
    }

    /// RG1 and RG2, the second from the list of facts alone.
    fn facts(&self, found: &mut BTreeSet<Finding>) {
        for version in self.nodes(NodeKind::Data).filter(|n| self.region(*n).is_none()) {
            found.insert((Rule::RG1, vec![version]));
        }
        let above = |region: RegionId| {
            let mut seen = vec![region];
            let mut at = 0;
            while at < seen.len() {
                for fact in self.regions.facts() {
                    if let Fact::Subregion(child, parent) = fact
                        && *child == seen[at]
                        && !seen.contains(parent)
                    {
                        seen.push(*parent);
                    }
                }
                at += 1;
            }
            seen
        };
        let ids: Vec<RegionId> = self.regions.ids().collect();
        let cyclic = ids.iter().any(|a| above(*a).iter().any(|b| a != b && above(*b).contains(a)));
        // A region disjoint from itself or from its ancestor has two disjoint regions at or above it, too.
        let torn = self.regions.facts().iter().any(|fact| match fact {
            Fact::Disjoint(a, b) => ids.iter().any(|r| above(*r).contains(a) && above(*r).contains(b)),
            Fact::Subregion(..) => false,
        });
        let undeclared = self.regions.facts().iter().any(|fact| {
            let (Fact::Subregion(a, b) | Fact::Disjoint(a, b)) = fact;
            !self.regions.is_declared(*a) || !self.regions.is_declared(*b)
        });
        if cyclic || torn || undeclared {
            found.insert((Rule::RG2, Vec::new()));
        }
    }

    /// RF1a, RF1b, RF1c and RF2.
    fn versions(&self, found: &mut BTreeSet<Finding>) {
        for version in self.nodes(NodeKind::Data) {
            let writes = self.edges(|e| e.to == version && e.label == Label::Write).len();
            let reduces = self.edges(|e| e.to == version && e.label == Label::Reduce);
            let mut report = |rule, wrong: bool| _ = wrong && found.insert((rule, vec![version]));
            report(Rule::RF1a, writes > 1);
            report(Rule::RF1b, writes > 0 && !reduces.is_empty());
            report(Rule::RF1c, reduces.iter().any(|e| e.operator() != reduces[0].operator()));
        }
        let reach = Reach::dataflow(self.graph);
        let with_edges = |n: &NodeId| self.graph.edges().iter().any(|e| e.from == *n || e.to == *n);
        let versions: Vec<NodeId> = self.nodes(NodeKind::Data).filter(with_edges).collect();
        for &a in &versions {
            for &b in versions.iter().filter(|b| a < **b) {
                if self.may_alias(a, b) && !reach.reaches(a, b) && !reach.reaches(b, a) {
                    found.insert((Rule::RF2, vec![a, b]));
                }
            }
        }
    }

    /// T1 and T2.
    fn tasks(&self, found: &mut BTreeSet<Finding>) {
        for task in self.nodes(NodeKind::Task) {
            let (reads, discards) = (self.taken(task, Label::Read), self.taken(task, Label::Discard));
            for version in self.made(task, Label::Write) {
                let Some(region) = self.region(version) else { continue };
                if !reads.iter().chain(&discards).any(|d| self.region(*d) == Some(region)) {
                    found.insert((Rule::T1, vec![task, version]));
                }
            }
            for &a in &reads {
                for &b in reads.iter().filter(|b| a < **b && self.may_alias(a, **b)) {
                    found.insert((Rule::T2, vec![task, a, b]));
                }
            }
        }
    }

    /// O1 to O3 and C1 to C4.
    fn opens_and_closes(&self, found: &mut BTreeSet<Finding>) {
        for (kind, count, inside, plain) in
            [(NodeKind::Open, Rule::O1, Rule::O2, Rule::O3), (NodeKind::Close, Rule::C1, Rule::C2, Rule::C3)]
        {
            for node in self.nodes(kind) {
                let (reads, writes) = (self.taken(node, Label::Read), self.made(node, Label::Write));
                let (whole, parts) = if kind == NodeKind::Open { (&reads, &writes) } else { (&writes, &reads) };
                if whole.len() != 1 {
                    found.insert((count, vec![node]));
                } else if let Some(outer) = whole.first().and_then(|w| self.region(*w)) {
                    for part in parts {
                        if self.region(*part).is_some_and(|inner| !self.regions.is_subregion(inner, outer)) {
                            found.insert((inside, vec![node, *part]));
                        }
                    }
                }
                for other in self.taken(node, Label::Discard).into_iter().chain(self.made(node, Label::Reduce)) {
                    found.insert((plain, vec![node, other]));
                }
                let regions: Vec<RegionId> = reads.iter().filter_map(|d| self.region(*d)).collect();
                let different: BTreeSet<RegionId> = regions.iter().copied().collect();
                if kind == NodeKind::Close && different.len() < regions.len() {
                    found.insert((Rule::C4, vec![node]));
                }
            }
        }
    }

    /// S1: dataflow, stated orders and rule E have no cycle together.
    fn serial(&self, found: &mut BTreeSet<Finding>) {
        let orders = exact_orders(self.graph);
        let reach = Reach::new(self.graph, |_| true, &orders);
        for (before, after) in orders {
            if reach.reaches(after, before) {
                found.insert((Rule::S1, vec![tangle(self.graph, &reach, before)]));
            }
        }
    }

    fn warnings(&self, found: &mut BTreeSet<Finding>) {
        for open in self.nodes(NodeKind::Open) {
            let (reads, writes) = (self.taken(open, Label::Read), self.made(open, Label::Write));
            if writes.is_empty() {
                found.insert((Rule::W1, vec![open]));
            }
            if writes.iter().any(|w| reads.iter().any(|r| self.region(*r) == self.region(*w))) {
                found.insert((Rule::W2, vec![open]));
            }
        }
        for close in self.nodes(NodeKind::Close) {
            let (reads, writes) = (self.taken(close, Label::Read), self.made(close, Label::Write));
            let Some(whole) = writes.first().and_then(|w| self.region(*w)) else { continue };
            let parts: Vec<RegionId> = reads.iter().filter_map(|d| self.region(*d)).collect();
            if parts == [whole] {
                found.insert((Rule::W2, vec![close]));
            }
            if !self.fills(whole, &parts) {
                found.insert((Rule::W3, vec![close]));
            }
        }
        for task in self.nodes(NodeKind::Task) {
            for version in self.taken(task, Label::Discard) {
                if self.taken(task, Label::Read).iter().any(|d| self.may_alias(*d, version)) {
                    found.insert((Rule::W4, vec![task, version]));
                }
            }
        }
        let reach = Reach::dataflow(self.graph);
        for version in self.nodes(NodeKind::Data) {
            let reducers = self.edges(|e| e.to == version && e.label == Label::Reduce);
            let starts: BTreeSet<Option<NodeId>> = reducers
                .iter()
                .map(|r| {
                    let taken = self.edges(|e| e.to == r.from && self.graph.kind(e.from) == NodeKind::Data);
                    let own = taken.iter().map(|e| e.from).filter(|n| self.region(*n) == self.region(version));
                    own.max_by_key(|n| reach.rank(*n))
                })
                .collect();
            if starts.len() > 1 {
                found.insert((Rule::W5, vec![version]));
            }
        }
    }

    /// Whether the parts surely make up the whole: one of them contains it, their indices do, or they are all pieces of a
    /// complete partition of it. Worlds of the generators nest too little for more.
    fn fills(&self, whole: RegionId, parts: &[RegionId]) -> bool {
        let space = self.regions.space_of(whole);
        let held = |s| parts.iter().any(|p| self.regions.sibling(whole, s) == Some(*p));
        let by_partition = self.regions.partitions_of(space).iter().any(|p| {
            self.regions.is_complete(*p) && (0..self.regions.piece_count(*p)).all(|c| held(self.regions.piece(*p, c)))
        });
        let known: Vec<&IndexSet> =
            parts.iter().filter_map(|p| self.regions.indices(self.regions.space_of(*p))).collect();
        let together = known.iter().fold(IndexSet::empty(), |all, set| all.union(set));
        parts.iter().any(|p| self.regions.is_subregion(whole, *p))
            || by_partition
            || self.regions.indices(space).is_some_and(|i| together.contains_set(i))
    }
}

/// Whether a rule depends on which regions may alias or contain each other, and so on the facts being consistent.
pub(crate) fn needs_facts(rule: Rule) -> bool {
    matches!(rule, Rule::RF2 | Rule::T2 | Rule::O2 | Rule::C2 | Rule::W3 | Rule::W4) || rule.stage() == Stage::Serial
}
