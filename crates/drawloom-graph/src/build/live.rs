//! The current version of every region while a program is read, and the Opens and Closes that keep versions in order.
//!
//! A region is *live* when it has a current version. The root of a tree becomes live first, with a version nobody made: the
//! initial contents. A piece becomes live when an Open makes its version from the nearest live region around it. Two
//! live regions that may alias are always inside one another; anything else would be two unordered versions (RF2).
//!
//! So before a region is touched, everything live that aliases it, and does not contain it, is closed: a Close reads the
//! version of the nearest live region around them all, and every live version inside that, and makes its next version.
//! Reading a region whose pieces are live but unchanged needs no Close.
//!
//! Once pieces of one partition are being changed, a Close makes everything opened after it wait for all of those changes.
//! So pieces of other partitions, which would force such a Close sooner or later, are closed before the first change.
//!
//! When a piece is opened, the regions between it and the live one around it are skipped, except those in which pieces can
//! meet that alias (two partitions, or an aliased one): closing there later is cheaper than closing further out.

use rustc_hash::FxHashMap;
use std::sync::Arc;

use super::naming::Naming;
use crate::check::history::Frontier;
use crate::graph::{Edge, Graph, Label, NodeId, NodeKind, OperatorId};
use crate::region::RegionId;
use crate::region::cover::{Covers, Group};

/// The current versions of all regions.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    pub(crate) covers: Arc<Covers>,
    frontier: Frontier,
    /// Whether the version holds something that the live region around it does not.
    dirty: Vec<bool>,
    /// Whether something live inside the group, and not the group itself, is dirty.
    dirty_below: Vec<bool>,
    /// Versions that further reducers may still fold into: their operator and the version they started from.
    reducing: FxHashMap<Group, (OperatorId, NodeId)>,
    /// The Opens made for the current call, by the version they open: arguments from one version share an Open.
    opens: Vec<(NodeId, NodeId)>,
    scratch: Vec<u32>,
}

impl Live {
    pub(crate) fn new(covers: Arc<Covers>) -> Self {
        let n = covers.group_count();
        Self {
            frontier: Frontier::new(&covers),
            covers,
            dirty: vec![false; n],
            dirty_below: vec![false; n],
            reducing: FxHashMap::default(),
            opens: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// The root that must become live before a region can, unless something around the region is live already.
    pub(crate) fn needed_root(&self, region: RegionId) -> Option<RegionId> {
        let mut at = self.covers.group(region);
        if self.frontier.at(at).is_some() || self.around(at, |_| true).is_some() {
            return None;
        }
        while let Some(&parent) = self.covers.parents(at).iter().find(|p| !self.covers.is_universe(**p)) {
            at = parent;
        }
        Some(self.covers.region(at).expect("everything around a region of a builder's table is a region of it too"))
    }

    /// Something live that may alias a root that is not live yet.
    pub(crate) fn conflicting_root(&mut self, graph: &Graph, root: RegionId) -> Option<RegionId> {
        let mut found = std::mem::take(&mut self.scratch);
        found.clear();
        self.live_in_cover(root, &mut found);
        let conflict = found.first().and_then(|v| graph.region(NodeId(*v)));
        self.scratch = found;
        conflict
    }

    /// Begins a new call: from here on, Opens are shared.
    pub(crate) fn begin_call(&mut self) {
        self.opens.clear();
    }

    /// Closes what must not be live when a region is touched: for reading, or, `exclusive`, for changing it.
    pub(crate) fn clear(&mut self, graph: &mut Graph, naming: &mut Naming, region: RegionId, exclusive: bool) {
        let own = self.covers.group(region);
        let is_live = self.frontier.at(own).is_some();
        let covers = Arc::clone(&self.covers);
        let mut conflicts = std::mem::take(&mut self.scratch);
        conflicts.clear();
        for part in covers.cover(region) {
            match part.below {
                true if part.group == own => {}
                true => self.frontier.below(part.group, &mut conflicts),
                false => conflicts.extend(self.frontier.at(part.group)),
            }
        }
        // What contains the region may stay live; what lies inside it is looked at next.
        conflicts.retain(|v| {
            let group = covers.group(region_of(graph, *v));
            !covers.is_above(group, own) && !covers.is_above(own, group)
        });
        let all_inside = conflicts.is_empty();
        if exclusive || !is_live || self.dirty_below[own as usize] {
            self.frontier.strictly_below(own, &mut conflicts);
        }
        let done = conflicts.is_empty();
        let place = match all_inside && is_live {
            true => Some(own),
            false => {
                self.around(own, |g| conflicts.iter().all(|v| covers.is_above(g, covers.group(region_of(graph, *v)))))
            }
        };
        self.scratch = conflicts;
        if !done {
            self.close(graph, naming, place.expect("everything live that aliases lies in one tree with a live root"));
        }
    }

    /// Closes unchanged pieces of other partitions before the first change inside what contains them.
    ///
    /// They do not alias the region that is about to change, so nothing forces this. But a change to one of its
    /// neighbours will, and closing then would gather the changes made until then and hand them to every piece opened
    /// later: tasks on different pieces would wait for each other. Closing before the first change gathers nothing.
    pub(crate) fn settle(&mut self, graph: &mut Graph, naming: &mut Naming, region: RegionId) {
        let covers = Arc::clone(&self.covers);
        let own = covers.group(region);
        let mut above = Vec::new();
        covers.above(own, &mut above);
        for (at, &group) in above.iter().enumerate().skip(1).rev() {
            let unchanged = self.frontier.at(group).is_some() && !self.dirty_below[group as usize];
            let branch = above[..at].iter().rev().find(|g| covers.parents(**g).contains(&group));
            if unchanged && covers.is_contested(group) && self.frontier.has_live_beside(group, branch.copied()) {
                return self.close(graph, naming, group);
            }
        }
    }

    /// Makes a region live and returns its version.
    ///
    /// `others` are the regions the same call touches: a region between must not alias one of them.
    pub(crate) fn open(
        &mut self,
        graph: &mut Graph,
        naming: &mut Naming,
        region: RegionId,
        others: &[RegionId],
    ) -> NodeId {
        let own = self.covers.group(region);
        if let Some(version) = self.frontier.at(own) {
            return NodeId(version);
        }
        let Some(around) = self.around(own, |_| true) else {
            let root = self.covers.group(self.needed_root(region).expect("nothing around the region is live"));
            // The initial contents of a root are a version that nobody makes.
            let version = self.version(graph, naming, root);
            return if root == own { version } else { self.open(graph, naming, region, others) };
        };
        let mut from = around;
        for group in self.contested_between(graph, around, own, others) {
            self.open_one(graph, naming, from, group);
            from = group;
        }
        self.open_one(graph, naming, from, own)
    }

    /// Enters a new version that a task made, and marks what it makes stale.
    pub(crate) fn change(&mut self, graph: &mut Graph, naming: &mut Naming, region: RegionId) -> NodeId {
        let group = self.covers.group(region);
        let version = self.version(graph, naming, group);
        self.mark_dirty(group);
        version
    }

    /// The version that a reduction may still fold into, with the version it started from.
    pub(crate) fn reduction(&self, region: RegionId, operator: OperatorId) -> Option<(NodeId, NodeId)> {
        let group = self.covers.group(region);
        let (current, base) = self.reducing.get(&group)?;
        (*current == operator).then_some((NodeId(self.frontier.at(group)?), *base))
    }

    /// Remembers that more reducers may fold into the current version of a region.
    pub(crate) fn begin_reduction(&mut self, region: RegionId, operator: OperatorId, base: NodeId) {
        self.reducing.insert(self.covers.group(region), (operator, base));
    }

    /// Ends the reduction into a region: its value has been used.
    pub(crate) fn end_reduction(&mut self, region: RegionId) {
        if !self.reducing.is_empty() {
            self.reducing.remove(&self.covers.group(region));
        }
    }

    fn open_one(&mut self, graph: &mut Graph, naming: &mut Naming, from: Group, to: Group) -> NodeId {
        let source = self.take(from);
        let open = match self.opens.iter().find(|(version, _)| *version == source) {
            Some(&(_, open)) => open,
            None => {
                let open = graph.add_compute(naming.compute("open"), NodeKind::Open);
                graph.add_edge(Edge::new(source, open, Label::Read));
                self.opens.push((source, open));
                open
            }
        };
        let version = self.version(graph, naming, to);
        graph.add_edge(Edge::new(open, version, Label::Write));
        version
    }

    fn close(&mut self, graph: &mut Graph, naming: &mut Naming, group: Group) {
        let close = graph.add_compute(naming.compute("close"), NodeKind::Close);
        let mut inside = std::mem::take(&mut self.scratch);
        inside.clear();
        self.frontier.strictly_below(group, &mut inside);
        inside.sort_unstable();
        inside.dedup();
        let whole = self.take(group);
        graph.add_edge(Edge::new(whole, close, Label::Read));
        let mut changed = false;
        for &version in &inside {
            let piece = self.covers.group(region_of(graph, version));
            changed |= std::mem::take(&mut self.dirty[piece as usize]);
            self.take(piece);
            self.clean_between(piece, group);
            graph.add_edge(Edge::new(NodeId(version), close, Label::Read));
        }
        self.scratch = inside;
        self.dirty_below[group as usize] = false;
        let version = self.version(graph, naming, group);
        graph.add_edge(Edge::new(close, version, Label::Write));
        if changed {
            self.mark_dirty(group);
        }
    }

    /// The live version of a group, about to be read by an Open, a Close or a task.
    fn take(&mut self, group: Group) -> NodeId {
        if !self.reducing.is_empty() {
            self.reducing.remove(&group);
        }
        NodeId(self.frontier.at(group).expect("only live groups are taken"))
    }

    fn version(&mut self, graph: &mut Graph, naming: &mut Naming, group: Group) -> NodeId {
        let region = self.covers.region(group).expect("versions are made of regions");
        let name = naming.version(graph.regions(), region).to_owned();
        let version = graph.add_data(&name, region);
        self.frontier.enter(&self.covers, group, version.0);
        version
    }

    fn mark_dirty(&mut self, group: Group) {
        self.dirty[group as usize] = true;
        let covers = Arc::clone(&self.covers);
        let mut todo: Vec<Group> = covers.parents(group).to_vec();
        while let Some(g) = todo.pop() {
            if !std::mem::replace(&mut self.dirty_below[g as usize], true) {
                todo.extend_from_slice(covers.parents(g));
            }
        }
    }

    /// Clears the marks between a closed piece and the group it was closed into.
    fn clean_between(&mut self, piece: Group, top: Group) {
        let covers = Arc::clone(&self.covers);
        self.dirty_below[piece as usize] = false;
        let mut todo: Vec<Group> = covers.parents(piece).to_vec();
        while let Some(g) = todo.pop() {
            if g != top && covers.is_above(top, g) && std::mem::take(&mut self.dirty_below[g as usize]) {
                todo.extend_from_slice(covers.parents(g));
            }
        }
    }

    /// The nearest live group strictly above one that satisfies a condition.
    fn around(&self, group: Group, accept: impl Fn(Group) -> bool) -> Option<Group> {
        let mut above = Vec::new();
        self.covers.above(group, &mut above);
        // Where a region has several parents, one further out may be met first; the innermost is the nearest.
        let live = above.into_iter().skip(1).filter(|g| self.frontier.at(*g).is_some() && accept(*g));
        live.reduce(|nearest, g| if self.covers.is_above(nearest, g) { g } else { nearest })
    }

    /// The regions strictly between two groups, outermost first, that are worth opening on the way.
    fn contested_between(&mut self, graph: &Graph, top: Group, bottom: Group, others: &[RegionId]) -> Vec<Group> {
        let covers = Arc::clone(&self.covers);
        let mut path = Vec::new();
        let mut at = bottom;
        // One path upwards is enough: with several parents any of them may be left out.
        while let Some(&parent) = covers.parents(at).iter().find(|p| covers.is_above(top, **p)) {
            if parent == top {
                break;
            }
            at = parent;
            if covers.is_contested(at)
                && let Some(region) = covers.region(at)
                && others
                    .iter()
                    .all(|o| covers.is_above(at, covers.group(*o)) || !graph.regions().may_alias(region, *o))
                && !self.meets_live(region, at)
            {
                path.push(at);
            }
        }
        path.reverse();
        path
    }

    /// Whether something live, other than what contains a region, may alias it.
    fn meets_live(&self, region: RegionId, own: Group) -> bool {
        self.covers.cover(region).iter().any(|part| match part.below {
            true => self.frontier.is_busy(part.group),
            false => self.frontier.at(part.group).is_some() && !self.covers.is_above(part.group, own),
        })
    }

    /// Everything live in the cover of a region.
    fn live_in_cover(&mut self, region: RegionId, out: &mut Vec<u32>) {
        let covers = Arc::clone(&self.covers);
        for part in covers.cover(region) {
            match part.below {
                true => self.frontier.below(part.group, out),
                false => out.extend(self.frontier.at(part.group)),
            }
        }
    }
}

fn region_of(graph: &Graph, version: u32) -> RegionId {
    graph.region(NodeId(version)).expect("live versions are versions of regions")
}
