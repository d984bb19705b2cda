//! The table of everything a program's data is made of.
//!
//! A *space* is a set of indices. A *partition* cuts a space into *pieces*, which are spaces again, so spaces and
//! partitions alternate in trees. A *field* puts a value on every index of a root space. A *region* is one field over
//! one space: the thing a task accesses.
//!
//! Graphs that come from other tools know none of that; they name regions and state facts about them: this one is a
//! subregion of that one, these two are disjoint. Such *abstract* regions are spaces without indices that share one
//! nameless field, so both kinds live in one table and obey one alias rule.
//!
//! ```
//! use drawloom_graph::{Pieces, Regions};
//! let mut regions = Regions::new();
//! let cells = regions.space("cells", 100)?;
//! let u = regions.field("u", cells)?;
//! let blocks = regions.partition("blocks", cells, Pieces::equal(4))?;
//! let halos = regions.partition("halos", cells, Pieces::halo(blocks, 1))?;
//! let block = regions.region(u, regions.piece(blocks, 1))?;
//! let halo = regions.region(u, regions.piece(halos, 2))?;
//! assert_eq!(regions.name(block), "u.blocks[1]");
//! assert!(regions.may_alias(block, halo), "the halo of block 2 reaches into block 1");
//! # Ok::<(), drawloom_graph::RegionError>(())
//! ```

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::error::{RegionError, RegionErrorKind};
use super::index_set::IndexSet;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// The id of the `index`-th item. Ids are dense and start at zero.
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("ids fit 32 bits: the tables refuse to grow beyond that"))
            }

            /// The position of this item in its table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}
pub(crate) use id;

id! {
    /// A space: a root index space, a piece of a partition, or an abstract set known only by facts.
    SpaceId
}
id! {
    /// A partition of a space.
    PartitionId
}
id! {
    /// A field over a root space. Field 0 is the nameless field of abstract regions.
    FieldId
}
id! {
    /// A region: one field over one space.
    RegionId
}

/// The field that all abstract regions share.
pub const ABSTRACT: FieldId = FieldId(0);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Space {
    /// Empty for a piece, whose name derives from its partition.
    name: String,
    /// The partition this space is a piece of.
    pub(crate) piece_of: Option<PartitionId>,
    /// Spaces that contain this one by a stated fact.
    pub(crate) above: Vec<SpaceId>,
    /// The reverse of `above`.
    pub(crate) below: Vec<SpaceId>,
    /// Spaces stated to be disjoint from this one.
    pub(crate) apart: Vec<SpaceId>,
    pub(crate) partitions: Vec<PartitionId>,
    pub(crate) indices: Option<Arc<IndexSet>>,
    /// The concrete root space this one lies in; `None` for abstract spaces.
    pub(crate) root: Option<SpaceId>,
    /// False for a name that was used but never declared (rule RG1).
    declared: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Partition {
    pub(crate) name: String,
    pub(crate) parent: SpaceId,
    pub(crate) first: SpaceId,
    pub(crate) count: u32,
    pub(crate) disjoint: bool,
    pub(crate) complete: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Field {
    name: String,
    space: Option<SpaceId>,
}

/// The region graph: spaces, partitions, fields, regions, and facts about them.
#[derive(Clone, Debug, PartialEq)]
pub struct Regions {
    pub(crate) spaces: Vec<Space>,
    pub(crate) partitions: Vec<Partition>,
    fields: Vec<Field>,
    regions: Vec<(FieldId, SpaceId)>,
    lookup: FxHashMap<(FieldId, SpaceId), RegionId>,
    names: FxHashMap<String, SpaceId>,
    field_names: FxHashMap<String, FieldId>,
    facts: Vec<Fact>,
    inside: FxHashSet<(SpaceId, SpaceId)>,
    pub(crate) apart: FxHashSet<(SpaceId, SpaceId)>,
}

/// A stated fact about two regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fact {
    /// The first region is contained in the second.
    Subregion(RegionId, RegionId),
    /// The two regions share no data.
    Disjoint(RegionId, RegionId),
}

impl Default for Regions {
    fn default() -> Self {
        Self::new()
    }
}

impl Regions {
    /// A table with no space and no region.
    pub fn new() -> Self {
        Self {
            spaces: Vec::new(),
            partitions: Vec::new(),
            fields: vec![Field { name: String::new(), space: None }],
            regions: Vec::new(),
            lookup: FxHashMap::default(),
            names: FxHashMap::default(),
            field_names: FxHashMap::default(),
            facts: Vec::new(),
            inside: FxHashSet::default(),
            apart: FxHashSet::default(),
        }
    }

    /// Declares the index space `0..len`.
    pub fn space(&mut self, name: impl Into<String>, len: u64) -> Result<SpaceId, RegionError> {
        let id = self.push_space(name.into(), None, Some(Arc::new(IndexSet::range(0, len))), true)?;
        self.spaces[id.index()].root = Some(id);
        Ok(id)
    }

    /// Declares a field with a value on every index of a root space. Field names are unique in a table.
    pub fn field(&mut self, name: impl Into<String>, space: SpaceId) -> Result<FieldId, RegionError> {
        let name = name.into();
        if self.spaces[space.index()].root != Some(space) {
            return Err(RegionError::new(
                RegionErrorKind::WrongSpace,
                format!("field {name} needs a root space, and {} is not one", self.space_name(space)),
            ));
        }
        if self.field_names.contains_key(&name) || self.is_abstract_name(&name) {
            return Err(RegionError::new(
                RegionErrorKind::Duplicate,
                format!("{name} is already the name of a field or region"),
            ));
        }
        let id = FieldId::from_index(self.fields.len());
        self.field_names.insert(name.clone(), id);
        self.fields.push(Field { name, space: Some(space) });
        Ok(id)
    }

    /// The region of a field over its root space or any space below that.
    pub fn region(&mut self, field: FieldId, space: SpaceId) -> Result<RegionId, RegionError> {
        if self.fields[field.index()].space != self.spaces[space.index()].root {
            return Err(RegionError::new(
                RegionErrorKind::WrongSpace,
                format!(
                    "field {} has no values on {}: it belongs to another space",
                    self.fields[field.index()].name,
                    self.space_name(space)
                ),
            ));
        }
        Ok(self.intern(field, space))
    }

    /// The region of a field over all of its root space.
    pub fn whole(&mut self, field: FieldId) -> RegionId {
        let space = self.fields[field.index()].space.expect("only the nameless field has no space, and it is private");
        self.intern(field, space)
    }

    /// Declares a region known only by its name and by facts stated later.
    pub fn abstract_region(&mut self, name: impl Into<String>) -> Result<RegionId, RegionError> {
        let name = name.into();
        if let Some(&space) = self.names.get(&name)
            && !self.spaces[space.index()].declared
        {
            self.spaces[space.index()].declared = true;
            return Ok(self.intern(ABSTRACT, space));
        }
        if self.field_names.contains_key(&name) {
            return Err(RegionError::new(RegionErrorKind::Duplicate, format!("{name} is already the name of a field")));
        }
        let space = self.push_space(name, None, None, true)?;
        Ok(self.intern(ABSTRACT, space))
    }

    /// The region of that name, entered as *undeclared* when nothing of the name exists yet.
    ///
    /// Importers use it so that an unknown name becomes a violation of rule RG1 with its name in it, and not a refusal to
    /// read the file.
    pub fn abstract_region_or_undeclared(&mut self, name: &str) -> RegionId {
        if let Some(region) = self.find(name) {
            return region;
        }
        let space =
            self.push_space(name.to_owned(), None, None, false).expect("the name was just looked up and is not taken");
        self.intern(ABSTRACT, space)
    }

    /// States that `child` is contained in `parent`. Both must be abstract regions or declared pieces of the same field.
    pub fn add_subregion(&mut self, child: RegionId, parent: RegionId) {
        let fact = Fact::Subregion(child, parent);
        self.facts.push(fact);
        let (child, parent) = (self.space_of(child), self.space_of(parent));
        if child != parent && self.inside.insert((child, parent)) {
            self.spaces[child.index()].above.push(parent);
            self.spaces[parent.index()].below.push(child);
        }
    }

    /// States that two regions share no data.
    pub fn add_disjoint(&mut self, a: RegionId, b: RegionId) {
        self.facts.push(Fact::Disjoint(a, b));
        let (a, b) = (self.space_of(a), self.space_of(b));
        if self.apart.insert((a.min(b), a.max(b))) {
            self.spaces[a.index()].apart.push(b);
            if a != b {
                self.spaces[b.index()].apart.push(a);
            }
        }
    }

    /// Every stated fact, in the order it was stated.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// How many regions exist. Their ids are `0..len`.
    pub fn len(&self) -> usize {
        self.regions.len()
    }

    /// Whether there is no region.
    pub fn is_empty(&self) -> bool {
        self.regions.is_empty()
    }

    /// Every region id.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = RegionId> + ExactSizeIterator + use<> {
        (0..self.regions.len() as u32).map(RegionId)
    }

    /// The field of a region; `None` for an abstract one.
    pub fn field_of(&self, region: RegionId) -> Option<FieldId> {
        let field = self.regions[region.index()].0;
        (field != ABSTRACT).then_some(field)
    }

    /// The space a region lies over.
    pub fn space_of(&self, region: RegionId) -> SpaceId {
        self.regions[region.index()].1
    }

    /// The region with the same field over another space, if it exists.
    pub fn sibling(&self, region: RegionId, space: SpaceId) -> Option<RegionId> {
        self.lookup.get(&(self.regions[region.index()].0, space)).copied()
    }

    pub(crate) fn raw_field(&self, region: RegionId) -> FieldId {
        self.regions[region.index()].0
    }

    /// The region of a field over a space, if it exists.
    pub fn at(&self, field: FieldId, space: SpaceId) -> Option<RegionId> {
        self.lookup.get(&(field, space)).copied()
    }

    /// Whether the region was declared, and not only mentioned.
    pub fn is_declared(&self, region: RegionId) -> bool {
        self.spaces[self.space_of(region).index()].declared
    }

    /// The name of a region as its author would write it: `u`, `u.blocks[3]`, or the name of an abstract region.
    pub fn name(&self, region: RegionId) -> Cow<'_, str> {
        let (field, space) = self.regions[region.index()];
        let path = self.piece_path(space);
        if field == ABSTRACT {
            let root = self.path_root(space);
            return match path.is_empty() {
                true => Cow::Borrowed(&self.spaces[root.index()].name),
                false => Cow::Owned(format!("{}{path}", self.spaces[root.index()].name)),
            };
        }
        let name = &self.fields[field.index()].name;
        if path.is_empty() { Cow::Borrowed(name) } else { Cow::Owned(format!("{name}{path}")) }
    }

    /// The name of a space: `cells`, or `cells.blocks[3]`.
    pub fn space_name(&self, space: SpaceId) -> String {
        format!("{}{}", self.spaces[self.path_root(space).index()].name, self.piece_path(space))
    }

    /// The name of a field.
    pub fn field_name(&self, field: FieldId) -> &str {
        &self.fields[field.index()].name
    }

    /// The root space of a field.
    pub fn field_space(&self, field: FieldId) -> Option<SpaceId> {
        self.fields[field.index()].space
    }

    /// Every named field, in the order of declaration.
    pub fn fields(&self) -> impl Iterator<Item = FieldId> + use<> {
        (1..self.fields.len() as u32).map(FieldId)
    }

    /// The field of that name.
    pub fn find_field(&self, name: &str) -> Option<FieldId> {
        self.field_names.get(name).copied()
    }

    /// The root or abstract space of that name.
    pub fn find_space(&self, name: &str) -> Option<SpaceId> {
        self.names.get(name).copied()
    }

    /// The region of that name: abstract, or a field's whole region, if it exists in the table.
    pub fn find(&self, name: &str) -> Option<RegionId> {
        if let Some(&field) = self.field_names.get(name) {
            return self.lookup.get(&(field, self.fields[field.index()].space?)).copied();
        }
        self.lookup.get(&(ABSTRACT, *self.names.get(name)?)).copied()
    }

    /// The indices of a space, where they are known.
    pub fn indices(&self, space: SpaceId) -> Option<&IndexSet> {
        self.spaces[space.index()].indices.as_deref()
    }

    /// The indices of a space, where they are known, to be shared. Spaces with the same indices may share one set.
    pub fn shared_indices(&self, space: SpaceId) -> Option<Arc<IndexSet>> {
        self.spaces[space.index()].indices.clone()
    }

    /// How many spaces exist, pieces included. Their ids are `0..space_count`.
    pub fn space_count(&self) -> usize {
        self.spaces.len()
    }

    /// How many partitions exist. Their ids are `0..partition_count`.
    pub fn partition_count(&self) -> usize {
        self.partitions.len()
    }

    /// The id of the first piece of a partition; the others follow it. A partition without pieces has the id that its first
    /// piece would have.
    pub fn first_piece(&self, partition: PartitionId) -> SpaceId {
        self.partitions[partition.index()].first
    }

    /// The partition and colour a space is a piece of.
    pub fn piece_of(&self, space: SpaceId) -> Option<(PartitionId, u32)> {
        let partition = self.spaces[space.index()].piece_of?;
        Some((partition, space.0 - self.partitions[partition.index()].first.0))
    }

    /// The partitions of a space, in the order they were made.
    pub fn partitions_of(&self, space: SpaceId) -> &[PartitionId] {
        &self.spaces[space.index()].partitions
    }

    /// The piece of a partition with the given colour.
    ///
    /// # Panics
    /// When the partition has no such colour; see [`Regions::piece_count`].
    pub fn piece(&self, partition: PartitionId, colour: u32) -> SpaceId {
        let p = &self.partitions[partition.index()];
        assert!(colour < p.count, "partition {} has {} pieces and no piece {colour}", p.name, p.count);
        SpaceId(p.first.0 + colour)
    }

    /// How many pieces a partition has.
    pub fn piece_count(&self, partition: PartitionId) -> u32 {
        self.partitions[partition.index()].count
    }

    /// The space a partition cuts.
    pub fn partition_parent(&self, partition: PartitionId) -> SpaceId {
        self.partitions[partition.index()].parent
    }

    /// The name of a partition.
    pub fn partition_name(&self, partition: PartitionId) -> &str {
        &self.partitions[partition.index()].name
    }

    /// The partition of a space with that name.
    pub fn find_partition(&self, space: SpaceId, name: &str) -> Option<PartitionId> {
        self.spaces[space.index()].partitions.iter().copied().find(|p| self.partitions[p.index()].name == name)
    }

    /// Whether no two pieces of a partition share an index.
    pub fn is_disjoint(&self, partition: PartitionId) -> bool {
        self.partitions[partition.index()].disjoint
    }

    /// Whether the pieces of a partition hold every index of the space it cuts.
    pub fn is_complete(&self, partition: PartitionId) -> bool {
        self.partitions[partition.index()].complete
    }

    /// The spaces that contain this one directly: the space its partition cuts, and those stated by facts.
    pub fn parents(&self, space: SpaceId) -> impl Iterator<Item = SpaceId> + '_ {
        let s = &self.spaces[space.index()];
        s.piece_of.map(|p| self.partitions[p.index()].parent).into_iter().chain(s.above.iter().copied())
    }

    pub(crate) fn root_len(&self, space: SpaceId, what: &str) -> Result<u64, RegionError> {
        match (&self.spaces[space.index()].indices, self.spaces[space.index()].root == Some(space)) {
            (Some(indices), true) => Ok(indices.len()),
            _ => Err(RegionError::new(
                RegionErrorKind::WrongSpace,
                format!("{what} needs a root index space, and {} is not one", self.space_name(space)),
            )),
        }
    }

    pub(crate) fn push_space(
        &mut self,
        name: String,
        piece_of: Option<PartitionId>,
        indices: Option<Arc<IndexSet>>,
        declared: bool,
    ) -> Result<SpaceId, RegionError> {
        if self.spaces.len() >= u32::MAX as usize {
            return Err(RegionError::new(RegionErrorKind::TooMany, "more than 4294967295 spaces"));
        }
        let id = SpaceId::from_index(self.spaces.len());
        if piece_of.is_none() {
            if self.names.contains_key(&name) {
                return Err(RegionError::new(
                    RegionErrorKind::Duplicate,
                    format!("{name} is already the name of a space or region"),
                ));
            }
            self.names.insert(name.clone(), id);
        }
        let root = piece_of.and_then(|p| self.spaces[self.partitions[p.index()].parent.index()].root);
        self.spaces.push(Space {
            name,
            piece_of,
            above: Vec::new(),
            below: Vec::new(),
            apart: Vec::new(),
            partitions: Vec::new(),
            indices,
            root,
            declared,
        });
        Ok(id)
    }

    fn is_abstract_name(&self, name: &str) -> bool {
        self.names.get(name).is_some_and(|s| self.spaces[s.index()].root.is_none())
    }

    fn intern(&mut self, field: FieldId, space: SpaceId) -> RegionId {
        let next = RegionId::from_index(self.regions.len());
        let id = *self.lookup.entry((field, space)).or_insert(next);
        if id == next {
            self.regions.push((field, space));
        }
        id
    }

    fn path_root(&self, mut space: SpaceId) -> SpaceId {
        while let Some(partition) = self.spaces[space.index()].piece_of {
            space = self.partitions[partition.index()].parent;
        }
        space
    }

    /// `.blocks[3].tiles[0]` for a piece of a piece, empty for a root.
    fn piece_path(&self, space: SpaceId) -> String {
        let mut steps = Vec::new();
        let mut at = space;
        while let Some((partition, colour)) = self.piece_of(at) {
            steps.push((partition, colour));
            at = self.partitions[partition.index()].parent;
        }
        let mut path = String::new();
        for (partition, colour) in steps.into_iter().rev() {
            path.push_str(&format!(".{}[{colour}]", self.partitions[partition.index()].name));
        }
        path
    }
}

impl Regions {
    /// Whether every space around a region is a region of the same field too.
    pub(crate) fn has_containers(&self) -> bool {
        self.regions.iter().all(|&(field, space)| self.parents(space).all(|p| self.lookup.contains_key(&(field, p))))
    }

    /// Enters a region for every space around a region, under the same field.
    pub(crate) fn add_containers(&mut self) {
        let mut at = 0;
        while at < self.regions.len() {
            let (field, space) = self.regions[at];
            at += 1;
            let parents: Vec<SpaceId> = self.parents(space).collect();
            parents.into_iter().for_each(|p| {
                self.intern(field, p);
            });
        }
    }
}
