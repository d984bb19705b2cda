//! Recording what happens.
//!
//! Recording is compiled in and off: until it is switched on, a task costs a load of a flag here and there. While it is on,
//! each thread appends flat records to a stream of its own: tasks by their ids, everything else by numbers of tables. When
//! the recording ends, ids are replaced by numbers in submission order, and the streams become a
//! [`Trace`](drawloom_trace::Trace).
//!
//! | file | concept |
//! |---|---|
//! | this one | the switch, and what is recorded while it is on |
//! | [`record`] | the records that threads write, and the clock |
//! | [`writer`] | the stream of one thread |
//! | [`tables`] | what records refer to by number |
//! | [`turns`] | what is recorded of the iterations of a worker's loop |
//! | [`nodes`] | what is recorded of nodes of plans |
//! | [`transfers`] | what is recorded of transfers between memories |
//! | [`collect`] | a trace from what was recorded |
//! | [`output`] | writing a trace when the runtime ends, as an environment variable says |
//!
//! # Which times are read
//!
//! The end of a task is read before another thread can see it, and the start of a task after everything it waits for has
//! been seen. So the times of two tasks that must follow each other never contradict that, on any two workers. A task that
//! becomes ready does so at the time of the event that made it ready, which was read just before.

pub(crate) mod collect;
pub(crate) mod nodes;
pub(crate) mod output;
mod record;
pub(crate) mod tables;
#[cfg(test)]
mod tests;
pub(crate) mod transfers;
pub(crate) mod turns;
mod writer;

use drawloom_trace::{EventKind, IdleReason, NO_WORKER, Phase, WorkerRecord};

use crate::access::Arg;
use crate::access::reduction::Folds;
use crate::policy::WorkerId;
use crate::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex, Padded, lock};
use crate::task::record::TaskId;
use record::{Record, now};
use tables::{Site, Tables};
use writer::Stream;

/// The recording of one runtime.
pub(crate) struct Tracer {
    /// The number of the current recording, or zero. On a cache line of its own, as it is read all the time.
    on: Padded<AtomicU32>,
    /// How many submissions were recorded.
    submissions: Padded<AtomicU32>,
    /// How many more records the recording may have.
    room: AtomicUsize,
    /// How many events of threads without writers were lost.
    lost: AtomicU64,
    /// How many transfers were started.
    transferred: AtomicU32,
    /// Those of processors, by number, and after them those of devices.
    workers: Vec<WorkerRecord>,
    state: Mutex<Recording>,
}

/// What all threads that record share.
#[derive(Default)]
struct Recording {
    number: u32,
    /// When the recording began.
    began: Option<u64>,
    streams: Vec<Arc<Stream>>,
    tables: Tables,
}

/// A task as it was submitted.
pub(crate) struct Described<'a> {
    pub(crate) id: TaskId,
    pub(crate) parent: TaskId,
    pub(crate) site: Site,
    pub(crate) context: u32,
    pub(crate) priority: i32,
    pub(crate) internal: bool,
    pub(crate) ends_with: &'a [TaskId],
    /// The operators of the arguments that are reduced into.
    pub(crate) folds: &'a [(Arc<dyn Folds>, bool)],
}

impl Tracer {
    pub(crate) fn new(workers: Vec<WorkerRecord>) -> Self {
        Self {
            on: Padded::new(AtomicU32::new(0)),
            submissions: Padded::new(AtomicU32::new(0)),
            room: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            transferred: AtomicU32::new(0),
            workers,
            state: Mutex::default(),
        }
    }

    /// Whether events are recorded.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.recording().is_some()
    }

    /// The number of the current recording.
    #[inline]
    fn recording(&self) -> Option<u32> {
        // Relaxed: a task that is submitted or runs while the switch is turned may be recorded or not.
        match self.on.load(Ordering::Relaxed) {
            0 => None,
            number => Some(number),
        }
    }

    /// Begins a recording, and discards what an earlier one left.
    pub(crate) fn begin(&self) {
        // Recordings of all runtimes have different numbers, so that writers of one are not taken for those of another.
        static NUMBERS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);
        let number = NUMBERS.fetch_add(1, std::sync::atomic::Ordering::Relaxed).max(1);
        let mut state = lock(&self.state);
        self.on.store(0, Ordering::SeqCst);
        self.submissions.store(0, Ordering::Relaxed);
        self.room.store(writer::MOST, Ordering::Relaxed);
        self.lost.store(0, Ordering::Relaxed);
        self.transferred.store(0, Ordering::Relaxed);
        *state = Recording { number, began: Some(now()), ..Recording::default() };
        self.on.store(number, Ordering::SeqCst);
    }

    /// Adds the stream of a thread to a recording, unless it is over.
    fn add_stream(&self, recording: u32, stream: &Arc<Stream>) -> bool {
        let mut state = lock(&self.state);
        let goes_on = state.number == recording;
        if goes_on {
            state.streams.push(Arc::clone(stream));
        }
        goes_on
    }

    /// Does something with the tables of a recording, unless it is over.
    fn in_tables<T>(&self, recording: u32, f: impl FnOnce(&mut Tables) -> T) -> Option<T> {
        let mut state = lock(&self.state);
        (state.number == recording).then(|| f(&mut state.tables))
    }

    /// Something happened to a task.
    #[inline]
    pub(crate) fn of_task(&self, kind: EventKind, task: TaskId, worker: Option<WorkerId>) {
        if let Some(recording) = self.recording() {
            let task = task.bits();
            self.write(recording, Some(number(worker)), |time| Record::Task { time, task, kind });
        }
    }

    /// Records what happens now, with this thread's writer for a worker, or, without one, with the one that it used last.
    #[cold]
    fn write(&self, recording: u32, worker: Option<u32>, record: impl FnOnce(u64) -> Record) {
        writer::with(self, recording, worker, |writer| {
            let time = writer.now();
            writer.push(self, record(time));
        });
    }

    /// A task became ready by what this thread recorded last.
    #[inline]
    pub(crate) fn ready(&self, task: TaskId) {
        if let Some(recording) = self.recording() {
            self.record_ready(recording, task);
        }
    }

    #[cold]
    fn record_ready(&self, recording: u32, task: TaskId) {
        writer::with(self, recording, None, |writer| writer.ready(self, task.bits()));
    }

    /// A task starts. True when it is time to look at the queues.
    #[cold]
    pub(crate) fn start(&self, task: TaskId, worker: Option<WorkerId>) -> bool {
        let Some(recording) = self.recording() else { return false };
        writer::with(self, recording, Some(number(worker)), |writer| writer.start(self, task.bits())).unwrap_or(false)
    }

    /// A worker, or a thread that is none, has nothing to do from now on, for a reason.
    pub(crate) fn idle(&self, worker: Option<WorkerId>, reason: IdleReason) {
        self.of_worker(EventKind::Idle, worker, reason as u32);
    }

    /// A worker has something to do again.
    pub(crate) fn busy(&self, worker: Option<WorkerId>) {
        self.of_worker(EventKind::Busy, worker, 0);
    }

    /// A worker enters a phase as a member of a team, in the middle of an iteration.
    pub(crate) fn phase(&self, worker: WorkerId, phase: Phase) {
        self.of_worker(EventKind::Phase, Some(worker), phase as u32);
    }

    /// A team has come together for a task.
    pub(crate) fn team_formed(&self, task: TaskId, size: u32, worker: Option<WorkerId>) {
        if let Some(recording) = self.recording() {
            let task = task.bits();
            self.write(recording, Some(number(worker)), |time| Record::Team { time, task, size });
        }
    }

    /// A context has other workers.
    pub(crate) fn context_changed(&self, context: u32, worker: Option<WorkerId>) {
        self.of_worker(EventKind::ContextChanged, worker, context);
    }

    /// The number of tasks in the queues.
    pub(crate) fn queue_length(&self, worker: Option<WorkerId>, length: usize) {
        self.of_worker(EventKind::QueueLength, worker, u32::try_from(length).unwrap_or(u32::MAX));
    }

    /// Something happened to a worker, or to a thread that is none.
    #[inline]
    fn of_worker(&self, kind: EventKind, worker: Option<WorkerId>, value: u32) {
        if let Some(recording) = self.recording() {
            self.write(recording, Some(number(worker)), |time| Record::Worker { time, value, kind });
        }
    }

    /// A task was submitted. Tasks that touch common data are described in the order in which they must run.
    pub(crate) fn submitted(&self, task: &Described<'_>, args: &[Arg], by: Option<WorkerId>) {
        if let Some(recording) = self.recording() {
            writer::with(self, recording, Some(number(by)), |writer| writer.submit(self, task, args));
        }
    }

    /// A task that this thread has just submitted starts after others.
    pub(crate) fn comes_after(&self, task: TaskId, after: &[TaskId]) {
        if let Some(recording) = self.recording() {
            writer::with(self, recording, None, |writer| writer.comes_after(self, task, after));
        }
    }
}

fn number(worker: Option<WorkerId>) -> u32 {
    worker.map_or(NO_WORKER, |worker| worker.number())
}
