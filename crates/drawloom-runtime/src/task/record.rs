//! The record of a task: three cache lines that hold everything about a task from submission to completion.
//!
//! Records live in a [slab](super::slab) and are used again and again. A [`TaskId`] is the number of a record and the
//! record's *generation*, which goes up each time a task completes. So an id names one task for ever, and "is that task
//! complete?" is a comparison with the record's present generation.
//!
//! # Edges
//!
//! An edge says "this task starts after that one", and is stored with the task that starts later: its record holds up to
//! [`EDGES`] links, and an edge is named by the number of the record and of the link. The earlier task holds the head of a
//! list that runs through those links. The head and the generation share one atomic word, so that one compare-and-swap
//! adds an edge to a task, or finds that the task is complete already and needs none.
//!
//! # Who may touch what, when
//!
//! | field | submitting thread | others |
//! |---|---|---|
//! | `word` | adds edges by compare-and-swap | add edges; the completing thread swaps it once; who cancels takes the edge of a gate |
//! | `links[k]` | writes before publishing edge k | the thread that completes the earlier task reads, then counts `pending` down |
//! | `binding`, `ending` | bit k before publishing edge k | the thread that completes the earlier task reads bit k |
//! | `pending` | adds before publishing edges | counted down by completing threads; who reaches zero makes the task ready, except for a guard: who waits for its turn sees the zero as well, and has the record from then on |
//! | `context`, `title` | writes before `kind` | read at any time, and check the generation afterwards |
//! | `kind` | writes last | looked at from outside; `Free` from completion to the next description |
//! | `open` | starts at one; in an extension, the record it belongs to | children and "ends with" add while the body runs; who reaches zero completes the task |
//! | `claimed` | | whoever takes the task out of a queue |
//! | arguments, priority | writes before publishing edges | as the rest of the description |
//! | rest of the description, payload | writes before the task can be ready | only the thread that runs or completes it: it has the task, see `core::owned`; while a team runs it, all members read |

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
// Not seen by the model checkers, as no protocol rests on them.
use std::sync::atomic::{AtomicI32 as PlainI32, AtomicU8 as PlainU8, AtomicU32 as PlainU32};

use crate::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::body::{BodyTable, Payload};
use super::extras::Extras;
use super::title::Title;
use crate::access::Arg;
use crate::order::scope::Scope;

/// The links of one record. Tasks that wait for more use further records as extensions.
pub(crate) const EDGES: usize = 6;
/// The arguments that a record holds in place.
pub(crate) const ARGS: usize = 4;
/// Those arguments.
pub(crate) type InPlace = [MaybeUninit<Arg>; ARGS];
/// Words of a task's closure that a record holds in place.
pub(crate) const PAYLOAD: usize = 6;

const NO_EDGE: u32 = u32::MAX;

/// The name of a task, for ever: a record and a generation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(u64);

impl TaskId {
    /// The name of no task. Generations start at one, so no task has it.
    pub(crate) const NONE: TaskId = TaskId(0);

    pub(crate) fn new(index: u32, generation: u32) -> Self {
        Self(u64::from(generation) << 32 | u64::from(index))
    }

    /// The number of the record.
    pub(crate) fn index(self) -> u32 {
        self.0 as u32
    }

    pub(crate) fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

impl std::fmt::Debug for TaskId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TaskId({}.{})", self.index(), self.generation())
    }
}

/// One link of one record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EdgeId(u32);

impl EdgeId {
    pub(crate) fn new(record: u32, link: usize) -> Self {
        Self(record * 8 + link as u32)
    }

    pub(crate) fn record(self) -> u32 {
        self.0 / 8
    }

    pub(crate) fn link(self) -> usize {
        (self.0 % 8) as usize
    }
}

/// What an edge between two tasks means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Edge {
    /// The later task starts after the earlier one.
    Order,
    /// So it does, and fails when the earlier one has failed: an explicit order.
    Binding,
    /// The later task ends after the earlier one.
    Ending,
}

/// What a record is used for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Nothing: it is in the pool.
    Free,
    /// A task with a body.
    Task,
    /// A task without a body, which completes as soon as it is ready: one point that stands for many tasks.
    Sync,
    /// A task that someone outside completes: the time during which a host guard is held.
    Held,
    /// More links for another task.
    Extension,
    /// A point between a task and a child elsewhere that comes after it, which can be opened before its time.
    Gate,
}

impl Kind {
    pub(crate) fn from_number(number: u8) -> Self {
        match number {
            0 => Kind::Free,
            1 => Kind::Task,
            2 => Kind::Sync,
            3 => Kind::Held,
            4 => Kind::Extension,
            _ => Kind::Gate,
        }
    }
}

/// Bits of [`Record::flags`].
pub(crate) mod flag {
    /// Someone waits for the completion of this task.
    pub(crate) const WAITED: u8 = 1;
    /// The task must not run: something that it was told to come after has failed.
    pub(crate) const CANCELLED: u8 = 2;
    /// The task failed, or did not run.
    pub(crate) const FAILED: u8 = 4;
    /// The task takes part in a commute group, and must acquire before it is ready.
    pub(crate) const COMMUTES: u8 = 8;
    /// Made by the runtime itself.
    pub(crate) const INTERNAL: u8 = 16;
    /// A run of a plan.
    pub(crate) const RUN: u8 = 64;
    /// A task that a device runs.
    pub(crate) const DEVICE: u8 = 128;
    /// A team task.
    pub(crate) const TEAM: u8 = 32;
}

/// What is written once, before the task can be ready.
pub(crate) struct Description {
    pub(crate) table: &'static BodyTable,
    pub(crate) extras: Option<Box<Extras>>,
    pub(crate) args: InPlace,
    pub(crate) payload: [MaybeUninit<u64>; PAYLOAD],
}

/// A task, from submission to completion.
#[repr(C, align(64))]
pub(crate) struct Record {
    word: AtomicU64,
    pub(crate) pending: AtomicU32,
    pub(crate) open: AtomicU32,
    links: [AtomicU32; EDGES],
    pub(crate) flags: AtomicU8,
    kind: PlainU8,
    /// Bit k: the task fails when the task that edge k comes from has failed (an explicit order).
    binding: AtomicU8,
    /// Bit k: edge k delays the end of this task, not its start.
    ending: AtomicU8,
    context: PlainU32,
    priority: PlainI32,
    arg_count: PlainU32,
    /// The generation whose task was taken to be run. A child can be found in two places, and must run once.
    claimed: AtomicU32,
    /// The last generation whose future is known to be gone; see `Failures`.
    pub(crate) forgotten: AtomicU32,
    pub(crate) title: Title,
    description: UnsafeCell<MaybeUninit<Description>>,
}

// SAFETY: the fields in cells are written by one thread and read by others only as the table in the module's documentation
// says; every hand-over goes through `pending`, `open` or a ready queue, which order the accesses. The payload is a closure
// that is `Send`, and arguments point to pieces, which are `Sync`.
unsafe impl Sync for Record {}
// SAFETY: as above; records never move once they are in a slab.
unsafe impl Send for Record {}

impl Record {
    pub(crate) fn new() -> Self {
        Self {
            word: AtomicU64::new(pack(1, NO_EDGE)),
            pending: AtomicU32::new(0),
            open: AtomicU32::new(0),
            links: std::array::from_fn(|_| AtomicU32::new(NO_EDGE)),
            flags: AtomicU8::new(0),
            kind: PlainU8::new(Kind::Free as u8),
            binding: AtomicU8::new(0),
            ending: AtomicU8::new(0),
            context: PlainU32::new(0),
            priority: PlainI32::new(0),
            arg_count: PlainU32::new(0),
            claimed: AtomicU32::new(0),
            forgotten: AtomicU32::new(0),
            title: Title::new(),
            description: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// What the record is used for. Another thread may be describing it.
    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        // Acquire: pairs with `set_kind`.
        Kind::from_number(self.kind.load(std::sync::atomic::Ordering::Acquire))
    }

    /// Sets what the record is used for. Only for the thread that has it.
    #[inline]
    pub(crate) fn set_kind(&self, kind: Kind) {
        // Release: pairs with `kind`. Who finds a kind finds the title that goes with it.
        self.kind.store(kind as u8, std::sync::atomic::Ordering::Release);
    }

    /// The context of the task. Another thread may be describing it.
    #[inline]
    pub(crate) fn context(&self) -> u32 {
        // Relaxed: who needs it exactly has the record, and others check the generation afterwards.
        self.context.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Sets the context of the task. Only for the thread that has the record.
    #[inline]
    pub(crate) fn set_context(&self, context: u32) {
        // Relaxed: as above.
        self.context.store(context, std::sync::atomic::Ordering::Relaxed);
    }

    /// Tasks with a higher priority should start first. Relaxed, as all that is written before the task can be ready.
    #[inline]
    pub(crate) fn priority(&self) -> i32 {
        self.priority.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Describes a task.
    ///
    /// # Safety
    /// The calling thread took the record from the pool. As many arguments as counted are in the description.
    #[inline]
    pub(crate) unsafe fn describe(&self, priority: i32, arg_count: u32, description: Description) {
        self.priority.store(priority, std::sync::atomic::Ordering::Relaxed);
        self.arg_count.store(arg_count, std::sync::atomic::Ordering::Relaxed);
        // SAFETY: promised by the caller; what was there before was taken out, or needs no drop.
        unsafe { (*self.description.get()).write(description) };
    }

    /// Leaves all arguments out: for a task that is refused what it was not lent. Only for the submitting thread.
    pub(crate) fn forget_args(&self) {
        self.arg_count.store(0, std::sync::atomic::Ordering::Relaxed);
    }

    /// The description, of which there is never a reference to all of it: several threads may look at parts of it.
    #[inline]
    fn description(&self) -> *mut Description {
        self.description.get().cast()
    }

    /// Where the body is.
    #[inline]
    pub(crate) fn payload(&self) -> *mut Payload {
        // SAFETY: only the address is taken.
        unsafe { &raw mut (*self.description()).payload }
    }

    /// How to run and drop the body.
    ///
    /// # Safety
    /// The record is that of a task which is described, and not complete.
    #[inline]
    pub(crate) unsafe fn table(&self) -> &'static BodyTable {
        // SAFETY: promised by the caller; the table is not changed.
        unsafe { (*self.description()).table }
    }

    /// The arguments.
    ///
    /// # Safety
    /// The record is that of a task which is described, and not complete as long as they are used.
    #[inline]
    pub(crate) unsafe fn args(&self) -> &[Arg] {
        // SAFETY: promised by the caller.
        unsafe { self.args_with((*self.description()).extras.as_deref()) }
    }

    /// The arguments of a task, some of whose rare parts may have been taken out.
    ///
    /// # Safety
    /// As for `args`; the rare parts are those of the task.
    #[inline]
    pub(crate) unsafe fn args_with<'r>(&'r self, extras: impl Into<Option<&'r Extras>>) -> &'r [Arg] {
        let count = self.arg_count.load(std::sync::atomic::Ordering::Relaxed) as usize;
        if count > ARGS {
            return &extras.into().expect("many arguments are among the rare parts").args[..count];
        }
        // SAFETY: promised by the caller. Arguments are not changed any more, and there are that many.
        unsafe { std::slice::from_raw_parts((&raw const (*self.description()).args).cast(), count) }
    }

    /// The rare parts, which only some tasks have.
    ///
    /// # Safety
    /// The calling thread has the task: see the table above. Nothing else refers to the rare parts as long as this is used.
    #[allow(clippy::mut_from_ref)]
    #[inline]
    pub(crate) unsafe fn extras_mut(&self) -> &mut Option<Box<Extras>> {
        // SAFETY: promised by the caller.
        unsafe { &mut (*self.description()).extras }
    }

    /// The rare parts, to be looked at.
    ///
    /// # Safety
    /// The record is that of a task which is described, and nothing changes its rare parts as long as this is used.
    #[inline]
    pub(crate) unsafe fn extras(&self) -> Option<&Extras> {
        // SAFETY: promised by the caller.
        unsafe { (*self.description()).extras.as_deref() }
    }

    /// The scope in which the task was submitted, unless that is the outermost.
    ///
    /// # Safety
    /// The task is not complete as long as this is used: a scope lives until its parent is complete, which is after its children.
    #[inline]
    pub(crate) unsafe fn scope(&self) -> Option<&Scope> {
        // SAFETY: promised by the caller.
        unsafe { self.title.scope().as_ref() }
    }

    /// The generation of the task that this record holds now, or will hold next.
    pub(crate) fn generation(&self) -> u32 {
        // Acquire: pairs with `close`. Who finds a task complete also sees everything that the task did.
        (self.word.load(Ordering::Acquire) >> 32) as u32
    }

    /// Adds an edge from this task, if `generation` is still the present one: if the task is not complete.
    pub(crate) fn link(&self, generation: u32, edge: EdgeId, later: &Record) -> bool {
        // Acquire: when the task turns out to be complete, its effects must be visible, as no edge will carry them.
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            if (word >> 32) as u32 != generation {
                return false;
            }
            later.links[edge.link()].store(word as u32, Ordering::Relaxed);
            // Release: pairs with `close`, which must see the link and everything written into the later record.
            match self.word.compare_exchange_weak(word, pack(generation, edge.0), Ordering::Release, Ordering::Acquire)
            {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
    }

    /// Forgets what the edges of an earlier task of this record meant. Only for the submitting thread, as `mark`.
    #[inline]
    pub(crate) fn clear_marks(&self) {
        self.binding.store(0, Ordering::Relaxed);
        self.ending.store(0, Ordering::Relaxed);
    }

    /// Says what an edge means, before it is published. At first it means an order.
    pub(crate) fn mark(&self, link: usize, edge: Edge) {
        for (bits, set) in [(&self.binding, edge == Edge::Binding), (&self.ending, edge == Edge::Ending)] {
            // Others read the bits of links that were published before meanwhile. Only one thread writes, so a load and a
            // store do. Relaxed: publishing the edge releases its bit; see `Record::link`.
            let others = bits.load(Ordering::Relaxed) & !(1 << link);
            bits.store(others | u8::from(set) << link, Ordering::Relaxed);
        }
    }

    /// Whether an edge that was published is a [binding](Edge::Binding) one.
    #[inline]
    pub(crate) fn is_binding(&self, link: usize) -> bool {
        self.binding.load(Ordering::Relaxed) & 1 << link != 0
    }

    /// Whether an edge that was published is an [ending](Edge::Ending) one.
    #[inline]
    pub(crate) fn is_ending(&self, link: usize) -> bool {
        self.ending.load(Ordering::Relaxed) & 1 << link != 0
    }

    /// Completes the task: no edge can be added any more, and its id names something past. Returns the first edge.
    pub(crate) fn close(&self) -> Option<EdgeId> {
        let generation = self.generation();
        // A record whose generation is used up is never used again; see `Slab::give_back`.
        let next = generation.wrapping_add(1);
        // AcqRel: acquires the links published by `link`, and releases this task's effects to `link` and `generation`.
        // SeqCst: and is in one order with the flag WAITED, see `wait`.
        let word = self.word.swap(pack(next, NO_EDGE), Ordering::SeqCst);
        edge(word as u32)
    }

    /// Takes a task to run it, if nobody did before. Stale ids are refused too: their generation was claimed long ago.
    pub(crate) fn claim(&self, generation: u32) -> bool {
        // AcqRel: the claims of one record are in one order; what the task needs was handed over by the queue it was in.
        let claim = |claimed: u32| (claimed < generation).then_some(generation);
        self.claimed.fetch_update(Ordering::AcqRel, Ordering::Acquire, claim).is_ok()
    }

    /// Whether a task that has or had this record was taken to be run.
    pub(crate) fn was_claimed(&self, generation: u32) -> bool {
        self.claimed.load(Ordering::Acquire) >= generation
    }

    /// Whether the present task was taken to be run.
    pub(crate) fn is_claimed(&self) -> bool {
        self.claimed.load(Ordering::Acquire) == self.generation()
    }

    /// The first edge of the present task, as far as one can see from outside.
    pub(crate) fn first_edge(&self) -> Option<EdgeId> {
        edge(self.word.load(Ordering::Acquire) as u32)
    }

    /// Takes the only edge of a task that is not complete, if the edge is as described when it is taken.
    pub(crate) fn take_edge(&self, generation: u32, may: impl FnOnce(EdgeId) -> bool) -> Option<EdgeId> {
        let word = self.word.load(Ordering::Acquire);
        let only = edge(word as u32).filter(|only| (word >> 32) as u32 == generation && may(*only))?;
        // AcqRel: as in `close`, with which it is in one order: one of the two gets the edge. If this does, nothing has happened
        // to the later task since the word was read.
        let taken = pack(generation, NO_EDGE);
        self.word.compare_exchange(word, taken, Ordering::AcqRel, Ordering::Relaxed).is_ok().then_some(only)
    }

    /// For an extension, the record that it belongs to. It has no children to count, so the count's place is free.
    pub(crate) fn owner(&self) -> u32 {
        // Relaxed: written before any edge of the extension was published.
        self.open.load(Ordering::Relaxed)
    }

    /// The edge that follows one of this record's links in the list of the earlier task. Must be read before `pending` is
    /// counted down for the edge, as the record may be used again right after.
    pub(crate) fn next_edge(&self, link: usize) -> Option<EdgeId> {
        edge(self.links[link].load(Ordering::Relaxed))
    }
}

fn pack(generation: u32, head: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(head)
}

fn edge(bits: u32) -> Option<EdgeId> {
    (bits != NO_EDGE).then_some(EdgeId(bits))
}
