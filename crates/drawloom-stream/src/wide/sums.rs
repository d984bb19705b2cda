//! Sums of the first items of a vector, and of those between two places.

use super::Level;
#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::portable;

/// How many numbers of 64 bits are in a line of the cache.
const LINE: usize = 8;

/// The sum of the first items of a vector, for each number of them from none to all, in some space. Sums go around where they are
/// too large.
#[inline(always)]
pub(crate) fn running_sums<'a, I: 'static, V: Fn(&I) -> u64>(
    level: Level,
    items: &[I],
    value: &V,
    space: &'a mut Vec<u64>,
) -> &'a [u64] {
    // What was written before is written anew.
    space.resize(space.len().max(items.len() + 2 * LINE), 0);
    // The sum of one is where a line of the cache begins, so that no register is written to two of them.
    let none = space.as_ptr().align_offset(LINE * size_of::<u64>()).min(LINE) + LINE - 1;
    let all = &mut space[none..=none + items.len()];
    let Some((first, sums)) = all.split_first_mut() else { return all };
    *first = 0;
    running_sums_from(level, 0, items, value, sums);
    all
}

/// The sum of the first items and of what was before them, for each number of items from one to all.
#[inline(always)]
pub(super) fn running_sums_from<I: 'static, V: Fn(&I) -> u64>(
    level: Level,
    before: u64,
    items: &[I],
    value: &V,
    sums: &mut [u64],
) {
    match level {
        Level::Portable => portable::running_sums(before, items, value, sums),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => portable::running_sums(before, items, value, sums),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: this level is made only where the processor has these parts of AVX-512, and all of the level before.
        Level::Avx512 => unsafe { avx512::running_sums(before, items, value, sums) },
    }
}

/// So many segments are looked at together.
const TOGETHER: usize = 128;

/// The items of segments that are looked at together are no more: their sums stay in the nearest cache.
const NEAR: u32 = 2048;

/// Appends what becomes of the number of items of each segment and the sum of their values. Segments end behind so many items, each
/// no sooner than the one before it; `so_far` is the number and the sum of the items of the first segment that were before them.
/// Says the same of what is behind the last. There is some space for sums.
///
/// # Panics
/// When a segment ends behind more items than there are, or sooner than the one before it.
#[inline(always)]
pub(crate) fn segment_sums<I: 'static, O>(
    level: Level,
    (items, value): (&[I], &impl Fn(&I) -> u64),
    ends: &[u32],
    so_far: (u64, u64),
    finish: &impl Fn(u64, u64) -> O,
    (space, to): (&mut Vec<u64>, &mut Vec<O>),
) -> (u64, u64) {
    to.reserve(ends.len());
    // What there was before is taken from nothing, and added to the first segment: no branch at any of them.
    let (mut at, mut before) = (0_u64.wrapping_sub(so_far.0), 0_u64.wrapping_sub(so_far.1));
    let total = |items: &[I]| items.iter().map(value).fold(0, u64::wrapping_add);
    let (mut start, mut left) = (0, ends);
    while !left.is_empty() {
        let mut some = left.len().min(TOGETHER);
        while some > 1 && left[some - 1].wrapping_sub(start) > NEAR {
            some /= 2;
        }
        let (group, others) = left.split_at(some);
        let end = group[some - 1];
        assert!(start <= end && end as usize <= items.len(), "{NO_ITEMS}");
        if end - start > NEAR {
            let sum = total(&items[start as usize..end as usize]);
            to.push(finish(u64::from(end).wrapping_sub(at), sum.wrapping_sub(before)));
        } else {
            // Whole registers, as long as there are items.
            let whole = (start as usize + (end - start).next_multiple_of(16) as usize).min(items.len());
            let sums = running_sums(level, &items[start as usize..whole], value, space);
            let first = (start, at, before);
            match <&[_; TOGETHER]>::try_from(group) {
                // As a rule there are so many, and then it is known how many times the loops run.
                Ok(group) => differences(group, first, sums, finish, to),
                Err(_) => differences(group, first, sums, finish, to),
            }
        }
        // The next sums begin with none.
        (at, before) = (u64::from(end), 0);
        (start, left) = (end, others);
    }
    let sum = total(&items[start as usize..]);
    ((items.len() as u64).wrapping_sub(at), sum.wrapping_sub(before))
}

const NO_ITEMS: &str = "a segment ends where there are no items: this is a mistake of ours";

/// Appends what becomes of each of some segments, of which the sums up to every item are known from the begin of the first on. There is
/// space for them. What was before the first is to be taken from it.
#[inline(always)]
fn differences<O>(
    ends: &[u32],
    (start, mut at, mut before): (u32, u64, u64),
    sums: &[u64],
    finish: &impl Fn(u64, u64) -> O,
    to: &mut Vec<O>,
) {
    // All at once, so that there is no branch at each.
    assert!(ends.iter().fold(true, |all, end| all & (end.wrapping_sub(start) < sums.len() as u32)), "{NO_ITEMS}");
    assert!(ends.len() <= to.capacity() - to.len());
    // SAFETY: there is space for as many as there are ends.
    let made = unsafe { to.as_mut_ptr().add(to.len()) };
    for (place, end) in ends.iter().enumerate() {
        // SAFETY: it is one of the sums, which was seen above.
        let up_to = unsafe { *sums.get_unchecked((end - start) as usize) };
        let segment = finish(u64::from(*end).wrapping_sub(at), up_to.wrapping_sub(before));
        (at, before) = (u64::from(*end), up_to);
        // SAFETY: as above.
        unsafe { made.add(place).write(segment) };
    }
    // SAFETY: so many were written.
    unsafe { to.set_len(to.len() + ends.len()) };
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::{Level, running_sums, segment_sums};

    #[test]
    fn every_level_adds_up_the_same_sums() {
        let mut rng = Rng::with_seed(4);
        for length in (0..70).chain([127, 128, 129, 1000]) {
            // Some that go around, too.
            let items: Vec<(u8, u64)> = (0..length).map(|_| (rng.u8(..), rng.u64(..) >> rng.u8(..64))).collect();
            let value = |item: &(u8, u64)| item.1 ^ u64::from(item.0);
            let expected: Vec<u64> =
                (0..=items.len()).map(|count| items[..count].iter().map(value).fold(0, u64::wrapping_add)).collect();
            for level in Level::all() {
                let mut space = vec![7; 20];
                let sums = running_sums(level, &items, &value, &mut space);
                assert_eq!(sums, expected, "{level:?}, {length} items");
            }
        }
    }

    #[test]
    fn segments_of_any_length_have_their_sums() {
        let mut rng = Rng::with_seed(6);
        for segments in (0..40).chain([100, 500, 1000, 1000]) {
            let so_far = (rng.u64(..100), rng.u64(..));
            let (mut ends, mut at) = (Vec::new(), 0);
            for _ in 0..segments {
                let most = if rng.bool() { 3 } else { 40 };
                at += rng.usize(..most);
                ends.push(at as u32);
            }
            let items: Vec<u64> = (0..at + rng.usize(..10)).map(|_| rng.u64(..)).collect();
            let (mut expected, mut left, mut begun) = (vec![(1, 2)], so_far, 0);
            let add = |(count, sum): (u64, u64), items: &[u64]| {
                (count + items.len() as u64, items.iter().copied().fold(sum, u64::wrapping_add))
            };
            for end in &ends {
                let end = *end as usize;
                expected.push(add(std::mem::take(&mut left), &items[begun..end]));
                begun = end;
            }
            left = add(left, &items[begun..]);
            let (mut space, mut found) = (Vec::new(), vec![(1, 2)]);
            let (level, values, both) = (Level::best(), (&items[..], &|item: &u64| *item), |count, sum| (count, sum));
            let rest = segment_sums(level, values, &ends, so_far, &both, (&mut space, &mut found));
            assert_eq!((found, rest), (expected, left), "{segments} segments");
        }
    }

    #[test]
    #[should_panic(expected = "no items")]
    fn a_segment_does_not_end_behind_the_items() {
        let (items, ends) = ((&[5_u64, 1][..], &|item: &u64| *item), &[0, 1, 1, 2, 3, 3, 3, 3]);
        segment_sums(Level::best(), items, ends, (0, 0), &|_, sum| sum, (&mut Vec::new(), &mut Vec::new()));
    }

    #[test]
    #[should_panic(expected = "no items")]
    fn a_segment_does_not_end_before_the_one_before_it() {
        let (items, ends) = (vec![1_u64; 3000], &[2000, 10]);
        let items = (&items[..], &|item: &u64| *item);
        segment_sums(Level::best(), items, ends, (0, 0), &|_, sum| sum, (&mut Vec::new(), &mut Vec::new()));
    }
}
