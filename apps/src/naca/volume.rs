//! The finite-volume form: cells, edges between cells, and boundary edges.

use drawloom_mesh::raw::{RawMesh, Values};

use super::{check_size, shape};

/// A boundary edge on the airfoil.
const WALL: i32 = 1;

/// A boundary edge far away.
const FAR: i32 = 2;

/// A mesh of `3 i` by `j` cells around the airfoil, for finite volumes.
///
/// Sets `nodes`, `cells`, `edges` and `bedges`; maps `pcell` (4 nodes), `pedge` (2 nodes), `pecell` (2 cells), `pbedge`
/// (2 nodes) and `pbecell` (1 cell); dats `p_x` (2 coordinates of each node) and `p_bound` (1 on the airfoil, 2 far away).
pub fn naca0012(i: usize, j: usize) -> Result<RawMesh, String> {
    check_size(i, j)?;
    let width = 3 * i;
    let node = |i: usize, j: usize| (i + j * (width + 1)) as u32;
    let cell = |i: usize, j: usize| (i + j * width) as u32;

    let mut pcell = Vec::with_capacity(4 * width * j);
    let edge_count = (width - 1) * j + width * (j - 1) + i;
    let (mut pedge, mut pecell) = (Vec::with_capacity(2 * edge_count), Vec::with_capacity(2 * edge_count));
    for row in 0..j {
        for k in 0..width {
            pcell.extend([node(k, row), node(k + 1, row), node(k + 1, row + 1), node(k, row + 1)]);
            if row == 0 && k < i {
                // On the cut line, the cell opposite is the mirror image.
                pedge.extend([node(k, 0), node(k + 1, 0)]);
                pecell.extend([cell(width - 1 - k, 0), cell(k, 0)]);
            }
            if row < j - 1 {
                pedge.extend([node(k, row + 1), node(k + 1, row + 1)]);
                pecell.extend([cell(k, row), cell(k, row + 1)]);
            }
            if k < width - 1 {
                pedge.extend([node(k + 1, row), node(k + 1, row + 1)]);
                pecell.extend([cell(k + 1, row), cell(k, row)]);
            }
        }
    }

    let bedge_count = i + width + 2 * j;
    let mut pbedge = Vec::with_capacity(2 * bedge_count);
    let (mut pbecell, mut bound) = (Vec::with_capacity(bedge_count), Vec::with_capacity(bedge_count));
    let mut boundary = |nodes: [u32; 2], cell: u32, kind: i32| {
        pbedge.extend(nodes);
        pbecell.push(cell);
        bound.push(kind);
    };
    (i..2 * i).for_each(|k| boundary([node(k + 1, 0), node(k, 0)], cell(k, 0), WALL));
    (0..j).for_each(|row| boundary([node(width, row + 1), node(width, row)], cell(width - 1, row), FAR));
    (0..width).rev().for_each(|k| boundary([node(k, j), node(k + 1, j)], cell(k, j - 1), FAR));
    (0..j).rev().for_each(|row| boundary([node(0, row), node(0, row + 1)], cell(0, row), FAR));

    let mut mesh = RawMesh::new();
    mesh.add_set("nodes", (width + 1) * (j + 1)).add_set("cells", width * j);
    mesh.add_set("edges", edge_count).add_set("bedges", bedge_count);
    mesh.add_map("pcell", "cells", "nodes", 4, pcell);
    mesh.add_map("pedge", "edges", "nodes", 2, pedge).add_map("pecell", "edges", "cells", 2, pecell);
    mesh.add_map("pbedge", "bedges", "nodes", 2, pbedge).add_map("pbecell", "bedges", "cells", 1, pbecell);
    mesh.add_dat("p_x", "nodes", 2, Values::F64(shape::coordinates(i, j).into_flattened()));
    mesh.add_dat("p_bound", "bedges", 1, Values::I32(bound));
    Ok(mesh)
}
