//! Eight numbers that start at a cache line.
//!
//! The one idea: a vector of lines is a vector of numbers whose first one is aligned, which an ordinary vector of numbers
//! is not. Kernels load whole lines, and a load that straddles two of them takes twice as long.

use drawloom_runtime::portable;

/// Numbers in a line.
pub(super) const WIDTH: usize = 8;

portable! {
    /// A cache line of numbers.
    #[repr(align(64))]
    #[derive(Debug, Default, PartialEq)]
    pub struct Line {
        numbers: [f64; WIDTH],
    }
}

// The casts below rest on this: lines follow each other without a gap.
const _: () = assert!(size_of::<Line>() == WIDTH * size_of::<f64>() && align_of::<Line>() >= align_of::<f64>());

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
    // SAFETY: a line is `WIDTH` numbers and nothing else, so the slice has at least `count` of them, aligned, initialised
    // and borrowed as long as the result.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), count) }
}

/// The first `count` numbers of some lines, to write.
///
/// # Panics
/// When there are fewer.
pub(super) fn numbers_mut(lines: &mut [Line], count: usize) -> &mut [f64] {
    assert!(count <= lines.len() * WIDTH, "{count} numbers of {} lines", lines.len());
    // SAFETY: as above; the lines are borrowed for writing, and any number may be written into them.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), count) }
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
