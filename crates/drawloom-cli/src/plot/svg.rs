//! A picture as an SVG file.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quick_xml::escape::escape;

use super::colour::{Colour, INK, colour};
use super::layout::{BAR, GAP};
use super::scale::marks;
use super::scene::Scene;

/// More faces than this are drawn as an image.
const MOST_FACES: usize = 20_000;

/// The text of the file.
pub(super) fn draw(scene: &Scene) -> Result<String, String> {
    let mut text = String::new();
    write_all(scene, &mut text)?;
    Ok(text)
}

fn write_all(scene: &Scene, text: &mut String) -> Result<(), String> {
    let (width, height) = (scene.layout.width, scene.layout.height);
    let title = scene.field.as_ref().map_or("mesh", |(name, _)| name);
    put(
        text,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n"
        ),
    );
    put(text, format_args!("<title>{}</title>\n", escape(title)));
    put(text, format_args!("<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"));
    if scene.len() > MOST_FACES {
        image(scene, text)?;
    } else {
        polygons(scene, text);
    }
    if let Some((name, range)) = &scene.field {
        bar(scene, name, *range, text);
    }
    put(text, format_args!("</svg>\n"));
    Ok(())
}

/// The mesh as an image inside the SVG.
fn image(scene: &Scene, text: &mut String) -> Result<(), String> {
    let picture = super::png::encode(&super::png::paint(scene, false)?)?;
    let (width, height) = (scene.layout.width, scene.layout.height);
    put(text, format_args!("<image width=\"{width}\" height=\"{height}\" href=\"data:image/png;base64,"));
    STANDARD.encode_string(&picture, text);
    put(text, format_args!("\"/>\n"));
    Ok(())
}

fn polygons(scene: &Scene, text: &mut String) {
    let [left, top, width, height] = scene.layout.view;
    put(
        text,
        format_args!(
            "<clipPath id=\"view\"><rect x=\"{left:.2}\" y=\"{top:.2}\" width=\"{width:.2}\" height=\"{height:.2}\"/></clipPath>\n"
        ),
    );
    let ink = if scene.field.is_some() { String::new() } else { format!(" stroke=\"{}\"", hex(INK)) };
    put(text, format_args!("<g clip-path=\"url(#view)\" stroke-width=\"0.5\" stroke-linejoin=\"round\"{ink}>\n"));
    for (corners, colour) in scene.faces() {
        put(text, format_args!("<path d=\""));
        for (index, [x, y]) in corners.iter().enumerate() {
            put(text, format_args!("{}{x:.2} {y:.2}", if index == 0 { 'M' } else { 'L' }));
        }
        // A stroke of the same colour hides the seams between faces.
        let colour = hex(colour);
        let stroke = if scene.field.is_some() { format!(" stroke=\"{colour}\"") } else { String::new() };
        put(text, format_args!("Z\" fill=\"{colour}\"{stroke}/>\n"));
    }
    put(text, format_args!("</g>\n"));
}

fn bar(scene: &Scene, name: &str, range: [f64; 2], text: &mut String) {
    let [left, top, height] = scene.layout.bar();
    put(text, format_args!("<linearGradient id=\"bar\" x1=\"0\" y1=\"1\" x2=\"0\" y2=\"0\">"));
    for step in 0..=18 {
        let part = f64::from(step) / 18.0;
        put(text, format_args!("<stop offset=\"{part:.4}\" stop-color=\"{}\"/>", hex(colour(part))));
    }
    put(text, format_args!("</linearGradient>\n"));
    put(
        text,
        format_args!(
            "<rect x=\"{left:.2}\" y=\"{top:.2}\" width=\"{BAR}\" height=\"{height:.2}\" fill=\"url(#bar)\"/>\n"
        ),
    );
    let ink = hex(INK);
    for mark in marks(range[0], range[1]) {
        let part = if range[1] > range[0] { (mark.value - range[0]) / (range[1] - range[0]) } else { 0.5 };
        let (y, right) = (top + height * (1.0 - part), left + BAR);
        put(text, format_args!("<path d=\"M{right:.2} {y:.2}h{}\" stroke=\"{ink}\"/>", GAP / 2.0));
        put(
            text,
            format_args!("<text x=\"{:.2}\" y=\"{:.2}\" fill=\"{ink}\">{}</text>\n", right + GAP, y + 4.5, mark.text),
        );
    }
    put(text, format_args!("<text x=\"{left:.2}\" y=\"{:.2}\" fill=\"{ink}\">{}</text>\n", top - 4.0, escape(name)));
}

fn hex([red, green, blue]: Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Writing to a string does not fail.
fn put(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    let _ = text.write_fmt(arguments);
}
