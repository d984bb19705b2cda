//! One thread's hand in a recording.
//!
//! Every thread that records has a writer of its own for each recording and worker: the chunk it fills, and what it has met
//! so far. It is found without a lock and shared with nobody, so an event costs a look at the clock and a few stores.

use std::cell::Cell;

use drawloom_trace::{EventKind, NO_WORKER};
use rustc_hash::FxHashMap;

use super::chunk::{Chunk, WORDS};
use super::clock::Clock;
use super::entry::{self, NodeRun, Stand, Submission};
use super::tables::{Site, SiteKey};
use super::turns::Began;
use super::{Described, Tracer};
use crate::access::{Arg, Mode};
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, take_own, thread_local};
use crate::task::record::TaskId;

/// How many ticks go by between two looks of one worker at the queues: about a tenth of a millisecond.
const LOOKS: u64 = 1 << 18;

thread_local! {
    /// The writers of this thread; the one used last is the first.
    static WRITERS: Cell<Vec<Writer>> = const { Cell::new(Vec::new()) };
}

pub(super) struct Writer {
    recording: u32,
    worker: u32,
    clock: Clock,
    chunk: Arc<Chunk>,
    /// How many words of the chunk are written.
    at: usize,
    /// Whether there was no place for the last entry, and so is none for any other.
    full: bool,
    /// The time of the last event.
    last: u64,
    /// When it is time to look at the queues.
    look: u64,
    sites: FxHashMap<SiteKey, u32>,
    last_site: Option<(SiteKey, u32)>,
    operators: FxHashMap<(usize, usize), u16>,
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
    // While they are taken out nothing else is recorded by this thread.
    let Some(mut writers) = take_own(&WRITERS) else {
        // The thread is ending, and has no writers any more.
        tracer.lost.fetch_add(1, Ordering::Relaxed);
        return None;
    };
    let fits = |w: &Writer| w.recording == recording && worker.is_none_or(|worker| w.worker == worker);
    let found = match writers.iter().position(fits) {
        Some(0) => Some(()),
        Some(at) => {
            writers.swap(0, at);
            Some(())
        }
        None => add(tracer, &mut writers, recording, worker.unwrap_or(NO_WORKER)),
    };
    let done = found.map(|()| f(&mut writers[0]));
    WRITERS.set(writers);
    done
}

#[cold]
fn add(tracer: &Tracer, writers: &mut Vec<Writer>, recording: u32, worker: u32) -> Option<()> {
    // A chunk that nobody else has belongs to a recording that was forgotten.
    writers.retain(|writer| Arc::strong_count(&writer.chunk) > 1);
    let chunk = tracer.first_chunk(recording, worker)?;
    let writer = Writer {
        recording,
        worker,
        clock: Clock::get(),
        chunk,
        at: 0,
        full: false,
        last: 0,
        look: 0,
        sites: FxHashMap::default(),
        last_site: None,
        operators: FxHashMap::default(),
    };
    writers.push(writer);
    let last = writers.len() - 1;
    writers.swap(0, last);
    Some(())
}

impl Writer {
    #[inline]
    fn now(&mut self) -> u64 {
        self.last = self.clock.now();
        self.last
    }

    /// Writes an entry, which is seen when the next one is published.
    #[inline]
    fn put<const N: usize>(&mut self, tracer: &Tracer, words: [u64; N]) {
        if self.at + N > WORDS && !self.turn_page(tracer) {
            self.chunk.lose();
            return;
        }
        self.chunk.put(self.at, words);
        self.at += N;
    }

    #[inline]
    pub(super) fn push<const N: usize>(&mut self, tracer: &Tracer, words: [u64; N]) {
        self.put(tracer, words);
        self.chunk.publish(self.at);
    }

    #[cold]
    fn turn_page(&mut self, tracer: &Tracer) -> bool {
        if self.full {
            return false;
        }
        self.chunk.publish(self.at);
        match tracer.next_chunk(self.recording, &self.chunk) {
            Some(next) => (self.chunk, self.at) = (next, 0),
            None => self.full = true,
        }
        !self.full
    }

    #[inline]
    pub(super) fn event(&mut self, tracer: &Tracer, kind: EventKind, value: u64) {
        let time = self.now();
        self.push(tracer, entry::event(time, kind, value));
    }

    /// Something that follows from what was recorded last, at the same time.
    #[inline]
    pub(super) fn consequence(&mut self, tracer: &Tracer, kind: EventKind, value: u64) {
        let time = if self.last == 0 { self.now() } else { self.last };
        self.push(tracer, entry::event(time, kind, value));
    }

    /// A task starts, perhaps in a turn that is not written yet. True when it is time to look at the queues.
    #[inline]
    pub(super) fn start(&mut self, tracer: &Tracer, task: u64, turn: Option<Began>) -> bool {
        let time = self.now();
        match turn {
            None => self.push(tracer, entry::event(time, EventKind::Start, task)),
            Some(began) => self.push(tracer, entry::quick(time, began.before(time), task)),
        }
        let looks = time >= self.look;
        if looks {
            self.look = time + LOOKS;
        }
        looks
    }

    pub(super) fn team(&mut self, tracer: &Tracer, task: u64, size: u32) {
        let time = self.now();
        self.push(tracer, entry::team(time, task, size));
    }

    #[inline]
    pub(super) fn node(&mut self, tracer: &Tracer, node: NodeRun) {
        self.last = node.end;
        self.push(tracer, entry::node(node));
    }

    /// A task was submitted that stands for a node of a plan.
    pub(super) fn stands_for(&mut self, tracer: &Tracer, stand: Stand) {
        let time = self.now();
        self.push(tracer, entry::stand(time, stand));
    }

    /// A task was submitted.
    pub(super) fn submit(&mut self, tracer: &Tracer, task: &Described<'_>, args: &[Arg]) {
        if self.full {
            self.chunk.lose();
            return;
        }
        let Some(site) = self.site(tracer, task.site) else { return };
        // Nothing that happens elsewhere comes before a submission, so it may be a little early.
        let time = self.clock.now_nearly().max(self.last);
        self.last = time;
        // Relaxed: tasks that touch common data are submitted under a common lock, which orders this too.
        let sequence = tracer.submissions.fetch_add(1, Ordering::Relaxed);
        let submission = Submission {
            time,
            task: task.id.bits(),
            parent: task.parent.bits(),
            sequence,
            context: task.context,
            site,
            priority: task.priority,
            internal: task.internal,
        };
        self.put(tracer, entry::submission(submission));
        let mut folds = task.folds.iter();
        for arg in args {
            let operator = match arg.mode() {
                Mode::Reduce => folds.next().map_or(0, |(folds, _)| self.operator(tracer, folds.name())),
                _ => 0,
            };
            let piece = arg.piece();
            if !arg.is_ordered() || piece.indices.is_empty() {
                continue;
            }
            let known = piece.mark.get(self.recording);
            let Some(number) = known.or_else(|| tracer.in_tables(self.recording, |t| t.piece(self.recording, piece)))
            else {
                continue;
            };
            self.put(tracer, entry::access(number, arg.mode(), operator));
        }
        for other in task.ends_with {
            self.put(tracer, entry::ends_with(task.id.bits(), other.bits()));
        }
        self.chunk.publish(self.at);
    }

    pub(super) fn comes_after(&mut self, tracer: &Tracer, task: TaskId, after: &[TaskId]) {
        for other in after {
            self.push(tracer, entry::after(task.bits(), other.bits()));
        }
    }

    #[inline]
    fn site(&mut self, tracer: &Tracer, site: Site) -> Option<u32> {
        let key = site.key();
        // Loops submit at one place again and again.
        if let Some((last, number)) = self.last_site
            && last == key
        {
            return Some(number);
        }
        let number = match self.sites.get(&key) {
            Some(&known) => known,
            None => tracer.in_tables(self.recording, |tables| tables.site(site))?,
        };
        self.sites.insert(key, number);
        self.last_site = Some((key, number));
        Some(number)
    }

    fn operator(&mut self, tracer: &Tracer, name: &'static str) -> u16 {
        let key = (name.as_ptr().addr(), name.len());
        if let Some(&known) = self.operators.get(&key) {
            return known;
        }
        let number = tracer.in_tables(self.recording, |tables| tables.operator(name)).unwrap_or(0);
        self.operators.insert(key, number);
        number
    }
}
