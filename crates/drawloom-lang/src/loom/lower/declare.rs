//! Declarations fill the table of regions.

use super::super::error::{Code, SyntaxError};
use super::super::span::{Span, Spanned};
use super::super::syntax::{Combination, Cut, Entry, Literal, Name, Path, Statement, Through};
use super::resolve::{Sort, Tables, refused};
use drawloom_graph::region::{IndexMap, IndexSet, PartitionId, Pieces, RegionId, Run, SpaceId};

type Declared = Result<(), SyntaxError>;

impl Tables {
    /// Enters one declaration. Statements that declare nothing are ignored.
    pub(super) fn declare(&mut self, statement: &Spanned<Statement>) -> Declared {
        match &statement.value {
            Statement::Let { name, value } => {
                let value = self.scope.value(value)?;
                self.scope.declare(name, value)
            }
            Statement::Space { name, length } => {
                let length = self.scope.value_in(length, 0, u64::MAX, "the length of a space")?;
                self.claim(&[Sort::Space], name)?;
                self.regions.space(name.value.clone(), length).map_err(|e| refused(&e, name.span))?;
                Ok(())
            }
            Statement::Field { names, space } => {
                let space = self.root_space(space)?;
                names.iter().try_for_each(|name| {
                    self.claim(&[Sort::Field], name)?;
                    self.regions.field(name.value.clone(), space).map_err(|e| refused(&e, name.span))?;
                    Ok(())
                })
            }
            Statement::Region { names, inside } => self.declare_regions(names, inside.as_ref()),
            Statement::Subregion { child, parent } => {
                let (c, p) = (self.region_or_undeclared(child)?, self.region_or_undeclared(parent)?);
                self.state_inside(c, p, child.span().to(parent.span()))
            }
            Statement::Disjoint(regions) => self.declare_disjoint(regions, statement.span),
            Statement::Map { name, from, to, arity, targets } => {
                let (from, to) = (self.root_space(from)?, self.root_space(to)?);
                self.claim(&[Sort::Map], name)?;
                let too_large =
                    || SyntaxError::new(Code::OutOfRange, "the arity of the map is too large", arity.span, "too large");
                let arity = u32::try_from(arity.value.value).map_err(|_| too_large())?;
                let targets = targets.iter().map(|t| t.value).collect();
                let map = IndexMap::new(&self.regions, from, to, arity as usize, targets)
                    .map_err(|e| refused(&e, statement.span))?;
                self.maps.insert(name.value.clone(), map);
                Ok(())
            }
            Statement::Partition { name, of, pieces } => self.declare_partition(name, of, pieces),
            _ => Ok(()),
        }
    }

    fn declare_regions(&mut self, names: &[Name], inside: Option<&Path>) -> Declared {
        let mut children = Vec::with_capacity(names.len());
        for name in names {
            self.claim(&[Sort::Space, Sort::Field], name)?;
            let region = self.regions.abstract_region(name.value.clone()).map_err(|e| refused(&e, name.span))?;
            self.spans.set_region(region, name.span);
            children.push(region);
        }
        let Some(inside) = inside else { return Ok(()) };
        let parent = self.region_or_undeclared(inside)?;
        children.into_iter().zip(names).try_for_each(|(child, name)| self.state_inside(child, parent, name.span))
    }

    fn declare_disjoint(&mut self, paths: &[Path], span: Span) -> Declared {
        let pairs = (paths.len() as u64).saturating_mul(paths.len() as u64 - 1) / 2;
        self.count_facts(pairs, span)?;
        let regions = paths.iter().map(|p| self.region_or_undeclared(p)).collect::<Result<Vec<RegionId>, _>>()?;
        for (at, a) in regions.iter().enumerate() {
            for (b, path) in regions.iter().zip(paths).skip(at + 1) {
                let place = paths[at].span().to(path.span());
                self.expect_one_field(*a, *b, place)?;
                let (x, y) = (self.regions.space_of(*a), self.regions.space_of(*b));
                if let (Some(x), Some(y)) = (self.regions.indices(x), self.regions.indices(y))
                    && let Some(index) = x.first_common(y)
                {
                    let (a, b) = (self.regions.name(*a), self.regions.name(*b));
                    let message = format!("{a} and {b} are not disjoint: both hold index {index}");
                    return Err(SyntaxError::new(Code::RegionRefused, message, place, "not so"));
                }
                self.regions.add_disjoint(*a, *b);
            }
        }
        Ok(())
    }

    fn state_inside(&mut self, child: RegionId, parent: RegionId, span: Span) -> Declared {
        self.count_facts(1, span)?;
        self.expect_one_field(child, parent, span)?;
        let (c, p) = (self.regions.space_of(child), self.regions.space_of(parent));
        if let (Some(inner), Some(outer)) = (self.regions.indices(c), self.regions.indices(p))
            && let Some(index) = outer.first_missing(inner)
        {
            let (c, p) = (self.regions.name(child), self.regions.name(parent));
            let message = format!("{c} does not lie in {p}: it holds index {index}, which {p} lacks");
            return Err(SyntaxError::new(Code::RegionRefused, message, span, "not so"));
        }
        self.regions.add_subregion(child, parent);
        Ok(())
    }

    fn count_facts(&mut self, count: u64, span: Span) -> Declared {
        self.facts = self.facts.saturating_add(count);
        if self.facts > self.limits.facts {
            let message = format!("more than {} facts about regions", self.limits.facts);
            return Err(SyntaxError::new(Code::OutOfRange, message, span, "one fact for each pair of regions")
                .help("declare the regions as pieces of a disjoint partition instead"));
        }
        Ok(())
    }

    /// Facts relate regions that could alias; different fields never do.
    fn expect_one_field(&self, a: RegionId, b: RegionId, span: Span) -> Declared {
        if self.regions.field_of(a) == self.regions.field_of(b) {
            return Ok(());
        }
        let (a, b) = (self.regions.name(a), self.regions.name(b));
        let message = format!("{a} and {b} belong to different fields, which never share data");
        Err(SyntaxError::new(Code::RegionRefused, message, span, "nothing to state"))
    }

    fn declare_partition(&mut self, name: &Name, of: &Path, cut: &Spanned<Cut>) -> Declared {
        let space = self.space(of)?;
        if let Some(first) = self.regions.find_partition(space, name) {
            let (space, partition) = (self.regions.space_name(space), name.escape_debug());
            let message = format!("{space} already has a partition `{partition}`");
            return Err(SyntaxError::new(Code::DuplicateName, message, name.span, "declared again")
                .relate(self.partition_spans[first.index()], "first declared here"));
        }
        let partition = self.cut(name, space, cut)?;
        self.enter_partition(name, partition);
        Ok(())
    }

    fn cut(&mut self, name: &Name, space: SpaceId, cut: &Spanned<Cut>) -> Result<PartitionId, SyntaxError> {
        let span = cut.span;
        let colours: Vec<u32>;
        let map: IndexMap;
        let (pieces, count) = match &cut.value {
            Cut::Equal(count) => {
                let count = self.scope.value_in(count, 1, u64::from(u32::MAX), "the number of pieces")?;
                (Pieces::equal(count as u32), count)
            }
            Cut::Declared { count, disjoint, complete } => {
                let count = self.scope.value_in(count, 0, u64::from(u32::MAX), "the number of pieces")?;
                (Pieces::declared(count as u32, *disjoint, *complete), count)
            }
            Cut::Colours(list) => {
                colours = list.iter().map(|c| colour(c, span)).collect::<Result<_, _>>()?;
                let count = colours.iter().max().map_or(0, |c| u64::from(*c) + 1);
                (Pieces::colours(&colours), count)
            }
            Cut::Lists(lists) => {
                let sets = lists.iter().map(|l| index_set(l, span)).collect::<Result<Vec<_>, _>>()?;
                let count = sets.len() as u64;
                (Pieces::lists(sets), count)
            }
            Cut::Through(how, of, through) => {
                map = self.map(through)?.clone();
                let near = match how {
                    Through::Image => map.from(),
                    Through::Preimage => map.to(),
                    Through::Halo => space,
                };
                let of = self.partition(of, near)?;
                let pieces = match how {
                    Through::Image => Pieces::image(of, &map),
                    Through::Preimage => Pieces::preimage(of, &map),
                    Through::Halo => Pieces::halo_through(of, &map),
                };
                (pieces, self.count(of))
            }
            Cut::Halo(of, width) => {
                let of = self.partition(of, space)?;
                let width = self.scope.value_in(width, 0, u64::MAX, "the width of a halo")?;
                self.expect_same_root(space, of, span)?;
                (Pieces::halo(of, width), self.count(of))
            }
            Cut::Combine(how, a, b) => {
                let (a, b) = (self.partition(a, space)?, self.partition(b, space)?);
                self.expect_same_root(space, a, span)?;
                self.expect_same_root(space, b, span)?;
                let pieces = match how {
                    Combination::Union => Pieces::union(a, b),
                    Combination::Intersection => Pieces::intersection(a, b),
                    Combination::Difference => Pieces::difference(a, b),
                };
                (pieces, self.count(a))
            }
        };
        self.count_pieces(name, space, count, &cut.value, span)?;
        self.regions.partition(name.value.clone(), space, pieces).map_err(|e| refused(&e, span))
    }

    fn count(&self, partition: PartitionId) -> u64 {
        u64::from(self.regions.piece_count(partition))
    }

    /// Indices of different spaces mean different things, even when the numbers are equal.
    fn expect_same_root(&self, space: SpaceId, partition: PartitionId, span: Span) -> Declared {
        let root = |mut s: SpaceId| {
            while let Some((p, _)) = self.regions.piece_of(s) {
                s = self.regions.partition_parent(p);
            }
            s
        };
        let other = self.regions.partition_parent(partition);
        if root(space) == root(other) {
            return Ok(());
        }
        let (name, space) = (self.regions.partition_name(partition), self.regions.space_name(space));
        let message = format!("{name} cuts {}, which is not part of {space}", self.regions.space_name(other));
        Err(SyntaxError::new(Code::RegionRefused, message, span, "refused"))
    }

    fn count_pieces(&mut self, name: &Name, space: SpaceId, count: u64, cut: &Cut, span: Span) -> Declared {
        self.pieces = self.pieces.saturating_add(count);
        let name = name.value.escape_debug();
        if self.pieces > self.limits.pieces {
            let message = format!(
                "with the {count} pieces of `{name}` the partitions have {} pieces, and at most {} can be read",
                self.pieces, self.limits.pieces
            );
            return Err(SyntaxError::new(Code::OutOfRange, message, span, "too many pieces"));
        }
        let runs = self.regions.indices(space).map_or(0, |set| set.runs().len() as u64);
        // The preimage looks at the whole map for each piece.
        let rows = match cut {
            Cut::Through(Through::Preimage, _, map) => {
                self.maps.get(&map.value).map_or(0, |m| m.targets().len() as u64)
            }
            _ => 0,
        };
        if count.saturating_mul(runs.max(rows)) > self.limits.comparisons {
            let message = format!("`{name}` has {count} pieces, each compared with {} runs of indices", runs.max(rows));
            return Err(SyntaxError::new(Code::OutOfRange, message, span, "this would take too long"));
        }
        Ok(())
    }
}

fn colour(literal: &Literal, span: Span) -> Result<u32, SyntaxError> {
    u32::try_from(literal.value).map_err(|_| {
        let message = format!("colour {} is too large", literal.value);
        SyntaxError::new(Code::OutOfRange, message, span, format!("the largest colour is {}", u32::MAX))
    })
}

/// The indices of one list. The last index that exists is `u64::MAX - 1`, so that every range has an end.
fn index_set(entries: &[Entry], span: Span) -> Result<IndexSet, SyntaxError> {
    let mut runs = Vec::with_capacity(entries.len());
    for Entry { start, end } in entries {
        let end = match end {
            Some(end) if end.value < start.value => {
                let message = format!("the range {start}..{end} ends before it starts");
                return Err(SyntaxError::new(Code::OutOfRange, message, span, "in these lists"));
            }
            Some(end) => end.value,
            None => start.value.checked_add(1).ok_or_else(|| {
                let message = format!("index {start} lies in no space");
                SyntaxError::new(Code::OutOfRange, message, span, "in these lists")
            })?,
        };
        runs.push(Run { start: start.value, end });
    }
    Ok(IndexSet::from_runs(runs))
}
