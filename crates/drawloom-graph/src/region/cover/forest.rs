//! The groups: tree nodes for the regions in use and everything above them.

use rustc_hash::FxHashMap;

use super::{Group, NONE};
use crate::region::index_set::IndexSet;
use crate::region::regions::{ABSTRACT, FieldId, PartitionId, RegionId, Regions, SpaceId};

/// A tree node of the region forest: a space under one field, a partition under one field, or the root of all facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    Space(FieldId, SpaceId),
    Partition(FieldId, PartitionId),
    /// The common root of abstract regions without a parent, which all may alias by default.
    Universe,
}

/// The groups and how they hang together.
pub(super) struct Forest {
    pub(super) nodes: Vec<Node>,
    pub(super) ids: FxHashMap<Node, Group>,
    /// The region a space group stands for, when that region itself is in use.
    pub(super) region: Vec<Option<RegionId>>,
    pub(super) group_of: Vec<Group>,
    pub(super) parents: Vec<Vec<Group>>,
    pub(super) children: Vec<Vec<Group>>,
    /// Whether some space of the subtree is known to be empty.
    pub(super) has_empty: Vec<bool>,
    pub(super) several_parents: bool,
    /// Whether some group of the subtree has several parents.
    pub(super) shares_below: Vec<bool>,
}

impl Forest {
    pub(super) fn new(regions: &Regions, used: impl IntoIterator<Item = RegionId>) -> Self {
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

    pub(super) fn is_contested(&self, regions: &Regions, group: usize) -> bool {
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
