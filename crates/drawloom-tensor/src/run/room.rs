//! How many bytes a run or a node of it may still take: results and what is used meanwhile come from the same room.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{ErrorKind, Fault};

/// Room for tensors. Copies of it are the same room.
#[derive(Clone)]
pub(crate) struct Room(Arc<Left>);

struct Left {
    /// How large it was.
    all: usize,
    /// One thread takes from it, so no order with anything else is needed.
    bytes: AtomicUsize,
    /// The fewest bytes that were ever left.
    fewest: AtomicUsize,
    /// How many bytes too few there were, where something was refused.
    missing: AtomicUsize,
}

impl Room {
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Arc::new(Left {
            all: bytes,
            bytes: AtomicUsize::new(bytes),
            fewest: AtomicUsize::new(bytes),
            missing: AtomicUsize::new(0),
        }))
    }

    pub(crate) fn left(&self) -> usize {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// How many bytes more would have been needed for what was refused.
    pub(crate) fn missing(&self) -> usize {
        self.0.missing.load(Ordering::Relaxed)
    }

    /// Takes bytes before there is memory for them, or says for what they are too many.
    pub(crate) fn take(&self, bytes: usize, what: impl FnOnce() -> String) -> Result<(), Fault> {
        let left = self.left();
        if bytes > left {
            self.0.missing.store(bytes - left, Ordering::Relaxed);
            return Err(Fault::of(ErrorKind::Memory, format!("{} needs {bytes} bytes, and {left} are left", what())));
        }
        self.0.bytes.store(left - bytes, Ordering::Relaxed);
        self.0.fewest.fetch_min(left - bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Gives bytes back that were taken.
    pub(crate) fn give(&self, bytes: usize) {
        self.0.bytes.store(self.left() + bytes, Ordering::Relaxed);
    }

    /// The most bytes that were taken at once.
    pub(crate) fn most(&self) -> usize {
        self.0.all - self.0.fewest.load(Ordering::Relaxed)
    }
}

/// As much as anybody could ask for.
impl Default for Room {
    fn default() -> Self {
        Self::new(usize::MAX)
    }
}
