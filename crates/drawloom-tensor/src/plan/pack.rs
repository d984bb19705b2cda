//! Where in an arena everything goes: two things that are there at the same time never overlap.

use crate::tensor::memory::ALIGNMENT;

/// Something that needs a place for a while.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) bytes: usize,
    /// The first and the last step at which it is there.
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// Offsets of all items, and how many bytes they take together.
///
/// The largest goes first, to the lowest place where nothing is that is there at the same time. That is rarely far from the
/// most bytes that are there at once, which no packing can beat.
pub(crate) fn pack(items: &[Item]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..items.len()).filter(|index| items[*index].bytes > 0).collect();
    order.sort_by_key(|index| (std::cmp::Reverse(items[*index].bytes), items[*index].first, *index));
    let mut offsets = vec![0usize; items.len()];
    let mut placed: Vec<usize> = Vec::with_capacity(order.len());
    let mut total = 0;
    let mut taken: Vec<(usize, usize)> = Vec::new();
    for index in order {
        let item = items[index];
        taken.clear();
        taken.extend(placed.iter().filter_map(|other| {
            let there = items[*other].first <= item.last && item.first <= items[*other].last;
            there.then(|| (offsets[*other], offsets[*other].saturating_add(rounded(items[*other].bytes))))
        }));
        taken.sort_unstable();
        let bytes = rounded(item.bytes);
        let mut offset = 0usize;
        for (begin, end) in &taken {
            if offset.saturating_add(bytes) <= *begin {
                break;
            }
            offset = offset.max(*end);
        }
        offsets[index] = offset;
        total = total.max(offset.saturating_add(bytes));
        placed.push(index);
    }
    (offsets, total)
}

/// The bytes that something takes in an arena.
pub(crate) fn rounded(bytes: usize) -> usize {
    bytes.checked_next_multiple_of(ALIGNMENT).unwrap_or(usize::MAX)
}
