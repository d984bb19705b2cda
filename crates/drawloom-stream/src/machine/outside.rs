//! Nodes that wait for somebody outside of the stream: a source without items now, a sink without room.
//!
//! Such a node is blocked, and so are those that lead to it when their queues are full; all others go on. It is tried again
//! when the bell of the run was rung, or at the time it named. When no node may fire the thread sleeps until then.

use std::sync::atomic::Ordering;
use std::time::Instant;

use drawloom_runtime::CalledBy;

use super::Machine;
use super::status::{State, Wait};
use crate::bell::sooner;
use crate::error::Result;
use crate::plan::Kind;
use crate::plan::regions::WHOLE;

impl Machine<'_> {
    /// A node waits for somebody outside, who will ring; or until a time.
    pub(crate) fn block_outside(&mut self, node: u32, until: Option<Instant>) {
        self.waiting += 1;
        self.until = sooner(self.until, until);
        self.block(node, Wait::Outside(until));
    }

    /// Whether the bell was rung, or it is time, for those who wait.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        let is_time = || self.until.is_some_and(|until| until <= Instant::now());
        self.waiting > 0 && (self.outside.bell.heard() != self.heard || is_time())
    }

    /// Whether a node may do something that those outside see. If it has to wait for its turn, the bell is rung when that may have
    /// come.
    pub(crate) fn has_turn(&mut self, node: u32) -> bool {
        let outside = self.outside;
        let (true, Some(turn)) = (self.nodes[node as usize].in_turn, &outside.turn) else { return true };
        let chunk = self.chunk.get();
        if self.turn_of != Some(chunk) && turn.has_come(chunk, &outside.bell) {
            self.turn_of = Some(chunk);
        }
        self.turn_of == Some(chunk)
    }

    /// When the bell was rung, or it is time, those who wait try again.
    pub(crate) fn listen(&mut self) {
        if self.is_due() {
            let heard = self.outside.bell.heard();
            let rung = heard != self.heard;
            // Heard before anybody tries: what happens from now on is another ring.
            self.heard = heard;
            let now = Instant::now();
            self.try_again(|until| rung || until.is_some_and(|until| until <= now));
        }
    }

    /// Sleeps until somebody may go on. False when nobody waits for anything outside.
    pub(crate) fn wait_outside(&mut self) -> Result<bool> {
        if self.waiting == 0 {
            return Ok(false);
        }
        self.go_on()?;
        // It may have been rung for a wish while nodes fired, which has been heard since then and wakes nobody.
        self.flush_if_wished();
        if !self.fireable.is_empty() || self.let_go() {
            return Ok(true);
        }
        self.share_all();
        let now = (self.heard, self.outside.given[self.member.rank()].load(Ordering::Relaxed));
        // That it was awake may have been for nothing.
        if std::mem::replace(&mut self.slept, now) != now {
            self.member.has_moved();
        }
        let (bell, heard, until) = (&self.outside.bell, self.heard, self.until);
        let goes_on = || bell.heard() != heard || until.is_some_and(|until| until <= Instant::now());
        self.member.sleep(CalledBy::Anyone, &goes_on, || bell.sleep(heard, until));
        self.go_on()?;
        self.flush_if_wished();
        self.listen();
        Ok(true)
    }

    fn try_again(&mut self, may: impl Fn(Option<Instant>) -> bool) {
        for node in 0..self.nodes.len() as u32 {
            if let State::Blocked(Wait::Outside(until)) = self.nodes[node as usize].status.state
                && may(until)
            {
                self.unblock(node);
            }
        }
        let times = self.nodes.iter().filter_map(|node| match node.status.state {
            State::Blocked(Wait::Outside(until)) => until,
            _ => None,
        });
        self.until = times.min();
    }

    /// Flushes all that the sources have given, if somebody wishes it.
    pub(crate) fn flush_if_wished(&mut self) {
        // Acquire: who sees a wish finds what was given before it; Release in `Running::flush`.
        let wishes = self.outside.flushes.load(Ordering::Acquire);
        if wishes == self.flushes {
            return;
        }
        let flush = self.new_flush(WHOLE, 0);
        (self.flushes, self.wished_flush) = (wishes, flush.count);
        for node in 0..self.nodes.len() as u32 {
            let source = &mut self.nodes[node as usize];
            if matches!(source.kind, Kind::Source { .. }) {
                source.counts.flushes += 1;
                source.wished_at = Some(source.counts.outputs);
                self.flush_children(node, flush);
            }
        }
    }

    /// A source has nothing now. Whether it gave something since a wish to flush was seen, which may have been there before the wish.
    pub(super) fn gave_late(&mut self, node: u32) -> bool {
        let source = &mut self.nodes[node as usize];
        source.wished_at.take().is_some_and(|outputs| outputs < source.counts.outputs)
    }
}
