//! A picture as dots, and as a PNG file.

use font8x8::UnicodeFonts;
use tiny_skia::{
    Color, FillRule, FilterQuality, Paint, Path, PathBuilder, Pixmap, PixmapPaint, Rect, Stroke, Transform,
};

use super::colour::{Colour, INK, WHITE, colour};
use super::layout::{BAR, GAP, MARGIN};
use super::scale::marks;
use super::scene::Scene;

/// Everything is drawn at this many times the size, without smooth edges, so that faces side by side leave no seam; then it is
/// made smaller.
const FINER: f32 = 2.0;

/// Width and height of a character.
const CHARACTER: [f64; 2] = [8.0, 12.0];

/// Paints a scene, with or without the colour bar.
pub(super) fn paint(scene: &Scene, bar: bool) -> Result<Pixmap, String> {
    let (width, height) = (scene.layout.width, scene.layout.height);
    let mut canvas = Canvas { dots: pixmap(width * FINER as u32, height * FINER as u32)? };
    for (corners, colour) in scene.faces() {
        let Some(outline) = outline(corners) else { continue };
        if corners.len() > 2 {
            canvas.fill(&outline, colour);
        }
        if scene.field.is_none() || corners.len() < 3 {
            canvas.draw(&outline);
        }
    }
    canvas.frame(scene);
    if bar && let Some((name, range)) = &scene.field {
        canvas.bar(scene, name, *range);
    }
    let mut picture = pixmap(width, height)?;
    let smooth = PixmapPaint { quality: FilterQuality::Bilinear, ..PixmapPaint::default() };
    picture.draw_pixmap(0, 0, canvas.dots.as_ref(), &smooth, Transform::from_scale(1.0 / FINER, 1.0 / FINER), None);
    Ok(picture)
}

/// White paper.
fn pixmap(width: u32, height: u32) -> Result<Pixmap, String> {
    let mut pixmap = Pixmap::new(width, height).ok_or("the picture is too large")?;
    pixmap.fill(Color::WHITE);
    Ok(pixmap)
}

/// A closed line through the corners, if they are anywhere near the picture.
fn outline(corners: &[[f64; 2]]) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (index, [x, y]) in corners.iter().map(|corner| corner.map(|place| place as f32)).enumerate() {
        if index == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
    }
    path.close();
    path.finish()
}

/// The dots that are drawn on; places are those of the finished picture.
struct Canvas {
    dots: Pixmap,
}

impl Canvas {
    fn fill(&mut self, path: &Path, colour: Colour) {
        let finer = Transform::from_scale(FINER, FINER);
        self.dots.fill_path(path, &ink(colour), FillRule::EvenOdd, finer, None);
    }

    fn draw(&mut self, path: &Path) {
        let stroke = Stroke { width: 1.0 / FINER, ..Stroke::default() };
        self.dots.stroke_path(path, &ink(INK), &stroke, Transform::from_scale(FINER, FINER), None);
    }

    fn rectangle(&mut self, [left, top, right, bottom]: [f64; 4], colour: Colour) {
        let [left, top, right, bottom] = [left, top, right, bottom].map(|place| place as f32);
        if let Some(rectangle) = Rect::from_ltrb(left, top, right, bottom) {
            self.dots.fill_rect(rectangle, &ink(colour), Transform::from_scale(FINER, FINER), None);
        }
    }

    /// Covers what sticks out of the view with paper.
    fn frame(&mut self, scene: &Scene) {
        let [left, top, width, height] = scene.layout.view;
        let (right, bottom) = (left + width, top + height);
        let (far, down) = (f64::from(scene.layout.width), f64::from(scene.layout.height));
        for around in [[0.0, 0.0, far, top], [0.0, bottom, far, down], [0.0, 0.0, left, down], [right, 0.0, far, down]]
        {
            self.rectangle(around, WHITE);
        }
    }

    /// Draws the colour bar with its numbers, and the name of the field above it.
    fn bar(&mut self, scene: &Scene, name: &str, range: [f64; 2]) {
        let [left, top, height] = scene.layout.bar();
        let right = left + BAR;
        for row in 0..height as usize {
            let y = top + row as f64;
            self.rectangle([left, y, right, (y + 1.0).min(top + height)], colour(1.0 - (row as f64 + 0.5) / height));
        }
        for mark in marks(range[0], range[1]) {
            let part = if range[1] > range[0] { (mark.value - range[0]) / (range[1] - range[0]) } else { 0.5 };
            let y = top + height * (1.0 - part);
            self.rectangle([right, y - 0.5, right + GAP / 2.0, y + 0.5], INK);
            self.text(&mark.text, [right + GAP, (y - CHARACTER[1] / 2.0).max(MARGIN)]);
        }
        let room = f64::from(scene.layout.width) - name.chars().count() as f64 * CHARACTER[0];
        self.text(name, [left.min(room).max(0.0), 2.0]);
    }

    /// Writes text, its left upper corner at a place.
    fn text(&mut self, text: &str, [left, top]: [f64; 2]) {
        let (across, down) = (CHARACTER[0] / 8.0, CHARACTER[1] / 8.0);
        for (index, character) in text.chars().enumerate() {
            let basic = font8x8::BASIC_FONTS.get(character).or_else(|| font8x8::LATIN_FONTS.get(character));
            let rows = basic.or_else(|| font8x8::GREEK_FONTS.get(character)).or_else(|| font8x8::BASIC_FONTS.get('?'));
            for (row, bits) in rows.unwrap_or_default().into_iter().enumerate() {
                for column in (0..8).filter(|column| bits >> column & 1 == 1) {
                    let x = left + index as f64 * CHARACTER[0] + f64::from(column) * across;
                    let y = top + row as f64 * down;
                    self.rectangle([x, y, x + across, y + down], INK);
                }
            }
        }
    }
}

fn ink([red, green, blue]: Colour) -> Paint<'static> {
    let mut paint = Paint { anti_alias: false, ..Paint::default() };
    paint.set_color_rgba8(red, green, blue, 255);
    paint
}

/// The bytes of a PNG file.
pub(super) fn encode(picture: &Pixmap) -> Result<Vec<u8>, String> {
    let failed = |error: png::EncodingError| format!("cannot make the picture: {error}");
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, picture.width(), picture.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(failed)?;
    let dots: Vec<u8> = picture.pixels().iter().flat_map(|dot| [dot.red(), dot.green(), dot.blue()]).collect();
    writer.write_image_data(&dots).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}
