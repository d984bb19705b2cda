//! Where a recording is kept: pieces of memory, each written by one thread.
//!
//! A thread fills a chunk word by word and says how far it got; whoever collects reads up to there. So recording takes no
//! lock, and a recording can be collected while it goes on. All chunks of a recording together have a limit.

use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How many words a chunk has: a list of chunks is locked once in some thousand events.
pub(crate) const WORDS: usize = 8192;
/// How many chunks a recording has at most: 128 MiB. What comes later is counted. Tests of this crate have less.
pub(crate) const MOST: usize = if cfg!(test) { 16 } else { 2048 };

/// Words that one thread wrote, in the order in which it wrote them.
pub(crate) struct Chunk {
    /// Chunks of one thread and worker continue each other.
    pub(crate) stream: u32,
    /// Who did what is recorded here; `NO_WORKER` for threads that are none.
    pub(crate) worker: u32,
    len: AtomicUsize,
    lost: AtomicU64,
    words: Box<[AtomicU64]>,
}

impl Chunk {
    pub(crate) fn new(stream: u32, worker: u32) -> Self {
        let words = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
        Self { stream, worker, len: AtomicUsize::new(0), lost: AtomicU64::new(0), words }
    }

    /// Writes words, which must fit, after the first `at`. Nobody sees them before they are published. Only the thread that
    /// the chunk belongs to calls this.
    #[inline]
    pub(crate) fn put<const N: usize>(&self, at: usize, words: [u64; N]) {
        for (place, word) in self.words[at..at + N].iter().zip(words) {
            // Relaxed: ordered by `publish`.
            place.store(word, Ordering::Relaxed);
        }
    }

    /// Shows the first `len` words to whoever collects.
    #[inline]
    pub(crate) fn publish(&self, len: usize) {
        // Release: pairs with `read`.
        self.len.store(len, Ordering::Release);
    }

    /// Counts something that found no place. Only the thread that the chunk belongs to calls this.
    pub(crate) fn lose(&self) {
        self.lost.store(self.lost.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// The words that were published.
    pub(crate) fn read(&self) -> impl Iterator<Item = u64> {
        // Acquire: pairs with `publish`.
        let len = self.len.load(Ordering::Acquire);
        self.words[..len].iter().map(|word| word.load(Ordering::Relaxed))
    }
}
