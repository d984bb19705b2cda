//! Numbers of the elements of a parent are added up.
//!
//! A loop for each parent ends with a branch that the processor cannot predict, and leaves registers partly empty. The sum of a parent is
//! the difference of two prefix sums, up to its end and up to its begin. Prefix sums are known at the beginning of each block of
//! [`BLOCK`] elements. The elements of a block that are before a place are added with a mask, so nothing depends on lengths.

use std::ops::Range;

use super::fold::Folding;

/// How many elements are added at once: a register of the widest kind.
const BLOCK: usize = 8;

/// Parents with more elements than this on average are added up one after the other: then the branch at the end of each is rare.
const LONG: usize = 128;

/// What a sum needs for each element: its number, and its part of the sum before its block.
pub(crate) const SUM_BYTES: usize = size_of::<u64>() + size_of::<u64>() / BLOCK;

/// The mask for the first `n` elements of a block begins at `BLOCK - n`.
static MASKS: [u64; 2 * BLOCK] = {
    let mut masks = [0; 2 * BLOCK];
    let mut at = 0;
    while at < BLOCK {
        masks[at] = u64::MAX;
        at += 1;
    }
    masks
};

/// The number of an element, and what becomes of the number of elements and their sum.
pub(crate) struct Adding<V, D> {
    pub(crate) value: V,
    pub(crate) finish: D,
}

impl<I, O, V, D> Folding<I> for Adding<V, D>
where
    O: 'static,
    V: Fn(&I) -> u64 + 'static,
    D: Fn(u64, u64) -> O + 'static,
{
    /// How many elements there were, and their sum.
    type Value = (u64, u64);
    type Item = O;
    type Space = Prefix;

    #[inline(always)]
    fn first(&self) -> (u64, u64) {
        (0, 0)
    }

    #[inline(always)]
    fn finish(&self, (count, sum): (u64, u64)) -> O {
        (self.finish)(count, sum)
    }

    #[inline(always)]
    fn fold(&self, (count, sum): (u64, u64), items: &[I]) -> (u64, u64) {
        (count + items.len() as u64, items.iter().map(&self.value).fold(sum, u64::wrapping_add))
    }

    #[inline(always)]
    fn prepare(&self, items: &[I], ended: usize, prefix: &mut Prefix) {
        prefix.is_known = items.len() <= ended * LONG;
        if prefix.is_known {
            prefix.compute(items, &self.value);
        }
    }

    #[inline(always)]
    fn segment(&self, value: (u64, u64), items: &[I], part: Range<usize>, prefix: &mut Prefix) -> (u64, u64) {
        if !prefix.is_known {
            return self.fold(value, &items[part]);
        }
        let (count, sum) = value;
        (count + part.len() as u64, sum.wrapping_add(prefix.since_last(part.end)))
    }
}

/// The prefix sums of some numbers. Sums wrap around.
#[derive(Default)]
pub(crate) struct Prefix {
    /// The numbers, and zeros behind the last one. There is at least one block more than is full.
    numbers: Vec<[u64; BLOCK]>,
    /// The sum of all numbers before each block.
    sums: Vec<u64>,
    /// The sum of all numbers before the place that was asked for last.
    last: u64,
    /// Whether these are the prefix sums of the run under way.
    is_known: bool,
}

impl Prefix {
    /// The prefix sums of the numbers of some elements.
    #[inline(always)]
    fn compute<I, V: Fn(&I) -> u64>(&mut self, items: &[I], value: &V) {
        let all = items.len() / BLOCK + 1;
        if self.sums.len() < all {
            // Grows to as many as a queue has items, and no further.
            self.numbers.reserve_exact(all - self.numbers.len());
            self.numbers.resize(all, [0; BLOCK]);
            self.sums.reserve_exact(all - self.sums.len());
            self.sums.resize(all, 0);
        }
        self.numbers[all - 1] = [0; BLOCK];
        let numbers = self.numbers[..all].as_flattened_mut();
        numbers.iter_mut().zip(items).for_each(|(number, item)| *number = value(item));
        self.last = 0;
        let mut sum = 0_u64;
        for (before, block) in self.sums.iter_mut().zip(&self.numbers[..all]) {
            *before = sum;
            sum = sum.wrapping_add(block.iter().copied().fold(0, u64::wrapping_add));
        }
    }

    /// The sum of the numbers before a place that are not before the place of the last call.
    #[inline(always)]
    fn since_last(&mut self, place: usize) -> u64 {
        let (block, inside) = (place / BLOCK, place % BLOCK);
        let mask = &MASKS[BLOCK - inside..][..BLOCK];
        let masked = self.numbers[block].iter().zip(mask).map(|(number, mask)| number & mask);
        let sum = masked.fold(self.sums[block], u64::wrapping_add);
        sum.wrapping_sub(std::mem::replace(&mut self.last, sum))
    }
}
