//! The loop stack: where each loop is, and what happens at the end of the list.
//!
//! There is a record of counts for every level, and they are cleared only when a run begins. Pushing a loop writes how
//! many rows it makes now and in all; the function that is called at the end of the list moves the counts on, and says
//! whether the loop goes on. A loop that is done adds its rows to `prev_outer`, which the next turn of the loop around it
//! finds there: that is how its rows get a place of their own.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::error::{ErrorKind, Fault};
use crate::graph::{Graph, NodeId};

/// Where a loop is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many iterations are behind.
    pub iteration: u64,
    /// How many rows they made.
    pub previous: u64,
    /// How many rows this iteration makes.
    pub current: u64,
    /// How many rows there are in all, as far as is known. When `previous + current` reaches it, this iteration is the last.
    pub total: u64,
    /// How many rows the loop made in earlier iterations of the loops around it.
    pub previous_outer: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "iteration {}, rows {} before, {} now, {} in all, {} in earlier turns",
            self.iteration, self.previous, self.current, self.total, self.previous_outer
        )
    }
}

/// What becomes of a loop at the end of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Its loop-control node is run again.
    Again,
    /// The loop around it is asked.
    Done,
}

/// What is called at the end of the list: it gets the graph, the loop-control node, the counts of the loop, and what the
/// loop remembers.
pub type LoopEnd = Arc<dyn Fn(&Graph, NodeId, &mut Counts, &mut (dyn Any + Send)) -> Result<Next, Fault> + Send + Sync>;

/// What a loop-control node does with the loop stack.
pub struct LoopTurn<'a> {
    pub(super) stack: &'a mut LoopStack,
    pub(super) state: &'a mut (dyn Any + Send),
    pub(super) node: NodeId,
    pub(super) pushed: usize,
}

impl<'a> LoopTurn<'a> {
    pub(super) fn new(stack: &'a mut LoopStack, state: &'a mut (dyn Any + Send), node: NodeId) -> Self {
        Self { stack, state, node, pushed: 0 }
    }

    /// Begins an iteration of `current` rows of a loop of `total` rows. The total may be an estimate, and another one in
    /// the next iteration.
    pub fn push(&mut self, current: u64, total: u64) {
        self.push_entry(current, total, None);
    }

    /// The same, with a function of its own for the end of the list.
    pub fn push_with(&mut self, current: u64, total: u64, end: LoopEnd) {
        self.push_entry(current, total, Some(end));
    }

    /// What the loop remembers.
    pub fn state(&mut self) -> &mut (dyn Any + Send) {
        self.state
    }

    fn push_entry(&mut self, current: u64, total: u64, end: Option<LoopEnd>) {
        self.pushed += 1;
        // A second push is an error, which the caller reports: it must not disturb the stack.
        if self.pushed == 1 {
            self.stack.push(self.node, current, total, end);
        }
    }
}

#[derive(Clone)]
struct Entry {
    node: NodeId,
    end: Option<LoopEnd>,
    empty: u64,
}

/// The loops around the node that runs now.
pub(crate) struct LoopStack {
    records: Vec<Counts>,
    entries: Vec<Option<Entry>>,
    active: usize,
}

impl LoopStack {
    pub(super) fn new(depth: usize) -> Self {
        Self { records: vec![Counts::default(); depth + 1], entries: vec![None; depth], active: 0 }
    }

    /// The stack at the beginning of an iteration of the only loop, of which everything is known.
    pub(super) fn at(counts: Counts) -> Self {
        let mut stack = Self::new(1);
        stack.records[0] = counts;
        stack
    }

    /// The record above the loops that are active: that of a loop-control node, while it runs.
    pub(super) fn top(&self) -> Counts {
        self.records[self.active]
    }

    /// The records of the loops that are active, the outermost first.
    pub(super) fn active(&self) -> &[Counts] {
        &self.records[..self.active]
    }

    /// Where the rows of this iteration belong.
    pub(super) fn offset(&self) -> Result<u64, Fault> {
        let Some(counts) = self.active().last() else { return Ok(0) };
        counts.previous.checked_add(counts.previous_outer).ok_or_else(|| overflow(counts))
    }

    /// How many rows there will be when the innermost loop is done, or 0 if only a function of its own knows its end.
    pub(super) fn expected(&self) -> u64 {
        let innermost = self.active().last().zip(self.entries[..self.active].last());
        let Some((counts, Some(Entry { end: None, .. }))) = innermost else { return 0 };
        let done = counts.previous.saturating_add(counts.current);
        counts.previous_outer.saturating_add(counts.total.max(done))
    }

    fn push(&mut self, node: NodeId, current: u64, total: u64, end: Option<LoopEnd>) {
        let record = &mut self.records[self.active];
        record.current = current;
        record.total = total;
        let before = self.entries[self.active].as_ref().map_or(0, |entry| entry.empty);
        self.entries[self.active] = Some(Entry { node, end, empty: if current == 0 { before + 1 } else { 0 } });
        self.active += 1;
    }

    /// Pops loops until one of them goes on: the node to go back to, or none when all are done.
    pub(super) fn end_of_list(
        &mut self,
        graph: &Graph,
        states: &mut [Box<dyn Any + Send>],
        empty_limit: u64,
    ) -> Result<Option<NodeId>, (NodeId, Fault)> {
        while self.active > 0 {
            let level = self.active - 1;
            let Some(entry) = &mut self.entries[level] else { break };
            let node = entry.node;
            let counts = &mut self.records[level];
            let next = match &entry.end {
                None => default_end(counts),
                Some(end) => end(graph, node, counts, states[node.index()].as_mut()),
            };
            match next.map_err(|fault| (node, fault))? {
                Next::Again => {
                    if entry.empty > 0 && entry.empty >= empty_limit {
                        let fault = Fault::of(
                            ErrorKind::Iteration,
                            format!("it does not advance: {} iterations one after another made no rows", entry.empty),
                        );
                        return Err((node, fault));
                    }
                    self.active = level;
                    return Ok(Some(node));
                }
                Next::Done => {
                    entry.empty = 0;
                    self.active = level;
                }
            }
        }
        Ok(None)
    }
}

/// Goes on while there are rows left.
fn default_end(counts: &mut Counts) -> Result<Next, Fault> {
    let done = counts.previous.checked_add(counts.current).ok_or_else(|| overflow(counts))?;
    if done < counts.total {
        counts.iteration += 1;
        counts.previous = done;
        Ok(Next::Again)
    } else {
        counts.previous_outer = counts.previous_outer.checked_add(done).ok_or_else(|| overflow(counts))?;
        counts.iteration = 0;
        counts.previous = 0;
        Ok(Next::Done)
    }
}

fn overflow(counts: &Counts) -> Fault {
    Fault::of(ErrorKind::Iteration, format!("its rows cannot be counted: {counts}"))
}
