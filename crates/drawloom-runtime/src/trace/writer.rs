//! One thread's hand in a recording.
//!
//! Every thread that records has a writer of its own for each recording and worker: the chunk it fills, and what it has met
//! so far. It is found without a lock and shared with nobody, so an event costs a look at the clock and a store or two.

use std::cell::Cell;

use drawloom_trace::{EventKind, NO_WORKER};
use rustc_hash::FxHashMap;

use super::chunk::{Chunk, WORDS};
use super::clock::Clock;
use super::entry::{self, LONGEST, NodeRun, Stand, Submission};
use super::said::{Said, Sink};
use super::tables::{Site, SiteKey};
use super::turns::Began;
use super::{Described, Tracer};
use crate::access::{Arg, Mode};
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, put_own, take_own, thread_local};
use crate::task::record::TaskId;

/// How many ticks go by between two looks of one worker at the queues: about a tenth of a millisecond.
const LOOKS: u64 = 1 << 18;

thread_local! {
    /// The writer that this thread used last.
    static WRITER: Cell<Option<Box<Writer>>> = const { Cell::new(None) };
    /// The other writers of this thread.
    static OTHERS: Cell<Others> = const { Cell::new(Vec::new()) };
}

/// In boxes, as they go in and out of the cell of the first one, which is taken and put back for each event.
#[allow(clippy::vec_box)]
type Others = Vec<Box<Writer>>;

pub(super) struct Writer {
    recording: u32,
    worker: u32,
    clock: Clock,
    page: Page,
    /// What need not be said again in this chunk.
    said: Said,
    /// The time of the last event.
    last: u64,
    /// When it is time to look at the queues.
    look: u64,
    sites: FxHashMap<SiteKey, u32>,
    last_site: Option<(SiteKey, u32)>,
    operators: FxHashMap<(usize, usize), u16>,
}

/// The chunk that a writer fills.
struct Page {
    chunk: Arc<Chunk>,
    /// How many words of the chunk are written.
    at: usize,
    /// How many words it has; none any more when there was no place for some entry, as then there is none for any other.
    words: usize,
}

impl Sink for Page {
    #[inline]
    fn put<const N: usize>(&mut self, words: [u64; N]) {
        self.chunk.put(self.at, words);
        self.at += N;
    }
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
    // While it is taken out nothing else is recorded by this thread.
    let writer = match take_own(&WRITER) {
        Some(Some(writer)) if writer.fits(recording, worker) => Some(writer),
        taken => change(tracer, taken, recording, worker),
    };
    let mut writer = writer?;
    let done = f(&mut writer);
    put_own(&WRITER, Some(writer));
    Some(done)
}

/// The writer that fits, in place of the one that was taken.
#[cold]
fn change(
    tracer: &Tracer,
    taken: Option<Option<Box<Writer>>>,
    recording: u32,
    worker: Option<u32>,
) -> Option<Box<Writer>> {
    let (Some(taken), Some(mut others)) = (taken, take_own(&OTHERS)) else {
        // The thread is ending, and has no writers any more.
        tracer.lost.fetch_add(1, Ordering::Relaxed);
        return None;
    };
    others.extend(taken);
    let found = match others.iter().position(|writer| writer.fits(recording, worker)) {
        Some(at) => Some(others.swap_remove(at)),
        None => {
            // A chunk that nobody else has belongs to a recording that was forgotten.
            others.retain(|writer| Arc::strong_count(&writer.page.chunk) > 1);
            add(tracer, recording, worker.unwrap_or(NO_WORKER))
        }
    };
    put_own(&OTHERS, others);
    found
}

fn add(tracer: &Tracer, recording: u32, worker: u32) -> Option<Box<Writer>> {
    let chunk = tracer.first_chunk(recording, worker)?;
    Some(Box::new(Writer {
        recording,
        worker,
        clock: Clock::get(),
        page: Page { chunk, at: 0, words: WORDS },
        said: Said::default(),
        last: 0,
        look: 0,
        sites: FxHashMap::default(),
        last_site: None,
        operators: FxHashMap::default(),
    }))
}

impl Writer {
    #[inline]
    fn now(&mut self) -> u64 {
        self.last = self.clock.now();
        self.last
    }

    /// The time of something that waits for nothing elsewhere, and may be a little early for that reason.
    #[inline]
    fn now_nearly(&mut self) -> u64 {
        self.last = self.clock.now_nearly().max(self.last);
        self.last
    }

    #[inline]
    fn fits(&self, recording: u32, worker: Option<u32>) -> bool {
        self.recording == recording && worker.is_none_or(|worker| self.worker == worker)
    }

    /// Writes an entry of any length. It is seen when the next one is published.
    #[inline]
    fn put(&mut self, tracer: &Tracer, write: impl FnOnce(&mut Said, &mut Page)) {
        // Before it is written, as a new chunk has to say everything again.
        if self.page.at + LONGEST > self.page.words && !self.turn_page(tracer) {
            self.page.chunk.lose();
            return;
        }
        write(&mut self.said, &mut self.page);
    }

    #[inline]
    fn push(&mut self, tracer: &Tracer, write: impl FnOnce(&mut Said, &mut Page)) {
        self.put(tracer, write);
        self.publish();
    }

    #[inline]
    fn publish(&self) {
        self.page.chunk.publish(self.page.at);
    }

    #[cold]
    fn turn_page(&mut self, tracer: &Tracer) -> bool {
        if self.is_full() {
            return false;
        }
        self.publish();
        match tracer.next_chunk(self.recording, &self.page.chunk) {
            Some(chunk) => {
                self.page = Page { chunk, at: 0, words: WORDS };
                self.said = Said::default();
            }
            None => self.page.words = 0,
        }
        !self.is_full()
    }

    fn is_full(&self) -> bool {
        self.page.words == 0
    }

    /// Something happened to a task.
    #[inline]
    pub(super) fn of_task(&mut self, tracer: &Tracer, kind: EventKind, task: u64) {
        let time = match kind {
            // Nobody else can see it yet.
            EventKind::End | EventKind::Failed => self.now_nearly(),
            _ => self.now(),
        };
        self.push(tracer, |said, page| said.event(time, kind, task, page));
    }

    /// Something happened to a worker.
    pub(super) fn of_worker(&mut self, tracer: &Tracer, kind: EventKind, value: u64) {
        let time = self.now();
        self.of_worker_at(tracer, time, kind, value);
    }

    /// Something happened to a worker, at some time before.
    pub(super) fn of_worker_at(&mut self, tracer: &Tracer, time: u64, kind: EventKind, value: u64) {
        self.push(tracer, |_, page| page.put(entry::event(time, kind, value)));
    }

    /// A task became ready by what was recorded last, at the same time.
    #[inline]
    pub(super) fn ready(&mut self, tracer: &Tracer, task: u64) {
        let time = if self.last == 0 { self.now() } else { self.last };
        self.push(tracer, |said, page| said.event(time, EventKind::Ready, task, page));
    }

    /// A task starts, perhaps in a turn that is not written yet. True when it is time to look at the queues.
    #[inline]
    pub(super) fn start(&mut self, tracer: &Tracer, task: u64, turn: Option<Began>) -> bool {
        let time = self.now();
        self.push(tracer, |said, page| match turn {
            None => said.event(time, EventKind::Start, task, page),
            Some(began) => said.quick(time, began.before(time), task, page),
        });
        let looks = time >= self.look;
        if looks {
            self.look = time + LOOKS;
        }
        looks
    }

    /// A worker went through the phases of a turn, of which the first began at some time.
    pub(super) fn turn(&mut self, tracer: &Tracer, time: u64, later: u64) {
        self.push(tracer, |_, page| page.put(entry::turn(time, later)));
    }

    pub(super) fn team(&mut self, tracer: &Tracer, task: u64, size: u32) {
        let time = self.now();
        self.push(tracer, |_, page| page.put(entry::team(time, task, size)));
    }

    #[inline]
    pub(super) fn node(&mut self, tracer: &Tracer, node: NodeRun) {
        self.last = node.end;
        self.push(tracer, |said, page| said.node(node, page));
    }

    /// A task was submitted that stands for a node of a plan.
    pub(super) fn stands_for(&mut self, tracer: &Tracer, stand: Stand) {
        let time = self.now();
        self.push(tracer, |_, page| page.put(entry::stand(time, stand)));
    }

    /// A task was submitted.
    pub(super) fn submit(&mut self, tracer: &Tracer, task: &Described<'_>, args: &[Arg]) {
        if self.is_full() {
            self.page.chunk.lose();
            return;
        }
        let Some(site) = self.site(tracer, task.site) else { return };
        let time = self.now_nearly();
        let submission = Submission {
            time,
            task: task.id.bits(),
            parent: task.parent.bits(),
            place: tracer.place(self.page.chunk.stream),
            context: task.context,
            site,
            priority: task.priority,
            internal: task.internal,
        };
        self.put(tracer, |said, page| said.submission(submission, page));
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
            self.put(tracer, |_, page| page.put(entry::access(number, arg.mode(), operator)));
        }
        for other in task.ends_with {
            self.put(tracer, |_, page| page.put(entry::ends_with(task.id.bits(), other.bits())));
        }
        self.publish();
    }

    pub(super) fn comes_after(&mut self, tracer: &Tracer, task: TaskId, after: &[TaskId]) {
        for other in after {
            self.push(tracer, |_, page| page.put(entry::after(task.bits(), other.bits())));
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
            None => {
                let number = tracer.in_tables(self.recording, |tables| tables.site(site))?;
                self.sites.insert(key, number);
                number
            }
        };
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
