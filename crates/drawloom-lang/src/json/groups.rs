//! Which pieces of partitions overlap, told by groups of pieces.
//!
//! A file states facts: this region lies in that one, these two are disjoint. Stated pair by pair, the disjointness of a
//! partition of a thousand pieces would be half a million facts. So the pieces of a partition are grouped: up to four
//! pieces make a group, and groups are halves of larger groups up to the whole partition. Two groups that share no index
//! are stated to be disjoint once, and nothing is stated about what lies in them. For a thousand blocks and their halos
//! that is a few thousand facts. A group is written, as a region named `u.blocks[0..8]`, only when a fact needs it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use drawloom_graph::region::{FieldId, IndexSet, PartitionId, Regions, SpaceId};

/// The most pieces a group holds directly. Up to here listing all pairs is shorter than making more groups.
const MOST_PIECES: usize = 4;

/// A region or a group of pieces.
pub(super) struct Member {
    pub(super) what: What,
    /// The region around a region, or around the partition of a group; or the next larger group.
    pub(super) parent: Option<usize>,
    children: Vec<usize>,
    /// Every index of every region inside. `None` when it is not known.
    union: Option<Arc<IndexSet>>,
    /// The indices that every region inside has. `None` when that is not known: the regions inside may have any.
    common: Option<Arc<IndexSet>>,
    /// No region inside has indices of its own, so all of them overlap the same regions outside.
    blind: bool,
    /// How many regions are inside.
    size: usize,
    /// The place in a walk that visits what contains a member before the member.
    rank: usize,
    /// Whether a fact is about this member. Regions are always written.
    pub(super) written: bool,
}

/// What a member is.
pub(super) enum What {
    Region(SpaceId),
    /// The written pieces of a partition whose colours lie in a range.
    Group(PartitionId, u32, u32),
}

/// The written regions of one field, and the facts about them.
pub(super) struct Groups<'a> {
    regions: &'a Regions,
    pub(super) members: Vec<Member>,
    pub(super) place: FxHashMap<SpaceId, usize>,
    /// Every member, each after what contains it.
    pub(super) order: Vec<usize>,
    pub(super) disjoint: Vec<(usize, usize)>,
    pub(super) inside: Vec<(usize, usize)>,
}

/// What is still to be compared.
enum Task {
    /// All regions inside a member with each other.
    Within(usize),
    /// All regions inside one member with all inside another.
    Between(usize, usize),
    /// One region, without what is inside it, with all regions inside a member.
    Alone(usize, usize),
}

impl<'a> Groups<'a> {
    /// Groups the given spaces, which are in increasing order and hold everything above each of them.
    pub(super) fn new(regions: &'a Regions, spaces: &[SpaceId]) -> Self {
        let mut groups = Groups {
            regions,
            members: Vec::with_capacity(spaces.len()),
            place: FxHashMap::default(),
            order: Vec::new(),
            disjoint: Vec::new(),
            inside: Vec::new(),
        };
        let mut pieces: Vec<(PartitionId, u32, usize)> = Vec::new();
        let mut roots = Vec::new();
        for &space in spaces {
            let member = groups.push(What::Region(space), Vec::new());
            groups.place.insert(space, member);
            match regions.piece_of(space) {
                Some((partition, colour)) => pieces.push((partition, colour, member)),
                None => roots.push(member),
            }
        }
        pieces.sort_unstable();
        for pieces in pieces.chunk_by(|a, b| a.0 == b.0) {
            let whole = groups.place[&regions.partition_parent(pieces[0].0)];
            let top = groups.group(pieces);
            groups.adopt(whole, top);
        }
        groups.measure(&roots);
        groups.find_disjoint(&roots);
        groups.find_contained(&roots);
        groups
    }

    fn push(&mut self, what: What, children: Vec<usize>) -> usize {
        let written = matches!(what, What::Region(_));
        let member = self.members.len();
        self.members.push(Member {
            what,
            parent: None,
            children: Vec::new(),
            union: None,
            common: None,
            blind: false,
            size: 1,
            rank: 0,
            written,
        });
        for child in children {
            self.adopt(member, child);
        }
        member
    }

    fn adopt(&mut self, parent: usize, child: usize) {
        self.members[parent].children.push(child);
        self.members[child].parent = Some(parent);
    }

    /// The group of these pieces: halves of halves, so the depth is logarithmic.
    fn group(&mut self, pieces: &[(PartitionId, u32, usize)]) -> usize {
        let (first, last) = (pieces[0], pieces[pieces.len() - 1]);
        let children = match pieces.len() {
            1 => return first.2,
            n if n <= MOST_PIECES => pieces.iter().map(|p| p.2).collect(),
            n => vec![self.group(&pieces[..n / 2]), self.group(&pieces[n / 2..])],
        };
        self.push(What::Group(first.0, first.1, last.1 + 1), children)
    }

    /// Fills in what a member knows: from above for regions without indices of their own, from below for the rest.
    fn measure(&mut self, roots: &[usize]) {
        let mut todo: Vec<usize> = roots.iter().rev().copied().collect();
        while let Some(member) = todo.pop() {
            self.members[member].rank = self.order.len();
            self.order.push(member);
            todo.extend(self.members[member].children.iter().rev());
            // A group holds what is around it until it is replaced from below, so that its pieces can inherit it.
            let own = match self.members[member].what {
                // An empty region overlaps nothing, and lies in all that its container lies in. Facts cannot say both, so
                // it is taken for a region that may have any index of its container.
                What::Region(space) => self.regions.shared_indices(space).filter(|indices| !indices.is_empty()),
                What::Group(..) => None,
            };
            self.members[member].blind = own.is_none();
            self.members[member].union =
                own.or_else(|| self.members[member].parent.and_then(|p| self.members[p].union.clone()));
        }
        for at in (0..self.order.len()).rev() {
            let member = self.order[at];
            let children = std::mem::take(&mut self.members[member].children);
            let is_group = matches!(self.members[member].what, What::Group(..));
            if is_group {
                self.members[member].union = self.union_of(&children);
                self.members[member].blind = children.iter().all(|c| self.members[*c].blind);
            }
            let mut common = if is_group { None } else { self.members[member].union.clone() };
            for set in children.iter().filter_map(|c| self.members[*c].common.clone()) {
                common = Some(match common {
                    Some(other) if !Arc::ptr_eq(&other, &set) => Arc::new(other.intersection(&set)),
                    _ => set,
                });
            }
            self.members[member].common = common;
            self.members[member].size =
                usize::from(!is_group) + children.iter().map(|c| self.members[*c].size).sum::<usize>();
            self.members[member].children = children;
        }
    }

    fn union_of(&self, members: &[usize]) -> Option<Arc<IndexSet>> {
        let sets: Option<Vec<&Arc<IndexSet>>> = members.iter().map(|m| self.members[*m].union.as_ref()).collect();
        let sets = sets?;
        // Pieces that inherited one set from above share it.
        if sets.windows(2).all(|pair| Arc::ptr_eq(pair[0], pair[1])) {
            return sets.first().map(|set| Arc::clone(set));
        }
        Some(Arc::new(IndexSet::from_runs(sets.iter().flat_map(|set| set.runs().iter().copied()))))
    }

    fn find_disjoint(&mut self, roots: &[usize]) {
        let mut todo: Vec<Task> = roots.iter().rev().map(|r| Task::Within(*r)).collect();
        while let Some(task) = todo.pop() {
            match task {
                Task::Within(member) => {
                    let children = &self.members[member].children;
                    let apart = match self.members[member].what {
                        What::Group(partition, ..) => self.regions.is_disjoint(partition),
                        What::Region(_) => false,
                    };
                    for (i, &a) in children.iter().enumerate() {
                        todo.push(Task::Within(a));
                        for &b in &children[i + 1..] {
                            if apart {
                                self.disjoint.push((a, b));
                            } else {
                                todo.push(Task::Between(a, b));
                            }
                        }
                    }
                }
                Task::Between(a, b) | Task::Alone(a, b) if self.apart(a, b) => self.disjoint.push((a, b)),
                Task::Between(a, b) => self.compare(a, b, &mut todo),
                Task::Alone(_, b) if self.members[b].blind => {}
                Task::Alone(a, b) => todo.extend(self.members[b].children.iter().map(|c| Task::Alone(a, *c))),
            }
        }
        self.disjoint.sort_unstable_by_key(|(a, b)| (self.members[*a].rank, self.members[*b].rank));
        for i in 0..self.disjoint.len() {
            let (a, b) = self.disjoint[i];
            self.members[a].written = true;
            self.members[b].written = true;
        }
    }

    /// Whether no region inside one member shares an index with one inside the other.
    fn apart(&self, a: usize, b: usize) -> bool {
        match (&self.members[a].union, &self.members[b].union) {
            (Some(i), Some(j)) => i.first_common(j).is_none(),
            _ => false,
        }
    }

    /// Splits the comparison of two members that are not apart.
    fn compare(&self, a: usize, b: usize, todo: &mut Vec<Task>) {
        let (x, y) = (&self.members[a], &self.members[b]);
        // Members that all share an index overlap all the way down.
        let overlap = match (&x.common, &y.common) {
            (Some(i), Some(j)) => i.first_common(j).is_some(),
            (Some(i), None) | (None, Some(i)) => !i.is_empty(),
            (None, None) => true,
        };
        if overlap {
            return;
        }
        let group = |m: &Member| matches!(m.what, What::Group(..)) && !m.blind;
        let inner = |m: &Member| !m.blind && !m.children.is_empty();
        let split = match (group(x), group(y)) {
            (true, true) => x.size >= y.size,
            (true, false) => true,
            (false, true) => false,
            (false, false) => inner(x),
        };
        if split {
            todo.extend(x.children.iter().map(|c| Task::Between(*c, b)));
            // A region overlaps the other member; it may still be apart from something in there.
            if !group(x) && inner(y) {
                todo.extend(y.children.iter().map(|c| Task::Alone(a, *c)));
            }
        } else if inner(y) {
            todo.extend(y.children.iter().map(|c| Task::Between(a, *c)));
        }
    }

    /// Containment beyond the tree: regions whose indices all lie in a region of another partition.
    ///
    /// Facts cannot say that two regions are equal. Of regions with the same indices, a later one is stated to lie in an
    /// earlier one.
    fn find_contained(&mut self, roots: &[usize]) {
        for at in 0..self.order.len() {
            let member = self.order[at];
            if self.indices(member).is_none_or(IndexSet::is_empty) {
                continue;
            }
            let containers = self.containers(member, roots);
            self.inside.extend(containers.into_iter().map(|c| (member, c)));
        }
    }

    /// The smallest regions around a region that are not above it in the tree, and that its parent does not lie in.
    fn containers(&self, member: usize, roots: &[usize]) -> Vec<usize> {
        let set = self.indices(member).expect("only regions with known indices are asked for their containers");
        let around = self.region_around(member);
        let mut found: Vec<usize> = Vec::new();
        let mut todo: Vec<usize> = roots.to_vec();
        while let Some(at) = todo.pop() {
            if !self.members[at].union.as_ref().is_some_and(|union| union.contains_set(set)) || self.members[at].blind {
                continue;
            }
            todo.extend(&self.members[at].children);
            let new = self.lies_in(member, at) && !self.is_above(at, member);
            if new && around.is_none_or(|p| p != at && !self.lies_in(p, at)) {
                found.push(at);
            }
        }
        found.sort_unstable_by_key(|m| {
            let size = self.indices(*m).map_or(0, IndexSet::len);
            (size, std::cmp::Reverse(self.members[*m].rank))
        });
        let mut kept: Vec<usize> = Vec::new();
        for container in found {
            if !kept.iter().any(|k| self.lies_in(*k, container)) {
                kept.push(container);
            }
        }
        kept
    }

    /// Whether a region's indices lie in another's; of two equal regions, the later one in the earlier one.
    fn lies_in(&self, inner: usize, outer: usize) -> bool {
        let (Some(a), Some(b)) = (self.indices(inner), self.indices(outer)) else { return false };
        b.contains_set(a) && (a != b || self.members[outer].rank < self.members[inner].rank)
    }

    fn is_above(&self, outer: usize, inner: usize) -> bool {
        let mut at = Some(inner);
        while let Some(member) = at {
            if member == outer {
                return true;
            }
            at = self.members[member].parent;
        }
        false
    }

    fn region_around(&self, member: usize) -> Option<usize> {
        let mut at = self.members[member].parent;
        while let Some(member) = at.filter(|m| matches!(self.members[*m].what, What::Group(..))) {
            at = self.members[member].parent;
        }
        at
    }

    fn indices(&self, member: usize) -> Option<&'a IndexSet> {
        match self.members[member].what {
            What::Region(space) => self.regions.indices(space),
            What::Group(..) => None,
        }
    }

    /// The nearest written member around a member.
    pub(super) fn written_parent(&self, member: usize) -> Option<usize> {
        let mut at = self.members[member].parent;
        while let Some(member) = at.filter(|m| !self.members[*m].written) {
            at = self.members[member].parent;
        }
        at
    }
}

/// The name of a space under a field, whether or not the table has a region for it.
pub(super) fn name_of(regions: &Regions, field: Option<FieldId>, space: SpaceId) -> String {
    let name = regions.space_name(space);
    let Some(field) = field else { return name };
    let root = regions.field_space(field).map_or(0, |root| regions.space_name(root).len());
    format!("{}{}", regions.field_name(field), &name[root..])
}
