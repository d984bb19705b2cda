//! What has come of heavy items goes on before all of them are done, where somebody waits for it.
//!
//! A source flushes what it gave when somebody wishes it, or when the patience of a live source is over. But it does not fire while a
//! node behind it is active, and that may be for long where items are heavy. So a node looks before each step whether it is time, and
//! then those behind it *hurry*: each brings what waits for it to an end, and passes that on.
//!
//! For the same reason a node looks whether somebody outside has called others meanwhile: they come first then.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::Machine;

impl Machine<'_> {
    /// A node is about to take a step. True if others are to fire first, as somebody outside waits for them; this one goes on when they
    /// have nothing to do. It need not wait for those that are called again and again if it has done nothing in between.
    pub(super) fn make_way(&mut self, node: u32, has_done: bool) -> bool {
        let (wished, due) = (self.is_wish_new_to(node), has_done && self.is_due());
        let overdue = wished || self.is_overdue(node);
        if !overdue && !due {
            return false;
        }
        // Those that are called now come above it on the stack: first what has come of its items, then the sources.
        self.schedule(node);
        if due {
            self.listen();
        }
        if wished {
            self.flush_if_wished();
            self.nodes[node as usize].hurried = self.flushes;
        }
        if overdue {
            self.nodes[node as usize].since = None;
            self.hurry(node);
        }
        true
    }

    /// Whether somebody wishes a flush for which those behind a node have not hurried, and which has not come through it. Its items may be
    /// so heavy that the flush of the source, which comes behind them, would be too late.
    #[inline]
    pub(super) fn is_wish_new_to(&self, node: u32) -> bool {
        // Relaxed: whoever does something about it looks again.
        self.outside.flushes.load(Ordering::Relaxed) != self.nodes[node as usize].hurried
    }

    /// Whether something that a node has pushed has waited for longer than the patience of a live source.
    #[inline]
    fn is_overdue(&self, node: u32) -> bool {
        let (Some(patience), Some(since)) = (self.patience, self.nodes[node as usize].since) else { return false };
        since.elapsed() > patience
    }

    /// A node has done a step. What it has pushed may wait from now on.
    #[inline]
    pub(super) fn note_step(&mut self, node: u32) {
        if self.patience.is_some() {
            self.nodes[node as usize].since.get_or_insert_with(Instant::now);
        }
    }

    /// What a node has pushed so far is brought to its end.
    ///
    /// It is no flush: where edges join, one has to come over all of them, and tells that nothing from before is still to come.
    fn hurry(&mut self, node: u32) {
        let this = &mut self.nodes[node as usize];
        this.counts.flushes += u64::from(!this.outputs.is_empty());
        self.pass_hurry(node);
    }

    /// A node that hurries has done all that it can do now. Those behind it are next.
    pub(super) fn end_hurry(&mut self, node: u32) {
        if std::mem::take(&mut self.nodes[node as usize].status.hurrying) {
            self.pass_hurry(node);
        }
    }

    /// What a node has pushed is not to wait for more.
    fn pass_hurry(&mut self, node: u32) {
        for at in 0..self.nodes[node as usize].outputs.len() {
            let edge = &self.edges[self.nodes[node as usize].outputs[at] as usize];
            if edge.back {
                continue;
            }
            let (to, starved) = (edge.to, edge.starved);
            self.nodes[to as usize].status.hurrying = true;
            if starved {
                // It waits for what comes over other edges, and can take what has come over this one meanwhile.
                self.unblock(to);
            } else {
                self.activate(to);
            }
        }
    }
}
