//! Ranges of numbers become items.

use std::any::{Any, TypeId};
use std::ops::Range;

use super::sums::running_sums_from;
use super::{Level, MOST_ITEMS, SLACK, reserve};

/// Numbers that can be counted up.
pub(crate) trait Number: Copy + PartialEq + 'static {
    /// The lowest number.
    const ZERO: Self;
    /// The number that is so much higher.
    fn plus(self, more: usize) -> Self;
    /// How many numbers there are from this one to before another.
    fn until(self, end: Self) -> usize;
    /// As [`until`](Self::until), but no more than this.
    fn until_most(self, end: Self, most: u32) -> u32;
    /// The bits that are set in either, and those that differ.
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    /// The higher of both.
    fn higher(self, other: Self) -> Self;
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

    #[inline(always)]
    fn until_most(self, end: Self, most: u32) -> u32 {
        end.saturating_sub(self).min(most)
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self | other
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }

    #[inline(always)]
    fn higher(self, other: Self) -> Self {
        self.max(other)
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

    #[inline(always)]
    fn until_most(self, end: Self, most: u32) -> u32 {
        end.saturating_sub(self).min(u64::from(most)) as u32
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self | other
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }

    #[inline(always)]
    fn higher(self, other: Self) -> Self {
        self.max(other)
    }
}

/// Appends the numbers of a range to a vector. Whole registers are written, so that there is no branch for what is left.
#[inline(always)]
fn append_range<N: Number>(first: N, count: usize, to: &mut Vec<N>) {
    reserve(to, count);
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

/// So many ranges are looked at together.
const TOGETHER: usize = 128;

/// Whether an iterator is a range of such numbers.
#[inline(always)]
pub(crate) fn is_range<N: Number, It: 'static>() -> bool {
    TypeId::of::<It>() == TypeId::of::<Range<N>>()
}

/// Counts the numbers of up to [`TOGETHER`] ranges, if the iterators are ranges of such numbers, and notes behind how many numbers each
/// ends, for as many of them as there are ends. They go to a row, and what does not belong to it any more to a vector. There is room
/// for so many with those that were counted before, but for no more than [`MOST_ITEMS`]. Says how many ranges have ended. If there is
/// no room for all numbers of the next one, it is taken too, and `rest` is what is left of it.
// They are vectors of numbers and ranges or not, and that is found out here.
#[allow(clippy::ptr_arg)]
#[inline(always)]
pub(crate) fn count_all<N: Number, It>(
    level: Level,
    (iterators, from): (&mut Vec<It>, usize),
    (row, room): (&mut Row<N>, usize),
    to: &mut Vec<It::Item>,
    ends: &mut [u32],
    rest: &mut Option<It>,
) -> Option<usize>
where
    It: Iterator + 'static,
    It::Item: 'static,
{
    let ranges: &mut Vec<Range<N>> = (iterators as &mut dyn Any).downcast_mut()?;
    let to: &mut Vec<N> = (to as &mut dyn Any).downcast_mut()?;
    let rest: &mut Option<Range<N>> = (rest as &mut dyn Any).downcast_mut()?;
    let room = room.min(MOST_ITEMS);
    let some = (ranges.len() - from).min(ends.len()).min(TOGETHER);
    let (ranges, ends) = (&ranges[from..from + some], &mut ends[..some]);
    // These are simple loops over all ranges, without a branch that depends on their lengths.
    let in_a_row = match (<&[_; TOGETHER]>::try_from(ranges), <&mut [_; TOGETHER]>::try_from(&mut *ends)) {
        // As a rule there are so many, and then it is known how many times the loop runs.
        (Ok(ranges), Ok(ends)) => follow(ranges, row.counted, room, ends),
        _ => follow(ranges, row.counted, room, ends),
    };
    if !in_a_row {
        let (most, mut sums) = (room as u32 + 1, [0; TOGETHER]);
        let length = |range: &Range<N>| u64::from(range.start.until_most(range.end, most));
        running_sums_from(level, row.counted as u64, ranges, &length, &mut sums[..some]);
        // Behind those for which there is room it does not matter how many they are.
        ends.iter_mut().zip(sums).for_each(|(end, sum)| *end = sum.min(u64::from(most)) as u32);
    }
    let full = ends.last().is_some_and(|end| *end > room as u32);
    let fit = if full { ends.iter().filter(|end| **end <= room as u32).count() } else { some };
    if in_a_row && fit > 0 {
        row.begin(ranges[0].start, to);
        row.end(ranges[fit - 1].end, ends[fit - 1]);
    } else {
        for (range, end) in ranges[..fit].iter().zip(&*ends) {
            row.begin(range.start, to);
            row.end(range.start.plus(*end as usize - row.counted), *end);
        }
    }
    if let Some(Range { start, end }) = ranges.get(fit) {
        *rest = Some(start.plus(room - row.counted)..*end);
        row.begin(*start, to);
        row.end(start.plus(room - row.counted), room as u32);
    }
    Some(fit)
}

/// Whether each range begins where the one before it ends, and ends no sooner than it begins. If so, where each ends is as far from
/// where the first begins as there are numbers; that is noted, with those that were counted before. If there is no room for one more,
/// it does not matter how many there are.
#[inline(always)]
fn follow<N: Number>(ranges: &[Range<N>], counted: usize, room: usize, ends: &mut [u32]) -> bool {
    let Some(first) = ranges.first() else { return true };
    let (mut before, mut bits) = (first.start, N::ZERO);
    let (counted, most) = (counted as u32, room as u32 + 1);
    for (range, end) in ranges.iter().zip(ends) {
        // No bit differs if they are the same.
        bits = bits.or(before.xor(range.start)).or(range.start.higher(range.end).xor(range.end));
        before = range.end;
        *end = counted + first.start.until_most(range.end, most);
    }
    bits == N::ZERO
}

/// Ranges of which each begins where the one before it ends: their numbers are counted up as one.
pub(crate) struct Row<N> {
    /// The first number, and the one behind the last.
    first: N,
    next: N,
    /// How many numbers there were before these, and how many with them.
    before: usize,
    counted: usize,
}

impl<N: Number> Row<N> {
    /// So many numbers are before it.
    #[inline(always)]
    pub(crate) fn behind(counted: usize) -> Self {
        Self { first: N::ZERO, next: N::ZERO, before: counted, counted }
    }

    /// Whether there is no room for so many more ranges, if they are as long as those before them, of which there were so many behind
    /// some numbers in front. There is room for no more than [`MOST_ITEMS`] in all.
    #[inline(always)]
    pub(crate) fn is_nearly_full(&self, front: usize, ranges: usize, more: usize, room: usize) -> bool {
        let room = room.min(MOST_ITEMS).saturating_sub(self.counted);
        (self.counted - front).saturating_mul(more) > room.saturating_mul(ranges)
    }

    /// Appends the numbers to a vector of items, if those are such numbers.
    // It is a vector of numbers or not, and that is found out here.
    #[allow(clippy::ptr_arg)]
    #[inline(always)]
    pub(crate) fn put<I: 'static>(&self, to: &mut Vec<I>) {
        if let Some(to) = (to as &mut dyn Any).downcast_mut() {
            self.append(to);
        }
    }

    /// The next range begins with this number.
    #[inline(always)]
    fn begin(&mut self, start: N, to: &mut Vec<N>) {
        if start != self.next {
            self.append(to);
            (self.first, self.before) = (start, self.counted);
        }
    }

    /// The range ends before this number, and so many were counted with it.
    #[inline(always)]
    fn end(&mut self, next: N, counted: u32) {
        (self.next, self.counted) = (next, counted as usize);
    }

    /// Appends the numbers to a vector.
    #[inline(always)]
    fn append(&self, to: &mut Vec<N>) {
        append_range(self.first, self.counted - self.before, to);
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;
    use std::ops::Range;

    use fastrand::Rng;

    use super::{Level, MOST_ITEMS, Number, Row, count_all};

    /// Counts all ranges from one on, group by group.
    fn count<N: Number>(
        level: Level,
        ranges: &mut Vec<Range<N>>,
        from: usize,
        (counted, room): (usize, usize),
        to: &mut Vec<N>,
        ends: &mut [u32],
    ) -> (usize, Option<Range<N>>)
    where
        Range<N>: Iterator<Item = N>,
    {
        let (mut row, mut ended, mut rest) = (Row::<N>::behind(counted), 0, None);
        while ended < ends.len() && from + ended < ranges.len() && rest.is_none() {
            let group = (&mut *ranges, from + ended);
            ended += count_all(level, group, (&mut row, room), to, &mut ends[ended..], &mut rest).unwrap();
        }
        row.put(to);
        (ended, rest)
    }

    /// What ranges are counted up to, and where they end, whatever follows what and however little room there is.
    fn counts_up<N: Number + Debug>(number: impl Fn(u32) -> N)
    where
        Range<N>: Iterator<Item = N>,
    {
        let mut rng = Rng::with_seed(5);
        for round in 0..4000 {
            let mut next = 0;
            let (skip, most) = (rng.usize(..4), if round % 4 == 0 { 300 } else { 16 });
            let mut ranges: Vec<Range<N>> = (0..skip + rng.usize(..most))
                .map(|_| {
                    // As a rule one begins where the one before it ends; some end before they begin.
                    let start = if rng.u32(..4) == 0 && round % 8 > 0 { rng.u32(..1000) } else { next };
                    let most = if rng.bool() { 5 } else { 100 };
                    let less = if round % 16 == 0 { 0 } else { rng.u32(..3) };
                    next = (start + rng.u32(..most)).saturating_sub(less);
                    number(start)..number(next)
                })
                .collect();
            let room = rng.usize(..if round % 4 == 0 { 6000 } else { 400 });
            let places = rng.usize(..ranges.len() - skip + 3);
            let (mut expected, mut expected_ends, mut left) = (vec![number(7)], Vec::new(), None);
            for range in ranges[skip..].iter().take(places) {
                let mut range = range.clone();
                expected.extend(range.by_ref().take(room + 1 - expected.len()));
                if range.start.until(range.end) > 0 {
                    left = Some(range);
                    break;
                }
                expected_ends.push(expected.len() as u32 + 2);
            }
            for level in Level::all() {
                let (mut numbers, mut ends) = (vec![number(7)], vec![0; places]);
                let (ended, rest) = count(level, &mut ranges, skip, (3, room + 3), &mut numbers, &mut ends);
                assert_eq!(numbers, expected, "{level:?}, round {round}");
                assert_eq!(rest, left, "{level:?}, round {round}");
                assert_eq!(ended, expected_ends.len(), "{level:?}, round {round}");
                assert_eq!(ends[..ended], expected_ends, "{level:?}, round {round}");
            }
        }
    }

    #[test]
    fn ranges_that_follow_each_other_are_counted_up_as_one() {
        counts_up(|n| n);
        counts_up(u64::from);
        let from = (&mut Vec::from_iter([0_u64..3, 5..6]), 0);
        let row = &mut Row::<u32>::behind(0);
        let none = count_all(Level::best(), from, (row, 10), &mut Vec::new(), &mut [0; 4], &mut None);
        assert_eq!(none, None, "these are other numbers");
    }

    #[test]
    fn a_row_is_nearly_full_where_as_many_more_ranges_would_be_cut() {
        // Ten numbers of two ranges: two more need ten more.
        let row = Row::<u32>::behind(10);
        assert!(!row.is_nearly_full(0, 2, 2, 20) && !row.is_nearly_full(0, 2, 1, 15));
        assert!(row.is_nearly_full(0, 2, 2, 19) && row.is_nearly_full(0, 2, 1, 14) && row.is_nearly_full(0, 2, 1, 3));
        assert!(!row.is_nearly_full(10, 2, 2, 10), "ranges without numbers need no room, whatever is in front of them");
        assert!(row.is_nearly_full(4, 2, 2, 15) && !row.is_nearly_full(4, 2, 2, 16), "only the six behind count");
        assert!(row.is_nearly_full(0, 1, MOST_ITEMS, usize::MAX), "there is never room for more than that");
    }

    #[test]
    fn ranges_may_be_as_long_as_numbers_go() {
        // What is in front of the long one, and how much room there is: more, as much, none left for it.
        for (front, room) in [(vec![2..2, 0..5], 50), (vec![0..5, 5..9], 50), (vec![7..9, 0..5], 7), (vec![], 0)] {
            let mut ranges: Vec<Range<u64>> = front.iter().cloned().chain([0..u64::MAX, 3..u64::MAX]).collect();
            let (mut numbers, mut ends) = (Vec::new(), [0; 16]);
            let (ended, rest) = count(Level::best(), &mut ranges, 0, (0, room), &mut numbers, &mut ends);
            let poured = room - front.iter().cloned().flatten().count();
            assert_eq!((ended, rest), (front.len(), Some(poured as u64..u64::MAX)));
            assert!(numbers.into_iter().eq(front.into_iter().flatten().chain(0..poured as u64)));
        }
    }
}
