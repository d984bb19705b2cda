//! Moving elements between two halves so that fewer connections are cut.
//!
//! As C. Fiduccia and R. Mattheyses do (1982): in a pass, every element moves at most once, the one with the greatest gain
//! first, also when the gain is negative; at the end everything after the best moment is taken back. So a pass can climb
//! over small hills.

use std::collections::BinaryHeap;

use super::sides::Sides;

/// Most passes gain nothing after a few.
const PASSES: usize = 8;

/// A pass stops after this many moves without a new best moment.
const PATIENCE: usize = 500;

/// Improves two halves of some elements, of which `wanted` should be left, give or take half a percent.
pub(super) fn refine(sides: &mut Sides<'_>, elements: &[u32], wanted: usize) {
    let mut moved = vec![];
    for _ in 0..PASSES {
        if !pass(sides, elements, wanted, &mut moved) {
            break;
        }
    }
}

/// One pass. Says whether anything became better.
fn pass(sides: &mut Sides<'_>, elements: &[u32], wanted: usize, moved: &mut Vec<u32>) -> bool {
    let slack = elements.len() / 200;
    let mut left = elements.iter().filter(|element| sides.is_left(**element)).count();
    let allowed = slack.max(left.abs_diff(wanted));
    // Between two moves, one more may be missing.
    let (least, most) =
        ((wanted.saturating_sub(allowed.max(1))).max(1), (wanted + allowed.max(1)).min(elements.len() - 1));

    // The greatest gain is on top; equal gains are told apart by the number of the element.
    let mut by_side = [BinaryHeap::new(), BinaryHeap::new()];
    let put = |sides: &Sides<'_>, by_side: &mut [BinaryHeap<(i64, u32)>; 2], element: u32| {
        by_side[usize::from(sides.is_left(element))].push((sides.gain(element), element));
    };
    for element in elements.iter().filter(|element| sides.is_at_border(**element)) {
        put(sides, &mut by_side, *element);
    }
    moved.clear();
    let (mut gained, mut best, mut best_moves) = (0, 0, 0);
    sides.start_pass();
    while moved.len() - best_moves < PATIENCE {
        for (side, heap) in by_side.iter_mut().enumerate() {
            // What moved already, or has another gain by now, is passed over; the newer entry is there too.
            while heap.peek().is_some_and(|(gain, element)| {
                sides.has_moved(*element)
                    || usize::from(sides.is_left(*element)) != side
                    || sides.gain(*element) != *gain
            }) {
                heap.pop();
            }
        }
        let from_right = by_side[0].peek().filter(|_| left < most).copied();
        let from_left = by_side[1].peek().filter(|_| left > least).copied();
        let (side, (gain, element)) = match (from_right, from_left) {
            (Some(right), Some(other)) if right.0 > other.0 || (right.0 == other.0 && left <= wanted) => (0, right),
            (_, Some(other)) => (1, other),
            (Some(right), None) => (0, right),
            (None, None) => break,
        };
        by_side[side].pop();
        sides.move_once(element);
        left = if side == 0 { left + 1 } else { left - 1 };
        moved.push(element);
        gained += gain;
        for neighbour in sides.neighbours(element).filter(|neighbour| !sides.has_moved(*neighbour)) {
            put(sides, &mut by_side, neighbour);
        }
        if gained > best && left.abs_diff(wanted) <= allowed {
            (best, best_moves) = (gained, moved.len());
        }
    }
    for element in &moved[best_moves..] {
        sides.turn(*element);
    }
    best > 0
}
