//! The filters as loops that are written by hand, block after block, with the same wide instructions as the streams: the limit
//! that a stream can come close to.

use drawloom_stream::select;

use super::number::{Divisor, Rand, munge};
use super::plain::STAGES;
use super::regions;
pub use super::regions::Segment;

/// How many items are in the registers and the nearest cache at once.
const BLOCK: usize = 1024;

/// How many items there are, and their sum.
pub type Sum = (u64, u128);

/// Space for one block.
struct Block {
    items: [u32; BLOCK],
    values: [u32; BLOCK],
    kept: [bool; BLOCK],
}

impl Block {
    fn new() -> Self {
        Self { items: [0; BLOCK], values: [0; BLOCK], kept: [false; BLOCK] }
    }

    /// Filters the first items in their place. Returns how many are left.
    fn filter(&mut self, count: usize, code: impl Fn(u32) -> (u32, bool)) -> usize {
        let left = select(&self.items[..count], &mut self.values[..count], &mut self.kept[..count], &code);
        std::mem::swap(&mut self.items, &mut self.values);
        left
    }
}

fn add(sum: &mut Sum, items: &[u32]) {
    sum.0 += items.len() as u64;
    sum.1 += u128::from(items.iter().map(|item| u64::from(*item)).sum::<u64>());
}

/// Blocks of numbers below n.
fn blocks(n: u64, mut each: impl FnMut(&mut Block, usize)) {
    let mut block = Block::new();
    let mut start = 0;
    while start < n {
        let count = (n - start).min(BLOCK as u64) as usize;
        for (item, number) in block.items[..count].iter_mut().zip(start as u32..) {
            *item = number;
        }
        each(&mut block, count);
        start += count as u64;
    }
}

fn even(item: u32) -> (u32, bool) {
    let hash = munge(item);
    (hash, hash & 1 == 0)
}

/// EvenFilter.
pub fn even_filter(n: u64) -> Sum {
    let mut sum = Sum::default();
    blocks(n, |block, count| {
        let left = block.filter(count, even);
        add(&mut sum, &block.items[..left]);
    });
    sum
}

/// ModFilter.
pub fn mod_filter(n: u64) -> Sum {
    let divisors = STAGES.map(|(_, number)| Divisor::new(number));
    let mut sum = Sum::default();
    blocks(n, |block, mut count| {
        block.items[..count].iter_mut().for_each(|item| *item = item.wrapping_mul(2));
        for divisor in divisors {
            count = block.filter(count, |item| {
                let hash = munge(item);
                (hash, divisor.divides(hash))
            });
        }
        add(&mut sum, &block.items[..count]);
    });
    sum
}

/// The input of SplitFilter.
pub fn random(n: usize) -> Vec<u32> {
    Rand::new(0).take(n).collect()
}

/// SplitFilter: what is accepted, and what is rejected.
pub fn split_filter(numbers: &[u32]) -> (Sum, Sum) {
    let (mut accepted, mut rejected) = (Sum::default(), Sum::default());
    let mut block = Block::new();
    for numbers in numbers.chunks(BLOCK) {
        let (count, values, kept) = (numbers.len(), &mut block.values, &mut block.kept);
        let left = select(numbers, &mut values[..count], &mut kept[..count], &even);
        add(&mut accepted, &values[..left]);
        let left = select(numbers, &mut values[..count], &mut kept[..count], &|item| {
            let hash = munge(item);
            (hash, hash & 1 == 1)
        });
        add(&mut rejected, &values[..left]);
    }
    (accepted, rejected)
}

/// The input of RegionSum.
pub fn segments(n: u64, mean: u64) -> Vec<Segment> {
    regions::segments(n, mean)
}

/// The number and sum of even hashes in a segment.
pub fn segment_sum(segment: Segment) -> (u64, u64) {
    (segment.start..segment.end).map(even).fold((0, 0), |(count, sum), (hash, keep)| {
        (count + u64::from(keep), sum + if keep { u64::from(hash) } else { 0 })
    })
}

/// RegionSum: how many segments there are, and the sum of their sums.
pub fn region_sum(segments: &[Segment]) -> Sum {
    let mut sum = Sum::default();
    for segment in segments {
        sum.0 += 1;
        sum.1 += u128::from(std::hint::black_box(segment_sum(*segment)).1);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{even_filter, mod_filter, random, region_sum, segments, split_filter};

    #[test]
    fn loops_give_the_known_sums() {
        assert_eq!(even_filter(100_000), (49_982, 107_471_978_673_294));
        assert_eq!(mod_filter(1_000_000), (33_184, 71_313_248_635_145));
        let (accepted, rejected) = split_filter(&random(1_000_000));
        assert_eq!((accepted.0, rejected.0), (499_456, 500_544));
        assert_eq!(region_sum(&segments(100_000, 16)).1, 107_471_978_673_294);
    }
}
