//! Contributions to a global: kept apart by blocks of iterations, and folded in one order on every backend.
//!
//! The blocks have a fixed number of iterations, whatever the number of workers and however a loop is cut into tasks. A block
//! is summed in the order of its iterations, and blocks are folded pairwise by their numbers: first 0 with 1, 2 with 3,
//! then the results. So the result has the same bits everywhere.

use crate::kernel::args::Folding;

/// The iterations of a block.
pub(crate) const BLOCK: usize = 1024;

/// What contributions are kept in: aligned for every type that kernels can contribute to.
pub(crate) type Slot = u128;

/// How many blocks a number of iterations has.
pub(crate) fn block_count(iterations: usize) -> usize {
    iterations.div_ceil(BLOCK)
}

/// How many slots one contribution takes.
pub(crate) fn slots_each(folding: &Folding) -> usize {
    folding.size.div_ceil(size_of::<Slot>()).max(1)
}

/// Folds the contributions of all blocks into the first, pairwise by their numbers.
pub(crate) fn fold_pairwise(slots: &mut [Slot], folding: &Folding) {
    let each = slots_each(folding);
    let count = slots.len() / each;
    let mut step = 1;
    while step < count {
        let mut first = 0;
        while first + step < count {
            let (before, after) = slots.split_at_mut((first + step) * each);
            let into = before[first * each..].as_mut_ptr().cast::<u8>();
            // SAFETY: both hold a contribution of this kind.
            unsafe { (folding.fold)(into, after.as_ptr().cast()) };
            first += 2 * step;
        }
        step *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::args::{Contribute, Fixed, LoopArg};
    use crate::kernel::operator::Adding;

    #[test]
    fn blocks_are_folded_pairwise_by_their_numbers() {
        let folding = Contribute::<Adding, Fixed, f64, 1>::folding().unwrap();
        // Chosen so that every other order rounds differently.
        let parts = [1e16, 1.0, -1e16, 1.0, 3.0];
        let mut slots: Vec<Slot> = parts.iter().map(|p: &f64| Slot::from(p.to_bits())).collect();
        fold_pairwise(&mut slots, &folding);
        let expected = ((parts[0] + parts[1]) + (parts[2] + parts[3])) + parts[4];
        assert_eq!(f64::from_bits(slots[0] as u64), expected);
    }
}
