//! A trace from what was recorded.

use drawloom_trace::{
    AccessMode, AccessRecord, Event, EventKind, MachineRecord, NO_TASK, NO_WORKER, TaskRecord, Text, Trace,
};
use rustc_hash::FxHashMap;

use super::chunk::Chunk;
use super::clock::{Clock, Scale};
use super::entry::{Entry, NodeRun, Stand, Submission, entries};
use super::tables::{AccessEntry, PlanRecord, Tables};
use super::turns::{Times, quick};
use super::{Recording, Tracer};
use crate::access::Mode;
use crate::sync::atomic::Ordering;
use crate::sync::lock;

/// How many tasks a trace describes at most, nodes of plans included; the events of further ones are counted as lost.
const TASKS: u64 = 1 << 22;

/// A task that was submitted, with everything that was said about it.
struct Task {
    submission: Submission,
    worker: u32,
    accesses: Vec<AccessEntry>,
    after: Vec<u64>,
    ends_with: Vec<u64>,
    /// The nodes that were run, when it stands for a run of a plan.
    nodes: Option<Nodes>,
    /// Those of its nodes that are tasks of their own, and when they were submitted.
    stands: Vec<(Stand, u64)>,
}

/// Nodes of a run of a plan: a few bytes each, as there may be very many.
struct Nodes {
    plan: u32,
    /// Which ones were run, and when they ended.
    ends: Vec<(u32, u64)>,
}

impl Task {
    /// The number of the plan that it is a run of, if anything of it was recorded.
    fn plan(&self) -> Option<usize> {
        let of_stands = || self.stands.first().map(|(stand, _)| stand.plan);
        self.nodes.as_ref().map(|nodes| nodes.plan).or_else(of_stands).map(|plan| plan as usize)
    }
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
        let scale = Scale::new(began, Clock::get().moment());
        trace.regions.clone_from(&state.tables.regions);
        trace.dropped = self.lost.load(Ordering::Relaxed);
        let (tasks, starts) = state.tasks();
        let ends = state.ends(&tasks);
        let numbers = Numbers::new(&tasks, &state.tables);
        describe(&mut trace, &tasks, &state.tables, &numbers, context_name);
        // Of events at the same time, submissions come first and then what became ready, so that every task has its events
        // in their order, whoever recorded them.
        trace.events.extend(tasks.iter().map(|task| {
            let Submission { time, task: id, .. } = task.submission;
            Event::of_task(scale.since_began(time), EventKind::Submit, numbers.tasks[&id].0, task.worker)
        }));
        let mut others = Vec::new();
        let mut events = Events { trace: &mut trace, others: &mut others, scale: &scale, numbers: &numbers };
        for stream in state.streams() {
            events.take_stream(&stream);
        }
        // What threads lost that had no room at all.
        events.dropped(NO_WORKER, self.lost.load(Ordering::Relaxed));
        for task in &tasks {
            let (Some(first), Some(start)) = (numbers.node(task), starts.get(&task.submission.task)) else { continue };
            let Some(plan) = task.plan().map(|plan| &state.tables.plans[plan]) else { continue };
            trace.events.extend(ready_times(plan, task, &ends, *start).into_iter().zip(first..).filter_map(
                |(time, number)| Some(Event::of_task(scale.since_began(time?), EventKind::Ready, number, NO_WORKER)),
            ));
        }
        trace.events.append(&mut others);
        trace.sort();
        trace
    }
}

impl Recording {
    /// The chunks of each stream, in the order in which they were filled.
    fn streams(&self) -> Vec<Vec<&Chunk>> {
        let mut streams: Vec<Vec<&Chunk>> = vec![Vec::new(); self.streams as usize];
        for chunk in &self.chunks {
            streams[chunk.stream as usize].push(chunk);
        }
        streams
    }

    /// All tasks in submission order, and when those of them started that did.
    fn tasks(&self) -> (Vec<Task>, FxHashMap<u64, u64>) {
        let mut tasks: Vec<Task> = Vec::new();
        let mut nodes: FxHashMap<u64, Nodes> = FxHashMap::default();
        let mut stands: FxHashMap<u64, Vec<(Stand, u64)>> = FxHashMap::default();
        let mut starts = FxHashMap::default();
        for stream in self.streams() {
            // What follows a submission belongs to it.
            let first = tasks.len();
            for entry in stream.iter().flat_map(|chunk| entries(chunk.read())) {
                match entry {
                    Entry::Submission(submission) => tasks.push(Task {
                        submission,
                        worker: stream[0].worker,
                        accesses: Vec::new(),
                        after: Vec::new(),
                        ends_with: Vec::new(),
                        nodes: None,
                        stands: Vec::new(),
                    }),
                    Entry::Access { piece, mode, operator } => {
                        if let Some(last) = tasks[first..].last_mut() {
                            last.accesses.push(AccessEntry { piece, mode, operator });
                        }
                    }
                    Entry::After { task, other } | Entry::EndsWith { task, other } => {
                        // It is another one when the recording began between the two.
                        if let Some(last) = tasks[first..].last_mut().filter(|last| last.submission.task == task) {
                            let after = matches!(entry, Entry::After { .. });
                            (if after { &mut last.after } else { &mut last.ends_with }).push(other);
                        }
                    }
                    Entry::Node(NodeRun { run, plan, node, end, .. }) => {
                        nodes.entry(run).or_insert_with(|| Nodes { plan, ends: Vec::new() }).ends.push((node, end));
                    }
                    Entry::Stand { time, stand } => stands.entry(stand.run).or_default().push((stand, time)),
                    Entry::Event { time, kind: EventKind::Start, value: task } | Entry::Quick { time, task, .. } => {
                        starts.entry(task).or_insert(time);
                    }
                    Entry::Turn { .. } | Entry::Team { .. } | Entry::Event { .. } => {}
                }
            }
        }
        for task in &mut tasks {
            task.nodes = nodes.remove(&task.submission.task);
            task.stands = stands.remove(&task.submission.task).unwrap_or_default();
        }
        // Those with the same place are of one stream, and stay in the order in which they were written.
        tasks.sort_by_key(|task| task.submission.place);
        (tasks, starts)
    }

    /// When the nodes ended that are tasks of their own.
    fn ends(&self, tasks: &[Task]) -> FxHashMap<u64, u64> {
        let stands = tasks.iter().flat_map(|task| &task.stands).map(|(stand, _)| (stand.task, None));
        let mut ends: FxHashMap<u64, Option<u64>> = stands.collect();
        if !ends.is_empty() {
            for entry in self.chunks.iter().flat_map(|chunk| entries(chunk.read())) {
                if let Entry::Event { time, kind: EventKind::End | EventKind::Failed | EventKind::Cancelled, value } =
                    entry
                    && let Some(end) = ends.get_mut(&value)
                {
                    *end = Some(time);
                }
            }
        }
        ends.into_iter().filter_map(|(task, end)| Some((task, end?))).collect()
    }
}

impl Numbers {
    fn new(tasks: &[Task], tables: &Tables) -> Self {
        let mut numbers = Self { tasks: FxHashMap::default(), nodes: FxHashMap::default() };
        let mut next = 0;
        // Each of these took some words, of which there is a limit; runs of plans may have many more nodes than that.
        let mut left = TASKS.saturating_sub(tasks.len() as u64);
        for task in tasks {
            numbers.tasks.insert(task.submission.task, (next, task.submission.time));
            next += 1;
            let Some(plan) = task.plan() else { continue };
            let count = tables.plans[plan].nodes.len() as u64;
            if count <= left {
                numbers.nodes.insert(task.submission.task, next);
                let number = |stand: &Stand| next + u64::from(stand.node);
                numbers.tasks.extend(task.stands.iter().map(|(stand, time)| (stand.task, (number(stand), *time))));
                (next, left) = (next + count, left - count);
            }
        }
        numbers
    }

    fn task(&self, id: u64) -> Option<u64> {
        self.tasks.get(&id).map(|(number, _)| *number)
    }

    /// The number of the first node of a run of a plan, when they are described.
    fn node(&self, task: &Task) -> Option<u64> {
        self.nodes.get(&task.submission.task).copied()
    }
}

/// Adds the records of all tasks to a trace.
fn describe(
    trace: &mut Trace,
    tasks: &[Task],
    tables: &Tables,
    numbers: &Numbers,
    context_name: impl Fn(u32) -> String,
) {
    let mut names: FxHashMap<u32, Text> = FxHashMap::default();
    let mut sequences: FxHashMap<Option<u64>, u64> = FxHashMap::default();
    for task in tasks {
        let Submission { task: id, parent, context, site, priority, internal, .. } = task.submission;
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
            ..at_site(tables, number, site)
        });
        *sequence += 1;
        let (Some(first), Some(plan)) = (numbers.node(task), task.plan()) else { continue };
        let plan = &tables.plans[plan];
        let base = trace.tasks.len();
        // Points that do nothing have numbers as well, which are left out.
        let mut places = Vec::with_capacity(plan.nodes.len());
        for (node, number_of_node) in plan.nodes.iter().zip(first..) {
            places.push(trace.tasks.len());
            let Some(site) = node.site else { continue };
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
                ..at_site(tables, number_of_node, site)
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
/// Those that are tasks of their own are said to be ready by themselves.
fn ready_times(plan: &PlanRecord, run: &Task, tasks: &FxHashMap<u64, u64>, began: u64) -> Vec<Option<u64>> {
    let mut ends: Vec<Option<u64>> = vec![None; plan.nodes.len()];
    for &(node, end) in run.nodes.iter().flat_map(|nodes| &nodes.ends) {
        ends[node as usize] = Some(end);
    }
    for (stand, _) in &run.stands {
        ends[stand.node as usize] = tasks.get(&stand.task).copied();
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
    for (stand, _) in &run.stands {
        ready[stand.node as usize] = None;
    }
    ready
}

/// Where the events of a trace come together.
struct Events<'a> {
    trace: &'a mut Trace,
    /// What is neither a submission nor about tasks that became ready.
    others: &'a mut Vec<Event>,
    scale: &'a Scale,
    numbers: &'a Numbers,
}

impl Events<'_> {
    fn take_stream(&mut self, stream: &[&Chunk]) {
        let Some(worker) = stream.first().map(|chunk| chunk.worker) else { return };
        for entry in stream.iter().flat_map(|chunk| entries(chunk.read())) {
            self.take(worker, entry);
        }
        let lost: u64 = stream.iter().map(|chunk| chunk.lost()).sum();
        self.dropped(worker, lost);
        self.trace.dropped += lost;
    }

    /// Says that something was lost, after what is known.
    fn dropped(&mut self, worker: u32, lost: u64) {
        if lost > 0 {
            let last = self.others.last().or(self.trace.events.last()).map_or(0, |event| event.time);
            let value = u32::try_from(lost).unwrap_or(u32::MAX);
            self.others.push(Event::of_worker(last, EventKind::Dropped, worker, value));
        }
    }

    fn take(&mut self, worker: u32, entry: Entry) {
        match entry {
            Entry::Event { time, kind, value } => self.event(worker, time, kind, value),
            Entry::Turn { time, later } => {
                for (phase, time) in Times::unpack(time, later).phases() {
                    self.event(worker, time, EventKind::Phase, phase as u64);
                }
            }
            Entry::Quick { time, began, task } => {
                for (phase, time) in quick(began, time) {
                    self.event(worker, time, EventKind::Phase, phase as u64);
                }
                self.event(worker, time, EventKind::Start, task);
            }
            Entry::Team { time, task, size } => {
                let time = self.scale.since_began(time);
                self.others.extend(self.numbers.task(task).map(|number| Event {
                    value: size,
                    ..Event::of_task(time, EventKind::TeamFormed, number, worker)
                }));
            }
            Entry::Node(node) => self.node(worker, node),
            Entry::Submission(_) | Entry::Access { .. } | Entry::After { .. } => {}
            Entry::EndsWith { .. } | Entry::Stand { .. } => {}
        }
    }

    fn event(&mut self, worker: u32, time: u64, kind: EventKind, value: u64) {
        let of_task = |time, number| Event::of_task(self.scale.since_began(time), kind, number, worker);
        match kind {
            EventKind::Ready => {
                // What made a task ready may have happened before it was submitted.
                if let Some(&(number, submitted)) = self.numbers.tasks.get(&value) {
                    self.trace.events.push(of_task(time.max(submitted), number));
                }
            }
            EventKind::Start | EventKind::End | EventKind::Failed | EventKind::Cancelled => {
                // Events of tasks from before the recording say nothing that could be understood.
                self.others.extend(self.numbers.task(value).map(|number| of_task(time, number)));
            }
            _ => {
                // All queues are counted together.
                let worker = if kind == EventKind::QueueLength { NO_WORKER } else { worker };
                let time = self.scale.since_began(time);
                self.others.push(Event { time, task: NO_TASK, value: value as u32, worker, kind });
            }
        }
    }

    fn node(&mut self, worker: u32, node: NodeRun) {
        let Some(first) = self.numbers.nodes.get(&node.run) else {
            // The run is known, but one too many.
            self.trace.dropped += u64::from(self.numbers.tasks.contains_key(&node.run));
            return;
        };
        let number = first + u64::from(node.node);
        let [start, end] = [node.start, node.end].map(|time| self.scale.since_began(time));
        if node.outcome != EventKind::Cancelled {
            self.others.push(Event::of_task(start, EventKind::Start, number, worker));
        }
        self.others.push(Event::of_task(end, node.outcome, number, worker));
    }
}

/// A task with a number, called as its place in the program says.
fn at_site(tables: &Tables, number: u64, site: u32) -> TaskRecord {
    let site = &tables.sites[site as usize];
    TaskRecord {
        file: site.location.file().into(),
        line: site.location.line(),
        ..TaskRecord::new(number, site.name.as_str().to_owned())
    }
}

fn access_record(tables: &Tables, access: &AccessEntry) -> AccessRecord {
    let piece = &tables.pieces[access.piece as usize];
    let mode = match access.mode {
        Mode::Read | Mode::LendRead => AccessMode::Read,
        Mode::Write | Mode::LendWrite => AccessMode::Write,
        Mode::Update | Mode::LendUpdate => AccessMode::Update,
        Mode::Reduce => AccessMode::Reduce(tables.operator_name(access.operator).into()),
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
