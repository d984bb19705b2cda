//! From names to spaces, partitions and regions.

use rustc_hash::FxHashMap;

use super::super::error::{Code, SyntaxError};
use super::super::print::quoted;
use super::super::span::Span;
use super::super::spans::Spans;
use super::super::syntax::{Name, PartitionPath, Path, Step};
use super::scope::Scope;
use super::{Errors, Limits};
use drawloom_graph::region::regions::ABSTRACT;
use drawloom_graph::region::{IndexMap, PartitionId, RegionError, RegionId, Regions, SpaceId};

/// Everything declared so far.
pub(crate) struct Tables {
    pub(crate) regions: Regions,
    pub(crate) maps: FxHashMap<String, IndexMap>,
    pub(crate) scope: Scope,
    pub(crate) spans: Spans,
    pub(crate) errors: Errors,
    /// Mistakes in the nodes and edges of a raw graph, for when there are no others.
    pub(crate) raw_errors: Errors,
    pub(crate) limits: Limits,
    pub(crate) pieces: u64,
    pub(crate) facts: u64,
    /// Where each name was declared: spaces and abstract regions, fields, maps.
    pub(crate) declared: FxHashMap<(Sort, String), Span>,
    /// Where each partition was declared.
    pub(crate) partition_spans: Vec<Span>,
    /// All partitions of a name, for references that leave out the space.
    partitions: FxHashMap<String, Vec<PartitionId>>,
}

/// What a name stands for. Names of different sorts may be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sort {
    /// Spaces and abstract regions.
    Space,
    Field,
    Map,
}

/// What the path of a region leads to.
pub(crate) enum Found {
    Region(RegionId),
    /// Nobody declared a region of this name.
    Undeclared(String),
}

impl Tables {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            regions: Regions::new(),
            maps: FxHashMap::default(),
            scope: Scope::default(),
            spans: Spans::default(),
            errors: Errors::default(),
            raw_errors: Errors::default(),
            limits,
            pieces: 0,
            facts: 0,
            declared: FxHashMap::default(),
            partition_spans: Vec::new(),
            partitions: FxHashMap::default(),
        }
    }

    /// Notes where a name is declared, unless it is taken.
    pub(crate) fn claim(&mut self, sorts: &[Sort], name: &Name) -> Result<(), SyntaxError> {
        for sort in sorts {
            if let Some(first) = self.declared.get(&(*sort, name.value.clone())) {
                let message = format!("the name `{}` is taken", name.value.escape_debug());
                return Err(SyntaxError::new(Code::DuplicateName, message, name.span, "declared again")
                    .relate(*first, "first declared here"));
            }
        }
        self.declared.insert((sorts[0], name.value.clone()), name.span);
        Ok(())
    }

    pub(crate) fn enter_partition(&mut self, name: &Name, partition: PartitionId) {
        self.partitions.entry(name.value.clone()).or_default().push(partition);
        debug_assert_eq!(self.partition_spans.len(), partition.index(), "partitions are entered in order");
        self.partition_spans.push(name.span);
    }

    /// The root space of that name.
    pub(crate) fn root_space(&self, name: &Name) -> Result<SpaceId, SyntaxError> {
        let space = self.regions.find_space(name).filter(|s| self.regions.indices(*s).is_some());
        space.ok_or_else(|| self.unknown("space", Sort::Space, name))
    }

    pub(crate) fn map(&self, name: &Name) -> Result<&IndexMap, SyntaxError> {
        self.maps.get(&name.value).ok_or_else(|| self.unknown("map", Sort::Map, name))
    }

    fn unknown(&self, what: &str, sort: Sort, name: &Name) -> SyntaxError {
        let message = format!("no {what} `{}` is declared before this line", name.value.escape_debug());
        SyntaxError::new(Code::UnknownName, message, name.span, "unknown")
            .did_you_mean(name, self.names(sort).iter().map(String::as_str))
    }

    /// Every name of a sort, sorted so that suggestions do not depend on hashing.
    fn names(&self, sort: Sort) -> Vec<String> {
        let mut names: Vec<String> = self.declared.keys().filter(|(s, _)| *s == sort).map(|(_, n)| n.clone()).collect();
        names.sort_unstable();
        names
    }

    /// The name of a region most like the one that was written.
    pub(crate) fn nearest_region(&self, name: &str) -> Option<String> {
        let mut names = self.names(Sort::Field);
        names.extend(self.names(Sort::Space).into_iter().filter(|n| self.regions.find(n).is_some()));
        names.sort_unstable();
        super::super::error::nearest(name, names.iter().map(String::as_str)).map(str::to_owned)
    }

    /// The space or abstract region that a path leads to, for partitions.
    pub(crate) fn space(&self, path: &Path) -> Result<SpaceId, SyntaxError> {
        // A region that is only mentioned in a fact is in the table, and not declared.
        let declared = self.declared.contains_key(&(Sort::Space, path.base.value.clone()));
        match self.regions.find_space(&path.base).filter(|_| declared) {
            Some(space) => self.walk(space, path),
            None if self.regions.find_field(&path.base).is_some() => {
                let (span, field) = (path.base.span, &path.base.value);
                let error = SyntaxError::new(
                    Code::UnknownName,
                    format!("`{}` is a field, and partitions cut spaces", field.escape_debug()),
                    span,
                    "a field",
                );
                let space = self.regions.find_field(field).and_then(|f| self.regions.field_space(f));
                Err(match space.map(|s| quoted(&self.regions.space_name(s)).into_owned()) {
                    Some(space) => error.suggest(format!("cut its space, `{space}`"), span, space),
                    None => error,
                })
            }
            None => Err(self.unknown("space or region", Sort::Space, &path.base)),
        }
    }

    /// The region that a path leads to, entered in the table when it is new there.
    pub(crate) fn region(&mut self, path: &Path) -> Result<Found, SyntaxError> {
        if let Some(field) = self.regions.find_field(&path.base) {
            let root = self.regions.field_space(field).expect("a field with a name has a space");
            let space = self.walk(root, path)?;
            let region = self.regions.region(field, space).map_err(|e| refused(&e, path.span()))?;
            self.note_region(region, space, path);
            return Ok(Found::Region(region));
        }
        match self.regions.find_space(&path.base) {
            Some(space) if self.regions.indices(space).is_some() => {
                let name = path.base.escape_debug();
                let message = format!("`{name}` is a space, and tasks access fields over it");
                let error = SyntaxError::new(Code::UnknownName, message, path.base.span, "a space");
                let field = self.regions.fields().find(|f| self.regions.field_space(*f) == Some(space));
                Err(match field.map(|f| quoted(self.regions.field_name(f)).into_owned()) {
                    Some(field) => error.suggest(format!("name a field, such as `{field}`"), path.base.span, field),
                    None => error.help(format!("declare one first: field NAME on {name}")),
                })
            }
            Some(root) if self.declared.contains_key(&(Sort::Space, path.base.value.clone())) => {
                let space = self.walk(root, path)?;
                let region = self.regions.region(ABSTRACT, space).map_err(|e| refused(&e, path.span()))?;
                self.note_region(region, space, path);
                Ok(Found::Region(region))
            }
            _ => Ok(Found::Undeclared(self.written(path)?)),
        }
    }

    /// The region that a path leads to. One that nobody declared is entered as such, and left to rules RG1 and RG2.
    pub(crate) fn region_or_undeclared(&mut self, path: &Path) -> Result<RegionId, SyntaxError> {
        Ok(match self.region(path)? {
            Found::Region(region) => region,
            // A quoted name may look like the path of a piece and be the name of a space.
            Found::Undeclared(name)
                if self.regions.find_space(&name).is_some_and(|s| self.regions.indices(s).is_some()) =>
            {
                let message = format!("`{}` is a space, and tasks access fields over it", name.escape_debug());
                return Err(SyntaxError::new(Code::UnknownName, message, path.span(), "a space"));
            }
            Found::Undeclared(name) => {
                let region = self.regions.abstract_region_or_undeclared(&name);
                if self.spans.region(region).is_none() {
                    self.spans.set_region(region, path.span());
                }
                region
            }
        })
    }

    /// The place where a region was declared: its own, or its partition's.
    fn note_region(&mut self, region: RegionId, space: SpaceId, path: &Path) {
        if self.spans.region(region).is_some() {
            return;
        }
        let span = match self.regions.piece_of(space) {
            Some((partition, _)) => self.partition_spans.get(partition.index()).copied(),
            None => [Sort::Field, Sort::Space]
                .into_iter()
                .find_map(|sort| self.declared.get(&(sort, path.base.value.clone())).copied()),
        };
        if let Some(span) = span {
            self.spans.set_region(region, span);
        }
    }

    /// A path with its numbers worked out: the name of a region that nobody declared.
    fn written(&self, path: &Path) -> Result<String, SyntaxError> {
        let mut name = path.base.value.clone();
        for Step { partition, piece } in &path.steps {
            name.push_str(&format!(".{}[{}]", partition.value, self.scope.value(piece)?));
        }
        Ok(name)
    }

    /// Follows the steps of a path from its first space.
    fn walk(&self, root: SpaceId, path: &Path) -> Result<SpaceId, SyntaxError> {
        let mut space = root;
        for Step { partition: name, piece } in &path.steps {
            let partition = self.partition_of(space, name)?;
            let count = self.regions.piece_count(partition);
            let value = self.scope.value(piece)?;
            let Some(colour) = u32::try_from(value).ok().filter(|c| *c < count) else {
                return Err(self.no_such_piece(piece, value, partition, count));
            };
            space = self.regions.piece(partition, colour);
        }
        Ok(space)
    }

    fn partition_of(&self, space: SpaceId, name: &Name) -> Result<PartitionId, SyntaxError> {
        self.regions.find_partition(space, name).ok_or_else(|| {
            let (partition, of) = (name.value.escape_debug(), self.regions.space_name(space));
            let error = SyntaxError::new(
                Code::UnknownName,
                format!("{of} has no partition `{partition}` before this line"),
                name.span,
                "unknown",
            );
            let others: Vec<&str> =
                self.regions.partitions_of(space).iter().map(|p| self.regions.partition_name(*p)).collect();
            error.did_you_mean(name, others)
        })
    }

    fn no_such_piece(
        &self,
        piece: &super::super::syntax::Expression,
        value: i128,
        partition: PartitionId,
        count: u32,
    ) -> SyntaxError {
        let space = self.regions.space_name(self.regions.partition_parent(partition));
        let name = self.regions.partition_name(partition);
        let has = match count {
            0 => "no piece".to_owned(),
            1 => "one piece, number 0".to_owned(),
            _ => format!("{count} pieces, 0 to {}", count - 1),
        };
        let values = self.scope.values_in(piece);
        let label = if values.is_empty() { format!("no piece {value}") } else { format!("{value} when {values}") };
        let message = format!("{space}.{name} has {has}, and no piece {value}");
        SyntaxError::new(Code::OutOfRange, message, piece.span, label)
    }

    /// The partition that a reference means. Without a space it is looked for in `near` first, then everywhere.
    pub(crate) fn partition(&self, path: &PartitionPath, near: SpaceId) -> Result<PartitionId, SyntaxError> {
        if let Some(of) = &path.of {
            return self.partition_of(self.space(of)?, &path.name);
        }
        if let Some(partition) = self.regions.find_partition(near, &path.name) {
            return Ok(partition);
        }
        let name = path.name.value.escape_debug();
        match self.partitions.get(&path.name.value).map_or(&[][..], |p| p) {
            [partition] => Ok(*partition),
            [] => {
                let mut names: Vec<&str> = self.partitions.keys().map(String::as_str).collect();
                names.sort_unstable();
                let message = format!("no partition `{name}` is declared before this line");
                Err(SyntaxError::new(Code::UnknownName, message, path.name.span, "unknown")
                    .did_you_mean(&path.name, names))
            }
            [first, ..] => {
                let space = self.regions.space_name(self.regions.partition_parent(*first));
                Err(SyntaxError::new(
                    Code::UnknownName,
                    format!("several spaces have a partition `{name}`"),
                    path.name.span,
                    "which one?",
                )
                .help(format!("name the space too, as in `{space}.{name}`")))
            }
        }
    }
}

impl Path {
    /// Where the whole path was written.
    pub(crate) fn span(&self) -> Span {
        self.steps.last().map_or(self.base.span, |s| self.base.span.to(s.piece.span))
    }
}

/// A description of regions that cannot be.
pub(crate) fn refused(error: &RegionError, span: Span) -> SyntaxError {
    SyntaxError::new(Code::RegionRefused, error.to_string(), span, "refused")
}
