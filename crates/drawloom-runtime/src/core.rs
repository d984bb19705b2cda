//! The engine's heart: tasks are submitted, ordered, made ready, run, and completed.
//!
//! Everything here is reached from handles (`Loom`, regions, futures) and from workers. The steps of a task's life are the
//! functions of this module, in order: [`Core::submit`], [`Core::finish_submission`], [`Core::make_ready`],
//! [`Core::execute`], [`Core::complete`].

#![allow(unsafe_code)]

use std::cell::Cell;
use std::sync::Weak;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::ptr::NonNull;
use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::access::frame::Contribution;
use crate::access::{Arg, Frame, Mode, Scratchpad};
use crate::commute::Arbiter;
use crate::context::ContextState;
use crate::data::piece::Shape;
use crate::data::tree::{Buffer, ElementType, Root, Tree};
use crate::error::{Error, ErrorKind, Result, TaskOrigin};
use crate::failure::Failures;
use crate::order::history::{History, Refusal, refuse_not_lent};
use crate::order::scope::{Scope, ScopeId};
use crate::order::slot::OpenReduction;
use crate::policy::{Ready, WorkerId};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::grow::Grow;
use crate::sync::{Arc, Mutex, lock};
use crate::task::body::{self, Body};
use crate::task::extras::Extras;
use crate::task::name::{Name, Names};
use crate::task::record::{ARGS, Description, EDGES, EdgeId, Kind, Record, TaskId, flag};
use crate::task::slab::Slab;
use crate::task::spec::Spec;
use crate::wait::Waiters;
use crate::worker::Workers;

/// Everything that belongs to one runtime. The alignment keeps the count of references off everybody's cache lines.
#[repr(align(128))]
pub struct Core {
    pub(crate) slab: Slab,
    pub(crate) names: Names,
    outermost: Mutex<History>,
    pub(crate) contexts: Grow<ContextState>,
    pub(crate) workers: Workers,
    pub(crate) waiters: Waiters,
    pub(crate) failures: Failures,
    arbiter: Arbiter,
    next_scope: AtomicU64,
    /// Scopes in which regions were created.
    scopes: Mutex<FxHashMap<u64, Weak<Scope>>>,
    next_tree: AtomicU64,
    /// Whether tasks run on the submitting thread, in program order.
    serial: Option<Mutex<()>>,
    /// Whether nothing may be submitted any more.
    pub(crate) closed: AtomicBool,
}

/// What a thread that runs tasks carries along.
pub(crate) struct Local {
    pub(crate) worker: Option<WorkerId>,
    /// Tasks that became ready and were not handed out yet.
    pub(crate) ready: Vec<(u32, Ready)>,
    /// Records that can be used again.
    freed: Vec<u32>,
    /// One for each level of nesting, as a task that waits for its children keeps its own.
    scratchpads: Vec<Scratchpad>,
    /// Tasks that are complete and not yet taken care of.
    stack: Vec<u32>,
}

impl Local {
    pub(crate) fn new(worker: Option<WorkerId>) -> Self {
        Self { worker, ready: Vec::new(), freed: Vec::new(), scratchpads: Vec::new(), stack: Vec::new() }
    }
}

/// The task that a thread is running.
pub(crate) struct Running<'a> {
    core: *const Core,
    pub(crate) id: TaskId,
    record: &'a Record,
    pub(crate) local: *mut Local,
}

thread_local! {
    static RUNNING: Cell<*const Running<'static>> = const { Cell::new(std::ptr::null()) };
    static WAITS: Cell<Vec<TaskId>> = const { Cell::new(Vec::new()) };
}

/// How many freed records a thread keeps before it gives them back.
const KEEP: usize = 64;

impl Core {
    pub(crate) fn new(limit: u32, workers: Workers, serial: bool) -> Self {
        Self {
            slab: Slab::new(limit),
            names: Names::default(),
            outermost: Mutex::new(History::new(ScopeId::OUTERMOST)),
            contexts: Grow::new(),
            workers,
            waiters: Waiters::default(),
            failures: Failures::default(),
            arbiter: Arbiter::default(),
            next_scope: AtomicU64::new(1),
            scopes: Mutex::default(),
            next_tree: AtomicU64::new(0),
            serial: serial.then(|| Mutex::new(())),
            closed: AtomicBool::new(false),
        }
    }

    pub(crate) fn is_complete(&self, id: TaskId) -> bool {
        id.is_none() || self.slab.is_complete(id)
    }

    fn context(&self, index: u32) -> &ContextState {
        self.contexts.get(index as usize).expect("contexts are never removed from the list")
    }

    /// The task of this runtime that the calling thread is running.
    #[inline]
    pub(crate) fn running(&self) -> Option<&Running<'_>> {
        // SAFETY: the pointer is set by `execute` for as long as the task runs on this thread, and is null otherwise. The
        // shortened lifetime is that of the record, which lives as long as the core.
        let running = unsafe { RUNNING.get().cast::<Running<'_>>().as_ref() }?;
        std::ptr::eq(running.core, self).then_some(running)
    }

    /// Submits a task.
    #[inline]
    pub(crate) fn submit(&self, mut spec: Spec, body: Body) -> TaskId {
        let running = self.running();
        let (index, record) = self.take_record(running.is_none());
        let id = TaskId::new(index, record.generation());
        let scope = running.map(|r| self.scope_inside(r));
        let context = self.context(spec.context);
        context.count_submitted();
        self.describe(record, Kind::Task, &mut spec, body.table, scope, body.payload);
        let mut waits = WAITS.take();
        waits.clear();
        let (args, mut extras) = self.parts(record);
        let after = extras.as_mut().map_or_else(Vec::new, |e| std::mem::take(&mut e.after));
        let mut refused = spec.refused.take();
        // A task that is refused keeps its place in the order: what it should have written is spoiled from there on.
        if !args.is_empty()
            && let Err(refusal) = self.order(id, spec.context, scope, args, extras, &mut waits)
        {
            if refusal.kind == ErrorKind::NotLent {
                // SAFETY: this thread is submitting the task. What it was not lent is not its own to spoil.
                unsafe { *record.arg_count.get() = 0 };
            }
            refused.get_or_insert_with(|| Error::of_task(refusal.kind, spec.origin(), refusal.message));
        }
        if self.closed.load(Ordering::Relaxed) && refused.is_none() {
            let message = "cannot be submitted: the runtime was shut down";
            refused = Some(Error::of_task(ErrorKind::ShutDown, spec.origin(), message));
        }
        if let Some(error) = refused {
            self.failures.refuse(id, error);
            record.flags.fetch_or(flag::CANCELLED, Ordering::Relaxed);
        }
        self.finish_submission(id, &waits, &after);
        WAITS.set(waits);
        id
    }

    /// A free record. Waits for one when `patient`.
    #[inline]
    fn take_record(&self, patient: bool) -> (u32, &Record) {
        loop {
            if let Some(index) = self.slab.take(patient) {
                return (index, self.slab.get(index));
            }
            let stalled = self.slab.wait_for_room(|| self.is_stopped(), Duration::from_millis(100));
            if stalled && self.workers.are_idle() && self.is_stuck() {
                // Waiting could last for ever: go beyond the limit instead, and let whoever waits report it.
                let index = self.slab.take(false).expect("an impatient request is always met");
                return (index, self.slab.get(index));
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Whether no task is ready anywhere.
    pub(crate) fn is_stuck(&self) -> bool {
        self.contexts.iter().all(|c| c.policy.is_empty())
    }

    /// Fills in a record, before anyone else can see the task.
    #[inline]
    fn describe(
        &self,
        record: &Record,
        kind: Kind,
        spec: &mut Spec,
        table: &'static body::BodyTable,
        scope: Option<&Scope>,
        payload: body::Payload,
    ) {
        record.open.store(1, Ordering::Relaxed);
        let mut flags = 0;
        if kind == Kind::Task && spec.args().iter().any(|a| a.mode() == Mode::Commute) {
            flags |= flag::COMMUTES;
        }
        record.flags.store(flags, Ordering::Relaxed);
        // SAFETY: the record was taken from the pool by this thread, and its id is not known to anyone yet.
        unsafe {
            *record.kind.get() = kind;
            *record.binding.get() = 0;
            *record.ending.get() = 0;
            *record.context.get() = spec.context;
            *record.priority.get() = spec.priority;
            *record.arg_count.get() = spec.count();
            (*record.description.get()).write(Description {
                name: spec.name,
                location: spec.location,
                table,
                scope: scope.map_or(std::ptr::null(), std::ptr::from_ref),
                extras: spec.extras.take(),
                args: spec.in_place(),
                payload,
            });
        }
    }

    /// The arguments and rare parts of a task.
    fn parts<'r>(&self, record: &'r Record) -> (&'r [Arg], Option<&'r mut Extras>) {
        // SAFETY: only the thread that submits, runs or completes the task calls this, one after the other.
        let description = unsafe { (*record.description.get()).assume_init_mut() };
        // SAFETY: as above.
        let count = unsafe { *record.arg_count.get() } as usize;
        let extras = description.extras.as_deref_mut();
        match extras {
            Some(extras) if count > ARGS => {
                // SAFETY: the list of arguments is not changed any more; the borrow of the other parts does not touch it.
                let args = unsafe { std::slice::from_raw_parts(extras.args.as_ptr(), count) };
                (args, Some(extras))
            }
            extras => (&description.args[..count], extras),
        }
    }

    pub(crate) fn origin(&self, record: &Record) -> TaskOrigin {
        // SAFETY: as in `parts`.
        let description = unsafe { (*record.description.get()).assume_init_ref() };
        TaskOrigin { name: description.name.as_str().to_owned(), location: description.location }
    }

    fn order(
        &self,
        id: TaskId,
        context: u32,
        scope: Option<&Scope>,
        args: &[Arg],
        extras: Option<&mut Extras>,
        waits: &mut Vec<TaskId>,
    ) -> Result<(), Refusal> {
        let history = match scope {
            None => &self.outermost,
            Some(scope) => {
                refuse_not_lent(scope, args)?;
                &scope.history
            }
        };
        let (folds, joined) = match extras {
            Some(extras) => (extras.folds.as_slice(), &mut extras.joined),
            None => (&[][..], &mut Vec::new()),
        };
        lock(history).order(self, id, context, args, folds, waits, joined)
    }

    /// Makes a task wait for others, and lets it go. Until now it could not become ready.
    #[inline]
    pub(crate) fn finish_submission(&self, id: TaskId, waits: &[TaskId], after: &[TaskId]) {
        let record = self.slab.get(id.index());
        let ends_with = self.begin_ends_with(id, record);
        let count = (waits.len() + after.len()) as u32;
        if count == 0 && !ends_with {
            record.pending.store(0, Ordering::Relaxed);
            self.dispatch_one(id.index());
            return;
        }
        // One more, so that the task is not ready before all edges are there.
        record.pending.store(count + 1, Ordering::Relaxed);
        let mut done = 1;
        let mut link = 0;
        for &earlier in waits {
            done += u32::from(!self.link(id, &mut link, earlier, false));
        }
        for &earlier in after {
            if !self.link(id, &mut link, earlier, true) {
                done += 1;
                if self.failures.failed(earlier) {
                    self.failures.cancel_for(id, earlier);
                    record.flags.fetch_or(flag::CANCELLED, Ordering::Relaxed);
                }
            }
        }
        if ends_with {
            self.link_ends(id, record, &mut link);
        }
        // AcqRel: the one who reaches zero sees everything written by those who counted down before.
        if record.pending.fetch_sub(done, Ordering::AcqRel) == done {
            self.dispatch_one(id.index());
        }
    }

    /// Adds an edge from an earlier task. False when that one is complete already.
    #[inline]
    fn link(&self, id: TaskId, link: &mut usize, earlier: TaskId, binding: bool) -> bool {
        let record = self.slab.get(id.index());
        let (holder, slot) = self.edge_slot(id, *link);
        *link += 1;
        let later = if holder == id.index() { record } else { self.slab.get(holder) };
        if binding {
            // SAFETY: the edge is not published yet, so nobody reads this bit.
            unsafe { *later.binding.get() |= 1 << slot };
        }
        let linked = self.slab.get(earlier.index()).link(earlier.generation(), EdgeId::new(holder, slot), later);
        if !linked {
            *link -= 1;
            // SAFETY: as above.
            unsafe { *later.binding.get() &= !(1 << slot) };
        }
        linked
    }

    /// The record and the link in it that hold a task's edge with a number.
    #[inline]
    fn edge_slot(&self, id: TaskId, number: usize) -> (u32, usize) {
        if number < EDGES {
            return (id.index(), number);
        }
        self.extension(id, number)
    }

    #[cold]
    fn extension(&self, id: TaskId, number: usize) -> (u32, usize) {
        let record = self.slab.get(id.index());
        // SAFETY: this thread is submitting the task, which cannot become ready yet.
        let description = unsafe { (*record.description.get()).assume_init_mut() };
        let extras = description.extras.get_or_insert_with(Box::default);
        let nth = (number - EDGES) / EDGES;
        if nth == extras.extensions.len() {
            let (index, extension) = self.take_record(false);
            // SAFETY: just taken from the pool.
            unsafe {
                *extension.kind.get() = Kind::Extension;
                *extension.binding.get() = 0;
                *extension.ending.get() = 0;
                (*extension.description.get()).write(Description {
                    name: description.name,
                    location: description.location,
                    table: &body::NOTHING,
                    scope: std::ptr::null(),
                    extras: Some(Box::new(Extras { owner: id.index(), ..Extras::default() })),
                    args: [Arg::NONE; ARGS],
                    payload: [MaybeUninit::uninit(); crate::task::record::PAYLOAD],
                });
            }
            extras.extensions.push(index);
        }
        (extras.extensions[nth], number % EDGES)
    }

    /// Counts the tasks that this one must end with, before it can end.
    fn begin_ends_with(&self, _: TaskId, record: &Record) -> bool {
        // SAFETY: this thread is submitting the task.
        let description = unsafe { (*record.description.get()).assume_init_ref() };
        let Some(extras) = &description.extras else { return false };
        let count = extras.ends_with.len() as u32;
        record.open.fetch_add(count, Ordering::Relaxed);
        count > 0
    }

    #[cold]
    fn link_ends(&self, id: TaskId, record: &Record, link: &mut usize) {
        // SAFETY: this thread is submitting the task, which cannot run yet, as `pending` counts one more.
        let ends: Vec<TaskId> = unsafe { (*record.description.get()).assume_init_ref() }
            .extras
            .as_ref()
            .map_or_else(Vec::new, |e| e.ends_with.clone());
        for earlier in ends {
            let (holder, slot) = self.edge_slot(id, *link);
            let later = self.slab.get(holder);
            // SAFETY: the edge is not published yet.
            unsafe { *later.ending.get() |= 1 << slot };
            if self.slab.get(earlier.index()).link(earlier.generation(), EdgeId::new(holder, slot), later) {
                *link += 1;
            } else {
                // SAFETY: the edge was not published.
                unsafe { *later.ending.get() &= !(1 << slot) };
                record.open.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    /// One task that stands for several: complete when all of them are. None when they are complete already.
    pub(crate) fn sync_point(&self, _: ScopeId, tasks: &[TaskId]) -> TaskId {
        match tasks {
            [] => return TaskId::NONE,
            [only] => return *only,
            _ => {}
        }
        let (index, record) = self.take_record(false);
        let id = TaskId::new(index, record.generation());
        let mut spec = Spec::new(Name::literal("sync"), Location::caller(), 0);
        let payload = [MaybeUninit::uninit(); crate::task::record::PAYLOAD];
        self.describe(record, Kind::Sync, &mut spec, &body::NOTHING, None, payload);
        record.pending.store(tasks.len() as u32 + 1, Ordering::Relaxed);
        let (mut done, mut link) = (1, 0);
        for &task in tasks {
            done += u32::from(!self.link(id, &mut link, task, false));
        }
        if record.pending.fetch_sub(done, Ordering::AcqRel) == done {
            let mut local = Local::new(None);
            self.complete(&mut local, index);
            self.hand_out(&mut local);
            return TaskId::NONE;
        }
        id
    }

    /// Starts the submission of the task that folds a reduction into its piece.
    pub(crate) fn begin_fold(&self, scope: ScopeId, open: &OpenReduction, arg: Arg) -> TaskId {
        let reduction = Arc::clone(&open.reduction);
        let body = body::once(move |_: &mut Frame<'_>| {
            if let Some(sum) = reduction.finish() {
                let piece = arg.piece();
                // SAFETY: the fold task has exclusive access to the piece, whose elements have the reduction's type.
                unsafe { reduction.folds.apply(piece, piece.tree().base(), &sum) };
            }
            Ok(())
        });
        self.begin_internal("fold", scope, open.context, &[arg], body)
    }

    /// Starts the submission of a task that the runtime makes itself.
    fn begin_internal(&self, name: &'static str, scope: ScopeId, context: u32, args: &[Arg], body: Body) -> TaskId {
        let (index, record) = self.take_record(false);
        let id = TaskId::new(index, record.generation());
        let mut spec = Spec::new(Name::literal(name), Location::caller(), context);
        for &arg in args {
            spec.push(arg);
        }
        self.context(context).count_submitted();
        let inside = self.running().filter(|_| scope != ScopeId::OUTERMOST).map(|r| self.scope_inside(r));
        self.describe(record, Kind::Task, &mut spec, body.table, inside, body.payload);
        record.flags.fetch_or(flag::INTERNAL, Ordering::Relaxed);
        id
    }

    /// The scope of the children of a running task. Counts one child.
    fn scope_inside<'a>(&self, running: &'a Running<'_>) -> &'a Scope {
        let record = running.record;
        record.open.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the calling thread runs the task, so nobody else touches its description.
        let description = unsafe { (*record.description.get()).assume_init_mut() };
        // SAFETY: as above.
        let lent: Vec<Arg> = match &description.extras {
            Some(extras) if extras.inside.is_some() => Vec::new(),
            _ => self.parts(record).0.iter().copied().filter(|a| a.mode().lends()).collect(),
        };
        // SAFETY: as above.
        let description = unsafe { (*record.description.get()).assume_init_mut() };
        let outer = description.scope;
        let inside = description.extras.get_or_insert_with(Box::default).inside.get_or_insert_with(|| {
            let id = ScopeId(self.next_scope.fetch_add(1, Ordering::Relaxed));
            let scope = Scope::new(id, running.id, self.origin(record), lent);
            // SAFETY: the scope of a task lives at least as long as the task.
            if let Some(outer) = unsafe { outer.as_ref() } {
                outer.enter(Arc::clone(&scope));
            }
            scope
        });
        // SAFETY: the scope lives until the parent is complete, which is after the calling thread leaves its body.
        unsafe { &*Arc::as_ptr(inside) }
    }

    /// Hands a task out that became ready outside of a worker's own loop.
    #[inline]
    fn dispatch_one(&self, index: u32) {
        let record = self.slab.get(index);
        // SAFETY: the task is ready, and this thread is the only one that has it.
        let (kind, context, priority, scope) = unsafe {
            let scope = (*record.description.get()).assume_init_ref().scope;
            (*record.kind.get(), *record.context.get(), *record.priority.get(), scope)
        };
        let plain = kind == Kind::Task && scope.is_null() && record.flags.load(Ordering::Relaxed) & flag::COMMUTES == 0;
        if plain && self.serial.is_none() {
            let id = TaskId::new(index, record.generation());
            self.context(context).policy.push(Ready::task(id, priority), None);
            self.workers.notify();
            return;
        }
        let mut local = Local::new(self.worker_in(context));
        let mut stack = Vec::new();
        self.make_ready(index, &mut stack, &mut local.ready);
        for index in stack {
            self.complete(&mut local, index);
        }
        self.hand_out(&mut local);
    }

    /// The worker that the calling thread is, if it runs a task of the given context.
    fn worker_in(&self, context: u32) -> Option<WorkerId> {
        let running = self.running()?;
        // SAFETY: the context of a running task does not change; the pointer is that of the thread's own state.
        unsafe { (*running.record.context.get() == context).then(|| (*running.local).worker)? }
    }

    /// Notes that a task is ready: it can run, or is complete already.
    #[inline]
    pub(crate) fn make_ready(&self, index: u32, stack: &mut Vec<u32>, ready: &mut Vec<(u32, Ready)>) {
        let record = self.slab.get(index);
        let flags = record.flags.load(Ordering::Relaxed);
        // SAFETY: whoever finds `pending` at zero is the one thread that has the task now.
        let (kind, context, priority) = unsafe { (*record.kind.get(), *record.context.get(), *record.priority.get()) };
        match kind {
            Kind::Task => {
                let id = TaskId::new(index, record.generation());
                if flags & flag::COMMUTES != 0 && !self.arbiter.acquire(id, self.parts(record).0) {
                    return;
                }
                // SAFETY: as above.
                let scope = unsafe { (*record.description.get()).assume_init_ref().scope };
                // SAFETY: a scope lives until its parent is complete, which is after this child.
                if let Some(scope) = unsafe { scope.as_ref() } {
                    scope.push(id);
                    self.waiters.wake(scope.parent);
                }
                ready.push((context, Ready::task(id, priority)));
            }
            Kind::Sync => stack.push(index),
            Kind::Held => {
                if record.flags.load(Ordering::SeqCst) & flag::WAITED != 0 {
                    self.waiters.wake(TaskId::new(index, record.generation()));
                }
            }
            Kind::Free | Kind::Extension => unreachable!("only tasks become ready"),
        }
    }

    /// Gives ready tasks to the policies of their contexts.
    pub(crate) fn hand_out(&self, local: &mut Local) {
        if self.serial.is_some() {
            self.run_serially(local);
            return;
        }
        for (context, ready) in local.ready.drain(..) {
            self.context(context).policy.push(ready, local.worker);
            self.workers.notify();
        }
    }

    /// The task that a worker goes on with, after others that became ready were handed out.
    #[inline]
    pub(crate) fn follow_on(&self, local: &mut Local) -> Option<Ready> {
        if local.ready.is_empty() {
            return None;
        }
        let (context, next) = local.ready[0];
        let next = self.context(context).follows_on.then(|| {
            local.ready.swap_remove(0);
            next
        });
        self.hand_out(local);
        next
    }

    /// Runs ready tasks right here: the serial engine.
    fn run_serially(&self, local: &mut Local) {
        let Some(turn) = &self.serial else { return };
        // A task that submits runs its children at once; other threads wait for their turn.
        let _turn = self.running().is_none().then(|| lock(turn));
        while let Some((_, ready)) = local.ready.pop() {
            self.run_ready(local, ready);
        }
    }

    /// Runs a task that was taken from a queue, unless someone else took it from another.
    #[inline]
    pub(crate) fn run_ready(&self, local: &mut Local, ready: Ready) {
        let id = TaskId::from_bits(ready.what);
        let record = self.slab.get(id.index());
        if record.claim(id.generation()) {
            self.execute(local, id, record);
        }
    }

    /// Runs a task, and completes it.
    #[inline]
    pub(crate) fn execute(&self, local: &mut Local, id: TaskId, record: &Record) {
        let (args, extras) = self.parts(record);
        let failed = match self.reason_to_cancel(id, record, args) {
            Some(error) => {
                // SAFETY: the task has not run, and will not.
                unsafe {
                    let description = (*record.description.get()).assume_init_mut();
                    (description.table.drop)(&mut description.payload);
                }
                Some(error)
            }
            None => self.run_body(local, id, record, args, extras),
        };
        match failed {
            None => {
                for arg in args.iter().filter(|a| a.mode().mutates()) {
                    arg.piece().tree().heal(&arg.piece().indices);
                }
            }
            Some(error) => self.fail(id, record, args, error),
        }
        self.end(local, id.index(), record);
    }

    /// Why a task must not run.
    #[inline]
    fn reason_to_cancel(&self, id: TaskId, record: &Record, args: &[Arg]) -> Option<Error> {
        if record.flags.load(Ordering::Relaxed) & flag::CANCELLED != 0 {
            return Some(self.failures.reason(id, self.origin(record)));
        }
        args.iter()
            .filter(|a| a.mode().reads())
            .find_map(|a| a.piece().tree().spoiled(&a.piece().indices))
            .map(|because| Error::cancelled(self.origin(record), because))
    }

    /// Runs a body in its frame, and returns why it failed, if it did.
    #[inline]
    fn run_body(
        &self,
        local: &mut Local,
        id: TaskId,
        record: &Record,
        args: &[Arg],
        extras: Option<&mut Extras>,
    ) -> Option<Error> {
        let mut scratch = local.scratchpads.pop().unwrap_or_default();
        let mut contributions: Vec<Contribution> = Vec::new();
        let (counts, layouts): (&[u32], &[_]) = match extras {
            Some(extras) => {
                self.begin_contributions(args, extras, &mut contributions);
                // SAFETY: the running task's rare parts are not changed or freed while its body runs, except for
                // `inside`, which these borrows do not touch.
                unsafe { (&*std::ptr::from_ref(&*extras.counts), &*std::ptr::from_ref(&*extras.scratch)) }
            }
            None => (&[], &[]),
        };
        let running = Running { core: self, id, record, local };
        let before = RUNNING.replace((&raw const running).cast());
        let result = {
            let mut frame = Frame::new(args, counts, &mut contributions, &mut scratch, layouts);
            // SAFETY: only this thread has the task; the payload is the one that belongs to the table.
            let (call, payload) = unsafe {
                let description = (*record.description.get()).assume_init_mut();
                (description.table.call, &raw mut description.payload)
            };
            // SAFETY: the payload belongs to the table, and is used once.
            catch_unwind(AssertUnwindSafe(|| unsafe { call(payload, &mut frame) }))
        };
        RUNNING.set(before);
        local.scratchpads.push(scratch);
        match result {
            Ok(Ok(())) => {
                for contribution in contributions {
                    contribution.reduction.contribute(contribution.number, contribution.accumulator);
                }
                None
            }
            Ok(Err(error)) => Some(Error::of_task(ErrorKind::Failed, self.origin(record), error.to_string())),
            Err(panic) => Some(Error::of_task(ErrorKind::Panicked, self.origin(record), panic_text(&*panic))),
        }
    }

    fn begin_contributions(&self, args: &[Arg], extras: &mut Extras, contributions: &mut Vec<Contribution>) {
        let reduced = args.iter().filter(|a| a.mode() == Mode::Reduce);
        contributions.extend(extras.joined.drain(..).zip(reduced).map(|(joined, arg)| Contribution {
            accumulator: joined.reduction.folds.make(arg.piece().shape.len()),
            number: joined.number,
            reduction: joined.reduction,
        }));
    }

    /// Notes a failure: what the task should have written is spoiled.
    #[cold]
    fn fail(&self, id: TaskId, record: &Record, args: &[Arg], error: Error) {
        record.flags.fetch_or(flag::FAILED, Ordering::Relaxed);
        for arg in args.iter().filter(|a| a.mode().mutates()) {
            arg.piece().tree().spoil(&arg.piece().indices, error.because().unwrap_or(&error));
        }
        self.failures.note(id, error);
    }

    /// Ends a task's own part. It is complete once its children are, too.
    #[inline]
    fn end(&self, local: &mut Local, index: u32, record: &Record) {
        // Nobody can add to `open` any more, so seeing one means that nobody else will count down.
        // Acquire: pairs with the counting down by children.
        if record.open.load(Ordering::Acquire) == 1 || record.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.complete(local, index);
        }
    }

    /// Completes a task, and everything that is complete with it. Tasks that become ready are added to `local.ready`.
    pub(crate) fn complete(&self, local: &mut Local, index: u32) {
        let mut stack = std::mem::take(&mut local.stack);
        stack.push(index);
        while let Some(index) = stack.pop() {
            self.complete_one(local, index, &mut stack);
        }
        local.stack = stack;
        if local.freed.len() >= KEEP || local.worker.is_none() {
            self.slab.give_back(&mut local.freed);
        }
    }

    #[inline]
    fn complete_one(&self, local: &mut Local, index: u32, stack: &mut Vec<u32>) {
        let record = self.slab.get(index);
        let id = TaskId::new(index, record.generation());
        let flags = record.flags.load(Ordering::Relaxed);
        // SAFETY: the thread that completes a task is the only one that has it.
        let (kind, context) = unsafe { (*record.kind.get(), *record.context.get()) };
        if flags & flag::COMMUTES != 0 {
            for freed in self.arbiter.release(self.parts(record).0) {
                // SAFETY: the task acquired its data, and nobody else has it.
                let (context, priority) = unsafe {
                    let record = self.slab.get(freed.index());
                    (*record.context.get(), *record.priority.get())
                };
                local.ready.push((context, Ready::task(freed, priority)));
            }
        }
        // SAFETY: as above; the parts are moved out, so that they are dropped before the record is used again.
        let (scope, extras) = unsafe {
            let description = (*record.description.get()).assume_init_mut();
            (description.scope, description.extras.take())
        };
        let failed = flags & flag::FAILED != 0;
        let mut edge = record.close();
        if record.flags.load(Ordering::SeqCst) & flag::WAITED != 0 {
            self.waiters.wake(id);
        }
        while let Some(at) = edge {
            let holder = self.slab.get(at.record());
            edge = holder.next_edge(at.link());
            // SAFETY: written before the edge was published, and not changed until it is counted down.
            let (extension, binding, ending) = unsafe {
                let bit = 1 << at.link();
                let extension = *holder.kind.get() == Kind::Extension;
                (extension, *holder.binding.get() & bit != 0, *holder.ending.get() & bit != 0)
            };
            let later = if extension { self.owner(holder) } else { at.record() };
            let record = self.slab.get(later);
            if ending {
                if record.open.fetch_sub(1, Ordering::AcqRel) == 1 {
                    stack.push(later);
                }
                continue;
            }
            if failed && binding {
                self.failures.cancel_for(TaskId::new(later, record.generation()), id);
                record.flags.fetch_or(flag::CANCELLED, Ordering::Relaxed);
            }
            // AcqRel: the one who reaches zero sees what all earlier tasks did.
            if record.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.make_ready(later, stack, &mut local.ready);
            }
        }
        if let Some(extras) = extras {
            self.drop_extras(local, scope, *extras);
        }
        if kind == Kind::Task {
            self.context(context).count_completed(local.worker);
        }
        // SAFETY: a scope lives until its parent is complete, which is after this child.
        if let Some(scope) = unsafe { scope.as_ref() } {
            let parent = scope.parent;
            self.waiters.wake(parent);
            if self.slab.get(parent.index()).open.fetch_sub(1, Ordering::AcqRel) == 1 {
                stack.push(parent.index());
            }
        }
        local.freed.push(index);
    }

    #[cold]
    fn drop_extras(&self, local: &mut Local, scope: *const Scope, extras: Extras) {
        for extension in extras.extensions {
            let record = self.slab.get(extension);
            // SAFETY: all edges were counted down, so nobody looks at the extension any more.
            unsafe { (*record.description.get()).assume_init_mut().extras.take() };
            record.close();
            local.freed.push(extension);
        }
        if let Some(inside) = extras.inside {
            // SAFETY: the scope of a task lives at least as long as the task.
            if let Some(outer) = unsafe { scope.as_ref() } {
                outer.leave(inside.id);
            }
            if let Some(trees) = inside.end() {
                lock(&self.scopes).remove(&inside.id.0);
                for tree in trees {
                    // SAFETY: no handle is left, and all tasks of the scope that the region belongs to are complete.
                    drop(unsafe { Box::from_raw(tree.as_ptr()) });
                }
            }
        }
        if let Some(tree) = extras.frees {
            // SAFETY: no handle is left, and all tasks that use the region are complete: this one came after them.
            drop(unsafe { Box::from_raw(tree.as_ptr()) });
        }
    }

    fn owner(&self, extension: &Record) -> u32 {
        // SAFETY: written before any of its edges was published, and kept until the owner is complete.
        let description = unsafe { (*extension.description.get()).assume_init_ref() };
        description.extras.as_ref().expect("an extension knows its owner").owner
    }

    /// Gives kept records back, so that a submitter that waits for room sees them.
    pub(crate) fn flush(&self, local: &mut Local) {
        self.slab.give_back(&mut local.freed);
    }

    /// Orders a task that the application runs itself, and waits until it is its turn.
    pub(crate) fn hold(&self, arg: Arg, location: &'static Location<'static>) -> Result<TaskId> {
        let piece = arg.piece();
        if let Some(running) = self.running() {
            return Err(Error::of_task(
                ErrorKind::WaitInTask,
                self.origin(running.record),
                format!("waits for region `{}`; a task receives its data as arguments", piece.name()),
            ));
        }
        let (index, record) = self.take_record(true);
        let id = TaskId::new(index, record.generation());
        let mut spec = Spec::new(Name::literal("guard"), location, 0);
        spec.push(arg);
        let payload = [MaybeUninit::uninit(); crate::task::record::PAYLOAD];
        self.describe(record, Kind::Held, &mut spec, &body::NOTHING, None, payload);
        let mut waits = Vec::new();
        if let Err(refusal) = self.order(id, 0, None, &[arg], None, &mut waits) {
            record.pending.store(0, Ordering::Relaxed);
            self.let_go(id);
            return Err(Error::new(refusal.kind, refusal.message));
        }
        self.finish_submission(id, &waits, &[]);
        self.waiters.wait(self, id, |core| core.slab.get(index).pending.load(Ordering::Acquire) == 0)?;
        if arg.mode().reads()
            && let Some(because) = piece.tree().spoiled(&piece.indices)
        {
            self.let_go(id);
            return Err(because);
        }
        Ok(id)
    }

    /// Ends a task that the application ran itself.
    pub(crate) fn let_go(&self, id: TaskId) {
        let mut local = Local::new(None);
        self.complete(&mut local, id.index());
        self.hand_out(&mut local);
    }

    /// Waits until a task is complete.
    pub(crate) fn wait_for(&self, id: TaskId) -> Result<()> {
        if self.is_complete(id) {
            return Ok(());
        }
        match self.running() {
            None => self.waiters.wait(self, id, |core| core.is_complete(id)),
            Some(running) => self.wait_for_child(running, id),
        }
    }

    fn wait_for_child(&self, running: &Running<'_>, id: TaskId) -> Result<()> {
        // SAFETY: the calling thread runs the parent. If the task is a child of it, it cannot be complete and used again
        // without its generation having changed, which is checked by `is_complete` above and below.
        let description = unsafe { (*running.record.description.get()).assume_init_ref() };
        let inside = description.extras.as_ref().and_then(|e| e.inside.clone());
        let other = self.slab.get(id.index());
        // SAFETY: the pointer is only compared.
        let scope = unsafe { (*other.description.get()).assume_init_ref().scope };
        let Some(inside) = inside.filter(|inside| std::ptr::eq(Arc::as_ptr(inside), scope)) else {
            if self.is_complete(id) {
                return Ok(());
            }
            let message = format!("waits for {}, which is not its child", self.origin(other));
            return Err(Error::of_task(ErrorKind::WaitInTask, self.origin(running.record), message));
        };
        while !self.is_complete(id) {
            if !self.run_family(running, &inside) {
                self.waiters.wait(self, inside.parent, |core| core.is_complete(id) || inside.has_ready())?;
            }
        }
        Ok(())
    }

    /// Runs one ready task of the family of a running task, on the thread that runs it.
    fn run_family(&self, running: &Running<'_>, inside: &Scope) -> bool {
        let Some(id) = inside.pop_family() else { return false };
        let record = self.slab.get(id.index());
        if record.claim(id.generation()) {
            // SAFETY: the pointer is that of the thread's own state. `execute` of the parent is not using it: it is
            // inside of the parent's body.
            let local = unsafe { &mut *running.local };
            self.execute(local, id, record);
            self.hand_out(local);
        }
        true
    }

    pub(crate) fn failure_of(&self, id: TaskId) -> Option<Error> {
        self.failures.of(id)
    }

    pub(crate) fn note_waited(&self, _: TaskId) {}

    /// Wakes a waker when a task completes. False when it is complete already.
    pub(crate) fn register_waker(&self, id: TaskId, waker: &std::task::Waker) -> bool {
        if self.is_complete(id) {
            return false;
        }
        self.waiters.register(id, waker.clone());
        // SeqCst: in one order with `close`; either the completing thread sees the flag, or this one the completion.
        self.slab.get(id.index()).flags.fetch_or(flag::WAITED, Ordering::SeqCst);
        !self.is_complete(id)
    }

    /// Waits until everything that was submitted is complete.
    pub(crate) fn wait_all(&self) -> Result<()> {
        if let Some(running) = self.running() {
            let message = "waits for all tasks, of which it is one";
            return Err(Error::of_task(ErrorKind::WaitInTask, self.origin(running.record), message));
        }
        self.waiters.wait_quiet(self, |core| core.contexts.iter().all(ContextState::is_quiet))?;
        self.failures.report()
    }

    /// Makes a region.
    pub(crate) fn make_tree(
        self: &Arc<Self>,
        name: String,
        element: ElementType,
        buffer: Buffer,
        shape: Shape,
        initialised: bool,
    ) -> Arc<Root> {
        let number = self.next_tree.fetch_add(1, Ordering::Relaxed);
        let owner = self.running().map_or(ScopeId::OUTERMOST, |r| {
            let scope = self.scope_inside(r);
            // Creating a region adds no child.
            r.record.open.fetch_sub(1, Ordering::Relaxed);
            lock(&self.scopes).entry(scope.id.0).or_insert_with(|| Arc::downgrade(&scope.shared()));
            scope.id
        });
        let tree = Tree::new(number, name, element, buffer, shape, initialised, owner);
        Arc::new(Root { core: Arc::clone(self), tree: NonNull::from(Box::leak(tree)) })
    }

    /// Frees a region once every task on it is complete.
    pub(crate) fn release_tree(&self, tree: NonNull<Tree>) {
        // SAFETY: the tree is freed at the end of what is started here.
        let owner = unsafe { tree.as_ref() }.owner;
        if owner != ScopeId::OUTERMOST && self.leave_to_scope(owner, tree) {
            return;
        }
        let (index, record) = self.take_record(false);
        let id = TaskId::new(index, record.generation());
        let mut spec = Spec::new(Name::literal("release"), Location::caller(), 0);
        // SAFETY: as above.
        let arg = Arg::new(unsafe { &tree.as_ref().root }, Mode::LendWrite);
        spec.extras().frees = Some(tree);
        let payload = [MaybeUninit::uninit(); crate::task::record::PAYLOAD];
        self.describe(record, Kind::Sync, &mut spec, &body::NOTHING, None, payload);
        let mut waits = Vec::new();
        // Nothing can be refused: the access is a single one, and does not read.
        let _ = self.order(id, 0, None, &[arg], None, &mut waits);
        self.finish_submission(id, &waits, &[]);
    }

    /// Leaves a region that was created in a task to be freed when that task is complete. False when it is already.
    fn leave_to_scope(&self, owner: ScopeId, tree: NonNull<Tree>) -> bool {
        let scopes = lock(&self.scopes);
        scopes.get(&owner.0).and_then(Weak::upgrade).is_some_and(|scope| scope.keep(tree))
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&'static str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "something that is not text".to_owned())
}
