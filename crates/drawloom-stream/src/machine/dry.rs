//! A copy that has nothing to do takes what others have not begun.
//!
//! Items of a source that wait at the first node belong to no parent, and no signal is among them, so any copy may have them.
//! A copy that is *dry* says so and sleeps. Whoever sees that gives back half of what it has not begun, to the source, and rings.
//! The run is over when all copies are dry.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use drawloom_runtime::CalledBy;

use super::Machine;
use crate::error::Result;
use crate::plan::Kind;

/// The copies that have nothing to do.
#[derive(Default)]
pub(crate) struct Dry {
    /// How many copies there are; none that could take from others when this is zero.
    pub(crate) copies: usize,
    /// How many of them are dry.
    dry: Mutex<usize>,
    /// The same number, for those who only want to know whether it is worth while to share.
    hungry: AtomicUsize,
}

impl Dry {
    pub(crate) fn new(copies: usize) -> Self {
        Self { copies, ..Self::default() }
    }

    /// Whether some copy has nothing to do.
    pub(crate) fn is_anybody(&self) -> bool {
        // Relaxed: it is only a hint. Whoever misses it sees it before the next run.
        self.hungry.load(Ordering::Relaxed) > 0
    }
}

impl Machine<'_> {
    /// Gives some of what waits at a node behind a source to others, if they have nothing to do.
    #[inline]
    pub(crate) fn share(&mut self, node: u32) {
        if let Some(source) = self.nodes[node as usize].source
            && self.outside.dry.is_anybody()
        {
            self.share_now(node, source);
        }
    }

    #[cold]
    fn share_now(&mut self, node: u32, source: u32) {
        // Whoever waits should not wait for a whole queue of items that became heavy.
        self.nodes[node as usize].pace.measure_next();
        // What was given back before has not been taken yet: those who were called are on their way.
        if !self.nodes[source as usize].body.has_returned() {
            let output = self.nodes[source as usize].outputs[0];
            let stays = self.begun(node).max(self.nodes[node as usize].width);
            let more = self.edges[output as usize].pipe.len().saturating_sub(stays);
            self.give_back(source, more.div_ceil(2));
        }
    }

    /// The source takes back so many of the last items that it gave, for others, and what it alone could give. False when there
    /// is nothing that it could.
    pub(super) fn give_back(&mut self, source: u32, count: usize) -> bool {
        let edge = &self.edges[self.nodes[source as usize].outputs[0] as usize];
        let most = edge.pipe.len().saturating_sub(self.begun(edge.to));
        let given = self.nodes[source as usize].body.give_back(count.min(most));
        if let Some(count) = given {
            self.nodes[source as usize].counts.outputs -= count as u64;
            self.note_given((count as u64).wrapping_neg());
            self.outside.bell.ring();
        }
        given.is_some()
    }

    /// How many items a run of a node has begun with that was interrupted, which may be several vectors: those stay.
    fn begun(&self, node: u32) -> usize {
        self.nodes[node as usize].interrupted.map_or(0, |(_, count)| count)
    }

    /// Nobody may fire: takes what other copies give, or waits until they do. False when nobody has anything.
    pub(crate) fn take_from_others(&mut self) -> Result<bool> {
        let outside = self.outside;
        if outside.dry.copies < 2 {
            return Ok(false);
        }
        let lock = || outside.dry.dry.lock();
        let mut called = false;
        let mut dry = lock();
        loop {
            if self.take_returned() {
                return Ok(true);
            }
            *dry += 1;
            outside.dry.hungry.store(*dry, Ordering::Relaxed);
            if *dry == outside.dry.copies {
                outside.bell.ring();
                return Ok(false);
            }
            // Those who wait for somebody outside may have something too. Once: those who are dry would call each other for ever.
            if !std::mem::replace(&mut called, true) {
                outside.bell.ring();
            }
            // Heard before it is looked again: whoever gives something later rings again.
            let heard = outside.bell.heard();
            // So is the wish to stop: whoever failed before this rang before it too, and will not ring again.
            self.go_on()?;
            if !self.has_returned() {
                drop(dry);
                let rung = || outside.bell.heard() != heard;
                self.member.sleep(CalledBy::Members, &rung, || outside.bell.sleep(heard, None));
                self.go_on()?;
                dry = lock();
                if *dry == outside.dry.copies {
                    return Ok(false);
                }
            }
            *dry -= 1;
            outside.dry.hungry.store(*dry, Ordering::Relaxed);
        }
    }

    /// Gives some of what waits behind all sources to others, before this copy sleeps.
    pub(crate) fn share_all(&mut self) {
        for node in 0..self.nodes.len() as u32 {
            self.share(node);
        }
    }

    fn has_returned(&self) -> bool {
        self.nodes.iter().any(|node| node.body.has_returned())
    }

    /// Activates the sources that have something again.
    fn take_returned(&mut self) -> bool {
        let mut any = false;
        for node in 0..self.nodes.len() as u32 {
            let this = &self.nodes[node as usize];
            if matches!(this.kind, Kind::Source { .. }) && this.body.has_returned() {
                any = true;
                self.activate(node);
            }
        }
        any
    }
}
