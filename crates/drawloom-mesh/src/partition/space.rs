//! Halves by coordinates.

use super::recursion::divide;
use crate::raw::Centres;

/// Turning towards the widest direction stops after this many steps.
const TURNS: usize = 40;

/// Cuts across the longest of the directions of the coordinates.
pub(super) fn by_coordinates(centres: &Centres, parts: usize) -> Vec<u32> {
    cut(centres, parts, |elements, centres| {
        let mut longest = [0.0; 3];
        let extents = extents(elements, centres);
        let axis = (0..centres.dim).max_by(|a, b| extents[*a].total_cmp(&extents[*b]).then(b.cmp(a))).unwrap_or(0);
        longest[axis] = 1.0;
        longest
    })
}

/// Cuts across the direction of the greatest spread.
pub(super) fn inertial(centres: &Centres, parts: usize) -> Vec<u32> {
    cut(centres, parts, widest)
}

fn cut(centres: &Centres, parts: usize, direction: impl Fn(&[u32], &Centres) -> [f64; 3]) -> Vec<u32> {
    let size = centres.values.len() / centres.dim;
    let mut along = vec![0.0; size];
    divide(size, parts, |elements, wanted| {
        let direction = direction(elements, centres);
        for element in elements.iter() {
            // Halves, so that the sum of finite coordinates stays finite.
            along[*element as usize] =
                (0..centres.dim).map(|axis| at(centres, *element, axis) * 0.25 * direction[axis]).sum::<f64>();
        }
        if wanted < elements.len() {
            // Equal places are told apart by the numbers of the elements, so that the result is always the same.
            let order = |a: &u32, b: &u32| along[*a as usize].total_cmp(&along[*b as usize]).then(a.cmp(b));
            elements.select_nth_unstable_by(wanted, order);
        }
        wanted
    })
}

fn at(centres: &Centres, element: u32, axis: usize) -> f64 {
    centres.values[element as usize * centres.dim + axis]
}

/// How far the elements reach in each direction, in halves, so that nothing overflows.
fn extents(elements: &[u32], centres: &Centres) -> [f64; 3] {
    let mut extents = [0.0; 3];
    for (axis, extent) in extents.iter_mut().enumerate().take(centres.dim) {
        let values = elements.iter().map(|element| at(centres, *element, axis));
        let low = values.clone().fold(f64::INFINITY, f64::min);
        *extent = values.fold(f64::NEG_INFINITY, f64::max) / 2.0 - low / 2.0;
    }
    extents
}

/// The direction of the greatest spread: the main axis of the covariance, found by repeated multiplication.
fn widest(elements: &[u32], centres: &Centres) -> [f64; 3] {
    let extent = extents(elements, centres).into_iter().fold(0.0, f64::max);
    if extent == 0.0 {
        return [1.0, 0.0, 0.0];
    }
    let count = elements.len() as f64;
    let scaled = |element: u32| -> [f64; 3] {
        std::array::from_fn(|axis| if axis < centres.dim { at(centres, element, axis) / extent } else { 0.0 })
    };
    let mut mean = [0.0; 3];
    for element in elements {
        let place = scaled(*element);
        (0..3).for_each(|axis| mean[axis] += place[axis] / count);
    }
    let mut covariance = [[0.0; 3]; 3];
    for element in elements {
        let place = scaled(*element);
        let off: [f64; 3] = std::array::from_fn(|axis| place[axis] - mean[axis]);
        for a in 0..3 {
            for b in 0..3 {
                covariance[a][b] += off[a] * off[b] / count;
            }
        }
    }
    // No axis of a regular mesh is at a right angle to this, so that it always turns.
    let mut direction = [0.8, 0.5, 0.33];
    for _ in 0..TURNS {
        let turned: [f64; 3] = std::array::from_fn(|a| (0..3).map(|b| covariance[a][b] * direction[b]).sum());
        let length = turned.iter().map(|part| part * part).sum::<f64>().sqrt();
        if !(length > 0.0 && length.is_finite()) {
            break;
        }
        direction = turned.map(|part| part / length);
    }
    direction
}

#[cfg(test)]
mod tests {
    use super::{by_coordinates, inertial};
    use crate::raw::Centres;

    fn grid(across: usize, up: usize, turn: f64) -> Centres {
        let (sine, cosine) = turn.sin_cos();
        let point = |n: usize| ((n % across) as f64, (n / across) as f64);
        let turned = |(x, y): (f64, f64)| [x * cosine - y * sine, x * sine + y * cosine];
        Centres { dim: 2, values: (0..across * up).flat_map(|n| turned(point(n))).collect() }
    }

    #[test]
    fn the_longest_direction_is_cut() {
        let owners = by_coordinates(&grid(10, 4, 0.0), 2);
        assert!((0..40).all(|n| owners[n] == u32::from(n % 10 >= 5)), "{owners:?}");
    }

    #[test]
    fn a_slanted_strip_is_cut_across() {
        let owners = inertial(&grid(40, 2, 0.7), 2);
        let sides: Vec<u32> = (0..40).map(|n| owners[n]).collect();
        assert!(sides.windows(2).filter(|two| two[0] != two[1]).count() == 1, "{sides:?}");
        assert_eq!(sides[..40], owners[40..], "both rows are cut at the same place");
    }

    #[test]
    fn places_that_are_all_the_same_or_extreme_are_divided_too() {
        for values in [vec![1.0; 20], vec![f64::MAX; 20], (0..20).map(|n| [f64::MAX, f64::MIN][n % 2]).collect()] {
            let centres = Centres { dim: 2, values };
            for owners in [by_coordinates(&centres, 2), inertial(&centres, 2)] {
                assert_eq!(owners.iter().filter(|owner| **owner == 0).count(), 5);
            }
        }
    }
}
