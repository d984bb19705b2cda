//! Witnesses and orders as English sentences with the user's names in them.
//!
//! Text, JSON and SARIF reports all show the same words, so the words are made here, once. A version of a region is called
//! `A (version 2)`: two versions come before it in the dataflow. That is what a reader of a report can count in the
//! source, where node names may be generated.
//!
//! ```
//! use drawloom_graph::sentence;
//! use drawloom_graph::{Because, Graph, Label, NodeKind, OrderStep, Regions};
//! let mut regions = Regions::new();
//! let a = regions.abstract_region("A")?;
//! let mut graph = Graph::new(regions);
//! let (old, new) = (graph.add_data("A0", a), graph.add_data("A1", a));
//! let (reader, writer) = (graph.add_compute("X", NodeKind::Task), graph.add_compute("C", NodeKind::Task));
//! graph.connect(old, reader, Label::Read);
//! graph.connect(old, writer, Label::Read);
//! graph.connect(writer, new, Label::Write);
//! let because = Because::Overwrites { reads: old, writes: new };
//! let step = OrderStep { before: reader, after: writer, because };
//! assert_eq!(sentence(&graph, &step), "X must run before C because X reads A (version 0) and C overwrites A");
//! # Ok::<(), drawloom_graph::RegionError>(())
//! ```

use std::cell::OnceCell;
use std::fmt::Write as _;

use crate::diagnostic::{Because, OrderStep, Witness};
use crate::graph::adjacency::{Lists, edges_by, topological};
use crate::graph::{EdgeId, Graph, Label, NodeId};
use crate::region::hierarchy::Inconsistency;
use crate::region::{Alias, RegionId, SpaceId};

/// Paths with more versions than this are told by their ends and a list of what lies between.
const LONGEST_STORY: usize = 3;

/// For each version, how many versions of its region come before it.
///
/// Counts along a topological order of the dataflow; in a cyclic graph, which has none, along the order of the nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    ranks: Vec<u32>,
}

impl Versions {
    /// Counts the versions of every region. Costs the number of nodes and edges.
    pub fn new(graph: &Graph) -> Self {
        let mut ranks = vec![u32::MAX; graph.nodes().len()];
        let mut counts = vec![0u32; graph.regions().len()];
        for node in dataflow_order(graph).unwrap_or_else(|| graph.node_ids().collect()) {
            if let Some(region) = graph.region(node) {
                ranks[node.index()] = counts[region.index()];
                counts[region.index()] += 1;
            }
        }
        Self { ranks }
    }

    /// The number of a version, from zero. `None` for a node that is no version of a region.
    pub fn of(&self, node: NodeId) -> Option<u32> {
        self.ranks.get(node.index()).copied().filter(|rank| *rank != u32::MAX)
    }
}

/// The sentence for one step of an order. Use [`Sentences`] for many: it counts the versions only once.
pub fn sentence(graph: &Graph, step: &OrderStep) -> String {
    Sentences::new(graph).step(step)
}

/// Makes sentences about one graph. What it needs to know about the graph is computed when first needed, and kept.
pub struct Sentences<'g> {
    graph: &'g Graph,
    versions: OnceCell<Versions>,
    incoming: OnceCell<Lists<EdgeId>>,
}

impl<'g> Sentences<'g> {
    /// A maker of sentences about a graph. Costs nothing by itself.
    pub fn new(graph: &'g Graph) -> Self {
        Self { graph, versions: OnceCell::new(), incoming: OnceCell::new() }
    }

    /// The numbers of all versions.
    pub fn versions(&self) -> &Versions {
        self.versions.get_or_init(|| Versions::new(self.graph))
    }

    /// A version by region and number, `A (version 0)`; any other node by its name.
    pub fn version(&self, node: NodeId) -> String {
        match (self.graph.region(node), self.versions().of(node)) {
            (Some(region), Some(rank)) => format!("{} (version {rank})", self.graph.region_name(region)),
            _ => self.graph.name(node).into_owned(),
        }
    }

    /// Why one task must run before another, as a sentence without a full stop.
    pub fn step(&self, step: &OrderStep) -> String {
        let (before, after) = (self.graph.name(step.before), self.graph.name(step.after));
        let why = match &step.because {
            Because::Overwrites { reads, writes } => self.overwrites(step, *reads, *writes),
            Because::Flow(path) => self.flow(path),
        };
        format!("{before} must run before {after} because {why}")
    }

    /// A chain of steps as one sentence, joined by semicolons.
    pub fn steps(&self, steps: &[OrderStep]) -> String {
        steps.iter().map(|s| self.step(s)).collect::<Vec<_>>().join("; ")
    }

    /// Why two regions may alias, or why they cannot, as a clause: `u contains u.blocks[1]`.
    pub fn alias(&self, first: RegionId, second: RegionId, alias: &Alias) -> String {
        let regions = self.graph.regions();
        let (a, b) = (regions.name(first), regions.name(second));
        match alias {
            Alias::Same => format!("both are {a}"),
            Alias::Contains(outer, inner) => self.containment_path(*inner, *outer),
            Alias::Shares(index) => format!("{a} and {b} both hold index {index}"),
            Alias::NotKnownDisjoint => format!("nothing says that {a} and {b} are disjoint"),
            Alias::DifferentFields => format!("{a} and {b} belong to different fields"),
            Alias::DifferentSpaces => format!("{a} and {b} lie in different index spaces"),
            Alias::DisjointPieces(partition, c, d) => {
                let name = regions.partition_name(*partition);
                format!("{a} and {b} lie in pieces {c} and {d} of the disjoint partition {name}")
            }
            Alias::NoSharedIndex => format!("{a} and {b} have no index in common"),
            Alias::Stated(x, y) => {
                let (x, y) = (regions.space_name(*x), regions.space_name(*y));
                format!("{x} and {y} are stated to be disjoint")
            }
        }
    }

    /// What is wrong with stated facts, as a sentence without a full stop.
    pub fn inconsistency(&self, inconsistency: &Inconsistency) -> String {
        let name = |region: RegionId| self.graph.region_name(region);
        match inconsistency {
            Inconsistency::Undeclared(region) => {
                format!("a fact names the region {}, which is not declared", name(*region))
            }
            Inconsistency::Cycle(regions) => {
                let above: Vec<_> = regions.iter().skip(1).chain(regions.first()).map(|r| name(*r)).collect();
                let first = regions.first().map_or_else(String::new, |r| name(*r).into_owned());
                format!("{first} is a subregion of {}", above.join(", which is a subregion of "))
            }
            Inconsistency::DisjointFromAncestor(region, container) if region == container => {
                format!("{} is stated to be disjoint from itself", name(*region))
            }
            Inconsistency::DisjointFromAncestor(region, container) => {
                format!("{} is stated to be disjoint from {}, which contains it", name(*region), name(*container))
            }
            Inconsistency::DisjointAncestors(region, a, b) => {
                let (region, a, b) = (name(*region), name(*a), name(*b));
                format!("{region} lies in both {a} and {b}, which are stated to be disjoint")
            }
        }
    }

    /// A cycle of edges, `t writes A1, t reads A1`: one clause for each edge.
    pub fn cycle(&self, edges: &[EdgeId]) -> String {
        edges.iter().map(|e| self.edge(*e)).collect::<Vec<_>>().join(", ")
    }

    /// One edge as a clause: `t reads A1`.
    pub fn edge(&self, edge: EdgeId) -> String {
        let edge = self.graph.edge(edge);
        let (from, to) = (self.graph.name(edge.from), self.graph.name(edge.to));
        match edge.label {
            Label::Read => format!("{to} reads {from}"),
            Label::Discard => format!("{to} discards {from}"),
            Label::Use => format!("{to} uses {from}"),
            Label::Write => format!("{from} writes {to}"),
            Label::Reduce => format!("{from} reduces into {to}"),
            Label::HappensBefore => format!("{from} is stated to happen before {to}"),
        }
    }

    /// A witness as sentences without full stops; none when the nodes and edges of the diagnostic say it all.
    pub fn witness(&self, witness: &Witness) -> Vec<String> {
        match witness {
            Witness::Listed => Vec::new(),
            Witness::Cycle(edges) => vec![self.cycle(edges)],
            Witness::Unordered { first, second, alias, common_ancestor } => {
                self.unordered(*first, *second, alias, *common_ancestor)
            }
            Witness::Overlap { first, second, alias } => {
                let (a, b) = (self.graph.region_name(*first), self.graph.region_name(*second));
                vec![format!("{a} and {b} may alias because {}", self.alias(*first, *second, alias))]
            }
            Witness::Facts(inconsistency) => vec![self.inconsistency(inconsistency)],
            Witness::Order(steps) => steps.iter().map(|s| self.step(s)).collect(),
        }
    }

    fn unordered(&self, first: NodeId, second: NodeId, alias: &Alias, ancestor: Option<NodeId>) -> Vec<String> {
        let (a, b) = (self.graph.name(first), self.graph.name(second));
        let mut sentences = Vec::with_capacity(3);
        if let (Some(r), Some(s)) = (self.graph.region(first), self.graph.region(second)) {
            sentences.push(format!("{a} and {b} may alias because {}", self.alias(r, s, alias)));
        }
        sentences.push(format!("no path of dataflow leads from {a} to {b}, and none leads back"));
        sentences.push(match ancestor {
            Some(node) => format!("the last node that leads to both is {}", self.graph.name(node)),
            None => "no node leads to both".to_owned(),
        });
        sentences
    }

    fn overwrites(&self, step: &OrderStep, reads: NodeId, writes: NodeId) -> String {
        let (before, after) = (self.graph.name(step.before), self.graph.name(step.after));
        let verb = match self.label(step.after, writes) {
            Some(Label::Reduce) => "reduces into",
            _ => "overwrites",
        };
        let (old, new) = (self.graph.region(reads), self.graph.region(writes));
        let target = new.map_or_else(|| self.graph.name(writes), |r| self.graph.region_name(r));
        let note = if old == new { "" } else { ", which may alias it" };
        format!("{before} reads {} and {after} {verb} {target}{note}", self.version(reads))
    }

    /// Tells a path from its end: what the last task takes, where that comes from, who made it.
    fn flow(&self, path: &[NodeId]) -> String {
        let name = |node: NodeId| self.graph.name(node);
        let (Some(&first), Some(&last)) = (path.first(), path.last()) else {
            return "the dataflow says so".to_owned();
        };
        let labels: Vec<Option<Label>> = path.windows(2).map(|w| self.label(w[0], w[1])).collect();
        if labels == [Some(Label::HappensBefore)] {
            return "a HappensBefore edge says so".to_owned();
        }
        let versions: Vec<NodeId> = path.iter().copied().filter(|n| !self.graph.kind(*n).is_compute()).collect();
        let told = labels.iter().all(|l| l.is_some_and(Label::is_dataflow)) && !versions.is_empty();
        if !told || path.len().is_multiple_of(2) {
            let between: Vec<String> = path.iter().map(|n| self.version(*n)).collect();
            return format!("edges lead from one to the other: {}", between.join(", then "));
        }
        let takes = match labels[labels.len() - 1] {
            Some(Label::Discard) => "discards",
            Some(Label::Use) => "reduces starting from",
            _ => "reads",
        };
        let makes = if labels[0] == Some(Label::Reduce) { "reduces into" } else { "writes" };
        let mut text = format!("{} {takes} {}", name(last), self.version(versions[versions.len() - 1]));
        if versions.len() <= LONGEST_STORY {
            // Data and compute nodes alternate, so between two versions lies the one Open or Close that made the later.
            for i in (1..versions.len()).rev() {
                let maker = path[2 * i];
                let _ = write!(text, ", which {} makes from {}", name(maker), self.version(versions[i - 1]));
            }
        } else {
            let makers: Vec<_> = (1..versions.len()).map(|i| name(path[2 * i])).collect();
            let _ = write!(text, ", which comes from {} through {}", self.version(versions[0]), makers.join(", "));
        }
        let _ = write!(text, ", which {} {makes}", name(first));
        text
    }

    /// The label of an edge between two nodes; dataflow before a stated order when there are both.
    fn label(&self, from: NodeId, to: NodeId) -> Option<Label> {
        let graph = self.graph;
        let rows = self.incoming.get_or_init(|| edges_by(graph.nodes().len(), graph.edges(), |_| true, |e| e.to.0));
        let edges = rows.get(to.0).iter().map(|e| graph.edge(*e)).filter(|e| e.from == from);
        edges.map(|e| e.label).min_by_key(|l| !l.is_dataflow())
    }

    /// `x lies in y, which lies in z`: the path from a region up to one that contains it.
    fn containment_path(&self, inner: RegionId, outer: RegionId) -> String {
        let regions = self.graph.regions();
        let (from, to) = (regions.space_of(inner), regions.space_of(outer));
        let mut came: Vec<(SpaceId, usize)> = vec![(from, 0)];
        let mut at = 0;
        let mut seen = rustc_hash::FxHashSet::from_iter([from]);
        while at < came.len() && came[at].0 != to {
            for parent in regions.parents(came[at].0) {
                if seen.insert(parent) {
                    came.push((parent, at));
                }
            }
            at += 1;
        }
        let mut text = format!("{} lies in ", regions.name(inner));
        if at < came.len() {
            let mut between = Vec::new();
            let mut step = came[at].1;
            while step != 0 {
                between.push(came[step].0);
                step = came[step].1;
            }
            for space in between.into_iter().rev() {
                let name = match regions.sibling(inner, space) {
                    Some(region) => regions.name(region).into_owned(),
                    None => regions.space_name(space),
                };
                let _ = write!(text, "{name}, which lies in ");
            }
        }
        text + &regions.name(outer)
    }
}

/// All nodes along the dataflow, or `None` when it is cyclic. Smaller ids come first where the dataflow allows it within
/// one wave, so the order is a function of the graph alone.
fn dataflow_order(graph: &Graph) -> Option<Vec<NodeId>> {
    let nodes = graph.nodes().len();
    let outgoing = edges_by(nodes, graph.edges(), |e| e.label.is_dataflow(), |e| e.from.0);
    let order = topological(nodes, |node| outgoing.get(node).iter().map(|e| graph.edge(*e).to.0));
    (order.len() == nodes).then(|| order.into_iter().map(NodeId).collect())
}
