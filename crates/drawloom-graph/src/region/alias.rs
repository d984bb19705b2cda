//! Whether two regions may share data, whether one contains the other, and why.
//!
//! Two regions may alias unless something proves that they do not: different fields, different root spaces, two pieces of
//! one disjoint partition, index sets with nothing in common, or a stated fact about them or about regions that contain
//! them. The answer walks at most the two paths to the root, plus one merge of index sets.

use rustc_hash::FxHashSet;

use super::regions::{PartitionId, RegionId, Regions, SpaceId};

/// Why two regions may alias, or why they cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alias {
    /// They are the same region.
    Same,
    /// One contains the other; the first is the container.
    Contains(RegionId, RegionId),
    /// Both hold this index.
    Shares(u64),
    /// Nothing says that they are disjoint.
    NotKnownDisjoint,
    /// They are disjoint: different fields.
    DifferentFields,
    /// They are disjoint: different index spaces.
    DifferentSpaces,
    /// They lie in two pieces, of the given colours, of a disjoint partition.
    DisjointPieces(PartitionId, u32, u32),
    /// Their index sets have nothing in common.
    NoSharedIndex,
    /// A stated fact: these two spaces, which are or contain the two regions' spaces, are disjoint.
    Stated(SpaceId, SpaceId),
}

impl Alias {
    /// Whether the regions may share data.
    pub fn may_alias(&self) -> bool {
        matches!(self, Alias::Same | Alias::Contains(..) | Alias::Shares(_) | Alias::NotKnownDisjoint)
    }
}

/// Why one region contains another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Containment {
    /// They are the same region.
    Same,
    /// By the tree of partitions, or by stated facts.
    Ancestor,
    /// Every index of the one is an index of the other.
    Indices,
}

impl Regions {
    /// Whether two regions may share data.
    pub fn may_alias(&self, a: RegionId, b: RegionId) -> bool {
        a == b || self.alias(a, b).may_alias()
    }

    /// Whether two regions may share data, and why.
    pub fn alias(&self, a: RegionId, b: RegionId) -> Alias {
        if a == b {
            return Alias::Same;
        }
        if self.raw_field(a) != self.raw_field(b) {
            return Alias::DifferentFields;
        }
        let (sa, sb) = (self.space_of(a), self.space_of(b));
        if self.spaces[sa.index()].root != self.spaces[sb.index()].root {
            return Alias::DifferentSpaces;
        }
        let (above_a, above_b) = (self.ancestors(sa), self.ancestors(sb));
        if above_b.contains(&sa) {
            return Alias::Contains(a, b);
        }
        if above_a.contains(&sb) {
            return Alias::Contains(b, a);
        }
        if let Some(apart) = self.separating_partition(&above_a, &above_b) {
            return apart;
        }
        if !self.apart.is_empty() {
            let in_b: FxHashSet<SpaceId> = above_b.iter().copied().collect();
            for &x in &above_a {
                if let Some(&y) = self.spaces[x.index()].apart.iter().find(|y| in_b.contains(y)) {
                    return Alias::Stated(x, y);
                }
            }
        }
        let known = |above: &[SpaceId]| above.iter().find_map(|s| Some((*s, self.indices(*s)?)));
        match (known(&above_a), known(&above_b)) {
            (Some((xa, ia)), Some((xb, ib))) => match ia.first_common(ib) {
                None => Alias::NoSharedIndex,
                Some(index) if xa == sa && xb == sb => Alias::Shares(index),
                Some(_) => Alias::NotKnownDisjoint,
            },
            _ => Alias::NotKnownDisjoint,
        }
    }

    /// Whether `child` is contained in `parent`. Every region contains itself.
    pub fn is_subregion(&self, child: RegionId, parent: RegionId) -> bool {
        self.containment(child, parent).is_some()
    }

    /// Why `child` is contained in `parent`, or `None` when nothing says so.
    pub fn containment(&self, child: RegionId, parent: RegionId) -> Option<Containment> {
        if child == parent {
            return Some(Containment::Same);
        }
        if self.raw_field(child) != self.raw_field(parent) {
            return None;
        }
        let (c, p) = (self.space_of(child), self.space_of(parent));
        if self.is_below(c, p) {
            return Some(Containment::Ancestor);
        }
        if self.spaces[c.index()].root != self.spaces[p.index()].root {
            return None;
        }
        let (inner, outer) = (self.indices(c)?, self.indices(p)?);
        outer.contains_set(inner).then_some(Containment::Indices)
    }

    /// The smallest region that contains all the given ones by the tree or by facts, if they have a common container.
    ///
    /// "Smallest" is the deepest: the first common ancestor met walking up from the first region.
    pub fn common_ancestor(&self, regions: &[RegionId]) -> Option<SpaceId> {
        let (first, rest) = regions.split_first()?;
        if rest.iter().any(|r| self.raw_field(*r) != self.raw_field(*first)) {
            return None;
        }
        let others: Vec<FxHashSet<SpaceId>> =
            rest.iter().map(|r| self.ancestors(self.space_of(*r)).into_iter().collect()).collect();
        self.ancestors(self.space_of(*first)).into_iter().find(|s| others.iter().all(|o| o.contains(s)))
    }

    /// A space and everything above it, nearest first.
    pub(crate) fn ancestors(&self, space: SpaceId) -> Vec<SpaceId> {
        let mut found = vec![space];
        let mut at = 0;
        // Chains, the usual case, need no set to stay free of repeats.
        let mut seen: Option<FxHashSet<SpaceId>> = None;
        while at < found.len() {
            let s = found[at];
            at += 1;
            let mut parents = self.parents(s);
            let (first, second) = (parents.next(), parents.next());
            if second.is_some() && seen.is_none() {
                seen = Some(found.iter().copied().collect());
            }
            for parent in first.into_iter().chain(second).chain(parents) {
                let new = match &mut seen {
                    Some(seen) => seen.insert(parent),
                    // A chain of single parents repeats only when the facts are cyclic (rule RG2).
                    None => parent != space && found.len() <= self.spaces.len(),
                };
                if new {
                    found.push(parent);
                }
            }
        }
        found
    }

    /// Whether `space` lies below `ancestor`, or is it.
    pub(crate) fn is_below(&self, space: SpaceId, ancestor: SpaceId) -> bool {
        let mut at = space;
        for _ in 0..=self.spaces.len() {
            if at == ancestor {
                return true;
            }
            let mut parents = self.parents(at);
            match (parents.next(), parents.next()) {
                (None, _) => return false,
                (Some(parent), None) => at = parent,
                _ => return self.ancestors(at).contains(&ancestor),
            }
        }
        false
    }

    fn separating_partition(&self, above_a: &[SpaceId], above_b: &[SpaceId]) -> Option<Alias> {
        for &x in above_a {
            let Some((partition, colour)) = self.piece_of(x) else { continue };
            if !self.partitions[partition.index()].disjoint {
                continue;
            }
            let other = above_b.iter().find_map(|&y| match self.piece_of(y) {
                Some((p, c)) if p == partition && c != colour => Some(c),
                _ => None,
            });
            if let Some(other) = other {
                return Some(Alias::DisjointPieces(partition, colour, other));
            }
        }
        None
    }
}
