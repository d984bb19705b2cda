//! Consistency of stated facts: rule RG2.

use rustc_hash::{FxHashMap, FxHashSet};

use super::regions::{ABSTRACT, Fact, PartitionId, RegionId, Regions, SpaceId};

/// A way in which stated facts contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inconsistency {
    /// A fact names a region that was never declared.
    Undeclared(RegionId),
    /// Each region is stated to be a subregion of the next, and the last of the first.
    Cycle(Vec<RegionId>),
    /// A region is stated to be disjoint from itself or from one that contains it: (region, container).
    DisjointFromAncestor(RegionId, RegionId),
    /// A region lies in two regions that are stated to be disjoint: (region, first, second).
    DisjointAncestors(RegionId, RegionId, RegionId),
}

impl Inconsistency {
    /// The regions that it is about.
    pub fn regions(&self) -> Vec<RegionId> {
        match self {
            Inconsistency::Undeclared(region) => vec![*region],
            Inconsistency::Cycle(regions) => regions.clone(),
            Inconsistency::DisjointFromAncestor(region, container) => vec![*region, *container],
            Inconsistency::DisjointAncestors(region, first, second) => vec![*region, *first, *second],
        }
    }
}

impl Regions {
    /// Every contradiction among the stated facts.
    ///
    /// Costs the number of regions and facts, plus, for each region with several parents, the number of regions above it
    /// and of facts about those.
    pub fn inconsistencies(&self) -> Vec<Inconsistency> {
        let mut found = Vec::new();
        let mut named: FxHashSet<RegionId> = FxHashSet::default();
        for fact in self.facts() {
            let (Fact::Subregion(a, b) | Fact::Disjoint(a, b)) = *fact;
            for region in [a, b] {
                if !self.is_declared(region) && named.insert(region) {
                    found.push(Inconsistency::Undeclared(region));
                }
            }
        }
        let cycles = self.fact_cycles();
        let acyclic = if cycles.is_empty() { None } else { Some(self.without_cycles()) };
        found.extend(cycles.into_iter().map(|c| Inconsistency::Cycle(self.to_regions(&c))));
        acyclic.as_ref().unwrap_or(self).disjoint_contradictions(&mut found);
        found
    }

    /// The same table without the subregion facts that lie on a cycle, for checks that must go on after RG2 failed.
    pub(crate) fn without_cycles(&self) -> Regions {
        let mut copy = self.clone();
        let component = self.components();
        for space in 0..copy.spaces.len() {
            copy.spaces[space].above.retain(|p| component[p.index()] != component[space]);
            copy.spaces[space].below.retain(|c| component[c.index()] != component[space]);
        }
        copy
    }

    fn disjoint_contradictions(&self, found: &mut Vec<Inconsistency>) {
        let mut reported: FxHashSet<(SpaceId, SpaceId)> = FxHashSet::default();
        for fact in self.facts() {
            let Fact::Disjoint(a, b) = *fact else { continue };
            let (x, y) = (self.space_of(a), self.space_of(b));
            for (region, ancestor, s, t) in [(a, b, x, y), (b, a, y, x)] {
                if self.is_below(s, t) && reported.insert((x.min(y), x.max(y))) {
                    found.push(Inconsistency::DisjointFromAncestor(region, ancestor));
                }
            }
        }
        for index in 0..self.spaces.len() {
            let space = SpaceId::from_index(index);
            if self.parents(space).nth(1).is_none() {
                continue;
            }
            // Two disjoint ancestors meet first in a region with several parents, or are ancestors of each other.
            let above = self.ancestors(space);
            let mut pieces: FxHashMap<PartitionId, SpaceId> = FxHashMap::default();
            let clash = above.iter().find_map(|&x| {
                let (partition, _) = self.piece_of(x)?;
                let other = *pieces.entry(partition).or_insert(x);
                (other != x && self.is_disjoint(partition)).then_some((other, x))
            });
            if let Some((x, y)) = clash {
                let region = self.to_region(space);
                // Pieces between regions need not be regions themselves; the region they hold stands for them then.
                let [a, b] = [x, y].map(|s| self.find_region(s).unwrap_or(region));
                found.push(Inconsistency::DisjointAncestors(region, a, b));
                continue;
            }
            let set: FxHashSet<SpaceId> = above.iter().copied().collect();
            'pairs: for &x in &above {
                for &y in &self.spaces[x.index()].apart {
                    if set.contains(&y) && x < y && !self.is_below(x, y) && !self.is_below(y, x) {
                        let [r, a, b] = [space, x, y].map(|s| self.to_region(s));
                        found.push(Inconsistency::DisjointAncestors(r, a, b));
                        break 'pairs;
                    }
                }
            }
        }
    }

    /// One cycle for each strongly connected component of the subregion facts.
    fn fact_cycles(&self) -> Vec<Vec<SpaceId>> {
        let component = self.components();
        let mut sizes = vec![0u32; self.spaces.len()];
        component.iter().for_each(|c| sizes[*c as usize] += 1);
        let mut done = vec![false; self.spaces.len()];
        let mut cycles = Vec::new();
        for start in 0..self.spaces.len() {
            let c = component[start] as usize;
            if sizes[c] < 2 || std::mem::replace(&mut done[c], true) {
                continue;
            }
            // Inside a strongly connected component every walk can go on, so walking until a repeat finds a cycle.
            let mut walk = vec![SpaceId::from_index(start)];
            let mut place = rustc_hash::FxHashMap::from_iter([(walk[0], 0)]);
            loop {
                let at = walk[walk.len() - 1];
                let next = *self.spaces[at.index()]
                    .above
                    .iter()
                    .find(|p| component[p.index()] as usize == c)
                    .expect("a member of a component of two or more has a successor in it");
                if let Some(&from) = place.get(&next) {
                    cycles.push(walk.split_off(from));
                    break;
                }
                place.insert(next, walk.len());
                walk.push(next);
            }
        }
        cycles
    }

    /// The strongly connected components of the stated subregion facts.
    fn components(&self) -> Vec<u32> {
        crate::graph::components::strongly_connected(self.spaces.len(), |s| {
            self.spaces[s as usize].above.iter().map(|p| p.0)
        })
    }

    fn to_region(&self, space: SpaceId) -> RegionId {
        self.find_region(space).expect("facts are stated about regions")
    }

    fn find_region(&self, space: SpaceId) -> Option<RegionId> {
        self.at(ABSTRACT, space).or_else(|| self.ids().find(|r| self.space_of(*r) == space))
    }

    fn to_regions(&self, spaces: &[SpaceId]) -> Vec<RegionId> {
        spaces.iter().map(|s| self.to_region(*s)).collect()
    }
}
