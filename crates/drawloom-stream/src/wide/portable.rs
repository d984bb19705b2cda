//! Values and flags block by block, and those that are kept one by one: what every processor can do.

use std::any::TypeId;

use super::lanes::Lanes;

/// How many values and flags there are space for in the nearest cache.
const BLOCK: usize = 256;
/// How many flags make a word.
pub(super) const WORD: usize = 64;
/// Values of more bytes are not kept in blocks: they would need much space on the stack, and gain nothing.
const LARGE: usize = 64;

/// Something that begins with a line of the cache. No register is written to two of them then, wherever the stack is.
#[repr(align(64))]
struct Aligned<T>(T);

/// Computes values and flags block by block, and hands over up to a word of them at a time.
#[inline(always)]
pub(super) fn sweep<L, O, F>(
    items: L,
    code: &F,
    mut each: impl FnMut(&[O; WORD], u64, usize),
    word: impl Fn(&[bool; WORD]) -> u64,
) where
    L: Lanes,
    O: Copy + Default,
    F: Fn(L::Lane) -> (O, bool),
{
    let Aligned(values) = &mut Aligned([[O::default(); WORD]; BLOCK / WORD]);
    let Aligned(flags) = &mut Aligned([[false; WORD]; BLOCK / WORD]);
    let all = items.count();
    for start in (0..all).step_by(BLOCK) {
        let count = BLOCK.min(all - start);
        let block = items.part(start, count).lanes();
        let (all_values, all_flags) = (values.as_flattened_mut(), flags.as_flattened_mut());
        for ((value, flag), item) in all_values.iter_mut().zip(all_flags.iter_mut()).zip(block) {
            (*value, *flag) = code(item);
        }
        for (at, (values, flags)) in values.iter().zip(&*flags).enumerate().take(count.div_ceil(WORD)) {
            let lanes = (count - at * WORD).min(WORD);
            // Behind the last lane there may be flags of another block.
            each(values, word(flags) & (u64::MAX >> (WORD - lanes)), lanes);
        }
    }
}

/// Flags as the bits of a number.
#[inline(always)]
fn word(flags: &[bool; WORD]) -> u64 {
    let mut word = 0;
    for (at, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
        // Each flag is one bit of a byte; the product puts all of them side by side into the highest byte.
        let bits = u64::from_le_bytes(eight.map(u8::from)).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        word |= bits << (8 * at);
    }
    word
}

#[inline(always)]
pub(super) fn select<L, O, F, W>(items: L, to: &mut Vec<O>, words: &mut W, code: &F)
where
    L: Lanes,
    O: Copy + Default + 'static,
    F: Fn(L::Lane) -> (O, bool),
    W: FnMut(u64),
{
    if size_of::<O>() > LARGE {
        return large(items, words, code, |value, flag| {
            if flag {
                to.push(value);
            }
        });
    }
    to.reserve(items.count());
    let mut place = Place::of(to);
    sweep(
        items,
        code,
        |values, flags, count| {
            words(flags);
            for (at, value) in values[..count].iter().enumerate() {
                // SAFETY: there is space for as many values as there are items.
                unsafe { place.put(*value, flags >> at & 1 == 1) };
            }
        },
        word,
    );
    let len = place.len;
    // SAFETY: so many values are there: each place up to it was written before `len` went over it.
    unsafe { to.set_len(len) };
}

#[inline(always)]
pub(super) fn split<L, O, F, W>(items: L, to: (&mut Vec<O>, &mut Vec<O>), words: &mut W, code: &F)
where
    L: Lanes,
    O: Copy + Default + 'static,
    F: Fn(L::Lane) -> (O, bool),
    W: FnMut(u64),
{
    let (accepted, rejected) = to;
    if size_of::<O>() > LARGE {
        return large(items, words, code, |value, flag| if flag { accepted.push(value) } else { rejected.push(value) });
    }
    accepted.reserve(items.count());
    rejected.reserve(items.count());
    let (mut yes, mut no) = (Place::of(accepted), Place::of(rejected));
    sweep(
        items,
        code,
        |values, flags, count| {
            words(flags);
            for (at, value) in values[..count].iter().enumerate() {
                let flag = flags >> at & 1 == 1;
                // SAFETY: there is space for as many values as there are items, in both.
                unsafe {
                    yes.put(*value, flag);
                    no.put(*value, !flag);
                }
            }
        },
        word,
    );
    let (yes, no) = (yes.len, no.len);
    // SAFETY: so many values are there: each place up to it was written before `len` went over it.
    unsafe {
        accepted.set_len(yes);
        rejected.set_len(no);
    }
}

/// Values that are too large for blocks.
fn large<L, O, F, W>(items: L, words: &mut W, code: &F, mut each: impl FnMut(O, bool))
where
    L: Lanes,
    F: Fn(L::Lane) -> (O, bool),
    W: FnMut(u64),
{
    let all = items.count();
    for start in (0..all).step_by(WORD) {
        let mut flags = 0;
        for (at, item) in items.part(start, WORD.min(all - start)).lanes().enumerate() {
            let (value, flag) = code(item);
            flags |= u64::from(flag) << at;
            each(value, flag);
        }
        words(flags);
    }
}

/// The end of a vector with space behind it.
pub(super) struct Place<O> {
    pub(super) start: *mut O,
    pub(super) len: usize,
}

impl<O: Copy> Place<O> {
    #[inline(always)]
    pub(super) fn of(to: &mut Vec<O>) -> Self {
        Self { start: to.as_mut_ptr(), len: to.len() }
    }

    /// Writes a value, and lets the next one overwrite it unless it is kept: so there is no branch.
    ///
    /// # Safety
    /// There is space for one more value, and the vector has not been touched since.
    #[inline(always)]
    unsafe fn put(&mut self, value: O, keep: bool) {
        // SAFETY: there is space, as the caller says.
        unsafe { self.start.add(self.len).write(value) };
        self.len += usize::from(keep);
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
