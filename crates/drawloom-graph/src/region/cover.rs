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

use rustc_hash::{FxHashMap, FxHashSet};

use super::index_set::IndexSet;
use super::regions::{ABSTRACT, FieldId, PartitionId, RegionId, Regions, SpaceId};

/// A tree node of the region forest: a space under one field, a partition under one field, or the root of all facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Node {
    Space(FieldId, SpaceId),
    Partition(FieldId, PartitionId),
    /// The common root of abstract regions without a parent, which all may alias by default.
    Universe,
}

/// The number of a group in [`Covers`].
pub(crate) type Group = u32;

/// One part of a cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// Lists of lists in one allocation.
#[derive(Debug)]
struct Lists<T> {
    ends: Vec<u32>,
    items: Vec<T>,
}

impl<T> Lists<T> {
    fn get(&self, index: usize) -> &[T] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.items[start as usize..self.ends[index] as usize]
    }

    fn close(&mut self) {
        self.ends.push(u32::try_from(self.items.len()).expect("covers of less than 2^32 parts"));
    }
}

impl Covers {
    /// Builds the covers of the regions in use. The table must be free of cyclic facts.
    pub(crate) fn new(regions: &Regions, used: impl IntoIterator<Item = RegionId>) -> Self {
        let forest = Forest::new(regions, used);
        let mut walk = Walk::new(regions, &forest);
        let mut covers = Lists { ends: Vec::new(), items: Vec::new() };
        let mut cover_of = vec![NONE; regions.len()];
        for (group, region) in forest.region.iter().enumerate() {
            let Some(region) = *region else { continue };
            cover_of[region.index()] = covers.ends.len() as u32;
            walk.cover(group as Group, &mut covers.items);
            covers.close();
        }
        let mut parents = Lists { ends: Vec::new(), items: Vec::new() };
        for list in &forest.parents {
            parents.items.extend_from_slice(list);
            parents.close();
        }
        let leaves = forest.children.iter().map(Vec::is_empty).collect();
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
        }
    }

    /// How many groups there are.
    pub(crate) fn group_count(&self) -> usize {
        self.parents.ends.len()
    }

    /// The group that is a region's own tree node.
    pub(crate) fn group(&self, region: RegionId) -> Group {
        self.group_of[region.index()]
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
        self.parents.get(group as usize)
    }

    /// The numbers of the links from a group to its parents, in the order of [`Covers::parents`].
    pub(crate) fn links(&self, group: Group) -> std::ops::Range<u32> {
        let start = if group == 0 { 0 } else { self.parents.ends[group as usize - 1] };
        start..self.parents.ends[group as usize]
    }

    /// How many links there are in all.
    pub(crate) fn link_count(&self) -> usize {
        self.parents.items.len()
    }

    /// The groups that together hold exactly the regions in use that may alias `region`, itself included.
    pub(crate) fn cover(&self, region: RegionId) -> &[Part] {
        self.covers.get(self.cover_of[region.index()] as usize)
    }
}

/// The groups and how they hang together.
struct Forest {
    nodes: Vec<Node>,
    ids: FxHashMap<Node, Group>,
    /// The region a space group stands for, when that region itself is in use.
    region: Vec<Option<RegionId>>,
    group_of: Vec<Group>,
    parents: Vec<Vec<Group>>,
    children: Vec<Vec<Group>>,
    /// Whether some space of the subtree is known to be empty.
    has_empty: Vec<bool>,
    several_parents: bool,
    /// Whether some group of the subtree has several parents.
    shares_below: Vec<bool>,
}

impl Forest {
    fn new(regions: &Regions, used: impl IntoIterator<Item = RegionId>) -> Self {
        let mut forest = Forest {
            nodes: Vec::new(),
            ids: FxHashMap::default(),
            region: Vec::new(),
            group_of: vec![NONE; regions.len()],
            parents: Vec::new(),
            children: Vec::new(),
            has_empty: Vec::new(),
            several_parents: false,
            shares_below: Vec::new(),
        };
        for region in used {
            if forest.group_of[region.index()] != NONE {
                continue;
            }
            let field = regions.raw_field(region);
            let group = forest.insert(regions, Node::Space(field, regions.space_of(region)));
            forest.region[group as usize] = Some(region);
            forest.group_of[region.index()] = group;
        }
        let mut shares = vec![false; forest.nodes.len()];
        let mut todo: Vec<Group> =
            (0..forest.nodes.len() as Group).filter(|g| forest.parents[*g as usize].len() > 1).collect();
        while let Some(group) = todo.pop() {
            if !std::mem::replace(&mut shares[group as usize], true) {
                todo.extend_from_slice(&forest.parents[group as usize]);
            }
        }
        forest.shares_below = shares;
        forest
    }

    fn insert(&mut self, regions: &Regions, node: Node) -> Group {
        let (group, new) = self.id(node);
        if !new {
            return group;
        }
        let mut todo = vec![group];
        while let Some(group) = todo.pop() {
            let mut above: Vec<Node> = Vec::new();
            match self.nodes[group as usize] {
                Node::Universe => {}
                Node::Partition(field, partition) => {
                    above.push(Node::Space(field, regions.partition_parent(partition)));
                }
                Node::Space(field, space) => {
                    let s = &regions.spaces[space.index()];
                    above.extend(s.piece_of.map(|p| Node::Partition(field, p)));
                    above.extend(s.above.iter().map(|&a| Node::Space(field, a)));
                    if above.is_empty() && field == ABSTRACT {
                        above.push(Node::Universe);
                    }
                    if regions.indices(space).is_some_and(IndexSet::is_empty) {
                        self.mark_empty(group);
                    }
                }
            }
            self.several_parents |= above.len() > 1;
            for node in above {
                let (parent, new) = self.id(node);
                self.parents[group as usize].push(parent);
                self.children[parent as usize].push(group);
                if self.has_empty[group as usize] {
                    self.mark_empty(parent);
                }
                if new {
                    todo.push(parent);
                }
            }
        }
        group
    }

    fn id(&mut self, node: Node) -> (Group, bool) {
        let next = self.nodes.len() as Group;
        let group = *self.ids.entry(node).or_insert(next);
        if group == next {
            self.nodes.push(node);
            self.region.push(None);
            self.parents.push(Vec::new());
            self.children.push(Vec::new());
            self.has_empty.push(false);
        }
        (group, group == next)
    }

    fn is_contested(&self, regions: &Regions, group: usize) -> bool {
        match (self.nodes[group], &self.children[group][..]) {
            (Node::Space(..), [only]) => {
                matches!(self.nodes[*only as usize], Node::Partition(_, p) if !regions.is_disjoint(p))
            }
            (Node::Space(..), children) => children.len() > 1,
            _ => false,
        }
    }

    fn mark_empty(&mut self, group: Group) {
        let mut todo = vec![group];
        while let Some(group) = todo.pop() {
            if !std::mem::replace(&mut self.has_empty[group as usize], true) {
                todo.extend_from_slice(&self.parents[group as usize]);
            }
        }
    }
}

/// The walk from the root of a tree down to the parts of one region's cover, with its scratch marks.
struct Walk<'a> {
    regions: &'a Regions,
    forest: &'a Forest,
    /// Marks hold the number of the walk that set them, so that they need no clearing.
    round: u32,
    /// Groups at or above the region.
    path: Vec<u32>,
    /// Groups stated to be disjoint from the region.
    skip: Vec<u32>,
    /// Groups with a skipped group at or below them.
    mixed: Vec<u32>,
    seen: Vec<u32>,
    indexes: FxHashMap<Group, RunIndex>,
}

impl<'a> Walk<'a> {
    fn new(regions: &'a Regions, forest: &'a Forest) -> Self {
        let n = forest.nodes.len();
        Walk {
            regions,
            forest,
            round: 0,
            path: vec![0; n],
            skip: vec![0; n],
            mixed: vec![0; n],
            seen: vec![0; n],
            indexes: FxHashMap::default(),
        }
    }

    fn cover(&mut self, target: Group, out: &mut Vec<Part>) {
        self.round += 1;
        let (regions, forest, round) = (self.regions, self.forest, self.round);
        let Node::Space(field, space) = forest.nodes[target as usize] else {
            unreachable!("only regions have covers, and regions are spaces under a field")
        };
        let roots = self.mark_path(target);
        let ancestors = regions.ancestors(space);
        let pieces_above = ancestors.iter().any(|s| regions.spaces[s.index()].piece_of.is_some());
        self.mark_skipped(field, &ancestors);
        let known = ancestors.iter().find_map(|s| regions.indices(*s));
        let exact = regions.indices(space);

        // The pieces of a partition that the region lies in.
        let own_pieces = |partition: PartitionId| {
            let own = ancestors.iter().filter(move |s| regions.spaces[s.index()].piece_of == Some(partition));
            own.map(|s| forest.ids[&Node::Space(field, *s)])
        };
        let mut todo = roots;
        while let Some(group) = todo.pop() {
            let g = group as usize;
            if self.skip[g] == round || std::mem::replace(&mut self.seen[g], round) == round {
                continue;
            }
            let on_path = self.path[g] == round;
            let clean = self.mixed[g] != round;
            match forest.nodes[g] {
                Node::Space(_, x) => {
                    let inside = match (exact, regions.indices(x)) {
                        (Some(outer), Some(inner)) => !forest.has_empty[g] && outer.contains_set(inner),
                        _ => false,
                    };
                    // Without indices, nothing below a clean node can tell it apart from the region.
                    let uniform = known.is_none() && clean && (!on_path || !pieces_above);
                    if group == target || inside || uniform {
                        out.push(Part { group, below: true, around: on_path && group != target });
                        continue;
                    }
                    if forest.region[g].is_some() {
                        out.push(Part { group, below: false, around: on_path });
                    }
                    todo.extend(forest.children[g].iter().rev());
                }
                Node::Universe => {
                    if clean && !pieces_above {
                        out.push(Part { group, below: true, around: on_path });
                    } else {
                        todo.extend(forest.children[g].iter().rev());
                    }
                }
                Node::Partition(_, partition) => {
                    // An empty space overlaps nothing, and still lies in what contains it.
                    let empty = known.is_some_and(IndexSet::is_empty);
                    if on_path && regions.is_disjoint(partition) || empty {
                        todo.extend(own_pieces(partition));
                        continue;
                    }
                    let first = regions.partitions[partition.index()].first;
                    let unknown = known.is_none() || regions.indices(first).is_none();
                    let own_piece = regions.spaces[space.index()].piece_of == Some(partition);
                    if unknown && clean && (!on_path || own_piece) {
                        out.push(Part { group, below: true, around: on_path });
                        continue;
                    }
                    match known {
                        Some(known) if !unknown => self.overlapping(group, known, &mut todo),
                        _ => todo.extend(forest.children[g].iter().rev()),
                    }
                }
            }
        }
    }

    /// Marks everything at or above the target and returns the roots.
    fn mark_path(&mut self, target: Group) -> Vec<Group> {
        let mut roots = Vec::new();
        let mut todo = vec![target];
        while let Some(group) = todo.pop() {
            if std::mem::replace(&mut self.path[group as usize], self.round) == self.round {
                continue;
            }
            let parents = &self.forest.parents[group as usize];
            if parents.is_empty() {
                roots.push(group);
            }
            todo.extend_from_slice(parents);
        }
        roots
    }

    fn mark_skipped(&mut self, field: FieldId, ancestors: &[SpaceId]) {
        if self.regions.apart.is_empty() && !self.forest.several_parents {
            return;
        }
        let mut heads: Vec<Group> = ancestors
            .iter()
            .flat_map(|s| &self.regions.spaces[s.index()].apart)
            .filter_map(|s| self.forest.ids.get(&Node::Space(field, *s)).copied())
            .collect();
        if self.forest.several_parents {
            // The other pieces of a disjoint partition are never met from above, but what they share with other parents is.
            for space in ancestors {
                let Some(partition) = self.regions.spaces[space.index()].piece_of else { continue };
                if self.regions.is_disjoint(partition) {
                    let own = self.forest.ids[&Node::Space(field, *space)];
                    let pieces = &self.forest.children[self.forest.ids[&Node::Partition(field, partition)] as usize];
                    heads.extend(pieces.iter().filter(|p| **p != own && self.forest.shares_below[**p as usize]));
                }
            }
        }
        let mut at = 0;
        while at < heads.len() {
            let head = heads[at] as usize;
            at += 1;
            if std::mem::replace(&mut self.skip[head], self.round) == self.round {
                continue;
            }
            // With several parents a descendant may hang below a clean node too, so it must be marked itself.
            if self.forest.several_parents {
                heads.extend_from_slice(&self.forest.children[head]);
            }
        }
        while let Some(group) = heads.pop() {
            if std::mem::replace(&mut self.mixed[group as usize], self.round) != self.round {
                heads.extend_from_slice(&self.forest.parents[group as usize]);
            }
        }
    }

    /// The pieces in use of a partition that overlap a known set, in colour order.
    fn overlapping(&mut self, partition: Group, set: &IndexSet, out: &mut Vec<Group>) {
        let (regions, forest) = (self.regions, self.forest);
        let index = self.indexes.entry(partition).or_insert_with(|| {
            RunIndex::new(forest.children[partition as usize].iter().flat_map(|&child| {
                let Node::Space(_, space) = forest.nodes[child as usize] else {
                    unreachable!("the children of a partition are spaces")
                };
                let runs = regions.indices(space).map_or(&[][..], IndexSet::runs);
                runs.iter().map(move |r| (r.start, r.end, child))
            }))
        });
        let start = out.len();
        for run in set.runs() {
            index.overlaps(run.start, run.end, out);
        }
        out[start..].sort_unstable_by(|a, b| b.cmp(a));
        // Repeats are dropped by the `seen` marks.
    }
}

/// Finds the runs that overlap a given one: sorted by start, with the furthest end of every implicit subtree.
struct RunIndex {
    runs: Vec<(u64, u64, Group)>,
    furthest: Vec<u64>,
}

impl RunIndex {
    fn new(runs: impl Iterator<Item = (u64, u64, Group)>) -> Self {
        let mut runs: Vec<_> = runs.collect();
        runs.sort_unstable();
        let mut furthest = vec![0; runs.len()];
        fill(&runs, &mut furthest, 0, runs.len());
        return RunIndex { runs, furthest };

        fn fill(runs: &[(u64, u64, Group)], furthest: &mut [u64], lo: usize, hi: usize) -> u64 {
            if lo >= hi {
                return 0;
            }
            let mid = lo + (hi - lo) / 2;
            let ends = fill(runs, furthest, lo, mid).max(fill(runs, furthest, mid + 1, hi));
            furthest[mid] = ends.max(runs[mid].1);
            furthest[mid]
        }
    }

    fn overlaps(&self, start: u64, end: u64, out: &mut Vec<Group>) {
        let mut todo = vec![(0, self.runs.len())];
        while let Some((lo, hi)) = todo.pop() {
            if lo >= hi {
                continue;
            }
            let mid = lo + (hi - lo) / 2;
            if self.furthest[mid] <= start {
                continue;
            }
            let (s, e, group) = self.runs[mid];
            todo.push((lo, mid));
            if s < end {
                if start < e {
                    out.push(group);
                }
                todo.push((mid + 1, hi));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::{IndexMap, Pieces};

    /// The regions in a group, by walking the parents of every region in use.
    fn members(covers: &Covers, used: &[RegionId], part: Part) -> Vec<RegionId> {
        let holds = |r: &&RegionId| match part.below {
            true => covers.is_above(part.group, covers.group(**r)),
            false => covers.group(**r) == part.group,
        };
        used.iter().filter(holds).copied().collect()
    }

    fn assert_exact(regions: &Regions, used: &[RegionId]) {
        let covers = Covers::new(regions, used.iter().copied());
        for &region in used {
            let mut covered: Vec<RegionId> =
                covers.cover(region).iter().flat_map(|p| members(&covers, used, *p)).collect();
            covered.sort_unstable();
            covered.dedup();
            let mut aliases: Vec<RegionId> =
                used.iter().copied().filter(|other| regions.may_alias(region, *other)).collect();
            aliases.sort_unstable();
            let names = |list: &[RegionId]| list.iter().map(|r| regions.name(*r).into_owned()).collect::<Vec<_>>();
            assert_eq!(names(&covered), names(&aliases), "the cover of {}", regions.name(region));
            for part in covers.cover(region) {
                let above = covers.is_above(part.group, covers.group(region));
                assert_eq!(part.around, above && part.group != covers.group(region), "{}", regions.name(region));
            }
        }
    }

    fn sample(random: &mut fastrand::Rng, regions: &Regions) -> Vec<RegionId> {
        regions.ids().filter(|_| random.u32(0..4) > 0).collect()
    }

    #[test]
    fn covers_of_indexed_worlds_are_exact() {
        for seed in 0..400 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut regions = Regions::new();
            let len = random.u64(1..20);
            let cells = regions.space("cells", len).unwrap();
            let mut spaces = vec![cells];
            for number in 0..random.u32(1..6) {
                let of = spaces[random.usize(..spaces.len())];
                let known = regions.indices(of).cloned();
                let name = format!("p{number}");
                let pieces = match (random.u32(0..6), known) {
                    (0, _) | (_, None) => Pieces::declared(random.u32(1..4), random.bool(), random.bool()),
                    (1 | 2, _) => Pieces::equal(random.u32(1..5)),
                    (_, Some(set)) => Pieces::lists(
                        (0..random.u32(1..4))
                            .map(|_| set.iter().filter(|_| random.bool()).collect::<IndexSet>())
                            .collect::<Vec<_>>(),
                    ),
                };
                let partition = regions.partition(name, of, pieces).unwrap();
                (0..regions.piece_count(partition)).for_each(|c| spaces.push(regions.piece(partition, c)));
            }
            for field in ["u", "v"] {
                let field = regions.field(field, cells).unwrap();
                spaces.iter().for_each(|s| {
                    regions.region(field, *s).unwrap();
                });
            }
            let used = sample(&mut random, &regions);
            assert_exact(&regions, &used);
        }
    }

    #[test]
    fn covers_of_stated_worlds_are_exact() {
        let mut checked = 0;
        for seed in 0..3000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut regions = Regions::new();
            let mut ids: Vec<RegionId> = Vec::new();
            for number in 0..random.usize(1..9) {
                let id = regions.abstract_region(format!("r{number}")).unwrap();
                for _ in 0..random.u32(0..3) {
                    if let Some(&parent) = random.choice(&ids) {
                        regions.add_subregion(id, parent);
                    }
                }
                ids.push(id);
                if random.u32(0..4) == 0 {
                    let cut = Pieces::declared(random.u32(1..4), random.bool(), false);
                    let partition = regions.partition("p", regions.space_of(id), cut).unwrap();
                    for colour in 0..regions.piece_count(partition) {
                        ids.push(regions.sibling_or_insert(id, regions.piece(partition, colour)));
                    }
                }
            }
            for _ in 0..random.u32(0..5) {
                let (a, b) = (ids[random.usize(..ids.len())], ids[random.usize(..ids.len())]);
                if a != b {
                    regions.add_disjoint(a, b);
                }
            }
            if regions.inconsistencies().is_empty() {
                checked += 1;
                let used = sample(&mut random, &regions);
                assert_exact(&regions, &used);
            }
        }
        assert!(checked > 500, "most of the random facts must be consistent for this test to mean something");
    }

    #[test]
    fn a_block_overlaps_only_the_halos_of_its_neighbours() {
        let mut regions = Regions::new();
        let cells = regions.space("cells", 1000).unwrap();
        let u = regions.field("u", cells).unwrap();
        let blocks = regions.partition("blocks", cells, Pieces::equal(100)).unwrap();
        let targets = (0..1000u64).flat_map(|i| [i.saturating_sub(1), (i + 1).min(999)]).collect();
        let map = IndexMap::new(&regions, cells, cells, 2, targets).unwrap();
        let halos = regions.partition("halos", cells, Pieces::halo_through(blocks, &map)).unwrap();
        for partition in [blocks, halos] {
            (0..100).for_each(|c| {
                regions.region(u, regions.piece(partition, c)).unwrap();
            });
        }
        let used: Vec<RegionId> = regions.ids().collect();
        let covers = Covers::new(&regions, used.iter().copied());
        let block = regions.region(u, regions.piece(blocks, 50)).unwrap();
        assert_eq!(covers.cover(block).len(), 3, "the block itself and the halos of its two neighbours");
        assert_exact(&regions, &used);
    }
}
