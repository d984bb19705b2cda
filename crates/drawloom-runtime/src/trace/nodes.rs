//! What is recorded of nodes of plans.
//!
//! A node is recorded when it has ended, with both of its times in one entry. Where nothing but the node before it, on the
//! same thread, had to end first, it starts when that one ended: then one look at the clock is enough for both. When nodes
//! became ready is not recorded at all, as it follows from the ends of the nodes they wait for. A node that is a task of its
//! own is recorded as such, and it is said which node the task stands for.

use drawloom_trace::EventKind;

use super::clock::Clock;
use super::entry::{NodeRun, Stand};
use super::tables::{Mark, PlanRecord, Tables};
use super::{Tracer, number, writer};
use crate::policy::WorkerId;
use crate::task::record::TaskId;

/// Is told what becomes of nodes that a thread runs one after the other.
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
    clock: Clock,
    recording: u32,
    worker: u32,
    run: u64,
    plan: u32,
    start: u64,
    /// When the last node ended; zero before the first one.
    last: u64,
}

impl NodeLog for Nodes<'_> {
    #[inline]
    fn start(&mut self, alone: bool) {
        self.start = if alone && self.last != 0 { self.last } else { self.clock.now() };
    }

    #[inline]
    fn end(&mut self, node: u32, outcome: EventKind) {
        // Nobody else can see it yet. Two looks at the clock of which one is without a fence might be seen the wrong way round.
        let end = self.clock.now_nearly().max(self.start);
        let ran = NodeRun { start: self.start, end, run: self.run, plan: self.plan, node, outcome };
        writer::with(self.tracer, self.recording, Some(self.worker), |writer| writer.node(self.tracer, ran));
        self.last = end;
    }
}

impl Tracer {
    /// Describes the nodes of a plan, once in a recording.
    #[inline]
    pub(crate) fn plan(&self, mark: &Mark, describe: impl FnOnce(u32, &mut Tables) -> PlanRecord) {
        if let Some(recording) = self.recording()
            && mark.get(recording).is_none()
        {
            self.in_tables(recording, |tables| tables.plan(recording, mark, |tables| describe(recording, tables)));
        }
    }

    /// A task was submitted that stands for a node of a run.
    #[inline]
    pub(crate) fn stands_for(&self, mark: &Mark, task: TaskId, run: TaskId, node: u32) {
        if let Some(recording) = self.recording()
            && let Some(plan) = mark.get(recording)
        {
            let stand = Stand { task: task.bits(), run: run.bits(), plan, node };
            writer::with(self, recording, None, |writer| writer.stands_for(self, stand));
        }
    }

    /// Begins to record nodes of a run, unless nothing is recorded, or the run was submitted before the recording began.
    #[inline]
    pub(crate) fn nodes(&self, mark: &Mark, run: TaskId, worker: Option<WorkerId>) -> Option<Nodes<'_>> {
        let recording = self.recording()?;
        let plan = mark.get(recording)?;
        let (clock, worker) = (Clock::get(), number(worker));
        Some(Nodes { tracer: self, clock, recording, worker, run: run.bits(), plan, start: 0, last: 0 })
    }
}
