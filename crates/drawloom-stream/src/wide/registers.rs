//! Values that are kept where whole registers of them are brought side by side at once: what the levels have in common that can.

use super::lanes::Lanes;
use super::portable::{Place, WORD, is_number, sweep};
use super::reserve;

/// Whether values are kept like this: if they are plain numbers of four bytes, or of eight.
#[inline(always)]
pub(super) fn fit<O: 'static>() -> bool {
    is_number::<O>(4) || is_number::<O>(8)
}

/// As [`select`](super::select_at). `word` says which of 64 flags are set, and `compress` appends the values whose flags are.
///
/// # Safety
/// `compress` appends no more values than flags are set, and writes no more than [`SLACK`](super::SLACK) behind them.
#[inline(always)]
pub(super) unsafe fn select<L, O, F, W>(
    items: L,
    to: &mut Vec<O>,
    words: &mut W,
    code: &F,
    word: impl Fn(&[bool; WORD]) -> u64,
    compress: impl Fn(&[O; WORD], u64, &mut Place<O>),
) where
    L: Lanes,
    O: Copy + Default + 'static,
    F: Fn(L::Lane) -> (O, bool),
    W: FnMut(u64),
{
    reserve(to, items.count());
    let mut place = Place::of(to);
    let each = |values: &[O; WORD], flags, _| {
        words(flags);
        // There is space for as many values as there are items, and for a register behind them. No flag is set for what is no item.
        compress(values, flags, &mut place);
    };
    sweep(items, code, each, word);
    let len = place.len;
    // SAFETY: so many values were written side by side.
    unsafe { to.set_len(len) };
}

/// As [`split`](super::split_at), with the same functions as [`select`].
///
/// # Safety
/// As with [`select`].
#[inline(always)]
pub(super) unsafe fn split<L, O, F, W>(
    items: L,
    (accepted, rejected): (&mut Vec<O>, &mut Vec<O>),
    words: &mut W,
    code: &F,
    word: impl Fn(&[bool; WORD]) -> u64,
    compress: impl Fn(&[O; WORD], u64, &mut Place<O>),
) where
    L: Lanes,
    O: Copy + Default + 'static,
    F: Fn(L::Lane) -> (O, bool),
    W: FnMut(u64),
{
    reserve(accepted, items.count());
    reserve(rejected, items.count());
    let (mut yes, mut no) = (Place::of(accepted), Place::of(rejected));
    let each = |values: &[O; WORD], flags, count| {
        words(flags);
        // As in [`select`], in both vectors.
        compress(values, flags, &mut yes);
        compress(values, !flags & (u64::MAX >> (WORD - count)), &mut no);
    };
    sweep(items, code, each, word);
    let (yes, no) = (yes.len, no.len);
    // SAFETY: so many values were written side by side.
    unsafe {
        accepted.set_len(yes);
        rejected.set_len(no);
    }
}
