//! A whole run of a copy, and its end: nothing is left anywhere.

use super::Machine;
use super::status::{State, Wait};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::Kind;
use crate::report::EdgeCounts;

impl Machine<'_> {
    /// Runs until no node may fire.
    pub(crate) fn run_all(&mut self) -> Result<()> {
        for node in 0..self.nodes.len() as u32 {
            if matches!(self.nodes[node as usize].kind, Kind::Source { .. }) {
                self.activate(node);
            }
        }
        loop {
            while let Some(node) = self.next() {
                self.trips += 1;
                let start = self.clock();
                self.fire(node)?;
                self.note_firing(node, start);
                self.listen();
            }
            if !self.wait_outside()? && !self.next_chunk() && !self.take_from_others()? {
                break;
            }
        }
        self.check_empty()?;
        for node in 0..self.nodes.len() as u32 {
            self.current.set(node);
            let this = &mut self.nodes[node as usize];
            if let Some(passed) = &this.passed {
                this.counts.inputs = passed.get();
            }
            let finished = this.body.finish();
            finished.map_err(|fault| self.fault(self.current.get(), fault))?;
        }
        Ok(())
    }

    /// Nobody may fire, or waits for somebody outside: all that came of a chunk is where it belongs, and its source goes on. False
    /// when no source waits for that.
    fn next_chunk(&mut self) -> bool {
        let is_whole = |node: &super::Node| node.status.state == State::Blocked(Wait::Chunk);
        let Some(source) = self.nodes.iter().position(is_whole) else { return false };
        self.nodes[source].body.complete();
        self.unblock(source as u32);
        true
    }

    /// Whatever is left would be lost: that is said, with names.
    fn check_empty(&self) -> Result<()> {
        let mut left = Vec::new();
        for (number, edge) in (0_u32..).zip(&self.edges) {
            let (items, signals) = (edge.pipe.len(), edge.pipe.signals().borrow().len());
            if items + signals > 0 {
                let name = self.description.edge_name(number);
                left.push(format!("{items} items and {signals} signals are left on {name}"));
            }
        }
        for (node, of) in self.nodes.iter().zip(&self.description.nodes) {
            match node.status.state {
                State::Inactive if node.interrupted.is_none() => {}
                state => left.push(format!("node `{}` is not done ({state:?})", of.name)),
            }
        }
        for region in &self.regions {
            let held = region.parents.kept();
            if held > 0 {
                let name = &self.description.nodes[region.head as usize].name;
                left.push(format!("{held} parents of the region of node `{name}` are still held"));
            }
        }
        if left.is_empty() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Internal, format!("the run came to a standstill: {}", left.join("; "))))
    }

    /// How full the queues were.
    pub(crate) fn edge_counts(&self) -> Vec<EdgeCounts> {
        let counts = |edge: &super::Edge| EdgeCounts {
            items: edge.pipe.signals().borrow().consumed(),
            blocked: edge.blocked,
            high_water: edge.pipe.high_water(),
            signals_high_water: edge.pipe.signals().borrow().high_water(),
        };
        self.edges.iter().map(counts).collect()
    }
}
