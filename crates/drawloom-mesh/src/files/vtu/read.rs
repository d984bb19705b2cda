//! Reading.

use super::document::{Document, cut, unsupported};
use crate::error::{Error, ErrorKind};
use crate::raw::{RawMesh, Values};

/// Reads the bytes of a file.
pub fn read(bytes: &[u8]) -> Result<RawMesh, Error> {
    let document = Document::read(bytes)?;
    let mut mesh = RawMesh::new();
    mesh.add_set("nodes", document.points);
    add_points(&mut mesh, &document)?;
    let cells = cells(&document)?;
    let sets = sets(&cells);
    for (set, map, chosen) in &sets {
        let arity = chosen.first().map_or(1, |cell| cells[*cell as usize].corners.len());
        let table = chosen.iter().flat_map(|cell| cells[*cell as usize].corners.iter().copied()).collect();
        mesh.add_set(set, chosen.len()).add_map(map, set, "nodes", arity, table);
    }
    for array in &document.arrays {
        let size = match array.part.as_str() {
            "PointData" => document.points,
            "CellData" => document.cells,
            "FieldData" => {
                mesh.add_constant(&array.name, document.values(array)?);
                continue;
            }
            _ => continue,
        };
        let (values, dim) = (document.values(array)?, array.components);
        if size.checked_mul(dim) != Some(values.len()) {
            let (name, found) = (&array.name, values.len());
            let message = format!("array `{name}` has {found} numbers, and needs {dim} for each of {size} elements");
            return Err(Error::new(ErrorKind::Inconsistent, message));
        }
        if array.part == "PointData" {
            mesh.add_dat(&array.name, "nodes", dim, values);
            continue;
        }
        for (set, _, chosen) in &sets {
            let name = if sets.len() == 1 { array.name.clone() } else { format!("{}_{set}", array.name) };
            mesh.add_dat(&name, set, dim, values.gathered(dim, chosen));
        }
    }
    Ok(mesh)
}

fn add_points(mesh: &mut RawMesh, document: &Document<'_>) -> Result<(), Error> {
    let array = document.arrays.iter().find(|array| array.part == "Points").ok_or_else(|| cut("the element Points"))?;
    let values = document.values(array)?.numbers();
    if array.components != 3 || document.points.checked_mul(3) != Some(values.len()) {
        let (found, points) = (values.len(), document.points);
        let message = format!("there are {found} coordinates for {points} points, which need 3 each");
        return Err(Error::new(ErrorKind::Inconsistent, message));
    }
    let flat = values.as_chunks::<3>().0.iter().all(|[_, _, z]| *z == 0.0);
    let dim = if flat { 2 } else { 3 };
    let values = values.chunks_exact(3).flat_map(|place| &place[..dim]).copied().collect();
    mesh.add_dat("p_x", "nodes", dim, Values::F64(values));
    Ok(())
}

/// One cell.
struct Cell {
    set: &'static str,
    corners: Vec<u32>,
}

fn cells(document: &Document<'_>) -> Result<Vec<Cell>, Error> {
    let integers = |name: &str| -> Result<Vec<u64>, Error> {
        let mut arrays = document.arrays.iter().filter(|array| array.part == "Cells");
        let array = arrays.find(|array| array.name == name).ok_or_else(|| cut(&format!("the array `{name}`")))?;
        let wrong =
            |value: f64| Error::new(ErrorKind::Malformed, format!("array `{name}`: {value} is not a number from 0"));
        // Every integer that is the number of something is exact as a floating-point number.
        let number = |value: f64| {
            if (0.0..9e15).contains(&value) && value.fract() == 0.0 { Ok(value as u64) } else { Err(wrong(value)) }
        };
        document.values(array)?.numbers().into_iter().map(number).collect()
    };
    let (connectivity, offsets, types) = (integers("connectivity")?, integers("offsets")?, integers("types")?);
    if offsets.len() != document.cells || types.len() != document.cells {
        let message =
            format!("there are {} offsets and {} types for {} cells", offsets.len(), types.len(), document.cells);
        return Err(Error::new(ErrorKind::Inconsistent, message));
    }
    let mut cells = Vec::with_capacity(offsets.len());
    let mut start = 0;
    for (number, (end, kind)) in offsets.into_iter().zip(types).enumerate() {
        let range = usize::try_from(end).ok().and_then(|end| connectivity.get(start..end));
        let corners = range.ok_or_else(|| {
            Error::new(
                ErrorKind::Inconsistent,
                format!("the corners of cell {number} end at {end}, which is not there"),
            )
        })?;
        start += corners.len();
        let (set, count) =
            cell_type(kind).ok_or_else(|| unsupported(format!("cells of VTK's type {kind} are not supported")))?;
        if count.is_some_and(|count| count != corners.len()) || corners.is_empty() {
            let message = format!("cell {number} is one of `{set}` and has {} corners", corners.len());
            return Err(Error::new(ErrorKind::Inconsistent, message));
        }
        let corner = |corner: &u64| {
            u32::try_from(*corner)
                .map_err(|_| Error::new(ErrorKind::Inconsistent, format!("cell {number} has the corner {corner}")))
        };
        let mut corners = corners.iter().map(corner).collect::<Result<Vec<u32>, _>>()?;
        if kind == PIXEL {
            corners.swap(2, 3);
        }
        cells.push(Cell { set, corners });
    }
    Ok(cells)
}

/// A quadrangle whose corners are listed in two rows.
const PIXEL: u64 = 8;

/// The set of the cells of a type, and how many corners they have, if that is always the same.
fn cell_type(kind: u64) -> Option<(&'static str, Option<usize>)> {
    Some(match kind {
        1 => ("points", Some(1)),
        3 => ("lines", Some(2)),
        5 => ("triangles", Some(3)),
        7 => ("polygons", None),
        PIXEL | 9 => ("quadrangles", Some(4)),
        10 => ("tetrahedra", Some(4)),
        12 => ("hexahedra", Some(8)),
        13 => ("prisms", Some(6)),
        14 => ("pyramids", Some(5)),
        _ => return None,
    })
}

/// For each set its name, that of its map, and the numbers of its cells.
type Chosen = (String, String, Vec<u32>);

/// The sets: one for each type, and for each number of corners of polygons.
fn sets(cells: &[Cell]) -> Vec<Chosen> {
    let mut keys: Vec<(&str, usize)> = Vec::new();
    let mut sets: Vec<Chosen> = Vec::new();
    for (cell, number) in cells.iter().zip(0..) {
        let key = (cell.set, cell.corners.len());
        let place = keys.iter().position(|other| *other == key).unwrap_or_else(|| {
            let set =
                if cell.set == "polygons" { format!("polygons{}", cell.corners.len()) } else { cell.set.to_owned() };
            keys.push(key);
            sets.push((set.clone(), format!("{set}_nodes"), Vec::new()));
            keys.len() - 1
        });
        sets[place].2.push(number);
    }
    if let [only] = sets.as_mut_slice() {
        // What is drawn, and how it is ordered, depends on the names of solids only.
        if matches!(keys[0].0, "points" | "lines" | "triangles" | "quadrangles" | "polygons") {
            only.0 = "cells".to_owned();
            only.1 = "pcell".to_owned();
        }
    }
    sets
}
