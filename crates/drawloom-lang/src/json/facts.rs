//! The region graph of a file: a list of names and two lists of facts.
//!
//! Regions that are known by facts alone are written as they were stated, used or not. Regions over index spaces are
//! written when they are in use, with everything above them; the facts about them are worked out by [`Groups`].

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::groups::{Groups, What, name_of};
use drawloom_graph::region::regions::{ABSTRACT, Fact, FieldId};
use drawloom_graph::region::{RegionId, Regions, SpaceId};

/// The most regions whose disjointness is listed pair by pair.
const MOST_PAIRWISE: usize = 4;

/// The number of a name.
pub(super) type Name = usize;

/// Names and facts, ready to be written.
#[derive(Default)]
pub(super) struct RegionGraph {
    names: Vec<String>,
    taken: FxHashSet<String>,
    by_space: FxHashMap<(FieldId, SpaceId), Name>,
    pub(super) listed: Vec<Name>,
    pub(super) subregion: Vec<(Name, Name)>,
    pub(super) disjoint: Vec<(Name, Name)>,
}

impl RegionGraph {
    /// The region graph of the regions in use.
    pub(super) fn new(regions: &Regions, used: impl Iterator<Item = RegionId>) -> Self {
        let mut graph = RegionGraph::default();
        let stated = regions.ids().filter(|r| regions.field_of(*r).is_none());
        let written = with_ancestors(regions, stated.chain(used));
        // Names of users come first, so that a name that has to give way is one of ours.
        for (&field, spaces) in &written {
            for &space in spaces {
                let name = graph.name(name_of(regions, (field != ABSTRACT).then_some(field), space));
                graph.by_space.insert((field, space), name);
            }
        }
        let mut roots = Vec::new();
        for (&field, spaces) in &written {
            graph.field(regions, field, spaces);
            if field != ABSTRACT {
                roots.extend(regions.field_space(field).map(|root| graph.by_space[&(field, root)]));
            }
        }
        graph.facts(regions, &written);
        if let Some(spaces) = written.get(&ABSTRACT).filter(|_| !roots.is_empty()) {
            roots.push(graph.around_stated(regions, spaces));
        }
        graph.separate(&roots, 0);
        graph
    }

    /// The name of a region in the file.
    pub(super) fn region(&self, regions: &Regions, region: RegionId) -> &str {
        self.text(self.by_space[&(regions.field_of(region).unwrap_or(ABSTRACT), regions.space_of(region))])
    }

    /// The text of a name.
    pub(super) fn text(&self, name: Name) -> &str {
        &self.names[name]
    }

    /// A new name: the one asked for, or that with primes when it is taken.
    fn name(&mut self, mut wanted: String) -> Name {
        while !self.taken.insert(wanted.clone()) {
            wanted.push('\'');
        }
        self.names.push(wanted);
        self.names.len() - 1
    }

    /// The regions of one field and the facts that follow from its partitions.
    fn field(&mut self, regions: &Regions, field: FieldId, spaces: &[SpaceId]) {
        let groups = Groups::new(regions, spaces);
        let mut names: Vec<Name> = vec![Name::MAX; groups.members.len()];
        for &member in &groups.order {
            names[member] = match groups.members[member].what {
                What::Region(space) => self.by_space[&(field, space)],
                What::Group(..) if !groups.members[member].written => continue,
                What::Group(partition, first, end) => {
                    let around =
                        name_of(regions, (field != ABSTRACT).then_some(field), regions.partition_parent(partition));
                    self.name(format!("{around}.{}[{first}..{end}]", regions.partition_name(partition)))
                }
            };
        }
        for &member in &groups.order {
            if !groups.members[member].written {
                continue;
            }
            match groups.members[member].what {
                What::Region(space) if !is_declared(regions, space) => {}
                _ => self.listed.push(names[member]),
            }
            if let Some(parent) = groups.written_parent(member) {
                self.subregion.push((names[member], names[parent]));
            }
        }
        self.subregion.extend(groups.inside.iter().map(|(a, b)| (names[*a], names[*b])));
        self.disjoint.extend(groups.disjoint.iter().map(|(a, b)| (names[*a], names[*b])));
    }

    /// Stated facts. One about two index spaces holds for every field over them.
    fn facts(&mut self, regions: &Regions, written: &BTreeMap<FieldId, Vec<SpaceId>>) {
        for fact in regions.facts() {
            let (Fact::Subregion(a, b) | Fact::Disjoint(a, b)) = *fact;
            let (x, y) = (regions.space_of(a), regions.space_of(b));
            for field in written.keys() {
                let (Some(&x), Some(&y)) = (self.by_space.get(&(*field, x)), self.by_space.get(&(*field, y))) else {
                    continue;
                };
                match fact {
                    Fact::Subregion(..) => self.subregion.push((x, y)),
                    Fact::Disjoint(..) => self.disjoint.push((x, y)),
                }
            }
        }
    }

    /// One region around all regions that are known by facts alone, so that it can be kept apart from the fields.
    fn around_stated(&mut self, regions: &Regions, spaces: &[SpaceId]) -> Name {
        let around = self.name("stated".to_owned());
        self.listed.push(around);
        for &space in spaces {
            if is_declared(regions, space) && regions.parents(space).next().is_none() {
                self.subregion.push((self.by_space[&(ABSTRACT, space)], around));
            }
        }
        around
    }

    /// States that the given regions are pairwise disjoint, by halves when they are many.
    fn separate(&mut self, roots: &[Name], first: usize) {
        if roots.len() <= MOST_PAIRWISE {
            for (i, &a) in roots.iter().enumerate() {
                self.disjoint.extend(roots[i + 1..].iter().map(|&b| (a, b)));
            }
            return;
        }
        let (left, right) = roots.split_at(roots.len() / 2);
        let halves = [(left, first), (right, first + left.len())].map(|(half, first)| {
            let group = self.name(format!("fields[{first}..{}]", first + half.len()));
            self.listed.push(group);
            self.subregion.extend(half.iter().map(|&root| (root, group)));
            self.separate(half, first);
            group
        });
        self.disjoint.push((halves[0], halves[1]));
    }
}

/// Only regions that are known by facts alone can be undeclared: mentioned, and never listed.
fn is_declared(regions: &Regions, space: SpaceId) -> bool {
    regions.at(ABSTRACT, space).is_none_or(|region| regions.is_declared(region))
}

/// The spaces of the given regions and everything above them, by field, in increasing order.
fn with_ancestors(regions: &Regions, used: impl Iterator<Item = RegionId>) -> BTreeMap<FieldId, Vec<SpaceId>> {
    let mut found: BTreeMap<FieldId, Vec<SpaceId>> = BTreeMap::new();
    let mut seen: FxHashSet<(FieldId, SpaceId)> = FxHashSet::default();
    let mut todo = Vec::new();
    for region in used {
        let field = regions.field_of(region).unwrap_or(ABSTRACT);
        todo.push(regions.space_of(region));
        while let Some(space) = todo.pop() {
            if seen.insert((field, space)) {
                found.entry(field).or_default().push(space);
                todo.extend(regions.parents(space));
            }
        }
    }
    for spaces in found.values_mut() {
        spaces.sort_unstable();
    }
    found
}
