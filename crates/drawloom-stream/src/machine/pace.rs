//! How much is done before somebody is asked again whether to go on.
//!
//! A node that may take several vectors at once takes one at first, and twice as much each time that it was quick: so whoever has
//! light items is hardly ever asked, and whoever has heavy ones is asked behind each vector. A source does the same with single
//! items, and an expansion with elements. The clock is looked at while that grows, and now and then later.
//!
//! Copies share few heavy items in the same way. When so little is left that it is no full vector for each of them, a source hands
//! out a *portion*: a part of what is left, as in guided self-scheduling (Polychronopoulos and Kuck, 1987), which is flushed and so
//! is done before the next one. Portions that turn out to be quick grow.

use std::time::{Duration, Instant};

use super::time::since;
use super::{Edge, Machine};
use crate::plan::Kind;

/// What is done in this time is not worth a question.
const QUICK: Duration = Duration::from_micros(20);
/// A portion that takes less is too small: others have to be called for the rest.
const PORTION: Duration = Duration::from_micros(50);
/// After so many steps that were not cut short, one is measured.
const SELDOM: u32 = 256;
/// Makers of items do much in a step, and cannot be interrupted in it: of theirs, one of so many is measured.
const OFTEN: u32 = 16;

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

    /// At most so many of the next steps are not measured.
    #[inline]
    fn measure_within(&mut self, most: u32) {
        self.unmeasured = self.unmeasured.min(most);
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
            self.most = in_time(QUICK, took, done);
        } else if done >= self.most {
            self.most = self.most.saturating_mul(2);
        } else {
            self.unmeasured = SELDOM;
        }
    }
}

/// How much could have been done in a time, if so much took longer; at least one.
fn in_time(time: Duration, took: Duration, done: usize) -> usize {
    ((done as f64 * time.as_secs_f64() / took.as_secs_f64()) as usize).max(1)
}

/// How many items a source gives to the nodes of its copy, where other copies could have them too.
pub(crate) struct Portions {
    /// So many are done soon.
    quick: usize,
    /// The portion that is under way.
    under_way: Option<(Instant, usize)>,
    /// Whether the last items were divided.
    divided: bool,
}

impl Default for Portions {
    fn default() -> Self {
        Self { quick: 1, under_way: None, divided: false }
    }
}

impl Portions {
    /// How many of those that are left, for so many copies.
    fn of(&self, left: u64, copies: usize) -> usize {
        let share = usize::try_from(left / (2 * copies as u64)).unwrap_or(usize::MAX);
        share.max(self.quick)
    }

    /// A portion was given.
    fn begin(&mut self, items: usize) {
        self.under_way = Some((Instant::now(), items));
    }

    /// The source is asked for more: what it gave is done.
    fn end(&mut self) {
        if let Some((begun, items)) = self.under_way.take() {
            let took = begun.elapsed();
            if took < PORTION {
                self.quick = self.quick.max(items.saturating_mul(2));
            } else if took > 4 * PORTION {
                self.quick = in_time(PORTION, took, items);
            }
        }
    }
}

/// How a source is asked for items.
pub(super) struct Asked {
    /// For how many, for the sake of its pace.
    pub(super) most: usize,
    /// How many it would be without that.
    room: usize,
    /// Whether they are a portion, and how many it may be.
    portion: Option<usize>,
    begun: Option<Instant>,
}

impl Machine<'_> {
    /// How many items a source is asked for, whose queue has so much room.
    #[inline]
    pub(super) fn ask(&mut self, node: u32, room: usize) -> Asked {
        let copies = self.outside.dry.copies;
        let source = &mut self.nodes[node as usize];
        source.portions.end();
        let left = if copies < 2 { None } else { source.body.left() };
        // Most of the time there is much left, and that is known without a division.
        let much = (room as u64).saturating_mul(2 * copies as u64);
        let portion = left.map(|left| if left >= much { usize::MAX } else { source.portions.of(left, copies) });
        let room = room.min(portion.unwrap_or(usize::MAX));
        if source.promises {
            // That takes no time, whatever the items are.
            return Asked { most: room, room, portion, begun: None };
        }
        Asked { most: room.min(source.pace.most()), room, portion, begun: source.pace.begin() }
    }

    /// The first items at an edge are about to be seen by a node, and those that were only promised are made. False if that is to go
    /// on with the next step: a source whose items are heavy makes some at a time.
    #[inline]
    pub(super) fn make(&mut self, node: u32, edge: u32, count: usize) -> bool {
        let lacking = self.edges[edge as usize].pipe.lacking(count);
        lacking == 0 || self.make_some(node, edge, lacking)
    }

    /// Makes as many items as stay near, if they are light, also where the node sees a vector at a time: what is asked for once for
    /// several vectors costs each of them little.
    fn make_some(&mut self, node: u32, edge: u32, lacking: usize) -> bool {
        let Edge { from, ref pipe, .. } = self.edges[edge as usize];
        self.current.set(from);
        let start = self.clock();
        let piece = self.nodes[node as usize].piece;
        let source = &mut self.nodes[from as usize];
        let some = pipe.makeable(piece).max(lacking).min(source.pace.most());
        let begun = source.pace.begin();
        pipe.make(some);
        source.pace.end(begun, some);
        source.pace.measure_within(OFTEN);
        // What it takes is the source's, though the node fires: that one has it back when its firing is over.
        let took = since(start);
        source.counts.body += took;
        source.counts.fire = source.counts.fire.wrapping_add(took);
        let this = &mut self.nodes[node as usize];
        this.counts.fire = this.counts.fire.wrapping_sub(took);
        // Nor was the source kept waiting meanwhile.
        let edge = &mut self.edges[edge as usize];
        edge.since = edge.since.map(|since| since + Duration::from_nanos(took));
        self.current.set(node);
        some >= lacking
    }

    /// A source was asked for items, and gave some. Says whether it is to be flushed for the sake of other copies.
    #[inline]
    pub(super) fn answered(&mut self, node: u32, asked: &Asked, done: usize) -> bool {
        let source = &mut self.nodes[node as usize];
        source.pace.end(asked.begun, done);
        // What is cut short for the sake of the pace goes on with the same run.
        let cut = done == asked.most && done < asked.room;
        source.counts.runs += u64::from(!std::mem::replace(&mut source.cut, cut));
        let Some(portion) = asked.portion.filter(|portion| *portion < usize::MAX && done > 0) else { return false };
        let to = self.edges[source.outputs[0] as usize].to;
        let small = portion < self.nodes[to as usize].width;
        if small {
            self.nodes[node as usize].portions.begin(done);
        }
        small
    }

    /// There is no more in a source. What it gave is divided once. True if it has more to give then.
    pub(super) fn divide_last(&mut self, node: u32, asked: &Asked) -> bool {
        !std::mem::replace(&mut self.nodes[node as usize].portions.divided, true) && self.divide(node, asked)
    }

    /// What a source gave is about to be run though it may be no full vector: there is no more now. If others could have some of
    /// it, they get it. True if there is more to give then.
    pub(super) fn divide(&mut self, node: u32, asked: &Asked) -> bool {
        let copies = self.outside.dry.copies;
        // Where it is known how much is left, portions are small already; and what has an order stays where it is.
        if copies < 2
            || asked.portion.is_some()
            || self.nodes[node as usize].kind != (Kind::Source { in_chunks: false })
        {
            return false;
        }
        let source = &self.nodes[node as usize];
        let waiting = self.edges[source.outputs[0] as usize].pipe.len();
        let keep = source.portions.of(waiting as u64, copies);
        keep < waiting && self.give_back(node, waiting - keep)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Pace, Portions, SELDOM};

    #[test]
    fn who_is_quick_does_more_and_is_measured_seldom() {
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
        assert_eq!(pace.unmeasured, 0, "who does as much as it may is measured next");
        pace.adapt(Duration::from_micros(200), 16);
        assert_eq!(pace.most(), 1);
        pace.adapt(Duration::from_secs(1), 1);
        assert_eq!(pace.most(), 1);
    }

    #[test]
    fn portions_become_smaller_with_what_is_left() {
        let portions = Portions::default();
        assert_eq!([640, 64, 8, 1, 0].map(|left| portions.of(left, 4)), [80, 8, 1, 1, 1]);
        let known = Portions { quick: 100, ..Portions::default() };
        assert_eq!(known.of(8, 4), 100, "light items are not worth a call");
    }
}
