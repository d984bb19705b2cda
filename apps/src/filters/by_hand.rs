//! The filters as loops that are written by hand, block after block, with the same wide instructions as the streams: the limit
//! that a stream can come close to.

use std::ops::Range;

use drawloom_stream::{select, split, widest};

use super::number::{Divisor, Rand, munge};
use super::plain::STAGES;
use super::regions::{self, Pair};
pub use super::regions::{Line, Segment};

/// How many items are in the registers and the nearest cache at once.
const BLOCK: usize = 1024;

/// How many items there are, and their sum.
pub type Sum = (u64, u128);

/// Space for one block.
struct Block {
    items: Vec<u32>,
    values: Vec<u32>,
}

impl Block {
    fn new() -> Self {
        // A little more than a block: registers are written as a whole.
        Self { items: Vec::with_capacity(2 * BLOCK), values: Vec::with_capacity(2 * BLOCK) }
    }

    /// Filters the items.
    fn filter(&mut self, code: impl Fn(u32) -> (u32, bool)) {
        self.values.clear();
        select(&self.items[..], &mut self.values, &code);
        std::mem::swap(&mut self.items, &mut self.values);
    }
}

fn add(sum: &mut Sum, items: &[u32]) {
    sum.0 += items.len() as u64;
    sum.1 += u128::from(widest(|| items.iter().map(|item| u64::from(*item)).sum::<u64>()));
}

/// Blocks of the numbers of a range, each the given function of it.
fn blocks(numbers: Range<u64>, number: impl Fn(u64) -> u32, mut each: impl FnMut(&mut Block)) {
    let mut block = Block::new();
    let mut start = numbers.start;
    while start < numbers.end {
        let end = numbers.end.min(start + BLOCK as u64);
        block.items.clear();
        widest(|| block.items.extend((start..end).map(&number)));
        each(&mut block);
        start = end;
    }
}

fn even(item: u32) -> (u32, bool) {
    let hash = munge(item);
    (hash, hash & 1 == 0)
}

/// EvenFilter, of some of its numbers.
pub fn even_filter(numbers: Range<u64>) -> Sum {
    let mut sum = Sum::default();
    blocks(
        numbers,
        |number| number as u32,
        |block| {
            block.filter(even);
            add(&mut sum, &block.items);
        },
    );
    sum
}

/// ModFilter, of some of its numbers.
pub fn mod_filter(numbers: Range<u64>) -> Sum {
    let divisors = STAGES.map(|(_, number)| Divisor::new(number));
    let mut sum = Sum::default();
    blocks(
        numbers,
        |number| 2 * number as u32,
        |block| {
            for divisor in divisors {
                block.filter(|item| {
                    let hash = munge(item);
                    (hash, divisor.divides(hash))
                });
            }
            add(&mut sum, &block.items);
        },
    );
    sum
}

/// The input of SplitFilter.
pub fn random(n: usize) -> Vec<u32> {
    Rand::new(0).take(n).collect()
}

/// SplitFilter: what is accepted, and what is rejected.
pub fn split_filter(numbers: &[u32]) -> (Sum, Sum) {
    let mut sums = (Sum::default(), Sum::default());
    let mut block = Block::new();
    for numbers in numbers.chunks(BLOCK) {
        block.items.clear();
        block.values.clear();
        split(numbers, &mut block.items, &mut block.values, &even);
        add(&mut sums.0, &block.items);
        add(&mut sums.1, &block.values);
    }
    sums
}

/// The input of RegionSum.
pub fn segments(n: u64, mean: u64) -> Vec<Segment> {
    regions::segments(n, mean)
}

/// The number and sum of even hashes in a segment.
#[inline(always)]
pub fn segment_sum(segment: Segment) -> (u64, u64) {
    (segment.start..segment.end).map(even).fold((0, 0), |(count, sum), (hash, keep)| {
        (count + u64::from(keep), sum + if keep { u64::from(hash) } else { 0 })
    })
}

/// RegionSum: how many segments there are and the sum of their sums, and how many even hashes there are in them.
pub fn region_sum(segments: &[Segment]) -> (Sum, u64) {
    widest(|| {
        let (mut sum, mut evens) = (Sum::default(), 0);
        for segment in segments {
            let (count, more) = segment_sum(*segment);
            sum = (sum.0 + 1, sum.1 + u128::from(more));
            evens += count;
        }
        (sum, evens)
    })
}

/// The input of Taxi.
pub fn lines(n: u64) -> Vec<Line> {
    regions::lines(n).collect()
}

/// The sum of the values of the pairs in a line of Taxi that begin at some places, and how many there are.
fn pairs(line: &Line, places: impl Iterator<Item = u32>) -> (u64, u64) {
    let pairs = places.filter_map(|at| Pair::of(line, at));
    pairs.fold((0, 0), |(count, sum), pair| (count + 1, sum + pair.value()))
}

/// The pairs of numbers in a line of Taxi, as a chain of iterators: how many there are, and the sum of their values.
pub fn taxi_line(line: &Line) -> (u64, u64) {
    if !regions::is_whole(&line.1) {
        return (0, 0);
    }
    let (signs, next) = regions::signs(&line.1, 0);
    let places = (0..).zip(signs).zip(next).map(|((at, sign), next)| regions::bracket((at, *sign, *next)));
    pairs(line, places.filter_map(|(at, keep)| keep.then_some(at)))
}

/// Taxi: how many pairs there are in all lines, and the sum of their values.
pub fn taxi(lines: &[Line]) -> Sum {
    let longest = lines.iter().map(|(_, line)| line.len()).max().unwrap_or(0);
    let places: Vec<u32> = (0..longest as u32).collect();
    let mut found = Vec::new();
    let mut sum = Sum::default();
    for line in lines.iter().filter(|line| regions::is_whole(&line.1)) {
        let (signs, next) = regions::signs(&line.1, 0);
        found.clear();
        select((&places[..], signs, next), &mut found, &regions::bracket);
        let (count, more) = pairs(line, found.iter().copied());
        sum = (sum.0 + count, sum.1 + u128::from(more));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{even_filter, lines, mod_filter, random, region_sum, segments, split_filter, taxi, taxi_line};

    #[test]
    fn loops_give_the_known_sums() {
        assert_eq!(even_filter(0..100_000), (49_982, 107_471_978_673_294));
        assert_eq!(mod_filter(0..1_000_000), (33_184, 71_313_248_635_145));
        let (accepted, rejected) = split_filter(&random(1_000_000));
        assert_eq!((accepted.0, rejected.0), (499_456, 500_544));
        let ((_, sum), evens) = region_sum(&segments(100_000, 16));
        assert_eq!((evens, sum), (49_982, 107_471_978_673_294));
    }

    #[test]
    fn the_loop_and_the_chain_of_iterators_find_the_same_pairs() {
        let lines = lines(2000);
        let chain =
            lines.iter().map(taxi_line).fold((0, 0), |all, (count, sum)| (all.0 + count, all.1 + u128::from(sum)));
        assert!(chain.0 > 15_000, "{chain:?}");
        assert_eq!(taxi(&lines), chain);
    }
}
