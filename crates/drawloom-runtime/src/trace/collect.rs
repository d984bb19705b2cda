//! A trace from what was recorded.

use drawloom_trace::{AccessMode, AccessRecord, Event, EventKind, MachineRecord, NO_WORKER, TaskRecord, Text, Trace};
use rustc_hash::FxHashMap;

use super::Tracer;
use super::record::Record;
use super::tables::{AccessEntry, PlanRecord, Site, Tables};
use super::turns::Times;
use super::writer::Recorded;
use crate::access::Mode;
use crate::sync::atomic::Ordering;
use crate::sync::lock;

/// How many tasks a trace describes at most, nodes of plans included; the events of further ones are counted as lost.
const TASKS: u64 = 1 << 22;

impl Recorded {
    fn records(&self) -> impl Iterator<Item = Record> {
        self.chunks.iter().flat_map(|chunk| chunk.iter().copied())
    }
}

/// A task that was submitted, with everything that is known about it.
#[derive(Default)]
struct Task {
    id: u64,
    time: u64,
    parent: u64,
    place: u32,
    site: Option<Site>,
    context: u32,
    priority: i32,
    internal: bool,
    worker: u32,
    accesses: Vec<AccessEntry>,
    after: Vec<u64>,
    ends_with: Vec<u64>,
}

/// A run of a plan.
#[derive(Default)]
struct Run {
    /// The number of the plan; none when the run was submitted before the recording.
    plan: Option<u32>,
    /// The nodes that were run, and when they ended.
    ends: Vec<(u32, u64)>,
    /// The nodes that are tasks of their own: task, node, and when the task was submitted.
    tasks: Vec<(u64, u32, u64)>,
}

/// All tasks of a recording.
#[derive(Default)]
struct Tasks {
    /// In submission order.
    all: Vec<Task>,
    /// The runs of plans of which some node was run.
    runs: FxHashMap<u64, Run>,
    /// When each task started first, and when it ended last.
    starts: FxHashMap<u64, u64>,
    ends: FxHashMap<u64, u64>,
}

/// The tasks of a trace by their ids.
struct Numbers {
    /// The number of each task, and when it was submitted.
    tasks: FxHashMap<u64, (u64, u64)>,
    /// For each run of a plan that is described: the number of its first node. The others follow.
    nodes: FxHashMap<u64, u64>,
}

impl Tracer {
    /// Ends the recording, and returns what was recorded.
    pub(crate) fn end(&self, context_name: impl Fn(u32) -> String) -> Trace {
        self.on.store(0, Ordering::SeqCst);
        self.collect(context_name)
    }

    /// What was recorded so far.
    pub(crate) fn collect(&self, context_name: impl Fn(u32) -> String) -> Trace {
        let state = lock(&self.state);
        let mut trace = Trace { machine: machine(), workers: self.workers.clone(), ..Trace::default() };
        let Some(began) = state.began else { return trace };
        let streams: Vec<Recorded> = state.streams.iter().map(|stream| stream.read()).collect();
        trace.regions.clone_from(&state.tables.regions);
        trace.dropped = self.lost.load(Ordering::Relaxed);
        let tasks = Tasks::new(&streams);
        let numbers = Numbers::new(&tasks, &state.tables);
        describe(&mut trace, &tasks, &state.tables, &numbers, context_name);
        // Of events at the same time, submissions come first and then what became ready, so that every task has its events
        // in their order, whichever thread recorded them.
        trace.events.extend(tasks.all.iter().map(|task| {
            Event::of_task(task.time.saturating_sub(began), EventKind::Submit, numbers.tasks[&task.id].0, task.worker)
        }));
        let mut others = Vec::new();
        let mut events = Events { trace: &mut trace, others: &mut others, began, numbers: &numbers };
        for stream in &streams {
            stream.records().for_each(|record| events.take(stream.worker, record));
            events.dropped(stream.worker, stream.lost);
            events.trace.dropped += stream.lost;
        }
        // Events of threads without writers.
        events.dropped(NO_WORKER, self.lost.load(Ordering::Relaxed));
        for task in &tasks.all {
            let (Some(first), Some(start)) = (numbers.nodes.get(&task.id), tasks.starts.get(&task.id)) else {
                continue;
            };
            let Some((run, plan)) = tasks.run(task, &state.tables) else { continue };
            let ready = ready_times(plan, run, &tasks.ends, *start).into_iter().zip(*first..);
            trace.events.extend(ready.filter_map(|(time, number)| {
                Some(Event::of_task(time?.saturating_sub(began), EventKind::Ready, number, NO_WORKER))
            }));
        }
        trace.events.append(&mut others);
        trace.sort();
        trace
    }
}

impl Tasks {
    fn new(streams: &[Recorded]) -> Self {
        let mut tasks = Self::default();
        for stream in streams {
            // What follows a submission belongs to it.
            let first = tasks.all.len();
            for record in stream.records() {
                tasks.take(first, stream.worker, record);
            }
        }
        tasks.runs.retain(|_, run| run.plan.is_some() && !(run.ends.is_empty() && run.tasks.is_empty()));
        tasks.all.sort_by_key(|task| task.place);
        tasks
    }

    /// Takes a record of a stream whose first submission is that of task `first`.
    fn take(&mut self, first: usize, worker: u32, record: Record) {
        let last = self.all[first..].last_mut();
        match record {
            Record::Submit { time, task, parent, place } => {
                self.all.push(Task { id: task, time, parent, place, worker, ..Task::default() });
            }
            Record::Site(site) => last.into_iter().for_each(|last| last.site = Some(site)),
            Record::Details { context, priority, internal } => {
                if let Some(last) = last {
                    (last.context, last.priority, last.internal) = (context, priority, internal);
                }
            }
            Record::Access(access) => last.into_iter().for_each(|last| last.accesses.push(access)),
            // The last one is another task when the recording began between the two.
            Record::After { task, other } => {
                last.filter(|last| last.id == task).into_iter().for_each(|last| last.after.push(other));
            }
            Record::EndsWith { task, other } => {
                last.filter(|last| last.id == task).into_iter().for_each(|last| last.ends_with.push(other));
            }
            Record::Run { run, plan } => self.runs.entry(run).or_default().plan = Some(plan),
            Record::Node { run, node, end, .. } => self.runs.entry(run).or_default().ends.push((node, end)),
            Record::NodeTask { time, task, run, node } => {
                self.runs.entry(run).or_default().tasks.push((task, node, time));
            }
            Record::Task { time, task, kind: EventKind::Start } => {
                self.starts.entry(task).or_insert(time);
            }
            Record::Task { time, task, kind: EventKind::End | EventKind::Failed | EventKind::Cancelled } => {
                self.ends.insert(task, time);
            }
            Record::Task { .. } | Record::Worker { .. } | Record::Turn { .. } | Record::Team { .. } => {}
        }
    }

    /// The run of a plan that a task is, and the plan.
    fn run<'a>(&'a self, task: &Task, tables: &'a Tables) -> Option<(&'a Run, &'a PlanRecord)> {
        let run = self.runs.get(&task.id)?;
        Some((run, &tables.plans[run.plan? as usize]))
    }
}

impl Numbers {
    fn new(tasks: &Tasks, tables: &Tables) -> Self {
        let mut numbers = Self { tasks: FxHashMap::default(), nodes: FxHashMap::default() };
        let mut next = 0;
        // There is a limit for what was recorded; runs of plans may have many more nodes than that.
        let mut left = TASKS.saturating_sub(tasks.all.len() as u64);
        for task in &tasks.all {
            numbers.tasks.insert(task.id, (next, task.time));
            next += 1;
            let Some((run, plan)) = tasks.run(task, tables) else { continue };
            let count = plan.nodes.len() as u64;
            if count <= left {
                numbers.nodes.insert(task.id, next);
                numbers
                    .tasks
                    .extend(run.tasks.iter().map(|&(task, node, time)| (task, (next + u64::from(node), time))));
                (next, left) = (next + count, left - count);
            }
        }
        numbers
    }

    fn task(&self, id: u64) -> Option<u64> {
        self.tasks.get(&id).map(|(number, _)| *number)
    }
}

/// Adds the records of all tasks to a trace.
fn describe(
    trace: &mut Trace,
    tasks: &Tasks,
    tables: &Tables,
    numbers: &Numbers,
    context_name: impl Fn(u32) -> String,
) {
    let mut names: FxHashMap<u32, Text> = FxHashMap::default();
    let mut sequences: FxHashMap<Option<u64>, u64> = FxHashMap::default();
    for task in &tasks.all {
        let Task { id, parent, context, site, priority, internal, .. } = *task;
        let known = |ids: &[u64]| ids.iter().filter_map(|&id| numbers.task(id)).collect();
        let number = numbers.tasks[&id].0;
        let parent = numbers.task(parent);
        let context = names.entry(context).or_insert_with(|| context_name(context).into()).clone();
        let sequence = sequences.entry(parent).or_default();
        trace.tasks.push(TaskRecord {
            parent,
            sequence: *sequence,
            priority,
            internal,
            context: context.clone(),
            after: known(&task.after),
            ends_with: known(&task.ends_with),
            accesses: task.accesses.iter().map(|access| access_record(tables, access)).collect(),
            ..at_site(number, site)
        });
        *sequence += 1;
        let (Some(&first), Some((_, plan))) = (numbers.nodes.get(&id), tasks.run(task, tables)) else { continue };
        let base = trace.tasks.len();
        // Points that do nothing have numbers as well, which are left out.
        let mut places = Vec::with_capacity(plan.nodes.len());
        for (node, number_of_node) in plan.nodes.iter().zip(first..) {
            places.push(trace.tasks.len());
            if node.site.is_none() {
                continue;
            }
            trace.tasks.push(TaskRecord {
                parent: Some(number),
                sequence: (trace.tasks.len() - base) as u64,
                priority: node.priority,
                internal: node.internal,
                context: node.context.map_or_else(
                    || context.clone(),
                    |own| names.entry(own).or_insert_with(|| context_name(own).into()).clone(),
                ),
                accesses: plan.accesses(node).iter().map(|access| access_record(tables, access)).collect(),
                ..at_site(number_of_node, node.site)
            });
        }
        for &(node, other) in &plan.after {
            trace.tasks[places[node as usize]].after.push(first + u64::from(other));
        }
        for &(node, other) in &plan.ends_with {
            trace.tasks[places[node as usize]].ends_with.push(first + u64::from(other));
        }
    }
}

/// When each node of a run became ready, as far as that is known: when the last one that it waits for had ended.
/// Those that are tasks of their own have events of their own that say so.
fn ready_times(plan: &PlanRecord, run: &Run, ends_of_tasks: &FxHashMap<u64, u64>, began: u64) -> Vec<Option<u64>> {
    let mut ends: Vec<Option<u64>> = vec![None; plan.nodes.len()];
    for &(node, end) in &run.ends {
        ends[node as usize] = Some(end);
    }
    for (task, node, _) in &run.tasks {
        ends[*node as usize] = ends_of_tasks.get(task).copied();
    }
    let mut ready = vec![Some(began); plan.nodes.len()];
    // Nodes come after those they wait for.
    for (number, node) in plan.nodes.iter().enumerate() {
        let end = if node.site.is_some() { ends[number] } else { ready[number] };
        for &later in plan.later(node) {
            let known = &mut ready[later as usize];
            *known = known.zip(end).map(|(known, end)| known.max(end));
        }
        if node.site.is_none() {
            ready[number] = None;
        }
    }
    for (_, node, _) in &run.tasks {
        ready[*node as usize] = None;
    }
    ready
}

/// Where the events of a trace come together.
struct Events<'a> {
    trace: &'a mut Trace,
    /// What is neither a submission nor about tasks that became ready.
    others: &'a mut Vec<Event>,
    /// When the recording began.
    began: u64,
    numbers: &'a Numbers,
}

impl Events<'_> {
    /// Says that something was lost, after what is known.
    fn dropped(&mut self, worker: u32, lost: u64) {
        if lost > 0 {
            let last = self.others.last().or(self.trace.events.last()).map_or(0, |event| event.time);
            let value = u32::try_from(lost).unwrap_or(u32::MAX);
            self.others.push(Event::of_worker(last, EventKind::Dropped, worker, value));
        }
    }

    fn take(&mut self, worker: u32, record: Record) {
        match record {
            Record::Task { time, task, kind } => self.of_task(worker, time, kind, task, 0),
            Record::Worker { time, value, kind } => self.of_worker(worker, time, kind, value),
            Record::Turn { time, later } => {
                for (phase, time) in Times::read(time, later).phases() {
                    self.of_worker(worker, time, EventKind::Phase, phase as u32);
                }
            }
            Record::Team { time, task, size } => self.of_task(worker, time, EventKind::TeamFormed, task, size),
            Record::Node { start, end, run, node, outcome } => self.node(worker, [start, end], run, node, outcome),
            Record::Submit { .. } | Record::Site(_) | Record::Details { .. } | Record::Access(_) => {}
            Record::After { .. } | Record::EndsWith { .. } | Record::Run { .. } | Record::NodeTask { .. } => {}
        }
    }

    /// Events of tasks from before the recording are left out, as nothing describes them.
    fn of_task(&mut self, worker: u32, time: u64, kind: EventKind, task: u64, value: u32) {
        let Some(&(number, submitted)) = self.numbers.tasks.get(&task) else { return };
        // What made a task ready may have happened before it was submitted.
        let (time, events) = match kind {
            EventKind::Ready => (time.max(submitted), &mut self.trace.events),
            _ => (time, &mut *self.others),
        };
        events.push(Event { value, ..Event::of_task(time.saturating_sub(self.began), kind, number, worker) });
    }

    fn of_worker(&mut self, worker: u32, time: u64, kind: EventKind, value: u32) {
        // All queues are counted together.
        let worker = if kind == EventKind::QueueLength { NO_WORKER } else { worker };
        self.others.push(Event::of_worker(time.saturating_sub(self.began), kind, worker, value));
    }

    fn node(&mut self, worker: u32, times: [u64; 2], run: u64, node: u32, outcome: EventKind) {
        let Some(first) = self.numbers.nodes.get(&run) else {
            // The run is described, and its nodes are too many.
            self.trace.dropped += u64::from(self.numbers.tasks.contains_key(&run));
            return;
        };
        let number = first + u64::from(node);
        let [start, end] = times.map(|time| time.saturating_sub(self.began));
        if outcome != EventKind::Cancelled {
            self.others.push(Event::of_task(start, EventKind::Start, number, worker));
        }
        self.others.push(Event::of_task(end, outcome, number, worker));
    }
}

/// A task with a number, called as its place in the program says.
fn at_site(number: u64, site: Option<Site>) -> TaskRecord {
    let Some(Site { name, location }) = site else { return TaskRecord::new(number, "") };
    let (file, line) = (location.file().into(), location.line());
    TaskRecord { file, line, ..TaskRecord::new(number, name.as_str().to_owned()) }
}

fn access_record(tables: &Tables, access: &AccessEntry) -> AccessRecord {
    let piece = &tables.pieces[access.piece as usize];
    let mode = match access.mode {
        Mode::Read | Mode::LendRead => AccessMode::Read,
        Mode::Write | Mode::LendWrite => AccessMode::Write,
        Mode::Update | Mode::LendUpdate => AccessMode::Update,
        Mode::Reduce => AccessMode::Reduce(access.operator.into()),
        Mode::Commute => AccessMode::Commute,
    };
    let runs = piece.indices.runs().iter().map(|run| (run.start, run.end)).collect();
    AccessRecord { region: piece.region, mode, runs }
}

fn machine() -> MachineRecord {
    MachineRecord {
        processor: std::env::consts::ARCH.into(),
        system: std::env::consts::OS.into(),
        cpus: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
    }
}
