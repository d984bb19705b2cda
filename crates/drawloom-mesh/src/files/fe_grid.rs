//! `FE_grid.dat`: a finite-element mesh as text.
//!
//! The numbers of nodes, cells and far nodes; then two coordinates for each node, four nodes for each cell, and the far
//! nodes. Everything is numbered from 0.

use super::decimal::push_integer;
use super::grid::{Grid, coordinates, push_coordinates, table};
use crate::error::Error;
use crate::raw::{RawMesh, Values};

/// Reads the text of a file. The mesh has the sets `nodes`, `cells` and `bedges` (the far nodes); the maps `pcell` (4 nodes) and
/// `pbedge` (1 node); the dat `p_x` (2 coordinates of each node).
pub fn read(text: &[u8]) -> Result<RawMesh, Error> {
    let mut grid = Grid::new(text);
    let [nodes, cells, far] = grid.header(["nodes", "cells", "far nodes"])?;
    grid.expect_numbers([(nodes, 2), (cells, 4), (far, 1)])?;
    let p_x = grid.coordinates(nodes)?;
    let pcell = grid.table(cells, "cell", "node", 4, nodes)?;
    let pbedge = grid.table(far, "far node", "number", 1, nodes)?;
    grid.end("far node")?;
    let mut mesh = RawMesh::new();
    mesh.add_set("nodes", nodes).add_set("cells", cells).add_set("bedges", far);
    mesh.add_map("pcell", "cells", "nodes", 4, pcell).add_map("pbedge", "bedges", "nodes", 1, pbedge);
    mesh.add_dat("p_x", "nodes", 2, Values::F64(p_x));
    Ok(mesh)
}

/// The text of a file for a mesh with the names that [`read`] gives. Coordinates are rounded to six decimals.
pub fn write(mesh: &RawMesh) -> Result<Vec<u8>, Error> {
    mesh.check()?;
    let (p_x, pcell, pbedge) = (coordinates(mesh)?, table(mesh, "pcell", 4)?, table(mesh, "pbedge", 1)?);
    let mut text = Vec::with_capacity(16 + 12 * p_x.len() + 9 * (pcell.len() + pbedge.len()));
    // Sizes of sets were checked to fit into 32 bits.
    push_line(&mut text, &[p_x.len() / 2, pcell.len() / 4, pbedge.len()].map(|count| count as u32));
    push_coordinates(&mut text, p_x);
    for nodes in pcell.chunks_exact(4) {
        push_line(&mut text, nodes);
    }
    for node in pbedge.chunks_exact(1) {
        push_line(&mut text, node);
    }
    Ok(text)
}

fn push_line(text: &mut Vec<u8>, numbers: &[u32]) {
    for number in numbers {
        text.push(b' ');
        push_integer(text, u64::from(*number));
    }
    text.extend_from_slice(b" \n");
}
