//! What is recorded of nodes of plans.
//!
//! A node is recorded when it has ended, with both of its times in one record. Where nothing but the node before it, on the
//! same thread, had to end first, it starts when that one ended: then one look at the clock is enough for both. When nodes
//! became ready is not recorded at all, as it follows from the ends of the nodes they wait for. A node that is a task of its
//! own is recorded as such, with the node that the task stands for.

use drawloom_trace::EventKind;

use super::record::{Record, now};
use super::tables::{Mark, PlanRecord, Tables};
use super::{Tracer, number, writer};
use crate::policy::WorkerId;
use crate::task::record::TaskId;

/// Receives the starts and ends of nodes that a thread runs one after the other.
pub(crate) trait NodeLog {
    /// A node starts; `alone` says that it waits for no node but the last one that ended here.
    fn start(&mut self, alone: bool);
    /// The node has ended.
    fn end(&mut self, node: u32, outcome: EventKind);
}

/// Nothing is recorded.
impl NodeLog for () {
    #[inline]
    fn start(&mut self, _: bool) {}

    #[inline]
    fn end(&mut self, _: u32, _: EventKind) {}
}

/// Nodes of one run of a plan that a thread runs in one turn.
pub(crate) struct Nodes<'a> {
    tracer: &'a Tracer,
    recording: u32,
    worker: u32,
    run: u64,
    start: u64,
    /// When the last node ended; zero before the first one.
    last: u64,
}

impl NodeLog for Nodes<'_> {
    #[inline]
    fn start(&mut self, alone: bool) {
        self.start = if alone && self.last != 0 { self.last } else { now() };
    }

    #[inline]
    fn end(&mut self, node: u32, outcome: EventKind) {
        let (tracer, end) = (self.tracer, now());
        let record = Record::Node { start: self.start, end, run: self.run, node, outcome };
        writer::with(tracer, self.recording, Some(self.worker), |writer| writer.node(tracer, end, record));
        self.last = end;
    }
}

impl Tracer {
    /// A task that was just submitted is a run of a plan, whose nodes are described once in a recording.
    #[inline]
    pub(crate) fn run(&self, run: TaskId, mark: &Mark, describe: impl FnOnce(u32, &mut Tables) -> PlanRecord) {
        let Some(recording) = self.recording() else { return };
        if mark.get(recording).is_none() {
            self.in_tables(recording, |tables| tables.plan(recording, mark, |tables| describe(recording, tables)));
        }
        if let Some(plan) = mark.get(recording) {
            let record = Record::Run { run: run.bits(), plan };
            writer::with(self, recording, None, |writer| writer.push(self, record));
        }
    }

    /// A task was submitted for a node of a run.
    #[inline]
    pub(crate) fn node_task(&self, task: TaskId, run: TaskId, node: u32) {
        if let Some(recording) = self.recording() {
            let (task, run) = (task.bits(), run.bits());
            self.write(recording, None, |time| Record::NodeTask { time, task, run, node });
        }
    }

    /// Begins to record nodes of a run, if anything is recorded.
    #[inline]
    pub(crate) fn nodes(&self, run: TaskId, worker: Option<WorkerId>) -> Option<Nodes<'_>> {
        let (recording, worker) = (self.recording()?, number(worker));
        Some(Nodes { tracer: self, recording, worker, run: run.bits(), start: 0, last: 0 })
    }
}
