//! Numbers made of dots, for pictures without fonts.

use super::colour::Colour;
use super::raster::Canvas;

/// Dots from one character to the next, for dots of size one.
const ADVANCE: f64 = 6.0;

/// Rows of dots in a character.
pub(super) const HEIGHT: f64 = 7.0;

/// Five dots a row, the leftmost in the highest bit.
fn rows(character: char) -> [u8; 7] {
    match character {
        '0' => [0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e],
        '1' => [0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e],
        '2' => [0x0e, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1f],
        '3' => [0x1f, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0e],
        '4' => [0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02],
        '5' => [0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e],
        '6' => [0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e],
        '7' => [0x1f, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08],
        '8' => [0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e],
        '9' => [0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c],
        '-' => [0x00, 0x00, 0x00, 0x1f, 0x00, 0x00, 0x00],
        '.' => [0x00, 0x00, 0x00, 0x00, 0x00, 0x0c, 0x0c],
        'e' => [0x00, 0x00, 0x0e, 0x11, 0x1f, 0x10, 0x0e],
        _ => [0; 7],
    }
}

/// Writes a number, its left upper corner at a place, with dots of a given size.
pub(super) fn write(canvas: &mut Canvas, text: &str, [left, top]: [f64; 2], size: f64, colour: Colour) {
    for (index, character) in text.chars().enumerate() {
        for (y, row) in rows(character).into_iter().enumerate() {
            for x in (0..5).filter(|x| row >> (4 - x) & 1 == 1) {
                let at = [left + (index as f64 * ADVANCE + f64::from(x)) * size, top + y as f64 * size];
                let dot = [at, [at[0] + size, at[1]], [at[0] + size, at[1] + size], [at[0], at[1] + size]];
                canvas.fill(&dot, colour);
            }
        }
    }
}
