//! How many items were kept before a place.
//!
//! Which items of a run were kept is known as bits, 64 in a word. How many were kept before a place is what was kept in the words
//! before it, and the bits before it in its word, so that nobody counts one by one. Places that follow each other closely, as the
//! ends of short segments do, are in few words, which registers hold: then sixteen are looked up at once where the processor
//! can.

use super::Level;
#[cfg(target_arch = "x86_64")]
use super::avx512_kept;

/// How many words of 32 bits two registers hold.
pub(super) const WINDOW: usize = 32;

/// Which items of a run were kept.
#[derive(Default)]
pub(crate) struct Kept {
    /// The bits of each 64 items.
    words: Vec<u64>,
    /// How many were kept before each half of them, where somebody asked for that.
    before: Vec<u32>,
}

impl Kept {
    /// For runs of so many items at most, as far as they reach over boundaries.
    pub(crate) fn of_up_to(items: usize) -> Self {
        let words = (items.div_ceil(64) + WINDOW / 2).next_multiple_of(8);
        Self { words: Vec::with_capacity(words), before: Vec::with_capacity(2 * words) }
    }

    /// Another run begins.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
    }

    /// Adds the bits of the next 64 items.
    #[inline(always)]
    pub(crate) fn add(&mut self, word: u64) {
        self.words.push(word);
    }

    /// Notes how many items were kept before each of some places. It is asked once in a run.
    #[inline(always)]
    pub(crate) fn note(&mut self, level: Level, places: &[u32], noted: &mut Vec<u32>) {
        // Some more: all items may be asked for, and registers are read as a whole.
        self.words.resize((self.words.len() + WINDOW / 2).next_multiple_of(8), 0);
        let words = &self.words[..];
        self.before.resize(self.before.len().max(2 * words.len()), 0);
        let before = &mut self.before[..2 * words.len()];
        // What was noted before is overwritten.
        noted.resize(places.len(), 0);
        match level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this level is made only where the processor has these parts of AVX-512, and all of the level before.
            Level::Avx512 => unsafe { avx512_kept::kept_before(words, before, places, noted) },
            _ => {
                let mut kept = 0;
                for (word, before) in words.iter().zip(before.as_chunks_mut::<2>().0) {
                    *before = [kept, kept + (*word as u32).count_ones()];
                    kept += word.count_ones();
                }
                places.iter().zip(noted).for_each(|(place, noted)| *noted = one(words, before, *place));
            }
        }
    }
}

/// How many items were kept before a place, if that is known for the beginning of each half of a word.
#[inline(always)]
pub(super) fn one(words: &[u64], before: &[u32], place: u32) -> u32 {
    let (word, half) = (words[place as usize / 64], place % 64 / 32);
    let bits = (word >> (32 * half)) as u32 & ((1 << (place % 32)) - 1);
    before[place as usize / 32] + bits.count_ones()
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::{Kept, Level};

    #[test]
    fn every_level_counts_the_same_items_before_places() {
        let mut rng = Rng::with_seed(8);
        for round in 0..2000 {
            let share = [0, 1, 50, 99, 100][round % 5];
            let items: Vec<bool> = (0..rng.usize(..1000)).map(|_| rng.u32(..100) < share).collect();
            let far = [1, 4, 40, 200, 1000][rng.usize(..5)];
            let mut at = 0;
            let mut places: Vec<usize> = (0..rng.usize(..60))
                .map(|_| {
                    at = (at + rng.usize(..far)).min(items.len());
                    at
                })
                .collect();
            if round % 7 == 0 {
                rng.shuffle(&mut places);
            }
            let expected: Vec<u32> =
                places.iter().map(|place| items[..*place].iter().filter(|kept| **kept).count() as u32).collect();
            let places: Vec<u32> = places.iter().map(|place| *place as u32).collect();
            let mut kept = Kept::default();
            for level in Level::all() {
                kept.clear();
                for word in items.chunks(64) {
                    kept.add(word.iter().rev().fold(0, |bits, kept| bits << 1 | u64::from(*kept)));
                }
                let mut noted = vec![7; rng.usize(..80)];
                kept.note(level, &places, &mut noted);
                assert_eq!(noted, expected, "{level:?}, round {round}");
            }
        }
    }
}
