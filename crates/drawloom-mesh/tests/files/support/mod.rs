//! Random meshes.

// Every test file uses its own part of this module.
#![allow(dead_code, unreachable_pub)]

pub mod msh;

use drawloom_mesh::raw::{RawMesh, Values};
use fastrand::Rng;

/// A mesh of random sets, some of them empty, with random maps of arity 1 to 8 between them, repeated and missing targets
/// included, and a dat of every type. The first set has coordinates.
pub fn random_mesh(random: &mut Rng) -> RawMesh {
    let mut mesh = RawMesh::new();
    for number in 0..random.usize(1..5) {
        let size = if random.u8(0..6) == 0 { 0 } else { random.usize(1..60) };
        mesh.add_set(&format!("set{number}"), size);
    }
    let sets = mesh.sets.clone();
    for number in 0..random.usize(0..6) {
        let (from, to) = (&sets[random.usize(..sets.len())], &sets[random.usize(..sets.len())]);
        let arity = random.usize(1..9);
        if to.size > 0 || from.size == 0 {
            let table = (0..from.size * arity).map(|_| random.u32(..to.size as u32)).collect();
            mesh.add_map(&format!("map{number}"), &from.name, &to.name, arity, table);
        }
    }
    let dim = random.usize(2..4);
    let coordinates = (0..sets[0].size * dim).map(|_| f64::from(random.u8(..20)) / 4.0 - 2.0).collect();
    mesh.add_dat("p_x", "set0", dim, Values::F64(coordinates));
    for (number, set) in sets.iter().enumerate() {
        let size = set.size;
        let values = match random.u8(..6) {
            0 => Values::F32((0..size).map(|_| random.f32()).collect()),
            1 => Values::F64((0..size).map(|_| random.f64()).collect()),
            2 => Values::I32((0..size).map(|_| random.i32(..)).collect()),
            3 => Values::U32((0..size).map(|_| random.u32(..)).collect()),
            4 => Values::I64((0..size).map(|_| random.i64(..)).collect()),
            _ => Values::Bool((0..size).map(|_| random.bool()).collect()),
        };
        mesh.add_dat(&format!("dat{number}"), &set.name, 1, values);
    }
    mesh.check().expect("a random mesh is right");
    mesh
}
