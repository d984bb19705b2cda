//! The engine's heart: tasks are submitted, ordered, made ready, run, and completed.
//!
//! Everything here is reached from handles (`Loom`, regions, futures) and from workers. The steps of a task's life, in
//! order:
//!
//! | file | step |
//! |---|---|
//! | this one | [`Core::submit`]: a record is taken and filled in, and the task gets its place in the order |
//! | [`link`] | [`Core::finish_submission`]: edges are added from the tasks it must wait for |
//! | [`ready`] | [`Core::make_ready`]: nothing is left to wait for |
//! | [`inputs`] | what it reads is brought to where it will run |
//! | [`execute`] | [`Core::execute`]: a worker runs the body |
//! | [`teamwork`] | several workers run the body |
//! | [`retry`] | a body that failed is tried again |
//! | [`complete`] | [`Core::complete`]: tasks that waited for it go on |
//! | [`runs`] | a plan is run: many nodes in the place of one body |
//! | [`devices`] | a device runs it |
//! | [`owned`] | a task that the calling thread has |
//! | [`thread`] | what a thread knows that runs tasks, and which one it runs |
//! | [`waiting`] | someone outside waits for it |
//! | [`internal`] | regions, scopes, and tasks that the runtime makes itself |
//! | [`stop`] | tasks are cancelled, and the runtime ends |
//! | [`peek`] | tasks are looked at from outside, for reports and traces |

#![allow(unsafe_code)]

mod complete;
mod devices;
mod execute;
mod inputs;
mod internal;
mod link;
mod owned;
mod peek;
pub(crate) mod ready;
pub(crate) mod reserve;
mod retry;
mod runs;
mod stop;
mod teamwork;
mod thread;
mod waiting;

pub(crate) use devices::OnDevice;
pub(crate) use execute::{outcome, spoil, spoiled_input};
pub(crate) use owned::Owned;
pub(crate) use peek::Service;
pub(crate) use retry::Saved;
pub(crate) use thread::{Local, Running, SharedLocal};
pub(crate) use waiting::{Hold, Whose};

use std::cell::Cell;
use std::sync::Weak;
use std::time::Duration;

use drawloom_trace::{IdleReason, WorkerRecord};
use rustc_hash::FxHashMap;

use crate::access::Mode;
use crate::commute::Arbiter;
use crate::context::ContextState;
use crate::context::change::Changes;
use crate::context::list::Contexts;
use crate::device::queue::{Devices, Place};
use crate::error::{Error, ErrorKind, Result, TaskOrigin};
use crate::failure::Failures;
use crate::order::history::{Comer, History, Refusal, refuse_missing, refuse_not_lent};
use crate::order::scope::Scope;
use crate::policy::{Ready, WorkerId};
use crate::stall::{On, Stalls};
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Mutex, Padded, thread_local};
use crate::task::body::{self, Body};
use crate::task::record::{Description, Kind, Record, TaskId, flag};
use crate::task::slab::Slab;
use crate::task::spec::Spec;
use crate::team::formation::Formation;
use crate::trace::Tracer;
use crate::wait::Waiters;
use crate::worker::Workers;

/// Everything that belongs to one runtime. The alignment keeps the count of references off everybody's cache lines.
#[repr(align(128))]
pub struct Core {
    pub(crate) slab: Slab,
    // Apart from what is only read, as every submission writes it.
    outermost: Padded<Mutex<History>>,
    pub(crate) contexts: Contexts,
    pub(crate) changes: Changes,
    /// How many threads wait for one context.
    pub(crate) context_waiters: AtomicUsize,
    pub(crate) workers: Workers,
    pub(crate) teams: Formation,
    pub(crate) devices: Devices,
    pub(crate) waiters: Waiters,
    pub(crate) failures: Failures,
    pub(crate) stalls: Stalls,
    pub(crate) tracer: Tracer,
    arbiter: Arbiter,
    pub(crate) next_scope: AtomicU64,
    /// Scopes in which regions were created.
    scopes: Mutex<FxHashMap<u64, Weak<Scope>>>,
    next_tree: AtomicU64,
    /// Whether tasks run on the submitting thread, in program order.
    serial: Option<Serial>,
    /// Whether nothing may be submitted any more.
    pub(crate) closed: AtomicBool,
    /// Whether there are no workers any more, so that whoever makes a task ready runs it. Apart from what is written often,
    /// as it is read all the time.
    stopped: Padded<AtomicBool>,
    /// Whether to make a mistake on purpose.
    #[cfg(test)]
    leave_out: AtomicBool,
}

/// What the serial engine needs: one thread at a time runs tasks, and those that it starts for teams.
#[derive(Default)]
struct Serial {
    turn: Mutex<()>,
    /// What became ready while another thread had the turn, by tasks of other runtimes, which must not wait for it: that
    /// thread could be waiting for them. Whoever has the turn runs it.
    left: Mutex<Vec<(u32, Ready)>>,
    /// How many threads run tasks.
    running: AtomicUsize,
}

impl Serial {
    /// One more thread runs tasks.
    fn begin(&self) {
        self.running.fetch_add(1, Ordering::SeqCst);
    }

    fn end(&self) {
        self.running.fetch_sub(1, Ordering::SeqCst);
    }
}

thread_local! {
    /// What a task that is being submitted waits for: a list that is used again and again.
    static WAITS: Cell<Vec<TaskId>> = const { Cell::new(Vec::new()) };
}

impl Core {
    pub(crate) fn new(limit: u32, workers: Workers, devices: Devices, serial: bool, patience: Duration) -> Self {
        Self {
            stalls: Stalls::new(patience),
            tracer: Tracer::new(lanes(&workers, &devices)),
            slab: Slab::new(limit),
            // SAFETY: the one of this runtime; regions of others are refused before their tasks are ordered.
            outermost: Padded::new(Mutex::new(unsafe { History::outermost() })),
            contexts: Contexts::new(),
            changes: Changes::default(),
            context_waiters: AtomicUsize::new(0),
            workers,
            teams: Formation::default(),
            devices,
            waiters: Waiters::default(),
            failures: Failures::default(),
            arbiter: Arbiter::default(),
            next_scope: AtomicU64::new(1),
            scopes: Mutex::default(),
            next_tree: AtomicU64::new(0),
            serial: serial.then(Serial::default),
            closed: AtomicBool::new(false),
            stopped: Padded::new(AtomicBool::new(false)),
            #[cfg(test)]
            leave_out: AtomicBool::new(false),
        }
    }

    pub(crate) fn is_complete(&self, id: TaskId) -> bool {
        id.is_none() || self.slab.is_complete(id)
    }

    #[inline]
    pub(crate) fn context(&self, index: u32) -> &ContextState {
        self.contexts.get(index).expect("contexts are never removed from the list")
    }

    /// Submits a task.
    #[inline]
    pub(crate) fn submit(&self, spec: Spec, body: Body) -> TaskId {
        self.with_running(|running| self.submit_in(running, spec, body))
    }

    #[inline]
    fn submit_in(&self, running: Option<&Running<'_>>, mut spec: Spec, body: Body) -> TaskId {
        let (id, record) = self.take_record(!Self::is_in_task());
        let node = running.and_then(|r| r.node);
        let scope = running.filter(|r| r.node.is_none()).map(|r| self.scope_inside(r));
        if let Some(node) = node {
            let message = format!(
                "cannot be submitted by {}: a task of a plan has children only if it lends something to them",
                node.origin()
            );
            spec.refuse(ErrorKind::Plan, message);
            spec.forget_args();
        }
        if spec.context == 0 {
            self.context(0).count_submitted();
        } else {
            spec.context = self.enter_context(spec.context);
        }
        let mut task = self.describe(id, record, Kind::Task, &mut spec, body, scope);
        if record.flags.load(Ordering::Relaxed) & flag::DEVICE != 0 {
            self.check_devices(&mut task, &mut spec);
        }
        let mut waits = WAITS.take();
        waits.clear();
        let after = task.extras_mut().map_or_else(Vec::new, |extras| std::mem::take(&mut extras.after));
        let mut refused = spec.refused.take();
        // A task that is refused keeps its place in the order: what it should have written is spoiled from there on.
        if !task.args().is_empty()
            && let Err(refusal) = self.order(&mut task, scope, &mut waits)
        {
            if refusal.kind == ErrorKind::NotLent {
                // What it was not lent is not its own to spoil.
                record.forget_args();
                self.trace_submission(&task, scope, task.args());
            }
            refused.get_or_insert_with(|| Error::of_task(refusal.kind, spec.origin(), refusal.message));
        } else if task.args().is_empty() {
            self.trace_submission(&task, scope, task.args());
        }
        if !after.is_empty() && self.tracer.is_on() {
            self.tracer.comes_after(id, &after);
        }
        // What runs may still have children: they belong to what was submitted before.
        if self.closed.load(Ordering::Relaxed) && refused.is_none() && running.is_none() {
            let message = "cannot be submitted: the runtime was shut down";
            refused = Some(Error::of_task(ErrorKind::ShutDown, spec.origin(), message));
        }
        if let Some(error) = refused {
            self.refuse(&task, error);
        }
        self.finish_submission(task, &waits, &after);
        WAITS.set(waits);
        id
    }

    /// A task that is being submitted must not run.
    #[cold]
    fn refuse(&self, task: &Owned<'_>, error: Error) {
        self.failures.refuse(task.id, error);
        task.record.flags.fetch_or(flag::CANCELLED, Ordering::Relaxed);
    }

    /// A task that is being submitted must not run, because an earlier one failed for a reason.
    #[cold]
    fn cancel_for(&self, task: &Owned<'_>, reason: &Error) {
        self.failures.cancel_for(task.id, reason);
        task.record.flags.fetch_or(flag::CANCELLED, Ordering::Relaxed);
    }

    /// A free record, and the name of the task that it will hold. Waits for one when `patient`.
    #[inline]
    fn take_record(&self, patient: bool) -> (TaskId, &Record) {
        let index = self.slab.take(patient).unwrap_or_else(|| self.wait_for_record());
        let record = self.slab.get(index);
        (TaskId::new(index, record.generation()), record)
    }

    /// Something without a body that has its place among tasks.
    fn make_point(&self, kind: Kind, mut spec: Spec, patient: bool) -> Owned<'_> {
        let (id, record) = self.take_record(patient);
        self.describe(id, record, kind, &mut spec, body::NOTHING, None)
    }

    #[cold]
    fn wait_for_record(&self) -> u32 {
        if self.is_inside_now() {
            // A waker or a destructor submits, on a thread that may be needed to make room.
            return self.take_at_once();
        }
        let found = Cell::new(None);
        let done = || {
            // Asked again when a record was found already.
            if found.get().is_none() {
                found.set(self.slab.take(true));
            }
            found.get().is_some()
        };
        // Waiting could last for ever when this thread holds the guard that everything waits for: then the limit is
        // exceeded, and whoever waits for the tasks is told. Each time it is exceeded by as much as there was before.
        let worker = self.workers.current();
        self.tracer.idle(worker, IdleReason::Budget);
        let waited =
            self.stalls.block(self, On::Room, &|| self.slab.has_room(), done, |most| self.slab.wait_for_room(most));
        self.tracer.busy(worker);
        found.get().unwrap_or_else(|| {
            debug_assert!(waited.is_err(), "a wait without an error has found a record");
            self.slab.exceed();
            self.take_at_once()
        })
    }

    fn take_at_once(&self) -> u32 {
        self.slab.take(false).expect("an impatient request is always met")
    }

    /// Whether no task is ready anywhere, or none that a worker could get.
    pub(crate) fn is_stuck(&self) -> bool {
        self.contexts.iter().all(|(_, c)| c.policy.is_empty() || !self.has_driven_workers(c))
    }

    /// Whether some worker of a context is driven.
    pub(crate) fn has_driven_workers(&self, context: &ContextState) -> bool {
        context.members().workers.iter().any(|w| self.workers.seat(*w).driven.load(Ordering::SeqCst))
    }

    /// Fills in a record that was just taken, before any other thread can see the task.
    #[inline]
    fn describe<'c>(
        &self,
        id: TaskId,
        record: &'c Record,
        kind: Kind,
        spec: &mut Spec,
        body: Body,
        scope: Option<&Scope>,
    ) -> Owned<'c> {
        if let Some(scope) = scope {
            scope.note_child(id, |id| self.is_complete(id));
        }
        record.open.store(1, Ordering::Relaxed);
        let mut flags = 0;
        if kind == Kind::Task && spec.args().iter().any(|a| a.mode() == Mode::Commute) {
            flags |= flag::COMMUTES;
        }
        if spec.extras.as_ref().is_some_and(|e| e.team.is_some()) {
            flags |= flag::TEAM;
        }
        if spec.extras.as_ref().is_some_and(|e| e.is_for_devices()) {
            flags |= flag::DEVICE;
        }
        record.set_context(spec.context);
        // Release: pairs with `mark_cancelled`, which then sees the context.
        record.flags.store(flags, Ordering::Release);
        record.clear_marks();
        let (priority, count, args) = (spec.priority, spec.count(), spec.in_place());
        let Body { table, payload } = body;
        // SAFETY: the record was taken from the pool by this thread, and its id is not known to any other yet.
        unsafe {
            record.describe(priority, count, Description { table, extras: spec.extras.take(), args, payload });
        }
        record.title.set(spec.name, spec.location, scope.map_or(std::ptr::null(), std::ptr::from_ref));
        // Last, so that a thread that looks from outside finds a description where there is a kind.
        record.set_kind(kind);
        // SAFETY: this thread is submitting the task.
        unsafe { Owned::new(id, record) }
    }

    pub(crate) fn origin(&self, record: &Record) -> TaskOrigin {
        // SAFETY: the calling thread has the task, or runs a part of it.
        let (name, location) = unsafe { record.title.words().whole() };
        TaskOrigin { name: name.as_str().to_owned(), location }
    }

    /// Gives a task its place in the order of its scope.
    #[inline]
    fn order(&self, task: &mut Owned<'_>, scope: Option<&Scope>, waits: &mut Vec<TaskId>) -> Result<(), Refusal> {
        let history = match scope {
            None => {
                self.refuse_inner(task.args())?;
                &self.outermost
            }
            Some(scope) => {
                refuse_not_lent(scope, task.args())?;
                &scope.history
            }
        };
        let mut joined = task.extras_mut().map_or_else(Vec::new, |extras| std::mem::take(&mut extras.joined));
        let ordered = self.in_history(history, |history| {
            let missing = refuse_missing(task.args());
            let folds = task.extras().map_or(&[][..], |extras| &extras.folds);
            let comer = Comer { task: task.id, context: task.record.context(), args: task.args(), folds };
            let ordered = history.order(self, comer, waits, &mut joined).and(missing);
            self.trace_submission(task, scope, task.args());
            ordered
        });
        if let Some(extras) = task.extras_mut() {
            extras.joined = joined;
        }
        ordered
    }
}

/// What recordings call those who run tasks.
fn lanes(workers: &Workers, devices: &Devices) -> Vec<WorkerRecord> {
    let worker = |id: WorkerId| WorkerRecord {
        name: id.to_string().into(),
        kind: "cpu".into(),
        cpu: workers.seat(id).cpu.map(|cpu| cpu.0),
        memory_node: 0,
    };
    let device = |(place, number): (&Place, usize)| WorkerRecord {
        name: format!("{} {number}", place.name).into(),
        kind: place.name.clone().into(),
        cpu: None,
        memory_node: place.node.0,
    };
    workers.ids().map(worker).chain(devices.places().iter().zip(0..).map(device)).collect()
}
