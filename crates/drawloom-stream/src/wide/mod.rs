//! The widest instructions that the processor has: the one folder of this crate with `unsafe` code.
//!
//! A loop over a vector of items is compiled for several instruction sets, with the user's function inside of it, and the
//! right one is chosen at run time. It goes block by block: the values and flags of a block stay in the nearest cache, and
//! those that are kept are moved side by side from there to where they go, a register at once with AVX2 and AVX-512, one by one
//! elsewhere. All ways give the same values.
//!
//! | file | concept |
//! |---|---|
//! | this one | the functions that choose |
//! | [`level`] | how a loop is compiled for all that the processor can do |
//! | [`lanes`] | items that lie side by side |
//! | [`blocks`] | values and flags, and what is kept |
//! | `avx2`, `avx512` | a register of values that are kept at once |
//! | [`count`] | ranges of numbers become items |
//! | [`kept`] | how many items were kept before a place |

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod blocks;
mod count;
mod kept;
mod lanes;
mod level;

use pulp::Arch;

use self::blocks::{OneByOne, Sort};
pub(crate) use self::count::{count_up, count_up_all};
pub(crate) use self::kept::Kept;
pub use self::lanes::Lanes;
use self::level::Loop;
pub(crate) use self::level::{Kernel, call};

/// Where items are told apart by their places, there are no more: numbers of 32 bits say where, sixteen of which are in a register.
pub(crate) const MOST_ITEMS: usize = (u32::MAX >> 1) as usize;

/// A vector of numbers is given so much more space than its items need: whole registers are written.
const SLACK: usize = 32;

/// For how many items more than there may be a vector needs space. Registers are written as a whole only where items are plain numbers.
pub(crate) fn slack<T: 'static>() -> usize {
    if blocks::is_number::<T>(4) || blocks::is_number::<T>(8) { SLACK } else { 0 }
}

/// Makes space behind the last item of a vector, for so many and some slack.
///
/// # Panics
/// When no vector can have so many. There may be as many items of no size as there are numbers.
#[inline(always)]
fn reserve<T>(to: &mut Vec<T>, count: usize, slack: usize) {
    to.reserve(count.checked_add(slack).expect("there is no memory for so many items"));
}

/// Computes a value and a flag for each item, with the widest instructions that the processor has, and appends the values
/// whose flag is set. This is what [`NodeBuilder::select`](crate::NodeBuilder::select) runs, for loops that are written by
/// hand.
pub fn select<L, O, F>(items: L, to: &mut Vec<O>, code: &F)
where
    L: Lanes,
    O: Copy + Default + 'static,
    F: Fn(L::Lane) -> (O, bool),
{
    select_at(Arch::new(), items, to, &mut |_| (), code);
}

/// Computes a value and a flag for each item, and appends the value to one vector or the other. This is what
/// [`NodeBuilder::split`](crate::NodeBuilder::split) runs, for loops that are written by hand.
pub fn split<L, O, F>(items: L, accepted: &mut Vec<O>, rejected: &mut Vec<O>, code: &F)
where
    L: Lanes,
    O: Copy + Default + 'static,
    F: Fn(L::Lane) -> (O, bool),
{
    split_at(Arch::new(), items, (accepted, rejected), &mut |_| (), code);
}

/// Runs a loop that is written by hand with the widest instructions that the processor has, as nodes run theirs: what the
/// compiler inlines into it is compiled for them.
pub fn widest<R>(work: impl FnOnce() -> R) -> R {
    call(work)
}

/// As [`select`]. `words` gets the flags of each 64 items, as the bits of a number; those behind the last item are not set.
#[inline]
pub(crate) fn select_at<L, O, F, W>(level: Arch, items: L, to: &mut Vec<O>, words: &mut W, code: &F)
where
    L: Lanes,
    O: Copy + Default + 'static,
    F: Fn(L::Lane) -> (O, bool),
    W: FnMut(u64),
{
    sort_at(level, Sort { way: OneByOne, items, to, others: None, words, code });
}

/// As [`split`], with words as in [`select_at`].
#[inline]
pub(crate) fn split_at<L, O, F, W>(level: Arch, items: L, to: (&mut Vec<O>, &mut Vec<O>), words: &mut W, code: &F)
where
    L: Lanes,
    O: Copy + Default + 'static,
    F: Fn(L::Lane) -> (O, bool),
    W: FnMut(u64),
{
    sort_at(level, Sort { way: OneByOne, items, to: to.0, others: Some(to.1), words, code });
}
#[inline]
fn sort_at<L, O, F, W>(level: Arch, sort: Sort<'_, OneByOne, L, O, F, W>)
where
    L: Lanes,
    O: Copy + Default + 'static,
    F: Fn(L::Lane) -> (O, bool),
    W: FnMut(u64),
{
    match level {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(simd) => simd.vectorize(Loop(sort.by(simd))),
        #[cfg(target_arch = "x86_64")]
        Arch::V3(simd) => simd.vectorize(Loop(sort.by(simd))),
        _ => sort.run(),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use fastrand::Rng;

    use pulp::Arch;

    use super::{select_at, split_at};

    /// All that the processor has.
    fn levels() -> impl Iterator<Item = Arch> {
        #[cfg(target_arch = "x86_64")]
        let wide = [pulp::x86::V3::try_new().map(Arch::V3), pulp::x86::V4::try_new().map(Arch::V4)];
        #[cfg(not(target_arch = "x86_64"))]
        let wide: [Option<Arch>; 0] = [];
        [Arch::Scalar].into_iter().chain(wide.into_iter().flatten())
    }

    /// All levels give what a filter gives, for all lengths and shares of items that are kept.
    fn agrees<O: Copy + Default + PartialEq + Debug + 'static>(make: impl Fn(u32) -> O) {
        let mut rng = Rng::with_seed(3);
        for length in (0..70).chain([127, 128, 129, 255, 256, 257, 1000]) {
            for share in [0, 1, 50, 99, 100] {
                let items: Vec<(u32, bool)> = (0..length).map(|_| (rng.u32(..), rng.u32(..100) < share)).collect();
                let code = |(number, keep): (u32, bool)| (make(number), keep);
                let some = |flag| items.iter().filter(move |item| item.1 == flag).map(|item| make(item.0));
                let before = vec![make(1), make(2)];
                let flags =
                    items.chunks(64).map(|part| part.iter().rev().fold(0, |w, item| w << 1 | u64::from(item.1)));
                for level in levels() {
                    let (mut values, mut words) = (before.clone(), Vec::new());
                    select_at(level, &items[..], &mut values, &mut |word| words.push(word), &code);
                    let expected: Vec<O> = before.iter().copied().chain(some(true)).collect();
                    assert_eq!(values, expected, "{level:?}, {length} items, {share}%");
                    assert!(words.iter().copied().eq(flags.clone()), "{level:?}, {length} items, {share}%");
                    let (mut accepted, mut rejected) = (Vec::new(), before.clone());
                    words.clear();
                    let both = (&mut accepted, &mut rejected);
                    split_at(level, &items[..], both, &mut |word| words.push(word), &code);
                    assert_eq!(accepted, some(true).collect::<Vec<O>>(), "{level:?}, {length} items, {share}%");
                    let expected: Vec<O> = before.iter().copied().chain(some(false)).collect();
                    assert_eq!(rejected, expected, "{level:?}, {length} items, {share}%");
                    assert!(words.iter().copied().eq(flags.clone()), "{level:?}, {length} items, {share}%");
                }
            }
        }
    }

    #[test]
    fn more_items_than_any_vector_can_have_are_no_way_to_write_beyond_one() {
        let items = [(); usize::MAX];
        for level in levels() {
            let values = || select_at(level, &items[..], &mut Vec::new(), &mut |_| (), &|()| (1_u32, true));
            assert!(std::panic::catch_unwind(values).is_err(), "{level:?}");
            let both = || {
                let both = (&mut Vec::new(), &mut Vec::new());
                split_at(level, &items[..], both, &mut |_| (), &|()| (1_u64, true));
            };
            assert!(std::panic::catch_unwind(both).is_err(), "{level:?}");
        }
    }

    #[test]
    fn every_level_keeps_the_same_values() {
        agrees(|n| n);
        agrees(|n| n as f32);
        agrees(|n| n as i32);
        agrees(|n| u64::from(n) << 7);
        agrees(f64::from);
        agrees(|n| n as u8);
        agrees(|n| (n, n as u8));
        agrees(|n| [n; 20]);
    }
}
