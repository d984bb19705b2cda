//! The firings of a run, as a trace that the tools for traces read.

use drawloom_trace::{Event, EventKind, TaskRecord, Trace, WorkerRecord};

use crate::report::Report;

/// A node fired: from when to when, in nanoseconds since the run began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Firing {
    pub(crate) node: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// The firings of one copy, up to a number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Firings {
    pub(crate) kept: Vec<Firing>,
    /// How many more there were.
    pub(crate) dropped: u64,
}

impl Firings {
    /// Keeps a firing, if there is room.
    pub(crate) fn add(&mut self, firing: Firing, most: usize) {
        if self.kept.len() < most {
            self.kept.push(firing);
        } else {
            self.dropped += 1;
        }
    }
}

impl Report {
    /// The firings of the run, each as a task with the name of its node, on the worker that has the copy. It is empty unless
    /// firings were kept: see [`Settings::traced`](crate::Settings::traced).
    pub fn trace(&self) -> Trace {
        let mut trace = Trace::default();
        for (copy, firings) in (0_u32..).zip(&self.firings) {
            let name = format!("copy {copy}").into();
            trace.workers.push(WorkerRecord { name, kind: "cpu".into(), cpu: None, memory_node: 0 });
            trace.dropped += 2 * firings.dropped;
            for firing in &firings.kept {
                let number = trace.tasks.len() as u64;
                trace.tasks.push(TaskRecord {
                    sequence: number,
                    ..TaskRecord::new(number, self.nodes[firing.node as usize].name.clone())
                });
                let event = |time, kind| Event::of_task(time, kind, number, copy);
                trace.events.extend([event(firing.start, EventKind::Start), event(firing.end, EventKind::End)]);
            }
        }
        trace.sort();
        trace
    }
}
