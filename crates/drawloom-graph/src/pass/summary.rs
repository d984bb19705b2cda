//! What a nested graph does to the regions outside it.
//!
//! A control node runs a whole graph as one task, so the graph around it must know the accesses of that graph as if they
//! were the arguments of one call. [`summarise`] computes them, in three steps:
//!
//! 1. Find the versions whose values come from inside alone: everything in them was written by a task of the body, as far
//!    as Opens, Closes and reductions can be followed. Reading such a version reads nothing from outside.
//! 2. Meet the accesses of all tasks region by region: nothing with x gives x, x with x gives x, and everything else gives
//!    an update. A write stays a write only when nothing of the old value was read or folded into. A Discard without the
//!    Write that should follow it leaves a value nobody defined, and counts as an update: it is never dropped.
//! 3. Regions that may alias and are not all only read cannot be arguments of one call. They are merged into one access to
//!    their smallest common container, again by the meet; the container is *written* only when the written parts hold all
//!    of it. Merging repeats until nothing conflicts. Overlapping reads stay apart.
//!
//! Nested control nodes inside the body count with the accesses they declare, which rule B1 keeps honest, so nothing here
//! recurses. The cost is linear in the body, times the depth of the region tree.
//!
//! ```
//! use drawloom_graph::{Access, Graph, Label, NodeKind, Regions, pass};
//! let mut regions = Regions::new();
//! let [a, b] = ["A", "B"].map(|name| regions.abstract_region(name).unwrap());
//! regions.add_disjoint(a, b);
//! let mut body = Graph::new(regions);
//! let [a0, a1] = ["A0", "A1"].map(|name| body.add_data(name, a));
//! let [b0, b1] = ["B0", "B1"].map(|name| body.add_data(name, b));
//! let fill = body.add_compute("fill", NodeKind::Task);
//! let add = body.add_compute("add", NodeKind::Task);
//! body.connect(a0, fill, Label::Discard);
//! body.connect(fill, a1, Label::Write);
//! body.connect(a1, add, Label::Read);
//! body.connect(b0, add, Label::Read);
//! body.connect(add, b1, Label::Write);
//! assert_eq!(pass::summarise(&body), [(a, Access::Write), (b, Access::Update)]);
//! ```

use std::collections::BTreeMap;

use super::coverage::covers;
use super::sets::Sets;
use crate::build::Access;
use crate::graph::adjacency::{Lists, edges_by, topological};
use crate::graph::{Body, Control, EdgeId, Graph, Label, NodeId, NodeKind};
use crate::region::cover::Covers;
use crate::region::{RegionId, Regions};

/// The accesses of each region, before and while conflicts are merged.
type Uses<'a> = BTreeMap<RegionId, Access<'a>>;

/// The accesses that running the graph once makes on the regions around it, by region, free of conflicts.
///
/// Where regions conflict and their common container is not in the table, the next larger container that is there takes
/// its place; where none is, each stays for itself, updated unless it is only read, and the check of the graph around
/// reports the overlap.
pub fn summarise(body: &Graph) -> Vec<(RegionId, Access<'_>)> {
    let mut uses = collect(body);
    settle(&mut uses, body.regions());
    uses.into_iter().collect()
}

/// The accesses of a control node with this body: those of [`summarise`], with the condition read, and with writes that
/// may not happen, because the body may run no time at all, counted as updates.
pub fn summarise_body(body: &Body) -> Vec<(RegionId, Access<'_>)> {
    let mut uses = collect_body(body);
    settle(&mut uses, body.graph.regions());
    uses.into_iter().collect()
}

/// The least access that allows both: none < x, x with x is x, everything else is an update.
pub(crate) fn meet<'a>(a: Access<'a>, b: Access<'a>) -> Access<'a> {
    if a == b { a } else { Access::Update }
}

fn add<'a>(uses: &mut Uses<'a>, region: RegionId, access: Access<'a>) {
    uses.entry(region).and_modify(|a| *a = meet(*a, access)).or_insert(access);
}

fn collect_body(body: &Body) -> Uses<'_> {
    let mut uses = collect(&body.graph);
    let surely = match body.control {
        Control::Call => true,
        Control::Repeat(times) => times > 0,
        Control::If(_) => {
            let mut other = body.otherwise.as_deref().map(collect).unwrap_or_default();
            // What only one branch writes keeps its old value in the other, so it is not surely overwritten.
            for (region, access) in &mut uses {
                if other.get(region) != Some(access) {
                    *access = maybe(*access);
                }
            }
            for (region, access) in &mut other {
                if uses.get(region) != Some(access) {
                    *access = maybe(*access);
                }
            }
            other.into_iter().for_each(|(region, access)| add(&mut uses, region, access));
            true
        }
        Control::While(_) => false,
    };
    if !surely {
        uses.values_mut().for_each(|access| *access = maybe(*access));
    }
    if let Control::While(condition) | Control::If(condition) = body.control
        && condition.index() < body.graph.regions().len()
    {
        add(&mut uses, condition, Access::Read);
    }
    uses
}

/// The access when it may or may not happen.
fn maybe(access: Access<'_>) -> Access<'_> {
    if access == Access::Write { Access::Update } else { access }
}

/// Steps 1 and 2: the accesses of every region for itself.
fn collect(body: &Graph) -> Uses<'_> {
    let regions = body.regions();
    let inside = defined_inside(body);
    let outgoing = edges_by(body.nodes().len(), body.edges(), |e| e.label == Label::Write, |e| e.from.0);
    let mut uses = Uses::new();
    for edge in body.edges() {
        let (task, data) = match edge.label {
            Label::Read | Label::Discard => (edge.to, edge.from),
            Label::Write | Label::Reduce => (edge.from, edge.to),
            Label::HappensBefore | Label::Use => continue,
        };
        let Some(region) = body.region(data).filter(|r| r.index() < regions.len()) else { continue };
        if body.kind(task) != NodeKind::Task {
            continue;
        }
        let access = match edge.label {
            Label::Read if inside[data.index()] => continue,
            Label::Read => Access::Read,
            Label::Write => Access::Write,
            Label::Discard => {
                let writes = outgoing.get(task.0).iter().map(|e| body.edge(*e).to);
                if writes.into_iter().any(|w| body.region(w) == Some(region)) {
                    continue;
                }
                Access::Update
            }
            _ if inside[data.index()] => Access::Write,
            _ => edge.operator().map_or(Access::Update, |op| Access::Reduce(body.operator_name(op))),
        };
        add(&mut uses, region, access);
    }
    uses
}

/// Which versions hold nothing that comes from outside the graph.
///
/// Walks in topological order; what lies on a cycle, in a graph that is not valid, counts as coming from outside.
fn defined_inside(body: &Graph) -> Vec<bool> {
    let n = body.nodes().len();
    let dataflow = |e: &crate::graph::Edge| e.label.is_dataflow();
    let incoming = edges_by(n, body.edges(), dataflow, |e| e.to.0);
    let outgoing = edges_by(n, body.edges(), dataflow, |e| e.from.0);
    let mut inside = vec![false; n];
    for node in topological(n, |node| outgoing.get(node).iter().map(|e| body.edge(*e).to.0)) {
        if body.kind(NodeId(node)) == NodeKind::Data {
            inside[node as usize] = is_defined(body, &incoming, &inside, node);
        }
    }
    inside
}

/// Whether one version is defined inside, when that is known of everything before it.
fn is_defined(body: &Graph, incoming: &Lists<EdgeId>, inside: &[bool], version: u32) -> bool {
    let takes = |node: NodeId, label: Label| {
        let edges = incoming.get(node.0).iter().map(|e| body.edge(*e));
        edges.filter(move |e| e.label == label).map(|e| e.from)
    };
    let region = body.region(NodeId(version));
    let mut made = incoming.get(version).iter().map(|e| body.edge(*e)).peekable();
    made.peek().is_some()
        && made.all(|edge| match (edge.label, body.kind(edge.from)) {
            (Label::Write, NodeKind::Task) => true,
            (Label::Write, NodeKind::Open) => takes(edge.from, Label::Read).all(|d| inside[d.index()]),
            (Label::Write, NodeKind::Close) => {
                let parts: Vec<RegionId> = takes(edge.from, Label::Read)
                    .filter(|d| inside[d.index()])
                    .filter_map(|d| body.region(d))
                    .filter(|r| r.index() < body.regions().len())
                    .collect();
                region.filter(|r| r.index() < body.regions().len()).is_some_and(|r| covers(body.regions(), r, &parts))
            }
            // A reduction keeps what it folds into: some version of its own region, taken by this reducer.
            (Label::Reduce, _) => [Label::Use, Label::Read, Label::Discard]
                .into_iter()
                .flat_map(|label| takes(edge.from, label))
                .any(|d| inside[d.index()] && body.region(d) == region),
            _ => false,
        })
}

/// The smallest common container that is in the table.
fn common_container(regions: &Regions, parts: &[RegionId]) -> Option<RegionId> {
    let smallest = regions.common_ancestor(parts)?;
    // Everything above the smallest common container is a common container too.
    regions.ancestors(smallest).into_iter().find_map(|space| regions.sibling(parts[0], space))
}

/// Step 3: merges what conflicts, until nothing does.
fn settle(uses: &mut Uses<'_>, regions: &Regions) {
    // Each round but the last replaces several accesses by one, so there are fewer rounds than accesses; containers climb
    // the region tree, so in practice there are at most as many as it is deep.
    loop {
        let mut changed = false;
        for group in conflicts(regions, uses) {
            let accesses: Vec<(RegionId, Access<'_>)> = group.iter().map(|r| (*r, uses[r])).collect();
            let Some(container) = common_container(regions, &group) else {
                for (region, access) in accesses {
                    if access != Access::Read {
                        uses.insert(region, Access::Update);
                    }
                }
                continue;
            };
            changed = true;
            for region in &group {
                uses.remove(region);
            }
            let mut met = accesses.iter().map(|(_, a)| *a).reduce(meet).expect("a conflict has at least two sides");
            if met == Access::Write && !covers(regions, container, &group) {
                met = Access::Update;
            }
            add(uses, container, met);
        }
        if !changed {
            return;
        }
    }
}

/// Sets of regions that are tied together by pairs that may alias and are not both only read.
///
/// A region that is not only read is tied to every group of its cover. Below a group that was tied once everything is one
/// set already, so a later region is tied to one member of it: each group is walked once.
fn conflicts(regions: &Regions, uses: &Uses<'_>) -> Vec<Vec<RegionId>> {
    let used: Vec<RegionId> = uses.keys().copied().collect();
    let covers = Covers::new(regions, used.iter().copied());
    let below = members_below(&covers, &used);
    let mut here: Vec<Option<usize>> = vec![None; covers.group_count()];
    for (index, region) in used.iter().enumerate() {
        here[covers.group(*region) as usize] = Some(index);
    }
    let mut tied = vec![false; covers.group_count()];
    let mut sets = Sets::new(used.len());
    for (index, region) in used.iter().enumerate() {
        if uses[region] == Access::Read {
            continue;
        }
        for part in covers.cover(*region) {
            let group = part.group as usize;
            match (part.below, &below[group][..]) {
                (false, _) => here[group].into_iter().for_each(|other| sets.unite(index, other)),
                (true, []) => {}
                (true, [first, ..]) if tied[group] => sets.unite(index, *first),
                (true, members) => {
                    members.iter().for_each(|other| sets.unite(index, *other));
                    tied[group] = true;
                }
            }
        }
    }
    let mut groups: BTreeMap<usize, Vec<RegionId>> = BTreeMap::new();
    for (index, region) in used.iter().enumerate() {
        groups.entry(sets.find(index)).or_default().push(*region);
    }
    groups.into_values().filter(|g| g.len() > 1).collect()
}

/// For each group, the used regions in its subtree.
fn members_below(covers: &Covers, used: &[RegionId]) -> Vec<Vec<usize>> {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); covers.group_count()];
    for (index, region) in used.iter().enumerate() {
        let mut todo = vec![covers.group(*region)];
        while let Some(group) = todo.pop() {
            // Members arrive one after the other, so a group seen for this member has it last.
            if below[group as usize].last() != Some(&index) {
                below[group as usize].push(index);
                todo.extend_from_slice(covers.parents(group));
            }
        }
    }
    below
}
