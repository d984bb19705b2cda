//! The types of cells.

use crate::error::ErrorKind;
use crate::files::first_order::FirstOrder;
use crate::raw::Shape;

/// Cells of one shape.
pub(super) struct CellSet {
    pub(super) shape: Shape,
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
    let Some((shape, count)) = shape(kind) else {
        return Err((ErrorKind::Unsupported, format!("cell {number} is {}, which is not read", name(kind))));
    };
    let corners = shape.corners(points.len());
    let fits = if kind >= LAGRANGE { points.len() >= corners } else { points.len() == count.unwrap_or(corners) };
    if !fits || corners == 0 {
        return Err((
            ErrorKind::Inconsistent,
            format!("cell {number} is one of `{}` and has {} points", shape.plural(), points.len()),
        ));
    }
    let place = sets.iter().position(|other| other.shape == shape && other.corners == corners).unwrap_or_else(|| {
        sets.push(CellSet { shape, corners, table: vec![], cells: vec![] });
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

/// The shape of the cells of a type, and how many points they have if that is not the number of corners.
fn shape(kind: u64) -> Option<(Shape, Option<usize>)> {
    let shape = match kind {
        1 => Shape::Point,
        3 | 21 | 35 | 68 | 75 => Shape::Line,
        5 | 22 | 34 | 69 | 76 => Shape::Triangle,
        7 => Shape::Polygon,
        8 | 9 | 23 | 28 | 30 | 70 | 77 => Shape::Quadrangle,
        10 | 24 | 71 | 78 => Shape::Tetrahedron,
        11 | 12 | 25 | 29 | 33 | 72 | 79 => Shape::Hexahedron,
        13 | 26 | 31 | 32 | 73 | 80 => Shape::Prism,
        14 | 27 | 37 | 74 | 81 => Shape::Pyramid,
        _ => return None,
    };
    // The types from 21 to 37.
    const POINTS: [usize; 17] = [3, 6, 8, 10, 20, 15, 13, 9, 27, 6, 12, 18, 24, 7, 4, 0, 19];
    let count = kind.checked_sub(21).and_then(|index| POINTS.get(index as usize).copied());
    Some((shape, count))
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
