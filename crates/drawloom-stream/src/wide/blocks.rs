//! Values and flags block by block, and where those go that are kept.

use std::any::TypeId;

use super::lanes::Lanes;
use super::{Kernel, reserve};

/// How many values and flags there are space for in the nearest cache.
const BLOCK: usize = 256;
/// How many flags make a word.
pub(super) const WORD: usize = 64;
/// Values of more bytes are not kept in blocks: they would need much space on the stack, and gain nothing.
const LARGE: usize = 64;

/// How values are brought side by side. All functions are inlined, and so compiled for their instructions.
pub(super) trait Keep: Copy {
    /// For how many values behind those that are kept there must be space.
    const SLACK: usize;

    /// Flags as the bits of a number.
    fn word(self, flags: &[bool; WORD]) -> u64;

    /// Appends those of the first `count` values whose flags are set. No others are.
    ///
    /// # Safety
    /// The values are plain numbers of four or eight bytes, or the way is [`OneByOne`]. There is space for `count` values, and
    /// for the slack behind them.
    unsafe fn keep<O: Copy>(self, values: &[O; WORD], flags: u64, count: usize, place: &mut Place<O>);
}

/// What every processor can do, for values of any type.
#[derive(Clone, Copy)]
pub(super) struct OneByOne;

impl Keep for OneByOne {
    const SLACK: usize = 0;

    #[inline(always)]
    fn word(self, flags: &[bool; WORD]) -> u64 {
        let mut word = 0;
        for (at, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
            // Each flag is one bit of a byte; the product puts all of them side by side into the highest byte.
            let bits = u64::from_le_bytes(eight.map(u8::from)).wrapping_mul(0x0102_0408_1020_4080) >> 56;
            word |= bits << (8 * at);
        }
        word
    }

    #[inline(always)]
    unsafe fn keep<O: Copy>(self, values: &[O; WORD], flags: u64, count: usize, place: &mut Place<O>) {
        for (at, value) in values[..count].iter().enumerate() {
            // A value that is not kept is overwritten by the next one: so there is no branch.
            // SAFETY: there is space for this one, even if all before it were kept.
            unsafe { place.start.add(place.len).write(*value) };
            place.len += usize::from(flags >> at & 1 == 1);
        }
    }
}

/// The end of a vector with space behind it.
pub(super) struct Place<O> {
    pub(super) start: *mut O,
    pub(super) len: usize,
}

impl<O> Place<O> {
    #[inline(always)]
    fn of(to: &mut Vec<O>) -> Self {
        Self { start: to.as_mut_ptr(), len: to.len() }
    }
}

/// Something that begins with a line of the cache. No register is written to two of them then, wherever the stack is.
#[repr(align(64))]
struct Aligned<T>(T);

/// The loop that computes a value and a flag for each item, and appends those whose flag is set to one vector, and the others
/// to another, if they are wanted. `words` gets the flags of each 64 items.
pub(super) struct Sort<'a, K, L, O, F, W> {
    pub(super) way: K,
    pub(super) items: L,
    pub(super) to: &'a mut Vec<O>,
    pub(super) others: Option<&'a mut Vec<O>>,
    pub(super) words: &'a mut W,
    pub(super) code: &'a F,
}

impl<K, L, O, F, W> Kernel for Sort<'_, K, L, O, F, W>
where
    K: Keep,
    L: Lanes,
    O: Copy + Default + 'static,
    F: Fn(L::Lane) -> (O, bool),
    W: FnMut(u64),
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        if size_of::<O>() > LARGE {
            self.large();
        } else if is_number::<O>(4) || is_number::<O>(8) {
            // SAFETY: the values are plain numbers.
            unsafe { self.blocks() };
        } else {
            // SAFETY: this way is for values of any type.
            unsafe { self.by(OneByOne).blocks() };
        }
    }
}

impl<'a, K, L, O, F, W> Sort<'a, K, L, O, F, W> {
    /// The same in another way.
    #[inline(always)]
    pub(super) fn by<Other>(self, way: Other) -> Sort<'a, Other, L, O, F, W> {
        let Self { items, to, others, words, code, .. } = self;
        Sort { way, items, to, others, words, code }
    }
}

impl<K, L, O, F, W> Sort<'_, K, L, O, F, W>
where
    K: Keep,
    L: Lanes,
    O: Copy + Default,
    F: Fn(L::Lane) -> (O, bool),
    W: FnMut(u64),
{
    /// # Safety
    /// The values are of a type that the way is for.
    #[inline(always)]
    unsafe fn blocks(self) {
        let Self { way, items, to, mut others, words, code } = self;
        let Aligned(values) = &mut Aligned([[O::default(); WORD]; BLOCK / WORD]);
        let Aligned(flags) = &mut Aligned([[false; WORD]; BLOCK / WORD]);
        let all = items.count();
        reserve(to, all, K::SLACK);
        let mut place = Place::of(to);
        let mut other = others.as_deref_mut().map(|others| {
            reserve(others, all, K::SLACK);
            Place::of(others)
        });
        for start in (0..all).step_by(BLOCK) {
            let count = BLOCK.min(all - start);
            let block = items.part(start, count).lanes();
            let (all_values, all_flags) = (values.as_flattened_mut(), flags.as_flattened_mut());
            for ((value, flag), item) in all_values.iter_mut().zip(all_flags.iter_mut()).zip(block) {
                (*value, *flag) = code(item);
            }
            for (at, (values, flags)) in values.iter().zip(&*flags).enumerate().take(count.div_ceil(WORD)) {
                let count = (count - at * WORD).min(WORD);
                // Behind the last lane there may be flags of another block.
                let lanes = u64::MAX >> (WORD - count);
                let flags = way.word(flags) & lanes;
                words(flags);
                // SAFETY: there is space for as many values as there are items, and for more; no flag is set for what is no
                // item. The caller says that the type is right.
                unsafe {
                    way.keep(values, flags, count, &mut place);
                    if let Some(other) = &mut other {
                        way.keep(values, !flags & lanes, count, other);
                    }
                }
            }
        }
        // SAFETY: so many values were written side by side.
        unsafe { to.set_len(place.len) };
        if let (Some(others), Some(place)) = (others, other) {
            // SAFETY: as above.
            unsafe { others.set_len(place.len) };
        }
    }

    /// Values that are too large for blocks.
    fn large(self) {
        let Self { items, to, mut others, words, code, .. } = self;
        let all = items.count();
        for start in (0..all).step_by(WORD) {
            let mut flags = 0;
            for (at, item) in items.part(start, WORD.min(all - start)).lanes().enumerate() {
                let (value, flag) = code(item);
                flags |= u64::from(flag) << at;
                match &mut others {
                    _ if flag => to.push(value),
                    Some(others) => others.push(value),
                    None => {}
                }
            }
            words(flags);
        }
    }
}

/// Whether a type is a plain number of four bytes, or of eight.
#[inline(always)]
pub(super) fn is_number<O: 'static>(bytes: usize) -> bool {
    let id = TypeId::of::<O>();
    match bytes {
        4 => id == TypeId::of::<u32>() || id == TypeId::of::<i32>() || id == TypeId::of::<f32>(),
        8 => id == TypeId::of::<u64>() || id == TypeId::of::<i64>() || id == TypeId::of::<f64>(),
        _ => false,
    }
}
