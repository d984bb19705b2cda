//! From the root of a tree down to the parts of one region's cover.

use rustc_hash::FxHashMap;

use super::forest::{Forest, Node};
use super::{Group, Part};
use crate::region::index_set::IndexSet;
use crate::region::regions::{FieldId, PartitionId, Regions, SpaceId};
use crate::region::run_index::RunIndex;

/// The walk from the root of a tree down to the parts of one region's cover, with its scratch marks.
pub(super) struct Walk<'a> {
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
    indexes: FxHashMap<Group, RunIndex<Group>>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(regions: &'a Regions, forest: &'a Forest) -> Self {
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

    pub(super) fn cover(&mut self, target: Group, out: &mut Vec<Part>) {
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
                runs.iter().map(move |&run| (run, child))
            }))
        });
        let start = out.len();
        for &run in set.runs() {
            index.overlaps(run, |_, group| out.push(group));
        }
        out[start..].sort_unstable_by(|a, b| b.cmp(a));
        // Repeats are dropped by the `seen` marks.
    }
}
