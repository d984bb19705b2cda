//! What is to be drawn: faces, each with a value, and where their corners are in the picture.

use drawloom_mesh::raw::{Cells, Geometry, RawDat, Shape};

use super::Plot;
use super::colour::{Colour, WHITE, colour};
use super::layout::Layout;

/// The faces of cells in space, by the numbers of their corners.
const TETRAHEDRON: &[&[usize]] = &[&[0, 2, 1], &[0, 1, 3], &[1, 2, 3], &[0, 3, 2]];
const PYRAMID: &[&[usize]] = &[&[0, 3, 2, 1], &[0, 1, 4], &[1, 2, 4], &[2, 3, 4], &[3, 0, 4]];
const PRISM: &[&[usize]] = &[&[0, 2, 1], &[3, 4, 5], &[0, 1, 4, 3], &[1, 2, 5, 4], &[2, 0, 3, 5]];
const HEXAHEDRON: &[&[usize]] =
    &[&[0, 3, 2, 1], &[4, 5, 6, 7], &[0, 1, 5, 4], &[1, 2, 6, 5], &[2, 3, 7, 6], &[3, 0, 4, 7]];

/// A picture before it is drawn.
pub(super) struct Scene {
    pub(super) layout: Layout,
    /// Corners of all faces, in dots.
    corners: Vec<[f64; 2]>,
    faces: Vec<Face>,
    /// The name of the field, and the values of the first and the last colour.
    pub(super) field: Option<(String, [f64; 2])>,
}

/// One face.
struct Face {
    /// Where its corners end; they start where those of the face before it end.
    end: usize,
    value: f64,
    /// How near it is to the one who looks at it.
    near: f64,
}

impl Scene {
    pub(super) fn new(plot: &Plot<'_>) -> Result<Self, String> {
        plot.mesh.check().map_err(text)?;
        let geometry = Geometry::of(plot.mesh).map_err(text)?;
        if let Some(index) = geometry.values.iter().position(|value| !value.is_finite()) {
            let (name, point, value) = (geometry.coordinates, index / geometry.dim, geometry.values[index]);
            return Err(format!("dat `{name}`: a coordinate of element {point} is {value}"));
        }
        let field = plot.field.map(|name| Field::new(plot, &geometry, name)).transpose()?;
        let (window, faces, corners) = collect(plot, &geometry, field.as_ref());
        let layout = Layout::new(plot.width, window, field.is_some());
        let field = field.map(|field| {
            let range = plot.range.unwrap_or_else(|| range(&faces));
            (field.title(), range)
        });
        let corners = corners.into_iter().map(|[x, y]| layout.place(x, y)).collect();
        Ok(Self { layout, corners, faces, field })
    }

    /// How many faces there are.
    pub(super) fn len(&self) -> usize {
        self.faces.len()
    }

    /// The corners of each face and its colour, those behind first.
    pub(super) fn faces(&self) -> impl Iterator<Item = (&[[f64; 2]], Colour)> {
        let mut order: Vec<usize> = (0..self.faces.len()).collect();
        order.sort_by(|a, b| self.faces[*a].near.total_cmp(&self.faces[*b].near));
        order.into_iter().map(|face| {
            let start = if face == 0 { 0 } else { self.faces[face - 1].end };
            (&self.corners[start..self.faces[face].end], self.colour(self.faces[face].value))
        })
    }

    fn colour(&self, value: f64) -> Colour {
        let Some((_, [lowest, highest])) = self.field else { return WHITE };
        // A field that is the same everywhere has the middle colour.
        colour(if highest > lowest || value.is_nan() { (value - lowest) / (highest - lowest) } else { 0.5 })
    }
}

fn text(error: drawloom_mesh::Error) -> String {
    error.to_string()
}

/// The field to be shown.
struct Field<'a> {
    dat: &'a RawDat,
    component: usize,
    on_points: bool,
}

impl<'a> Field<'a> {
    fn new(plot: &Plot<'a>, geometry: &Geometry<'a>, name: &str) -> Result<Self, String> {
        let dat = plot.mesh.dat(name).map_err(text)?;
        let on_points = dat.set == geometry.points;
        if !on_points && !geometry.cells.iter().any(|cells| cells.map.from == dat.set) {
            let sets: Vec<&str> = geometry.cells.iter().map(|cells| cells.map.from.as_str()).collect();
            let (set, points) = (&dat.set, geometry.points);
            return Err(format!(
                "dat `{name}` is on `{set}`; a picture shows dats on the points (`{points}`) and on the cells (`{}`)",
                sets.join("`, `")
            ));
        }
        if plot.component >= dat.dim {
            let (component, dim) = (plot.component, dat.dim);
            return Err(format!("dat `{name}` has {dim} values for each element; there is no component {component}"));
        }
        Ok(Self { dat, component: plot.component, on_points })
    }

    fn title(&self) -> String {
        if self.dat.dim == 1 { self.dat.name.clone() } else { format!("{}[{}]", self.dat.name, self.component) }
    }

    fn at(&self, element: usize) -> f64 {
        self.dat.values.number(element * self.dat.dim + self.component).unwrap_or(f64::NAN)
    }

    /// The value of a cell: its own, or the mean of those of its corners.
    fn of_cell(&self, cells: &Cells<'_>, cell: usize, corners: &[u32]) -> f64 {
        if self.on_points {
            corners.iter().map(|corner| self.at(*corner as usize)).sum::<f64>() / corners.len() as f64
        } else if cells.map.from == self.dat.set {
            self.at(cell)
        } else {
            f64::NAN
        }
    }
}

type Collected = ([f64; 4], Vec<Face>, Vec<[f64; 2]>);

/// The window, and the faces that can be seen through it, with their corners in the plane.
fn collect(plot: &Plot<'_>, geometry: &Geometry<'_>, field: Option<&Field<'_>>) -> Collected {
    let points: Vec<[f64; 3]> = (0..geometry.values.len() / geometry.dim)
        .map(
            |point| {
                if geometry.dim == 3 { slanted(geometry.point(point as u32)) } else { geometry.point(point as u32) }
            },
        )
        .collect();
    let window = plot.window.unwrap_or_else(|| extent(points.iter().map(|[x, y, _]| [*x, *y])));
    let (mut faces, mut corners) = (Vec::new(), Vec::new());
    let mut row_corners = Vec::new();
    for cells in &geometry.cells {
        let whole: Vec<usize> = (0..cells.corner_count()).collect();
        let whole = [whole.as_slice()];
        let sides: &[&[usize]] = match cells.shape {
            Shape::Tetrahedron => TETRAHEDRON,
            Shape::Pyramid => PYRAMID,
            Shape::Prism => PRISM,
            Shape::Hexahedron => HEXAHEDRON,
            _ => &whole,
        };
        for (cell, row) in cells.map.rows().enumerate() {
            cells.corners(row, &mut row_corners);
            let value = field.map_or(0.0, |field| field.of_cell(cells, cell, &row_corners));
            for side in sides {
                let side = side.iter().map(|corner| points[row_corners[*corner] as usize]);
                let [x0, y0, x1, y1] = extent(side.clone().map(|[x, y, _]| [x, y]));
                if x1 < window[0] || x0 > window[2] || y1 < window[1] || y0 > window[3] {
                    continue;
                }
                let near = side.clone().map(|[_, _, z]| z).sum::<f64>();
                corners.extend(side.map(|[x, y, _]| [x, y]));
                faces.push(Face { end: corners.len(), value, near });
            }
        }
    }
    (window, faces, corners)
}

/// A point in space as it is seen from above at a slant, all three axes alike: across, up, and towards the eye.
fn slanted([x, y, z]: [f64; 3]) -> [f64; 3] {
    let (half, third, sixth) = (0.5f64.sqrt(), (1.0 / 3.0f64).sqrt(), (1.0 / 6.0f64).sqrt());
    [half * (x - y), sixth * (x + y + 2.0 * z), third * (z - x - y)]
}

fn extent(points: impl Iterator<Item = [f64; 2]>) -> [f64; 4] {
    let none = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
    let all = points.fold(none, |e, [x, y]| [e[0].min(x), e[1].min(y), e[2].max(x), e[3].max(y)]);
    if all[0] <= all[2] { all } else { [0.0, 0.0, 1.0, 1.0] }
}

/// The least and the greatest finite value of the faces.
fn range(faces: &[Face]) -> [f64; 2] {
    let values = faces.iter().map(|face| face.value).filter(|value| value.is_finite());
    let [low, high] = values.fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], value| [l.min(value), h.max(value)]);
    if low <= high { [low, high] } else { [0.0, 0.0] }
}

#[cfg(test)]
mod tests {
    use super::slanted;

    #[test]
    fn seeing_at_a_slant_keeps_lengths_and_angles() {
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(slanted);
        for (a, first) in axes.iter().enumerate() {
            for (b, second) in axes.iter().enumerate() {
                let product: f64 = first.iter().zip(second).map(|(x, y)| x * y).sum();
                assert!((product - f64::from(u8::from(a == b))).abs() < 1e-12, "axes {a} and {b}: {product}");
            }
        }
    }
}
