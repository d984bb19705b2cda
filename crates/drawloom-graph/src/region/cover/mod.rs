//! Every region that may alias a given one, as a short list of subtrees.
//!
//! The race and order checks ask, for each version of a region, about all versions of all regions that may alias it. A
//! table of pairs would be quadratic in the number of regions. But aliasing follows the tree: whatever aliases a region
//! aliases everything that contains it, and the pieces of a disjoint partition never alias. So the regions that alias a
//! given one are covered, exactly, by a few *groups*: whole subtrees (`Below`) and single tree nodes (`Here`).
//!
//! For a leaf `u.blocks[1]` of a tree of depth one, the cover is `Below(u.blocks[1])` and `Here(u)`. When a second
//! partition with known indices exists, the few pieces of it that overlap the block are added one by one; when its indices
//! are unknown, the whole partition is added as one group.
//!
//! Groups exist only for the regions in use and what lies above them. Building all covers costs the number of groups plus
//! the total length of the covers, plus, for facts, the number of stated disjoint pairs above each region in use.

mod forest;
mod joined;
#[cfg(test)]
#[path = "../../../tests/unit/covers.rs"]
mod tests;
mod walk;

use rustc_hash::{FxHashMap, FxHashSet};

use self::forest::{Forest, Node};
use self::walk::Walk;
use super::regions::{RegionId, Regions};
use crate::graph::adjacency::Lists;
pub(crate) use joined::{Join, Joined};

/// The number of a group in [`Covers`].
pub(crate) type Group = u32;

/// One part of a cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    pub(crate) group: Group,
    /// The whole subtree, and not only the node itself.
    pub(crate) below: bool,
    /// Whether the group lies above the region.
    pub(crate) around: bool,
}

const NONE: u32 = u32::MAX;

/// The covers of a set of regions in use.
#[derive(Debug)]
pub(crate) struct Covers {
    group_of: Vec<Group>,
    parents: Lists<Group>,
    covers: Lists<Part>,
    cover_of: Vec<u32>,
    leaves: Vec<bool>,
    contested: Vec<bool>,
    region: Vec<Option<RegionId>>,
    universe: Option<Group>,
    /// For each region in use, the number of its class: regions with the same cover.
    class_of: Vec<u32>,
    class_count: usize,
}

impl Covers {
    /// Builds the covers of the regions in use. The table must be free of cyclic facts.
    pub(crate) fn new(regions: &Regions, used: impl IntoIterator<Item = RegionId>) -> Self {
        let forest = Forest::new(regions, used);
        let mut walk = Walk::new(regions, &forest);
        let mut covers = Lists::new();
        let mut cover_of = vec![NONE; regions.len()];
        for (group, region) in forest.region.iter().enumerate() {
            let Some(region) = *region else { continue };
            cover_of[region.index()] = covers.len() as u32;
            walk.cover(group as Group, covers.open());
            covers.close();
        }
        let mut parents = Lists::new();
        for list in &forest.parents {
            parents.open().extend_from_slice(list);
            parents.close();
        }
        let leaves = forest.children.iter().map(Vec::is_empty).collect();
        let (class_of, class_count) = classes(&forest, &covers, &cover_of);
        let contested = (0..forest.nodes.len()).map(|g| forest.is_contested(regions, g)).collect();
        let universe = forest.ids.get(&Node::Universe).copied();
        Self {
            group_of: forest.group_of,
            parents,
            covers,
            cover_of,
            leaves,
            contested,
            region: forest.region,
            universe,
            class_of,
            class_count,
        }
    }

    /// How many groups there are.
    pub(crate) fn group_count(&self) -> usize {
        self.parents.len()
    }

    /// The group that is a region's own tree node.
    pub(crate) fn group(&self, region: RegionId) -> Group {
        self.group_of[region.index()]
    }

    /// The class of a region: two regions of one class alias each other, and alias the same others.
    pub(crate) fn class(&self, region: RegionId) -> u32 {
        self.class_of[region.index()]
    }

    /// How many classes there are.
    pub(crate) fn class_count(&self) -> usize {
        self.class_count
    }

    /// Whether the region was among those in use.
    pub(crate) fn is_used(&self, region: RegionId) -> bool {
        self.cover_of[region.index()] != NONE
    }

    /// Whether no group lies below this one.
    pub(crate) fn is_leaf(&self, group: Group) -> bool {
        self.leaves[group as usize]
    }

    /// Whether pieces of a space may alias each other: it has two partitions or more, or one that is aliased.
    pub(crate) fn is_contested(&self, group: Group) -> bool {
        self.contested[group as usize]
    }

    /// The region in use that a group stands for.
    pub(crate) fn region(&self, group: Group) -> Option<RegionId> {
        self.region[group as usize]
    }

    /// Whether a group is the common root of abstract regions, which is no region itself.
    pub(crate) fn is_universe(&self, group: Group) -> bool {
        self.universe == Some(group)
    }

    /// Whether a group is another one, or lies above it.
    pub(crate) fn is_above(&self, upper: Group, lower: Group) -> bool {
        let mut at = lower;
        loop {
            if at == upper {
                return true;
            }
            match *self.parents(at) {
                [] => return false,
                [parent] => at = parent,
                _ => {
                    let mut above = Vec::new();
                    self.above(at, &mut above);
                    return above.contains(&upper);
                }
            }
        }
    }

    /// A group and everything above it, each once, nearest first.
    pub(crate) fn above(&self, group: Group, out: &mut Vec<Group>) {
        out.clear();
        out.push(group);
        let mut at = 0;
        let mut seen: Option<FxHashSet<Group>> = None;
        while at < out.len() {
            let parents = self.parents(out[at]);
            at += 1;
            if parents.len() > 1 && seen.is_none() {
                seen = Some(out.iter().copied().collect());
            }
            match &mut seen {
                None => out.extend_from_slice(parents),
                Some(seen) => out.extend(parents.iter().filter(|p| seen.insert(**p))),
            }
        }
    }

    /// The groups directly above a group.
    pub(crate) fn parents(&self, group: Group) -> &[Group] {
        self.parents.get(group)
    }

    /// The numbers of the links from a group to its parents, in the order of [`Covers::parents`].
    pub(crate) fn links(&self, group: Group) -> std::ops::Range<u32> {
        self.parents.places(group)
    }

    /// How many links there are in all.
    pub(crate) fn link_count(&self) -> usize {
        self.parents.item_count()
    }

    /// The groups that together hold exactly the regions in use that may alias `region`, itself included.
    pub(crate) fn cover(&self, region: RegionId) -> &[Part] {
        self.covers.get(self.cover_of[region.index()])
    }
}

/// Numbers the different covers. A cover that names its region's own group is like no other.
fn classes(forest: &Forest, covers: &Lists<Part>, cover_of: &[u32]) -> (Vec<u32>, usize) {
    let mut class_of = vec![NONE; cover_of.len()];
    let mut shared: FxHashMap<&[Part], u32> = FxHashMap::default();
    let mut count = 0;
    for (region, &at) in cover_of.iter().enumerate().filter(|(_, at)| **at != NONE) {
        let cover = covers.get(at);
        let own = forest.group_of[region];
        let class = match cover.iter().any(|p| p.group == own) {
            true => count,
            false => *shared.entry(cover).or_insert(count),
        };
        class_of[region] = class;
        count += u32::from(class == count);
    }
    (class_of, count as usize)
}
