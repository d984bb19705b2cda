//! Maps between spaces: each index of one space points at a fixed number of indices of another.

use super::error::{RegionError, RegionErrorKind};
use super::index_set::{IndexSet, Run};
use super::regions::{Regions, SpaceId};

/// A total map of fixed arity from one space to another, bounds checked when built.
///
/// A mesh's edge-to-cell table is such a map; so is "my left and right neighbour" on a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexMap {
    from: SpaceId,
    to: SpaceId,
    arity: usize,
    targets: Vec<u64>,
}

impl IndexMap {
    /// Builds a map from `targets`, `arity` of them for each index of `from`, in index order.
    pub fn new(
        regions: &Regions,
        from: SpaceId,
        to: SpaceId,
        arity: usize,
        targets: Vec<u64>,
    ) -> Result<Self, RegionError> {
        let (rows, columns) = (regions.root_len(from, "a map")?, regions.root_len(to, "a map")?);
        let wanted = (rows as u128) * (arity as u128);
        if targets.len() as u128 != wanted {
            return Err(RegionError::new(
                RegionErrorKind::WrongLength,
                format!(
                    "the map from {} to {} needs {arity} targets for each of {rows} indices, that is {wanted}, and has {}",
                    regions.space_name(from),
                    regions.space_name(to),
                    targets.len()
                ),
            ));
        }
        if let Some(at) = targets.iter().position(|&t| t >= columns) {
            return Err(RegionError::new(
                RegionErrorKind::OutOfBounds,
                format!(
                    "the map from {} to {} sends index {} (entry {}) to {}, but {} has {columns} indices",
                    regions.space_name(from),
                    regions.space_name(to),
                    at / arity,
                    at % arity,
                    targets[at],
                    regions.space_name(to)
                ),
            ));
        }
        Ok(Self { from, to, arity, targets })
    }

    /// The space the map starts from.
    pub fn from(&self) -> SpaceId {
        self.from
    }

    /// The space the map points into.
    pub fn to(&self) -> SpaceId {
        self.to
    }

    /// How many targets each index has.
    pub fn arity(&self) -> usize {
        self.arity
    }

    /// Every target, `arity` for each index of the source space.
    pub fn targets(&self) -> &[u64] {
        &self.targets
    }

    /// The targets of one index.
    pub fn row(&self, index: u64) -> &[u64] {
        let start = index as usize * self.arity;
        &self.targets[start..start + self.arity]
    }

    /// Every index that some member of `set` points at.
    pub fn image(&self, set: &IndexSet) -> IndexSet {
        IndexSet::from_runs(set.iter().flat_map(|i| self.row(i).iter().map(|&t| Run { start: t, end: t + 1 })))
    }

    /// Every index that points at some member of `set`.
    pub fn preimage(&self, set: &IndexSet) -> IndexSet {
        let rows = self.targets.len().checked_div(self.arity).unwrap_or(0);
        (0..rows as u64).filter(|&i| self.row(i).iter().any(|&t| set.contains(t))).collect()
    }
}
