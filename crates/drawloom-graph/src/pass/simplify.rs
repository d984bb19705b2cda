//! Removal of needless Opens and Closes.
//!
//! Opens and Closes move no data; they tie the histories of a region and its parts together. Where nothing happens between
//! two ties, they go:
//!
//! * what an Open makes and nobody takes, and an Open that makes nothing;
//! * an Open that only renames a version: it makes one version, of the region it reads;
//! * a Close of what was only opened: everything it reads was opened, through any number of Opens, from one version of the
//!   region it writes. Whoever took the new version takes that one. The parts may be read in between when nothing is
//!   written afterwards; otherwise the Close is what orders those readers, and it stays;
//! * a Close that is opened again: nobody reads the version of the whole, and every Open of it makes only parts that went
//!   into the Close, each the newest to hold what it holds. The parts are reconnected, and a later Close of the whole reads
//!   what this one read.
//!
//! Each step keeps all values, and most keep the graph valid; which do is left to the check (see `accept`). Rounds repeat
//! until nothing changes. Near-linear when few steps are refused. Looks into nested graphs.

use rustc_hash::{FxHashMap, FxHashSet};

use super::accept::{BUDGET, accept};
use super::edit::Edit;
use super::refusal::{Refusal, require_valid};
use super::walk::{in_bodies, positions, topological};
use crate::graph::{Edge, Graph, Label, NodeId, NodeKind};
use crate::region::cover::{Covers, Joined};
use crate::region::{RegionId, Regions};

/// Removes Opens and Closes between which nothing happens.
pub fn simplify(graph: &Graph) -> Result<Graph, Refusal> {
    require_valid(graph)?;
    simplify_at(graph, 0)
}

fn simplify_at(graph: &Graph, depth: usize) -> Result<Graph, Refusal> {
    let mut edit = Edit::new(graph);
    in_bodies(&mut edit, depth, simplify_at)?;
    let mut current = edit.finish();
    let mut budget = BUDGET;
    loop {
        let position = positions(&current);
        let base = Edit::new(&current);
        let apply = |steps: &[NodeId]| {
            let mut edit = base.clone();
            for node in steps {
                step(&mut edit, &position, *node);
            }
            Some(edit.finish())
        };
        // A trial run finds the nodes at which there is something to do, those that earlier steps lead to included.
        let mut trial = base.clone();
        let ties = topological(&current).into_iter().filter(|n| is_tie(&current, *n));
        let steps: Vec<NodeId> = ties.filter(|n| step(&mut trial, &position, *n)).collect();
        let accepted = accept(&steps, &mut budget, apply);
        match accepted {
            Some((_, simpler)) => current = simpler,
            None => return Ok(current),
        }
    }
}

fn is_tie(graph: &Graph, node: NodeId) -> bool {
    matches!(graph.kind(node), NodeKind::Open | NodeKind::Close)
}

/// Does what can be done at an Open or Close, and says whether that was anything.
fn step(edit: &mut Edit<'_>, position: &[u32], node: NodeId) -> bool {
    if edit.is_gone(node) {
        return false;
    }
    match edit.kind(node) {
        NodeKind::Open => prune(edit, node) || rename(edit, node),
        NodeKind::Close => forget(edit, node) || reopen(edit, position, node),
        _ => false,
    }
}

/// Drops what an Open makes and nobody takes, and the Open when nothing is left.
fn prune(edit: &mut Edit<'_>, open: NodeId) -> bool {
    let unused: Vec<NodeId> = edit.makes(open).map(|e| e.to).filter(|v| edit.edges_out(*v).next().is_none()).collect();
    unused.iter().for_each(|version| edit.remove_node(*version));
    let empty = edit.makes(open).next().is_none();
    if empty {
        edit.remove_node(open);
    }
    empty || !unused.is_empty()
}

/// Drops an Open whose only version is one of the region it reads.
fn rename(edit: &mut Edit<'_>, open: NodeId) -> bool {
    let (Some(read), Some(made)) = (only(edit.takes(open)), only(edit.makes(open))) else { return false };
    if edit.region(read.from) != edit.region(made.to) {
        return false;
    }
    edit.remove_node(open);
    edit.replace_version(made.to, read.from);
    true
}

/// Drops a Close of versions that were only opened.
fn forget(edit: &mut Edit<'_>, close: NodeId) -> bool {
    let Some(made) = only(edit.makes(close)) else { return false };
    let mut parts = FxHashSet::default();
    let mut sources = edit.takes(close).map(|e| source(edit, e.from, edit.region(made.to), &mut parts));
    let Some(Some(origin)) = sources.next() else { return false };
    if !sources.all(|s| s == Some(origin)) {
        return false;
    }
    drop(sources);
    let within = |e: Edge| e.to == close || parts.contains(&e.to);
    // Parts go as a whole, with everything their Opens make.
    let opens: FxHashSet<NodeId> = parts.iter().copied().filter(|n| edit.kind(*n) == NodeKind::Open).collect();
    let untouched = opens.iter().flat_map(|o| edit.makes(*o)).all(|e| edit.makes(e.to).all(within));
    let only_read = edit.makes(made.to).all(|e| e.label == Label::Read && is_reader(edit, e.to));
    if !untouched && !only_read {
        return false;
    }
    edit.remove_node(close);
    edit.replace_version(made.to, origin);
    if untouched {
        let mut gone: Vec<NodeId> = opens.iter().flat_map(|o| edit.makes(*o).map(|e| e.to)).collect();
        gone.extend(opens);
        gone.into_iter().for_each(|node| edit.remove_node(node));
    }
    true
}

/// Climbs from a version through Opens to a version of the given region, and notes what lies between.
fn source(
    edit: &Edit<'_>,
    version: NodeId,
    region: Option<RegionId>,
    between: &mut FxHashSet<NodeId>,
) -> Option<NodeId> {
    let mut at = version;
    while edit.region(at) != region {
        let open = only(edit.takes(at)).map(|e| e.from).filter(|n| edit.kind(*n) == NodeKind::Open)?;
        between.extend([at, open]);
        at = only(edit.takes(open))?.from;
    }
    Some(at)
}

/// Whether a node is a task that changes nothing it could not change without knowing this version: it makes no version of
/// a region it reads.
fn is_reader(edit: &Edit<'_>, node: NodeId) -> bool {
    let taken: FxHashSet<Option<RegionId>> =
        edit.takes(node).filter(|e| e.label == Label::Read).map(|e| edit.region(e.from)).collect();
    edit.kind(node) == NodeKind::Task && edit.makes(node).all(|e| !taken.contains(&edit.region(e.to)))
}

/// Drops a Close together with the Opens of what it makes, and reconnects the parts.
fn reopen(edit: &mut Edit<'_>, position: &[u32], close: NodeId) -> bool {
    let Some(whole) = only(edit.makes(close)).map(|e| e.to) else { return false };
    let takers: Vec<NodeId> = edit.makes(whole).map(|e| e.to).collect();
    if !takers.iter().all(|n| matches!(edit.kind(*n), NodeKind::Open | NodeKind::Close)) {
        return false;
    }
    let (opens, closes): (Vec<NodeId>, Vec<NodeId>) = takers.into_iter().partition(|n| edit.kind(*n) == NodeKind::Open);
    if opens.is_empty() {
        return false;
    }
    let inputs: Vec<(RegionId, NodeId)> =
        edit.takes(close).filter_map(|e| Some((edit.region(e.from)?, e.from))).collect();
    let newest = newest(edit.regions(), &inputs, position);
    let part_of: FxHashMap<RegionId, NodeId> = newest.into_iter().collect();
    let mut reconnected = Vec::new();
    for made in opens.iter().flat_map(|o| edit.makes(*o)).map(|e| e.to) {
        match edit.region(made).and_then(|r| part_of.get(&r)) {
            Some(earlier) => reconnected.push((made, *earlier)),
            None => return false,
        }
    }
    for node in opens.into_iter().chain([close]) {
        edit.remove_node(node);
    }
    for (made, earlier) in reconnected {
        edit.replace_version(made, earlier);
    }
    for later in closes {
        edit.disconnect(whole, later);
        let read: FxHashSet<Option<RegionId>> = edit.takes(later).map(|e| edit.region(e.from)).collect();
        for (_, version) in inputs.iter().filter(|(region, _)| !read.contains(&Some(*region))) {
            edit.connect(Edge::new(*version, later, Label::Read));
        }
    }
    edit.remove_node(whole);
    true
}

/// The inputs that are newer than every other input they overlap.
///
/// Costs the length of the inputs' covers and, for each input, the depth of the region tree.
fn newest(regions: &Regions, inputs: &[(RegionId, NodeId)], position: &[u32]) -> Vec<(RegionId, NodeId)> {
    let covers = Covers::new(regions, inputs.iter().map(|(r, _)| *r));
    let mut ages = Joined::new(&covers);
    inputs.iter().for_each(|(region, version)| ages.enter(*region, position[version.index()]));
    let is_newest = |(region, version): &(RegionId, NodeId)| ages.over(*region) <= position[version.index()];
    inputs.iter().copied().filter(is_newest).collect()
}

/// The only item, if there is exactly one.
fn only(mut items: impl Iterator<Item = Edge>) -> Option<Edge> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}
