//! Items that copies took from a source and gave back: others have nothing to do.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};

/// What copies gave back, the oldest first.
pub(crate) struct Returned<T> {
    items: Mutex<VecDeque<T>>,
    /// How many they are, for those who only want to know.
    count: AtomicUsize,
}

impl<T> Default for Returned<T> {
    fn default() -> Self {
        Self { items: Mutex::default(), count: AtomicUsize::new(0) }
    }
}

impl<T> Returned<T> {
    fn lock(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.items.lock()
    }

    /// How many items there are, if there are any.
    pub(super) fn left(&self) -> Option<u64> {
        // Acquire: whoever sees items finds them; Release in `put` and `take`.
        Some(self.count.load(Ordering::Acquire) as u64).filter(|count| *count > 0)
    }

    /// The last items of a queue come back. Says how many, if there are any.
    pub(super) fn put(&self, from: &mut Vec<T>, count: usize) -> Option<usize> {
        let mut items = self.lock();
        items.extend(from.drain(from.len() - count..));
        self.count.store(items.len(), Ordering::Release);
        (count > 0).then_some(count)
    }

    /// Takes up to so many items. False if there is none.
    pub(super) fn take(&self, most: usize, to: &mut Vec<T>) -> bool {
        if self.left().is_none() {
            return false;
        }
        let mut items = self.lock();
        let count = most.min(items.len());
        to.extend(items.drain(..count));
        self.count.store(items.len(), Ordering::Release);
        count > 0
    }
}

#[cfg(test)]
mod tests {
    use super::Returned;

    #[test]
    fn what_comes_back_is_taken_once() {
        let returned = Returned::default();
        let (mut one, mut other) = (vec![1, 2, 3, 4], Vec::new());
        assert_eq!((returned.left(), returned.take(5, &mut other)), (None, false));
        assert_eq!((returned.put(&mut one, 0), returned.put(&mut one, 3)), (None, Some(3)));
        assert_eq!((&one[..], returned.left()), (&[1][..], Some(3)));
        assert!(returned.take(2, &mut other) && returned.take(2, &mut other) && !returned.take(2, &mut other));
        assert_eq!(other, [2, 3, 4]);
    }
}
