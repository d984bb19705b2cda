//! A picture as dots, and as a PNG file.

use super::colour::{INK, colour};
use super::digits;
use super::layout::{BAR, GAP, MARGIN};
use super::raster::Canvas;
use super::scale::marks;
use super::scene::Scene;
use crate::error::{Error, ErrorKind};

/// Everything is drawn at this many times the size, and then made smaller.
const FINER: f64 = 2.0;

/// Paints a scene, with or without the colour bar.
pub(super) fn paint(scene: &Scene, bar: bool) -> Canvas {
    let layout = &scene.layout;
    let fine = |size: u32| (f64::from(size) * FINER) as usize;
    let mut canvas = Canvas::new(fine(layout.width), fine(layout.height));
    let mut corners = Vec::new();
    for (face, colour) in scene.faces() {
        corners.clear();
        corners.extend(face.iter().map(|[x, y]| [x * FINER, y * FINER]));
        if corners.len() > 2 {
            canvas.fill(&corners, colour);
        }
        if scene.field.is_none() || corners.len() < 3 {
            for (index, from) in corners.iter().enumerate() {
                canvas.line(*from, corners[(index + 1) % corners.len()], INK);
            }
        }
    }
    frame(scene, &mut canvas);
    if bar && let Some((_, range)) = &scene.field {
        paint_bar(scene, *range, &mut canvas);
    }
    canvas.halved()
}

/// Covers what sticks out of the view with paper.
fn frame(scene: &Scene, canvas: &mut Canvas) {
    let [left, top, width, height] = scene.layout.view.map(|value| value * FINER);
    let (right, bottom) = (left + width, top + height);
    let (far, down) = (canvas.width() as f64, canvas.height() as f64);
    for [x0, y0, x1, y1] in
        [[0.0, 0.0, far, top], [0.0, bottom, far, down], [0.0, 0.0, left, down], [right, 0.0, far, down]]
    {
        canvas.fill(&[[x0, y0], [x1, y0], [x1, y1], [x0, y1]], super::colour::WHITE);
    }
}

fn paint_bar(scene: &Scene, range: [f64; 2], canvas: &mut Canvas) {
    let [left, top, height] = scene.layout.bar().map(|value| value * FINER);
    let right = left + BAR * FINER;
    for row in 0..height as usize {
        let y = top + row as f64;
        let part = 1.0 - (row as f64 + 0.5) / height;
        canvas.fill(&[[left, y], [right, y], [right, y + 1.0], [left, y + 1.0]], colour(part));
    }
    for mark in marks(range[0], range[1]) {
        let part = if range[1] > range[0] { (mark.value - range[0]) / (range[1] - range[0]) } else { 0.5 };
        let y = top + height * (1.0 - part);
        canvas.line([right, y], [right + GAP * FINER / 2.0, y], INK);
        let size = 1.5 * FINER;
        let place = [right + GAP * FINER, (y - digits::HEIGHT * size / 2.0).max(MARGIN / 2.0)];
        digits::write(canvas, &mark.text, place, size, INK);
    }
}

/// The bytes of a PNG file.
pub(super) fn encode(canvas: &Canvas) -> Result<Vec<u8>, Error> {
    let failed = |error: png::EncodingError| Error::new(ErrorKind::Io, format!("cannot make the picture: {error}"));
    let mut bytes = Vec::new();
    // The size of a canvas was computed from integers of 32 bits.
    let mut encoder = png::Encoder::new(&mut bytes, canvas.width() as u32, canvas.height() as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(canvas.bytes()).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}
