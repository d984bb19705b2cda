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
pub(crate) fn running_sums<'a, I, V: Fn(&I) -> u64>(
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
pub(super) fn running_sums_from<I, V: Fn(&I) -> u64>(
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

/// So many items are added up before their segments are looked at: their sums stay in the nearest cache.
const PIECE: usize = 1024;

/// Appends what becomes of the number of items of each segment and the sum of their values. Segments end behind so many items, each
/// no sooner than the one before it, less those that were before all of them; `so_far` is the number and the sum of the items of the
/// first segment that were before them. Says the same of what is behind the last. There is some space for sums.
///
/// # Panics
/// When a segment ends behind more items than there are, or sooner than the one before it.
#[inline(always)]
pub(crate) fn segment_sums<I, O>(
    level: Level,
    (items, value): (&[I], &impl Fn(&I) -> u64),
    (ends, consumed): (&[u64], u64),
    so_far: (u64, u64),
    finish: &impl Fn(u64, u64) -> O,
    (space, to): (&mut Vec<u64>, &mut Vec<O>),
) -> (u64, u64) {
    to.reserve(ends.len());
    // SAFETY: there is space behind the last for as many as are appended.
    let made = unsafe { to.as_mut_ptr().add(to.len()) };
    // What there was before is taken from nothing, and added to the first segment: no branch at any of them.
    let (mut at, mut before) = (consumed.wrapping_sub(so_far.0), 0_u64.wrapping_sub(so_far.1));
    let (mut start, mut done) = (consumed, 0);
    for piece in items.chunks(PIECE).chain(items.is_empty().then_some(items)) {
        let sums = running_sums(level, piece, value, space);
        // Where the sum of none would be if nothing had been before.
        let none = sums.as_ptr().wrapping_sub(start as usize);
        let mut one = |place: usize, end: u64| {
            // SAFETY: those who call this have seen that it is one of the sums.
            let up_to = unsafe { *none.wrapping_add(end as usize) };
            let segment = finish(end.wrapping_sub(at), up_to.wrapping_sub(before));
            (at, before) = (end, up_to);
            // SAFETY: there is space for as many as there are ends.
            unsafe { made.add(place).write(segment) };
        };
        let is_here = |end: &u64| end.wrapping_sub(start) < sums.len() as u64;
        // Eight are looked at together, so that there is no branch at each.
        while let Some(eight) = ends[done..].first_chunk::<8>()
            && eight.iter().fold(true, |all, end| all & is_here(end))
        {
            for (place, end) in eight.iter().enumerate() {
                one(done + place, *end);
            }
            done += 8;
        }
        while let Some(end) = ends.get(done).filter(|end| is_here(end)) {
            one(done, *end);
            done += 1;
        }
        // The next sums begin with none.
        before = before.wrapping_sub(sums[piece.len()]);
        start = start.wrapping_add(piece.len() as u64);
    }
    assert!(done == ends.len(), "a segment ends where there are no items: this is a mistake of ours");
    // SAFETY: so many were written.
    unsafe { to.set_len(to.len() + done) };
    (start.wrapping_sub(at), 0_u64.wrapping_sub(before))
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
            let (consumed, so_far) = (rng.u64(..), (rng.u64(..100), rng.u64(..)));
            let (mut ends, mut at) = (Vec::new(), 0);
            for _ in 0..segments {
                let most = if rng.bool() { 3 } else { 40 };
                at += rng.usize(..most);
                ends.push(consumed.wrapping_add(at as u64));
            }
            let items: Vec<u64> = (0..at + rng.usize(..10)).map(|_| rng.u64(..)).collect();
            let (mut expected, mut left, mut begun) = (vec![(1, 2)], so_far, 0);
            let add = |(count, sum): (u64, u64), items: &[u64]| {
                (count + items.len() as u64, items.iter().copied().fold(sum, u64::wrapping_add))
            };
            for end in &ends {
                let end = end.wrapping_sub(consumed) as usize;
                expected.push(add(std::mem::take(&mut left), &items[begun..end]));
                begun = end;
            }
            left = add(left, &items[begun..]);
            let (mut space, mut found) = (Vec::new(), vec![(1, 2)]);
            let (level, values, both) = (Level::best(), (&items[..], &|item: &u64| *item), |count, sum| (count, sum));
            let rest = segment_sums(level, values, (&ends, consumed), so_far, &both, (&mut space, &mut found));
            assert_eq!((found, rest), (expected, left), "{segments} segments");
        }
    }

    #[test]
    #[should_panic(expected = "no items")]
    fn a_segment_does_not_end_behind_the_items() {
        let (items, ends) = ((&[5_u64, 1][..], &|item: &u64| *item), (&[0, 1, 1, 2, 3, 3, 3, 3][..], 0));
        segment_sums(Level::best(), items, ends, (0, 0), &|_, sum| sum, (&mut Vec::new(), &mut Vec::new()));
    }

    #[test]
    #[should_panic(expected = "no items")]
    fn a_segment_does_not_end_before_the_one_before_it() {
        let (items, ends) = (vec![1_u64; 3000], (&[2000, 10][..], 0));
        let items = (&items[..], &|item: &u64| *item);
        segment_sums(Level::best(), items, ends, (0, 0), &|_, sum| sum, (&mut Vec::new(), &mut Vec::new()));
    }
}
