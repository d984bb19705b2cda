//! Halves by coordinates.

use super::recursion::divide;
use crate::raw::Centres;

/// Cuts across the longest of the directions of the coordinates.
pub(super) fn by_coordinates(centres: &Centres, parts: usize) -> Vec<u32> {
    let size = centres.values.len() / centres.dim;
    divide(size, parts, |elements, wanted| {
        let extents = extents(elements, centres);
        let axis = (0..centres.dim).max_by(|a, b| extents[*a].total_cmp(&extents[*b]).then(b.cmp(a))).unwrap_or(0);
        if wanted < elements.len() {
            // Equal places are told apart by the numbers of the elements, so that the result is always the same.
            let along = |element: &u32| at(centres, *element, axis);
            elements.select_nth_unstable_by(wanted, |a, b| along(a).total_cmp(&along(b)).then(a.cmp(b)));
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
