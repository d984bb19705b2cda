//! Whether some regions together hold everything that another region holds.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::region::{IndexSet, PartitionId, RegionId, Regions, SpaceId};

/// Whether every element of `whole` surely lies in one of the `parts`.
///
/// A part that contains the whole settles it. Otherwise pieces that fill a complete partition stand for the space it
/// cuts, level by level, and where indices are known their union decides. Parts of other fields never count. The cost is
/// linear in the parts, times the depth of the region tree, plus one merge of index sets.
pub(crate) fn covers(regions: &Regions, whole: RegionId, parts: &[RegionId]) -> bool {
    let field = regions.raw_field(whole);
    let target = regions.space_of(whole);
    let mut held: Vec<SpaceId> = Vec::new();
    for &part in parts {
        if regions.is_subregion(whole, part) {
            return true;
        }
        if regions.raw_field(part) == field {
            held.push(regions.space_of(part));
        }
    }
    held.sort_unstable();
    held.dedup();
    fills(regions, target, held.clone()) || unites(regions, target, &held)
}

/// Climbs from full partitions to the spaces they cut.
fn fills(regions: &Regions, target: SpaceId, mut todo: Vec<SpaceId>) -> bool {
    let mut missing: FxHashMap<PartitionId, u32> = FxHashMap::default();
    // A space may be filled by several partitions; counting it twice would hide a missing neighbour.
    let mut seen: FxHashSet<SpaceId> = FxHashSet::default();
    while let Some(space) = todo.pop() {
        if space == target {
            return true;
        }
        let Some((partition, _)) = regions.piece_of(space) else { continue };
        if !regions.is_complete(partition) || !seen.insert(space) {
            continue;
        }
        let left = missing.entry(partition).or_insert_with(|| regions.piece_count(partition));
        *left -= 1;
        if *left == 0 {
            todo.push(regions.partition_parent(partition));
        }
    }
    false
}

fn unites(regions: &Regions, target: SpaceId, held: &[SpaceId]) -> bool {
    let Some(whole) = regions.indices(target) else { return false };
    let runs = held.iter().filter_map(|s| regions.indices(*s)).flat_map(|set| set.runs().iter().copied());
    IndexSet::from_runs(runs).contains_set(whole)
}
