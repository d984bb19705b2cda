//! How many bytes a run or a node of it may still take: results and what is used meanwhile come from the same room.
//!
//! A room refuses what does not fit, unless it is one that counts: there, what does not fit is counted, and never made. So a
//! model that is too large is walked through to its end, and how many bytes it needs is known then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::{ErrorKind, Fault};
use crate::tensor::{Tensor, View};

/// A room that counts has lists of so many bytes, even if there is no room for them: shapes and axes are computed like other
/// tensors, and without them nothing could be told about what follows.
const SMALL: usize = 512;

/// Room for tensors. Copies of it are the same room.
#[derive(Clone)]
pub struct Room(Arc<Bytes>);

/// One thread takes from a room, so no order with anything else is needed.
struct Bytes {
    /// How large it was.
    all: usize,
    /// Whether what does not fit is counted, and not refused.
    counts: bool,
    /// What is taken by something that is there.
    there: AtomicUsize,
    /// What is counted for something that is not.
    absent: AtomicUsize,
    /// The most that both were together.
    most: AtomicUsize,
    /// The most bytes that something was too large by.
    missing: AtomicUsize,
    /// Whether something that results are computed with is not there.
    lacks: AtomicBool,
    /// Whether memory for a result was asked for.
    results: AtomicBool,
}

impl Room {
    /// A room of so many bytes, which refuses what does not fit.
    pub fn new(bytes: usize) -> Self {
        Self::of(bytes, false)
    }

    /// A room in which nothing is refused.
    pub fn counting(bytes: usize) -> Self {
        Self::of(bytes, true)
    }

    /// A room of the same kind, as large as what is left of this one.
    pub fn rest(&self) -> Self {
        Self::of(self.left(), self.counts())
    }

    fn of(all: usize, counts: bool) -> Self {
        let zero = AtomicUsize::default;
        let (there, absent, most, missing) = (zero(), zero(), zero(), zero());
        let (lacks, results) = (AtomicBool::default(), AtomicBool::default());
        Self(Arc::new(Bytes { all, counts, there, absent, most, missing, lacks, results }))
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.0.all.saturating_sub(self.0.there.load(Ordering::Relaxed))
    }

    /// Whether what does not fit is counted, and not refused.
    pub fn counts(&self) -> bool {
        self.0.counts
    }

    /// Whether so many bytes would be refused. A room that counts refuses nothing.
    pub(crate) fn fits(&self, bytes: usize) -> bool {
        self.0.counts || bytes <= self.left()
    }

    /// How many bytes more would have been needed for what did not fit.
    pub(crate) fn missing(&self) -> usize {
        self.0.missing.load(Ordering::Relaxed)
    }

    /// Says that something needs so many bytes more than there are.
    pub(crate) fn miss(&self, bytes: usize) {
        self.0.missing.fetch_max(bytes, Ordering::Relaxed);
    }

    /// Whether something that results are computed with is not there.
    pub(crate) fn lacks(&self) -> bool {
        self.0.lacks.load(Ordering::Relaxed)
    }

    /// Says that something that results are computed with is not there.
    pub fn lack(&self) {
        self.0.lacks.store(true, Ordering::Relaxed);
    }

    /// Whether memory for a result was asked for.
    pub(crate) fn has_results(&self) -> bool {
        self.0.results.load(Ordering::Relaxed)
    }

    /// Says that memory for a result is asked for.
    pub(crate) fn begin_results(&self) {
        self.0.results.store(true, Ordering::Relaxed);
    }

    /// Takes bytes before there is memory for them, or says for what they are too many. Whether they may be there: a room
    /// that counts may only have counted them.
    pub(crate) fn take(&self, bytes: usize, what: impl FnOnce() -> String) -> Result<bool, Fault> {
        let left = self.left();
        let fits = bytes <= left || self.0.counts && bytes <= SMALL;
        self.miss(bytes.saturating_sub(left));
        if !fits && !self.0.counts {
            return Err(Fault::of(ErrorKind::Memory, format!("{} needs {bytes} bytes, and {left} are left", what())));
        }
        self.add(if fits { bytes } else { 0 }, if fits { 0 } else { bytes });
        Ok(fits)
    }

    /// A copy of a tensor, without its elements if there is no room for them.
    pub(crate) fn copy(&self, view: View<'_>, what: impl FnOnce() -> String) -> Result<Tensor, Fault> {
        if view.is_absent() {
            self.add(0, view.bytes());
            return Ok(view.to_tensor());
        }
        if self.take(view.bytes(), what)? { Ok(view.to_tensor()) } else { Tensor::absent(view.element(), view.shape()) }
    }

    /// Takes bytes for results that were made elsewhere, and for a moment what was used beside them.
    pub(crate) fn hold(&self, results: &[Tensor], beside: usize) -> Result<(), Fault> {
        let bytes = |absent: bool| -> usize {
            results.iter().filter(|result| result.is_absent() == absent).map(Tensor::bytes).sum()
        };
        if self.0.counts {
            self.add(bytes(false), bytes(true).saturating_add(beside));
            self.0.absent.fetch_sub(beside, Ordering::Relaxed);
            return Ok(());
        }
        self.take(bytes(false).saturating_add(beside), || "what it computed, and computed with,".to_owned())?;
        self.give(beside);
        Ok(())
    }

    fn add(&self, there: usize, absent: usize) {
        let there = self.0.there.fetch_add(there, Ordering::Relaxed).saturating_add(there);
        let absent = self.0.absent.fetch_add(absent, Ordering::Relaxed).saturating_add(absent);
        self.0.most.fetch_max(there.saturating_add(absent), Ordering::Relaxed);
    }

    /// Gives bytes back that were taken.
    pub(crate) fn give(&self, bytes: usize) {
        self.0.there.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Gives back what was taken for a tensor, or counted.
    pub(crate) fn release(&self, tensor: &Tensor) {
        let from = if tensor.is_absent() { &self.0.absent } else { &self.0.there };
        from.fetch_sub(tensor.bytes(), Ordering::Relaxed);
    }

    /// The most bytes that were taken and counted at once.
    pub(crate) fn most(&self) -> usize {
        self.0.most.load(Ordering::Relaxed)
    }
}

/// As much as anybody could ask for.
impl Default for Room {
    fn default() -> Self {
        Self::new(usize::MAX)
    }
}
