//! How many items were kept before a place.
//!
//! Which items of a run were kept is known as bits, 64 in a word. How many were kept before a place is what was kept in the words
//! before it, and the bits before it in its word, so that nobody counts one by one. Places that follow each other closely, as the
//! ends of short segments do, are in few words, which a register holds: then eight are looked up at once where the processor can.

use super::Level;
#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::sums::running_sums_from;

/// How many words a register holds.
pub(super) const WINDOW: usize = 8;

/// Which items of a run were kept.
#[derive(Default)]
pub(crate) struct Kept {
    /// The bits of each 64 items.
    words: Vec<u64>,
    /// How many were kept before each of them.
    before: Vec<u64>,
}

impl Kept {
    /// Another run begins.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
    }

    /// Adds the bits of the next 64 items.
    #[inline(always)]
    pub(crate) fn add(&mut self, word: u64) {
        self.words.push(word);
    }

    /// Notes how many items were kept before each of some places, less those before the run. It is asked once in a run.
    #[inline(always)]
    pub(crate) fn note(&mut self, level: Level, (places, consumed): (&[u64], u64), noted: &mut Vec<u64>) {
        // Some more: all items may be asked for, and registers are read as a whole.
        self.words.resize((self.words.len() + WINDOW).next_multiple_of(2 * WINDOW), 0);
        let words = &self.words[..];
        // Grows once to the width of the node, and one more.
        self.before.resize(self.before.len().max(words.len() + 1), 0);
        let before = &mut self.before[..=words.len()];
        let bits = |word: &u64| u64::from(word.count_ones());
        running_sums_from(level, 0, words, &bits, &mut before[1..]);
        let before = &before[..words.len()];
        let one = |place: u64| {
            let at = place.wrapping_sub(consumed);
            let word = (at / 64) as usize;
            before[word] + u64::from((words[word] & ((1 << (at % 64)) - 1)).count_ones())
        };
        // What was noted before is overwritten.
        noted.resize(places.len(), 0);
        let ((eights, rest), (noted, noted_rest)) = (places.as_chunks::<8>(), noted.as_chunks_mut::<8>());
        for (eight, noted) in eights.iter().zip(noted) {
            match level {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: this level is made only where the processor has these parts of AVX-512, and all of the level before.
                Level::Avx512 if unsafe { avx512::kept_before(words, before, eight, consumed, noted) } => {}
                _ => *noted = eight.map(one),
            }
        }
        for (place, noted) in rest.iter().zip(noted_rest) {
            *noted = one(*place);
        }
    }
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
            let consumed = rng.u64(..);
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
            let expected: Vec<u64> =
                places.iter().map(|place| items[..*place].iter().filter(|kept| **kept).count() as u64).collect();
            let places: Vec<u64> = places.iter().map(|place| consumed.wrapping_add(*place as u64)).collect();
            let mut kept = Kept::default();
            for level in Level::all() {
                kept.clear();
                for word in items.chunks(64) {
                    kept.add(word.iter().rev().fold(0, |bits, kept| bits << 1 | u64::from(*kept)));
                }
                let mut noted = vec![7; rng.usize(..80)];
                kept.note(level, (&places, consumed), &mut noted);
                assert_eq!(noted, expected, "{level:?}, round {round}");
            }
        }
    }
}
