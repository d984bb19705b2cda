//! How many items were kept before a place.
//!
//! Which items of a run were kept is known as bits, 64 in a word. The number of items kept before a place is the number kept in the
//! words before it, plus the bits before it in its word, so nothing is counted item by item.

use super::Kernel;

/// Which items of a run were kept.
#[derive(Default)]
pub(crate) struct Kept {
    /// The bits of each 64 items.
    words: Vec<u64>,
    /// How many were kept before each word.
    before: Vec<u32>,
}

impl Kept {
    /// For runs of up to `items` items.
    pub(crate) fn of_up_to(items: usize) -> Self {
        let words = items.div_ceil(64) + 1;
        Self { words: Vec::with_capacity(words), before: Vec::with_capacity(words) }
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

    /// Replaces `counts` by the number of items that were kept before each place.
    pub(crate) fn count(&mut self, places: &[u32], counts: &mut Vec<u32>) {
        super::call(Counting { kept: self, places, counts });
    }
}

/// The loop of [`Kept::count`].
struct Counting<'a> {
    kept: &'a mut Kept,
    places: &'a [u32],
    counts: &'a mut Vec<u32>,
}

impl Kernel for Counting<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { kept: Kept { words, before }, places, counts } = self;
        // A place may be behind the last item, at the beginning of another word.
        words.push(0);
        let mut sum = 0;
        before.clear();
        before.extend(words.iter().map(|word| {
            let before = sum;
            sum += word.count_ones();
            before
        }));
        let (words, before) = (&words[..], &before[..words.len()]);
        counts.clear();
        counts.extend(places.iter().map(|place| {
            let (word, bits) = (*place as usize / 64, (1_u64 << (place % 64)) - 1);
            before[word] + (words[word] & bits).count_ones()
        }));
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::Kept;

    #[test]
    fn items_before_places_are_counted() {
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
            for word in items.chunks(64) {
                kept.add(word.iter().rev().fold(0, |bits, kept| bits << 1 | u64::from(*kept)));
            }
            let mut counts = vec![7; rng.usize(..80)];
            kept.count(&places, &mut counts);
            assert_eq!(counts, expected, "round {round}");
        }
    }
}
