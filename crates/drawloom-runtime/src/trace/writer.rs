//! The per-thread end of a recording.
//!
//! Every thread that records has a writer of its own for each recording and worker. A writer appends to a stream, which it
//! shares with the collector only, so an event costs a look at the clock, an uncontended lock and a store of 32 bytes.

use std::cell::Cell;

use drawloom_trace::{EventKind, NO_WORKER};
use smallvec::SmallVec;

use super::record::{Record, now};
use super::tables::AccessEntry;
use super::{Described, Tracer};
use crate::access::{Arg, Mode};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex, lock, thread_local};
use crate::task::record::TaskId;

/// How many records a chunk has: 64 KiB.
const CHUNK: usize = 2048;
/// How many records a recording has at most: 512 MiB. What comes later is counted. Unit tests of this crate have less.
pub(super) const MOST: usize = if cfg!(test) { 64 * CHUNK } else { 8192 * CHUNK };
/// The time between two looks of one worker at the lengths of queues, in nanoseconds.
const LOOKS: u64 = 100_000;

thread_local! {
    /// The writers of this thread; the one used last is the last one.
    static WRITERS: Cell<Vec<Writer>> = const { Cell::new(Vec::new()) };
}

/// What one thread recorded for one worker, in the order in which it happened.
pub(super) struct Stream {
    /// The worker; `NO_WORKER` for a thread that is none.
    pub(super) worker: u32,
    written: Mutex<Written>,
}

#[derive(Default)]
struct Written {
    /// Chunks that change no more.
    full: Vec<Arc<Vec<Record>>>,
    /// The chunk that is being filled.
    current: Vec<Record>,
    /// How many things found no room. After the first one nothing is written any more.
    lost: u64,
}

/// The records of one thread for one worker, in the order in which they were written, and how many things were lost.
pub(super) struct Recorded {
    pub(super) worker: u32,
    pub(super) chunks: Vec<Arc<Vec<Record>>>,
    pub(super) lost: u64,
}

impl Stream {
    /// Appends records of one thing: all of them, or none when there is no room.
    #[inline]
    fn push(&self, room: &AtomicUsize, records: &[Record]) {
        let mut written = lock(&self.written);
        if written.current.len() + records.len() > written.current.capacity() && !written.add_chunk(room, records.len())
        {
            written.lost += 1;
            return;
        }
        written.current.extend_from_slice(records);
    }

    /// What was written so far.
    pub(super) fn read(&self) -> Recorded {
        let written = lock(&self.written);
        let mut chunks = written.full.clone();
        chunks.push(Arc::new(written.current.clone()));
        Recorded { worker: self.worker, chunks, lost: written.lost }
    }
}

impl Written {
    /// Begins a chunk with room for at least so many records, unless the recording has no more room.
    #[cold]
    fn add_chunk(&mut self, room: &AtomicUsize, least: usize) -> bool {
        let size = least.max(CHUNK);
        let take = |left: usize| left.checked_sub(size);
        // Relaxed: a count, which orders nothing.
        if self.lost > 0 || room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
            return false;
        }
        let full = std::mem::replace(&mut self.current, Vec::with_capacity(size));
        if !full.is_empty() {
            self.full.push(Arc::new(full));
        }
        true
    }
}

/// What a thread needs in order to record for one worker.
pub(super) struct Writer {
    recording: u32,
    stream: Arc<Stream>,
    /// The time of the last event.
    last: u64,
    /// When it is time to look at the lengths of queues.
    look: u64,
    /// Whether the last record is that of a turn that goes on with a task.
    begins: bool,
}

/// Does something with this thread's writer for a worker, or, without one, with the writer that it used last. Nothing
/// happens when the recording is over.
#[inline]
pub(super) fn with<T>(
    tracer: &Tracer,
    recording: u32,
    worker: Option<u32>,
    f: impl FnOnce(&mut Writer) -> T,
) -> Option<T> {
    let Ok(mut writers) = WRITERS.try_with(Cell::take) else {
        // The thread is ending, and has no writers any more.
        tracer.lost.fetch_add(1, Ordering::Relaxed);
        return None;
    };
    let found = writers.last().is_some_and(|writer| writer.fits(recording, worker))
        || bring_to_end(&mut writers, tracer, recording, worker);
    let done = if found { writers.last_mut().map(f) } else { None };
    let _ = WRITERS.try_with(|cell| cell.set(writers));
    done
}

/// Makes the writer that fits the last one. False when the recording is over.
#[cold]
fn bring_to_end(writers: &mut Vec<Writer>, tracer: &Tracer, recording: u32, worker: Option<u32>) -> bool {
    if let Some(at) = writers.iter().position(|writer| writer.fits(recording, worker)) {
        let last = writers.len() - 1;
        writers.swap(at, last);
        return true;
    }
    // A stream that is shared with no recording belongs to one that was discarded.
    writers.retain(|writer| Arc::strong_count(&writer.stream) > 1);
    let stream = Arc::new(Stream { worker: worker.unwrap_or(NO_WORKER), written: Mutex::default() });
    let added = tracer.add_stream(recording, &stream);
    if added {
        writers.push(Writer { recording, stream, last: 0, look: 0, begins: false });
    }
    added
}

impl Writer {
    #[inline]
    fn fits(&self, recording: u32, worker: Option<u32>) -> bool {
        self.recording == recording && worker.is_none_or(|worker| self.stream.worker == worker)
    }

    #[inline]
    pub(super) fn now(&mut self) -> u64 {
        self.last = now();
        self.last
    }

    #[inline]
    pub(super) fn push(&mut self, tracer: &Tracer, record: Record) {
        self.begins = false;
        self.stream.push(&tracer.room, &[record]);
    }

    /// A task became ready by what was recorded last, at the same time.
    #[inline]
    pub(super) fn ready(&mut self, tracer: &Tracer, task: u64) {
        let time = if self.last == 0 { self.now() } else { self.last };
        self.push(tracer, Record::Task { time, task, kind: EventKind::Ready });
    }

    /// A worker went through the phases of an iteration, the last of which began at a time, and executes a task now.
    #[inline]
    pub(super) fn turn(&mut self, tracer: &Tracer, turn: Record, last: u64) {
        self.push(tracer, turn);
        (self.last, self.begins) = (last, true);
    }

    /// A task starts: at once, when its worker has just begun to execute it. True when it is time to look at the queues.
    #[inline]
    pub(super) fn start(&mut self, tracer: &Tracer, task: u64) -> bool {
        let time = if self.begins { self.last } else { self.now() };
        self.push(tracer, Record::Task { time, task, kind: EventKind::Start });
        let looks = time >= self.look;
        if looks {
            self.look = time + LOOKS;
        }
        looks
    }

    /// A node of a plan was run, and ended at a time.
    #[inline]
    pub(super) fn node(&mut self, tracer: &Tracer, end: u64, node: Record) {
        self.push(tracer, node);
        self.last = end;
    }

    /// A task was submitted.
    pub(super) fn submit(&mut self, tracer: &Tracer, task: &Described<'_>, args: &[Arg]) {
        let (time, id) = (self.now(), task.id.bits());
        // Relaxed: submissions of tasks that touch common data are ordered by the lock under which they are recorded. The
        // room of a recording ends long before this count does.
        let place = tracer.submissions.fetch_add(1, Ordering::Relaxed);
        let mut records: SmallVec<[Record; 8]> = SmallVec::new();
        records.push(Record::Submit { time, task: id, parent: task.parent.bits(), place });
        let Described { site, context, priority, internal, .. } = *task;
        records.extend([Record::Site(site), Record::Details { context, priority, internal }]);
        let mut folds = task.folds.iter();
        for arg in args {
            let fold = if arg.mode() == Mode::Reduce { folds.next() } else { None };
            let operator = fold.map_or("", |(fold, _)| fold.name());
            let piece = arg.piece();
            if !arg.is_ordered() || piece.indices.is_empty() {
                continue;
            }
            let known = piece.mark.get(self.recording);
            if let Some(piece) = known.or_else(|| tracer.in_tables(self.recording, |t| t.piece(self.recording, piece)))
            {
                records.push(Record::Access(AccessEntry { piece, mode: arg.mode(), operator }));
            }
        }
        records.extend(task.ends_with.iter().map(|other| Record::EndsWith { task: id, other: other.bits() }));
        self.begins = false;
        self.stream.push(&tracer.room, &records);
    }

    pub(super) fn comes_after(&mut self, tracer: &Tracer, task: TaskId, after: &[TaskId]) {
        for other in after {
            self.push(tracer, Record::After { task: task.bits(), other: other.bits() });
        }
    }
}
