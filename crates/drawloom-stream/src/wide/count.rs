//! Ranges of numbers become items.

use std::any::{Any, TypeId};
use std::ops::Range;

use super::{SLACK, reserve};

/// Numbers that a range counts up.
pub(crate) trait Number: Copy + PartialEq + 'static {
    /// The number that is higher by `more`. It wraps around.
    fn plus(self, more: usize) -> Self;
    /// How many numbers there are from this one to before another.
    fn until(self, end: Self) -> usize;
}

macro_rules! number {
    ($($type:ident)*) => { $(
        impl Number for $type {
            #[inline(always)]
            fn plus(self, more: usize) -> Self {
                self.wrapping_add(more as $type)
            }

            #[inline(always)]
            fn until(self, end: Self) -> usize {
                usize::try_from(end.saturating_sub(self)).unwrap_or(usize::MAX)
            }
        }
    )* };
}
number! { u32 u64 }

/// Appends the numbers of a range to a vector. Whole registers are written, so that there is no branch for what is left.
#[inline(always)]
fn append_range<N: Number>(first: N, count: usize, to: &mut Vec<N>) {
    reserve(to, count, SLACK);
    // SAFETY: there is space behind the last number for as many as are appended.
    let start = unsafe { to.as_mut_ptr().add(to.len()) };
    for at in 0..count.next_multiple_of(SLACK) {
        // SAFETY: there is space for `count` numbers and for SLACK more, and less than SLACK are written behind the last.
        unsafe { start.add(at).write(first.plus(at)) };
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

/// Moves the numbers of some ranges to a vector, if the iterators are ranges of such numbers, and notes where each ends, counted from the
/// place `before`. There is room for so many numbers behind that place. Says how many ranges have begun, and what is left of the last.
///
/// Ranges that follow each other, such as the rows of a sparse matrix, are written as one: then no loop depends on the length of a range.
#[allow(clippy::ptr_arg)]
#[inline(always)]
pub(crate) fn count_up_all<N: Number, It>(
    iterators: impl ExactSizeIterator<Item = It>,
    (before, room): (usize, usize),
    to: &mut Vec<It::Item>,
    ends: &mut [u32],
) -> Option<(usize, Option<It>)>
where
    It: Iterator + 'static,
    It::Item: 'static,
{
    let to: &mut Vec<N> = (to as &mut dyn Any).downcast_mut()?;
    if TypeId::of::<It>() != TypeId::of::<Range<N>>() {
        return None;
    }
    let (all, mut left, mut row) = (iterators.len(), before + room - to.len(), None::<(N, usize)>);
    for (begun, (mut iterator, end)) in (1..).zip(iterators.zip(ends)) {
        let range: &mut Range<N> = (&mut iterator as &mut dyn Any).downcast_mut()?;
        let length = range.start.until(range.end);
        let count = length.min(left);
        row = Some(match row {
            Some((first, counted)) if first.plus(counted) == range.start => (first, counted + count),
            Some((first, counted)) => {
                append_range(first, counted, to);
                (range.start, count)
            }
            None => (range.start, count),
        });
        left -= count;
        *end = (room - left) as u32;
        if count < length || left == 0 {
            range.start = range.start.plus(count);
            row.into_iter().for_each(|(first, counted)| append_range(first, counted, to));
            let is_left = count < length;
            return Some((begun, is_left.then_some(iterator)));
        }
    }
    row.into_iter().for_each(|(first, counted)| append_range(first, counted, to));
    Some((all, None))
}

#[cfg(test)]
mod tests {
    use super::{count_up, count_up_all};

    #[test]
    fn ranges_that_follow_each_other_or_do_not_are_counted_up() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..2000 {
            let mut at = 0_u64;
            let ranges: Vec<std::ops::Range<u64>> = (0..rng.usize(1..20))
                .map(|_| {
                    let start = if rng.u8(..4) == 0 { rng.u64(..50) } else { at };
                    at = start + rng.u64(..40);
                    start..if rng.u8(..9) == 0 { start / 2 } else { at }
                })
                .collect();
            let (room, mut found, mut ends) = (rng.usize(..300), vec![7, 7, 7], [0; 20]);
            // One of the three that are there counts.
            let (begun, rest) =
                count_up_all::<u64, _>(ranges.iter().cloned(), (2, room + 1), &mut found, &mut ends).unwrap();
            let all: Vec<u64> = ranges[..begun].iter().cloned().flatten().take(room).collect();
            assert_eq!(found[3..], all);
            let left = ranges[..begun].iter().cloned().map(Iterator::count).sum::<usize>() - all.len();
            assert_eq!(rest.as_ref().map_or(0, |rest| rest.clone().count()), left);
            assert!(begun == ranges.len() || left > 0 || all.len() == room, "{begun} {left}");
            let mut counted = 1;
            for (range, end) in ranges.iter().zip(&ends).take(begun - usize::from(rest.is_some())) {
                counted += range.clone().count();
                assert_eq!(*end as usize, counted);
            }
        }
        assert!(count_up_all::<u32, _>(std::iter::once(0_u64..3), (0, 9), &mut Vec::new(), &mut [0]).is_none());
    }

    /// What a range becomes in steps of some room each.
    fn counts_up<N: super::Number + std::fmt::Debug>(number: impl Fn(u32) -> N)
    where
        std::ops::Range<N>: Iterator<Item = N>,
    {
        for (length, room) in [(0, 0), (0, 5), (5, 5), (6, 5), (31, 32), (32, 32), (33, 32), (1000, 7), (1000, 1000)] {
            let (mut range, mut found) = (number(3)..number(3 + length), vec![number(9)]);
            for taken in 0.. {
                let before = found.len();
                let ended = count_up::<N, _>(&mut range, room, &mut found).unwrap();
                let expected = (length as usize - taken * room.min(length as usize)).min(room);
                assert_eq!(found.len() - before, expected, "{length} numbers, {room} at a time");
                if ended || room == 0 {
                    assert_eq!(ended, length == 0 || room > 0);
                    break;
                }
            }
            let all = if room == 0 { 0 } else { length };
            assert!(found.into_iter().eq(std::iter::once(number(9)).chain((0..all).map(|n| number(3 + n)))));
        }
    }

    #[test]
    fn a_range_is_counted_up_as_far_as_there_is_room() {
        counts_up(|n| n);
        counts_up(u64::from);
        assert_eq!(count_up::<u32, _>(&mut (0..4_u64), 4, &mut Vec::new()), None, "these are other numbers");
    }

    #[test]
    fn a_range_may_be_as_long_as_numbers_go() {
        let (mut range, mut numbers) = (0..u64::MAX, Vec::new());
        assert_eq!(count_up::<u64, _>(&mut range, 50, &mut numbers), Some(false));
        assert_eq!((range, numbers.len(), numbers.last()), (50..u64::MAX, 50, Some(&49)));
    }
}
