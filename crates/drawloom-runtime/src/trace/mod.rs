//! Recording what happens.
//!
//! Recording is compiled in and off: until it is switched on, a task costs a load of a flag here and there. Each worker
//! writes events into a ring of its own, and all other threads share one. Events name tasks by their ids; when the
//! recording ends, ids are replaced by numbers in submission order, and everything is put together as a
//! [`Trace`](drawloom_trace::Trace).
//!
//! | file | concept |
//! |---|---|
//! | this one | the switch, and what is recorded while it is on |
//! | [`ring`] | where events are kept |
//! | [`collect`] | a trace from what was recorded |
//! | [`output`] | writing a trace when the runtime ends, as an environment variable asks |

pub(crate) mod collect;
pub(crate) mod output;
mod ring;
#[cfg(test)]
mod tests;

use std::panic::Location;
use std::time::Instant;

use drawloom_graph::IndexSet;
use drawloom_trace::{Event, EventKind, IdleReason, NO_TASK, NO_WORKER, Phase, RegionRecord};
use rustc_hash::FxHashMap;

use crate::access::{Arg, Mode};
use crate::policy::WorkerId;
use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::sync::{Arc, Mutex, Padded, lock};
use crate::task::name::Name;
use crate::task::record::TaskId;
use ring::Ring;

/// How many tasks a recording describes at most; the events of further ones are counted as lost.
const TASKS: usize = 1 << 22;
/// How many starts of tasks go by between two looks at the queues.
const LOOKS: u32 = 16;

/// The recording of one runtime.
pub(crate) struct Tracer {
    /// Apart from everything that is written often, as it is read all the time.
    on: Padded<AtomicBool>,
    /// Times are counted from here.
    epoch: Instant,
    /// By worker; the last one is for all other threads.
    rings: Vec<Padded<Mutex<Ring>>>,
    starts: AtomicU32,
    state: Mutex<Submitted>,
}

/// What was submitted while recording.
#[derive(Default)]
struct Submitted {
    /// When the recording began.
    began: u64,
    tasks: Vec<Described>,
    regions: Vec<RegionRecord>,
    numbers: FxHashMap<u64, u32>,
    lost: u64,
}

/// A task as it was submitted.
pub(crate) struct Described {
    pub(crate) id: TaskId,
    pub(crate) parent: TaskId,
    pub(crate) name: Name,
    pub(crate) location: &'static Location<'static>,
    pub(crate) context: u32,
    pub(crate) priority: i32,
    pub(crate) internal: bool,
    pub(crate) after: Vec<TaskId>,
    pub(crate) ends_with: Vec<TaskId>,
    accesses: Vec<Touched>,
}

struct Touched {
    region: u32,
    indices: Arc<IndexSet>,
    mode: Mode,
    operator: &'static str,
}

impl Described {
    pub(crate) fn new(id: TaskId, parent: TaskId, name: Name, location: &'static Location<'static>) -> Self {
        Self {
            id,
            parent,
            name,
            location,
            context: 0,
            priority: 0,
            internal: false,
            after: Vec::new(),
            ends_with: Vec::new(),
            accesses: Vec::new(),
        }
    }
}

impl Tracer {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            on: Padded(AtomicBool::new(false)),
            epoch: Instant::now(),
            rings: (0..=workers).map(|_| Padded(Mutex::new(Ring::default()))).collect(),
            starts: AtomicU32::new(0),
            state: Mutex::default(),
        }
    }

    /// Whether events are recorded.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        // Relaxed: a task that is submitted or runs while the switch is turned may be recorded or not.
        self.on.load(Ordering::Relaxed)
    }

    /// Begins a recording. What an earlier one left is forgotten.
    pub(crate) fn begin(&self) {
        let mut state = lock(&self.state);
        for ring in &self.rings {
            lock(ring).clear();
        }
        *state = Submitted { began: self.now(), ..Submitted::default() };
        self.on.store(true, Ordering::SeqCst);
    }

    fn now(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    /// Something happened to a task.
    #[inline]
    pub(crate) fn of_task(&self, kind: EventKind, task: TaskId, worker: Option<WorkerId>) {
        if self.is_on() {
            self.record(kind, task.bits(), worker, 0);
        }
    }

    /// A task starts. True when it is time to look at the queues.
    #[inline]
    pub(crate) fn start(&self, task: TaskId, worker: Option<WorkerId>) -> bool {
        if !self.is_on() {
            return false;
        }
        self.record(EventKind::Start, task.bits(), worker, 0);
        // Relaxed: it only decides when to look.
        self.starts.fetch_add(1, Ordering::Relaxed).is_multiple_of(LOOKS)
    }

    /// A worker has nothing to do from now on, for a reason.
    pub(crate) fn idle(&self, worker: WorkerId, reason: IdleReason) {
        self.of_worker(EventKind::Idle, Some(worker), reason as u32);
    }

    /// A worker has something to do again.
    pub(crate) fn busy(&self, worker: WorkerId) {
        self.of_worker(EventKind::Busy, Some(worker), 0);
    }

    /// A worker chose what to do, and goes through the phases of its cycle. On the processors of this process nothing has to
    /// be brought, so all of them but the last are over at once: they are recorded together, at the price of one event.
    #[inline]
    pub(crate) fn turn(&self, worker: WorkerId, executes: bool) {
        if self.is_on() {
            self.record_turn(worker, executes);
        }
    }

    #[cold]
    fn record_turn(&self, worker: WorkerId, executes: bool) {
        let mut ring = lock(&self.rings[worker.index()]);
        let time = self.now();
        for phase in Phase::ALL.into_iter().filter(|phase| executes || *phase != Phase::Execute) {
            ring.push(Event::of_worker(time, EventKind::Phase, worker.0, phase as u32));
        }
    }

    /// Something happened to a worker, or, without one, to all of them.
    #[inline]
    pub(crate) fn of_worker(&self, kind: EventKind, worker: Option<WorkerId>, value: u32) {
        if self.is_on() {
            self.record(kind, NO_TASK, worker, value);
        }
    }

    #[cold]
    fn record(&self, kind: EventKind, task: u64, worker: Option<WorkerId>, value: u32) {
        let number = worker.map_or(NO_WORKER, |w| w.0);
        let ring = worker.map_or(self.rings.len() - 1, WorkerId::index);
        let mut ring = lock(&self.rings[ring]);
        // Under the lock, so that the times of one ring do not go back.
        ring.push(Event { time: self.now(), task, value, worker: number, kind });
    }

    /// A task was submitted. Tasks that touch common data are described in the order in which they must run.
    pub(crate) fn submitted(
        &self,
        mut task: Described,
        args: &[Arg],
        operators: &[&'static str],
        by: Option<WorkerId>,
    ) {
        self.of_task(EventKind::Submit, task.id, by);
        let mut state = lock(&self.state);
        if state.tasks.len() >= TASKS {
            state.lost += 1;
            return;
        }
        let mut operators = operators.iter();
        for arg in args {
            let operator = if arg.mode() == Mode::Reduce { operators.next().copied().unwrap_or("") } else { "" };
            if !arg.is_ordered() || arg.piece().indices.is_empty() {
                continue;
            }
            let tree = arg.piece().tree();
            let next = state.regions.len() as u32;
            let region = *state.numbers.entry(tree.number).or_insert(next);
            if region == next {
                let record = RegionRecord { name: tree.name.clone().into(), len: tree.len, unordered: false };
                state.regions.push(record);
            }
            let indices = Arc::clone(&arg.piece().indices);
            task.accesses.push(Touched { region, indices, mode: arg.mode(), operator });
        }
        state.tasks.push(task);
    }

    /// A task that was just submitted starts after others.
    pub(crate) fn comes_after(&self, task: TaskId, after: &[TaskId]) {
        let mut state = lock(&self.state);
        if let Some(described) = state.tasks.iter_mut().rev().find(|t| t.id == task) {
            described.after.extend_from_slice(after);
        }
    }
}
