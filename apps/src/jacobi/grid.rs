//! Square grids, and the matrix of any mesh with edges.

use drawloom_mesh::Error;
use drawloom_mesh::raw::{RawMesh, Values};

use crate::naca;

/// The longest side: a grid of that size has as many nodes as the largest mesh that is generated.
const LONGEST: usize = 1 << 13;

/// A grid of `side` by `side` nodes: sets `nodes`, `edges` and `cells`, maps `pedge` (2 nodes) and `pcell` (4), and the dat
/// `p_x` with the coordinates of nodes.
///
/// # Errors
/// A sentence, when the grid would have no nodes or too many.
pub fn grid(side: usize) -> Result<RawMesh, String> {
    if side == 0 || side > LONGEST {
        return Err(format!("a grid has sides of 1 to {LONGEST} nodes, not {side}"));
    }
    let number = |i: usize, j: usize| (i + j * side) as u32;
    let mut edges = Vec::with_capacity(4 * side * side);
    let mut cells = Vec::with_capacity(4 * side * side);
    let mut coordinates = Vec::with_capacity(2 * side * side);
    for (i, j) in (0..side * side).map(|n| (n % side, n / side)) {
        // Distances from a boundary that lies one node further out, on a square of side 1.
        coordinates.extend([i, j].map(|place| (place + 1) as f64 / (side + 1) as f64));
        if i + 1 < side {
            edges.extend([number(i, j), number(i + 1, j)]);
        }
        if j + 1 < side {
            edges.extend([number(i, j), number(i, j + 1)]);
        }
        if i + 1 < side && j + 1 < side {
            cells.extend([number(i, j), number(i + 1, j), number(i + 1, j + 1), number(i, j + 1)]);
        }
    }
    let mut mesh = RawMesh::new();
    mesh.add_set("nodes", side * side).add_set("edges", edges.len() / 2).add_set("cells", cells.len() / 4);
    mesh.add_map("pedge", "edges", "nodes", 2, edges).add_map("pcell", "cells", "nodes", 4, cells);
    mesh.add_dat("p_x", "nodes", 2, Values::F64(coordinates));
    Ok(mesh)
}

/// A mesh by its name: `grid:5` for 5 by 5 nodes, or another generated mesh. `None` if the name is not one of those.
pub fn by_name(name: &str) -> Option<Result<RawMesh, String>> {
    let Some(side) = name.strip_prefix("grid:") else {
        return naca::by_name(name);
    };
    Some(match side.parse() {
        Ok(side) => grid(side),
        Err(_) => Err(format!("`{name}` has no size; write it as grid:5, for 5 x 5 nodes")),
    })
}

/// The matrix, by edges from a node to itself and to its neighbours.
pub(super) struct Matrix {
    pub(super) nodes: usize,
    /// Two nodes for each edge: whose value changes, and whose value counts.
    pub(super) ends: Vec<u32>,
    /// The coefficient of each edge.
    pub(super) coefficients: Vec<f64>,
    /// What comes from all around, for each node.
    pub(super) right: Vec<f64>,
}

impl Matrix {
    /// The matrix of a mesh. Edges of the boundary, if there are any, are edges too.
    pub(super) fn of(raw: &RawMesh) -> Result<Self, Error> {
        raw.check()?;
        let nodes = raw.size("nodes")?;
        let inner = raw.map("pedge")?;
        let outer = raw.map("pbedge").ok();
        let is_edge = |map: &&drawloom_mesh::raw::RawMap| map.to == "nodes" && map.arity == 2;
        let pairs = [Some(inner), outer].into_iter().flatten().filter(is_edge).flat_map(|map| map.rows());
        let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        for pair in pairs {
            neighbours[pair[0] as usize].push(pair[1]);
            neighbours[pair[1] as usize].push(pair[0]);
        }
        let mut matrix = Self { nodes, ends: Vec::new(), coefficients: Vec::new(), right: Vec::with_capacity(nodes) };
        for (node, neighbours) in neighbours.iter().enumerate() {
            let weight = 1.0 / neighbours.len().max(4) as f64;
            matrix.ends.extend([node as u32; 2]);
            matrix.coefficients.push(-1.0);
            for neighbour in neighbours {
                matrix.ends.extend([node as u32, *neighbour]);
                matrix.coefficients.push(weight);
            }
            matrix.right.push(weight * (4_usize.saturating_sub(neighbours.len())) as f64);
        }
        Ok(matrix)
    }
}
