//! Where the nodes are.

use super::spline::Spline;

/// How many points of the upper surface the spline goes through.
const SURFACE_POINTS: usize = 100;

/// Where the plane is unfolded: just inside the leading edge.
const FOLD: f64 = 0.0077;

/// Half the width, and the height, of the unfolded rectangle.
const EXTENT: f64 = 3.0;

/// The coordinates of `(3 i + 1) (j + 1)` nodes, row after row outwards, rounded to six decimals.
pub(super) fn coordinates(i: usize, j: usize) -> Vec<[f64; 2]> {
    let wall = wall(i);
    let width = 3 * i;
    let across: Vec<f64> = (0..=width).map(|k| spaced(-EXTENT, EXTENT, width, k)).collect();
    let mut coordinates = Vec::with_capacity((width + 1) * (j + 1));
    for row in 0..=j {
        for (x, bottom) in across.iter().zip(&wall) {
            let y = spaced(*bottom, EXTENT, j, row);
            // The published generator squares with fused operations. Where x and y are almost equal, that decides the
            // sign of a real part that is rounded to zero, and with it a byte of the file.
            let (real, imaginary) = (x.mul_add(*x, -(y * y)), x.mul_add(y, y * x));
            coordinates.push([six_decimals(real), six_decimals(imaginary)]);
        }
    }
    coordinates
}

/// A number rounded to six decimals, as a text with so many is read again. Where scaling may decide the rounding, by way of
/// that text.
fn six_decimals(value: f64) -> f64 {
    let scaled = value * 1e6;
    let from_half = (scaled - scaled.floor() - 0.5).abs();
    // Scaling is wrong by less than half a unit in the last place, which is below 1e-4 for numbers of this size.
    match scaled.abs() < 1e12 && from_half > 1e-3 {
        true => scaled.round() / 1e6,
        false => format!("{value:.6}").parse().unwrap_or(value),
    }
}

/// The height of the lower wall in the unfolded plane: the airfoil in the middle third, and zero on the cut line.
fn wall(i: usize) -> Vec<f64> {
    let (x, y) = unfolded_surface();
    let spline = Spline::through(x, y);
    let width = 3 * i;
    let height = |k| if i < k && k < 2 * i { spline.at(spaced(-EXTENT, EXTENT, width, k)) } else { 0.0 };
    (0..=width).map(height).collect()
}

/// The points of both surfaces in the unfolded plane, from the lower trailing edge to the upper one.
fn unfolded_surface() -> (Vec<f64>, Vec<f64>) {
    let mut upper = Vec::with_capacity(SURFACE_POINTS);
    for k in 0..SURFACE_POINTS {
        let sine = spaced(0.0, std::f64::consts::FRAC_PI_2, SURFACE_POINTS - 1, k).sin();
        let x = sine * sine;
        // The published thickness polynomial is not quite closed at the trailing edge; here it is.
        let closed = k == SURFACE_POINTS - 1;
        let y = if closed { 0.0 } else { thickness(x) };
        upper.push(square_root(x - FOLD, y));
    }
    let lower = upper.iter().rev().map(|(x, y)| (-x, *y));
    lower.chain(upper.iter().skip(1).copied()).unzip()
}

fn thickness(x: f64) -> f64 {
    let polynomial = 0.298222773 * x.sqrt() - 0.127125232 * x - 0.357907906 * (x * x) + 0.291984971 * (x * x * x)
        - 0.105174696 * ((x * x) * (x * x));
    0.594689181 * polynomial
}

/// The principal square root of a complex number whose imaginary part is not negative.
fn square_root(real: f64, imaginary: f64) -> (f64, f64) {
    let length = real.hypot(imaginary);
    if real > 0.0 {
        let root = (0.5 * (length + real)).sqrt();
        (root, 0.5 * (imaginary / root))
    } else {
        let root = (0.5 * (length - real)).sqrt();
        (0.5 * (imaginary / root), root)
    }
}

/// Point `k` of those that divide a stretch into `parts` equal parts; the last one is exact.
fn spaced(start: f64, stop: f64, parts: usize, k: usize) -> f64 {
    if k == parts { stop } else { k as f64 * ((stop - start) / parts as f64) + start }
}

#[cfg(test)]
mod tests {
    use super::{coordinates, wall};

    #[test]
    fn the_wall_is_symmetric_and_flat_on_the_cut_line() {
        let wall = wall(20);
        assert_eq!(wall.len(), 61);
        assert!(wall[..=20].iter().chain(&wall[40..]).all(|y| *y == 0.0));
        assert!((21..40).all(|k| wall[k] > 0.0 && (wall[k] - wall[60 - k]).abs() < 1e-12));
    }

    #[test]
    fn the_far_corners_meet_the_unfolded_rectangle() {
        let nodes = coordinates(2, 3);
        assert_eq!(nodes[0], [9.0, 0.0]);
        assert_eq!(nodes[7 * 3], [0.0, -18.0]);
        assert_eq!(nodes[7 * 3 + 6], [0.0, 18.0]);
    }
}
