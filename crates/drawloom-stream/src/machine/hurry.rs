//! What has come of heavy items goes on before all of them are done, where somebody waits for it.
//!
//! A source flushes what it gave when somebody wishes it, or when the patience of a live source is over. But it does not fire while a
//! node behind it is active, and that may be for long where items are heavy. So a node looks before each step whether it is time, and
//! then those behind it *hurry*: each brings what waits for it to an end, and passes that on.

use std::time::Instant;

use super::Machine;

impl Machine<'_> {
    /// Whether what has come of a node's items so far is to be brought to its end, though the node has not done all that waits for it. Its
    /// items may be so heavy that the flush of the source, which comes behind them, would be too late for those who wish one, or for
    /// the patience of a live source.
    pub(super) fn is_overdue(&mut self, node: u32) -> bool {
        if self.is_flush_wished() {
            self.flush_if_wished();
            return true;
        }
        let this = &mut self.nodes[node as usize];
        let (Some(patience), Some(since)) = (self.patience, this.since) else { return false };
        let over = since.elapsed() > patience;
        if over {
            this.since = None;
        }
        over
    }

    /// A node has done a step. What it has pushed may wait from now on.
    #[inline]
    pub(super) fn note_step(&mut self, node: u32) {
        if self.patience.is_some() {
            self.nodes[node as usize].since.get_or_insert_with(Instant::now);
        }
    }

    /// What a node has pushed so far is brought to its end. True if others have to do something for that.
    ///
    /// It is no flush: where edges join, one has to come over all of them, and tells that nothing from before is still to come.
    pub(super) fn hurry(&mut self, node: u32) -> bool {
        let this = &mut self.nodes[node as usize];
        this.counts.flushes += u64::from(!this.outputs.is_empty());
        self.pass_hurry(node);
        self.nodes[node as usize].status.active_children > 0
    }

    /// What a node has pushed is not to wait for more.
    pub(super) fn pass_hurry(&mut self, node: u32) {
        for at in 0..self.nodes[node as usize].outputs.len() {
            let edge = &self.edges[self.nodes[node as usize].outputs[at] as usize];
            if !edge.back {
                let to = edge.to;
                self.nodes[to as usize].status.hurrying = true;
                self.activate(to);
            }
        }
    }
}
