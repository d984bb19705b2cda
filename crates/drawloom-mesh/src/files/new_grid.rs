//! `new_grid.dat`: a finite-volume mesh as text.
//!
//! The numbers of nodes, cells, edges and boundary edges; then two coordinates for each node, four nodes for each cell,
//! two nodes and two cells for each edge, two nodes, a cell and a kind (1 on a wall, 2 far away) for each boundary edge.
//! Everything is numbered from 0.

use super::decimal::push_integer;
use super::grid::{Grid, coordinates, push_coordinates, table};
use crate::error::{Error, ErrorKind};
use crate::raw::{RawMesh, Values};

/// Reads the text of a file. The mesh has the sets `nodes`, `cells`, `edges` and `bedges`; the maps `pcell` (4 nodes), `pedge` (2
/// nodes), `pecell` (2 cells), `pbedge` (2 nodes) and `pbecell` (1 cell); the dats `p_x` (2 coordinates of each node) and `p_bound`
/// (the kind of each boundary edge).
pub fn read(text: &[u8]) -> Result<RawMesh, Error> {
    let mut grid = Grid::new(text);
    let [nodes, cells, edges, bedges] = grid.header(["nodes", "cells", "edges", "boundary edges"])?;
    grid.expect_numbers([(nodes, 2), (cells, 4), (edges, 4), (bedges, 4)])?;
    let p_x = grid.coordinates(nodes)?;
    let pcell = grid.table(cells, "cell", "node", 4, nodes)?;

    let (mut pedge, mut pecell) = (Vec::with_capacity(2 * edges), Vec::with_capacity(2 * edges));
    for edge in 0..edges {
        pedge.extend([grid.target("edge", edge, "node", nodes)?, grid.target("edge", edge, "node", nodes)?]);
        pecell.extend([grid.target("edge", edge, "cell", cells)?, grid.target("edge", edge, "cell", cells)?]);
    }
    let mut pbedge = Vec::with_capacity(2 * bedges);
    let (mut pbecell, mut bound) = (Vec::with_capacity(bedges), Vec::with_capacity(bedges));
    for edge in 0..bedges {
        let of = "boundary edge";
        pbedge.extend([grid.target(of, edge, "node", nodes)?, grid.target(of, edge, "node", nodes)?]);
        pbecell.push(grid.target(of, edge, "cell", cells)?);
        bound.push(grid.target(of, edge, "kind", i32::MAX as usize)? as i32);
    }
    grid.end("boundary edge")?;

    let mut mesh = RawMesh::new();
    mesh.add_set("nodes", nodes).add_set("cells", cells).add_set("edges", edges).add_set("bedges", bedges);
    mesh.add_map("pcell", "cells", "nodes", 4, pcell);
    mesh.add_map("pedge", "edges", "nodes", 2, pedge).add_map("pecell", "edges", "cells", 2, pecell);
    mesh.add_map("pbedge", "bedges", "nodes", 2, pbedge).add_map("pbecell", "bedges", "cells", 1, pbecell);
    mesh.add_dat("p_x", "nodes", 2, Values::F64(p_x)).add_dat("p_bound", "bedges", 1, Values::I32(bound));
    Ok(mesh)
}

/// The text of a file for a mesh with the names that [`read`] gives. Coordinates are rounded to six decimals.
pub fn write(mesh: &RawMesh) -> Result<Vec<u8>, Error> {
    mesh.check()?;
    let p_x = coordinates(mesh)?;
    let pcell = table(mesh, "pcell", 4)?;
    let (pedge, pecell) = (table(mesh, "pedge", 2)?, table(mesh, "pecell", 2)?);
    let (pbedge, pbecell) = (table(mesh, "pbedge", 2)?, table(mesh, "pbecell", 1)?);
    let bound = mesh.dat("p_bound")?;
    let Some(kinds) = bound.values.as_i32().filter(|kinds| bound.dim == 1 && kinds.len() == pbecell.len()) else {
        let message = "dat `p_bound` must be one i32 for each element of `bedges`";
        return Err(Error::new(ErrorKind::Inconsistent, message));
    };
    if let Some(edge) = kinds.iter().position(|kind| *kind < 0) {
        let message = format!("dat `p_bound`: the kind of boundary edge {edge} is {}, below 0", kinds[edge]);
        return Err(Error::new(ErrorKind::Inconsistent, message));
    }

    let mut text = Vec::with_capacity(16 + 12 * p_x.len() + 8 * (pcell.len() + 2 * pedge.len() + 4 * kinds.len()));
    line(&mut text, [p_x.len() / 2, pcell.len() / 4, pedge.len() / 2, kinds.len()]);
    push_coordinates(&mut text, p_x);
    for [a, b, c, d] in pcell.as_chunks::<4>().0 {
        line(&mut text, [a, b, c, d].map(|node| *node as usize));
    }
    for ([a, b], [c, d]) in pedge.as_chunks::<2>().0.iter().zip(pecell.as_chunks::<2>().0) {
        line(&mut text, [a, b, c, d].map(|target| *target as usize));
    }
    for (([a, b], cell), kind) in pbedge.as_chunks::<2>().0.iter().zip(pbecell).zip(kinds) {
        line(&mut text, [*a as usize, *b as usize, *cell as usize, *kind as usize]);
    }
    Ok(text)
}

fn line(text: &mut Vec<u8>, numbers: [usize; 4]) {
    for number in numbers {
        text.push(b' ');
        push_integer(text, number as u64);
    }
    text.extend_from_slice(b" \n");
}
