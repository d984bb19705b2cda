//! How good an order is.

use crate::raw::{RawMap, RawMesh};

/// Reuse is counted in blocks of this many elements, which is about what a core works on at a time.
const BLOCK: usize = 256;

/// How near the targets of one map are to each other.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MapQuality {
    /// The map.
    pub map: String,
    /// The greatest difference between the numbers of two targets of one element.
    pub bandwidth: u32,
    /// The mean, over all elements, of the difference between the highest and the lowest target.
    pub mean_distance: f64,
    /// How many times a target is used in a block of 256 consecutive elements, on average. More is better: what is
    /// used again is in the cache.
    pub reuse: f64,
}

/// The quality of each map of a mesh that is right.
pub fn quality(mesh: &RawMesh) -> Vec<MapQuality> {
    mesh.maps.iter().map(of_map).collect()
}

fn of_map(map: &RawMap) -> MapQuality {
    let (mut bandwidth, mut sum, mut rows) = (0, 0u64, 0u64);
    for row in map.rows() {
        let lowest = row.iter().min().copied().unwrap_or(0);
        let distance = row.iter().max().copied().unwrap_or(0) - lowest;
        bandwidth = bandwidth.max(distance);
        sum += u64::from(distance);
        rows += 1;
    }
    let mut distinct = 0;
    let mut targets = Vec::new();
    for block in map.table.chunks(BLOCK.saturating_mul(map.arity.max(1))) {
        targets.clear();
        targets.extend_from_slice(block);
        targets.sort_unstable();
        targets.dedup();
        distinct += targets.len();
    }
    let mean = |sum: u64, count: u64| if count == 0 { 0.0 } else { sum as f64 / count as f64 };
    MapQuality {
        map: map.name.clone(),
        bandwidth,
        mean_distance: mean(sum, rows),
        reuse: mean(map.table.len() as u64, distinct as u64),
    }
}
