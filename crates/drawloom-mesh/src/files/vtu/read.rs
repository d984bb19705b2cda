//! Reading.

use super::cell::{self, CellSet};
use super::document::{Array, Document, Piece, error_at, truncated, wrong};
use crate::error::{Error, ErrorKind};
use crate::files::first_order::FirstOrder;
use crate::files::mesh_file::{MeshFile, Names};
use crate::raw::{RawMesh, Shape, Values};

/// The mesh in the bytes of a file.
pub fn read(bytes: &[u8]) -> Result<RawMesh, Error> {
    open(bytes).map(|file| file.mesh)
}

pub(in super::super) fn open(bytes: &[u8]) -> Result<MeshFile, Error> {
    let document = Document::read(bytes)?;
    let mut file = MeshFile { mesh: RawMesh::new(), form: document.form(), notes: vec![] };
    let mut names = Names::default();
    let count = document.pieces.len();
    if count > 1 {
        file.notes.push(format!("the grid is in {count} pieces; points where they meet may be in it several times"));
    }
    add_points(&mut file.mesh, &document)?;
    let mut first_order = FirstOrder::default();
    let sets = cells(&document, &mut first_order)?;
    names.unique("nodes", &mut file.notes);
    names.unique("p_x", &mut file.notes);
    // What is drawn, and how it is ordered, depends on the names of solids only.
    let plain = sets.len() == 1 && sets[0].shape.dimension() < 3;
    let mut of_cells = Vec::new();
    for CellSet { shape, corners, table, cells } in sets {
        let number = if shape == Shape::Polygon { corners.to_string() } else { String::new() };
        let shape = format!("{}{number}", shape.plural());
        let (set, map) = if plain { ("cells", "pcell") } else { (shape.as_str(), &*format!("{shape}_nodes")) };
        let (set, map) = (names.unique(set, &mut file.notes), names.unique(map, &mut file.notes));
        file.mesh.add_set(&set, cells.len()).add_map(&map, &set, "nodes", corners, table);
        of_cells.push((set, cells));
    }
    for array in &document.pieces[0].arrays {
        let on_points = array.part == "PointData";
        if !on_points && array.part != "CellData" {
            continue;
        }
        let Some(values) = in_all_pieces(&document, array, &mut file.notes)? else { continue };
        if on_points {
            let name = names.unique(&array.name, &mut file.notes);
            file.mesh.add_dat(&name, "nodes", array.components, values);
            continue;
        }
        if let [(set, _)] = of_cells.as_slice() {
            let name = names.unique(&array.name, &mut file.notes);
            file.mesh.add_dat(&name, set, array.components, values);
            continue;
        }
        for (set, cells) in &of_cells {
            let name = names.unique(&format!("{}_{set}", array.name), &mut file.notes);
            file.mesh.add_dat(&name, set, array.components, values.gathered(array.components, cells));
        }
    }
    for array in &document.constants {
        if let Some(values) = known(&document, array, &mut file.notes)? {
            let name = names.unique(&array.name, &mut file.notes);
            file.mesh.add_constant(&name, values);
        }
    }
    first_order.finish(&mut file);
    Ok(file)
}

/// The values of an array. What has no place in a mesh is left out, and noted.
fn known(document: &Document<'_>, array: &Array<'_>, notes: &mut Vec<String>) -> Result<Option<Values>, Error> {
    match document.values(array) {
        Ok(values) => Ok(Some(values)),
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            notes.push(format!("left out: {error}"));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The values of an array of the first piece and of those of its name in the others, one after another.
fn in_all_pieces(document: &Document<'_>, array: &Array<'_>, notes: &mut Vec<String>) -> Result<Option<Values>, Error> {
    let mut whole: Option<Values> = None;
    for (number, piece) in document.pieces.iter().enumerate() {
        let same = |other: &&Array<'_>| other.part == array.part && other.name == array.name;
        // Of two arrays of one name, each is itself.
        let found = if number == 0 { Some(array) } else { piece.arrays.iter().find(same) };
        let found = found.filter(|other| other.kind == array.kind && other.components == array.components);
        let Some(found) = found else {
            let message = format!("expected the array `{}` in piece {number} as in the first one", array.name);
            return Err(wrong(document.file, array.place, message));
        };
        let Some(mut values) = known(document, found, notes)? else { return Ok(None) };
        let size = if array.part == "PointData" { piece.points } else { piece.cells };
        let needed = size.checked_mul(array.components);
        if let (Values::Bool(bits), Some(needed)) = (&mut values, needed) {
            // Bits fill whole bytes in a file.
            bits.truncate(needed.max(bits.len().saturating_sub(7)));
        }
        if needed != Some(values.len()) {
            let (name, dim, found) = (&array.name, array.components, values.len());
            let message = format!("array `{name}` has {found} numbers, and needs {dim} for each of {size} elements");
            return Err(error_at(ErrorKind::Inconsistent, document.file, array.place, message));
        }
        match &mut whole {
            None => whole = Some(values),
            Some(whole) => whole.append(&mut values),
        }
    }
    Ok(whole)
}

fn add_points(mesh: &mut RawMesh, document: &Document<'_>) -> Result<(), Error> {
    let mut values = Vec::new();
    let mut count = 0;
    for Piece { points, arrays, .. } in &document.pieces {
        let Some(array) = arrays.iter().find(|array| array.part == "Points") else {
            if *points == 0 {
                continue;
            }
            return Err(truncated(document.file, document.file.len(), "expected the element Points in each piece"));
        };
        let mut found = match document.values(array)? {
            Values::F64(values) => values,
            other => other.numbers(),
        };
        if points.checked_mul(3) != Some(found.len()) {
            let message = format!("there are {} coordinates for {points} points, which need 3 each", found.len());
            return Err(error_at(ErrorKind::Inconsistent, document.file, array.place, message));
        }
        if let Some(index) = found.iter().position(|value| !value.is_finite()) {
            let message = format!("a coordinate of point {} is {}", index / 3, found[index]);
            return Err(error_at(ErrorKind::Inconsistent, document.file, array.place, message));
        }
        count += points;
        values.append(&mut found);
    }
    if u32::try_from(count).is_err() {
        return Err(Error::new(ErrorKind::Unsupported, format!("{count} points are more than a set can have")));
    }
    let flat = values.as_chunks::<3>().0.iter().all(|[_, _, z]| *z == 0.0);
    if flat {
        values = values.as_chunks::<3>().0.iter().flat_map(|[x, y, _]| [*x, *y]).collect();
    }
    mesh.add_set("nodes", count);
    mesh.add_dat("p_x", "nodes", if flat { 2 } else { 3 }, Values::F64(values));
    Ok(())
}

/// The cells of all pieces, by their shapes.
fn cells(document: &Document<'_>, first_order: &mut FirstOrder) -> Result<Vec<CellSet>, Error> {
    let point_count: usize = document.pieces.iter().map(|piece| piece.points).sum();
    let (mut sets, mut first_point, mut first_cell) = (Vec::new(), 0, 0);
    for piece in &document.pieces {
        let array = |name: &str| piece.arrays.iter().find(|array| array.part == "Cells" && array.name == name);
        let integers = |name: &str| -> Result<Vec<u64>, Error> {
            match array(name) {
                Some(array) => integers(document, array),
                None if piece.cells == 0 => Ok(Vec::new()),
                None => {
                    let message = format!("expected the array `{name}` in the element Cells of each piece");
                    Err(truncated(document.file, document.file.len(), message))
                }
            }
        };
        let error = |kind: ErrorKind, name: &str, message: String| {
            error_at(kind, document.file, array(name).map_or(0, |array| array.place), message)
        };
        let wrong = |name: &str, message: String| error(ErrorKind::Inconsistent, name, message);
        let (connectivity, offsets, types) = (integers("connectivity")?, integers("offsets")?, integers("types")?);
        if offsets.len() != piece.cells || types.len() != piece.cells {
            let (offsets, types, cells) = (offsets.len(), types.len(), piece.cells);
            return Err(wrong("offsets", format!("there are {offsets} offsets and {types} types for {cells} cells")));
        }
        let (mut start, mut points) = (0, Vec::new());
        for ((number, end), kind) in (first_cell..).zip(offsets).zip(types) {
            let found = usize::try_from(end).ok().and_then(|end| connectivity.get(start..end)).ok_or_else(|| {
                wrong("offsets", format!("the points of cell {number} end at {end}, which is not there"))
            })?;
            start += found.len();
            points.clear();
            for point in found {
                if *point >= piece.points as u64 {
                    let message = format!("cell {number} has the point {point}, and there are {}", piece.points);
                    return Err(wrong("connectivity", message));
                }
                points.push(first_point + *point as u32);
            }
            cell::add(&mut sets, first_order, (number, kind), &points, point_count)
                .map_err(|(kind, message)| error(kind, "types", message))?;
        }
        // Each point has coordinates and each cell a type, so that the sums are below the size of the file.
        first_point += piece.points as u32;
        first_cell += piece.cells as u32;
    }
    Ok(sets)
}

/// An array of integers that are not negative.
fn integers(document: &Document<'_>, array: &Array<'_>) -> Result<Vec<u64>, Error> {
    let number = |value: i64| {
        u64::try_from(value).map_err(|_| {
            wrong(document.file, array.place, format!("array `{}`: {value} is not a number from 0", array.name))
        })
    };
    match document.values(array)? {
        Values::I64(values) => values.into_iter().map(number).collect(),
        Values::I32(values) => values.into_iter().map(|value| number(value.into())).collect(),
        Values::U32(values) => Ok(values.into_iter().map(u64::from).collect()),
        _ => Err(wrong(document.file, array.place, format!("expected integers in the array `{}`", array.name))),
    }
}
