//! Colours of values.
//!
//! The map is viridis (S. van der Walt and N. Smith, 2015, in the public domain): equal steps of the value look like equal
//! steps of the colour, also in grey and to people who cannot tell red from green.

/// Red, green and blue.
pub(super) type Colour = [u8; 3];

/// The paper.
pub(super) const WHITE: Colour = [255, 255, 255];

/// Outlines and numbers.
pub(super) const INK: Colour = [60, 60, 60];

/// A value that is not a finite number: in no way a colour of the map.
pub(super) const NOTHING: Colour = [255, 0, 255];

/// The map at equal steps.
const STOPS: [Colour; 10] = [
    [0x44, 0x01, 0x54],
    [0x48, 0x28, 0x78],
    [0x3e, 0x4a, 0x89],
    [0x31, 0x68, 0x8e],
    [0x26, 0x82, 0x8e],
    [0x1f, 0x9e, 0x89],
    [0x35, 0xb7, 0x79],
    [0x6d, 0xcd, 0x59],
    [0xb4, 0xde, 0x2c],
    [0xfd, 0xe7, 0x25],
];

/// The colour of a part of the range: 0 is its start and 1 its end, and what lies outside has the colour of the end.
pub(super) fn colour(part: f64) -> Colour {
    if part.is_nan() {
        return NOTHING;
    }
    let place = part.clamp(0.0, 1.0) * (STOPS.len() - 1) as f64;
    let below = (place as usize).min(STOPS.len() - 2);
    let share = place - below as f64;
    let between = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
    std::array::from_fn(|channel| between(STOPS[below][channel], STOPS[below + 1][channel]))
}

#[cfg(test)]
mod tests {
    use super::{NOTHING, STOPS, colour};

    #[test]
    fn the_ends_and_what_lies_beyond_have_the_colours_of_the_ends() {
        assert_eq!((colour(0.0), colour(-3.0), colour(f64::NEG_INFINITY)), (STOPS[0], STOPS[0], STOPS[0]));
        assert_eq!((colour(1.0), colour(7.0)), (STOPS[9], STOPS[9]));
        assert_eq!(colour(f64::NAN), NOTHING);
    }

    #[test]
    fn greater_values_are_lighter() {
        let light = |part: f64| {
            let [red, green, blue] = colour(part).map(f64::from);
            0.2126 * red + 0.7152 * green + 0.0722 * blue
        };
        assert!((0..100).all(|step| light(f64::from(step) / 100.0) < light(f64::from(step + 1) / 100.0)));
    }
}
