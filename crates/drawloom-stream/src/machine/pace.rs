//! How much is done before the machine looks whether to go on.
//!
//! A node that may take several vectors at once takes one at first, and twice as much each time that it was quick. So a node with
//! light items is hardly ever interrupted, and one with heavy items after each vector. A source does the same with single items, and
//! an expansion with elements. The clock is read while that grows, and now and then later.
//!
//! Copies share the last items of a source: each takes a part of what is left, as in guided self-scheduling (Polychronopoulos and
//! Kuck, 1987). A part that is less than a vector is flushed, so it is done before the next one is taken.

use std::time::{Duration, Instant};

use super::Machine;
use crate::plan::Kind;

/// What is done in this time needs no interruption.
const QUICK: Duration = Duration::from_micros(20);
/// After so many steps that were not cut short, one is measured.
const SELDOM: u32 = 256;

/// How much a node may do at once.
pub(crate) struct Pace {
    most: usize,
    /// So many steps are not measured.
    unmeasured: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self { most: 1, unmeasured: 0 }
    }
}

impl Pace {
    /// So much, which is not zero.
    #[inline]
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// A step begins.
    #[inline]
    pub(crate) fn begin(&mut self) -> Option<Instant> {
        if self.unmeasured > 0 {
            self.unmeasured -= 1;
            return None;
        }
        Some(Instant::now())
    }

    /// The next step is measured.
    pub(crate) fn measure_next(&mut self) {
        self.unmeasured = 0;
    }

    /// A step has done so much.
    #[inline]
    pub(crate) fn end(&mut self, begun: Option<Instant>, done: usize) {
        match begun {
            Some(begun) => self.adapt(begun.elapsed(), done),
            // It did as much as it may: perhaps it may do more.
            None if done >= self.most => self.unmeasured = 0,
            None => {}
        }
    }

    #[cold]
    fn adapt(&mut self, took: Duration, done: usize) {
        if took > QUICK {
            self.most = ((done as f64 * QUICK.as_secs_f64() / took.as_secs_f64()) as usize).max(1);
        } else if done >= self.most {
            self.most = self.most.saturating_mul(2);
        } else {
            self.unmeasured = SELDOM;
        }
    }
}

/// How a source is called for items.
pub(super) struct Asked {
    /// For how many, because of its pace.
    pub(super) most: usize,
    /// How many it would be without that.
    room: usize,
    /// Whether they are a part of what is left, and how many it may be.
    part: Option<usize>,
    begun: Option<Instant>,
}

impl Machine<'_> {
    /// How many items one copy takes of those that are left for all.
    fn part_of(&self, left: u64) -> usize {
        let copies = self.outside.dry.copies as u64;
        usize::try_from(left / (2 * copies)).unwrap_or(usize::MAX).max(1)
    }

    /// How many items a source is called for, whose queue has so much room.
    #[inline]
    pub(super) fn ask(&mut self, node: u32, room: usize) -> Asked {
        let copies = self.outside.dry.copies;
        let left = if copies < 2 { None } else { self.nodes[node as usize].body.left() };
        let part = left.map(|left| self.part_of(left));
        let room = room.min(part.unwrap_or(usize::MAX));
        let pace = &mut self.nodes[node as usize].pace;
        Asked { most: room.min(pace.most()), room, part, begun: pace.begin() }
    }

    /// A source was called for items, and gave some. Says whether it is to be flushed for the sake of other copies.
    #[inline]
    pub(super) fn answered(&mut self, node: u32, asked: &Asked, done: usize) -> bool {
        let source = &mut self.nodes[node as usize];
        source.pace.end(asked.begun, done);
        // What is cut short because of the pace goes on with the same run.
        let cut = done == asked.most && done < asked.room;
        source.counts.runs += u64::from(!std::mem::replace(&mut source.cut, cut));
        let to = self.edges[source.outputs[0] as usize].to;
        done > 0 && asked.part.is_some_and(|part| part < self.nodes[to as usize].width)
    }

    /// There is no more in a source. What it gave is divided once. True if it has more to give then.
    pub(super) fn divide_last(&mut self, node: u32, asked: &Asked) -> bool {
        !std::mem::replace(&mut self.nodes[node as usize].divided, true) && self.divide(node, asked)
    }

    /// What a source gave is about to be run though it may be no full vector: there is no more now. If others could have some of
    /// it, they get it. True if there is more to give then.
    pub(super) fn divide(&mut self, node: u32, asked: &Asked) -> bool {
        let copies = self.outside.dry.copies;
        // Where it is known how much is left, parts are small already; and what has an order stays where it is.
        if copies < 2 || asked.part.is_some() || self.nodes[node as usize].kind != (Kind::Source { in_chunks: false }) {
            return false;
        }
        let source = &self.nodes[node as usize];
        let waiting = self.edges[source.outputs[0] as usize].pipe.len();
        let keep = self.part_of(waiting as u64);
        keep < waiting && self.give_back(node, waiting - keep)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Pace, SELDOM};

    #[test]
    fn a_quick_node_does_more_and_is_measured_seldom() {
        let mut pace = Pace::default();
        for expected in [1, 2, 4, 8] {
            assert_eq!(pace.most(), expected);
            pace.adapt(Duration::from_micros(2), expected);
            assert_eq!(pace.unmeasured, 0, "while it grows it is measured");
        }
        pace.adapt(Duration::from_micros(2), 9);
        assert_eq!((pace.most(), pace.unmeasured), (16, SELDOM));
        pace.end(None, 15);
        assert_eq!(pace.unmeasured, SELDOM);
        pace.end(None, 16);
        assert_eq!(pace.unmeasured, 0, "a node that does as much as it may is measured next");
        pace.adapt(Duration::from_micros(200), 16);
        assert_eq!(pace.most(), 1);
        pace.adapt(Duration::from_secs(1), 1);
        assert_eq!(pace.most(), 1);
    }
}
