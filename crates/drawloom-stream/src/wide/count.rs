//! Ranges of numbers become items.

use std::any::{Any, TypeId};
use std::ops::Range;

use super::{SLACK, reserve};

/// Numbers that can be counted up.
pub(crate) trait Number: Copy + PartialEq + 'static {
    /// The lowest number.
    const ZERO: Self;
    /// The number that is so much higher.
    fn plus(self, more: usize) -> Self;
    /// How many numbers there are from this one to before another.
    fn until(self, end: Self) -> usize;
}

impl Number for u32 {
    const ZERO: Self = 0;

    #[inline(always)]
    fn plus(self, more: usize) -> Self {
        self.wrapping_add(more as u32)
    }

    #[inline(always)]
    fn until(self, end: Self) -> usize {
        end.saturating_sub(self) as usize
    }
}

impl Number for u64 {
    const ZERO: Self = 0;

    #[inline(always)]
    fn plus(self, more: usize) -> Self {
        self.wrapping_add(more as u64)
    }

    #[inline(always)]
    fn until(self, end: Self) -> usize {
        usize::try_from(end.saturating_sub(self)).unwrap_or(usize::MAX)
    }
}

/// Appends the numbers of a range to a vector. Short ranges cost no branch that depends on their length.
#[inline(always)]
fn append_range<N: Number>(first: N, count: usize, to: &mut Vec<N>) {
    reserve(to, count);
    // SAFETY: there is space behind the last number for as many as are appended.
    let start = unsafe { to.as_mut_ptr().add(to.len()) };
    let write = |at: usize| {
        // SAFETY: there is space for `count` numbers and for SLACK more, and no more are written.
        unsafe { start.add(at).write(first.plus(at)) };
    };
    if count <= SLACK {
        (0..SLACK).for_each(write);
    } else {
        (0..count).for_each(write);
    }
    // SAFETY: so many numbers were written.
    unsafe { to.set_len(to.len() + count) };
}

/// Moves up to so many numbers from an iterator to a vector, if the iterator is a range of such numbers. Says whether the
/// iterator has ended.
// It is a vector of numbers or not, and that is found out here.
#[allow(clippy::ptr_arg)]
#[inline(always)]
pub(crate) fn count_up<N: Number, It>(items: &mut It, room: usize, to: &mut Vec<It::Item>) -> Option<bool>
where
    It: Iterator + 'static,
    It::Item: 'static,
{
    let range: &mut Range<N> = (items as &mut dyn Any).downcast_mut()?;
    let to: &mut Vec<N> = (to as &mut dyn Any).downcast_mut()?;
    let count = range.start.until(range.end).min(room);
    append_range(range.start, count, to);
    range.start = range.start.plus(count);
    Some(range.start.until(range.end) == 0)
}

/// Moves the numbers of several ranges to a vector that has so much room, if the iterators are ranges of such numbers: those of
/// ranges of which each begins where the one before it ends are counted up as one. Notes behind how many numbers each ends; says
/// how many ranges have begun, and what is left of the last.
// It is a vector of numbers or not, and that is found out here.
#[allow(clippy::ptr_arg)]
#[inline(always)]
pub(crate) fn count_all<N: Number, It>(
    iterators: impl ExactSizeIterator<Item = It>,
    room: usize,
    to: &mut Vec<It::Item>,
    ends: &mut [u64],
) -> Option<(usize, Option<It>)>
where
    It: Iterator + 'static,
    It::Item: 'static,
{
    if TypeId::of::<It>() != TypeId::of::<Range<N>>() {
        return None;
    }
    let to: &mut Vec<N> = (to as &mut dyn Any).downcast_mut()?;
    let (mut begun, mut left) = (0, room);
    // The numbers that are to be counted up: the first, the one behind the last, and how much room there was before them.
    let (mut first, mut next, mut had) = (N::ZERO, N::ZERO, room);
    for (mut iterator, end) in iterators.zip(ends) {
        let Range { start, end: stop } = (&mut iterator as &mut dyn Any).downcast_mut::<Range<N>>()?;
        begun += 1;
        if *start != next {
            append_range(first, had - left, to);
            (first, had) = (*start, left);
        }
        let more = start.until(*stop);
        // There may be more numbers than can be added up, so it is looked at what room is left for them.
        if more > left {
            append_range(first, had, to);
            *start = start.plus(left);
            return Some((begun, Some(iterator)));
        }
        next = start.plus(more);
        left -= more;
        *end = (room - left) as u64;
    }
    append_range(first, had - left, to);
    Some((begun, None))
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;
    use std::ops::Range;

    use fastrand::Rng;

    use super::{Number, count_all};

    /// What ranges are counted up to, and where they end, whatever follows what and however little room there is.
    fn counts_up<N: Number + Debug>(number: impl Fn(u32) -> N)
    where
        Range<N>: Iterator<Item = N>,
    {
        let mut rng = Rng::with_seed(5);
        for round in 0..2000 {
            let mut next = 0;
            let ranges: Vec<Range<N>> = (0..rng.usize(..16))
                .map(|_| {
                    // As a rule one begins where the one before it ends; some end before they begin.
                    let start = if rng.u32(..4) == 0 { rng.u32(..1000) } else { next };
                    let most = if rng.bool() { 5 } else { 100 };
                    next = (start + rng.u32(..most)).saturating_sub(rng.u32(..3));
                    number(start)..number(next)
                })
                .collect();
            let room = rng.usize(..400);
            let (mut expected, mut expected_ends, mut left) = (vec![number(7)], Vec::new(), None);
            for range in &ranges {
                let mut range = range.clone();
                expected.extend(range.by_ref().take(room + 1 - expected.len()));
                if range.start.until(range.end) > 0 {
                    left = Some(range);
                    break;
                }
                expected_ends.push(expected.len() as u64 - 1);
            }
            let (mut numbers, mut ends) = (vec![number(7)], [0; 16]);
            let (begun, rest) =
                count_all::<N, Range<N>>(ranges.iter().cloned(), room, &mut numbers, &mut ends).unwrap();
            assert_eq!(numbers, expected, "round {round}");
            assert_eq!(rest, left, "round {round}");
            assert_eq!(begun, expected_ends.len() + usize::from(left.is_some()), "round {round}");
            assert_eq!(ends[..expected_ends.len()], expected_ends, "round {round}");
        }
    }

    #[test]
    fn ranges_that_follow_each_other_are_counted_up_as_one() {
        counts_up(|n| n);
        counts_up(u64::from);
        let none: Option<(usize, Option<Range<u64>>)> =
            count_all::<u32, _>(std::iter::once(0_u64..3), 10, &mut Vec::new(), &mut [0; 4]);
        assert_eq!(none, None, "these are other numbers");
    }

    #[test]
    fn ranges_may_be_as_long_as_numbers_go() {
        // What is in front of the long one, and how much room there is: more, as much, none left for it.
        for (front, room) in [(vec![2..2, 0..5], 50), (vec![0..5, 5..9], 50), (vec![7..9, 0..5], 7), (vec![], 0)] {
            let ranges: Vec<Range<u64>> = front.iter().cloned().chain([0..u64::MAX, 3..u64::MAX]).collect();
            let (mut numbers, mut ends) = (Vec::new(), [0; 16]);
            let (begun, rest) =
                count_all::<u64, Range<u64>>(ranges.into_iter(), room, &mut numbers, &mut ends).unwrap();
            let poured = room - front.iter().cloned().flatten().count();
            assert_eq!((begun, rest), (front.len() + 1, Some(poured as u64..u64::MAX)));
            assert!(numbers.into_iter().eq(front.into_iter().flatten().chain(0..poured as u64)));
        }
    }
}
