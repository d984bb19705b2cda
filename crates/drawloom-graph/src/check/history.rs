//! Rule RF2: any two versions that have edges and may alias are ordered by the dataflow.
//!
//! Versions are visited in topological order. For each region the last version seen is *live*. A new version must be
//! reached by the live versions of all regions that may alias its own; earlier ones reached those, so nothing else needs
//! to be asked. Once asked, the new version stands for everything inside its region: whatever aliases a piece aliases the
//! region around it, so the live versions of the pieces are retired. Each live version is entered and retired once, which
//! makes the number of questions linear for graphs whose pieces pass through Open and Close.
//!
//! Regions that alias exactly the same others (all regions, when no facts are stated) share one live version.
//!
//! The cost of other graphs is the number of pairs (version, live version of an aliasing region), each a reachability
//! question (see [`super::reach`]).

use super::flow::{Flow, Topology};
use super::reach::Reach;
use crate::graph::Graph;
use crate::region::RegionId;
use crate::region::cover::{Covers, Group};

const NONE: u32 = u32::MAX;

/// The live versions of all regions, by group.
#[derive(Clone, Debug)]
pub(crate) struct Frontier {
    /// The live version of the group's own region.
    live: Vec<u32>,
    /// Whether something in the subtree is live.
    busy: Vec<bool>,
    /// The children whose subtrees became busy; may hold stale and repeated entries.
    busy_children: Vec<Vec<Group>>,
    /// The group that holds the live version of a class of regions.
    live_of_class: Vec<Group>,
    todo: Vec<Group>,
}

impl Frontier {
    pub(crate) fn new(covers: &Covers) -> Self {
        let n = covers.group_count();
        Self {
            live: vec![NONE; n],
            busy: vec![false; n],
            busy_children: vec![Vec::new(); n],
            live_of_class: vec![NONE; covers.class_count()],
            todo: Vec::new(),
        }
    }

    /// Collects the live versions in a subtree.
    pub(crate) fn below(&mut self, group: Group, out: &mut Vec<u32>) {
        if self.busy[group as usize] {
            out.extend(self.at(group));
            self.strictly_below(group, out);
        }
    }

    /// Collects the live versions in a subtree, but for the one at its top.
    pub(crate) fn strictly_below(&mut self, group: Group, out: &mut Vec<u32>) {
        self.todo.push(group);
        while let Some(g) = self.todo.pop() {
            if g != group {
                out.extend(self.at(g));
            }
            // Stale entries are dropped when they are met, so that they cost nothing the next time.
            let busy = &self.busy;
            self.busy_children[g as usize].retain(|c| busy[*c as usize]);
            self.todo.extend_from_slice(&self.busy_children[g as usize]);
        }
    }

    /// The live versions that must be asked whether they reach a new version of a region; the others reach one of these.
    fn questions(&mut self, graph: &Graph, topology: &Topology, covers: &Covers, region: RegionId, out: &mut Vec<u32>) {
        out.clear();
        let own = covers.group(region);
        let mut around: Option<u32> = self.at(own);
        for part in covers.cover(region) {
            match part.below {
                true if part.group == own => self.strictly_below(own, out),
                true => self.below(part.group, out),
                false if part.around => {
                    let later = self
                        .at(part.group)
                        .filter(|v| around.is_none_or(|other| topology.position(other) < topology.position(*v)));
                    around = later.or(around);
                }
                false => out.extend(self.at(part.group)),
            }
        }
        // What is live inside the region is later than the region itself and all around it, and was asked about them then.
        if !covers.cover(region).iter().any(|p| p.group == own) || !self.has_live_beside(own, None) {
            out.extend(around);
        }
        if out.len() < 2 {
            return;
        }
        out.sort_unstable();
        out.dedup();
        if out.len() <= 8 {
            // Of two that may alias, the later one was asked about the earlier one.
            let regions = graph.regions();
            out.sort_unstable_by_key(|v| std::cmp::Reverse(topology.position(*v)));
            let mut kept = 0;
            for at in 0..out.len() {
                let mine = graph.nodes()[out[at] as usize].region();
                let known = out[..kept].iter().any(|later| match (graph.nodes()[*later as usize].region(), mine) {
                    (Some(a), Some(b)) => regions.may_alias(a, b),
                    _ => false,
                });
                if !known {
                    out[kept] = out[at];
                    kept += 1;
                }
            }
            out.truncate(kept);
        }
    }

    /// Whether anything strictly inside a group is live, other than in one of its branches.
    pub(crate) fn has_live_beside(&self, group: Group, branch: Option<Group>) -> bool {
        self.busy_children[group as usize].iter().any(|c| Some(*c) != branch && self.busy[*c as usize])
    }

    /// Whether anything in a subtree is live.
    pub(crate) fn is_busy(&self, group: Group) -> bool {
        self.busy[group as usize]
    }

    /// The live version of a group's own region.
    pub(crate) fn at(&self, group: Group) -> Option<u32> {
        (self.live[group as usize] != NONE).then_some(self.live[group as usize])
    }

    /// Makes a version live, and retires the live version of a region that aliases exactly the same others: whatever would
    /// have to be asked about that one has to be asked about this one.
    fn enter_for_class(&mut self, covers: &Covers, region: RegionId, version: u32) {
        let group = covers.group(region);
        let before = std::mem::replace(&mut self.live_of_class[covers.class(region) as usize], group);
        if before != NONE && before != group {
            self.live[before as usize] = NONE;
            let busy = &self.busy;
            self.busy_children[before as usize].retain(|c| busy[*c as usize]);
            self.busy[before as usize] = !self.busy_children[before as usize].is_empty();
        }
        self.enter(covers, group, version);
    }

    /// Makes a version live, and retires everything below it.
    pub(crate) fn enter(&mut self, covers: &Covers, group: Group, version: u32) {
        if !self.busy_children[group as usize].is_empty() {
            self.todo.append(&mut self.busy_children[group as usize]);
            while let Some(g) = self.todo.pop() {
                self.live[g as usize] = NONE;
                self.busy[g as usize] = false;
                self.todo.append(&mut self.busy_children[g as usize]);
            }
        }
        self.live[group as usize] = version;
        self.todo.push(group);
        while let Some(g) = self.todo.pop() {
            if std::mem::replace(&mut self.busy[g as usize], true) {
                continue;
            }
            for &parent in covers.parents(g) {
                self.busy_children[parent as usize].push(g);
                self.todo.push(parent);
            }
        }
    }
}

/// Pairs of versions that may alias and are not ordered: one for each question that was answered no.
///
/// An empty answer means that RF2 holds. Otherwise further pairs may exist that involve the ones found.
pub(crate) fn unordered(
    graph: &Graph,
    flow: &Flow,
    topology: &Topology,
    covers: &Covers,
    mut progress: impl FnMut(u64, u64),
) -> Vec<(u32, u32)> {
    let mut frontier = Frontier::new(covers);
    let mut reach = Reach::new(flow, topology);
    let mut pairs = Vec::new();
    let mut sources: Vec<u32> = Vec::new();
    let n = flow.len() as u32;
    for at in 0..n {
        if at % (1 << 16) == 0 {
            progress(u64::from(at), u64::from(n));
        }
        let version = topology.node(at);
        if !flow.is_data(version) || !flow.has_edges(version) {
            continue;
        }
        let Some(region) = graph.nodes()[version as usize].region() else { continue };
        if !graph.regions().is_declared(region) {
            continue;
        }
        frontier.questions(graph, topology, covers, region, &mut sources);
        if !sources.is_empty() {
            reach.retain_unreaching(&mut sources, version);
            pairs.extend(sources.iter().map(|&s| (s, version)));
        }
        frontier.enter_for_class(covers, region, version);
    }
    pairs.extend(reach.sweep(progress));
    pairs.sort_unstable_by_key(|&(a, b)| (topology.position(b), topology.position(a)));
    pairs
}
