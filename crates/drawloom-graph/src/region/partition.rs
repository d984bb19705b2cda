//! Constructors of partitions. Disjointness and completeness are computed, with the index that proves them wrong.

use std::sync::Arc;

use super::error::{RegionError, RegionErrorKind};
use super::index_map::IndexMap;
use super::index_set::{IndexSet, Run};
use super::regions::{Partition, PartitionId, Regions, SpaceId};

/// How to cut a space into pieces.
#[derive(Clone, Debug)]
pub struct Pieces<'a>(Cut<'a>);

#[derive(Clone, Debug)]
enum Cut<'a> {
    Equal(u32),
    Colours(&'a [u32]),
    Lists(Vec<IndexSet>),
    Image(PartitionId, &'a IndexMap),
    Preimage(PartitionId, &'a IndexMap),
    Combine(Combination, PartitionId, PartitionId),
    Halo(PartitionId, u64),
    MapHalo(PartitionId, &'a IndexMap),
    Declared { count: u32, disjoint: bool, complete: bool },
}

#[derive(Clone, Copy, Debug)]
enum Combination {
    Union,
    Intersection,
    Difference,
}

impl<'a> Pieces<'a> {
    /// `count` consecutive blocks whose sizes differ by at most one; the first blocks are the larger ones.
    pub fn equal(count: u32) -> Self {
        Self(Cut::Equal(count))
    }

    /// One colour for each index of the space, in index order. Pieces are `0..=max`; a colour may be unused.
    pub fn colours(colours: &'a [u32]) -> Self {
        Self(Cut::Colours(colours))
    }

    /// The given index sets, which may overlap and may leave indices out.
    pub fn lists(lists: impl IntoIterator<Item = IndexSet>) -> Self {
        Self(Cut::Lists(lists.into_iter().collect()))
    }

    /// Piece `i` holds every index that `map` reaches from piece `i` of a partition of the map's source.
    pub fn image(of: PartitionId, map: &'a IndexMap) -> Self {
        Self(Cut::Image(of, map))
    }

    /// Piece `i` holds every index from which `map` reaches piece `i` of a partition of the map's target.
    pub fn preimage(of: PartitionId, map: &'a IndexMap) -> Self {
        Self(Cut::Preimage(of, map))
    }

    /// Piece by piece, the indices in either partition.
    pub fn union(a: PartitionId, b: PartitionId) -> Self {
        Self(Cut::Combine(Combination::Union, a, b))
    }

    /// Piece by piece, the indices in both partitions.
    pub fn intersection(a: PartitionId, b: PartitionId) -> Self {
        Self(Cut::Combine(Combination::Intersection, a, b))
    }

    /// Piece by piece, the indices of the first partition that the second lacks.
    pub fn difference(a: PartitionId, b: PartitionId) -> Self {
        Self(Cut::Combine(Combination::Difference, a, b))
    }

    /// Piece `i` holds the indices within `width` of piece `i` of a partition of the same space, and outside it.
    pub fn halo(of: PartitionId, width: u64) -> Self {
        Self(Cut::Halo(of, width))
    }

    /// Piece `i` holds the indices that `map` reaches from piece `i` and that lie outside it: the ghost cells of a mesh.
    pub fn halo_through(of: PartitionId, map: &'a IndexMap) -> Self {
        Self(Cut::MapHalo(of, map))
    }

    /// `count` pieces whose indices are not known, with properties taken on trust.
    pub fn declared(count: u32, disjoint: bool, complete: bool) -> Self {
        Self(Cut::Declared { count, disjoint, complete })
    }
}

/// How the pieces of a partition cover their space, with witnesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// Whether no two pieces share an index.
    pub disjoint: bool,
    /// Whether every index of the space is in some piece.
    pub complete: bool,
    /// Two colours and an index they share, when the pieces are known to overlap.
    pub shared: Option<(u32, u32, u64)>,
    /// An index of the space that no piece holds, when one is known.
    pub missing: Option<u64>,
}

impl Regions {
    /// Cuts a space into pieces. The pieces are spaces with consecutive ids.
    pub fn partition(
        &mut self,
        name: impl Into<String>,
        of: SpaceId,
        pieces: Pieces<'_>,
    ) -> Result<PartitionId, RegionError> {
        let name = name.into();
        if self.find_partition(of, &name).is_some() {
            return Err(RegionError::new(
                RegionErrorKind::Duplicate,
                format!("{} already has a partition {name}", self.space_name(of)),
            ));
        }
        if let Cut::Declared { count, disjoint, complete } = pieces.0 {
            return self.push_partition(name, of, count, |_| None, disjoint, complete);
        }
        let mut sets = self.cut(&name, of, pieces.0)?;
        let parent = self.indices_of(of)?;
        if let Some((colour, index)) =
            sets.iter().enumerate().find_map(|(c, set)| Some((c, parent.first_missing(set)?)))
        {
            return Err(RegionError::new(
                RegionErrorKind::OutOfBounds,
                format!("piece {colour} of {name} holds index {index}, which is not in {}", self.space_name(of)),
            ));
        }
        let coverage = coverage(&parent, &sets);
        let count = u32::try_from(sets.len())
            .map_err(|_| RegionError::new(RegionErrorKind::TooMany, format!("{name} has too many pieces")))?;
        self.push_partition(
            name,
            of,
            count,
            |c| Some(Arc::new(std::mem::take(&mut sets[c]))),
            coverage.disjoint,
            coverage.complete,
        )
    }

    /// Whether the pieces of a partition overlap or leave something out, and where.
    pub fn coverage(&self, partition: PartitionId) -> Coverage {
        let p = &self.partitions[partition.index()];
        let sets: Option<Vec<IndexSet>> =
            (0..p.count).map(|c| self.indices(self.piece(partition, c)).cloned()).collect();
        match (sets, self.indices(p.parent)) {
            (Some(sets), Some(parent)) => coverage(parent, &sets),
            _ => Coverage { disjoint: p.disjoint, complete: p.complete, shared: None, missing: None },
        }
    }

    fn push_partition(
        &mut self,
        name: String,
        of: SpaceId,
        count: u32,
        mut indices: impl FnMut(usize) -> Option<Arc<IndexSet>>,
        disjoint: bool,
        complete: bool,
    ) -> Result<PartitionId, RegionError> {
        if self.spaces.len() + count as usize >= u32::MAX as usize {
            return Err(RegionError::new(RegionErrorKind::TooMany, format!("{name} has too many pieces")));
        }
        let id = PartitionId::from_index(self.partitions.len());
        let first = SpaceId::from_index(self.spaces.len());
        self.partitions.push(Partition { name, parent: of, first, count, disjoint, complete });
        for colour in 0..count as usize {
            self.push_space(String::new(), Some(id), indices(colour), true)?;
        }
        self.spaces[of.index()].partitions.push(id);
        Ok(id)
    }

    fn indices_of(&self, space: SpaceId) -> Result<Arc<IndexSet>, RegionError> {
        self.spaces[space.index()].indices.clone().ok_or_else(|| {
            RegionError::new(
                RegionErrorKind::UnknownIndices,
                format!("the indices of {} are not known, so its pieces can only be declared", self.space_name(space)),
            )
        })
    }

    fn piece_sets(&self, partition: PartitionId) -> Result<Vec<Arc<IndexSet>>, RegionError> {
        (0..self.piece_count(partition)).map(|c| self.indices_of(self.piece(partition, c))).collect()
    }

    fn cut(&self, name: &str, of: SpaceId, cut: Cut<'_>) -> Result<Vec<IndexSet>, RegionError> {
        let parent = self.indices_of(of)?;
        Ok(match cut {
            Cut::Equal(count) => equal(&parent, count),
            Cut::Colours(colours) => {
                if colours.len() as u64 != parent.len() {
                    return Err(RegionError::new(
                        RegionErrorKind::WrongLength,
                        format!(
                            "{name} needs one colour for each of the {} indices of {}, and has {}",
                            parent.len(),
                            self.space_name(of),
                            colours.len()
                        ),
                    ));
                }
                by_colour(name, &parent, colours)?
            }
            Cut::Lists(lists) => lists,
            Cut::Image(source, map) => {
                self.expect_root(name, source, map.from())?;
                self.expect_same_root(name, of, map.to())?;
                self.piece_sets(source)?.iter().map(|s| map.image(s).intersection(&parent)).collect()
            }
            Cut::Preimage(target, map) => {
                self.expect_root(name, target, map.to())?;
                self.expect_same_root(name, of, map.from())?;
                self.piece_sets(target)?.iter().map(|s| map.preimage(s).intersection(&parent)).collect()
            }
            Cut::Combine(how, a, b) => {
                let (a, b) = (self.piece_sets(a)?, self.piece_sets(b)?);
                if a.len() != b.len() {
                    return Err(RegionError::new(
                        RegionErrorKind::WrongLength,
                        format!("{name} combines a partition of {} pieces with one of {}", a.len(), b.len()),
                    ));
                }
                a.iter()
                    .zip(&b)
                    .map(|(a, b)| match how {
                        Combination::Union => a.union(b),
                        Combination::Intersection => a.intersection(b),
                        Combination::Difference => a.difference(b),
                    })
                    .collect()
            }
            Cut::Halo(inner, width) => self
                .piece_sets(inner)?
                .iter()
                .map(|set| {
                    let grown = IndexSet::from_runs(
                        set.runs()
                            .iter()
                            .map(|r| Run { start: r.start.saturating_sub(width), end: r.end.saturating_add(width) }),
                    );
                    grown.intersection(&parent).difference(set)
                })
                .collect(),
            Cut::MapHalo(inner, map) => {
                self.expect_root(name, inner, map.from())?;
                self.expect_same_root(name, of, map.to())?;
                self.piece_sets(inner)?.iter().map(|set| map.image(set).intersection(&parent).difference(set)).collect()
            }
            Cut::Declared { .. } => unreachable!("declared pieces have no index sets and are handled by the caller"),
        })
    }

    fn expect_root(&self, name: &str, partition: PartitionId, space: SpaceId) -> Result<(), RegionError> {
        self.expect_same_root(name, self.partition_parent(partition), space)
    }

    fn expect_same_root(&self, name: &str, space: SpaceId, root: SpaceId) -> Result<(), RegionError> {
        if self.spaces[space.index()].root == Some(root) {
            return Ok(());
        }
        Err(RegionError::new(
            RegionErrorKind::WrongSpace,
            format!("{name} uses a map of {}, and {} lies elsewhere", self.space_name(root), self.space_name(space)),
        ))
    }
}

/// Consecutive blocks of a set, by rank, so that a set with gaps is cut evenly too.
fn equal(set: &IndexSet, count: u32) -> Vec<IndexSet> {
    let (len, count) = (set.len(), u64::from(count));
    let mut pieces = Vec::with_capacity(count as usize);
    let mut runs = set.runs().iter().copied();
    let mut rest: Option<Run> = runs.next();
    for colour in 0..count {
        let mut wanted = len / count + u64::from(colour < len % count);
        let mut piece = Vec::new();
        while wanted > 0 {
            let run = rest.expect("the block sizes add up to the size of the set");
            let end = run.end.min(run.start + wanted);
            piece.push(Run { start: run.start, end });
            wanted -= end - run.start;
            rest = if end < run.end { Some(Run { start: end, end: run.end }) } else { runs.next() };
        }
        pieces.push(IndexSet::from_runs(piece));
    }
    pieces
}

fn by_colour(name: &str, set: &IndexSet, colours: &[u32]) -> Result<Vec<IndexSet>, RegionError> {
    let count = colours.iter().max().map_or(0, |&c| c as usize + 1);
    // A stray huge colour would otherwise allocate a table for it.
    if count > 16 * colours.len() + 1024 {
        return Err(RegionError::new(
            RegionErrorKind::TooMany,
            format!("{name} has colour {} for only {} indices; number the colours from 0", count - 1, colours.len()),
        ));
    }
    let mut runs: Vec<Vec<Run>> = vec![Vec::new(); count];
    for (index, &colour) in set.iter().zip(colours) {
        match runs[colour as usize].last_mut() {
            Some(run) if run.end == index => run.end += 1,
            _ => runs[colour as usize].push(Run { start: index, end: index + 1 }),
        }
    }
    Ok(runs.into_iter().map(IndexSet::from_runs).collect())
}

/// One sweep over all runs of all pieces, sorted: an overlap is a run that starts before an earlier one ended.
fn coverage(parent: &IndexSet, pieces: &[IndexSet]) -> Coverage {
    let mut runs: Vec<(Run, u32)> =
        pieces.iter().enumerate().flat_map(|(c, set)| set.runs().iter().map(move |&r| (r, c as u32))).collect();
    runs.sort_unstable();
    let mut shared = None;
    let mut furthest: Option<(u64, u32)> = None;
    for &(run, colour) in &runs {
        if let Some((end, other)) = furthest
            && run.start < end
            && shared.is_none()
        {
            shared = Some((other.min(colour), other.max(colour), run.start));
        }
        if furthest.is_none_or(|(end, _)| run.end > end) {
            furthest = Some((run.end, colour));
        }
    }
    let all = IndexSet::from_runs(runs.into_iter().map(|(r, _)| r));
    let missing = all.first_missing(parent);
    Coverage { disjoint: shared.is_none(), complete: missing.is_none(), shared, missing }
}
