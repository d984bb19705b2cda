//! Recording what happens.
//!
//! Recording is compiled in and off: until it is switched on, a task costs a load of a flag here and there. While it is on,
//! each thread writes what it does into memory of its own, in a few words: tasks by their ids, everything else by numbers of
//! tables. When the recording ends, ids are replaced by numbers in submission order, and everything is put together as a
//! [`Trace`](drawloom_trace::Trace).
//!
//! | file | concept |
//! |---|---|
//! | this one | the switch, and what is recorded while it is on |
//! | [`clock`] | times that cost little to read |
//! | [`chunk`] | where a recording is kept |
//! | [`entry`] | what is written there |
//! | [`said`] | what is left out there, as it was said before |
//! | [`tables`] | what entries refer to by number |
//! | [`writer`] | one thread's hand in a recording |
//! | [`turns`] | what is recorded of the turns of workers |
//! | [`nodes`] | what is recorded of nodes of plans |
//! | [`transfers`] | what is recorded of transfers between memories |
//! | [`collect`] | a trace from what was recorded |
//! | [`output`] | writing a trace when the runtime ends, as an environment variable asks |
//!
//! # Which times are read
//!
//! The end of a task is read before anyone else can see it, and the start of a task after everything it waits for has been
//! seen. So the times of two tasks that must follow each other never contradict that, on any two workers. A task that
//! becomes ready does so at the time of whatever made it ready, which was read just before.
//!
//! Only a start needs a fence for that: without one, the counter might be read before something is seen that the task waits
//! for. An end is read early at worst, by what the processor still has in flight, as no store is seen by others before the
//! instructions in front of it are done. That is some ten nanoseconds, and a fence would cost more.

mod chunk;
mod clock;
pub(crate) mod collect;
mod entry;
pub(crate) mod nodes;
pub(crate) mod output;
mod said;
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
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::{Arc, Mutex, Padded, lock};
use crate::task::record::TaskId;
use chunk::Chunk;
use clock::{Clock, Moment};
use tables::{Site, Tables};
use turns::Began;

/// The recording of one runtime.
pub(crate) struct Tracer {
    /// The number of the recording that goes on, or zero. Apart from everything that is written often, as it is read all
    /// the time.
    on: Padded<AtomicU32>,
    /// Whose turn it is to submit; see [`Tracer::place`]. Apart as well.
    turn: Padded<AtomicU64>,
    /// What threads without writers wanted to record.
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
    began: Option<Moment>,
    /// In the order in which they were handed out.
    chunks: Vec<Arc<Chunk>>,
    streams: u32,
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
            on: Padded(AtomicU32::new(0)),
            turn: Padded(AtomicU64::new(0)),
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

    /// The number of the recording that goes on.
    #[inline]
    fn recording(&self) -> Option<u32> {
        // Relaxed: a task that is submitted or runs while the switch is turned may be recorded or not.
        match self.on.load(Ordering::Relaxed) {
            0 => None,
            number => Some(number),
        }
    }

    /// Begins a recording. What an earlier one left is forgotten.
    pub(crate) fn begin(&self) {
        // Recordings of all runtimes have different numbers, so that writers of one are not taken for those of another.
        static NUMBERS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);
        let number = NUMBERS.fetch_add(1, std::sync::atomic::Ordering::Relaxed).max(1);
        let mut state = lock(&self.state);
        self.on.store(0, Ordering::SeqCst);
        self.turn.store(0, Ordering::Relaxed);
        self.lost.store(0, Ordering::Relaxed);
        self.transferred.store(0, Ordering::Relaxed);
        *state = Recording { number, began: Some(Clock::get().moment()), ..Recording::default() };
        self.on.store(number, Ordering::SeqCst);
    }

    /// Memory for a thread that has none yet.
    fn first_chunk(&self, recording: u32, worker: u32) -> Option<Arc<Chunk>> {
        let mut state = lock(&self.state);
        let stream = state.streams;
        let chunk = state.hand_out(recording, || Chunk::new(stream, worker));
        match &chunk {
            Some(_) => state.streams += 1,
            None => drop(self.lost.fetch_add(1, Ordering::Relaxed)),
        }
        chunk
    }

    /// Further memory for a thread; none when the limit is reached or the recording is over.
    fn next_chunk(&self, recording: u32, full: &Chunk) -> Option<Arc<Chunk>> {
        // Made before the lock is taken: it takes as long as several events.
        let chunk = Chunk::new(full.stream, full.worker);
        lock(&self.state).hand_out(recording, || chunk)
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
            self.record_of_task(recording, kind, worker, task);
        }
    }

    #[cold]
    fn record_of_task(&self, recording: u32, kind: EventKind, worker: Option<WorkerId>, task: TaskId) {
        writer::with(self, recording, Some(number(worker)), |writer| writer.of_task(self, kind, task.bits()));
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

    /// A task starts, perhaps in a turn that is not written yet. True when it is time to look at the queues.
    #[cold]
    pub(crate) fn start(&self, task: TaskId, worker: Option<WorkerId>, turn: Option<Began>) -> bool {
        let Some(recording) = self.recording() else { return false };
        let start = |writer: &mut writer::Writer| writer.start(self, task.bits(), turn);
        writer::with(self, recording, Some(number(worker)), start).unwrap_or(false)
    }

    /// A worker, or a thread that is none, has nothing to do from now on, for a reason.
    pub(crate) fn idle(&self, worker: Option<WorkerId>, reason: IdleReason) {
        self.of_worker(EventKind::Idle, worker, reason as u32);
    }

    /// A worker has something to do again.
    pub(crate) fn busy(&self, worker: Option<WorkerId>) {
        self.of_worker(EventKind::Busy, worker, 0);
    }

    /// A worker enters a phase as a member of a team, in the middle of a turn.
    pub(crate) fn phase(&self, worker: WorkerId, phase: Phase) {
        self.of_worker(EventKind::Phase, Some(worker), phase as u32);
    }

    /// A team has come together for a task.
    pub(crate) fn team_formed(&self, task: TaskId, size: u32, worker: Option<WorkerId>) {
        if let Some(recording) = self.recording() {
            writer::with(self, recording, Some(number(worker)), |writer| writer.team(self, task.bits(), size));
        }
    }

    /// A context has other workers.
    pub(crate) fn context_changed(&self, context: u32, worker: Option<WorkerId>) {
        self.of_worker(EventKind::ContextChanged, worker, context);
    }

    /// So many tasks wait in the queues.
    pub(crate) fn queue_length(&self, worker: Option<WorkerId>, length: usize) {
        self.of_worker(EventKind::QueueLength, worker, u32::try_from(length).unwrap_or(u32::MAX));
    }

    /// Something happened to a worker, or to a thread that is none.
    #[inline]
    fn of_worker(&self, kind: EventKind, worker: Option<WorkerId>, value: u32) {
        if let Some(recording) = self.recording() {
            self.record_of_worker(recording, kind, worker, value);
        }
    }

    #[cold]
    fn record_of_worker(&self, recording: u32, kind: EventKind, worker: Option<WorkerId>, value: u32) {
        writer::with(self, recording, Some(number(worker)), |writer| writer.of_worker(self, kind, u64::from(value)));
    }

    /// A task was submitted. Tasks that touch common data are described in the order in which they must run.
    pub(crate) fn submitted(&self, task: &Described<'_>, args: &[Arg], by: Option<WorkerId>) {
        if let Some(recording) = self.recording() {
            writer::with(self, recording, Some(number(by)), |writer| writer.submit(self, task, args));
        }
    }

    /// The place among all submissions of one that is recorded in a stream. Submissions of one stream that follow each other
    /// have the same place, as their order there says the rest.
    ///
    /// The word holds a stream and, above it, the place of its submissions; another stream takes the next place. So who
    /// submits alone changes nothing here. If one submission happens before another, as those do that touch common data and
    /// so take a common lock, the second finds the word as the first left it or later, and has no lower place.
    #[inline]
    fn place(&self, stream: u32) -> u32 {
        // Relaxed: the order is that of changes of this word alone.
        let mut turn = self.turn.load(Ordering::Relaxed);
        while turn as u32 != stream {
            let next = ((turn >> 32) + 1) << 32 | u64::from(stream);
            match self.turn.compare_exchange_weak(turn, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => turn = next,
                Err(now) => turn = now,
            }
        }
        (turn >> 32) as u32
    }

    /// A task that this thread has just submitted starts after others.
    pub(crate) fn comes_after(&self, task: TaskId, after: &[TaskId]) {
        if let Some(recording) = self.recording() {
            writer::with(self, recording, None, |writer| writer.comes_after(self, task, after));
        }
    }
}

impl Recording {
    fn hand_out(&mut self, recording: u32, chunk: impl FnOnce() -> Chunk) -> Option<Arc<Chunk>> {
        (self.number == recording && self.chunks.len() < chunk::MOST).then(|| {
            let chunk = Arc::new(chunk());
            self.chunks.push(Arc::clone(&chunk));
            chunk
        })
    }
}

fn number(worker: Option<WorkerId>) -> u32 {
    worker.map_or(NO_WORKER, |worker| worker.number())
}
