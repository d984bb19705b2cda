//! Values that a task is given: copies of plain bytes, beside its regions.
//!
//! A body could capture them as well. But a closure is the implementation for processors only: what a device, or another
//! process, runs in its place finds the values here.
//!
//! What the parameters of a body need beyond its arguments lies in one list of words, in the order of declaration: for
//! `read_all` and `update_all` how many arguments they have, and for a value a mark with its size, its type, and its bytes.

use std::any::TypeId;
use std::mem::MaybeUninit;

use crate::data::element::Portable;

/// Tells the first word of a value from a number of arguments.
const MARK: u32 = 1 << 31;

/// How many bytes a value may have.
pub(crate) const MOST_BYTES: usize = MARK as usize - 1;

fn words_for(bytes: usize) -> usize {
    bytes.div_ceil(size_of::<u32>())
}

/// How many words come before the bytes of a value.
fn before() -> usize {
    1 + words_for(size_of::<TypeId>())
}

/// Appends a value, which has no more than [`MOST_BYTES`].
pub(crate) fn push<T: Portable>(words: &mut Vec<u32>, value: T) {
    debug_assert!(size_of::<T>() <= MOST_BYTES, "it was checked when the value was given");
    words.push(MARK | size_of::<T>() as u32);
    append(words, TypeId::of::<T>());
    append(words, value);
}

/// Appends the bytes of something.
fn append<T: Copy>(words: &mut Vec<u32>, value: T) {
    let start = words.len();
    words.resize(start + words_for(size_of::<T>()), 0);
    let into = words[start..].as_mut_ptr().cast::<u8>();
    // SAFETY: there is room for the value. Words are only ever copied as bytes, so those that are padding do no harm.
    unsafe { std::ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), into, size_of::<T>()) };
}

/// Reads back what [`append`] wrote.
///
/// # Safety
/// The words are those of a `T`.
unsafe fn extract<T: Copy>(words: &[u32]) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    debug_assert!(words.len() >= words_for(size_of::<T>()), "all words of it are there");
    // SAFETY: promised by the caller; there are as many bytes as the value has.
    unsafe {
        std::ptr::copy_nonoverlapping(words.as_ptr().cast::<u8>(), value.as_mut_ptr().cast::<u8>(), size_of::<T>());
        value.assume_init()
    }
}

/// The value at the start of some words, and how many words it takes.
///
/// # Panics
/// When there is none of this type.
pub(crate) fn read<T: Portable>(words: &[u32]) -> (T, usize) {
    let value = value_at(words).expect("a value was declared here, of this type");
    (value, before() + words_for(size_of::<T>()))
}

/// The value with a number, counted from zero, if it is of this type.
pub(crate) fn find<T: Portable>(mut words: &[u32], number: usize) -> Option<T> {
    let mut left = number;
    while let Some(&first) = words.first() {
        if first & MARK == 0 {
            words = &words[1..];
            continue;
        }
        if left == 0 {
            return value_at(words);
        }
        left -= 1;
        words = &words[before() + words_for((first & !MARK) as usize)..];
    }
    None
}

fn value_at<T: Portable>(words: &[u32]) -> Option<T> {
    let (&first, rest) = words.split_first()?;
    if first & MARK == 0 {
        return None;
    }
    // SAFETY: the mark says that a value begins here, and a type is what comes first.
    let type_id = unsafe { extract::<TypeId>(rest) };
    // SAFETY: a value of this type was appended behind its type.
    (type_id == TypeId::of::<T>()).then(|| unsafe { extract(&words[before()..]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_among_other_words_by_number_and_type() {
        let mut words = vec![3];
        push(&mut words, 2.5_f64);
        words.extend([0, 7]);
        push(&mut words, [1_u8, 2, 3]);
        push(&mut words, true);
        assert_eq!(find(&words, 0), Some(2.5_f64));
        assert_eq!(find(&words, 1), Some([1_u8, 2, 3]));
        assert_eq!(find(&words, 2), Some(true));
        assert_eq!(find::<bool>(&words, 3), None);
        assert_eq!((find::<u64>(&words, 0), find::<[u8; 4]>(&words, 1)), (None, None));
        let (value, taken) = read::<f64>(&words[1..]);
        assert_eq!((value, words[1 + taken]), (2.5, 0));
    }
}
