//! Sums of the first items of a vector, and of those between two places.

use super::Level;
use super::portable;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};

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
    let all = spaced(items.len(), space);
    let Some((_, sums)) = all.split_first_mut() else { return all };
    running_sums_from(level, 0, items, value, sums);
    all
}

/// Space for the sums of so many items, or of as many as are looked at together. It grows where sums of more are made.
pub(crate) fn space_for_sums(items: usize) -> Vec<u64> {
    Vec::with_capacity(items.min(NEAR as usize).next_multiple_of(LARGEST_BLOCK) + 2 * LINE)
}

/// Some space for so many sums behind that of no items, which is there already.
#[inline(always)]
fn spaced(count: usize, space: &mut Vec<u64>) -> &mut [u64] {
    // What was written before is written anew. Not more than that is asked for: it is part of what the stream's memory is for.
    let all = count + 2 * LINE;
    space.reserve_exact(all.saturating_sub(space.len()));
    space.resize(space.len().max(all), 0);
    // The sum of one is where a line of the cache begins, so that no register is written to two of them.
    let none = space.as_ptr().align_offset(LINE * size_of::<u64>()).min(LINE) + LINE - 1;
    space[none] = 0;
    &mut space[none..=none + count]
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

/// Sums are made in blocks of so many at most.
const LARGEST_BLOCK: usize = 32;
const _: () = assert!((NEAR as usize).is_multiple_of(LARGEST_BLOCK));
#[cfg(target_arch = "x86_64")]
const _: () = assert!(avx2::BLOCK <= LARGEST_BLOCK && avx512::BLOCK <= LARGEST_BLOCK);

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
    let total = |items: &[I]| items.iter().map(value).fold(0, u64::wrapping_add);
    let add = |items: &[I]| (so_far.0.wrapping_add(items.len() as u64), so_far.1.wrapping_add(total(items)));
    if ends.is_empty() {
        return add(items);
    }
    to.reserve(ends.len());
    // What is left of them, and where the first of those begins.
    let mut edges = ends;
    let mut front = [0; TOGETHER + 1];
    let mut group = match ends.first_chunk::<TOGETHER>() {
        // As a rule no segment was cut, and then the first is one as all others: it begins in front of the items.
        Some(some) if so_far == (0, 0) && some[TOGETHER - 1] <= NEAR => {
            front[1..].copy_from_slice(some);
            edges = &edges[TOGETHER - 1..];
            &front[..]
        }
        _ => {
            assert!(edges[0] as usize <= items.len(), "{NO_ITEMS}");
            let (count, sum) = add(&items[..edges[0] as usize]);
            to.push(finish(count, sum));
            take_near(&mut edges)
        }
    };
    let mut lookup = Lookup { places: [0; TOGETHER], sums: [0; TOGETHER + 1] };
    // As many as there are items, in whole blocks.
    let space = spaced(items.len().next_multiple_of(LARGEST_BLOCK).min(NEAR as usize), space);
    while let [start, .., end] = *group {
        assert!(start <= end && end as usize <= items.len(), "{NO_ITEMS}");
        if end - start > NEAR {
            to.push(finish(u64::from(end - start), total(&items[start as usize..end as usize])));
        } else {
            let count = (end - start) as usize;
            match level {
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => {
                    // Whole blocks, as long as there are items.
                    let count = count.next_multiple_of(avx512::BLOCK);
                    let (sums, items) = (&mut space[..=count], &items[start as usize..]);
                    // SAFETY: this level is made only where the processor has these parts of AVX-512, and all of the level before.
                    unsafe { avx512::sums_in_rows(&items[..items.len().min(count)], value, &mut sums[1..]) };
                    lookup.append(group, sums, avx512::place_in_rows, finish, to);
                }
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => {
                    let count = count.next_multiple_of(avx2::BLOCK);
                    let (sums, items) = (&mut space[..=count], &items[start as usize..]);
                    // SAFETY: this level is made only where the processor has AVX2, BMI1, BMI2 and POPCNT.
                    unsafe { avx2::sums_in_rows(&items[..items.len().min(count)], value, &mut sums[1..]) };
                    lookup.append(group, sums, avx2::place_in_rows, finish, to);
                }
                Level::Portable => {
                    let sums = &mut space[..=count];
                    running_sums_from(level, 0, &items[start as usize..end as usize], value, &mut sums[1..]);
                    lookup.append(group, sums, |count| count, finish, to);
                }
            }
        }
        group = take_near(&mut edges);
    }
    let rest = &items[edges[0] as usize..];
    (rest.len() as u64, total(rest))
}

/// The edges of the next segments that are looked at together, which are taken away, but for the last of them. It is alone if there is
/// no segment left.
#[inline(always)]
fn take_near<'a>(edges: &mut &'a [u32]) -> &'a [u32] {
    let mut some = (edges.len() - 1).min(TOGETHER);
    while some > 1 && edges[some].wrapping_sub(edges[0]) > NEAR {
        some /= 2;
    }
    let group = &edges[..=some];
    *edges = &edges[some..];
    group
}

const NO_ITEMS: &str = "a segment ends where there are no items: this is a mistake of ours";

/// Space to look up sums.
struct Lookup {
    /// Where they are.
    places: [u32; TOGETHER],
    /// The sums up to each edge.
    sums: [u64; TOGETHER + 1],
}

impl Lookup {
    /// Appends what becomes of the segments between some edges. The sums from the first edge on are known, each at a place that the
    /// number of its items says, up to that of the items before the last edge.
    #[inline(always)]
    fn append<O>(
        &mut self,
        edges: &[u32],
        sums: &[u64],
        place: impl Fn(u32) -> u32,
        finish: &impl Fn(u64, u64) -> O,
        to: &mut Vec<O>,
    ) {
        match <&[_; TOGETHER + 1]>::try_from(edges) {
            // As a rule there are so many, and then it is known how many times the loops run.
            Ok(edges) => self.append_some(edges, sums, place, finish, to),
            Err(_) => self.append_some(edges, sums, place, finish, to),
        }
    }

    #[inline(always)]
    fn append_some<O>(
        &mut self,
        edges: &[u32],
        sums: &[u64],
        place: impl Fn(u32) -> u32,
        finish: &impl Fn(u64, u64) -> O,
        to: &mut Vec<O>,
    ) {
        let (begins, ends) = (&edges[..edges.len() - 1], &edges[1..]);
        let (places, up_to) = (&mut self.places[..ends.len()], &mut self.sums[..edges.len()]);
        // Three simple loops: the first and the last of them are made with wide instructions, and what is in between is only loads.
        let mut in_order = true;
        for ((to, begin), end) in places.iter_mut().zip(begins).zip(ends) {
            in_order &= begin <= end;
            *to = place(end.wrapping_sub(edges[0]));
        }
        assert!(in_order, "{NO_ITEMS}");
        // Each place is looked at: without that the compiler would gather sums into registers, which takes longer.
        for (to, place) in up_to[1..].iter_mut().zip(places) {
            *to = sums[*place as usize];
        }
        let made = &mut to.spare_capacity_mut()[..ends.len()];
        let sums = up_to.iter().zip(&up_to[1..]);
        for (((to, begin), end), (before, sum)) in made.iter_mut().zip(begins).zip(ends).zip(sums) {
            to.write(finish(u64::from(end - begin), sum.wrapping_sub(*before)));
        }
        // SAFETY: so many were written.
        unsafe { to.set_len(to.len() + ends.len()) };
    }
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

    /// What segments of random items become, on all levels, with some before them and some behind.
    fn adds_up_segments<I: Copy + 'static>(make: impl Fn(u64) -> I, value: impl Fn(&I) -> u64) {
        let mut rng = Rng::with_seed(6);
        for segments in (0..40).chain([100, 127, 128, 129, 130, 256, 257, 258, 500, 1000, 1000].repeat(4)) {
            // As a rule nothing was before them.
            let so_far = if rng.bool() { (0, 0) } else { (rng.u64(..100), rng.u64(..)) };
            let (mut ends, mut at) = (Vec::new(), 0);
            // Some are short, and some of those empty; some end where blocks of them end; a few are longer than all that is near.
            let whole = [1, 1, 16, 32, 64][rng.usize(..5)];
            // In some rounds all are so short that the first group of them is near, also if only just.
            let most = [None, Some(3), Some(17), Some(31)][rng.usize(..4)];
            let evenly = rng.usize(..4) == 0;
            for number in 0..segments {
                let length = match most {
                    _ if evenly => 16 + usize::from(number == 5 && rng.bool()),
                    Some(most) => rng.usize(..most),
                    None if rng.usize(..300) == 0 => 2048 + rng.usize(..3),
                    None => {
                        let most = [3, 40, 40, 200][rng.usize(..4)];
                        rng.usize(..most)
                    }
                };
                at += length.next_multiple_of(whole);
                ends.push(at as u32);
            }
            let items: Vec<I> = (0..at + rng.usize(..10)).map(|_| make(rng.u64(..))).collect();
            let (mut expected, mut left, mut begun) = (vec![(1, 2)], so_far, 0);
            let add = |(count, sum): (u64, u64), items: &[I]| {
                (count + items.len() as u64, items.iter().map(&value).fold(sum, u64::wrapping_add))
            };
            for end in &ends {
                let end = *end as usize;
                expected.push(add(std::mem::take(&mut left), &items[begun..end]));
                begun = end;
            }
            left = add(left, &items[begun..]);
            for level in Level::all() {
                let (mut space, mut found) = (Vec::new(), vec![(1, 2)]);
                let both = |count, sum| (count, sum);
                let rest = segment_sums(level, (&items, &value), &ends, so_far, &both, (&mut space, &mut found));
                assert_eq!((&found, rest), (&expected, left), "{level:?}, {segments} segments");
            }
        }
    }

    #[test]
    fn segments_of_any_length_have_their_sums() {
        adds_up_segments(|n| n as u32, |n| u64::from(*n));
        adds_up_segments(|n| n as i32, |n| *n as u64);
        adds_up_segments(|n| n, |n| *n);
        adds_up_segments(|n| n as u8, |n| u64::from(*n) << 60);
        adds_up_segments(|n| (n as u16, n >> 3), |n| n.1 ^ u64::from(n.0));
    }

    #[test]
    #[should_panic(expected = "no items")]
    fn a_segment_does_not_end_behind_the_items() {
        let (items, ends) = ((&[5_u64, 1][..], &|item: &u64| *item), &[0, 1, 1, 2, 3, 3, 3, 3]);
        segment_sums(Level::best(), items, ends, (0, 0), &|_, sum| sum, (&mut Vec::new(), &mut Vec::new()));
    }

    #[test]
    #[should_panic(expected = "no items")]
    fn none_of_the_first_segments_ends_behind_the_items() {
        let (items, ends) = ((&[5_u64, 1][..], &|item: &u64| *item), &[3; 200]);
        segment_sums(Level::best(), items, ends, (0, 0), &|_, sum| sum, (&mut Vec::new(), &mut Vec::new()));
    }

    #[test]
    #[should_panic(expected = "no items")]
    fn the_first_segment_does_not_end_behind_the_items() {
        let items = (&[5_u64, 1][..], &|item: &u64| *item);
        segment_sums(Level::best(), items, &[3], (0, 0), &|_, sum| sum, (&mut Vec::new(), &mut Vec::new()));
    }

    #[test]
    #[should_panic(expected = "no items")]
    fn a_segment_does_not_end_before_the_one_before_it() {
        let (items, ends) = (vec![1_u64; 3000], &[10, 2000, 11, 2001]);
        let items = (&items[..], &|item: &u64| *item);
        segment_sums(Level::best(), items, ends, (0, 0), &|_, sum| sum, (&mut Vec::new(), &mut Vec::new()));
    }
}
