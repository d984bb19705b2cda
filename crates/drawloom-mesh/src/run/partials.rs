//! Contributions to a global: kept apart by blocks of iterations, and folded in one order on every backend.
//!
//! The blocks have a fixed number of iterations, whatever the number of workers and however a loop is cut into tasks. A block
//! is summed in the order of its iterations, and blocks are folded pairwise by their numbers: first 0 with 1, 2 with 3,
//! then the results. So the result has the same bits everywhere.

use drawloom_runtime::access::fold_pairwise;

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
pub(crate) fn fold_blocks(slots: &mut [Slot], folding: &Folding) {
    let each = slots_each(folding);
    fold_pairwise(slots.len() / each, |into, from| {
        let (before, after) = slots.split_at_mut(from * each);
        // SAFETY: both hold a contribution of this kind.
        unsafe { (folding.fold)(before[into * each..].as_mut_ptr().cast(), after.as_ptr().cast()) };
    });
}
