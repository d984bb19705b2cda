//! How many bytes a node may still take: its results and what it uses meanwhile come from the same room.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{ErrorKind, Fault};

/// Room for a node. Copies of it are the same room.
#[derive(Clone)]
pub(crate) struct Room(Arc<Left>);

struct Left {
    /// One thread takes from it, so no order with anything else is needed.
    bytes: AtomicUsize,
    /// How many bytes too few there were, where something was refused.
    missing: AtomicUsize,
}

impl Room {
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Arc::new(Left { bytes: AtomicUsize::new(bytes), missing: AtomicUsize::new(0) }))
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
        Ok(())
    }
}

/// As much as anybody could ask for.
impl Default for Room {
    fn default() -> Self {
        Self::new(usize::MAX)
    }
}
