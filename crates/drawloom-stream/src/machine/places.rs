//! Where items come from that wait behind a source whose items have positions, and who makes those that are only promised.

use std::collections::VecDeque;
use std::iter;
use std::ops::Range;
use std::sync::Arc;

/// The positions of items that wait, the first to come first: ranges, of which those that follow each other are one.
#[derive(Default)]
pub(crate) struct Places {
    /// The first range, which every run looks at. It is empty only when there are no positions at all.
    first: Range<u64>,
    others: VecDeque<Range<u64>>,
    count: usize,
}

impl Places {
    /// How many positions there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// More positions, behind the others.
    pub(crate) fn push(&mut self, range: Range<u64>) {
        self.count += (range.end - range.start) as usize;
        let last = self.others.back_mut().unwrap_or(&mut self.first);
        if last.is_empty() {
            *last = range;
        } else if last.end == range.start {
            last.end = range.end;
        } else if !range.is_empty() {
            // Grows with how often positions do not follow each other, which is once for a chunk as a rule.
            self.others.push_back(range);
        }
    }

    /// The first positions that follow each other.
    #[inline]
    pub(crate) fn first(&self) -> Range<u64> {
        self.first.clone()
    }

    /// Up to so many of the positions behind the first `skip`, which follow each other.
    pub(crate) fn next(&self, skip: usize, most: usize) -> Range<u64> {
        let mut skip = skip as u64;
        for range in iter::once(&self.first).chain(&self.others) {
            let len = range.end - range.start;
            if skip < len {
                let start = range.start + skip;
                return start..range.end.min(start.saturating_add(most as u64));
            }
            skip -= len;
        }
        0..0
    }

    /// So many of the first positions are done with.
    #[inline]
    pub(crate) fn drop_first(&mut self, count: usize) {
        self.lose(count);
        let mut left = count as u64;
        loop {
            let gone = left.min(self.first.end - self.first.start);
            self.first.start += gone;
            left -= gone;
            if !self.first.is_empty() {
                break;
            }
            let Some(next) = self.others.pop_front() else { break };
            self.first = next;
        }
    }

    #[inline]
    fn lose(&mut self, count: usize) {
        assert!(count <= self.count, "positions are missing: this is a mistake of ours");
        self.count -= count;
    }

    /// So many of the last positions go to somebody else.
    pub(crate) fn take_last(&mut self, count: usize, mut to: impl FnMut(Range<u64>)) {
        self.lose(count);
        let mut left = count as u64;
        while left > 0 {
            let last = self.others.back_mut().unwrap_or(&mut self.first);
            let part = left.min(last.end - last.start);
            let given = last.end - part..last.end;
            last.end -= part;
            left -= part;
            if last.is_empty() {
                self.others.pop_back();
            }
            to(given);
        }
    }
}

/// Makes items of positions.
pub(crate) enum Maker<T> {
    /// They lie in memory, and can be copied from there.
    Slice {
        items: Arc<[T]>,
        copy: fn(&[T], &mut Vec<T>),
    },
    Function(Arc<Make<T>>),
}

type Make<T> = dyn Fn(Range<u64>, &mut Vec<T>) + Send + Sync;

impl<T> Maker<T> {
    pub(crate) fn slice(items: &Arc<[T]>) -> Self
    where
        T: Clone,
    {
        Self::Slice { items: Arc::clone(items), copy: |items, to| to.extend_from_slice(items) }
    }

    /// Makes the items of some positions, behind those that are there.
    pub(crate) fn make(&self, range: Range<u64>, to: &mut Vec<T>) {
        match self {
            Self::Slice { items, copy } => copy(&items[range.start as usize..range.end as usize], to),
            Self::Function(make) => make(range, to),
        }
    }
}

impl<T> Clone for Maker<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Slice { items, copy } => Self::Slice { items: Arc::clone(items), copy: *copy },
            Self::Function(make) => Self::Function(Arc::clone(make)),
        }
    }
}
