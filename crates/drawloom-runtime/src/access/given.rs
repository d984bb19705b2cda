//! Values that a task is given: copies of plain bytes, beside its regions.
//!
//! A body could capture them as well. But a closure is the implementation for processors only: what a device, or another
//! process, runs in its place finds the values here.
//!
//! What the parameters of a body need beyond its arguments lies in one list of words, in the order of declaration: for
//! `read_all` and `update_all` how many arguments they have, and for a value a mark with its size, its type, and its bytes.

use std::any::TypeId;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::data::element::{self, Element};

/// Tells the first word of a value from a number of arguments.
const MARK: u32 = 1 << 31;

/// How many bytes a value may have.
pub(crate) const MOST_BYTES: usize = MARK as usize - 1;

/// How many words come before the bytes of a value: the mark, and what tells its type from others.
const BEFORE: usize = 3;

fn words_for(bytes: usize) -> usize {
    bytes.div_ceil(size_of::<u32>())
}

/// What tells the type of a value from others. A collision would do no harm: bytes that are no value of a type are not taken
/// for one.
fn type_words<T: Element>() -> [u32; 2] {
    let mut hasher = DefaultHasher::new();
    TypeId::of::<T>().hash(&mut hasher);
    let hash = hasher.finish();
    [hash as u32, (hash >> 32) as u32]
}

/// Appends a value, which has no more than [`MOST_BYTES`].
pub(crate) fn push<T: Element>(words: &mut Vec<u32>, value: T) {
    debug_assert!(size_of::<T>() <= MOST_BYTES, "it was checked when the value was given");
    words.push(MARK | size_of::<T>() as u32);
    words.extend(type_words::<T>());
    let start = words.len();
    words.resize(start + words_for(size_of::<T>()), 0);
    let values = [value];
    let bytes = element::bytes_of(&values);
    bytemuck::cast_slice_mut::<u32, u8>(&mut words[start..])[..bytes.len()].copy_from_slice(bytes);
}

/// The value at the start of some words, and how many words it takes.
///
/// # Panics
/// When there is none of this type.
pub(crate) fn read<T: Element>(words: &[u32]) -> (T, usize) {
    let value = value_at(words).expect("a value was declared here, of this type");
    (value, BEFORE + words_for(size_of::<T>()))
}

/// The value with a number, counted from zero, if it is of this type.
pub(crate) fn find<T: Element>(mut words: &[u32], number: usize) -> Option<T> {
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
        words = &words[BEFORE + words_for((first & !MARK) as usize)..];
    }
    None
}

fn value_at<T: Element>(words: &[u32]) -> Option<T> {
    let (&first, rest) = words.split_first()?;
    if first != MARK | size_of::<T>() as u32 {
        return None;
    }
    let (type_words_here, bytes) = rest.split_first_chunk()?;
    if *type_words_here != type_words::<T>() {
        return None;
    }
    element::from_bytes(bytemuck::cast_slice::<u32, u8>(bytes).get(..size_of::<T>())?)
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
