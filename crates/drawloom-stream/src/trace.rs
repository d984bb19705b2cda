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
    /// When the copy began, in nanoseconds since the run did.
    pub(crate) begun: u64,
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
        self.extend(&mut trace, |time| time, None);
        trace
    }

    /// Adds the firings of the run to a trace of the engine that ran it, where they are parts of the task of this name, each
    /// copy in a row of its own: so one file shows both. The task is the stream's own, which has the name of the stream, or
    /// the one from inside of which a team ran it; of several that have this name it is the first to which nothing was added
    /// yet. False when there is no such task.
    pub fn add_to(&self, trace: &mut Trace, task: &str) -> bool {
        let is_free = |number: u64| !trace.tasks.iter().any(|other| other.parent == Some(number));
        let start = |number: u64| {
            let starts = trace.events.iter().filter(|event| event.kind == EventKind::Start && event.task == number);
            starts.map(|event| (number, event.time)).min()
        };
        let named = trace.tasks.iter().filter(|other| other.name == task).map(|other| other.number);
        let Some((number, start)) = named.filter(|number| is_free(*number)).find_map(start) else { return false };
        // The first copy began when the task did.
        let begun = self.firings.iter().map(|firings| firings.begun).min().unwrap_or(0);
        self.extend(trace, |time| start + time.saturating_sub(begun), Some(number));
        true
    }

    fn extend(&self, trace: &mut Trace, time: impl Fn(u64) -> u64, parent: Option<u64>) {
        let first = trace.tasks.iter().map(|task| task.number + 1).max().unwrap_or(0);
        let mut numbers = first..;
        for (copy, firings) in self.firings.iter().enumerate() {
            let row = trace.workers.len() as u32;
            let name = format!("copy {copy}").into();
            trace.workers.push(WorkerRecord { name, kind: "cpu".into(), cpu: None, memory_node: 0 });
            trace.dropped += 2 * firings.dropped;
            for (firing, number) in firings.kept.iter().zip(&mut numbers) {
                let name = self.nodes[firing.node as usize].name.clone();
                trace.tasks.push(TaskRecord { sequence: number - first, parent, ..TaskRecord::new(number, name) });
                let event = |at, kind| Event::of_task(time(at), kind, number, row);
                trace.events.extend([event(firing.start, EventKind::Start), event(firing.end, EventKind::End)]);
            }
        }
        trace.sort();
    }
}
