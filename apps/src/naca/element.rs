//! The finite-element form: nodes, cells, and the nodes far away.

use drawloom_mesh::raw::{RawMesh, Values};

use super::{check_size, shape};

/// A mesh of `3 i` by `j` cells around the airfoil, for finite elements.
///
/// Sets `nodes`, `cells` and `bedges` (the nodes far away); maps `pcell` (4 nodes, those of the inner row first, both
/// rows in the same direction) and `pbedge` (1 node); dat `p_x` (2 coordinates of each node).
pub fn naca0012_fe(i: usize, j: usize) -> Result<RawMesh, String> {
    check_size(i, j)?;
    let width = 3 * i;
    // The first nodes of the lowest row lie on one side of the cut line. They are those on its other side, mirrored.
    let merged = i + 1;
    let node = |k: usize, row: usize| {
        let number = k + row * (width + 1);
        (if number >= merged { number - merged } else { 2 * i - 1 - k }) as u32
    };
    let mut coordinates = shape::coordinates(i, j);
    coordinates.drain(..merged);

    let mut pcell = Vec::with_capacity(4 * width * j);
    for row in 0..j {
        for k in 0..width {
            pcell.extend([node(k, row), node(k + 1, row), node(k, row + 1), node(k + 1, row + 1)]);
        }
    }
    let mut far = Vec::with_capacity(width + 2 * j);
    for row in 0..=j {
        for k in 0..=width {
            let is_far = k == 0 || k == width || row == j;
            if is_far && k + row * (width + 1) >= merged {
                far.push(node(k, row));
            }
        }
    }

    let mut mesh = RawMesh::new();
    mesh.add_set("nodes", coordinates.len()).add_set("cells", width * j).add_set("bedges", far.len());
    mesh.add_map("pcell", "cells", "nodes", 4, pcell).add_map("pbedge", "bedges", "nodes", 1, far);
    mesh.add_dat("p_x", "nodes", 2, Values::F64(coordinates.into_flattened()));
    Ok(mesh)
}
