//! The cells of a mesh as shapes in space: what pictures and files for viewers show.

use super::{RawMap, RawMesh};
use crate::error::{Error, ErrorKind};

/// The shape of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// One corner.
    Point,
    /// Two corners.
    Line,
    /// Three corners.
    Triangle,
    /// Four corners in a plane.
    Quadrangle,
    /// Four corners in space.
    Tetrahedron,
    /// A quadrangle and an apex.
    Pyramid,
    /// Two triangles.
    Prism,
    /// Two quadrangles.
    Hexahedron,
    /// A polygon of as many corners as the map has targets.
    Polygon,
}

/// One map from a set of cells to the points.
#[derive(Clone, Debug)]
pub struct Cells<'a> {
    /// The map, from cells to points.
    pub map: &'a RawMap,
    /// The shape of each cell.
    pub shape: Shape,
    /// Whether the last two of four corners must be exchanged so that they go around the cell.
    crossed: bool,
}

/// The points and the cells of a mesh.
#[derive(Clone, Debug)]
pub struct Geometry<'a> {
    /// The set of points.
    pub points: &'a str,
    /// The dat with their coordinates.
    pub coordinates: &'a str,
    /// 2 or 3.
    pub dim: usize,
    /// Their coordinates, point after point.
    pub values: Vec<f64>,
    /// The cells.
    pub cells: Vec<Cells<'a>>,
}

impl<'a> Geometry<'a> {
    /// The geometry of a mesh that was checked: the first set with coordinates, and the maps to it of three corners or
    /// more (one for each set), or if there are none, of two, or of one.
    pub fn of(mesh: &'a RawMesh) -> Result<Self, Error> {
        let Some((set, dat)) = mesh.sets.iter().find_map(|set| Some((set, mesh.coordinates(&set.name)?))) else {
            let message = "no set has coordinates: a dat of 2 or 3 floating-point values, best called `p_x`";
            return Err(Error::new(ErrorKind::Inconsistent, message));
        };
        let mut geometry = Self {
            points: &set.name,
            coordinates: &dat.name,
            dim: dat.dim,
            values: dat.values.numbers(),
            cells: vec![],
        };
        let to_points = || mesh.maps.iter().filter(|map| map.to == set.name && map.from != set.name);
        let corners = |map: &RawMap| Shape::of(map).corners(map.arity).min(3);
        let wanted = to_points().map(corners).max().unwrap_or(0);
        let mut seen = Vec::new();
        for map in to_points().filter(|map| corners(map) == wanted) {
            if !seen.contains(&map.from.as_str()) {
                seen.push(&map.from);
                let shape = Shape::of(map);
                let crossed = shape == Shape::Quadrangle && geometry.is_crossed(map);
                geometry.cells.push(Cells { map, shape, crossed });
            }
        }
        Ok(geometry)
    }

    /// The coordinates of a point; the third one is 0 in the plane.
    pub fn point(&self, point: u32) -> [f64; 3] {
        let start = point as usize * self.dim;
        let at = |axis: usize| if axis < self.dim { self.values[start + axis] } else { 0.0 };
        [at(0), at(1), at(2)]
    }

    /// Some formats list the corners of a quadrangle in two rows of the same direction instead of around it. Then the
    /// outline crosses itself, and encloses less than with the last two exchanged.
    fn is_crossed(&self, map: &RawMap) -> bool {
        let (mut around, mut rows) = (0.0, 0.0);
        for row in map.rows() {
            let [a, b, c, d] = [0, 1, 2, 3].map(|corner| self.point(row[corner]));
            around += area([a, b, c, d]);
            rows += area([a, b, d, c]);
        }
        rows > around
    }
}

impl RawMap {
    /// The shape of the elements that the map leads from, if it leads to their corners.
    pub fn shape(&self) -> Shape {
        Shape::of(self)
    }
}

impl Cells<'_> {
    /// How many corners each cell has.
    pub fn corner_count(&self) -> usize {
        self.shape.corners(self.map.arity)
    }

    /// The corners of each cell, in an order that goes around it.
    pub fn corners(&self, row: &[u32], corners: &mut Vec<u32>) {
        corners.clear();
        corners.extend_from_slice(&row[..self.shape.corners(row.len())]);
        if self.crossed {
            corners.swap(2, 3);
        }
    }
}

impl Shape {
    /// The name of several cells of this shape.
    pub fn plural(self) -> &'static str {
        match self {
            Shape::Point => "points",
            Shape::Line => "lines",
            Shape::Triangle => "triangles",
            Shape::Quadrangle => "quadrangles",
            Shape::Tetrahedron => "tetrahedra",
            Shape::Pyramid => "pyramids",
            Shape::Prism => "prisms",
            Shape::Hexahedron => "hexahedra",
            Shape::Polygon => "polygons",
        }
    }

    /// The dimension of a cell: 0 of a point, 1 of a line.
    pub(crate) fn dimension(self) -> i32 {
        match self {
            Shape::Point => 0,
            Shape::Line => 1,
            Shape::Triangle | Shape::Quadrangle | Shape::Polygon => 2,
            Shape::Tetrahedron | Shape::Pyramid | Shape::Prism | Shape::Hexahedron => 3,
        }
    }

    /// The shape of the cells of a map: what the name of its set says, if there are enough targets for it, or else the
    /// usual one of as many corners. Targets beyond the corners, of elements of higher order, come after them.
    fn of(map: &RawMap) -> Self {
        let named = [
            ("line", Shape::Line),
            ("triangle", Shape::Triangle),
            ("quad", Shape::Quadrangle),
            ("tetra", Shape::Tetrahedron),
            ("pyramid", Shape::Pyramid),
            ("prism", Shape::Prism),
            ("wedge", Shape::Prism),
            ("hexa", Shape::Hexahedron),
        ];
        let fits = |shape: &Shape| shape.corners(0) <= map.arity;
        let by_name = named.iter().find(|(name, shape)| map.from.starts_with(name) && fits(shape));
        by_name.map(|(_, shape)| *shape).unwrap_or(match map.arity {
            1 => Shape::Point,
            2 => Shape::Line,
            3 => Shape::Triangle,
            4 => Shape::Quadrangle,
            _ => Shape::Polygon,
        })
    }

    /// How many corners there are, given the number of targets.
    pub(crate) fn corners(self, arity: usize) -> usize {
        match self {
            Shape::Point => 1,
            Shape::Line => 2,
            Shape::Triangle => 3,
            Shape::Quadrangle | Shape::Tetrahedron => 4,
            Shape::Pyramid => 5,
            Shape::Prism => 6,
            Shape::Hexahedron => 8,
            Shape::Polygon => arity,
        }
    }
}

/// Twice the area of a quadrangle in space.
fn area(corners: [[f64; 3]; 4]) -> f64 {
    let [a, b, c, d] = corners;
    let (u, v) = (difference(c, a), difference(d, b));
    let cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    cross.iter().map(|part| part * part).sum::<f64>().sqrt()
}

fn difference(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[cfg(test)]
mod tests {
    use super::{Geometry, Shape};
    use crate::raw::{RawMesh, Values};

    /// Two squares side by side, with the edge between them. The corners of a square are listed as a table says.
    fn squares(corners: [u32; 8]) -> RawMesh {
        let mut mesh = RawMesh::new();
        mesh.add_set("nodes", 6).add_set("cells", 2).add_set("edges", 1);
        mesh.add_map("pedge", "edges", "nodes", 2, vec![1, 4]).add_map("pcell", "cells", "nodes", 4, corners.to_vec());
        let points = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]];
        mesh.add_dat("p_x", "nodes", 2, Values::F64(points.as_flattened().to_vec()));
        mesh
    }

    #[test]
    fn cells_are_shown_and_not_their_edges() {
        let mesh = squares([0, 1, 4, 3, 1, 2, 5, 4]);
        let geometry = Geometry::of(&mesh).expect("it has coordinates");
        let maps: Vec<_> = geometry.cells.iter().map(|cells| (cells.map.name.as_str(), cells.shape)).collect();
        assert_eq!(maps, [("pcell", Shape::Quadrangle)]);
    }

    #[test]
    fn corners_in_two_rows_are_put_around_the_cell() {
        for corners in [[0, 1, 4, 3, 1, 2, 5, 4], [0, 1, 3, 4, 1, 2, 4, 5]] {
            let mesh = squares(corners);
            let geometry = Geometry::of(&mesh).expect("it has coordinates");
            let mut around = Vec::new();
            geometry.cells[0].corners(geometry.cells[0].map.targets(0), &mut around);
            assert_eq!(around, [0, 1, 4, 3]);
        }
    }

    #[test]
    fn a_mesh_without_coordinates_has_no_geometry() {
        let mut mesh = RawMesh::new();
        mesh.add_set("nodes", 3);
        assert!(Geometry::of(&mesh).is_err());
    }
}
