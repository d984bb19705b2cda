//! A trace from what was recorded.

use drawloom_trace::{
    AccessMode, AccessRecord, Event, EventKind, MachineRecord, NO_TASK, TaskRecord, Text, Trace, WorkerRecord,
};
use rustc_hash::FxHashMap;

use super::{Described, Touched, Tracer};
use crate::access::Mode;
use crate::sync::atomic::Ordering;
use crate::sync::lock;

impl Tracer {
    /// Ends the recording, and returns what was recorded.
    pub(crate) fn end(&self, context_name: impl Fn(u32) -> String) -> Trace {
        self.on.store(false, Ordering::SeqCst);
        self.collect(context_name)
    }

    /// What was recorded so far.
    pub(crate) fn collect(&self, context_name: impl Fn(u32) -> String) -> Trace {
        let state = lock(&self.state);
        let numbers: FxHashMap<u64, u64> = (0..).zip(&state.tasks).map(|(n, t)| (t.id.bits(), n)).collect();
        let number = |id: u64| numbers.get(&id).copied();
        let mut names: FxHashMap<u32, Text> = FxHashMap::default();
        let mut sequences: FxHashMap<Option<u64>, u64> = FxHashMap::default();
        let mut trace = Trace {
            machine: machine(),
            workers: (0..self.rings.len() - 1).map(worker).collect(),
            regions: state.regions.clone(),
            dropped: state.lost,
            ..Trace::default()
        };
        for task in &state.tasks {
            let mut record = task_record(task, number);
            record.context = names.entry(task.context).or_insert_with(|| context_name(task.context).into()).clone();
            let sequence = sequences.entry(record.parent).or_default();
            record.sequence = *sequence;
            *sequence += 1;
            trace.tasks.push(record);
        }
        for ring in &self.rings {
            let ring = lock(ring);
            let (events, lost) = ring.events();
            // Events of tasks from before the recording say nothing that could be understood.
            trace.events.extend(events.filter_map(|event| {
                let task = if event.task == NO_TASK { NO_TASK } else { number(event.task)? };
                Some(Event { time: event.time.saturating_sub(state.began), task, ..event })
            }));
            if let (Some(last), true) = (trace.events.last().copied(), lost > 0) {
                let value = u32::try_from(lost).unwrap_or(u32::MAX);
                trace.events.push(Event::of_worker(last.time, EventKind::Dropped, last.worker, value));
            }
            trace.dropped += lost;
        }
        trace.sort();
        trace
    }
}

fn task_record(task: &Described, number: impl Fn(u64) -> Option<u64>) -> TaskRecord {
    let known = |ids: &[crate::task::record::TaskId]| ids.iter().filter_map(|id| number(id.bits())).collect();
    let own = number(task.id.bits()).expect("every described task has a number");
    TaskRecord {
        file: task.location.file().into(),
        line: task.location.line(),
        parent: number(task.parent.bits()),
        priority: task.priority,
        internal: task.internal,
        after: known(&task.after),
        ends_with: known(&task.ends_with),
        accesses: task.accesses.iter().map(access_record).collect(),
        ..TaskRecord::new(own, task.name.as_str().to_owned())
    }
}

fn access_record(touched: &Touched) -> AccessRecord {
    let mode = match touched.mode {
        Mode::Read | Mode::LendRead => AccessMode::Read,
        Mode::Write | Mode::LendWrite => AccessMode::Write,
        Mode::Update | Mode::LendUpdate => AccessMode::Update,
        Mode::Reduce => AccessMode::Reduce(touched.operator.into()),
        Mode::Commute => AccessMode::Commute,
    };
    let runs = touched.indices.runs().iter().map(|run| (run.start, run.end)).collect();
    AccessRecord { region: touched.region, mode, runs }
}

fn worker(index: usize) -> WorkerRecord {
    WorkerRecord { name: format!("worker {index}").into(), kind: "cpu".into(), cpu: None, memory_node: 0 }
}

fn machine() -> MachineRecord {
    MachineRecord {
        processor: std::env::consts::ARCH.into(),
        system: std::env::consts::OS.into(),
        cpus: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
    }
}
