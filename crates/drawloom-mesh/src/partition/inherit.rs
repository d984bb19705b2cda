//! Owners in the sets that were not divided themselves.

use super::Partition;
use crate::raw::{Inverse, RawMesh};

/// The owners in all sets, given those in one. Set after set, along the maps: an element belongs to the part that owns
/// most of its targets, or if the map leads the other way, most of those that lead to it. Of several such parts, it is the
/// one that comes first among them. Elements that nothing connects are dealt out evenly.
pub(super) fn inherit(mesh: &RawMesh, primary: &str, parts: usize, owners: Vec<u32>) -> Partition {
    let number = |name: &str| mesh.sets.iter().position(|set| set.name == name);
    let mut all: Vec<Option<Vec<u32>>> = mesh.sets.iter().map(|_| None).collect();
    if let Some(primary) = number(primary) {
        all[primary] = Some(owners);
    }
    loop {
        // The next set is the first one that a map connects; all maps that connect it are counted.
        let connected = mesh.maps.iter().find_map(|map| {
            let (from, to) = (number(&map.from)?, number(&map.to)?);
            match (&all[from], &all[to]) {
                (None, Some(_)) => Some(from),
                (Some(_), None) => Some(to),
                _ => None,
            }
        });
        let Some(next) = connected else { break };
        let mut votes = Votes::default();
        let neighbours = Neighbours::of(mesh, next, &all, number);
        let size = mesh.sets[next].size;
        let owner = |element| votes.winner(&neighbours, element).unwrap_or_else(|| dealt(element, size, parts));
        let found = (0..size).map(owner).collect();
        all[next] = Some(found);
    }
    let sets = mesh.sets.iter().zip(all).map(|(set, found)| {
        let owners = found.unwrap_or_else(|| (0..set.size).map(|element| dealt(element, set.size, parts)).collect());
        (set.name.clone(), owners)
    });
    Partition::new(primary, parts, sets.collect())
}

/// The owner of an element of a set that is dealt out evenly.
fn dealt(element: usize, size: usize, parts: usize) -> u32 {
    (element as u64 * parts as u64 / size.max(1) as u64) as u32
}

/// The maps between a set and those whose owners are known.
struct Neighbours<'a> {
    forward: Vec<(&'a crate::raw::RawMap, &'a [u32])>,
    backward: Vec<(Inverse, &'a [u32])>,
}

impl<'a> Neighbours<'a> {
    fn of(mesh: &'a RawMesh, set: usize, all: &'a [Option<Vec<u32>>], number: impl Fn(&str) -> Option<usize>) -> Self {
        let mut neighbours = Self { forward: vec![], backward: vec![] };
        for map in &mesh.maps {
            let (Some(from), Some(to)) = (number(&map.from), number(&map.to)) else { continue };
            if from == set
                && let Some(owners) = &all[to]
            {
                neighbours.forward.push((map, owners));
            } else if to == set
                && let Some(owners) = &all[from]
            {
                neighbours.backward.push((Inverse::of(map, mesh.sets[to].size), owners));
            }
        }
        neighbours
    }
}

/// More votes than this are sorted instead of compared one by one.
const FEW: usize = 32;

/// The owners that the neighbours of an element name.
#[derive(Default)]
struct Votes {
    named: Vec<u32>,
}

impl Votes {
    /// The part that was named most often, and of several the one that was named first, or among very many the lowest.
    fn winner(&mut self, neighbours: &Neighbours<'_>, element: usize) -> Option<u32> {
        self.named.clear();
        for (map, owners) in &neighbours.forward {
            self.named.extend(map.targets(element).iter().map(|target| owners[*target as usize]));
        }
        for (inverse, owners) in &neighbours.backward {
            self.named.extend(inverse.sources(element).iter().map(|source| owners[*source as usize]));
        }
        let named = &mut self.named;
        if named.len() > FEW {
            named.sort_unstable();
            let runs = named.chunk_by(|a, b| a == b);
            return runs.rev().max_by_key(|run| run.len()).map(|run| run[0]);
        }
        let count = |part: u32| named.iter().filter(|other| **other == part).count();
        named.iter().rev().copied().max_by_key(|part| count(*part))
    }
}
