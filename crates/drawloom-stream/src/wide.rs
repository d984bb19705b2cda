//! The widest instructions that the processor has: the one place of this crate with `unsafe` code.
//!
//! A loop over a vector of items is compiled for several instruction sets, with the user's function inside of it, and the
//! right one is chosen at run time. It goes block by block: the values and flags of a block stay in the nearest cache, and
//! those that are kept are moved side by side from there to where they go, 16 or 8 at once where the processor can compress a
//! register, one by one elsewhere. All ways give the same values.

use std::any::{Any, TypeId};
use std::ops::Range;
use std::sync::OnceLock;

/// What the processor can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// What every processor of the target has.
    Portable,
    /// AVX2: vectors of eight numbers of 32 bits.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with F, BW, DQ and VL: vectors of sixteen, which can be compressed.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The best that this processor has.
    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| Self::all().last().copied().unwrap_or(Level::Portable))
    }

    /// All that this processor has, the slowest first.
    pub(crate) fn all() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut levels = vec![Level::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                levels.push(Level::Avx2);
            }
            let more = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("popcnt");
            if more && levels.contains(&Level::Avx2) {
                levels.push(Level::Avx512);
            }
        }
        levels
    }
}

/// How many values and flags there are space for in the nearest cache.
const BLOCK: usize = 256;
/// How many flags make a word.
const WORD: usize = 64;
/// A vector is given so much more space than its items need: whole registers are written.
pub(crate) const SLACK: usize = 32;
/// Values of more bytes are not kept in blocks: they would need much space on the stack, and gain nothing.
const LARGE: usize = 64;

/// Computes a value and a flag for each item, with the widest instructions that the processor has, and appends the values
/// whose flag is set. This is what [`NodeBuilder::select`](crate::NodeBuilder::select) runs, for loops that are written by
/// hand.
pub fn select<I, O, F>(items: &[I], to: &mut Vec<O>, code: &F)
where
    I: Copy,
    O: Copy + Default + 'static,
    F: Fn(I) -> (O, bool),
{
    select_at(Level::best(), items, to, &mut |_| (), code);
}

/// Computes a value and a flag for each item, and appends the value to one vector or the other. This is what
/// [`NodeBuilder::split`](crate::NodeBuilder::split) runs, for loops that are written by hand.
pub fn split<I, O, F>(items: &[I], accepted: &mut Vec<O>, rejected: &mut Vec<O>, code: &F)
where
    I: Copy,
    O: Copy + Default + 'static,
    F: Fn(I) -> (O, bool),
{
    split_at(Level::best(), items, (accepted, rejected), &mut |_| (), code);
}

/// Runs a loop that is written by hand with the widest instructions that the processor has, as nodes run theirs: what the
/// compiler inlines into it is compiled for them.
pub fn widest<R>(work: impl FnOnce() -> R) -> R {
    call(work)
}

/// Numbers that can be counted up.
pub(crate) trait Number: Copy + PartialEq + 'static {
    /// The lowest number.
    const ZERO: Self;
    /// The number that is so much higher.
    fn plus(self, more: usize) -> Self;
    /// How many numbers there are from this one to before another.
    fn until(self, end: Self) -> usize;
}

impl Number for u32 {
    const ZERO: Self = 0;

    #[inline(always)]
    fn plus(self, more: usize) -> Self {
        self.wrapping_add(more as u32)
    }

    #[inline(always)]
    fn until(self, end: Self) -> usize {
        end.saturating_sub(self) as usize
    }
}

impl Number for u64 {
    const ZERO: Self = 0;

    #[inline(always)]
    fn plus(self, more: usize) -> Self {
        self.wrapping_add(more as u64)
    }

    #[inline(always)]
    fn until(self, end: Self) -> usize {
        usize::try_from(end.saturating_sub(self)).unwrap_or(usize::MAX)
    }
}

/// Appends the numbers of a range to a vector. Short ranges cost no branch that depends on their length.
#[inline(always)]
fn append_range<N: Number>(first: N, count: usize, to: &mut Vec<N>) {
    to.reserve(count + SLACK);
    // SAFETY: there is space behind the last number for as many as are appended.
    let start = unsafe { to.as_mut_ptr().add(to.len()) };
    let write = |at: usize| {
        // SAFETY: there is space for `count` numbers and for SLACK more, and no more are written.
        unsafe { start.add(at).write(first.plus(at)) };
    };
    if count <= SLACK {
        (0..SLACK).for_each(write);
    } else {
        (0..count).for_each(write);
    }
    // SAFETY: so many numbers were written.
    unsafe { to.set_len(to.len() + count) };
}

/// Moves up to so many numbers from an iterator to a vector, if the iterator is a range of such numbers. Says whether the
/// iterator has ended.
// It is a vector of numbers or not, and that is found out here.
#[allow(clippy::ptr_arg)]
#[inline(always)]
pub(crate) fn count_up<N: Number, It>(items: &mut It, room: usize, to: &mut Vec<It::Item>) -> Option<bool>
where
    It: Iterator + 'static,
    It::Item: 'static,
{
    let range: &mut Range<N> = (items as &mut dyn Any).downcast_mut()?;
    let to: &mut Vec<N> = (to as &mut dyn Any).downcast_mut()?;
    let count = range.start.until(range.end).min(room);
    append_range(range.start, count, to);
    range.start = range.start.plus(count);
    Some(range.start.until(range.end) == 0)
}

/// Moves the numbers of several ranges to a vector that has so much room, if the iterators are ranges of such numbers: those of
/// ranges of which each begins where the one before it ends are counted up as one. Notes behind how many numbers each ends; says
/// how many ranges have begun, and what is left of the last.
// It is a vector of numbers or not, and that is found out here.
#[allow(clippy::ptr_arg)]
#[inline(always)]
pub(crate) fn count_all<N: Number, It, const GROUP: usize>(
    iterators: impl ExactSizeIterator<Item = It>,
    room: usize,
    to: &mut Vec<It::Item>,
    ends: &mut [usize; GROUP],
) -> Option<(usize, Option<It>)>
where
    It: Iterator + 'static,
    It::Item: 'static,
{
    if TypeId::of::<It>() != TypeId::of::<Range<N>>() {
        return None;
    }
    let to: &mut Vec<N> = (to as &mut dyn Any).downcast_mut()?;
    let mut begun = 0;
    // The numbers that are to be counted up, and how many were before them.
    let (mut first, mut length, mut before) = (N::ZERO, 0, 0);
    for (mut iterator, end) in iterators.zip(ends) {
        let Range { start, end: stop } = (&mut iterator as &mut dyn Any).downcast_mut::<Range<N>>()?;
        begun += 1;
        if *start != first.plus(length) {
            append_range(first, length, to);
            before += length;
            (first, length) = (*start, 0);
        }
        let more = start.until(*stop);
        *end = before + length + more;
        if *end > room {
            let part = room - before - length;
            append_range(first, length + part, to);
            *start = start.plus(part);
            return Some((begun, Some(iterator)));
        }
        length += more;
    }
    append_range(first, length, to);
    Some((begun, None))
}

/// A loop, around the user's function as a rule. What implements this marks `run` as `#[inline(always)]`, so that it is
/// compiled for each instruction set.
pub(crate) trait Kernel {
    /// What comes out.
    type Output;
    /// Runs the loop.
    fn run(self) -> Self::Output;
}

impl<R, F: FnOnce() -> R> Kernel for F {
    type Output = R;

    #[inline(always)]
    fn run(self) -> R {
        self()
    }
}

/// Runs a loop with the widest instructions that the processor has. A closure gets them only if it is small enough to be
/// inlined; larger loops are kernels.
#[inline]
pub(crate) fn call<K: Kernel>(kernel: K) -> K::Output {
    match Level::best() {
        Level::Portable => kernel.run(),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: this level is made only where the processor has AVX2.
        Level::Avx2 => unsafe { x86::call_avx2(kernel) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: this level is made only where the processor has these parts of AVX-512.
        Level::Avx512 => unsafe { x86::call_avx512(kernel) },
    }
}

/// As [`select`]. `words` gets the flags of each 64 items, as the bits of a number; those behind the last item are not set.
#[inline]
pub(crate) fn select_at<I, O, F, W>(level: Level, items: &[I], to: &mut Vec<O>, words: &mut W, code: &F)
where
    I: Copy,
    O: Copy + Default + 'static,
    F: Fn(I) -> (O, bool),
    W: FnMut(u64),
{
    match level {
        Level::Portable => select_one_by_one(items, to, words, code),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: this level is made only where the processor has AVX2.
        Level::Avx2 => unsafe { x86::select_avx2(items, to, words, code) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: this level is made only where the processor has these parts of AVX-512.
        Level::Avx512 => unsafe { x86::select_avx512(items, to, words, code) },
    }
}

/// As [`split`], with words as in [`select_at`].
#[inline]
pub(crate) fn split_at<I, O, F, W>(level: Level, items: &[I], to: (&mut Vec<O>, &mut Vec<O>), words: &mut W, code: &F)
where
    I: Copy,
    O: Copy + Default + 'static,
    F: Fn(I) -> (O, bool),
    W: FnMut(u64),
{
    match level {
        Level::Portable => split_one_by_one(items, to, words, code),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: this level is made only where the processor has AVX2.
        Level::Avx2 => unsafe { x86::split_avx2(items, to, words, code) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: this level is made only where the processor has these parts of AVX-512.
        Level::Avx512 => unsafe { x86::split_avx512(items, to, words, code) },
    }
}

/// Computes values and flags block by block, and hands over up to a word of them at a time.
#[inline(always)]
fn sweep<I, O, F>(
    items: &[I],
    code: &F,
    mut each: impl FnMut(&[O; WORD], u64, usize),
    word: impl Fn(&[bool; WORD]) -> u64,
) where
    I: Copy,
    O: Copy + Default,
    F: Fn(I) -> (O, bool),
{
    let mut values = [[O::default(); WORD]; BLOCK / WORD];
    let mut flags = [[false; WORD]; BLOCK / WORD];
    for block in items.chunks(BLOCK) {
        let count = block.len();
        let (all_values, all_flags) = (values.as_flattened_mut(), flags.as_flattened_mut());
        for ((value, flag), item) in all_values.iter_mut().zip(all_flags.iter_mut()).zip(block) {
            (*value, *flag) = code(*item);
        }
        all_flags[count..count.next_multiple_of(WORD)].fill(false);
        for (at, (values, flags)) in values.iter().zip(&flags).enumerate().take(count.div_ceil(WORD)) {
            each(values, word(flags), (count - at * WORD).min(WORD));
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
fn select_one_by_one<I, O, F, W>(items: &[I], to: &mut Vec<O>, words: &mut W, code: &F)
where
    I: Copy,
    O: Copy + Default + 'static,
    F: Fn(I) -> (O, bool),
    W: FnMut(u64),
{
    if size_of::<O>() > LARGE {
        return large(items, words, code, |value, flag| {
            if flag {
                to.push(value);
            }
        });
    }
    to.reserve(items.len());
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
fn split_one_by_one<I, O, F, W>(items: &[I], to: (&mut Vec<O>, &mut Vec<O>), words: &mut W, code: &F)
where
    I: Copy,
    O: Copy + Default + 'static,
    F: Fn(I) -> (O, bool),
    W: FnMut(u64),
{
    let (accepted, rejected) = to;
    if size_of::<O>() > LARGE {
        return large(items, words, code, |value, flag| if flag { accepted.push(value) } else { rejected.push(value) });
    }
    accepted.reserve(items.len());
    rejected.reserve(items.len());
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
fn large<I, O, F, W>(items: &[I], words: &mut W, code: &F, mut each: impl FnMut(O, bool))
where
    I: Copy,
    F: Fn(I) -> (O, bool),
    W: FnMut(u64),
{
    for part in items.chunks(WORD) {
        let mut flags = 0;
        for (at, item) in part.iter().enumerate() {
            let (value, flag) = code(*item);
            flags |= u64::from(flag) << at;
            each(value, flag);
        }
        words(flags);
    }
}

/// The end of a vector with space behind it.
struct Place<O> {
    start: *mut O,
    len: usize,
}

impl<O: Copy> Place<O> {
    #[inline(always)]
    fn of(to: &mut Vec<O>) -> Self {
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
fn is_number<O: 'static>(bytes: usize) -> bool {
    let id = TypeId::of::<O>();
    match bytes {
        4 => id == TypeId::of::<u32>() || id == TypeId::of::<i32>() || id == TypeId::of::<f32>(),
        8 => id == TypeId::of::<u64>() || id == TypeId::of::<i64>() || id == TypeId::of::<f64>(),
        _ => false,
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m512i, _mm512_loadu_si512, _mm512_maskz_compress_epi32, _mm512_maskz_compress_epi64, _mm512_storeu_si512,
        _mm512_test_epi8_mask,
    };

    use super::{Kernel, Place, SLACK, WORD, is_number, select_one_by_one, split_one_by_one, sweep};

    #[target_feature(enable = "avx2")]
    pub(super) fn call_avx2<K: Kernel>(kernel: K) -> K::Output {
        kernel.run()
    }

    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,popcnt")]
    pub(super) fn call_avx512<K: Kernel>(kernel: K) -> K::Output {
        kernel.run()
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn select_avx2<I, O, F, W>(items: &[I], to: &mut Vec<O>, words: &mut W, code: &F)
    where
        I: Copy,
        O: Copy + Default + 'static,
        F: Fn(I) -> (O, bool),
        W: FnMut(u64),
    {
        select_one_by_one(items, to, words, code);
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn split_avx2<I, O, F, W>(items: &[I], to: (&mut Vec<O>, &mut Vec<O>), words: &mut W, code: &F)
    where
        I: Copy,
        O: Copy + Default + 'static,
        F: Fn(I) -> (O, bool),
        W: FnMut(u64),
    {
        split_one_by_one(items, to, words, code);
    }

    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,popcnt")]
    pub(super) fn select_avx512<I, O, F, W>(items: &[I], to: &mut Vec<O>, words: &mut W, code: &F)
    where
        I: Copy,
        O: Copy + Default + 'static,
        F: Fn(I) -> (O, bool),
        W: FnMut(u64),
    {
        if !is_number::<O>(4) && !is_number::<O>(8) {
            return select_one_by_one(items, to, words, code);
        }
        to.reserve(items.len() + SLACK);
        let mut place = Place::of(to);
        sweep(
            items,
            code,
            |values, flags, _| {
                words(flags);
                // SAFETY: there is space for as many values as there are items, and for a register behind them. No flag is
                // set for what is no item.
                unsafe { compress(values, flags, &mut place) };
            },
            |flags| word(flags),
        );
        let len = place.len;
        // SAFETY: so many values were written side by side.
        unsafe { to.set_len(len) };
    }

    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,popcnt")]
    pub(super) fn split_avx512<I, O, F, W>(items: &[I], to: (&mut Vec<O>, &mut Vec<O>), words: &mut W, code: &F)
    where
        I: Copy,
        O: Copy + Default + 'static,
        F: Fn(I) -> (O, bool),
        W: FnMut(u64),
    {
        if !is_number::<O>(4) && !is_number::<O>(8) {
            return split_one_by_one(items, to, words, code);
        }
        let (accepted, rejected) = to;
        accepted.reserve(items.len() + SLACK);
        rejected.reserve(items.len() + SLACK);
        let (mut yes, mut no) = (Place::of(accepted), Place::of(rejected));
        sweep(
            items,
            code,
            |values, flags, count| {
                words(flags);
                // SAFETY: as in `select_avx512`, in both vectors.
                unsafe {
                    compress(values, flags, &mut yes);
                    compress(values, !flags & (u64::MAX >> (WORD - count)), &mut no);
                }
            },
            |flags| word(flags),
        );
        let (yes, no) = (yes.len, no.len);
        // SAFETY: so many values were written side by side.
        unsafe {
            accepted.set_len(yes);
            rejected.set_len(no);
        }
    }

    /// As [`super::word`], all at once.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn word(flags: &[bool; WORD]) -> u64 {
        // SAFETY: there are as many bytes as a register holds.
        let flags = unsafe { _mm512_loadu_si512(flags.as_ptr().cast::<__m512i>()) };
        _mm512_test_epi8_mask(flags, flags)
    }

    /// Appends the values whose flags are set, a register at a time.
    ///
    /// # Safety
    /// The values are numbers of four or eight bytes. There is space for all whose flag is set, and [`SLACK`] more.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
    unsafe fn compress<O>(values: &[O; WORD], flags: u64, place: &mut Place<O>) {
        let from = values.as_ptr();
        if size_of::<O>() == 4 {
            for at in (0..WORD).step_by(16) {
                let mask = (flags >> at) as u16;
                // SAFETY: sixteen values from `at` are in the array. There is space, as the caller says.
                unsafe {
                    let front = _mm512_maskz_compress_epi32(mask, _mm512_loadu_si512(from.add(at).cast::<__m512i>()));
                    _mm512_storeu_si512(place.start.add(place.len).cast::<__m512i>(), front);
                }
                place.len += mask.count_ones() as usize;
            }
        } else {
            for at in (0..WORD).step_by(8) {
                let mask = (flags >> at) as u8;
                // SAFETY: as above, with eight values.
                unsafe {
                    let front = _mm512_maskz_compress_epi64(mask, _mm512_loadu_si512(from.add(at).cast::<__m512i>()));
                    _mm512_storeu_si512(place.start.add(place.len).cast::<__m512i>(), front);
                }
                place.len += mask.count_ones() as usize;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use fastrand::Rng;

    use super::{Level, Number, count_all, select_at, split_at};

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
                for level in Level::all() {
                    let (mut values, mut words) = (before.clone(), Vec::new());
                    select_at(level, &items, &mut values, &mut |word| words.push(word), &code);
                    let expected: Vec<O> = before.iter().copied().chain(some(true)).collect();
                    assert_eq!(values, expected, "{level:?}, {length} items, {share}%");
                    assert!(words.iter().copied().eq(flags.clone()), "{level:?}, {length} items, {share}%");
                    let (mut accepted, mut rejected) = (Vec::new(), before.clone());
                    words.clear();
                    let both = (&mut accepted, &mut rejected);
                    split_at(level, &items, both, &mut |word| words.push(word), &code);
                    assert_eq!(accepted, some(true).collect::<Vec<O>>(), "{level:?}, {length} items, {share}%");
                    let expected: Vec<O> = before.iter().copied().chain(some(false)).collect();
                    assert_eq!(rejected, expected, "{level:?}, {length} items, {share}%");
                    assert!(words.iter().copied().eq(flags.clone()), "{level:?}, {length} items, {share}%");
                }
            }
        }
    }

    /// What ranges are counted up to, and where they end, whatever follows what and however little room there is.
    fn counts_up<N: Number + std::fmt::Debug>(number: impl Fn(u32) -> N)
    where
        std::ops::Range<N>: Iterator<Item = N>,
    {
        let mut rng = Rng::with_seed(5);
        for round in 0..2000 {
            let mut next = 0;
            let ranges: Vec<std::ops::Range<N>> = (0..rng.usize(..16))
                .map(|_| {
                    // As a rule one begins where the one before it ends; some end before they begin.
                    let start = if rng.u32(..4) == 0 { rng.u32(..1000) } else { next };
                    let most = if rng.bool() { 5 } else { 100 };
                    next = (start + rng.u32(..most)).saturating_sub(rng.u32(..3));
                    number(start)..number(next)
                })
                .collect();
            let room = rng.usize(..400);
            let (mut expected, mut expected_ends, mut left) = (vec![number(7)], Vec::new(), None);
            for range in &ranges {
                let mut range = range.clone();
                expected.extend(range.by_ref().take(room + 1 - expected.len()));
                if range.start.until(range.end) > 0 {
                    left = Some(range);
                    break;
                }
                expected_ends.push(expected.len() - 1);
            }
            let (mut numbers, mut ends) = (vec![number(7)], [0; 16]);
            let (begun, rest) =
                count_all::<N, std::ops::Range<N>, 16>(ranges.iter().cloned(), room, &mut numbers, &mut ends).unwrap();
            assert_eq!(numbers, expected, "round {round}");
            assert_eq!(rest, left, "round {round}");
            assert_eq!(begun, expected_ends.len() + usize::from(left.is_some()), "round {round}");
            assert_eq!(ends[..expected_ends.len()], expected_ends, "round {round}");
        }
    }

    #[test]
    fn ranges_that_follow_each_other_are_counted_up_as_one() {
        counts_up(|n| n);
        counts_up(u64::from);
        let none: Option<(usize, Option<std::ops::Range<u64>>)> =
            count_all::<u32, _, 4>(std::iter::once(0_u64..3), 10, &mut Vec::new(), &mut [0; 4]);
        assert_eq!(none, None, "these are other numbers");
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
