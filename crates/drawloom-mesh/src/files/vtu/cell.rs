//! The types of cells.

use crate::error::ErrorKind;
use crate::files::first_order::FirstOrder;

/// Cells of one shape.
pub(super) struct CellSet {
    pub(super) set: &'static str,
    pub(super) corners: usize,
    /// The corners of the cells, cell after cell.
    pub(super) table: Vec<u32>,
    /// Their numbers in the file.
    pub(super) cells: Vec<u32>,
}

/// A quadrangle and a hexahedron whose corners are listed row by row.
const ROWS: [u64; 2] = [8, 11];

/// Adds the cell of a type to the set of its shape; its points are below the number of points. Else says what is wrong.
pub(super) fn add(
    sets: &mut Vec<CellSet>,
    first_order: &mut FirstOrder,
    (number, kind): (u32, u64),
    points: &[u32],
    point_count: usize,
) -> Result<(), (ErrorKind, String)> {
    let Some((set, corners, count)) = shape(kind, points.len()) else {
        return Err((ErrorKind::Unsupported, format!("cell {number} is {}, which is not read", name(kind))));
    };
    let fits = if kind >= LAGRANGE { points.len() >= corners } else { points.len() == count };
    if !fits || corners == 0 {
        return Err((
            ErrorKind::Inconsistent,
            format!("cell {number} is one of `{set}` and has {} points", points.len()),
        ));
    }
    let place = sets.iter().position(|other| other.set == set && other.corners == corners).unwrap_or_else(|| {
        sets.push(CellSet { set, corners, table: vec![], cells: vec![] });
        sets.len() - 1
    });
    let CellSet { table, cells, .. } = &mut sets[place];
    table.extend_from_slice(&points[..corners]);
    if ROWS.contains(&kind) {
        let cell = table.len() - corners;
        (cell..table.len()).step_by(4).for_each(|row| table.swap(row + 2, row + 3));
    }
    cells.push(number);
    if points.len() > corners {
        first_order.add(point_count, points[corners..].iter().copied());
    }
    Ok(())
}

/// The first type whose number of points is not fixed, because its order is not.
const LAGRANGE: u64 = 68;

/// The set of the cells of a type, how many corners they have, and how many points, if that is fixed.
fn shape(kind: u64, points: usize) -> Option<(&'static str, usize, usize)> {
    let (set, corners) = match kind {
        1 => ("points", 1),
        3 | 21 | 35 | 68 | 75 => ("lines", 2),
        5 | 22 | 34 | 69 | 76 => ("triangles", 3),
        7 => ("polygons", points),
        8 | 9 | 23 | 28 | 30 | 70 | 77 => ("quadrangles", 4),
        10 | 24 | 71 | 78 => ("tetrahedra", 4),
        11 | 12 | 25 | 29 | 33 | 72 | 79 => ("hexahedra", 8),
        13 | 26 | 31 | 32 | 73 | 80 => ("prisms", 6),
        14 | 27 | 37 | 74 | 81 => ("pyramids", 5),
        _ => return None,
    };
    let count = match kind {
        21 => 3,
        22 | 30 => 6,
        23 => 8,
        24 => 10,
        25 => 20,
        26 => 15,
        27 => 13,
        28 => 9,
        29 => 27,
        31 => 12,
        32 => 18,
        33 => 24,
        34 => 7,
        35 => 4,
        37 => 19,
        _ => corners,
    };
    Some((set, corners, count))
}

/// What a type is called that is not read.
fn name(kind: u64) -> String {
    let name = match kind {
        0 => "empty",
        2 => "a list of points",
        4 => "a polygonal line",
        6 => "a strip of triangles",
        15 => "a pentagonal prism",
        16 => "a hexagonal prism",
        36 => "a polygon of second order",
        41 => "a set of points",
        42 => "a polyhedron",
        _ => return format!("of VTK's type {kind}"),
    };
    format!("{name} (VTK's type {kind})")
}
