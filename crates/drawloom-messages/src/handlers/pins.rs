//! Sets of output pins.

use crate::graph::OutputId;

/// A set of output pins of one device: one bit for each, as many words as that needs.
pub struct Pins<'a> {
    words: &'a mut [u64],
}

impl<'a> Pins<'a> {
    /// The set that lies in some words, which are zero at first.
    pub(crate) fn new(words: &'a mut [u64]) -> Self {
        Self { words }
    }

    /// How many words a set takes. At least one, so that it can always be asked for a bit.
    pub(crate) fn words_for(pins: usize) -> usize {
        pins.div_ceil(64).max(1)
    }

    /// Adds a pin.
    ///
    /// # Panics
    /// When the device type has far fewer pins.
    #[inline]
    pub fn insert(&mut self, pin: OutputId) {
        self.words[pin.index() / 64] |= 1 << (pin.0 % 64);
    }

    /// Adds a pin if a condition holds.
    #[inline]
    pub fn insert_if(&mut self, pin: OutputId, condition: bool) {
        self.words[pin.index() / 64] |= u64::from(condition) << (pin.0 % 64);
    }

    /// Adds the pins `64 * word + i` for each bit `i`.
    ///
    /// # Panics
    /// When the device type has no pins of that word.
    #[inline]
    pub fn insert_bits(&mut self, word: usize, bits: u64) {
        self.words[word] |= bits;
    }

    /// Whether a pin is in the set.
    pub fn contains(&self, pin: OutputId) -> bool {
        self.words.get(pin.index() / 64).is_some_and(|word| word >> (pin.0 % 64) & 1 == 1)
    }
}

/// The first pin of a set.
#[inline]
pub(crate) fn first(words: &[u64]) -> Option<u32> {
    let word = words.iter().position(|word| *word != 0)?;
    Some(word as u32 * 64 + words[word].trailing_zeros())
}

/// The last pin of a set.
pub(crate) fn last(words: &[u64]) -> Option<u32> {
    let word = words.iter().rposition(|word| *word != 0)?;
    Some(word as u32 * 64 + 63 - words[word].leading_zeros())
}

/// How many pins are in a set.
pub(crate) fn count(words: &[u64]) -> u32 {
    words.iter().map(|word| word.count_ones()).sum()
}

/// The pin of a set that has so many before it.
pub(crate) fn nth(words: &[u64], mut number: u32) -> Option<u32> {
    for (index, word) in (0..).zip(words) {
        let ones = word.count_ones();
        if number < ones {
            let mut rest = *word;
            for _ in 0..number {
                rest &= rest - 1;
            }
            return Some(index * 64 + rest.trailing_zeros());
        }
        number -= ones;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Pins, count, first, last, nth};
    use crate::graph::OutputId;

    #[test]
    fn pins_of_several_words_are_found_in_order() {
        let mut words = vec![0; Pins::words_for(200)];
        let mut pins = Pins::new(&mut words);
        for pin in [3, 64, 130, 199] {
            pins.insert(OutputId(pin));
        }
        pins.insert_if(OutputId(5), false);
        assert!(pins.contains(OutputId(130)) && !pins.contains(OutputId(5)) && !pins.contains(OutputId(1000)));
        assert_eq!((first(&words), last(&words), count(&words)), (Some(3), Some(199), 4));
        assert_eq!([0, 1, 2, 3, 4].map(|n| nth(&words, n)), [Some(3), Some(64), Some(130), Some(199), None]);
        assert_eq!((first(&[0, 0]), last(&[0]), Pins::words_for(0)), (None, None, 1));
    }
}
