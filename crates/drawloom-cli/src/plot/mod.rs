//! Pictures of a mesh, or of a field on it, as SVG or PNG.
//!
//! Small meshes become polygons in the SVG. Large ones are drawn into an image first, which the SVG then holds: a picture
//! has far fewer dots than a large mesh has corners. Meshes in space are seen from above at a slant.
//!
//! | file | what is in it |
//! |---|---|
//! | `scene` | the faces to draw, and where they are in the picture |
//! | `layout` | where the field and its scale are |
//! | `colour` | colours of values |
//! | `scale` | numbers beside the colour bar |
//! | `png`, `svg` | the two formats |

mod colour;
mod layout;
mod png;
mod scale;
mod scene;
mod svg;
#[cfg(test)]
mod tests;

use drawloom_mesh::raw::RawMesh;
use scene::Scene;

/// Pictures are at least this wide, so that the colour bar fits.
const LEAST_WIDTH: u32 = 200;

/// Pictures are at most this wide.
const MOST_WIDTH: u32 = 8192;

/// A picture to be made.
pub(crate) struct Plot<'a> {
    mesh: &'a RawMesh,
    field: Option<&'a str>,
    component: usize,
    width: u32,
    window: Option<[f64; 4]>,
    range: Option<[f64; 2]>,
}

impl<'a> Plot<'a> {
    /// A picture of the cells of a mesh.
    pub(crate) fn new(mesh: &'a RawMesh) -> Self {
        Self { mesh, field: None, component: 0, width: 1200, window: None, range: None }
    }

    /// Colours the cells by a dat, on the cells or on their corners.
    #[must_use]
    pub(crate) fn field(mut self, dat: &'a str) -> Self {
        self.field = Some(dat);
        self
    }

    /// Which of the values of each element to show; the first one if nothing is said.
    #[must_use]
    pub(crate) fn component(mut self, component: usize) -> Self {
        self.component = component;
        self
    }

    /// The width of the picture in dots, from 200 to 8192; 1200 if nothing is said. The height follows.
    #[must_use]
    pub(crate) fn width(mut self, width: u32) -> Self {
        self.width = width;
        self
    }

    /// Shows only a part: the least x and y, and the greatest x and y.
    #[must_use]
    pub(crate) fn window(mut self, window: [f64; 4]) -> Self {
        self.window = Some(window);
        self
    }

    /// The values that get the first and the last colour; the least and the greatest one in the picture if nothing is
    /// said.
    #[must_use]
    pub(crate) fn range(mut self, lowest: f64, highest: f64) -> Self {
        self.range = Some([lowest, highest]);
        self
    }

    /// The picture as a PNG file.
    pub(crate) fn png(&self) -> Result<Vec<u8>, String> {
        let scene = self.scene()?;
        png::encode(&png::paint(&scene, true)?)
    }

    /// The picture as an SVG file.
    pub(crate) fn svg(&self) -> Result<String, String> {
        svg::draw(&self.scene()?)
    }

    fn scene(&self) -> Result<Scene, String> {
        if !(LEAST_WIDTH..=MOST_WIDTH).contains(&self.width) {
            return Err(format!("a picture is {LEAST_WIDTH} to {MOST_WIDTH} dots wide, not {}", self.width));
        }
        if let Some([x0, y0, x1, y1]) = self.window
            && !(x1 - x0 > 0.0 && y1 - y0 > 0.0 && (x1 - x0).is_finite() && (y1 - y0).is_finite())
        {
            return Err(format!("the window from ({x0}, {y0}) to ({x1}, {y1}) is empty"));
        }
        if let Some([lowest, highest]) = self.range
            && !(highest - lowest > 0.0 && (highest - lowest).is_finite())
        {
            return Err(format!("the range from {lowest} to {highest} is empty"));
        }
        Scene::new(self)
    }
}
