//! Eight numbers that start at a cache line.
//!
//! The one idea: a vector of lines is a vector of numbers whose first one is aligned, which an ordinary vector of numbers
//! is not. Kernels load whole lines, and a load that straddles two of them takes twice as long.

use bytemuck::{Pod, Zeroable};
use drawloom_runtime::Element;

/// Numbers in a line.
pub(super) const WIDTH: usize = 8;

/// A cache line of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Element, Pod, Zeroable)]
#[repr(C, align(64))]
pub(super) struct Line {
    numbers: [f64; WIDTH],
}

/// How many lines hold so many numbers.
pub(super) fn lines_for(numbers: usize) -> usize {
    numbers.div_ceil(WIDTH)
}

/// The first `count` numbers of some lines.
///
/// # Panics
/// When there are fewer.
pub(super) fn numbers(lines: &[Line], count: usize) -> &[f64] {
    assert!(count <= lines.len() * WIDTH, "{count} numbers of {} lines", lines.len());
    &bytemuck::cast_slice(lines)[..count]
}

/// The first `count` numbers of some lines, to write.
///
/// # Panics
/// When there are fewer.
pub(super) fn numbers_mut(lines: &mut [Line], count: usize) -> &mut [f64] {
    assert!(count <= lines.len() * WIDTH, "{count} numbers of {} lines", lines.len());
    &mut bytemuck::cast_slice_mut(lines)[..count]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_where_they_were_written() {
        let mut lines = vec![Line::default(); lines_for(19)];
        assert_eq!(lines.len(), 3);
        numbers_mut(&mut lines, 19).iter_mut().enumerate().for_each(|(at, number)| *number = at as f64);
        assert_eq!(numbers(&lines, 19).iter().sum::<f64>(), 171.0);
        assert_eq!(numbers(&lines, 19).as_ptr().align_offset(64), 0);
        assert_eq!(numbers(&lines[1..], 2), [8.0, 9.0]);
        assert_eq!(numbers(&[], 0), [0.0; 0]);
    }

    #[test]
    #[should_panic(expected = "17 numbers of 2 lines")]
    fn no_more_numbers_are_given_than_there_are() {
        numbers(&[Line::default(); 2], 17);
    }
}
