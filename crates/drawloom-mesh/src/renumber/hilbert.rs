//! The order along the Hilbert curve.
//!
//! Coordinates are put on a fine grid of equal steps in all directions, and the place of each point of the grid on the
//! curve is found by the bit operations of J. Skilling, "Programming the Hilbert curve", 2004.

use crate::raw::Centres;

/// Bits for each coordinate: the place on the curve fits into 64 bits in two and in three dimensions.
const BITS: u32 = 21;

/// The elements in their new order. Elements at the same place stay in their old order.
pub(super) fn order(centres: &Centres) -> Vec<u32> {
    let keys = match centres.dim {
        2 => keys(centres.values.as_chunks::<2>().0),
        _ => keys(centres.values.as_chunks::<3>().0),
    };
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    order.sort_by_key(|element| keys[*element as usize]);
    order
}

fn keys<const DIM: usize>(points: &[[f64; DIM]]) -> Vec<u64> {
    let (mut low, mut high) = ([f64::INFINITY; DIM], [f64::NEG_INFINITY; DIM]);
    for point in points {
        for axis in 0..DIM {
            low[axis] = low[axis].min(point[axis]);
            high[axis] = high[axis].max(point[axis]);
        }
    }
    // Halves, so that no difference of finite coordinates overflows. One step for all directions keeps shapes.
    let extent = (0..DIM).map(|axis| high[axis] / 2.0 - low[axis] / 2.0).fold(0.0, f64::max);
    let steps = f64::from((1u32 << BITS) - 1);
    let step = |value: f64, low: f64| {
        let part = (value / 2.0 - low / 2.0) / extent;
        // Without extent all points are the same, and the cast makes 0 of what is not a number.
        (part * steps) as u32
    };
    points.iter().map(|point| key::<DIM>(std::array::from_fn(|axis| step(point[axis], low[axis])))).collect()
}

/// The place of a point of the grid on the curve.
fn key<const DIM: usize>(mut x: [u32; DIM]) -> u64 {
    let mut bit = 1 << (BITS - 1);
    while bit > 1 {
        let below = bit - 1;
        for axis in 0..DIM {
            if x[axis] & bit != 0 {
                x[0] ^= below;
            } else {
                let exchanged = (x[0] ^ x[axis]) & below;
                x[0] ^= exchanged;
                x[axis] ^= exchanged;
            }
        }
        bit >>= 1;
    }
    for axis in 1..DIM {
        x[axis] ^= x[axis - 1];
    }
    let mut turned = 0;
    let mut bit = 1 << (BITS - 1);
    while bit > 1 {
        if x[DIM - 1] & bit != 0 {
            turned ^= bit - 1;
        }
        bit >>= 1;
    }
    let mut key = 0;
    for bit in (0..BITS).rev() {
        for coordinate in &x {
            key = key << 1 | u64::from((coordinate ^ turned) >> bit & 1);
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::{BITS, key};

    /// The finest steps of the curve cannot be listed, but those of a coarse grid can: its points are corners of blocks
    /// which the curve fills one after another.
    fn visited<const DIM: usize>(levels: u32) -> Vec<[u32; DIM]> {
        let side = 1u32 << levels;
        let count = side.pow(DIM as u32);
        let point = |number: u32| std::array::from_fn(|axis| number / side.pow(axis as u32) % side);
        let mut points: Vec<[u32; DIM]> = (0..count).map(point).collect();
        points.sort_by_key(|point| {
            key(point.map(|coordinate| coordinate << (BITS - levels))) >> (DIM as u32 * (BITS - levels))
        });
        points
    }

    fn steps_to_a_neighbour<const DIM: usize>(points: &[[u32; DIM]]) -> bool {
        points.windows(2).all(|two| (0..DIM).map(|axis| two[0][axis].abs_diff(two[1][axis])).sum::<u32>() == 1)
    }

    #[test]
    fn the_curve_visits_every_block_and_steps_to_a_neighbour() {
        assert!(steps_to_a_neighbour(&visited::<2>(4)));
        assert!(steps_to_a_neighbour(&visited::<3>(3)));
    }
}
