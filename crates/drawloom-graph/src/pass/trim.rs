//! Dropping ties to regions that a call does not declare, before it is inlined.
//!
//! A body built in program order opens its pieces from the whole, and closes them again, even when its tasks touch only
//! pieces and the call declares only those. Outside, the pieces are tied to the whole already. So versions of undeclared
//! regions, which no task touches, go, in topological order: what is opened from one is what was closed into it, or, when
//! nothing closed into it overlaps that, a version to be matched outside.

use rustc_hash::{FxHashMap, FxHashSet};

use super::edit::Edit;
use super::walk::topological;
use crate::graph::{Edge, Label, NodeId, NodeKind};
use crate::region::RegionId;

/// How many pairs of opened and closed pieces of one version are compared before it is left in place.
const PAIRS: usize = 1 << 20;

/// Drops ties in a nested graph. `takes` and `makes` say whether a region lies in one that the call takes, or makes.
pub(crate) fn trim(inner: &mut Edit<'_>, takes: impl Fn(RegionId) -> bool, makes: impl Fn(RegionId) -> bool) {
    let order = topological(inner.base());
    let mut position = vec![0u32; order.len()];
    order.iter().enumerate().for_each(|(at, node)| position[node.index()] = at as u32);
    drop_last_ties(inner, &order, &takes, &makes);
    for &version in &order {
        let Some(region) = inner.region(version).filter(|_| !inner.is_gone(version)) else { continue };
        let makers: Vec<NodeId> = inner.takes(version).map(|e| e.from).collect();
        let tie = match makers[..] {
            [] => !takes(region),
            [one] => inner.kind(one) == NodeKind::Close && !makes(region),
            _ => false,
        };
        let used = inner.makes(version).next().is_some();
        if tie && used && inner.makes(version).all(|e| inner.kind(e.to) != NodeKind::Task) {
            untie(inner, &position, version, makers.first().copied());
        }
    }
}

/// Drops Closes at the end, whose versions nobody takes and the call does not make, and Opens there of what it does not
/// even take.
fn drop_last_ties(
    inner: &mut Edit<'_>,
    order: &[NodeId],
    takes: &impl Fn(RegionId) -> bool,
    makes: &impl Fn(RegionId) -> bool,
) {
    for &version in order.iter().rev() {
        let Some(region) = inner.region(version) else { continue };
        let makers: Vec<NodeId> = inner.takes(version).map(|e| e.from).collect();
        let tied = !makers.is_empty()
            && makers.iter().all(|n| match inner.kind(*n) {
                NodeKind::Close => true,
                NodeKind::Open => !takes(region),
                _ => false,
            });
        if makes(region) || !tied || inner.makes(version).next().is_some() {
            continue;
        }
        inner.remove_node(version);
        for tie in makers {
            if inner.makes(tie).next().is_none() {
                inner.remove_node(tie);
            }
        }
    }
}

/// Drops a version that is only opened and closed, together with the Close that makes it, if there is one.
fn untie(inner: &mut Edit<'_>, position: &[u32], version: NodeId, close: Option<NodeId>) {
    let parts: Vec<NodeId> = close.map(|c| inner.takes(c).map(|e| e.from).collect()).unwrap_or_default();
    let takers: Vec<NodeId> = inner.makes(version).map(|e| e.to).collect();
    let (opens, closes): (Vec<NodeId>, Vec<NodeId>) =
        takers.into_iter().partition(|n| inner.kind(*n) == NodeKind::Open);
    let opened: Vec<NodeId> = opens.iter().flat_map(|o| inner.makes(*o).map(|e| e.to)).collect();
    if opened.len().saturating_mul(parts.len()) > PAIRS {
        return;
    }
    let mut same: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    for &piece in &opened {
        let overlaps = |part: &&NodeId| match (inner.region(piece), inner.region(**part)) {
            (Some(a), Some(b)) => inner.regions().may_alias(a, b),
            _ => false,
        };
        match parts.iter().filter(overlaps).max_by_key(|part| position[part.index()]) {
            None => {}
            Some(&newest) if inner.region(newest) == inner.region(piece) => drop(same.insert(piece, newest)),
            Some(_) => return,
        }
    }
    for node in opens.into_iter().chain(close) {
        inner.remove_node(node);
    }
    for piece in opened {
        if let Some(newest) = same.get(&piece) {
            inner.replace_version(piece, *newest);
        }
    }
    for later in closes {
        let read: FxHashSet<Option<RegionId>> =
            inner.takes(later).filter(|e| e.from != version).map(|e| inner.region(e.from)).collect();
        for &part in &parts {
            if !read.contains(&inner.region(part)) {
                inner.connect(Edge::new(part, later, Label::Read));
            }
        }
    }
    inner.remove_node(version);
}
