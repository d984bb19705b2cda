//! Which worker has which devices: elements that send each other messages are with the same one, as far as that goes.

use super::involved::Invocation;
use crate::mesh::Mesh;
use crate::partition::{Method, partition};
use crate::raw::{RawMap, RawMesh, RawSet};

/// The part of each element of each set.
pub(super) fn parts(mesh: &Mesh, invocations: &[Invocation], parts: usize) -> Vec<Vec<u32>> {
    divided(mesh, invocations, parts).unwrap_or_else(|| {
        let blocks =
            |size: usize| (0..size).map(|element| (element as u64 * parts as u64 / size as u64) as u32).collect();
        mesh.sets.iter().map(|set| blocks(set.size)).collect()
    })
}

/// Divides the set that most messages come from and go to, and the others along the maps that they take. Nothing if there
/// are no such messages.
fn divided(mesh: &Mesh, invocations: &[Invocation], parts: usize) -> Option<Vec<Vec<u32>>> {
    let mut messages = vec![0; mesh.sets.len()];
    let mut used = vec![false; mesh.maps.len()];
    for through in invocations.iter().flat_map(|invocation| invocation.reads.iter().chain(&invocation.writes)) {
        let map = &mesh.maps[through.map as usize];
        messages[map.to as usize] += mesh.sets[map.from as usize].size * through.columns;
        used[through.map as usize] = true;
    }
    // The first of those with the most.
    let most = *messages.iter().max()?;
    let primary = messages.iter().position(|count| *count == most).filter(|_| most > 0)?;
    let name = |set: usize| set.to_string();
    let mut raw = RawMesh::new();
    raw.sets =
        mesh.sets.iter().enumerate().map(|(number, set)| RawSet { name: name(number), size: set.size }).collect();
    let maps = mesh.maps.iter().enumerate().filter(|(number, _)| used[*number]);
    raw.maps = maps
        .map(|(number, map)| RawMap {
            name: number.to_string(),
            from: name(map.from as usize),
            to: name(map.to as usize),
            arity: map.arity,
            table: map.table.to_vec(),
        })
        .collect();
    let partition = partition(&raw, &name(primary), parts, Method::Graph).ok()?;
    (0..mesh.sets.len()).map(|set| Some(partition.owners(&name(set))?.to_vec())).collect()
}
