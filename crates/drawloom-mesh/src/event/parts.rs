//! Which worker has which devices: elements that send each other messages are with the same one, as far as that goes.
//!
//! The controller is with the first worker. Where all devices tell it when they are at the end of a loop, that is a good part
//! of all work, and only this worker can do it: so it has fewer elements than the others. The mesh is divided into more
//! pieces than there are workers for that, and each worker gets some that follow each other.

use super::involved::Invocation;
use super::options::Control;
use crate::mesh::Mesh;
use crate::partition::{Method, partition};
use crate::raw::{RawMap, RawMesh, RawSet};

/// What an element does with a message, from asking whether it sends to what is computed, compared to what the controller does
/// when it is told that an element is at the end: that is counted, and nothing else. Measured on one worker.
const ELEMENT: f64 = 5.0;

/// How many pieces there are for each worker.
const PIECES: usize = 16;

/// The part of each element of each set.
pub(super) fn parts(mesh: &Mesh, invocations: &[Invocation], parts: usize, control: Control) -> Vec<Vec<u32>> {
    let pieces = parts * PIECES;
    let mut parts_of = divided(mesh, invocations, pieces).unwrap_or_else(|| {
        let blocks =
            |size: usize| (0..size).map(|element| (element as u64 * pieces as u64 / size as u64) as u32).collect();
        mesh.sets.iter().map(|set| blocks(set.size)).collect()
    });
    let (elements, controller) = work(mesh, invocations, control);
    // The first worker has what is missing to its share of all, and the others have the rest in equal parts.
    let missing = ((elements + controller) / parts as f64 - controller).max(0.0) / elements.max(1.0);
    let first = (missing * pieces as f64).round() as usize;
    let part = |piece: u32| match (piece as usize).checked_sub(first) {
        Some(behind) if parts > 1 => 1 + (behind * (parts - 1) / (pieces - first).max(1)) as u32,
        _ => 0,
    };
    parts_of.iter_mut().flatten().for_each(|piece| *piece = part(*piece));
    parts_of
}

/// What the elements do in one pass over all loops, and what the controller does: sends and deliveries, roughly.
fn work(mesh: &Mesh, invocations: &[Invocation], control: Control) -> (f64, f64) {
    let size = |set: u32| mesh.sets[set as usize].size as f64;
    let mut elements = 0.0;
    let mut controller = 0.0;
    for invocation in invocations {
        let involved: f64 = invocation.sets.iter().map(|set| size(*set)).sum();
        let through = |one: &super::involved::Through| size(mesh.maps[one.map as usize].from) * one.columns as f64;
        let messages: f64 = invocation.reads.iter().chain(&invocation.writes).map(through).sum();
        elements += ELEMENT * (involved + messages);
        if control == Control::Plain {
            controller += involved;
        }
    }
    (elements, controller)
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
